"""Causes: which variables made a window deviate, and in what way.

In: one window's observations (scaled), what is typical, and a way to score. Out: variables with
their shares, most guilty first.

Two readings are made. The exact one: a squared distance is a sum over buckets, hence over
variables, so every comparison that is larger than typical can be divided among them without
remainder. The counterfactual one: score the window again without a variable and see how much of
the deviation goes away. The second is preferred where it explains the score, because the nearest
neighbours judge the window as a whole; the first decides which variables are worth trying, and
stands in where no single variable explains much.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smkc.decide.alerts import Cause
from smkc.density import KnnDensity
from smkc.kernel import Representation, anchor_steps
from smkc.recording import Recording
from smkc.recording.times import show_time
from smkc.sketch import Sketch

__all__ = ["Contributions", "contributions", "explain_window"]

# So many variables, the largest contributors, are tried by leaving them out.
MOST_TRIED = 24

# Leaving one out is trusted when the best single variable explains this share of the deviation.
EXPLAINS = 0.2

# An excursion of so many usual spreads is a change of level.
LEVEL_SPREADS = 3.0

# Representations that keep no pairs (seq) are explained by these lags.
FALLBACK_LAGS = 8


@dataclass(frozen=True)
class Contributions:
    """Each variable's part of what a window's distances exceed the typical ones by.

    ``value`` and ``presence`` (n,) add up, over the n variables observed, to ``total``.
    ``joint`` lists for each the variables that share a bucket with it.
    """

    names: tuple[str, ...]
    value: NDArray[np.float64]
    presence: NDArray[np.float64]
    joint: tuple[tuple[str, ...], ...]
    total: float


def contributions(
    span: Recording,
    representation: Representation,
    sketch: Sketch,
    typical: NDArray[np.float32] | None = None,
) -> Contributions:
    """Divide the excess of a window's log distances over the typical ones among its variables.

    ``typical`` (F,) are mean features of the reference set; None counts every distance whole.
    """
    span = span.canonical()
    own_value, own_presence = _own_states(span, sketch)
    hashes = sketch.hash(span.names)
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
    return Contributions(
        span.names,
        value,
        presence,
        _joint(span.names, hashes.value_bucket, hashes.presence_bucket, sketch.presence),
        total,
    )


def explain_window(
    span: Recording,
    score: float,
    usual_score: float,
    density: KnnDensity,
) -> list[Cause]:
    """Return the causes of one window's score, most guilty first.

    Parameters
    ----------
    span
        the window's rows, scaled as for scoring.
    score
        the window's score.
    usual_score
        what a normal window scores: the deviation is what lies above.
    density
        what scored the window, and scores it again without a variable.
    """
    span = span.canonical()
    if not span.names:
        return []
    parts = contributions(span, density.representation, density.sketch, density.typical)
    both = parts.value + parts.presence
    order = np.argsort(-both, kind="stable")
    shares = both / both.sum() if both.sum() > 0 else np.zeros(len(both))
    if len(span.names) > 1 and score > usual_score:
        tried = order[:MOST_TRIED]
        relief = np.maximum(score - density.scores(*_without_each(span, tried)), 0.0)
        relief = np.nan_to_num(relief)
        if relief.max() >= EXPLAINS * (score - usual_score):
            shares = np.zeros(len(both))
            shares[tried] = relief / relief.sum()
            order = np.lexsort((-both, -shares))
    causes = []
    for j in order:
        if shares[j] <= 0:
            break
        kind, detail = _kind(span, span.names[j])
        causes.append(
            Cause(
                variable=span.names[j],
                share=float(shares[j]),
                kind=kind,
                joint_with=parts.joint[j],
                detail=detail,
            )
        )
    return causes


def _own_states(span: Recording, sketch: Sketch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each variable's own signed part of the states, (n, L), in the two streams."""
    hashes = sketch.hash(span.names)
    rows, codes = span.row_numbers, span.codes
    n_t = np.maximum(span.cardinality, 1).astype(np.float64)
    scale = 1 / np.sqrt(n_t) if sketch.normalise else np.ones(len(n_t))
    weight = np.minimum(0.2 * n_t, 1.0) if sketch.saturate else 0.2 * n_t
    value = np.zeros((len(span.names), len(span)))
    presence = np.zeros_like(value)
    value[codes, rows] = hashes.value_sign[codes] * span.values * scale[rows]
    if sketch.presence:
        presence[codes, rows] = hashes.presence_sign[codes] * (weight * scale)[rows]
    return value, presence


