"""The paper's detectors: windows compared as kernel images, scored by distance or by networks.

In: settings. Out: detectors with the methods of :class:`smkc.Detector`. torch is imported only for
detectors that are trained or use a device other than the CPU.
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from smkc.base import BaseDetector, check_choice, check_whole
from smkc.errors import DeviceWarning, MissingExtraError, SettingError, install_command
from smkc.paper.densities import Density
from smkc.paper.density import KnnDensity, Projection
from smkc.paper.fitted import KernelFitted
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch
from smkc.recording import Identity

USUAL_WINDOW = 64

# Entries of the largest projection matrix (4 GiB): a full image of 800 rows to 256 numbers.
MOST_PROJECTED = 2**30


@dataclass(kw_only=True, eq=False)
class KernelDetector(BaseDetector):
    """Settings that all of the paper's detectors have.

    Parameters
    ----------
    window, stride
        rows per window, and rows from one window to the next.
    representation
        how a window becomes features; see :class:`smkc.paper.kernel.Representation`.
    buckets, presence, saturate, normalise
        settings of the sketch; see :class:`smkc.paper.sketch.Sketch`.
    neighbours
        number of nearest reference windows that a score averages over.
    reference_size
        largest number of reference windows kept.
    scaling
        ``robust`` scales each variable by its own centre and spread; None uses values unchanged.
    counters
        ``auto`` turns counters into rates (only with scaling); None does not.
    identity
        rule for the family of a variable; by default its metric name.
    false_alarm_rate
        false alerts per time step that normal data may raise.
    least_filled
        share of a window's rows that must hold an observation for it to be scored.
    align
        how windows' scores become time steps' scores: ``sharp`` or ``prompt``; see
        :func:`smkc.decide.step_scores` for what each costs.
    seed
        seed of all random choices.
    device
        device to compute on: ``cpu`` or ``cuda`` (extra ``deep``).
    """

    window: int = USUAL_WINDOW
    stride: int = 1
    representation: str = "log3 band(8)"
    buckets: int = 128
    presence: bool = True
    saturate: bool = True
    normalise: bool = True
    neighbours: int = 20
    reference_size: int = 4096
    scaling: str | None = "robust"
    counters: str | None = "auto"
    identity: Identity | None = None
    false_alarm_rate: float = 0.002
    least_filled: float = 0.5
    align: str = "sharp"
    seed: int = 0
    device: str = "cpu"

    def _empty(self) -> KernelFitted:
        self._check()
        sketch = Sketch(
            buckets=self.buckets,
            presence=self.presence,
            saturate=self.saturate,
            normalise=self.normalise,
        )
        return KernelFitted(
            stride=self.stride,
            align=self.align,
            density=self._density(sketch),
            is_scaled=self.scaling is not None,
            identity=self.identity,
            counters=self.counters,
        )

    @abstractmethod
    def _density(self, sketch: Sketch) -> Density:
        """Return the density that the settings describe, not fitted yet."""

    def _why_unscored(self) -> str:
        return (
            f"have observations in fewer than {self.least_filled:.0%} of their rows and get no "
            "score (NaN); a coarser step, or a lower least_filled, would score them"
        )

    def _check(self) -> None:
        self._check_common()
        check_choice("scaling", self.scaling, ("robust", None))
        check_choice("counters", self.counters, ("auto", None))
        for name in ("presence", "saturate", "normalise"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name}={getattr(self, name)!r}: give True or False")
        if not isinstance(self.representation, str):
            raise SettingError(
                f"representation={self.representation!r}: give text such as 'log3 band(8)'"
            )
        for name, smallest in (("window", 2), ("stride", 1), ("neighbours", 1), ("seed", 0)):
            check_whole(name, getattr(self, name), smallest)
        check_whole("reference_size", self.reference_size, self.neighbours)
        share = self.least_filled
        if not isinstance(share, int | float) or not 0 <= share < 1:
            raise SettingError(f"least_filled={share!r}: give a share from 0 to below 1")
        if not isinstance(self.device, str):
            raise SettingError(f"device={self.device!r}: give text such as 'cpu' or 'cuda'")


@dataclass(kw_only=True, eq=False)
class KnnDetector(KernelDetector):
    """The paper's training-free detector: distance to the nearest reference windows.

    Parameters
    ----------
    components
        length of a window's vector after the random projection of its features.
    **others
        as in :class:`smkc.paper.detectors.KernelDetector`; ``seed`` is that of the projection and
        of the choice of reference windows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> KnnDetector(window=16).fit(reference).decision_function(reference).shape
    (600,)
    """

    kind = "knn"

    components: int = 256

    def place(self, device: str | None) -> None:
        """Set the device for scoring; None keeps the one from the settings."""
        if device is not None:
            self.device = device

    def _density(self, sketch: Sketch) -> Density:
        representation = Representation.parse(self.representation)
        representation.check(self.window)
        projection = Projection(components=self.components, seed=self.seed)
        n_features = representation.n_features(self.window, sketch.width)
        if n_features * self.components > MOST_PROJECTED:
            raise SettingError(
                f"representation={self.representation!r} makes {n_features:,} numbers of a "
                f"window of {self.window:,} rows, too many to project to {self.components}; take "
                "a shorter window, or a band such as 'log3 band(8)'"
            )
        density = KnnDensity.empty(
            window=self.window,
            representation=representation,
            sketch=sketch,
            projection=projection,
            neighbours=self.neighbours,
            least_filled=self.least_filled,
            reference_size=self.reference_size,
        )
        return density if self.device == "cpu" else _on_device(density, self.device)


def _on_device(density: KnnDensity, device: str) -> Density:
    """Return the density on a torch device; warn and return it unchanged if that is unavailable."""
    try:
        from smkc.paper.density.torch_knn import TorchKnnDensity, can_use
    except ModuleNotFoundError as error:
        lack = f"{error.name} is not installed ({install_command('deep')})"
    else:
        if can_use(device):
            return TorchKnnDensity.on(density, device)
        lack = "torch finds no such device"
    warnings.warn(
        f"device={device!r} cannot be used: {lack}; the CPU is used instead",
        DeviceWarning,
        stacklevel=2,
    )
    return density


@dataclass(kw_only=True, eq=False)
class TrainedDetector(KernelDetector):
    """A detector that trains a network on the kernel images of normal windows (extra ``deep``).

    Fitting takes minutes instead of seconds and needs more reference data, a fifth of which is held
    out.

    Parameters
    ----------
    epochs
        largest number of passes over the training windows; None for the default.
    learn
        further options of training by name, such as ``{"width": 64, "batch_size": 32}``;
        :data:`smkc.paper.learn.settings.OPTIONS` lists them all.
    **others
        as in :class:`smkc.paper.detectors.KernelDetector`; ``representation`` must be a whole
        image, by default with all channels, and ``seed`` is that of training.
    """

    representation: str = "full image"
    epochs: int | None = None
    learn: dict[str, Any] | None = None

    def place(self, device: str | None) -> None:
        """Set the device for scoring; None is the training device if available, else the CPU."""
        _need_torch()
        from smkc.paper.learn.training import Training

        wanted = self.device if device is None else device
        try:
            Training(device=wanted).where()
        except (SettingError, TypeError):
            if device is not None:
                raise
            wanted = "cpu"
        self.device = wanted

    def _density(self, sketch: Sketch) -> Density:
        if self.epochs is not None:
            check_whole("epochs", self.epochs, 1)
        representation = Representation.parse(self.representation)
        if representation.layout != "image" or representation.proj or representation.down:
            raise SettingError(
                f"representation={self.representation!r}: trained detectors read whole kernel "
                "images; use 'full image' or another choice of channels, such as 'log3 image'"
            )
        _need_torch()
        from smkc.paper.learn.density import LearnedDensity
        from smkc.paper.learn.settings import learn_settings

        return LearnedDensity.empty(
            window=self.window,
            representation=representation,
            sketch=sketch,
            least_filled=self.least_filled,
            settings=learn_settings(
                self.learn,
                objective=self.kind,
                channels=representation.channels,
                neighbours=self.neighbours,
                reference_size=self.reference_size,
                epochs=self.epochs,
                device=self.device,
                seed=self.seed,
            ),
        )


def _need_torch() -> None:
    """Raise MissingExtraError, with the install command, if torch is not installed."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "torch":
            raise
        raise MissingExtraError(
            "detectors that are trained (recon, prediction, ensemble) need torch, which is not "
            f"installed; run: {install_command('deep')}"
        ) from None


@dataclass(kw_only=True, eq=False)
class ReconDetector(TrainedDetector):
    """The paper's detector that reconstructs masked patches of kernel images."""

    kind = "recon"


@dataclass(kw_only=True, eq=False)
class PredictionDetector(TrainedDetector):
    """The paper's detector that predicts the teacher's tokens of masked patches."""

    kind = "prediction"


@dataclass(kw_only=True, eq=False)
class EnsembleDetector(TrainedDetector):
    """The paper's ensemble of reconstruction and prediction."""

    kind = "ensemble"
