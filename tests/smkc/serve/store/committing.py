"""A process that commits until it is killed, and says after each commit that it is done."""

import random
from functools import partial
from multiprocessing.connection import Connection

from tests.smkc.serve.store.making import STEP, alert_of, message_of, row_of, time_of, verdict_of

from smkc.serve.config import config_of
from smkc.serve.incidents.keeping import keep
from smkc.serve.store import Event, Store

KEPT_ROWS = 400
CONFIG = config_of({"watch": [{"name": "w", "source": "push"}]})


def commit_for_ever(folder: str, reports: Connection, seed: int) -> None:
    choice = random.Random(seed)
    with Store.open(folder) as store:
        assert store.set_aside == []
        lane = store.lane("w", "")
        while True:
            first = lane.n_rows
            numbers = range(first, first + choice.choice([1, 1, 1, 2, 5]))
            pushed = store.put_inbox("w", b"x" * choice.randrange(5000))
            alerts = [alert_of(number, is_open=False) for number in numbers]
            lane.commit(
                [row_of(number) for number in numbers],
                [verdict_of(number) for number in numbers],
                alerts,
                [message_of(str(number)) for number in numbers],
                [Event(at_row=number, kind="accept") for number in numbers],
                regroup=partial(keep, changes=[("close", one) for one in alerts], config=CONFIG),
            )
            store.drop_inbox("w", pushed)
            reports.send_bytes(str(lane.n_rows).encode())
            if choice.random() < 0.05:
                store.retain(time_of(lane.n_rows), KEPT_ROWS * STEP, 10**12, 10**12)


def hold(folder: str, reports: Connection) -> None:
    with Store.open(folder):
        reports.send_bytes(b"open")
        reports.recv_bytes()
