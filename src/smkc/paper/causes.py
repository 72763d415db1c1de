"""Causes: which variables made a window deviate, and in what way.

In: a window's observations (scaled), the rows before it, and the density that scored it. Out:
variables with their shares, largest share first.

The window is scored again under counterfactuals: with one variable held at its usual value, with
absent variables filled in, with new variables removed. A drop in the score is attributed to the
variables that were changed. Candidates are the variables with the largest exact contributions
(:mod:`smkc.paper.contributions`) and those whose presence changed. Where no counterfactual explains
enough of the deviation, the shares are the exact contributions.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from smkc.decide.alerts import Cause
from smkc.paper.contributions import Contributions, contributions
from smkc.paper.densities import Density
from smkc.recording import Recording
from smkc.recording.times import show_time

# Variables tried one by one: the largest contributors. Variables whose presence changed are all
# tried too, in groups.
MOST_TRIED = 24

# Causes returned at most.
MOST_NAMED = 64

# Values held in memory at once while counterfactuals are scored.
MOST_NUMBERS = 2**24

# Counterfactuals are used if the best of them explains at least this share of the deviation.
EXPLAINS = 0.2

# Smallest excursion, in usual spreads, that counts as a change of level.
LEVEL_SPREADS = 3.0

# A variable's usual level is its median in the rows before the window if it was observed at least
# this often there; otherwise its median in the window.
KNOWN_BEFORE = 8

# Absence for at least this share of a window is a change of presence, not a lost sample.
LONG_ABSENCE = 1 / 8


def explain_window(
    prepared: Recording,
    start: int,
    score: float,
    usual_score: float,
    density: Density,
) -> list[Cause]:
    """Return the causes of one window's score, largest share first.

    Parameters
    ----------
    prepared
        the recording, scaled as for scoring.
    start
        the window's first row.
    score
        the window's score.
    usual_score
        score of a normal window; the deviation is ``score`` minus this.
    density
        the density that scored the window; it scores the counterfactuals too.
    """
    first = min(start, density.window)
    context = prepared.rows(start - first, start + density.window).canonical()
    if not context.names:
        return []
    traces = context.table().T
    changes = [_presence_change(trace, first) for trace in traces]
    parts, own = _exact(context, first, density)
    shares = own / own.sum() if own.any() else own
    by_presence = np.zeros(len(own), bool)
    group_of: dict[int, NDArray[np.int64]] = {}
    if own.any() and score > usual_score:
        tried = np.argsort(-own, kind="stable")[:MOST_TRIED]
        together = _came_or_went_together(changes, density.window)
        relief, doers = _relief(
            context.names, traces, first, tried, together, changes, score, density
        )
        usual_relief = min(float(np.median(relief)), 0.5 * float(relief.max()))
        gain = np.maximum(relief - usual_relief, 0.0)
        if gain.max() >= EXPLAINS * (score - usual_score):
            shares = np.zeros(len(own))
            for number, (members, share) in enumerate(zip(doers, gain / gain.sum(), strict=True)):
                better = members[share > shares[members]]
                shares[better], by_presence[better] = share, number >= len(tried)
            group_of = {j: members for members in together for j in members.tolist()}
    named = [j for j in np.lexsort((-own, -shares)).tolist() if shares[j] > 0][:MOST_NAMED]
    return [
        Cause(
            variable=context.names[j],
            share=float(shares[j]),
            joint_with=_joint(context.names, j, parts, group_of.get(j)),
            **_described(traces[j], first, changes[j], bool(by_presence[j]), context.times),
        )
        for j in named
    ]


def _exact(
    context: Recording, first: int, density: Density
) -> tuple[Contributions, NDArray[np.float64]]:
    """Return the window's exact contributions, and each context variable's sum (n,) of them."""
    span = context.rows(first)
    parts = contributions(span, density.representation, density.sketch, density.typical)
    number_of = {name: j for j, name in enumerate(context.names)}
    own = np.zeros(len(context.names))
    own[[number_of[name] for name in parts.names]] = parts.value + parts.presence
    return parts, own


def _joint(
    names: tuple[str, ...], j: int, parts: Contributions, group: NDArray[np.int64] | None
) -> tuple[str, ...]:
    """Return the variables that share a bucket with variable ``j`` or belong to its ``group``."""
    in_window = bisect_left(parts.names, names[j])
    is_seen = in_window < len(parts.names) and parts.names[in_window] == names[j]
    joint = set(parts.joint(in_window)) if is_seen else set()
    if group is not None:
        joint.update(names[i] for i in group)
    return tuple(sorted(joint - {names[j]}))


@dataclass(frozen=True)
class _Change:
    """A variable's change of presence: ``vanished``, ``appeared`` or ``missing``.

    ``at`` is a row of the context: the first one observed if the variable appeared, otherwise the
    last one observed before the absence, or the window's first row if there is none in the window.
    """

    way: str
    at: int


def _presence_change(trace: NDArray[np.float32], first: int) -> _Change | None:
    """Return a variable's change of presence in the window from row ``first``, or just before it.

    None if there was no such change.
    """
    seen = np.flatnonzero(np.isfinite(trace))
    gap = max(2, int((len(trace) - first) * LONG_ABSENCE))
    if len(trace) - 1 - seen[-1] >= gap:
        return _Change("vanished", int(seen[-1]))
    in_window = seen[seen >= first]
    if len(in_window) and seen[0] >= max(gap, first - gap):
        return _Change("appeared", int(seen[0]))
    if len(in_window) and in_window[0] - first >= gap and (seen < first).sum() <= first // 8:
        return _Change("appeared", int(in_window[0]))
    inside = np.diff(np.concatenate([[max(first - 1, 0)], in_window, [len(trace)]]))
    if inside.max(initial=0) > gap:
        where = int(np.argmax(inside))
        return _Change("missing", int(in_window[where - 1]) if where else first)
    return None


def _came_or_went_together(changes: list[_Change | None], window: int) -> list[NDArray[np.int64]]:
    """Group the variables whose presence changed in the same way at about the same time."""
    near = max(2, int(window * LONG_ABSENCE))
    groups: list[list[int]] = []
    for way in ("vanished", "appeared", "missing"):
        of_way = [(c.at, j) for j, c in enumerate(changes) if c is not None and c.way == way]
        last_at = -window
        for at, j in sorted(of_way):
            if at - last_at > near or not groups:
                groups.append([])
            groups[-1].append(j)
            last_at = at
    return [np.array(group, np.int64) for group in groups]


def _relief(
    names: tuple[str, ...],
    traces: NDArray[np.float32],
    first: int,
    tried: NDArray[np.int64],
    together: list[NDArray[np.int64]],
    changes: list[_Change | None],
    score: float,
    density: Density,
) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """Score the counterfactuals; return each one's drop in score and the variables it changed."""
    doers: list[NDArray[np.int64]] = []
    scores = []
    windows = _counterfactuals(traces, first, tried, together, changes)
    at_once = max(1, MOST_NUMBERS // traces[:, first:].size)
    while some := list(islice(windows, at_once)):
        doers += [members for members, _ in some]
        scores.append(density.scores(*_end_to_end(names, [window for _, window in some])))
    return np.nan_to_num(score - np.concatenate(scores), nan=-np.inf), doers


def _counterfactuals(
    traces: NDArray[np.float32],
    first: int,
    tried: NDArray[np.int64],
    together: list[NDArray[np.int64]],
    changes: list[_Change | None],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield counterfactuals: the variables changed, and the window (n, L) that results.

    Those of the ``tried`` variables come first, then those of the groups ``together``.
    """
    for j in tried:
        calm = traces[:, first:].copy()
        calm[j] = _calm(calm[j])
        yield np.array([j]), calm
    for members in together:
        stayed = traces.copy()
        for j in members:
            stayed[j] = _reflected(stayed[j])
        yield members, stayed[:, first:]
        change = changes[members[0]]
        if change is not None and change.way == "appeared":
            absent = traces[:, first:].copy()
            absent[members] = np.nan
            yield members, absent


def _calm(trace: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the trace with every observed value replaced by their median."""
    seen = np.isfinite(trace)
    usual = _median(trace[seen]) if seen.any() else np.float32(0.0)
    return np.where(seen, usual, np.float32(np.nan)).astype(np.float32)


def _median(values: NDArray[np.float32]) -> np.float32:
    return np.float32(np.median(values.astype(np.float64)))  # two huge values overflow float32


def _reflected(trace: NDArray[np.float32]) -> NDArray[np.float32]:
    """Fill in a trace's unobserved rows.

    Rows before the first and after the last observation are filled by reflection, gaps between
    observations with the value before the gap.
    """
    seen = np.flatnonzero(np.isfinite(trace))
    low, high = seen[0], seen[-1]
    t = np.arange(len(trace))
    phase = (t - low) % max(2 * (high - low), 1)
    mirrored = low + np.where(phase <= high - low, phase, 2 * (high - low) - phase)
    after = np.minimum(np.searchsorted(seen, mirrored), len(seen) - 1)
    before = np.searchsorted(seen, t, side="right") - 1
    filled: NDArray[np.float32] = trace[seen[np.where((low < t) & (t < high), before, after)]]
    return np.where(np.isfinite(trace), trace, filled)


def _end_to_end(
    names: tuple[str, ...], windows: list[NDArray[np.float32]]
) -> tuple[Recording, NDArray[np.int64]]:
    """Concatenate windows, each (n, L), into one recording; return it and their start rows."""
    length = windows[0].shape[1]
    rows = np.concatenate([window.T for window in windows])
    seen = np.isfinite(rows)
    row, code = np.nonzero(seen)
    copies = Recording(
        np.arange(len(rows)),
        np.concatenate([[0], np.cumsum(seen.sum(axis=1))]),
        code.astype(np.int32),
        rows[row, code],
        names,
    )
    return copies, np.arange(len(windows), dtype=np.int64) * length


def _described(
    trace: NDArray[np.float32],
    first: int,
    change: _Change | None,
    by_presence: bool,
    times: NDArray[np.int64],
) -> dict[str, str]:
    """Return the kind of a variable's change in the window, and its description.

    ``by_presence`` is true if undoing the change of presence explained most. A variable that has
    just appeared has no usual level, so its change is never one of level.
    """
    inside = trace[first:]
    seen = np.flatnonzero(np.isfinite(inside))
    before = trace[:first][np.isfinite(trace[:first])]
    excursion = 0.0
    if len(seen):
        usual = _median(before if len(before) >= KNOWN_BEFORE else inside[seen])
        away = inside[seen].astype(np.float64) - usual
        farthest = int(np.argmax(np.abs(away)))
        excursion = float(away[farthest])
    came_or_went = change is not None and (by_presence or change.way == "appeared")
    if abs(excursion) >= LEVEL_SPREADS and not came_or_went:
        way, at = "rose" if excursion > 0 else "fell", times[first + seen[farthest]]
        return {
            "kind": "level",
            "detail": f"{way} by {abs(excursion):.1f} spreads at {show_time(at)}",
        }
    if change is not None:
        words = {
            "vanished": "was last seen at",
            "appeared": "appeared at",
            "missing": "went missing for a while after",
        }
        detail = f"{words[change.way]} {show_time(times[change.at])}"
        return {"kind": "presence", "detail": detail}
    return {
        "kind": "relation",
        "detail": "moved differently from the others, within its usual range",
    }
