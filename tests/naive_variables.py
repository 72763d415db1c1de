"""Questions asked of single variables in plain Python, a variable at a time: the slow twin.

It imports nothing of smkc. A column is a list of numbers in order of time, NaN where the variable
was not observed.
"""

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

NAN = math.nan
Column = list[float]

# Rows of the long level, and those of a relation.
LONG, RELATION = 16, 8

SHARE = 0.05  # of the rows, in the tail on either side
PRIOR, TRUSTED = 8.0, 4.0
MAX_INDEX, MAX_DISTANCE = 8.0, 4.0
REPEATED = 0.05  # in logarithmic distance

LASTING_RATE, LASTING_ROWS, CALM_ROWS, N_KEPT = 3e-2, 200, 25, 16


def f32(value: float) -> float:
    """Return the nearest float32."""
    return float(np.float32(value))


def is_nan(value: float) -> bool:
    """Whether a value was not observed."""
    return value != value


# ------------------------------------------------------------------ statistics


def mean_of(values: Column) -> float:
    """Return the mean of what was observed, if that is a quarter of the values or more."""
    seen = [value for value in values if not is_nan(value)]
    return math.fsum(seen) / len(seen) if 4 * len(seen) >= len(values) else NAN


def last(column: Column, row: int, n: int) -> Column:
    """Return the n values up to a row, NaN before the first."""
    return [column[at] if at >= 0 else NAN for at in range(row - n + 1, row + 1)]


def levels(column: Column) -> list[Column]:
    """Return, for each row, its value, long mean and jump."""
    return [
        [value, mean_of(last(column, row, LONG)), value - (column[row - 1] if row else NAN)]
        for row, value in enumerate(column)
    ]


def run_lengths(column: Column) -> Column:
    """Return, for each row, how many observations in a row had the value that it has."""
    out: Column = []
    previous, length = NAN, 0
    for value in column:
        if is_nan(value):
            out.append(NAN)
            continue
        length = length + 1 if value == previous else 1
        previous = value
        out.append(float(length))
    return out


def rms_changes(column: Column) -> Column:
    """Return, for each row, the root mean square of the latest changes; half must be observed."""
    out: Column = []
    for row in range(len(column)):
        values = last(column, row, RELATION + 1)
        changes = [after - before for before, after in itertools.pairwise(values)]
        squares = [change**2 for change in changes if not is_nan(change)]
        enough = 2 * len(squares) >= RELATION
        out.append(math.sqrt(math.fsum(squares) / len(squares)) if enough else NAN)
    return out


# ------------------------------------------------------------------ tails


class NaiveTails:
    """The tails of some columns of statistics."""

    def __init__(
        self,
        columns: list[Column],
        gap: int,
        min_spread: float = 1e-9,
        is_one_sided: bool = False,
        assumed: float = 0.25,
        min_observations: int = 24,
        bounded: Iterable[int] = (),
    ) -> None:
        self.n_sides = 1 if is_one_sided else 2
        self.seen = [[value for value in column if not is_nan(value)] for column in columns]
        self.bounded = set(bounded)
        self.columns: list[dict[str, Any]] = []
        for column in columns:
            seen = [value for value in column if not is_nan(value)]
            self.columns.append(
                tail_of(seen, gap, min_spread) if len(seen) >= min_observations else {}
            )
        told = [
            (side["episodes"], side["excess"])
            for column in self.columns
            if column
            for side in column["sides"]
            if side["episodes"]
        ]
        self.prior_mean = shared_excess(told, assumed)

    def nats(self, j: int, value: float) -> float:
        """Return the surprise of one statistic of column j."""
        nats, seen = self.tail_nats(j, value), self.seen[j]
        if not nats:
            return nats
        most = math.log(len(seen) + 1)
        farthest = max(seen) if value > self.columns[j]["centre"] else min(seen)
        if abs(self.distance(j, value) - self.distance(j, farthest)) < REPEATED:
            return min(nats, most)
        if j not in self.bounded:
            return nats
        beyond = nats - self.tail_nats(j, farthest)
        return min(nats, most + max(beyond, 0.0))

    def distance(self, j: int, value: float) -> float:
        """Return the logarithmic distance of a statistic of column j."""
        return math.log1p(abs(value - self.columns[j]["centre"]) / self.columns[j]["spread"])

    def tail_nats(self, j: int, value: float) -> float:
        """Return the surprise by the tail alone."""
        column = self.columns[j]
        if not column or is_nan(value) or value == column["centre"]:
            return 0.0
        is_above = value > column["centre"]
        if not is_above and self.n_sides == 1:
            return 0.0
        side = column["sides"][0 if is_above else 1]
        distance = self.distance(j, value)
        if distance <= side["start"]:
            return 0.0
        k, m = side["episodes"], side["excess"]
        mean = (k * m + PRIOR * self.prior_mean) / (k + PRIOR)
        index = min(1.0 / max(mean, 1e-9), MAX_INDEX)
        weight = k + TRUSTED
        beyond = min(distance - side["start"], MAX_DISTANCE)
        return -math.log(self.n_sides * SHARE) + weight * math.log1p(index * beyond / weight)


