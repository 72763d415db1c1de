"""What marked spans do to a lane: alerts that nobody is told of, and rows that are not learned."""

from dataclasses import replace

import pytest
from tests.following import START, STEP, made_rows, push_config
from tests.smkc.serve.lane.parts import CUT, FAULT, LEAST, N_ROWS, feed, lane_in, told
from tests.smkc.serve.lane.test_model import wait_for_swap

from smkc.errors import InputError
from smkc.serve.rows import MarkedSpan


def time_of(row):
    return START + row * STEP


def mark(lane, first, last, kind="maintenance", entity=None):
    """Mark rows first to last; without a last one, the span goes on."""
    end = None if last is None else time_of(last)
    span = MarkedSpan(watch="shop", kind=kind, start=time_of(first), end=end, entity=entity)
    return lane._store.spans.add(span)


def changes_in(keys):
    """Return the kinds of the messages, in order."""
    return [key.split("/")[3] for key in keys]


def fault_with(rows, folder, first, last, **more):
    """Return the alerts and messages of a lane that is fed the fault with a span in it."""
    with lane_in(folder) as lane:
        mark(lane, first, last, **more)
        feed(lane, rows)
        _, alerts, keys = told(lane)
        return alerts, changes_in(keys)


def test_nobody_is_told_of_an_alert_that_begins_and_ends_in_maintenance(rows, unbroken, tmp_path):
    (alert,), keys = fault_with(rows, tmp_path, 300, 340)
    assert alert.is_muted
    assert keys == []
    (expected,) = unbroken[1]
    assert (alert.id, alert.end, alert.causes) == (expected.id, expected.end, expected.causes)
    assert not expected.is_muted
    assert changes_in(unbroken[2])[0] == "open"


@pytest.mark.parametrize(
    ("kind", "entity", "is_muted"),
    [
        ("maintenance", "", True),
        ("maintenance", "other", False),
        ("missed", None, False),
        ("deploy", None, False),
    ],
)
def test_only_maintenance_of_this_lane_mutes(rows, unbroken, tmp_path, kind, entity, is_muted):
    (alert,), keys = fault_with(rows, tmp_path, 300, 340, kind=kind, entity=entity)
    assert alert.is_muted is is_muted
    assert keys == ([] if is_muted else changes_in(unbroken[2]))


def test_an_alert_that_began_before_the_maintenance_is_told_to_its_end(rows, unbroken, tmp_path):
    (alert,), keys = fault_with(rows, tmp_path, FAULT[0] + 3, None)
    assert not alert.is_muted
    assert keys == changes_in(unbroken[2])
    assert keys[-1] == "close"


