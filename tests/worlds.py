"""Small made-up systems for the tests: normal behaviour, churn, and faults planted on purpose.

In: a seeded generator and sizes. Out: (T, V) tables of values, NaN where nothing was observed,
and recordings of them. Planting changes a table in place.
"""

import numpy as np
from numpy.typing import NDArray

from smkc.recording import Recording

Table = NDArray[np.float64]


def coupled(
    rng: np.random.Generator,
    n_rows: int,
    n_variables: int,
    memory: float = 0.9,
    noise: float = 0.3,
    n_factors: int = 2,
) -> Table:
    """(T, V) variables that follow a few hidden AR(1) factors, each with noise of its own."""
    factors = np.empty((n_rows, n_factors))
    factors[0] = rng.normal(size=n_factors)
    shocks = rng.normal(size=(n_rows, n_factors)) * np.sqrt(1 - memory**2)
    for t in range(1, n_rows):
        factors[t] = memory * factors[t - 1] + shocks[t]
    loadings = rng.choice([-1.0, 1.0], (n_factors, n_variables))
    loadings *= rng.uniform(0.5, 1.0, (n_factors, n_variables))
    return factors @ loadings + noise * rng.normal(size=(n_rows, n_variables))


def names_of(n_variables: int) -> list[str]:
    """(V,) names, in the order of the table's variables."""
    return [f"v{j:03d}" for j in range(n_variables)]


def recording_of(table: Table, names: list[str] | None = None, first_time: int = 0) -> Recording:
    """Return the table as a recording; NaN was not observed."""
    rows, codes = np.nonzero(~np.isnan(table))
    return Recording.from_observations(
        first_time + np.arange(len(table)),
        rows,
        codes,
        table[rows, codes],
        names or names_of(table.shape[1]),
    )


def churn(rng: np.random.Generator, table: Table, lost: float = 0.05) -> Table:
    """Let about half the variables live for a part of the time, and lose samples at random."""
    n_rows, n_variables = table.shape
    for j in range(1, n_variables):
        if rng.random() < 0.5:
            born, died = np.sort(rng.integers(0, n_rows, 2))
            table[:born, j] = np.nan
            table[died + 1 :, j] = np.nan
    table[rng.random(table.shape) < lost] = np.nan
    return table


# ---------------------------------------------------------------------- faults


def spike(rng: np.random.Generator, table: Table, row: int, guilty: int) -> None:
    """Let one variable leave its range for a single row."""
    table[row, guilty] += rng.choice([-1, 1]) * 8 * np.nanstd(table[:, guilty])


def spiked() -> Table:
    """(700, 4) of which 400 are to learn from; the third variable spikes at row 600."""
    rng = np.random.default_rng(1)
    table = coupled(rng, 700, 4)
    spike(rng, table, 600, 2)
    return table


def shift(rng: np.random.Generator, table: Table, row: int, guilty: int) -> None:
    """Let one variable's level change and stay."""
    table[row:, guilty] += rng.choice([-1, 1]) * 9 * np.nanstd(table[:, guilty])


def noise(rng: np.random.Generator, table: Table, row: int, guilty: int) -> None:
    """Add noise to one variable from a row on."""
    own = np.nanstd(table[:, guilty])
    table[row:, guilty] += 3 * own * rng.normal(size=len(table) - row)


def decouple(rng: np.random.Generator, table: Table, row: int, guilty: int) -> None:
    """Let one variable jump about in its usual range instead of following the others."""
    low, high = np.nanquantile(table[:row, guilty], [0.1, 0.9])
    table[row:, guilty] = rng.uniform(low, high, len(table) - row)


def vanish(rng: np.random.Generator, table: Table, row: int, guilty: int | list[int]) -> None:
    """Let variables be seen no more."""
    table[row:, guilty] = np.nan


def appear(rng: np.random.Generator, table: Table, row: int, guilty: int | list[int]) -> None:
    """Let variables be seen only from a row on."""
    table[:row, guilty] = np.nan
