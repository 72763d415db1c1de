"""Jitted loops over rows and columns for the questions asked of single variables.

In: arrays of rows, NaN where not observed. Out: arrays filled in place. Each sum adds the preceding
rows in the same order whatever the block, so that batch and stream agree to the last bit.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def trailing_statistics(covered: NDArray[np.float32], long: int, out: NDArray[np.float32]) -> None:
    """Fill (3, n, C) with the value, its mean over ``long`` rows and its change from the last row.

    ``covered`` holds the n rows and the ``long - 1`` rows before them. A mean needs a quarter of
    its rows to be observed; otherwise ``out``, which the caller fills with NaN, is unchanged.
    """
    past = long - 1
    n, n_columns = len(covered) - past, covered.shape[1]
    total = np.empty(n_columns)
    count = np.empty(n_columns, np.int64)
    for i in range(n):
        row = i + past
        total[:] = 0.0
        count[:] = 0
        for j in range(n_columns):
            out[0, i, j] = covered[row, j]
            out[2, i, j] = covered[row, j] - covered[row - 1, j]
        for lag in range(long):
            for j in range(n_columns):
                value = covered[row - lag, j]
                if not np.isnan(value):
                    total[j] += value
                    count[j] += 1
        for j in range(n_columns):
            if 4 * count[j] >= long:
                out[1, i, j] = total[j] / count[j]


@njit(cache=True)
def run_lengths(
    values: NDArray[np.float32],
    last_values: NDArray[np.float32],
    lengths: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Fill (n, C) with the number of consecutive observations, so far, of the same value.

    Entries that are not observed stay as the caller filled them. ``last_values`` and ``lengths``
    (C,) hold each column's latest value and run length; both are updated.
    """
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
    """Fill (n, C) with the root mean square of the last ``length`` changes from row to row.

    At least half of the changes must be observed; otherwise the entry of ``out`` is unchanged.
    ``covered`` holds the n rows and the ``length`` rows before them.
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
    """Fit the tails above (0) and below (1) the centre of each column of ``statistics`` (n, C).

    Fill (2, C) ``start``, where the tail begins, ``excess``, the mean distance beyond it, and
    ``episodes``, the number of separate exceedances. Distances are log(1 + d), where d is the
    distance from the centre in spreads. Each tail holds ``share`` of the observations. Exceedances
    at most ``gap`` observations apart count as 1 episode.
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
    seen_distance: float,
    max_distance: float,
    out: NDArray[np.float32],
) -> None:
    """Fill (n, C) with surprises in nats; 0 between the tails and where the statistic is NaN.

    Beyond the start of a tail, the excess follows a Lomax distribution whose shape is ``weight``,
    the number of episodes that the tail was learned from: with fewer episodes, the surprise grows
    more slowly. ``overstated`` is then subtracted, down to ``most_seen``: where it is not 0, no
    value up to the farthest of the reference is more surprising than an event seen once in the
    reference. In every column, the same limit holds within
    ``seen_distance`` of ``farthest``. Surprises stop growing ``max_distance`` beyond the start of a
    tail, in logarithmic distance.

    The parameters are those of :class:`~smkc.evidence.variables.tails.Tails`.
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
            grown = index[side, j] * min(distance, max_distance) / weight[side, j]
            nats = nats_at_start[j] + weight[side, j] * np.log1p(grown)
            if abs(reached - farthest[side, j]) < seen_distance:
                out[i, j] = min(nats, most_seen[j])
            else:
                out[i, j] = min(nats, max(most_seen[j], nats - overstated[side, j]))


@njit(cache=True)
def follow_lasting(
    nats: NDArray[np.float32],
    values: NDArray[np.float32],
    asked_nats: NDArray[np.float64],
    is_lasting: NDArray[np.bool_],
    lasting: float,
    lasting_rows: int,
    calm_rows: int,
    first_row: int,
    n_loud_rows: NDArray[np.int64],
    has_new_normal: NDArray[np.bool_],
    loud_row: NDArray[np.int64],
    is_refused: NDArray[np.bool_],
    begun_row: NDArray[np.int64],
    centre: NDArray[np.float64],
    deviation: NDArray[np.float64],
    n_averaged: NDArray[np.int64],
    is_new: NDArray[np.bool_],
    centres: NDArray[np.float32],
    deviations: NDArray[np.float32],
) -> None:
    """Fill ``is_new`` (2, n, C), ``centres`` and ``deviations`` (n, C), and update the state.

    Lasting questions (0) and all others (1) are treated separately, in ``n_loud_rows``,
    ``has_new_normal`` and ``loud_row`` (2, C). A counter goes up by 1 in rows in which the largest
    of a column's ``nats`` (Q, n, C), minus ``asked_nats`` (C,), is above ``lasting``, and down by 1
    in others. The column has a new normal when the counter reaches ``lasting_rows``, until it is
    back at 0. For questions that are not lasting, the ``calm_rows`` rows after a row above
    ``lasting`` count as above it, too. ``loud_row`` is the latest row above ``lasting``,
    ``begun_row`` (C,) the row in which the counter of lasting questions left 0. A column for which
    ``is_refused`` (C,) gets no new normal before that counter is back at 0.

    While the counter of lasting questions is not 0, ``centre`` and ``deviation`` (C,) average the
    ``values`` (n, C) and their absolute deviations, over at most ``lasting_rows`` rows and
    exponentially afterwards. What is filled in for a row does not depend on the row's own value.
    """
    n_questions, n, n_columns = nats.shape
    largest = np.empty(2, np.float32)
    for i in range(n):
        row = first_row + i
        for j in range(n_columns):
            largest[:] = 0.0
            for q in range(n_questions):
                kind = 0 if is_lasting[q] else 1
                largest[kind] = max(largest[kind], nats[q, i, j])
            for kind in range(2):
                if largest[kind] - asked_nats[j] > lasting:
                    loud_row[kind, j] = row
                reach = 0 if kind == 0 else calm_rows
                if loud_row[kind, j] >= 0 and row - loud_row[kind, j] <= reach:
                    if kind == 0 and n_loud_rows[0, j] == 0:
                        begun_row[j] = row
                    n_loud_rows[kind, j] = min(n_loud_rows[kind, j] + 1, lasting_rows)
                    if n_loud_rows[kind, j] == lasting_rows and not is_refused[j]:
                        has_new_normal[kind, j] = True
                elif n_loud_rows[kind, j] > 0:
                    n_loud_rows[kind, j] -= 1
                    if n_loud_rows[kind, j] == 0:
                        has_new_normal[kind, j] = False
                        if kind == 0:
                            is_refused[j] = False
                is_new[kind, i, j] = has_new_normal[kind, j]
            centres[i, j], deviations[i, j] = centre[j], deviation[j]
            if n_loud_rows[0, j] == 0:
                n_averaged[j] = 0
            elif values[i, j] == values[i, j]:
                if n_averaged[j] == 0:
                    centre[j], deviation[j] = values[i, j], 0.0
                n_averaged[j] = min(n_averaged[j] + 1, lasting_rows)
                away = values[i, j] - centre[j]
                centre[j] += away / n_averaged[j]
                deviation[j] += (abs(away) - deviation[j]) / n_averaged[j]


@njit(cache=True)
def find_loudest(
    nats: NDArray[np.float32],
    statistics: NDArray[np.float32],
    asked_nats: NDArray[np.float64],
    is_mean: NDArray[np.bool_],
    is_of_one_row: NDArray[np.bool_],
    calm_rows: int,
    loud_share: float,
    shown_share: float,
    first_row: int,
    news: float,
    new_rows: int,
    places: NDArray[np.int32],
    past_row: NDArray[np.int64],
    news_row: NDArray[np.int64],
    column_row: NDArray[np.int64],
    begun_row: NDArray[np.int64],
    older_row: NDArray[np.int64],
    marks: NDArray[np.int8],
    top_columns: NDArray[np.int32],
    top_questions: NDArray[np.int8],
    top_nats: NDArray[np.float32],
    top_surprises: NDArray[np.float64],
) -> None:
    """Find the K loudest columns of each row, and mark the rows.

    The surprise of a column is the largest of its ``nats`` (Q, n, C) over the questions, minus its
    ``asked_nats`` (C,). The ``top_`` arrays (n, K) are filled with the columns of the largest
    surprises, in descending order; -1, -1, 0 and -inf where there are fewer.

    ``marks`` (n,) become 1, news, where the surprise of a column is above ``news``, no column of
    the same place was above it in the last ``calm_rows`` rows, and no other place began to be in
    these. It need not be the largest, but above ``loud_share`` of it: trouble that goes on
    elsewhere may be louder, while a faint one is no news. ``places`` are given for the first
    columns; ``past_row`` holds the latest row in which each place was above ``news``, ``news_row``
    (1,) the latest in which any place began to be.

    They become 1, too, where all of the loudest columns above ``news`` are new: they began to be in
    the last ``new_rows`` rows, while older ones were among the loudest in the last ``calm_rows``
    rows and are quiet or faint by now. ``column_row`` and ``begun_row`` (C,) hold the latest row in
    which each column was above ``news``, and in which it began to be; ``older_row`` (1,) the latest
    in which an older one was among the loudest.

    ``marks`` become 2, an echo, where less than ``shown_share`` of the loudest columns shows the
    trouble in the row itself; the loudest are those above ``loud_share`` of the largest surprise. A
    column shows it unless its loudest question is a mean over several rows (``is_mean``) and no
    question about a single row (``is_of_one_row``) has a surprise in the same direction, by the
    sign of its statistic.
    """
    n_questions, n, n_columns = nats.shape
    n_kept = top_columns.shape[1]
    for i in range(n):
        row = first_row + i
        top_columns[i, :] = -1
        top_questions[i, :] = -1
        top_nats[i, :] = 0.0
        top_surprises[i, :] = -np.inf
        of_news = 0.0
        for j in range(n_columns):
            best, which = np.float32(0.0), -1
            for q in range(n_questions):
                if nats[q, i, j] > best:
                    best, which = nats[q, i, j], q
            if which < 0:
                continue
            surprise = best - asked_nats[j]
            if surprise > news:
                if row - column_row[j] > calm_rows:
                    begun_row[j] = row
                column_row[j] = row
            if surprise > news and j < len(places):
                if row - past_row[places[j]] > calm_rows:
                    if row - news_row[0] > calm_rows:
                        of_news = max(of_news, surprise)
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
        are_new = top_surprises[i, 0] > news
        k = 0
        while are_new and k < n_kept and top_surprises[i, k] > loud_share * top_surprises[i, 0]:
            begun = begun_row[top_columns[i, k]]
            are_new = row - begun <= new_rows or top_surprises[i, k] <= news
            k += 1
        if top_surprises[i, 0] > news and not are_new:
            older_row[0] = row
        is_other = are_new and row - older_row[0] <= calm_rows
        if is_other or (of_news > 0.0 and of_news > loud_share * top_surprises[i, 0]):
            marks[i] = 1
        elif top_surprises[i, 0] > 0.0:
            n_loud, n_shown = 0, 0
            while n_loud < n_kept and top_surprises[i, n_loud] > loud_share * top_surprises[i, 0]:
                j, which = top_columns[i, n_loud], top_questions[i, n_loud]
                is_shown = not is_mean[which]
                for q in range(n_questions):
                    is_alike = statistics[q, i, j] * statistics[which, i, j] > 0.0
                    is_shown |= is_of_one_row[q] and nats[q, i, j] > 0.0 and is_alike
                n_shown += is_shown
                n_loud += 1
            if n_shown < shown_share * n_loud:
                marks[i] = 2
