"""Shares: how the budget of false alerts is divided among columns.

In: names of the columns. Out: what is taken off each column's surprise for the number of questions
asked of all.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smkc.evidence.variables.questions import QUESTIONS
from smkc.recording import parse

__all__ = ["nats_of_share", "shares"]

# What ends the first word of a name.
_WORDS = re.compile(r"[^A-Za-z0-9]")


def shares(names: Sequence[str], is_asked: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
    """(C,) what is taken off each column's nats, 0 where it is not asked; how many groups share.

    Every group has the same part of the budget, so that the hundreds of series of one exporter do
    not drown a handful of others; newcomers are a group of their own.
    """
    groups = [_group(name) for name in names]
    sizes = Counter(group for group, asked in zip(groups, is_asked, strict=True) if asked)
    n_groups = len(sizes) + 1
    nats = [
        nats_of_share(n_groups, sizes[group]) if asked else 0.0
        for group, asked in zip(groups, is_asked, strict=True)
    ]
    return np.array(nats), n_groups


def nats_of_share(n_groups: int, n_columns: int) -> float:
    """Return the correction, in nats, for each of n_columns columns of one of n_groups groups."""
    return float(np.log(len(QUESTIONS) * n_groups * n_columns))


def _group(name: str) -> str:
    """Return the first word of a variable's name: with Prometheus' metrics, who exports it.

    Examples
    --------
    >>> _group('node_load1{instance="a"}'), _group("carts/cpu"), _group("x")
    ('node', 'carts', 'x')
    """
    parts = parse(name)
    return _WORDS.split(name if parts is None else parts[0], maxsplit=1)[0]
