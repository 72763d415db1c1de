"""Generator of the dense world: six factors that every variable follows, and its own anomalies.

In: the number, length and cardinality of windows, and the share of anomalous ones. Out: ``Windows``
that no detector of the project was designed for.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.windows import NORMAL, Windows
from benchmarks.world.config import DENSE_KINDS, DenseWorld
from benchmarks.world.pool import make_pool

__all__ = ["generate_dense"]


def generate_dense(
    world: DenseWorld,
    *,
    pool: str,
    n_windows: int,
    cardinality: int,
    length: int,
    rate: float,
    seed: int | Sequence[int],
    kind: str | None = None,
) -> Windows:
    """Return windows of one cardinality; ``round(rate * n_windows)`` of them are anomalous."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    names = make_pool(pool, world.pool_size).names
    loadings = np.stack([_loading(name, world.n_factors) for name in names])
    kinds = np.full(n_windows, NORMAL, np.int8)
    edges = np.arange(n_windows + 1) * round(rate * n_windows) // max(n_windows, 1)
    is_anomalous = np.diff(edges) > 0
    drawn = rng.integers(len(DENSE_KINDS), size=int(is_anomalous.sum()))
    kinds[is_anomalous] = drawn if kind is None else DENSE_KINDS.index(kind)
    values = np.empty((n_windows, length, cardinality), np.float32)
    observed = np.empty(values.shape, np.bool_)
    variables = np.empty((n_windows, cardinality), np.int32)
    segments = np.zeros((n_windows, 2), np.int32)
    for b in range(n_windows):
        variables[b] = np.sort(rng.choice(len(names), cardinality, replace=False))
        signal = _factors(rng, world, length) @ loadings[variables[b]].T
        noise = world.noise * rng.standard_normal(signal.shape)
        if kinds[b] != NORMAL:
            segments[b] = _disturb(rng, world, int(kinds[b]), signal, noise)
        values[b] = signal + noise
        observed[b] = rng.random(signal.shape) >= world.missing
        for t in np.flatnonzero(~observed[b].any(axis=1)):
            observed[b, t, rng.integers(cardinality)] = True
    values[~observed] = 0.0
    return Windows(values, observed, variables, names, kinds, segments)


def _loading(name: str, n_factors: int) -> NDArray[np.float64]:
    """(k,) unit vector of loadings, a fixed function of the identifier."""
    digest = hashlib.md5(f"{name}#dense".encode(), usedforsecurity=False).digest()
    drawn = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    direction = drawn.standard_normal(n_factors)
    unit: NDArray[np.float64] = direction / np.linalg.norm(direction)
    return unit


def _factors(rng: np.random.Generator, world: DenseWorld, length: int) -> NDArray[np.float64]:
    """(L, k) autoregressive factors of unit variance."""
    memory = rng.uniform(*world.memory, size=world.n_factors)
    drawn = rng.standard_normal((length, world.n_factors))
    factors = np.empty_like(drawn)
    factors[0] = drawn[0]
    for t in range(1, length):
        factors[t] = memory * factors[t - 1] + np.sqrt(1 - memory**2) * drawn[t]
    return factors


def _disturb(
    rng: np.random.Generator,
    world: DenseWorld,
    kind: int,
    signal: NDArray[np.float64],
    noise: NDArray[np.float64],
) -> tuple[int, int]:
    """Insert an anomaly into some variables, in place; return the segment's first step and end."""
    length, cardinality = signal.shape
    shortest, longest = (max(3, int(share * length)) for share in world.segment)
    n = int(rng.integers(shortest, longest + 1))
    first = int(rng.integers(1, length - n))
    chosen: NDArray[np.bool_] = np.asarray(rng.random(cardinality) < world.affected)
    chosen[rng.integers(cardinality)] = True
    part = np.ix_(np.arange(first, first + n), np.flatnonzero(chosen))
    if DENSE_KINDS[kind] == "level shift":
        size = int(chosen.sum())
        signal[part] += rng.choice((-1.0, 1.0), size) * rng.uniform(*world.shift, size)
    elif DENSE_KINDS[kind] == "stuck values":
        signal[part] = signal[first - 1, chosen] + noise[first - 1, chosen]
        noise[part] = 0.0
    elif DENSE_KINDS[kind] == "noise burst":
        noise[part] *= rng.uniform(*world.burst_gain)
    else:
        signal[part] = signal[part][::-1].copy()
        noise[part] = noise[part][::-1].copy()
    return first, first + n
