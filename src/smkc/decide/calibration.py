"""Calibration: score -> p-value, on reference data that the density has not seen.

In: scores of held-out normal windows. Out: p-values and thresholds. Whole blocks of rows are
held out, never single windows: windows overlap, and a window whose neighbour in time is stored
would look more normal than any new one.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.errors import CalibrationWarning, SettingError

__all__ = ["Calibration", "held_out_windows"]

# Blocks are spread over the reference data, so that the held-out part knows its times of day and
# its drift; more of them than this add borders but no variety.
MOST_BLOCKS = 16

# A held-out block this many windows long has most of its steps covered by all their windows.
WINDOWS_A_BLOCK = 6


def held_out_windows(
    starts: NDArray[np.int64], window: int, n_rows: int, share: float
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Split windows into those for the density and those for calibration.

    Returns (is_held_out, block): ``is_held_out`` (B,) for windows that lie wholly in a held-out
    block; ``block`` (B,) the number of the span that a window lies in, -1 for windows that cross a
    border and belong to neither part.
    """
    if not 0 < share < 1:
        raise SettingError(f"calibration_share={share!r}: give a share between 0 and 1")
    period = WINDOWS_A_BLOCK * window / share
    n_blocks = int(np.clip(n_rows // period, 1, MOST_BLOCKS))
    edges = [0]
    for k in range(n_blocks):
        first, last = k * n_rows // n_blocks, (k + 1) * n_rows // n_blocks
        held = max(round((last - first) * share), min(window, last - first))
        edges += [last - held, last]
    borders = np.array(edges)
    block = np.searchsorted(borders, starts, side="right") - 1
    is_whole = starts + window <= borders[np.minimum(block + 1, len(borders) - 1)]
    return is_whole & (block % 2 == 1), np.where(is_whole, block, -1)


@dataclass(frozen=True)
class Calibration:
    """Scores of held-out normal data, ascending: what normal looks like to the detector."""

    null: NDArray[np.float64]

    def p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) split-conformal p-values: (1 + number of null scores >= score) / (n + 1).

        NaN where the score is NaN.

        Examples
        --------
        >>> Calibration(np.array([1.0, 2.0, 3.0])).p_values(np.array([0.5, 2.0, 9.0]))
        array([1.  , 0.75, 0.25])
        """
        n = len(self.null)
        n_as_large = n - np.searchsorted(self.null, scores, side="left")
        return np.where(np.isnan(scores), np.nan, (1 + n_as_large) / (n + 1))

    def threshold(self, rate: float) -> float:
        """Return the score above which the p-value is at most ``rate``.

        With n null scores no p-value is below 1 / (n + 1): a smaller rate gets that threshold, and
        a warning.

        Examples
        --------
        >>> Calibration(np.arange(99.0)).threshold(0.05)
        94.0
        """
        if not 0 < rate < 1:
            raise SettingError(f"false_alarm_rate={rate!r}: give a rate between 0 and 1")
        n = len(self.null)
        n_allowed = int(np.floor(rate * (n + 1) + 1e-9)) - 1
        if n_allowed < 0:
            warnings.warn(
                f"a false-alarm rate of {rate:g} needs {int(np.ceil(1 / rate)) - 1:,} held-out "
                f"windows, there are {n:,}: alarms are raised at {1 / (n + 1):.2g} instead; give "
                "more reference data or a higher rate",
                CalibrationWarning,
                stacklevel=3,
            )
            n_allowed = 0
        return float(self.null[n - 1 - n_allowed])

    def merged(self, scores: NDArray[np.float64], most: int, seed: int) -> "Calibration":
        """Join more null scores, NaN left out, thinned at random to at most ``most``."""
        null = np.concatenate([self.null, scores[np.isfinite(scores)]])
        if len(null) > most:
            rng = np.random.Generator(np.random.PCG64([seed, len(null)]))
            null = rng.choice(null, most, replace=False)
        return Calibration(np.sort(null))
