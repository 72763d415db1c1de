"""Rows, verdicts, alerts and messages for the store's tests, all from a number."""

import numpy as np

from smkc.decide import Cause
from smkc.serve.rows import AlertRecord, Row, Verdict
from smkc.serve.store import LaneStore, Message, Store

START = 1_700_000_000_000
STEP = 15_000


def time_of(number: int) -> int:
    return START + STEP * number


def row_of(number: int, names: tuple[str, ...] | None = None) -> Row:
    if names is None:
        names = tuple(f'cpu{{pod="{pod}"}}' for pod in range(number % 3, number % 3 + 5))
    values = np.random.default_rng(number).normal(size=len(names)).astype(np.float32)
    return Row(time=time_of(number), names=names, values=values)


def verdict_of(number: int, anomaly: float | None = None) -> Verdict:
    return Verdict(
        number=number,
        time=time_of(number),
        score=0.1 * number,
        p_value=1 / (number + 1),
        anomaly=number % 7 / 10 if anomaly is None else anomaly,
        cardinality=5,
        appeared=number % 2,
        vanished=number % 3,
        evidences={"level": 0.25 * number, "presence": 1e-12},
    )


def alert_of(
    number: int, *, is_open: bool = True, watch: str = "w", entity: str = ""
) -> AlertRecord:
    return AlertRecord(
        id=f"{number:016x}",
        watch=watch,
        entity=entity,
        start=time_of(number),
        end=time_of(number + 2),
        peak=time_of(number + 1),
        first_row=number,
        last_row=number + 2,
        peak_row=number + 1,
        anomaly=1.5,
        p_value=1e-5,
        is_open=is_open,
        evidences={"level": 3.0},
        causes_at=time_of(number),
        causes_row=number,
        causes_anomaly=1.1,
        told_anomaly=1.1,
        causes=(
            Cause(variable='cpu{pod="1"}', share=0.7, kind="level", joint_with=("a", "b")),
            Cause(variable="m\udc80", share=0.3, kind="presence", detail="came"),
        ),
    )


def message_of(key: str, **rest: object) -> Message:
    given = {"kind": "webhook", "to": "ops", "content": {"key": key, "list": [1, None]}} | rest
    return Message(key=key, **given)  # type: ignore[arg-type]


def commit_row(lane: LaneStore, number: int | None = None, row: Row | None = None) -> None:
    number = lane.n_rows if number is None else number
    lane.commit(
        [row or row_of(number)], [verdict_of(number)], [], [message_of(f"{lane.id}/{number}")]
    )


def everything(store: Store) -> tuple[list[object], ...]:
    """Return what a store holds in a form that can be compared."""
    rows = [
        (lane.watch, lane.entity, number, row.time, row.names, row.values.tobytes())
        for lane in store.lanes()
        for number, row in lane.each_row(lane.first_kept_row)
    ]
    return rows, list(store.alerts(limit=10**6)), list(store.due(10**15, 10**6))
