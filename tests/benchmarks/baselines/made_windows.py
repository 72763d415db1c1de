"""Small windows for the tests of competitors: coupled variables, some with a spike.

In: a seeded generator and sizes. Out: windows of mixed cardinality, padded.
"""

import numpy as np

from benchmarks.windows import KINDS, NORMAL, PADDING, Windows

NAMES = tuple(f"v{j:02d}" for j in range(12))


def made_windows(rng, n_windows=40, length=8, n_places=4, n_anomalous=0, missing=0.1) -> Windows:
    """Return windows of 1 to ``n_places`` variables; the last ``n_anomalous`` hold a spike."""
    factor = rng.normal(size=(n_windows, length, 1)).cumsum(axis=1) / np.sqrt(length)
    values = factor + 0.2 * rng.normal(size=(n_windows, length, n_places))
    observed = rng.random(values.shape) > missing
    observed[:, :, 0] = True
    variables = np.array([rng.permutation(len(NAMES))[:n_places] for _ in range(n_windows)])
    cardinality = rng.integers(1, n_places + 1, n_windows)
    is_padded = np.arange(n_places) >= cardinality[:, None]
    variables[is_padded] = PADDING
    observed &= ~is_padded[:, None, :]
    kinds = np.full(n_windows, NORMAL, np.int8)
    segments = np.zeros((n_windows, 2), np.int32)
    for b in range(n_windows - n_anomalous, n_windows):
        step = int(rng.integers(1, length))
        values[b, step] += 9.0
        kinds[b] = KINDS.index("factor spike")
        segments[b] = step, step + 1
    return Windows(
        np.where(observed, values, 0.0).astype(np.float32),
        observed,
        variables.astype(np.int32),
        NAMES,
        kinds,
        segments,
    )


def shuffled(rng, windows: Windows) -> Windows:
    """Return the same windows with the variables of each in another order."""
    values, observed = windows.values.copy(), windows.observed.copy()
    variables = windows.variables.copy()
    for b, cardinality in enumerate(windows.cardinality):
        order = rng.permutation(cardinality)
        values[b, :, :cardinality] = values[b][:, order]
        observed[b, :, :cardinality] = observed[b][:, order]
        variables[b, :cardinality] = variables[b][order]
    return Windows(values, observed, variables, windows.names, windows.kinds, windows.segments)
