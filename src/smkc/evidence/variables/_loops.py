"""Jitted loops over rows and columns for the questions asked of single variables.

In: arrays of rows, NaN where not observed. Out: arrays filled in place. Sums run over the rows
before a row in the same order whatever the block, so that batch and stream agree to the bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "column_surprises",
    "fall_silent",
    "fit_tails",
    "hear",
    "mean_squared_changes",
    "run_lengths",
    "trailing_statistics",
]

# Largest decay of a tail, per unit of logarithmic distance: that of data with thin tails.
MAX_INDEX = 12.0

# Farther beyond the start of a tail than this, in logarithmic distance, nothing more is known.
MAX_DISTANCE = 4.0


@njit(cache=True)
def trailing_statistics(
    covered: NDArray[np.float32], short: int, long: int, before: int, out: NDArray[np.float32]
) -> None:
    """Fill (5, n, C): value, means over ``short`` and ``long`` rows, jump, step.

    ``covered`` has ``short + before`` rows before the first of the n. A mean needs a quarter of
    its rows. The step is the short mean less the mean of the ``before`` rows before that, or 0 if
    it leads back towards the usual level: the end of a fault is no fault.
    """
    past = short + before
    n, n_columns = len(covered) - past, covered.shape[1]
    total = np.empty(n_columns)
    count = np.empty(n_columns, np.int64)
    for i in range(n):
        row = i + past
        total[:] = 0.0
        count[:] = 0
        for j in range(n_columns):
            out[0, i, j] = covered[row, j]
            out[3, i, j] = covered[row, j] - covered[row - 1, j]
        for lag in range(long):
            for j in range(n_columns):
                value = covered[row - lag, j]
                if not np.isnan(value):
                    total[j] += value
                    count[j] += 1
            if lag + 1 == short:
                for j in range(n_columns):
                    if 4 * count[j] >= short:
                        out[1, i, j] = total[j] / count[j]
        for j in range(n_columns):
            if 4 * count[j] >= long:
                out[2, i, j] = total[j] / count[j]
        total[:] = 0.0
        count[:] = 0
        for lag in range(short, past):
            for j in range(n_columns):
                value = covered[row - lag, j]
                if not np.isnan(value):
                    total[j] += value
                    count[j] += 1
        for j in range(n_columns):
            if 4 * count[j] >= before:
                out[4, i, j] = _away(out[1, i, j], total[j] / count[j])


@njit(cache=True)
def _away(now: float, earlier: float) -> float:
    """Return a change, or 0 if it leads towards the usual level, which is 0; NaN if not known."""
    return 0.0 if abs(now) <= abs(earlier) else now - earlier


@njit(cache=True)
def run_lengths(
    values: NDArray[np.float32],
    last_values: NDArray[np.float32],
    lengths: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Fill (n, C) how many observations in a row had the same value; NaN where not observed."""
    n, n_columns = values.shape
    for i in range(n):
        for j in range(n_columns):
            value = values[i, j]
            if np.isnan(value):
                continue
            lengths[j] = lengths[j] + 1.0 if value == last_values[j] else 1.0
            last_values[j] = value
            out[i, j] = lengths[j]


@njit(cache=True)
def mean_squared_changes(
    covered: NDArray[np.float32], length: int, out: NDArray[np.float32]
) -> None:
    """Fill (n, C) root mean squares of ``length`` changes, half of which must be observed.

    ``covered`` has ``length`` rows before the first of the n.
    """
    n, n_columns = out.shape
    for i in range(n):
        for j in range(n_columns):
            total = 0.0
            count = 0
            for row in range(i + 1, i + 1 + length):
                change = np.float64(covered[row, j]) - np.float64(covered[row - 1, j])
                if not np.isnan(change):
                    total += change * change
                    count += 1
            if 2 * count >= length:
                out[i, j] = np.sqrt(total / count)


@njit(cache=True)
def fit_tails(
    statistics: NDArray[np.float32],
    centre: NDArray[np.float64],
    spread: NDArray[np.float64],
    gap: int,
    share: float,
    start: NDArray[np.float64],
    excess: NDArray[np.float64],
    episodes: NDArray[np.float64],
) -> None:
    """Fill (2, C), above and below: where the tail begins, its mean excess, its episodes.

    Distances are log(1 + distance from the centre in spreads). The tail holds ``share`` of the
    rows. Exceedances at most ``gap`` rows apart are one episode.
    """
    for j in range(statistics.shape[1]):
        column = statistics[:, j]
        seen = column[~np.isnan(column)].astype(np.float64)
        n = len(seen)
        if n < 2:
            continue
        ordered = np.sort(seen)
        at = int((1.0 - share) * (n - 1))
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            edge = ordered[at] if side == 0 else ordered[n - 1 - at]
            begin = np.log1p(max(sign * (edge - centre[j]) / spread[j], 0.0))
            total, count, last, found = 0.0, 0, -gap - 1, 0
            for i in range(n):
                beyond = np.log1p(max(sign * (seen[i] - centre[j]) / spread[j], 0.0)) - begin
                if beyond > 0.0:
                    total += beyond
                    count += 1
                    if i - last > gap:
                        found += 1
                    last = i
            start[side, j] = begin
            excess[side, j] = total / count if count else 0.0
            episodes[side, j] = found


