import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.smkc.serve.store.making import alert_of, everything, message_of, row_of, verdict_of

from smkc.serve.store import Event, LaneStore, Store, StoreError


def next_commit(lane: LaneStore) -> None:
    """Commit a row of many new names, with one of everything."""
    number = lane.n_rows
    lane.commit(
        [row_of(number, tuple(f"{number}/{name}" for name in range(2000)))],
        [verdict_of(number)],
        [alert_of(number, is_open=False)],
        [message_of(str(number))],
        [Event(at_row=number, kind="accept", content={"n": number})],
    )


def fill(store: Store) -> StoreError:
    """Commit until the disk is full; return the error that says so."""
    lane = store.lane("w", "")
    for _ in range(10_000):
        before = everything(store), lane.n_rows, lane.last_time, lane.events(0)
        try:
            next_commit(lane)
        except StoreError as error:
            assert (everything(store), lane.n_rows, lane.last_time, lane.events(0)) == before
            return error
    raise AssertionError("the disk never became full")


def go_on(store: Store) -> None:
    """Repeat the commit that failed, and check that all rows are there, each once."""
    lane = store.lane("w", "")
    n_before = lane.n_rows
    next_commit(lane)
    next_commit(lane)
    assert lane.n_rows == n_before + 2
    rows = list(lane.each_row(0))
    assert [number for number, _ in rows] == list(range(lane.n_rows))
    assert all(row.names[0] == f"{number}/0" for number, row in rows)
    keys = [message.key for message in store.due(0, 10**6)]
    assert keys == [str(number) for number in range(lane.n_rows)]


def set_limit(store: Store, n_pages: int) -> None:
    with store._database.alone("set a limit") as connection:
        connection.execute(f"PRAGMA max_page_count = {n_pages}")


def test_a_full_file_keeps_nothing_of_a_commit_and_goes_on_later(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        lane = store.lane("w", "")
        for _ in range(3):
            next_commit(lane)
        set_limit(store, 400)
        error = fill(store)
        assert "make room" in str(error)
        assert not error.is_damaged
        with pytest.raises(StoreError) as again:
            store.put_inbox("w", b"x" * 10**6)
        assert "make room" in str(again.value)
        assert store.n_inbox("w") == 0
        set_limit(store, 2**30)
        go_on(store)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if mounted.returncode:
        pytest.skip("a small disk can only be mounted by root")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def use_up(disk: Path) -> None:
    """Take all room that a disk has left."""
    with open(disk / "ballast", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_full_disk_loses_nothing(small_disk: Path) -> None:
    with Store.open(small_disk / "data") as store:
        # the rest of the disk goes too, to the last byte
        error = fill(store)
        use_up(small_disk)
        assert "make room" in str(error)
        with pytest.raises(StoreError) as again:
            next_commit(store.lane("w", ""))
        assert "make room" in str(again.value)
        with pytest.raises(StoreError) as pushed:
            store.put_inbox("w", b"x" * 10**6)
        assert "make room" in str(pushed.value)
        before = everything(store)
        n_rows = store.lane("w", "").n_rows
    # a start on a full disk: it works, or says why not
    try:
        with Store.open(small_disk / "data") as store:
            assert everything(store) == before
    except StoreError as refused:
        if "make room" not in str(refused):
            raise
    os.unlink(small_disk / "ballast")
    subprocess.run(["mount", "-o", "remount,size=30m", str(small_disk)], check=True)
    with Store.open(small_disk / "data") as store:
        assert store.set_aside == []
        assert store.lane("w", "").n_rows == n_rows
        assert everything(store) == before
        go_on(store)


def test_a_new_store_on_a_full_disk_says_so_and_starts_later(small_disk: Path) -> None:
    use_up(small_disk)
    with pytest.raises(StoreError) as refused:
        Store.open(small_disk / "data")
    assert "make room" in str(refused.value)
    os.unlink(small_disk / "ballast")
    with Store.open(small_disk / "data") as store:
        assert store.set_aside == []
        next_commit(store.lane("w", ""))
