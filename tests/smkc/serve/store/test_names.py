import gc
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.smkc.serve.store.making import STEP, time_of

from smkc.serve.rows import Row
from smkc.serve.store import Store

STEADY = 400
AT_ONCE = 5  # rows of one commit


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def names_at(number: int, n_new: int) -> tuple[str, ...]:
    """Return names that stay, and some that are there for two rows and never again."""
    first = number * n_new
    return (
        *(f'cpu_seconds{{node="{n}"}}' for n in range(STEADY)),
        *(
            f'memory_bytes{{pod="api-{n:08d}"}}'
            for n in range(max(first - n_new, 0), first + n_new)
        ),
    )


def row_at(number: int, n_new: int) -> Row:
    names = names_at(number, n_new)
    values = np.arange(len(names), dtype=np.float32)
    return Row(time=time_of(number), names=names, values=values)


def follow(folder: Path, n_distinct: int, n_new: int) -> tuple[list[int], int, int]:
    """Follow a lane whose names churn; return resident memory on the way, most names in memory."""
    resident, most, n_rows = [], 0, n_distinct // n_new
    with Store.open(folder) as store:
        lane = store.lane("w", "")
        for first in range(0, n_rows, AT_ONCE):
            numbers = range(first, first + AT_ONCE)
            lane.commit([row_at(number, n_new) for number in numbers], [None] * AT_ONCE, [], [])
            most = max(most, len(lane.book._cached))
            if first % (n_rows // 10) == 0:
                store.retain(time_of(first), n_rows * STEP // 5, 10**12, 10**12)
                gc.collect()
                if os.path.exists("/proc/self/statm"):
                    resident.append(resident_bytes())
        last = list(lane.each_row(lane.n_rows - 2))
        assert [row.names for _, row in last] == [
            names_at(number, n_new) for number in (n_rows - 2, n_rows - 1)
        ]
        with closing(sqlite3.connect(store.path)) as connection:
            n_kept = connection.execute("SELECT count(*) FROM names").fetchone()[0]
    return resident, most, n_kept


@pytest.mark.slow
def test_memory_follows_the_rows_not_the_names_ever_seen(tmp_path: Path) -> None:
    _, most, n_kept = follow(tmp_path, 50_000, 100)
    n_row = STEADY + 200
    assert most <= 2 * (3 * n_row + 1024)
    assert n_kept < 50_000


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_a_million_names_leave_memory_flat(tmp_path: Path) -> None:
    resident, most, n_kept = follow(tmp_path, 1_000_000, 100)
    assert most <= 2 * (3 * (STEADY + 200) + 1024)
    assert n_kept < 400_000
    # the first tenth fills caches of Python and of SQLite
    assert max(resident[2:]) - resident[1] < 16 * 1024**2, [r // 1024**2 for r in resident]


def test_a_name_keeps_its_code_when_it_left_memory(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        lane = store.lane("w", "")
        for number in range(12):
            names = ("first",) if number in (0, 11) else tuple(f"{number}/{n}" for n in range(2000))
            values = np.zeros(len(names), np.float32)
            lane.commit([Row(time=time_of(number), names=names, values=values)], [None], [], [])
        with closing(sqlite3.connect(store.path)) as connection:
            found = connection.execute(
                "SELECT count(*), count(DISTINCT name) FROM names"
            ).fetchone()
        assert found == (20_001, 20_001)
        assert lane.rows(0, 12).trace("first")[[0, 11]].tolist() == [0, 0]
