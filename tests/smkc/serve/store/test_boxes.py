from pathlib import Path

import pytest
from tests.smkc.serve.store.making import message_of, row_of, time_of

from smkc.serve.store import Store


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path) as opened:
        yield opened


def keys(store: Store, now: int = 0, limit: int = 100) -> list[str]:
    return [message.key for message in store.due(now, limit)]


def id_of(store: Store, key: str) -> int:
    return next(message.id for message in store.due(10**15, 10**6) if message.key == key)


# ---------------------------------------------------------------------- outbox


def test_messages_wait_until_they_are_sent(store: Store) -> None:
    lane = store.lane("w", "")
    lane.commit([row_of(0)], [None], [], [message_of("a", to="x\udc00"), message_of("b")])
    first, second = store.due(0, 10)
    assert (first.kind, first.to, first.key) == ("webhook", "x\udc00", "a")
    assert first.content == {"key": "a", "list": [1, None]}
    assert first.created == time_of(0)
    assert store.n_waiting() == 2
    assert store.n_waiting(("webhook", "x\udc00")) == 1
    assert store.n_waiting(("alertmanager", "x\udc00")) == 0
    store.settle(first.id)
    assert keys(store) == ["b"]
    store.settle(second.id)
    assert keys(store) == []
    assert store.n_waiting() == 0


def test_a_key_is_taken_once_even_after_it_was_sent(store: Store) -> None:
    lane = store.lane("w", "")
    lane.commit([row_of(0)], [None], [], [message_of("a"), message_of("a")])
    assert keys(store) == ["a"]
    store.settle(id_of(store, "a"))
    lane.commit([row_of(1)], [None], [], [message_of("a")])
    assert keys(store) == []


def test_a_failed_message_comes_back_when_it_is_time(store: Store) -> None:
    store.lane("w", "").commit([], [], [], [message_of("a"), message_of("b")])
    store.put_off(id_of(store, "a"), 500)
    assert keys(store, 499) == ["b"]
    assert keys(store, 500) == ["a", "b"]
    assert keys(store, 500, limit=1) == ["a"]
    assert store.n_waiting() == 2


def test_messages_about_one_alert_go_out_in_order(store: Store) -> None:
    messages = [
        message_of("open", about="1"),
        message_of("close", about="1"),
        message_of("other", about="2"),
        message_of("open elsewhere", about="1", to="dev"),
    ]
    store.lane("w", "").commit([], [], [], messages)
    assert keys(store) == ["open", "other", "open elsewhere"]
    store.put_off(id_of(store, "open"), 900)
    assert keys(store, 100) == ["other", "open elsewhere"]
    store.settle(id_of(store, "open"))
    assert keys(store, 100) == ["close", "other", "open elsewhere"]


# ---------------------------------------------------------------------- inbox


def test_what_was_pushed_comes_back_in_order(store: Store) -> None:
    numbers = [store.put_inbox("w", bytes([n])) for n in range(5)]
    other = store.put_inbox("v", b"other")
    assert numbers == sorted(set(numbers))
    assert list(store.inbox("w")) == [(number, bytes([n])) for n, number in enumerate(numbers)]
    assert [body for _, body in store.inbox("w", after=numbers[2])] == [b"\x03", b"\x04"]
    store.drop_inbox("w", numbers[3])
    assert list(store.inbox("w")) == [(numbers[4], b"\x04")]
    assert list(store.inbox("v")) == [(other, b"other")]
    assert (store.n_inbox("w"), store.n_inbox("v"), store.n_inbox("x")) == (1, 1, 0)


def test_numbers_of_the_inbox_never_come_again(store: Store) -> None:
    first = store.put_inbox("w", b"1")
    store.drop_inbox("w", first)
    assert store.put_inbox("w", b"2") > first
