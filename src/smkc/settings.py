"""Settings: a detector's parameters -> the empty state that they describe.

In: parameters by name. Out: a :class:`~smkc.fitted.Fitted` that has learned nothing yet, or an
error that names the parameter. torch is imported only for detectors that are trained.
"""

import warnings
from collections.abc import Mapping
from typing import Any

from smkc.decide import ALIGNMENTS
from smkc.errors import DeviceWarning, MissingExtraError, SettingError, install_command
from smkc.fitted import EvidenceFitted, Fitted
from smkc.paper.density import Density, KnnDensity, Projection
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch

__all__ = ["LEARNED", "ONLY_LEARNED", "USUAL_WINDOW", "empty_fitted", "scoring_device"]

# Detectors that are trained, by torch.
LEARNED = ("recon", "prediction", "ensemble")

# Detectors that score windows by their kernel images.
KERNEL = ("knn", *LEARNED)

# Settings that only trained ones have, and the values that they have otherwise; but ``knn`` has a
# device, too.
ONLY_LEARNED: dict[str, Any] = {"device": "cpu", "epochs": None, "learn": None}

# Settings that the evidences do not have, and the values that they then have.
NOT_OF_EVIDENCE: dict[str, Any] = {
    "stride": 1,
    "representation": "log3 band(8)",
    "buckets": 128,
    "presence": True,
    "saturate": True,
    "normalise": True,
    "components": 256,
    "neighbours": 20,
    "reference_size": 4096,
    "scaling": "robust",
    "least_filled": 0.5,
}

# Rows a window of the detectors that do not find it out by themselves.
USUAL_WINDOW = 64

# The default, which a trained detector reads as the whole image.
BAND, WHOLE_IMAGE = "log3 band(8)", "full image"

# Entries of the largest projection: 4 GiB, a full image of 800 rows projected to 256 numbers.
MOST_PROJECTED = 2**30


def empty_fitted(settings: Mapping[str, Any]) -> Fitted | EvidenceFitted:
    """Check the settings and return what they describe before any data."""
    _check_choices(settings)
    if settings["detector"] == "evidence":
        return _evidence(settings)
    if settings["window"] == "auto":
        settings = {**settings, "window": USUAL_WINDOW}
    _check_numbers(settings)
    sketch = Sketch(
        **{name: settings[name] for name in ("buckets", "presence", "saturate", "normalise")}
    )
    is_learned = settings["detector"] in LEARNED
    density = _learned_density(settings, sketch) if is_learned else _knn_density(settings, sketch)
    return Fitted(stride=settings["stride"], align=settings["align"], scaling=None, density=density)


def scoring_device(settings: Mapping[str, Any], wanted: str | None) -> str:
    """Return where a detector of these settings, read from a file, shall score.

    That is where it is wanted; else where it was trained, if that device is here; else the CPU.
    """
    trained_on: str = settings["device"]
    if settings["detector"] not in LEARNED:
        return wanted if wanted is not None and settings["detector"] == "knn" else trained_on
    _need_torch()
    from smkc.paper.learn.density import usable_device

    return usable_device(trained_on, wanted)


def _check_untrained(settings: Mapping[str, Any]) -> None:
    for name, value in ONLY_LEARNED.items():
        if name != "device" and settings[name] != value:
            raise SettingError(
                f"{name}={settings[name]!r} is for detectors that are trained; leave it out, or "
                f"choose detector={' or '.join(map(repr, LEARNED))}"
            )


def _evidence(settings: Mapping[str, Any]) -> EvidenceFitted:
    _check_untrained(settings)
    if settings["device"] != "cpu":
        raise SettingError(
            f"device={settings['device']!r}: detector='evidence' works on the processor; leave it "
            f"out, or choose detector={' or '.join(map(repr, KERNEL))}"
        )
    for name, value in NOT_OF_EVIDENCE.items():
        if settings[name] != value:
            raise SettingError(
                f"{name}={settings[name]!r} is not for detector='evidence', which finds out by "
                f"itself; leave it out, or choose detector={' or '.join(map(repr, KERNEL))}"
            )
    if settings["window"] != "auto":
        _check_whole("window", settings["window"], 1)
    _check_whole("seed", settings["seed"], 0)
    _check_rate(settings["false_alarm_rate"])
    return EvidenceFitted(
        align=settings["align"],
        wanted=settings["window"],
        identity=settings["identity"],
        counters=settings["counters"],
    )


def _knn_density(settings: Mapping[str, Any], sketch: Sketch) -> Density:
    _check_untrained(settings)
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
    _check_device(device)
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


def _check_device(device: Any) -> None:
    if not isinstance(device, str):
        raise SettingError(f"device={device!r}: give text such as 'cpu' or 'cuda'")


def _learned_density(settings: Mapping[str, Any], sketch: Sketch) -> Density:
    epochs, device = settings["epochs"], settings["device"]
    if epochs is not None:
        _check_whole("epochs", epochs, 1)
    _check_device(device)
    text = settings["representation"]
    representation = Representation.parse(WHOLE_IMAGE if text == BAND else text)
    if representation.layout != "image" or representation.proj or representation.down:
        raise SettingError(
            f"representation={text!r}: detector={settings['detector']!r} reads whole kernel "
            f"images; use {WHOLE_IMAGE!r} or another choice of channels, such as 'log3 image'"
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
            objective=settings["detector"],
            channels=representation.channels,
            neighbours=settings["neighbours"],
            reference_size=settings["reference_size"],
            epochs=epochs,
            device=device,
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
            f"detectors that are trained ({', '.join(LEARNED)}) need torch, which is not "
            f"installed; run: {install_command('deep')}"
        ) from None


def _check_choices(settings: Mapping[str, Any]) -> None:
    choices = {"detector": ("evidence", *KERNEL), "scaling": ("robust", None), "align": ALIGNMENTS}
    for name, known in choices.items():
        if settings[name] not in known:
            raise SettingError(
                f"{name}={settings[name]!r} is not known; use {' or '.join(map(repr, known))}"
            )
    for name in ("presence", "saturate", "normalise"):
        if not isinstance(settings[name], bool):
            raise SettingError(f"{name}={settings[name]!r}: give True or False")
    if not isinstance(settings["representation"], str):
        raise SettingError(
            f"representation={settings['representation']!r}: give text such as 'log3 band(8)'"
        )


def _check_numbers(settings: Mapping[str, Any]) -> None:
    least = {"window": 2, "stride": 1, "neighbours": 1, "seed": 0}
    for name, smallest in least.items():
        _check_whole(name, settings[name], smallest)
    _check_whole("reference_size", settings["reference_size"], settings["neighbours"])
    share = settings["least_filled"]
    if not isinstance(share, int | float) or not 0 <= share < 1:
        raise SettingError(f"least_filled={share!r}: give a share from 0 to below 1")
    _check_rate(settings["false_alarm_rate"])


def _check_rate(rate: Any) -> None:
    if not isinstance(rate, float) or not 0 < rate < 1:
        raise SettingError(f"false_alarm_rate={rate!r}: give a rate between 0 and 1")


def _check_whole(name: str, value: Any, smallest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise SettingError(f"{name}={value!r}: give a whole number from {smallest} up")
