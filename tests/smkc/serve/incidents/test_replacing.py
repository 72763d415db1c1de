"""An alert that ends because another one takes its place does not end their incident."""

from dataclasses import replace

import pytest
from tests.smkc.serve.incidents.parts import alert, commit, config_of_shop

from smkc.serve.lane.alerting import Change, overlapping
from smkc.serve.store import Store

CALM = 5
CONFIG = config_of_shop(webhook=[{"name": "hook", "url": "http://hook.example"}])


def changes(gap: int) -> list[Change]:
    """Return the end of one alert and the start of the next, so many rows after its last one."""
    first = replace(alert("shop/cart", 0, 60), last_row=4)
    second = replace(alert("shop/cart", 75), first_row=4 + gap, last_row=4 + gap)
    return [Change(kind="close", alert=first), Change(kind="open", alert=second)]


@pytest.mark.parametrize(
    ("gap", "events"),
    [
        pytest.param(1, ["open", "update"], id="replaced at once"),
        pytest.param(CALM, ["open", "update"], id="replaced in the last row"),
        pytest.param(CALM + 1, ["open", "close", "open"], id="closed before"),
    ],
)
def test_an_incident_goes_on_while_alerts_replace_each_other(tmp_path, gap, events):
    with Store.open(tmp_path) as store:
        commit(store, CONFIG, ("open", alert("shop/cart", 0)))
        commit(store, CONFIG, *overlapping(changes(gap), CALM))
        ((incident, alerts),) = store.incidents()
        assert incident.is_open
        assert [one.is_open for one in alerts] == [False, True]
        found = []
        while waiting := store.due(10**15, 9):
            for message in waiting:
                store.settle(message.id)
                found.append(message.content["event"])
        assert found == events
