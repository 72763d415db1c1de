import multiprocessing
import random
import time
from pathlib import Path

import pytest
from tests.smkc.serve.store import committing
from tests.smkc.serve.store.making import commit_row, row_of

from smkc.serve.store import Store, StoreError
from smkc.serve.store.incidents import MAX_ALERTS


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.smkc.serve.store.committing"])
    return context


def require_whole(folder: Path, n_reported: int) -> int:
    """Open the store and check all of it; return how many rows it has."""
    with Store.open(folder) as store:
        assert store.set_aside == []
        lane = store.lane("w", "")
        assert n_reported <= lane.n_rows <= n_reported + 5  # one commit may not have been reported
        rows = list(lane.each_row(lane.first_kept_row))
        assert [number for number, _ in rows] == list(range(lane.first_kept_row, lane.n_rows))
        assert len(rows) >= min(lane.n_rows, committing.KEPT_ROWS)
        for number, row in rows:
            expected = row_of(number)
            assert (row.time, row.names) == (expected.time, expected.names)
            assert row.values.tobytes() == expected.values.tobytes()
        everything = range(lane.n_rows)
        assert lane.verdicts(limit=10**9)["number"].tolist() == list(everything)
        assert [int(alert.record.first_row) for alert in store.alerts(limit=10**9)] == list(
            reversed(everything)
        )
        # They overlap and are of one lane: one incident, of which the first alerts are read.
        assert {alert.incident for alert in store.alerts(limit=10**9)} <= {f"{0:016x}"}
        assert sum(len(alerts) for _, alerts in store.incidents()) == min(lane.n_rows, MAX_ALERTS)
        waiting = store.due(10**15, 10**9)
        assert [message.key for message in waiting] == [str(number) for number in everything]
        assert [event.at_row for event in lane.events(lane.first_kept_row)] == list(
            range(lane.first_kept_row, lane.n_rows)
        )
        assert store.n_inbox("w") <= 1  # kept, but not yet made a row
        store.drop_inbox("w", 10**15)
        return lane.n_rows


def kill_at_random_moments(processes, folder: Path, n_times: int) -> None:
    choice = random.Random(20)
    n_rows = 0
    for seed in range(n_times):
        ours, theirs = processes.Pipe(duplex=False)
        process = processes.Process(
            target=committing.commit_for_ever, args=(str(folder), theirs, seed)
        )
        process.start()
        theirs.close()
        time.sleep(choice.uniform(0.0, 0.3))
        process.kill()
        process.join()
        assert process.exitcode == -9
        reported = n_rows
        try:
            while True:
                reported = int(ours.recv_bytes())
        except (EOFError, OSError):
            ours.close()
        n_rows = require_whole(folder, reported)
    assert n_rows > n_times


def test_killed_at_random_moments(processes, tmp_path: Path) -> None:
    kill_at_random_moments(processes, tmp_path, 20)


@pytest.mark.slow
def test_killed_at_many_random_moments(processes, tmp_path: Path) -> None:
    kill_at_random_moments(processes, tmp_path, 60)


def test_a_second_process_is_refused_until_the_first_is_gone(processes, tmp_path: Path) -> None:
    ours, theirs = processes.Pipe()
    process = processes.Process(target=committing.hold, args=(str(tmp_path), theirs))
    process.start()
    try:
        assert ours.recv_bytes() == b"open"
        with pytest.raises(StoreError, match="in use by another process") as refused:
            Store.open(tmp_path)
        assert not refused.value.is_damaged
    finally:
        process.kill()
        process.join()
        ours.close()
        theirs.close()
    with Store.open(tmp_path) as store:
        commit_row(store.lane("w", ""))


def test_a_second_store_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        with pytest.raises(StoreError, match="in use"):
            Store.open(tmp_path)
        commit_row(store.lane("w", ""))
        with pytest.raises(StoreError, match="in use"):
            Store.open(tmp_path)
        assert not list(tmp_path.glob("*lock-*"))
    with Store.open(tmp_path) as store:
        assert store.lane("w", "").n_rows == 1
