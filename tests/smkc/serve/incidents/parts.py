"""What the tests of incidents share: alerts of lanes, given by seconds, and how they are kept."""

from dataclasses import replace
from typing import Any

import numpy as np
from tests.smkc.serve.delivery.parts import START, alert_at

from smkc.decide import Cause
from smkc.serve.config import Config, config_of
from smkc.serve.incidents.keeping import keep
from smkc.serve.lane.alerting import alert_id, labels_of
from smkc.serve.rows import AlertRecord, Row
from smkc.serve.store import Store


def cause(variable: str, share: float = 0.6) -> Cause:
    return Cause(variable=variable, share=share, kind="level", detail="rose from 1 to 9")


def alert(
    lane: str, begin: int, end: int | None = None, *variables: str, **changes: Any
) -> AlertRecord:
    """Return an alert of a lane, ``watch`` or ``watch/entity``; it is open unless it has an end.

    Times are seconds; without variables its cause is one that no other lane has.
    """
    watch, _, entity = lane.partition("/")
    causes = tuple(cause(one) for one in variables or [f"only_{watch}_{entity}"])
    start = START + 1000 * begin
    return replace(
        alert_at(start),
        id=alert_id(watch, entity, start),
        watch=watch,
        entity=entity,
        end=START + 1000 * (begin if end is None else end),
        is_open=end is None,
        causes=causes,
        labels=labels_of(causes),
        severity="warning",
        **changes,
    )


def config_of_shop(**tables: Any) -> Config:
    """Return a configuration with several lanes: receivers are told of incidents."""
    watches = [
        {"name": "shop", "source": "push", "entity": "part", "step": "15s"},
        {"name": "postgres", "source": "push", "step": "15s"},
    ]
    return config_of({"watch": watches, "public_url": "https://smkc.example", **tables})


def commit(store: Store, config: Config, *changes: tuple[str, AlertRecord]) -> None:
    """Commit one row of a lane with the changes of its alerts, as the lane does."""
    alerts = {one.id: one for _, one in changes}
    first = changes[0][1]
    lane = store.lane(first.watch, first.entity)
    at = max((lane.last_time or START) + 15_000, max(one.end for one in alerts.values()))
    row = Row(time=at, names=("cpu",), values=np.ones(1, np.float32))
    lane.commit(
        [row],
        [None],
        list(alerts.values()),
        [],
        regroup=lambda connection: keep(connection, changes, config),
    )


def parts_of(store: Store) -> set[frozenset[str]]:
    """Return the ids of the alerts of each incident."""
    return {frozenset(one.id for one in alerts) for _, alerts in store.incidents(limit=10**6)}