def tail_of(seen: Column, gap: int, min_spread: float) -> dict[str, Any]:
    """Return centre, spread and both sides' tails of what was observed of a column."""
    low, centre, high = statistics.quantiles(seen, n=4, method="inclusive")
    spread = max((high - low) / 1.349, 0.25 * statistics.pstdev(seen), min_spread)
    sides = []
    for sign in (1.0, -1.0):
        distances = [math.log1p(max(sign * (x - centre) / spread, 0.0)) for x in seen]
        start = sorted(distances)[int((1.0 - SHARE) * (len(seen) - 1))]
        beyond = [(at, x - start) for at, x in enumerate(distances) if x > start]
        rows = [at for at, _ in beyond]
        n_joined = sum(b - a <= gap for a, b in itertools.pairwise(rows))
        excess = math.fsum(x for _, x in beyond) / len(beyond) if beyond else 0.0
        sides.append({"start": start, "excess": excess, "episodes": len(rows) - n_joined})
    return {"centre": centre, "spread": spread, "sides": sides}


def shared_excess(told: list[tuple[int, float]], assumed: float) -> float:
    """Return the mean excess that tails have in common."""
    total = sum(k for k, _ in told)
    return (math.fsum(k * m for k, m in told) + PRIOR * assumed) / (total + PRIOR)


# ------------------------------------------------------------------ runs


def run_surprise(reference: Column, length: float) -> float:
    """Return the surprise of a run of so many observations, given a column of reference values."""
    seen = [value for value in reference if not is_nan(value)]
    if is_nan(length) or len(seen) < 24 or 2 * len(set(seen)) < len(seen):
        return 0.0
    runs = [len(list(run)) for _, run in itertools.groupby(seen)]
    beyond = length - max(runs)
    again = (sum(run >= 3 for run in runs) + 1) / (sum(run >= 2 for run in runs) + 2)
    return min(math.log(len(seen)) - beyond * math.log(again), 40.0) if beyond > 0 else 0.0


# ------------------------------------------------------------------ the loudest


class NaiveVoice:
    """What one column says: its lasting questions (0) and its passing ones (1)."""

    def __init__(self) -> None:
        self.counters = [0, 0]
        self.is_muted = [False, False]
        self.loud_rows: list[int | None] = [None, None]

    def say(self, row: int, asked: float, nats: list[float], is_lasting: list[bool]) -> float:
        """Take the surprises of a row; return the surprise that is heard."""
        best = 0.0
        for kind in (0, 1):
            of_kind = [x for x, yes in zip(nats, is_lasting, strict=True) if yes == (kind == 0)]
            most = max(of_kind, default=0.0)
            if most > asked - math.log(LASTING_RATE):
                self.loud_rows[kind] = row
            at = self.loud_rows[kind]
            if at is not None and row - at <= (0, CALM_ROWS)[kind]:
                self.counters[kind] = min(self.counters[kind] + 1, LASTING_ROWS)
                self.is_muted[kind] |= self.counters[kind] == LASTING_ROWS
            else:
                self.counters[kind] = max(self.counters[kind] - 1, 0)
                self.is_muted[kind] &= self.counters[kind] > 0
            if not self.is_muted[kind]:
                best = max(best, most)
        return best


