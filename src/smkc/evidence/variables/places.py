"""Places: the service, job or machine that each column belongs to, according to its labels.

In: names of columns. Out: the number of each column's place. Trouble that begins in another place
than the current trouble is news.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smkc.recording import parse

# The place of a column is the value of the first of these labels that its name has.
PLACE_LABELS = ("service", "app", "deployment", "component", "job", "node", "host", "instance")


def places(names: Sequence[str]) -> NDArray[np.int32]:
    """Return (C,) the number of each column's place; columns without such a label share one.

    Examples
    --------
    >>> names = ['cpu{pod="a",service="cart"}', 'up{job="db"}', 'cpu{service="cart"} (middle)']
    >>> places([*names, "load", "swap"]).tolist()
    [0, 1, 0, 2, 2]
    """
    found: dict[tuple[str, str], int] = {}
    return np.array([found.setdefault(_place(name), len(found)) for name in names], np.int32)


def _place(name: str) -> tuple[str, str]:
    parts = parse(name[: name.rfind("}") + 1]) if "}" in name else None  # roles have a suffix
    labels = {} if parts is None else parts[1]
    return next(((key, labels[key]) for key in PLACE_LABELS if key in labels), ("", ""))
