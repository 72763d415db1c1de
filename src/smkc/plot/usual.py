"""The usual band: between which values a variable usually is, at each time that is drawn.

In: what a detector has learned, a variable and times. Out: the lower and the upper end, by the time
of day or of another period if the variable has a season; nothing for what has no usual value.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.fitted import EvidenceFitted

__all__ = ["SPREADS", "usual_band"]

# Half the height of the band. Of a normal distribution 1 value in 370 is outside.
SPREADS = 3.0

Band = tuple[NDArray[np.float64], NDArray[np.float64]]


def usual_band(learned: Any, variable: str, times: NDArray[Any]) -> Band | None:
    """(R,) lower and upper ends; None for counters, newcomers, and the paper's detectors."""
    if not isinstance(learned, EvidenceFitted):
        return None
    known, scaling = learned.known, learned.known.scaling
    if variable not in scaling.names:
        return None
    at = scaling.names.index(variable)
    if scaling.counter[at]:  # its usual rate says nothing of the count that is drawn
        return None
    if known.usual(variable, times[0]) is None:
        middle = np.full(len(times), scaling.centre[at])
        spread = np.full(len(times), scaling.spread[at])
    else:
        found = [known.usual(variable, time) for time in times]
        middle = np.array([np.nan if one is None else one.middle for one in found])
        spread = np.array([np.nan if one is None else one.spread for one in found])
    return middle - SPREADS * spread, middle + SPREADS * spread
