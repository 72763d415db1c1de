"""Places: which service, job or machine each column is of, as its labels say.

In: names of columns. Out: a number for each place, so that trouble in another place than the one
that is in trouble already can be told.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smkc.recording import parse

__all__ = ["PLACE_LABELS", "places"]

# The first of these labels that a name has is its place.
PLACE_LABELS = ("service", "app", "deployment", "component", "job", "node", "host", "instance")


def places(names: Sequence[str]) -> NDArray[np.int32]:
    """(C,) a number for the place of each column; all that name none are of one place.

    Examples
    --------
    >>> names = ['cpu{pod="a",service="cart"}', 'up{job="db"}', 'cpu{service="cart"} (middle)']
    >>> places([*names, "load", "swap"]).tolist()
    [0, 1, 0, 2, 2]
    """
    found: dict[tuple[str, str], int] = {}
    return np.array([found.setdefault(_place(name), len(found)) for name in names], np.int32)


def _place(name: str) -> tuple[str, str]:
    parts = parse(name[: name.rfind("}") + 1]) if "}" in name else None  # roles add a word
    labels = {} if parts is None else parts[1]
    return next(((key, labels[key]) for key in PLACE_LABELS if key in labels), ("", ""))
