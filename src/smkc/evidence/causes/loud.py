"""Loud rows: the rows behind a score that its causes are looked for in.

In: the surprises of the evidences in each row. Out: the first and the last row that is nearly as
loud as the loudest.
"""

import math
from collections.abc import Iterable, Mapping

from smkc.evidence.settings import SETTINGS


def loudness(nats: Iterable[float]) -> float:
    """Return the root of the sum of squares of surprises, independent of their order; skip NaN.

    Examples
    --------
    >>> loudness([3.0, float("nan"), 4.0]), loudness([])
    (5.0, 0.0)
    """
    return math.sqrt(math.fsum(float(much) ** 2 for much in nats if not math.isnan(much)))


def loud_rows(loud: Mapping[int, float], first: int, last: int) -> tuple[int, int]:
    """Return the numbers of the first and the last loud row among rows first to last.

    ``loud`` is the loudness by row number; rows without one count as 0.

    Examples
    --------
    >>> loud_rows({7: 4.0, 8: 9.5, 9: 10.0, 10: 3.0}, first=6, last=10)
    (8, 9)
    """
    by_row = {number: loud.get(number, 0.0) for number in range(first, last + 1)}
    least = SETTINGS.nearly_all * max(by_row.values())
    numbers = [number for number, much in by_row.items() if much >= least]
    return numbers[0], numbers[-1]