@njit(cache=True)
def column_surprises(
    statistics: NDArray[np.float32],
    centre: NDArray[np.float64],
    spread: NDArray[np.float64],
    start: NDArray[np.float64],
    index: NDArray[np.float64],
    weight: NDArray[np.float64],
    nats_at_start: NDArray[np.float64],
    most_seen: NDArray[np.float64],
    overstated: NDArray[np.float64],
    farthest: NDArray[np.float64],
    repeated: float,
    out: NDArray[np.float32],
) -> None:
    """Fill (n, C) surprises in nats; 0 within the bulk and where there is no statistic.

    Beyond the start of the tail the surprise is that of Lomax's distribution, whose shape is the
    number of episodes that the tail was learned from: the fewer, the slower it grows. Where that
    is ``overstated`` it is at most ``most_seen`` up to the farthest that the reference has seen.
    That holds everywhere for what is as far as that ``farthest``, but for ``repeated``.
    """
    n, n_columns = statistics.shape
    low, high = np.empty(n_columns), np.empty(n_columns)
    for j in range(n_columns):
        high[j] = centre[j] + spread[j] * np.expm1(start[0, j])
        low[j] = centre[j] - spread[j] * np.expm1(start[1, j])
    for i in range(n):
        for j in range(n_columns):
            value = np.float64(statistics[i, j])
            out[i, j] = 0.0
            if np.isnan(value) or low[j] <= value <= high[j]:
                continue
            side = 0 if value > high[j] else 1
            reached = np.log1p(abs(value - centre[j]) / spread[j])
            distance = reached - start[side, j]
            grown = index[side, j] * min(distance, MAX_DISTANCE) / weight[side, j]
            nats = nats_at_start[j] + weight[side, j] * np.log1p(grown)
            if abs(reached - farthest[side, j]) < repeated:
                out[i, j] = min(nats, most_seen[j])
            else:
                out[i, j] = min(nats, max(most_seen[j], nats - overstated[side, j]))


# Columns at least this share as loud as the loudest say whether a row is an echo: it is none if one
# in COLUMNS_PER_SHOWN of them shows the trouble.
LOUD_SHARE, COLUMNS_PER_SHOWN = 0.5, 8


