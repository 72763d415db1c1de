"""The usual band of a variable: the range of its usual values at each of some times.

In: the fitted model, a variable and times. Out: the lower and the upper end, by time of the day or
of another period if the variable has a season; None for variables without a usual value.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.model import ReferenceEvidence

# Half of the band's height in spreads. Of a normal distribution 1 value in 370 is outside.
SPREADS = 3.0

Band = tuple[NDArray[np.float64], NDArray[np.float64]]


def usual_band(known: ReferenceEvidence, variable: str, times: NDArray[Any]) -> Band | None:
    """Return (R,) lower and (R,) upper ends at (R,) times; None for counters and newcomers."""
    scaling = known.scaling
    if variable not in scaling.names:
        return None
    at = scaling.names.index(variable)
    if scaling.counter[at]:  # its usual rate is no range for its count
        return None
    if known.usual(variable, times[0]) is None:
        middle = np.full(len(times), scaling.centre[at])
        spread = np.full(len(times), scaling.spread[at])
    else:
        found = [known.usual(variable, time) for time in times]
        middle = np.array([np.nan if one is None else one.middle for one in found])
        spread = np.array([np.nan if one is None else one.spread for one in found])
    return middle - SPREADS * spread, middle + SPREADS * spread
