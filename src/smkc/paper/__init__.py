"""The paper's method: sketch, kernel images, density, and the detectors built on them.

In: recordings. Out: scores of windows. ``sketch`` turns time steps into states, ``kernel``
compares the states of a window, ``density`` measures the distance to normal windows, ``learn``
trains networks on kernel images (extra ``deep``), ``causes`` names the variables that made a
window deviate. The detectors have the methods of :class:`smkc.Detector`:

>>> from smkc.paper import KnnDetector
>>> KnnDetector(window=32).neighbours
20
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smkc.paper.detectors import (
        EnsembleDetector,
        KnnDetector,
        PredictionDetector,
        ReconDetector,
    )

__all__ = ["EnsembleDetector", "KnnDetector", "PredictionDetector", "ReconDetector"]


def __getattr__(name: str) -> Any:
    """Import the detectors on first use: the default detector needs only the sketch."""
    if name not in __all__:
        raise AttributeError(f"module 'smkc.paper' has no attribute {name!r}")
    from smkc.paper import detectors

    return getattr(detectors, name)