@njit(cache=True)
def hear(
    nats: NDArray[np.float32],
    statistics: NDArray[np.float32],
    asked_nats: NDArray[np.float64],
    is_lasting: NDArray[np.bool_],
    is_mean: NDArray[np.bool_],
    is_of_one_row: NDArray[np.bool_],
    lasting: float,
    lasting_rows: int,
    calm_rows: int,
    first_row: int,
    n_loud_rows: NDArray[np.int64],
    is_muted: NDArray[np.bool_],
    loud_row: NDArray[np.int64],
    news: float,
    places: NDArray[np.int32],
    past_row: NDArray[np.int64],
    news_row: NDArray[np.int64],
    marks: NDArray[np.int8],
    top_columns: NDArray[np.int32],
    top_questions: NDArray[np.int8],
    top_nats: NDArray[np.float32],
    top_surprises: NDArray[np.float64],
) -> None:
    """Fill (n, K) the loudest columns of each row, the loudest first; -1 where there is none.

    A column's surprise is its largest nats less its ``asked_nats`` (C,). It may be a new normal
    above ``lasting``. Its lasting questions (0) and its passing ones (1) are told apart in
    ``n_loud_rows``, ``is_muted`` and ``loud_row`` (2, C): what is above ``lasting`` in
    ``lasting_rows`` rows more than it is not is muted until it has been as quiet again. Passing
    questions count as above it for ``calm_rows`` after such a row.

    ``marks`` (n,) become 1, news, in rows in which a column is past ``news`` while none of its
    place was in the last ``calm_rows``, and no other place began in these. ``places`` are those of
    the first columns; ``past_row`` is the latest row in which each place was past it, ``news_row``
    (1,) the latest in which any began to be. They become 2, an echo, where fewer than an eighth of
    the loudest columns show the trouble: of the others, those at least half as loud as the
    loudest, a mean over several rows speaks (``is_mean``), and no question of the row alone
    (``is_of_one_row``) has anything to say that goes the same way, by the signs of ``statistics``.
    """
    n_questions, n, n_columns = nats.shape
    n_kept = top_columns.shape[1]
    said, asked = np.empty(2, np.float32), np.empty(2, np.int64)
    for i in range(n):
        row = first_row + i
        top_columns[i, :] = -1
        top_questions[i, :] = -1
        top_nats[i, :] = 0.0
        top_surprises[i, :] = -np.inf
        for j in range(n_columns):
            said[:] = 0.0
            asked[:] = -1
            for q in range(n_questions):
                kind = 0 if is_lasting[q] else 1
                if nats[q, i, j] > said[kind]:
                    said[kind], asked[kind] = nats[q, i, j], q
            best, which = np.float32(0.0), -1
            for kind in range(2):
                if said[kind] - asked_nats[j] > lasting:
                    loud_row[kind, j] = row
                reach = 0 if kind == 0 else calm_rows
                if loud_row[kind, j] >= 0 and row - loud_row[kind, j] <= reach:
                    n_loud_rows[kind, j] = min(n_loud_rows[kind, j] + 1, lasting_rows)
                    if n_loud_rows[kind, j] == lasting_rows:
                        is_muted[kind, j] = True
                elif n_loud_rows[kind, j] > 0:
                    n_loud_rows[kind, j] -= 1
                    if n_loud_rows[kind, j] == 0:
                        is_muted[kind, j] = False
                if said[kind] > best and not is_muted[kind, j]:
                    best, which = said[kind], asked[kind]
            if which < 0:
                continue
            surprise = best - asked_nats[j]
            if surprise > news and j < len(places):
                if row - past_row[places[j]] > calm_rows:
                    if row - news_row[0] > calm_rows:
                        marks[i] = 1
                    news_row[0] = row
                past_row[places[j]] = row
            if surprise > top_surprises[i, n_kept - 1]:
                k = n_kept - 1
                while k > 0 and surprise > top_surprises[i, k - 1]:
                    top_surprises[i, k] = top_surprises[i, k - 1]
                    top_nats[i, k] = top_nats[i, k - 1]
                    top_columns[i, k] = top_columns[i, k - 1]
                    top_questions[i, k] = top_questions[i, k - 1]
                    k -= 1
                top_surprises[i, k] = surprise
                top_nats[i, k] = best
                top_columns[i, k] = j
                top_questions[i, k] = which
        if marks[i] == 0 and top_surprises[i, 0] > 0.0:
            n_loud, n_shown = 0, 0
            while n_loud < n_kept and top_surprises[i, n_loud] > LOUD_SHARE * top_surprises[i, 0]:
                j, which = top_columns[i, n_loud], top_questions[i, n_loud]
                is_shown = not is_mean[which]
                for q in range(n_questions):
                    is_alike = statistics[q, i, j] * statistics[which, i, j] > 0.0
                    is_shown |= is_of_one_row[q] and nats[q, i, j] > 0.0 and is_alike
                n_shown += is_shown
                n_loud += 1
            if COLUMNS_PER_SHOWN * n_shown < n_loud:
                marks[i] = 2


@njit(cache=True)
def fall_silent(
    values: NDArray[np.float32],
    is_resident: NDArray[np.bool_],
    silent_rows: int,
    recent_rows: int,
    lasting_rows: int,
    n_certain: int,
    n_silent_rows: NDArray[np.int64],
    is_gone: NDArray[np.bool_],
    counts: NDArray[np.float64],
    is_trouble: NDArray[np.bool_],
) -> int:
    """Fill (n,) whether many residents are gone; return the most that fell silent at once.

    Trouble begins when so many have been silent for at least ``silent_rows`` and at most
    ``recent_rows``: ``n_certain``, and four times as many as were lately, which is ``counts[0]``.
    It ends when half of them are back, or after ``lasting_rows``; ``counts[1]`` of them are over.
    """
    n, n_columns = values.shape
    n_most = 0
    for i in range(n):
        n_recent, n_gone, n_back = 0, 0, 0
        for j in range(n_columns):
            if not is_resident[j]:
                continue
            n_silent_rows[j] = n_silent_rows[j] + 1 if np.isnan(values[i, j]) else 0
            n_recent += silent_rows <= n_silent_rows[j] <= recent_rows
            n_gone += is_gone[j]
            n_back += is_gone[j] and n_silent_rows[j] == 0
        n_most = max(n_most, n_recent)
        if n_gone > 0 and (2 * n_back >= n_gone or counts[1] >= lasting_rows):
            is_gone[:] = False
            n_gone = 0
        if n_recent >= n_certain + 4.0 * counts[0]:
            for j in range(n_columns):
                if is_resident[j] and silent_rows <= n_silent_rows[j] <= recent_rows:
                    n_gone += not is_gone[j]
                    is_gone[j] = True
        if n_gone > 0:
            is_trouble[i] = True
            counts[1] += 1.0
        else:
            counts[0] += (n_recent - counts[0]) / lasting_rows
            counts[1] = 0.0
    return n_most