def loudest(
    nats: list[list[list[float]]], is_lasting: list[bool], asked: list[float]
) -> tuple[list[float], list[list[tuple[float, int]]]]:
    """Return, for each row, its surprise, and the loudest columns with their nats.

    ``nats`` are of each question, row and column; ``asked`` is taken off each column's.
    """
    n_questions, n_rows = len(nats), len(nats[0])
    voices = [NaiveVoice() for _ in asked]
    surprises, ranked = [], []
    for row in range(n_rows):
        heard = []
        for j, voice in enumerate(voices):
            said = [nats[q][row][j] for q in range(n_questions)]
            heard.append((voice.say(row, asked[j], said, is_lasting), j))
        spoke = [one for one in heard if one[0] > 0.0]
        order = sorted(spoke, key=lambda one: (asked[one[1]] - one[0], one[1]))
        ranked.append(order[:N_KEPT])
        surprises.append(max(order[0][0] - asked[order[0][1]], 0.0) if order else 0.0)
    return surprises, ranked


# ------------------------------------------------------------------ silence


def silent(
    columns: list[Column],
    is_resident: list[bool],
    n_certain: int,
    asks_one: bool,
    has_newcomer: list[bool],
) -> tuple[list[int], int]:
    """Return, for each row, 1 if many residents are gone, 2 if one is; and the most at once."""
    residents = [column for column, yes in zip(columns, is_resident, strict=True) if yes]
    n_rows = len(columns[0])
    usual, lasted, most, single_rows = 0.0, 0, 0, LASTING_ROWS
    gone: set[int] = set()
    out = []
    for row in range(n_rows):
        lengths = [silence_at(column, row) for column in residents]
        recent = {j for j, length in enumerate(lengths) if 2 <= length <= CALM_ROWS}
        absent = [j for j, length in enumerate(lengths) if 2 <= length <= LASTING_ROWS]
        most = max(most, len(recent))
        n_back = sum(lengths[j] == 0 for j in gone)
        if gone and (2 * n_back >= len(gone) or lasted >= LASTING_ROWS):
            gone = set()
        if len(recent) >= n_certain + 4 * usual:
            gone |= recent
        single_rows = single_rows + 1 if len(absent) <= 1 else 0
        came = any(has_newcomer[max(0, row - 3 * CALM_ROWS) : row + 1])
        if asks_one and len(absent) == 1 and single_rows > LASTING_ROWS and not came:
            gone |= {j for j in absent if lengths[j] == 2 * CALM_ROWS}
        out.append(0 if not gone else 1 if len(gone) > 1 else 2)
        if gone:
            lasted += 1
        else:
            usual += (len(recent) - usual) / LASTING_ROWS
            lasted = 0
    return out, most


def silence_at(column: Column, row: int) -> int:
    """Return for how many rows a column has not been observed."""
    length = 0
    while row >= 0 and is_nan(column[row]):
        length, row = length + 1, row - 1
    return length


# ------------------------------------------------------------------ seasons


def season_slot(
    seconds: float, zone: str, period: float, n_slots: int, holidays: Sequence[str] = ()
) -> int:
    """Return the slot of a day or a week, by a zone's clock, of a time in seconds since 1970.

    Weeks begin on Thursday, as 1970 did; holidays are Sundays.
    """
    utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    local = utc.astimezone(ZoneInfo(zone))
    into = local.hour * 3600 + local.minute * 60 + local.second + local.microsecond / 1e6
    if period > 86_400:
        weekday = 6 if local.date().isoformat() in holidays else local.weekday()
        into += (weekday - 3) % 7 * 86_400
    return math.floor(into / period * n_slots + 0.5) % n_slots
