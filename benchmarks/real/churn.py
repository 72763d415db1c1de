"""Churn: renamed, vanishing, appearing and missing variables, added to a labelled recording.

In: a series, a level and a seed. Out: the series with churn in its test part, and without the
withheld variables in its reference; labels and rows do not change, and ``origins`` maps new names
to original ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.draws import Draws
from benchmarks.real.series import Series
from smkc.errors import SettingError
from smkc.recording import Recording

__all__ = ["LEVELS", "Churn", "add_churn"]

# When variables are renamed or vanish, and when they appear, as shares of the test part.
CHANGE_AT = (0.1, 0.9)
APPEAR_AT = (0.0, 0.5)


@dataclass(frozen=True, kw_only=True)
class Churn:
    """Amounts of churn.

    Parameters
    ----------
    renamed
        share of the variables that get another name at some row.
    vanished
        share of the variables that vanish at some row.
    withheld
        share of the variables that are removed from the reference and appear at some row.
    missing
        share of the entries that are missing.
    burst
        mean length of a gap, in rows.
    """

    renamed: float = 0.0
    vanished: float = 0.0
    withheld: float = 0.0
    missing: float = 0.0
    burst: float = 10.0

    def __post_init__(self) -> None:
        for part in fields(self)[:4]:
            share = getattr(self, part.name)
            if not 0.0 <= share <= 1.0:
                raise SettingError(f"{part.name}={share!r} is a share; give 0 to 1")
        if self.renamed + self.vanished + self.withheld > 1.0:
            raise SettingError(
                f"renamed={self.renamed!r}, vanished={self.vanished!r} and "
                f"withheld={self.withheld!r} are of different variables; their sum must be at "
                "most 1"
            )
        if not self.burst >= 1.0:
            raise SettingError(f"burst={self.burst!r} is a mean number of rows; give 1 or more")
        if self.missing > self.burst / (self.burst + 1.0):
            raise SettingError(
                f"missing={self.missing!r} cannot be had in bursts of {self.burst!r} rows with a "
                f"row between them; give at most {self.burst / (self.burst + 1.0):.3f}"
            )


LEVELS: Mapping[str, Churn] = MappingProxyType(
    {
        "none": Churn(),
        "mild": Churn(renamed=0.15, vanished=0.10, withheld=0.10, missing=0.05),
        "full": Churn(renamed=0.30, vanished=0.20, withheld=0.20, missing=0.10),
    }
)


def add_churn(series: Series, level: str | Churn, seed: int = 0) -> Series:
    """Return the series with churn.

    Parameters
    ----------
    series
        a labelled recording; add drift, if any, before churn.
    level
        one of ``LEVELS``, or shares of your own.
    seed
        a non-negative integer; each recording and seed has its own random numbers.

    Returns
    -------
    Series
        with the same rows and labels. The variables, rows and entries affected depend on the
        recording's name, its number of rows and variables and the seed, not on its values.
        ``origins`` maps new names to the original ones, which events use.
    """
    if isinstance(level, str):
        if level not in LEVELS:
            raise SettingError(f"churn {level!r} is unknown; choose one of {', '.join(LEVELS)}")
        churn, called = LEVELS[level], f"churn {level}"
    else:
        churn, called = level, f"{level}"
    draws = Draws("churn", series.key, seed=seed)
    if not (churn.renamed or churn.vanished or churn.withheld or churn.missing):
        return series
    test = series.test
    n_rows, n_variables = len(test), len(test.names)
    renamed, vanished, withheld = _chosen(draws, churn, n_variables)

    # (C,) first row of each variable, the row after its last, and the first row of its new name
    first = np.zeros(n_variables, np.int64)
    last, switch = np.full(n_variables, n_rows), np.full(n_variables, n_rows)
    switch[renamed] = (draws.between(CHANGE_AT, len(renamed)) * n_rows).astype(np.int64)
    last[vanished] = (draws.between(CHANGE_AT, len(vanished)) * n_rows).astype(np.int64)
    first[withheld] = (draws.between(APPEAR_AT, len(withheld)) * n_rows).astype(np.int64)
    new_names = _new_names(draws, test.names, renamed)
    new_code = np.arange(n_variables)
    new_code[renamed] = n_variables + np.arange(len(renamed))

    rows, codes = test.row_numbers, test.codes
    is_kept = (rows >= first[codes]) & (rows < last[codes])
    if churn.missing:
        is_missing = np.stack(
            [_bursts(draws, n_rows, churn) for _ in range(n_variables)] or [np.zeros(n_rows, bool)]
        )
        is_kept &= ~is_missing[codes, rows]
    rows, codes, values = rows[is_kept], codes[is_kept], test.values[is_kept]
    codes = np.where(rows >= switch[codes], new_code[codes], codes)
    names = [*test.names, *new_names]
    hidden = {test.names[j] for j in withheld}
    origins = dict(series.origins) | {
        new: series.origin(test.names[j]) for new, j in zip(new_names, renamed, strict=True)
    }
    return replace(
        series,
        reference=series.reference.select(lambda name: name not in hidden),
        test=Recording.from_observations(test.times, rows, codes, values, names, test.notes),
        origins=origins,
        notes=(*series.notes, f"{called}, seed {seed}"),
    )


def _chosen(
    draws: Draws, churn: Churn, n_variables: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the variables to rename, to let vanish and to withhold; they do not overlap."""
    shares = (churn.renamed, churn.vanished, churn.withheld)
    ends = np.cumsum([round(share * n_variables) for share in shares])
    order = draws.order(n_variables)
    return order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]


def _new_names(draws: Draws, names: tuple[str, ...], renamed: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the old names with a unique random suffix, such as redeployed pods get."""
    taken = set(names)
    new_names = []
    for j in renamed:
        new = names[j]
        while new in taken:
            new = f"{names[j]}~{int(draws.bits(1)[0]) >> 32:08x}"
        taken.add(new)
        new_names.append(new)
    return tuple(new_names)


def _bursts(draws: Draws, n_rows: int, churn: Churn) -> NDArray[np.bool_]:
    """Return (T,) whether a variable is missing, from a two-state Markov chain in equilibrium.

    One uniform number per row drives the chain: a low number begins a gap, a high one ends it, and
    one between keeps the state.
    """
    draw = draws.uniform(n_rows)
    end = 1.0 / churn.burst
    begin = end * churn.missing / (1.0 - churn.missing)
    decides = (draw < begin) | (draw >= 1.0 - end)
    decides[:1] = True
    is_missing = draw < begin
    is_missing[:1] = draw[:1] < churn.missing
    latest = np.maximum.accumulate(np.where(decides, np.arange(n_rows), 0))
    return is_missing[latest]
