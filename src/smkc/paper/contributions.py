"""Contributions: the exact division of a window's distances among its variables.

In: one window's observations (scaled) and typical features. Out: each variable's part.

A squared distance is a sum over buckets, hence over variables, so the excess of every distance over
the typical one can be divided among the variables without remainder. Variables that share a bucket
divide its part in proportion to their own motion, and are listed as joint.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.paper.kernel import Representation, anchor_steps
from smkc.paper.sketch import PRESENCE_SLOPE, Hashes, Sketch
from smkc.recording import Recording

# Lags used for representations whose features are not distances of unchanged states: seq, proj,
# down.
FALLBACK_LAGS = 8

# Values held in memory at once while the motion of many variables is compared.
MOST_NUMBERS = 2**22

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Contributions:
    """Each variable's part of the excess of a window's log distances over the typical ones.

    ``value`` and ``presence`` (n,), summed over the n observed variables, add up to ``total``.
    ``hashes`` has each variable's bucket in either stream.
    """

    names: tuple[str, ...]
    value: NDArray[np.float64]
    presence: NDArray[np.float64]
    total: float
    hashes: Hashes
    has_presence: bool

    def joint(self, number: int) -> tuple[str, ...]:
        """Return the names of the variables that share a bucket with variable ``number``."""
        of = self.hashes
        together = of.value_bucket == of.value_bucket[number]
        if self.has_presence:
            together |= of.presence_bucket == of.presence_bucket[number]
        together[number] = False
        return tuple(self.names[j] for j in np.flatnonzero(together))


def contributions(
    span: Recording,
    representation: Representation,
    sketch: Sketch,
    typical: NDArray[np.float32] | None = None,
) -> Contributions:
    """Divide the excess of a window's log distances over the typical ones among its variables.

    ``typical`` (F,) are the mean features of normal windows; with None, the whole log distance
    counts as excess.
    """
    span = span.canonical()
    hashes = sketch.hash(span.names)
    own_value, own_presence = _own_states(span, sketch, hashes)
    value = np.zeros(len(span.names))
    presence = np.zeros(len(span.names))
    pairs, expected = _pairs_and_typical(len(span), representation, typical)
    values_in = _Stream(own_value, hashes.value_bucket)
    presence_in = _Stream(own_presence, hashes.presence_bucket)
    total = 0.0
    for which, typical_distance in enumerate(expected):
        if typical_distance is None:
            continue
        value_parts = values_in.sequence(which)
        presence_parts = presence_in.sequence(which)
        squares = _squared_distances(value_parts, pairs) + _squared_distances(presence_parts, pairs)
        weight = _excess_weight(squares, typical_distance)
        total += float((weight * squares).sum())
        value += values_in.share(which, pairs, weight)
        presence += presence_in.share(which, pairs, weight)
    return Contributions(span.names, value, presence, total, hashes, sketch.presence)


def _own_states(
    span: Recording, sketch: Sketch, hashes: Hashes
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each variable's own signed part of the states, (n, L), per stream."""
    rows, codes = span.row_numbers, span.codes
    n_t = np.maximum(span.cardinality, 1).astype(np.float64)
    scale = 1 / np.sqrt(n_t) if sketch.normalise else np.ones(len(n_t))
    weight = PRESENCE_SLOPE * n_t
    if sketch.saturate:
        weight = np.minimum(weight, 1.0)
    value = np.zeros((len(span.names), len(span)))
    presence = np.zeros_like(value)
    value[codes, rows] = hashes.value_sign[codes] * span.values * scale[rows]
    if sketch.presence:
        presence[codes, rows] = hashes.presence_sign[codes] * (weight * scale)[rows]
    return value, presence


