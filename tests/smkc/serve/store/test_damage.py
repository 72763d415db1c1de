import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.smkc.serve.store.making import (
    alert_of,
    commit_row,
    everything,
    message_of,
    row_of,
    verdict_of,
)

from smkc.serve.store import Event, MarkedSpan, Store, StoreError, opening
from smkc.serve.store.opening import FILE, LOCK_FILE

NAMES = tuple(f'http_requests_total{{pod="api-{pod}"}}' for pod in range(200))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    with Store.open(folder) as store:
        for entity in ("a", "b"):
            lane = store.lane("w", entity)
            for number in range(40):
                lane.commit(
                    [row_of(number, NAMES[number % 7 :])],
                    [verdict_of(number)],
                    [alert_of(number + 100 * (entity == "b"), entity=entity)],
                    [message_of(f"{entity}{number}")],
                    [Event(at_row=number, kind="fit", content={"n": number})],
                )
        store.put_inbox("w", b"pushed")
        store.spans.add(MarkedSpan(watch="w", kind="missed", start=1, end=2, note="disk"))
        store.acknowledge(alert_of(0).id, "ann", "looking", 5)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "data"))


def read_all(store: Store) -> None:
    everything(store)
    list(store.inbox("w"))
    store.spans.find("w", 0, 10**13)
    store.acknowledgements([alert_of(0).id])
    for lane in store.lanes():
        lane.rows(lane.first_kept_row, lane.n_rows)
        lane.events(0)
        lane.open_alert()
        lane.latest_verdicts(1)
        lane.verdicts(limit=10)
        lane.presence(0, 10**13, 5, 5)
        lane.traces(NAMES[:3], 0, 10**13)


def require_new(folder: Path, name: str = f"{FILE}.damaged-1") -> None:
    with Store.open(folder) as store:
        assert store.set_aside == [folder / name]
        assert store.set_aside[0].exists()
        assert store.lanes() == []
        commit_row(store.lane("w", "a"))
    with Store.open(folder) as store:
        assert store.set_aside == []
        assert store.lane("w", "a").n_rows == 1


def mutations(content: bytes, n: int) -> Iterator[tuple[str, bytes]]:
    choice = random.Random(7)
    for _ in range(n):
        kind = choice.choice(["flip", "flip", "flips", "cut", "noise", "page", "zeros"])
        changed = bytearray(content)
        at = choice.randrange(len(content))
        if kind == "flip":
            changed[at] ^= 1 << choice.randrange(8)
        elif kind == "flips":
            for _ in range(choice.randrange(2, 200)):
                changed[choice.randrange(len(content))] = choice.randrange(256)
        elif kind == "cut":
            del changed[at:]
        elif kind == "noise":
            changed = bytearray(choice.randbytes(choice.choice([1, 100, len(content)])))
        else:
            start, end = at - at % 4096, at - at % 4096 + 4096
            filling = choice.randbytes(4096) if kind == "page" else bytes(4096)
            changed[start:end] = filling[: len(changed[start:end])]
        yield kind, bytes(changed)


def open_and_use(folder: Path) -> bool:
    """Open a store that may be damaged and use it; return whether damage was found."""
    with Store.open(folder) as store:
        if store.set_aside:
            assert all(path.exists() for path in store.set_aside)
            assert store.lanes() == []
            commit_row(store.lane("w", "a"))
            return True
        try:
            read_all(store)
            lane = store.lane("w", "a")
            lane.commit([row_of(10**6, ("new", *NAMES))], [None], [], [message_of("new")])
        except StoreError as error:
            if not error.is_damaged:
                raise
            return True
    return False


def fuzz(whole: Path, tmp_path: Path, n: int) -> None:
    content = (whole / FILE).read_bytes()
    n_found = {"cut": 0, "noise": 0}
    n_tried = {"cut": 0, "noise": 0}
    for number, (kind, changed) in enumerate(mutations(content, n)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / FILE).write_bytes(changed)
        is_found = open_and_use(folder)
        if kind in n_tried:
            n_tried[kind] += 1
            n_found[kind] += is_found
        shutil.rmtree(folder)
    assert n_found == n_tried  # where something is missing, it is always noticed


def test_a_damaged_file_is_set_aside_or_read_but_never_a_crash(whole: Path, tmp_path: Path) -> None:
    fuzz(whole, tmp_path, 150)


