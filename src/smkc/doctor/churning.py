"""Synthetic churn for held-out rows, without any anomaly.

In: held-out rows and a kind of churn. Out: a copy with that churn. Alarms that the copy raises and
the unchanged rows do not are false alarms.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from smkc.doctor.held_out import HeldOut
from smkc.recording import Recording, identifier, parse

CHURN: Mapping[str, str] = MappingProxyType(
    {
        "rename": "a fifth of the variables go on under another name, each from its own row on",
        "vanish": "a fifth of the variables end, each at its own row",
        "appear": "new variables come, like a fifth of those there",
        "missing": "a tenth of the observations are lost, in bursts of ten rows",
    }
)
"""Every kind of churn that is put in."""

CHANGED_SHARE = 0.2
MISSING_SHARE = 0.1
BURST_ROWS = 10.0

# Renames, ends and starts fall between these shares of the held-out rows.
CHANGE_AT = (0.1, 0.9)


def add_churn(held: HeldOut, kind: str, rng: np.random.Generator) -> Recording:
    """Return a copy of the held-out rows with churn of one kind, a key of ``CHURN``."""
    recording = held.recording
    rows, codes, values = held.rows, recording.codes.astype(np.int64), recording.values
    names = list(recording.names)
    n_changed = max(1, round(CHANGED_SHARE * len(names)))
    chosen = rng.permutation(len(names))[:n_changed]
    since = np.full(len(names), len(held))
    since[chosen] = (rng.uniform(*CHANGE_AT, size=n_changed) * len(held)).astype(np.int64)
    is_late = rows >= since[codes]
    if kind == "missing":
        is_kept = ~_lost(rows, codes, len(held), len(names), rng)
    elif kind == "vanish":
        is_kept = ~is_late
    else:
        is_kept = np.ones(len(rows), bool)
    rows, codes, values = rows[is_kept], codes[is_kept], values[is_kept]
    if kind in ("rename", "appear"):
        other = np.arange(len(names))
        other[chosen] = len(names) + np.arange(n_changed)
        names += _other_names([names[one] for one in chosen.tolist()], set(names), rng)
        if kind == "rename":
            codes = np.where(is_late, other[codes], codes)
        else:
            # A copy of each chosen variable starts at row ``since`` and repeats its values from the
            # first row on, like a member of the same family that was started later.
            shifted = rows + since[codes]
            copied = (other[codes] != codes) & (shifted < len(held))
            rows = np.concatenate([rows, shifted[copied]])
            values = np.concatenate([values, values[copied]])
            codes = np.concatenate([codes, other[codes[copied]]])
    return Recording.from_observations(recording.times, rows, codes, values, names)


def _other_names(names: list[str], taken: set[str], rng: np.random.Generator) -> list[str]:
    """Return an unused name for each given name; a random suffix goes into its last label."""
    found = []
    for name in names:
        new = name
        while new in taken:
            mark = f"~{int(rng.integers(2**32)):08x}"
            parts = parse(name)
            if parts is None or not parts[1]:
                new = name + mark
            else:
                label = max(parts[1])
                new = identifier(parts[0], {**parts[1], label: parts[1][label] + mark})
        taken.add(new)
        found.append(new)
    return found


def _lost(
    rows: NDArray[np.int64],
    codes: NDArray[np.int64],
    n_rows: int,
    n_variables: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return an (N,) mask of lost observations: bursts with random starts and geometric lengths."""
    n_bursts = rng.poisson(MISSING_SHARE * n_rows / BURST_ROWS, size=n_variables)
    owner = np.repeat(np.arange(n_variables), n_bursts)
    begin = rng.integers(n_rows, size=len(owner))
    end = np.minimum(begin + rng.geometric(1.0 / BURST_ROWS, size=len(owner)), n_rows)
    is_lost = np.zeros(len(rows), bool)
    order = np.lexsort((begin, owner))
    keys = codes * (n_rows + 1) + rows
    by_key = np.argsort(keys, kind="stable")
    first = np.searchsorted(keys[by_key], owner[order] * (n_rows + 1) + begin[order])
    last = np.searchsorted(keys[by_key], owner[order] * (n_rows + 1) + end[order])
    edges = np.zeros(len(rows) + 1, np.int64)
    np.add.at(edges, first, 1)
    np.add.at(edges, last, -1)
    is_lost[by_key] = np.cumsum(edges[:-1]) > 0
    return is_lost