class _Stream:
    """One stream of a window's states: the variables' parts (n, L), and their sums by bucket."""

    def __init__(self, own: NDArray[np.float64], bucket_of: NDArray[np.uint32]) -> None:
        self.own = own
        self.used, self.place = np.unique(bucket_of, return_inverse=True)
        self.summed = np.zeros((len(self.used), own.shape[1]))
        np.add.at(self.summed, self.place, own)

    def sequence(self, which: int) -> NDArray[np.float64]:
        """Return (buckets, L) g (0), its difference (1) or its absolute difference (2)."""
        return _derived(self.summed, which)

    def share(self, which: int, pairs: Pairs, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) weighted squared distances, one per variable.

        Variables that share a bucket divide its distance in proportion to their own.
        """
        i, j = pairs
        z = self.sequence(which)
        by_bucket = ((z[:, i] - z[:, j]) ** 2) @ weight
        if len(self.used) == len(self.own):
            alone: NDArray[np.float64] = by_bucket[self.place]
            return alone
        mine = _derived(self.own, which)
        own = np.full(len(mine), 1e-300)
        at_once = max(1, MOST_NUMBERS // max(len(i), 1))
        for first in range(0, len(mine), at_once):
            some = mine[first : first + at_once]
            own[first : first + at_once] += ((some[:, i] - some[:, j]) ** 2) @ weight
        in_bucket = np.bincount(self.place, own, len(self.used))
        shared: NDArray[np.float64] = by_bucket[self.place] * own / in_bucket[self.place]
        return shared


def _derived(z: NDArray[np.float64], which: int) -> NDArray[np.float64]:
    if which == 0:
        return z
    difference = np.diff(z, axis=1, prepend=z[:, :1])
    return difference if which == 1 else np.abs(difference)


def _pairs_and_typical(
    length: int, representation: Representation, typical: NDArray[np.float32] | None
) -> tuple[Pairs, list[NDArray[np.float64] | float | None]]:
    """Return the pairs of steps that the representation compares, and their typical distances.

    The typical distances are a list over g, its difference and its absolute difference; None for
    a sequence whose log distances the representation leaves out.
    """
    layout, size = representation.layout, representation.size
    if layout == "seq" or representation.down or representation.proj:
        layout, size, typical = "band", min(FALLBACK_LAGS, length - 1), None
    if layout == "band":
        lags, t = np.meshgrid(np.arange(1, size + 1), np.arange(length), indexing="ij")
        place = ((lags - 1) * length + t).ravel()
        i, j = t.ravel(), (t + lags).ravel()
    elif layout == "anchor":
        t, k = np.meshgrid(np.arange(length), np.arange(size), indexing="ij")
        place = (t * size + k).ravel()
        i, j = t.ravel(), anchor_steps(length, size)[k.ravel()]
    else:
        i, j = np.triu_indices(length, 1)
        place = i * length + j
    keep = (j < length) & (i != j)
    i, j, place = i[keep], j[keep], place[keep]
    wanted = [channel for channel in representation.channels if channel.startswith("log")]
    expected: list[NDArray[np.float64] | float | None] = []
    for name in ("log_g", "log_delta", "log_abs"):
        if wanted and name not in wanted:
            expected.append(None)
        elif typical is None or not wanted:
            expected.append(0.0)
        else:
            channels = typical.reshape(len(representation.channels), -1)
            row = channels[representation.channels.index(name)]
            expected.append(row[place].astype(np.float64))
    return (i, j), expected


def _squared_distances(z: NDArray[np.float64], pairs: Pairs) -> NDArray[np.float64]:
    i, j = pairs
    squares: NDArray[np.float64] = ((z[:, i] - z[:, j]) ** 2).sum(axis=0)
    return squares


def _excess_weight(
    squares: NDArray[np.float64], typical: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return (pairs,) excess of each log distance over the typical one, per squared distance."""
    positive = squares[squares > 0]
    if len(positive) == 0:
        return np.zeros_like(squares)
    sigma = np.median(np.sqrt(squares)) or np.median(np.sqrt(positive))
    excess = np.maximum(np.log1p(squares / (2 * sigma**2)) - typical, 0.0)
    weight = np.zeros_like(squares)
    np.divide(excess, squares, out=weight, where=squares > 0)
    return weight