def test_an_alert_that_outlasts_the_maintenance_is_told_then(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        mark(lane, 300, 314)
        feed(lane, rows[:315])
        assert told(lane)[1][0].is_muted
        assert told(lane)[2] == []
        feed(lane, rows[315:])
        _, (alert,), keys = told(lane)
    assert not alert.is_muted
    assert changes_in(keys)[0] == "open"
    assert changes_in(keys)[-1] == "close"
    assert changes_in(keys).count("open") == 1


def test_quiet_rows_after_the_maintenance_tell_nobody(rows, tmp_path):
    """The alert closes a minute after its last loud row, which lies in the maintenance."""
    (expected,), _ = fault_with(rows, tmp_path / "whole", 300, 340)
    last = (expected.end - START) // STEP
    (alert,), keys = fault_with(rows, tmp_path / "just", 300, last)
    assert alert.is_muted
    assert keys == []


def test_a_row_that_covers_some_of_the_maintenance_belongs_to_it(rows, tmp_path):
    span = MarkedSpan(
        watch="shop", kind="maintenance", start=time_of(300), end=time_of(FAULT[0] - 1) + 1
    )
    with lane_in(tmp_path) as lane:
        lane._store.spans.add(span)
        feed(lane, rows[: FAULT[0] + 1])
        assert [alert.is_muted for alert in told(lane)[1]] == [True]
        assert lane.model._marked_rows(0, FAULT[0]) == [(300, FAULT[0])]


def test_a_maintenance_that_is_ended_lets_the_alert_out(rows, tmp_path):
    with lane_in(tmp_path) as lane:
        span = mark(lane, 300, None)
        feed(lane, rows[:314])
        assert told(lane)[2] == []
        lane._store.spans.end(span.id, time_of(313))
        feed(lane, rows[314:315])
        assert changes_in(told(lane)[2]) == ["open"]


def test_a_restart_in_the_middle_changes_nothing(rows, tmp_path):
    with lane_in(tmp_path / "whole") as lane:
        mark(lane, 300, 314)
        feed(lane, rows)
        whole = told(lane)
    for cut in (305, 312, CUT, 325):
        folder = tmp_path / str(cut)
        with lane_in(folder, checkpoint_rows=24) as lane:
            mark(lane, 300, 314)
            feed(lane, rows[:cut])
        with lane_in(folder, checkpoint_rows=24) as lane:
            feed(lane, rows[cut:])
            assert told(lane) == whole, cut


def test_planned_maintenance_mutes_too(rows, tmp_path):
    """START is on Tuesday 2023-11-14 at 22:13:30 UTC, and the fault begins 77.5 minutes later."""
    assert START == 1_700_000_010_000
    for weekly, is_muted in (("Tue 23:30-00:00", True), ("Wed 00:00-01:00", False)):
        config = push_config(tmp_path / weekly, maintenance=[{"weekly": weekly}])
        with lane_in(tmp_path / weekly, config=config) as lane:
            feed(lane, rows)
            _, (alert,), keys = told(lane)
        assert alert.is_muted is is_muted
        assert bool(keys) is not is_muted


# ---------------------------------------------------------------------- fits


@pytest.fixture
def learned(rows, tmp_path):
    """Return a folder with a model, before the fault."""
    folder = tmp_path / "data"
    with lane_in(folder) as lane:
        feed(lane, rows[:300])
    return folder


def test_marked_rows_are_left_out_of_later_fits(learned):
    with lane_in(learned) as lane:
        assert lane.model._reference() == [(0, 299)]
        mark(lane, 100, 109, "missed")
        mark(lane, 200, 201, "maintenance", entity="")
        mark(lane, 40, 60, "deploy")
        mark(lane, 80, 90, "missed", entity="other")
        mark(lane, 295, 400, "maintenance")
        assert lane.model._reference() == [(0, 99), (110, 199), (202, 294)]
    with lane_in(learned) as lane:  # after a restart as well
        assert lane.model._reference() == [(0, 99), (110, 199), (202, 294)]


def test_rows_of_alerts_are_left_out_beside_them(folder):
    with lane_in(folder) as lane:
        alert = lane._store.alerts()[0].record
        mark(lane, 50, 59, "missed")
        assert lane.model._reference() == [(0, 49), (60, alert.first_row - 1)]
        lane._store.give_feedback(alert.id, "me")  # it was normal, and yet in a maintenance
        mark(lane, alert.first_row, None)
        assert lane.model._reference() == [(0, 49), (60, alert.first_row - 1)]


def test_a_refit_learns_from_no_row_that_is_marked_while_it_runs(rows, learned):
    with lane_in(learned) as lane:
        lane.refit("asked for")
        mark(lane, 100, 109, "missed")
        lane.model._beside._process.wait()
        lane.take([rows[300]])
        lane.look_after_model()
        assert lane.status(0).is_refitting  # anew
        wait_for_swap(lane, rows[301:])
        event = lane.journal.events(0)[-1]
        assert event.content["reason"] == "asked for"
        assert event.content["reference"] == [[0, 99], [110, 300]]


def test_a_refit_that_a_restart_takes_up_learns_from_no_marked_row(rows, learned):
    with lane_in(learned) as lane:
        lane.refit("asked for")
        mark(lane, 100, 109, "missed")
    with lane_in(learned) as lane:
        assert lane.status(0).is_refitting
        lane.model._beside._process.wait()
        lane.take([rows[300]])
        lane.look_after_model()
        wait_for_swap(lane, rows[301:])
        assert lane.journal.events(0)[-1].content["reference"] == [[0, 99], [110, 300]]


def test_a_refit_with_too_few_rows_left_is_refused_and_said(rows, learned):
    config = push_config(learned, refit_every="15m")
    with lane_in(learned, config=config) as lane:
        mark(lane, 0, 80, "missed")
        with pytest.raises(InputError, match=r"of the latest 300 rows, 219 lie outside .* 240 are"):
            lane.refit("asked for")
        lane.look_after_model()
        assert any("refit could not be begun" in said for said in lane.status(0).problems)
        assert lane.model.refit_reason() is None  # not again at each row
        assert lane.model.follower is not None
        feed(lane, rows[300:N_ROWS])
        assert not lane.status(0).is_refitting
        lane._store.spans.delete(1)
        lane.refit("asked for")
        wait_for_swap(lane, once_more(rows))
        assert lane.status(0).problems == ()


def once_more(rows):
    """Return the first rows once more, at later times."""
    return [
        type(row)(time=row.time + N_ROWS * STEP, names=row.names, values=row.values)
        for row in rows[:40]
    ]


def test_the_first_fit_waits_until_enough_rows_are_outside(tmp_path):
    rows = made_rows(3, N_ROWS)
    with lane_in(tmp_path) as lane:
        mark(lane, 0, 99)
        feed(lane, rows[:LEAST])
        assert lane.model.follower is None
        assert any("140 lie outside" in said for said in lane.status(0).problems)
        feed(lane, rows[LEAST:])
        assert lane.model.follower is not None
        assert lane.journal.events(0)[0].content["reference"][0][0] == 100
        assert lane.status(0).problems == ()


def test_an_incident_begins_when_the_maintenance_no_longer_mutes_it(rows, tmp_path):
    config = replace(push_config(tmp_path), notify="incident")
    with lane_in(tmp_path, config=config) as lane:
        mark(lane, 300, 314)
        feed(lane, rows[:315])
        assert told(lane)[1][0].is_muted
        assert (lane._store.incidents(), told(lane)[2]) == ([], [])
        feed(lane, rows[315:])
        _, (alert,), keys = told(lane)
        ((incident, alerts),) = lane._store.incidents()
    assert (incident.id, alerts) == (alert.id, [alert])
    assert (changes_in(keys)[0], changes_in(keys)[-1]) == ("open", "close")