@pytest.mark.slow
def test_many_damaged_files(whole: Path, tmp_path: Path) -> None:
    fuzz(whole, tmp_path, 600)


@pytest.mark.parametrize("length", [0, 1, 100, 4096, 40_960], ids=str)
def test_a_file_that_was_cut_is_set_aside(folder: Path, length: int) -> None:
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[:length])
    require_new(folder)
    assert (folder / f"{FILE}.damaged-1").read_bytes()[:64] == content[:length][:64]


def test_what_was_set_aside_before_stays(folder: Path) -> None:
    for number in (1, 2, 3):
        (folder / FILE).write_bytes(bytes([number]) * 5000)
        with Store.open(folder) as store:
            assert [path.name for path in store.set_aside] == [f"{FILE}.damaged-{number}"]
    assert (folder / f"{FILE}.damaged-2").read_bytes() == b"\x02" * 5000


def test_a_log_without_its_file_is_set_aside(folder: Path) -> None:
    (folder / FILE).unlink()
    (folder / f"{FILE}-wal").write_bytes(b"left over")
    with Store.open(folder) as store:
        assert [path.name for path in store.set_aside] == [f"{FILE}.damaged-1"]
        assert store.lanes() == []
    assert (folder / f"{FILE}.damaged-1-wal").read_bytes() == b"left over"


def test_noise_in_the_lock_and_a_half_made_file_do_not_matter(folder: Path) -> None:
    (folder / LOCK_FILE).write_bytes(b"noise" * 1000)
    (folder / f"{FILE}.new").write_bytes(b"noise" * 1000)
    with Store.open(folder) as store:
        assert store.set_aside == []
        assert store.lane("w", "a").n_rows == 40
    (folder / FILE).unlink()
    with Store.open(folder) as store:
        assert store.set_aside == []
        assert store.lanes() == []


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_newer_version_is_refused_and_left_alone(folder: Path) -> None:
    newer = opening.VERSION + 1
    change(folder, f"PRAGMA user_version = {newer}", f"UPDATE about SET version = {newer}")
    with pytest.raises(StoreError, match=r"newer smkc .*; upgrade") as refused:
        Store.open(folder)
    assert not refused.value.is_damaged
    assert not list(folder.glob("*.damaged*"))
    with pytest.raises(StoreError, match="newer"):  # not: in use
        Store.open(folder)


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA user_version = 999",
        "PRAGMA application_id = 1",
        "DROP TABLE events",
        "ALTER TABLE rows RENAME COLUMN time TO times",
        "DELETE FROM rows WHERE id = (SELECT max(id) FROM rows)",
        "UPDATE lanes SET n_rows = n_rows - 1 WHERE id = 1",
    ],
    ids=["version", "application", "table", "column", "row", "count"],
)
def test_a_file_that_contradicts_itself_is_set_aside(folder: Path, statement: str) -> None:
    change(folder, statement)
    require_new(folder)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE rows SET content = x'00' WHERE id & 1048575 = 7", "row 7 cannot be read"),
        ("UPDATE rows SET n = 'n'", "row 0 cannot be read"),
        ("DELETE FROM rows WHERE id & 1048575 = 7", "row 7 of lane 1 is missing"),
        ("DELETE FROM names WHERE code = 50", "lost 1 names"),
        ("UPDATE names SET name = 'text'||code", "a name cannot be read"),
        ("UPDATE alerts SET content = '{}'", "an alert cannot be read"),
        ("UPDATE outbox SET content = '{'", "a message cannot be read"),
        ("UPDATE events SET content = '{'", "an event cannot be read"),
        ("UPDATE scores SET evidences = x'00'", "a verdict cannot be read"),
    ],
    ids=[
        "row",
        "length",
        "missing row",
        "missing name",
        "name",
        "alert",
        "message",
        "event",
        "score",
    ],
)
def test_damage_that_shows_later_is_told(folder: Path, statement: str, what: str) -> None:
    change(folder, statement)
    with Store.open(folder) as store:
        assert store.set_aside == []
        with pytest.raises(StoreError, match=what) as found:
            read_all(store)
    assert found.value.is_damaged


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="give a folder"):
        Store.open(tmp_path / "file" / "data")
