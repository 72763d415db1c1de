"""Small made-up recordings for the tests of the peers."""

import numpy as np

from smkc.recording import Recording


def recording(table, names=None, first=0):
    """A recording of (T, C) values, NaN where not observed, rows without any among them."""
    table = np.asarray(table, np.float64)
    names = names or [f"v{j}" for j in range(table.shape[1])]
    rows, codes = np.nonzero(~np.isnan(table))
    times = np.arange(first, first + len(table))
    return Recording.from_observations(times, rows, codes, table[rows, codes], names)


def usual(n_rows=120, n_columns=4, seed=1, first=0):
    """Related variables around different levels, as a reference or an unremarkable test part."""
    rng = np.random.default_rng(seed)
    common = np.sin(np.arange(first, first + n_rows) / 5.0)[:, None]
    weights = np.linspace(0.5, 1.5, n_columns)
    noise = 0.3 * rng.normal(size=(n_rows, n_columns))
    return common * weights + noise + 10.0 * np.arange(n_columns)