class _Stream:
    """One of the two streams of a window's states: variables, and the buckets they sum into."""

    def __init__(self, own: NDArray[np.float64], bucket_of: NDArray[np.int32]) -> None:
        self.own = own
        self.used, self.place = np.unique(bucket_of, return_inverse=True)
        self.summed = np.zeros((len(self.used), own.shape[1]))
        np.add.at(self.summed, self.place, own)

    def sequence(self, which: int) -> NDArray[np.float64]:
        """(buckets, L) g (0), its difference (1) or the absolute difference (2)."""
        return _derived(self.summed, which)

    def share(
        self,
        which: int,
        pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
        weight: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """(n,) weighted squared distance of each variable; a shared bucket's by own motion."""
        i, j = pairs
        z = self.sequence(which)
        by_bucket = ((z[:, i] - z[:, j]) ** 2) @ weight
        if len(self.used) == len(self.own):
            alone: NDArray[np.float64] = by_bucket[self.place]
            return alone
        mine = _derived(self.own, which)
        own = ((mine[:, i] - mine[:, j]) ** 2) @ weight + 1e-300
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
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], list[NDArray[np.float64] | float | None]]:
    """Pairs of steps that the representation compares, and the typical distance of each.

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


def _squared_distances(
    z: NDArray[np.float64], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.float64]:
    i, j = pairs
    squares: NDArray[np.float64] = ((z[:, i] - z[:, j]) ** 2).sum(axis=0)
    return squares


def _excess_weight(
    squares: NDArray[np.float64], typical: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """(pairs,) excess of each log distance over the typical one, a unit of squared distance."""
    positive = squares[squares > 0]
    if len(positive) == 0:
        return np.zeros_like(squares)
    sigma = np.median(np.sqrt(squares)) or np.median(np.sqrt(positive))
    excess = np.maximum(np.log1p(squares / (2 * sigma**2)) - typical, 0.0)
    weight = np.zeros_like(squares)
    np.divide(excess, squares, out=weight, where=squares > 0)
    return weight


def _joint(
    names: tuple[str, ...],
    value_bucket: NDArray[np.int32],
    presence_bucket: NDArray[np.int32],
    presence: bool,
) -> tuple[tuple[str, ...], ...]:
    """For each variable the others in its value bucket, or else in its presence bucket."""
    by_value: dict[int, list[str]] = {}
    by_presence: dict[int, list[str]] = {}
    for name, v, p in zip(names, value_bucket, presence_bucket, strict=True):
        by_value.setdefault(int(v), []).append(name)
        by_presence.setdefault(int(p), []).append(name)
    joint = []
    for name, v, p in zip(names, value_bucket, presence_bucket, strict=True):
        together = set(by_value[int(v)])
        if presence:
            together |= set(by_presence[int(p)])
        joint.append(tuple(sorted(together - {name})))
    return tuple(joint)


def _without_each(
    span: Recording, variables: NDArray[np.int64]
) -> tuple[Recording, NDArray[np.int64]]:
    """Lay copies of the window end to end, each without one of the variables."""
    length, n = len(span), len(variables)
    keep = span.codes[None, :] != variables[:, None]
    rows = np.arange(n)[:, None] * length + span.row_numbers[None, :]
    lengths = np.bincount(rows[keep], minlength=n * length)
    copies = Recording(
        np.arange(n * length),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.broadcast_to(span.codes, keep.shape)[keep],
        np.broadcast_to(span.values, keep.shape)[keep],
        span.names,
    )
    return copies, np.arange(n, dtype=np.int64) * length


def _kind(span: Recording, variable: str) -> tuple[str, str]:
    """Say what kind of change the variable shows in the window, and put it into words."""
    trace = span.trace(variable)
    seen = np.flatnonzero(np.isfinite(trace))
    values = trace[seen].astype(np.float64)
    middle = float(np.median(values))
    farthest = int(np.argmax(np.abs(values - middle)))
    excursion = float(values[farthest] - middle)
    has_moved = abs(excursion) >= LEVEL_SPREADS
    gap = max(2, len(span) // 8)
    appeared, vanished = seen[0] >= gap, len(span) - 1 - seen[-1] >= gap
    longest_hole = int(np.diff(seen).max(initial=1)) - 1
    if (appeared or vanished) and not has_moved:
        if appeared and vanished:
            return "presence", (
                f"was there only from {show_time(span.times[seen[0]])} to "
                f"{show_time(span.times[seen[-1]])}"
            )
        if appeared:
            return "presence", f"appeared at {show_time(span.times[seen[0]])}"
        return "presence", f"was last seen at {show_time(span.times[seen[-1]])}"
    if has_moved:
        way = "rose" if excursion > 0 else "fell"
        return "level", (
            f"{way} by {abs(excursion):.1f} spreads at {show_time(span.times[seen[farthest]])}"
        )
    if longest_hole >= gap:
        return "presence", f"was missing for {longest_hole} steps"
    return "relation", "moved differently from the others, within its usual range"
