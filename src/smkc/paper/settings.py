"""Settings of the paper's detectors -> the density that they describe.

In: settings by name, checked. Out: a density that has learned nothing yet, or an error that names
the setting. torch is imported only for detectors that are trained, or put on a device.
"""

import warnings
from collections.abc import Mapping
from typing import Any

from smkc.base import check_whole
from smkc.errors import DeviceWarning, MissingExtraError, SettingError, install_command
from smkc.paper.density import Density, KnnDensity, Projection
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch

__all__ = ["knn_density", "learned_density", "trained_device"]

# Entries of the largest projection: 4 GiB, a full image of 800 rows projected to 256 numbers.
MOST_PROJECTED = 2**30


def trained_device(trained_on: str, wanted: str | None) -> str:
    """Return where a trained detector, read from a file, shall score.

    That is where it is wanted; else where it was trained, if that device is here; else the CPU.
    """
    _need_torch()
    from smkc.paper.learn.density import usable_device

    return usable_device(trained_on, wanted)


def knn_density(settings: Mapping[str, Any], sketch: Sketch) -> Density:
    """Return the density of :class:`smkc.paper.KnnDetector`."""
    window, components = settings["window"], settings["components"]
    representation = Representation.parse(settings["representation"])
    representation.check(window)
    projection = Projection(components=components, seed=settings["seed"])
    n_features = representation.n_features(window, sketch.width)
    if n_features * components > MOST_PROJECTED:
        raise SettingError(
            f"representation={settings['representation']!r} makes {n_features:,} numbers of a "
            f"window of {window:,} rows, too many to project to {components}; take a shorter "
            "window, or a band such as 'log3 band(8)'"
        )
    density = KnnDensity.empty(
        window=window,
        representation=representation,
        sketch=sketch,
        projection=projection,
        neighbours=settings["neighbours"],
        least_filled=settings["least_filled"],
        reference_size=settings["reference_size"],
    )
    return density if settings["device"] == "cpu" else _on_device(density, settings["device"])


def _on_device(density: KnnDensity, device: Any) -> Density:
    """Return the density on a device of torch; the same one, and a warning, if there is none."""
    try:
        from smkc.paper.density.torch_knn import TorchKnnDensity, can_use
    except ModuleNotFoundError as error:
        lack = f"{error.name} is not installed ({install_command('deep')})"
    else:
        if can_use(device):
            return TorchKnnDensity.on(density, device)
        lack = "torch finds no such device"
    warnings.warn(
        f"device={device!r} cannot be used: {lack}; the processor does the work",
        DeviceWarning,
        stacklevel=2,
    )
    return density


def learned_density(kind: str, settings: Mapping[str, Any], sketch: Sketch) -> Density:
    """Return the density of a detector that is trained: ``recon``, ``prediction``, ``ensemble``."""
    if settings["epochs"] is not None:
        check_whole("epochs", settings["epochs"], 1)
    text = settings["representation"]
    representation = Representation.parse(text)
    if representation.layout != "image" or representation.proj or representation.down:
        raise SettingError(
            f"representation={text!r}: trained detectors read whole kernel images; use "
            "'full image' or another choice of channels, such as 'log3 image'"
        )
    _need_torch()
    from smkc.paper.learn.density import LearnedDensity
    from smkc.paper.learn.options import learn_settings

    return LearnedDensity.empty(
        window=settings["window"],
        representation=representation,
        sketch=sketch,
        least_filled=settings["least_filled"],
        settings=learn_settings(
            settings["learn"],
            objective=kind,
            channels=representation.channels,
            neighbours=settings["neighbours"],
            reference_size=settings["reference_size"],
            epochs=settings["epochs"],
            device=settings["device"],
            seed=settings["seed"],
        ),
    )


def _need_torch() -> None:
    """Say how to install torch if it is not there."""
    try:
        import smkc.paper.learn  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "torch":
            raise
        raise MissingExtraError(
            "detectors that are trained (recon, prediction, ensemble) need torch, which is not "
            f"installed; run: {install_command('deep')}"
        ) from None
