import threading
from pathlib import Path

import numpy as np
from tests.smkc.serve.store.making import STEP, commit_row, message_of, row_of, time_of

from smkc.serve.rows import Row
from smkc.serve.store import Store


def test_readers_see_whole_commits_while_rows_are_written(tmp_path: Path) -> None:
    n_rows, problems = 150, []
    with Store.open(tmp_path) as store:
        lane = store.lane("w", "")
        is_done = threading.Event()

        def write() -> None:
            try:
                for number in range(n_rows):
                    row = Row(
                        time=time_of(number),
                        names=("a", f"n{number}"),
                        values=np.full(2, number, np.float32),
                    )
                    lane.commit([row], [None], [], [message_of(str(number))])
                    if number % 20 == 19:
                        store.retain(time_of(number), 60 * STEP, 10**12, 10**12)
            except BaseException as error:
                problems.append(error)
            finally:
                is_done.set()

        def read() -> None:
            try:
                n_before = 0
                while not is_done.is_set():
                    n_now = len(store.due(0, 10**6))
                    assert n_now >= n_before
                    n_before = n_now
                    last = lane.n_rows
                    rec = lane.rows(max(last - 10, 0), last)
                    assert (np.diff(rec.indptr) == 2).all()
                    lane.traces(["a"], 0, time_of(n_rows))
                    lane.presence(0, time_of(n_rows), 10, 10)
                    store.put_inbox("w", b"x")
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        threads.append(threading.Thread(target=write))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert lane.n_rows == n_rows


def test_lanes_written_by_many_threads_each_keep_their_order(tmp_path: Path) -> None:
    problems = []
    with Store.open(tmp_path) as store:

        def write(entity: str) -> None:
            try:
                lane = store.lane("w", entity)
                for _ in range(30):
                    commit_row(lane)
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=write, args=(str(n % 6),)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        for lane in store.lanes():
            numbers = [number for number, _ in lane.each_row(0)]
            assert numbers == list(range(30))
        assert len(store.due(0, 1000)) == 180


def test_a_store_that_is_closed_while_it_is_read_lets_the_reader_end(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        lane = store.lane("w", "")
        lane.commit([row_of(n) for n in range(10)], [None] * 10, [], [])
        rows = lane.each_row(0)
        assert next(rows)[0] == 0
    assert [number for number, _ in [next(rows)]] == [1]  # of those read together with the first
    rows.close()
    with Store.open(tmp_path) as store:
        assert store.lane("w", "").n_rows == 10
