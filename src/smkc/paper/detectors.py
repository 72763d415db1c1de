"""The paper's detectors: windows compared as kernel images, scored by distance or by networks.

In: settings. Out: detectors with the methods of :class:`smkc.Detector`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from smkc.base import BaseDetector, check_choice, check_whole
from smkc.errors import SettingError
from smkc.paper.density import Density
from smkc.paper.fitted import KernelFitted
from smkc.paper.settings import knn_density, learned_density, trained_device
from smkc.paper.sketch import Sketch
from smkc.recording import Identity

__all__ = ["EnsembleDetector", "KnnDetector", "PredictionDetector", "ReconDetector"]

USUAL_WINDOW = 64


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
        how many nearest reference windows a score averages over.
    reference_size
        how many reference windows are kept at most.
    scaling
        ``robust`` brings variables to a common measure; None takes values as they are.
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
        of what is left to chance.
    device
        where the work is done: ``cpu`` or ``cuda`` (extra ``deep``).
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
        """Return the density that the settings describe, before any data."""

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
        numbers that remain of a window's features after the random projection.
    **others
        as in :class:`smkc.paper.detectors.KernelDetector`: ``window``, ``stride``,
        ``representation``, ``buckets``, ``presence``, ``saturate``, ``normalise``,
        ``neighbours``, ``reference_size``, ``scaling``, ``counters``, ``identity``,
        ``false_alarm_rate``, ``least_filled``, ``align``, ``seed`` (of the projection and of the
        choice of reference windows), ``device``. From 100,000 reference windows on, neighbours are
        sought by an index that misses a few, if faiss is installed (extra ``ann``).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> reference = {"time": np.arange(600), "cpu": rng.normal(size=600)}
    >>> KnnDetector(window=16).fit(reference).decision_function(reference).shape
    (600,)
    """

    kind = "knn"
    learns_apart = True

    components: int = 256

    def place(self, device: str | None) -> None:
        """Score on a device; by default on that with which the detector was fitted."""
        if device is not None:
            self.device = device

    def _density(self, sketch: Sketch) -> Density:
        return knn_density(self.get_params(), sketch)


@dataclass(kw_only=True, eq=False)
class TrainedDetector(KernelDetector):
    """A detector that trains a network on the kernel images of normal windows (extra ``deep``).

    It needs minutes instead of seconds, and more reference data, of which it holds out a fifth.

    Parameters
    ----------
    epochs
        passes over the training windows, at most; None for the default.
    learn
        further options of training by name, such as ``{"width": 64, "batch_size": 32}``; all of
        them are in :data:`smkc.paper.learn.options.OPTIONS`.
    **others
        as in :class:`smkc.paper.detectors.KernelDetector`; ``representation`` is a whole image, by
        default with all its channels, ``seed`` that of training.
    """

    representation: str = "full image"
    epochs: int | None = None
    learn: dict[str, Any] | None = None

    def place(self, device: str | None) -> None:
        """Score on a device; by default where it was trained, if that is here, else on the CPU."""
        self.device = trained_device(self.device, device)

    def _density(self, sketch: Sketch) -> Density:
        return learned_density(self.kind, self.get_params(), sketch)


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
