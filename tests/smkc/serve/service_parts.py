"""What the tests of the whole service share: a made-up system, and a service that follows it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from tests.following import START, STEP, FastClock, made_rows, wait_until, with_fault

from smkc.serve.config import Config
from smkc.serve.intake.samples import Samples
from smkc.serve.rows import Row
from smkc.serve.service import Service
from smkc.serve.store import LaneStore

N_HISTORY, N_ROWS = 240, 420
FAULT = (310, 321)
ROWS = with_fault(made_rows(5, N_ROWS), *FAULT)
NOW = START + N_HISTORY * STEP  # the history is there, and the row of now is not due yet


def time_of(number: int) -> int:
    return START + number * STEP


def values_at(time: int) -> dict[str, float]:
    """Return what the made-up system shows at a time."""
    number = (time - START) // STEP
    if not 0 <= number < len(ROWS):
        return {}
    row = ROWS[number]
    return dict(zip(row.names, row.values.tolist(), strict=True))


@contextmanager
def running(config: Config, clock: FastClock, **settings: Any) -> Iterator[Service]:
    service = Service(config, clock, **settings)
    service.start()
    try:
        yield service
    finally:
        service.stop()


def journal_of(service: Service, entity: str = "") -> LaneStore:
    return service.store.lane("shop", entity)


def follow_until(service: Service, clock: FastClock, number: int, entity: str = "") -> None:
    """Let time pass until a row is committed."""
    clock.limit = max(clock.limit, time_of(number) + STEP)
    wait_until(lambda: (journal_of(service, entity).last_time or 0) >= time_of(number))


def numbers_of(service: Service, entity: str = "") -> list[int]:
    rows = journal_of(service, entity).each_row(0)
    return [(row.time - START) // STEP for _, row in rows]


def keys_of(service: Service) -> list[str]:
    with service.store._database.read("look into the outbox") as connection:
        found = connection.execute("SELECT key FROM outbox ORDER BY id").fetchall()
    return [bytes(key).decode() for (key,) in found]


def settings(**more: Any) -> dict[str, Any]:
    return {"history": "1h", "min_rows": 200} | more


def samples_of(rows: Sequence[Row]) -> Samples:
    """Return rows as samples that somebody might push."""
    names = sorted({name for row in rows for name in row.names})
    code_of = {name: code for code, name in enumerate(names)}
    return Samples(
        names=tuple(names),
        codes=np.array([code_of[name] for row in rows for name in row.names], np.int64),
        times=np.repeat([row.time for row in rows], [len(row.names) for row in rows]),
        values=np.concatenate([row.values for row in rows]).astype(np.float64),
    )
