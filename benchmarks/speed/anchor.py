"""The anchor: the paper's equations in plain NumPy, one window at a time, all d = 2m wide.

In: a window as in the paper, with values X (L, C), observed M (L, C) and C identifiers. Out: its
features and its score in float64. It is a direct implementation of the paper in idiomatic NumPy: no
loop over pairs, nothing shared between windows, no compacted states, no tuning.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PRESENCE_SLOPE = 0.2


def hash_matrix(identifiers: list[str], stream: str, m: int) -> Floats:
    """(C, m) matrix with one entry +-1 per variable, for the stream "val" or "pres"."""
    matrix = np.zeros((len(identifiers), m))
    for j, identifier in enumerate(identifiers):
        bucket = int(hashlib.md5(f"{identifier}#{stream}".encode()).hexdigest(), 16) % m
        sign = int(hashlib.md5(f"{identifier}#{stream}_sign".encode()).hexdigest(), 16) % 2
        matrix[j, bucket] = -1.0 if sign else 1.0
    return matrix


class Anchor:
    """Features of windows over one set of variables, which the constructor hashes once."""

    def __init__(self, identifiers: list[str], m: int = 128) -> None:
        self.value_hash = hash_matrix(identifiers, "val", m)
        self.presence_hash = hash_matrix(identifiers, "pres", m)

    def states(self, values: Floats, observed: NDArray[np.bool_]) -> Floats:
        """(L, 2m) states g of (L, C) values and their mask (L, C)."""
        filled = np.where(observed, values, 0.0)
        count = observed.sum(axis=1, keepdims=True)
        weight = np.minimum(PRESENCE_SLOPE * count, 1.0)
        value_part = filled @ self.value_hash
        presence_part = observed.astype(np.float64) @ self.presence_hash
        g = np.concatenate([value_part, weight * presence_part], axis=1)
        normalised: Floats = g / np.sqrt(np.maximum(count, 1))
        return normalised

    def image(self, values: Floats, observed: NDArray[np.bool_]) -> Floats:
        """(6, L, L) kernel image of a window."""
        sequences = derived(self.states(values, observed))
        return np.stack([cosine(z) for z in sequences] + [log_distance(z) for z in sequences])

    def log3_band(self, values: Floats, observed: NDArray[np.bool_], w: int = 8) -> Floats:
        """(3, w, L) log distances at the lags 1 to w."""
        return np.stack([log_band(z, w) for z in derived(self.states(values, observed))])


def derived(g: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the states, their first difference (0 at the first step) and its absolute value."""
    delta = np.zeros_like(g)
    delta[1:] = np.diff(g, axis=0)
    return g, delta, np.abs(delta)


def cosine(z: Floats) -> Floats:
    """(L, L) cosines mapped to [0, 1]; 1/2 for a zero vector, 1 on the diagonal."""
    norm = np.linalg.norm(z, axis=1, keepdims=True)
    unit = z / np.where(norm > 0, norm, 1.0)
    similarity = 0.5 * (1 + np.clip(unit @ unit.T, -1, 1))
    np.fill_diagonal(similarity, 1.0)
    return similarity


def robust_scale(distances: Floats) -> float:
    """Return the median of the distances, or that of the positive ones if it is 0."""
    scale = float(np.median(distances))
    if scale == 0 and (distances > 0).any():
        scale = float(np.median(distances[distances > 0]))
    return scale


def log_distance(z: Floats) -> Floats:
    """(L, L) log distances, from the Gram matrix."""
    square = (z**2).sum(axis=1)
    squared = np.maximum(square[:, None] + square[None, :] - 2 * (z @ z.T), 0.0)
    np.fill_diagonal(squared, 0.0)
    sigma = robust_scale(np.sqrt(squared[np.triu_indices(len(z), 1)]))
    return np.log1p(squared / (2 * sigma**2)) if sigma > 0 else np.zeros_like(squared)


def log_band(z: Floats, w: int) -> Floats:
    """(w, L) log distances of each step to the next w steps; 0 past the end."""
    squared = np.zeros((w, len(z)))
    for lag in range(1, w + 1):
        squared[lag - 1, : len(z) - lag] = ((z[lag:] - z[:-lag]) ** 2).sum(axis=1)
    inside = np.arange(len(z)) < len(z) - np.arange(1, w + 1)[:, None]
    sigma = robust_scale(np.sqrt(squared[inside]))
    return np.log1p(squared / (2 * sigma**2)) if sigma > 0 else squared


def knn_score(features: Floats, projection: Floats, references: Floats, k: int = 20) -> float:
    """Return the mean cosine distance of projected features (F,) to the k nearest references.

    References are unit vectors.
    """
    projected = features @ projection
    distances = 1 - references @ (projected / np.linalg.norm(projected))
    return float(np.partition(distances, k - 1)[:k].mean())
