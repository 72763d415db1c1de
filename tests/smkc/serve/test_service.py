"""The service as a whole: history, rows, lanes, and being asked."""

import pytest
from tests.following import STEP, FastClock, pull_config, wait_until
from tests.smkc.serve.service_parts import (
    FAULT,
    N_HISTORY,
    N_ROWS,
    NOW,
    ROWS,
    follow_until,
    journal_of,
    keys_of,
    numbers_of,
    running,
    samples_of,
    settings,
    time_of,
    values_at,
)

from smkc.errors import InputError
from smkc.serve.lane.follower import Follower
from smkc.serve.lane.model import LaneModel
from smkc.serve.service import Service
from smkc.serve.view import PHASES, BusyError, UnknownError


def test_history_is_learned_from_and_the_last_rows_judged_at_once(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    with running(pull_config(playback.url, tmp_path, **settings()), clock) as service:
        wait_until(lambda: service.watches()[0].phase == "following")
        wait_until(lambda: service.watches()[0].lag == STEP)
        status = service.watches()[0]
        lane = status.lanes[0]
        assert service.is_ready
        assert status.progress == 1.0
        assert lane.fitted_at == N_HISTORY - 4
        assert lane.latest.number == lane.rows - 1
        assert service.health().ok
        assert numbers_of(service) == list(range(N_HISTORY))


def test_it_follows_alerts_and_closes(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        follow_until(service, clock, N_ROWS - 1)
        assert numbers_of(service) == list(range(N_ROWS))
        (stored,) = service.store.alerts()
        assert FAULT[0] <= stored.record.first_row < FAULT[0] + 18
        assert not stored.record.is_open
        assert [key.split("/")[-2] for key in keys_of(service)][-1] == "close"
        assert len(set(keys_of(service))) == len(keys_of(service))
        assert service.watches()[0].lanes[0].appeared > 0
        assert service.watches()[0].errors == {}


def test_a_restart_goes_on_where_it_was(playback, tmp_path):
    config = pull_config(playback.url, tmp_path, **settings())
    clock = FastClock(NOW, NOW)
    with running(config, clock) as service:
        follow_until(service, clock, 250)
    clock.step(30 * STEP)
    with running(config, clock) as service:
        follow_until(service, clock, 290)
        assert numbers_of(service) == list(range(291))
        broken = service.store.lane("shop", "").verdicts(None, None, 10_000)["score"]
    with running(
        pull_config(playback.url, tmp_path / "other", **settings()), FastClock(NOW)
    ) as one:
        follow_until(one, one._clock, 290)
        unbroken = one.store.lane("shop", "").verdicts(None, None, 10_000)["score"]
    assert broken.tolist() == unbroken.tolist()


def test_what_nobody_foresaw_is_said_and_taken_up_again(playback, tmp_path, monkeypatch):
    config = pull_config(playback.url, tmp_path, **settings())
    clock = FastClock(NOW, NOW)
    with running(config, clock) as service:
        follow_until(service, clock, 250)
        push, fails = Follower.push, [True, True]

        def fail(self, row):
            judged = push(self, row)  # the stream has seen the row, and the journal has not
            if fails and fails.pop():
                raise ZeroDivisionError("nobody foresaw this")
            return judged

        monkeypatch.setattr(Follower, "push", fail)
        follow_until(service, clock, 260)
        assert numbers_of(service) == list(range(261))
        assert service.watches()[0].errors == {"unexpected": 2}
        wait_until(lambda: service.health().ok)


def test_a_row_that_always_fails_is_set_aside(playback, tmp_path, monkeypatch):
    config = pull_config(playback.url, tmp_path, **settings())
    clock = FastClock(NOW, NOW)
    guilty = 255
    with running(config, clock) as service:
        follow_until(service, clock, 250)
        push = Follower.push

        def fail(self, row):
            if row.time == time_of(guilty):
                raise ZeroDivisionError("this row cannot be judged")
            return push(self, row)

        monkeypatch.setattr(Follower, "push", fail)
        follow_until(service, clock, guilty + 10)
        assert numbers_of(service) == [n for n in range(guilty + 11) if n != guilty]
        status = service.watches()[0]
        assert status.errors == {"unexpected": 3}
        assert status.lanes[0].set_aside == 1
        assert any("failed 3 times" in problem for problem in status.problems)


# ---------------------------------------------------------------------- lanes


def by_namespace(time):
    found = values_at(time)
    return {
        name.replace("{", f'{{namespace="{space}",'): value + shift
        for space, shift in (("eu", 0.0), ("us", 5.0), ("asia", 9.0))
        for name, value in found.items()
    }


def test_an_entity_splits_a_watch_into_lanes(playback, tmp_path):
    playback.values = by_namespace
    config = pull_config(playback.url, tmp_path, **settings(entity="namespace", max_lanes=2))
    clock = FastClock(NOW, NOW)
    with running(config, clock) as service:
        follow_until(service, clock, 250, "eu")
        status = service.watches()[0]
        assert len(status.lanes) == 2
        assert status.refused > 0
        assert any("max_lanes=2" in problem for problem in status.problems)
        assert status.series == 24
        entities = [lane.entity for lane in status.lanes]
    with running(config, clock) as service:  # rows of both again, though one is asked further back
        follow_until(service, clock, 260, "eu")
        for entity in entities:
            follow_until(service, clock, 260, entity)
            assert numbers_of(service, entity) == list(range(261))


def test_a_fault_of_all_lanes_is_one_incident_and_stays_one_after_a_restart(playback, tmp_path):
    playback.values = by_namespace
    found = []
    for folder, breaks in (("unbroken", ()), ("broken", (314, 318))):
        config = pull_config(playback.url, tmp_path / folder, **settings(entity="namespace"))
        clock = FastClock(NOW, NOW)
        for number in (*breaks, N_ROWS - 1):
            with running(config, clock) as service:
                for entity in ("eu", "us", "asia"):
                    follow_until(service, clock, number, entity)
                incidents = service.store.incidents()
                keys = [key.split("/") for key in keys_of(service)]
        (incident, alerts) = next(
            one for one in incidents if any(time_of(FAULT[0]) <= a.start for a in one[1])
        )
        assert {alert.entity for alert in alerts} == {"eu", "us", "asia"}
        assert not incident.is_open
        events = [event for _, _, id, event, *_ in keys if id == incident.id]
        assert (events[0], events[-1]) == ("open", "close")
        assert events.count("open") == events.count("close") == 1
        assert {id for _, _, id, *_ in keys} == {one.id for one, _ in incidents}
        found.append([[one.id for one in alerts] for _, alerts in incidents])
    assert sorted(map(sorted, found[0])) == sorted(map(sorted, found[1]))


def test_one_lane_at_a_time_learns_anew(playback, tmp_path, monkeypatch):
    playback.values = by_namespace
    n_others = []
    begin = LaneModel.begin_refit

    def counted(model, reason, spans=None):
        lanes = service.watches()[0].lanes
        n_others.append(sum(lane.is_refitting for lane in lanes))
        begin(model, reason, spans)

    monkeypatch.setattr(LaneModel, "begin_refit", counted)
    all_due = settings(refit_every="5m", entity="namespace")
    clock = FastClock(NOW, NOW)
    with running(pull_config(playback.url, tmp_path, **all_due), clock) as service:
        for entity in ("eu", "us", "asia"):
            follow_until(service, clock, 280, entity)

        def n_fits(entity):
            return [one.kind for one in journal_of(service, entity).events(0)].count("fit")

        wait_until(lambda: all(n_fits(entity) > 1 for entity in ("eu", "us", "asia")))
    assert len(n_others) >= 3
    assert not any(n_others)


def test_an_entity_that_is_gone_makes_room_for_another(playback, tmp_path):
    def values(time):
        spaces = ("eu", "us") if time < time_of(250) else ("eu", "asia")
        return {
            name.replace("{", f'{{namespace="{space}",'): value
            for space in spaces
            for name, value in values_at(time).items()
        }

    playback.values = values
    short = settings(history="15m", min_rows=60, entity="namespace", max_lanes=2)
    clock = FastClock(NOW, NOW)
    with running(pull_config(playback.url, tmp_path, **short), clock) as service:
        follow_until(service, clock, 300, "eu")
        assert {lane.entity for lane in service.watches()[0].lanes} == {"eu", "us"}
        assert service.watches()[0].lag <= 2 * STEP
        follow_until(service, clock, 330, "eu")
        follow_until(service, clock, 330, "asia")
        assert {lane.entity for lane in service.watches()[0].lanes} == {"eu", "asia"}
        assert not service.store.alerts(entity="us", open_only=True)
        assert numbers_of(service, "eu") == list(range(N_HISTORY - 61, 331))


# ---------------------------------------------------------------------- being asked


def test_a_refit_and_feedback_and_causes(playback, tmp_path):
    config = pull_config(playback.url, tmp_path, **settings())
    clock = FastClock(NOW, NOW)
    with running(config, clock) as service:
        follow_until(service, clock, 320)
        alert = service.store.alerts()[0].record
        assert alert.causes
        service.feedback(alert.id, "me")
        assert service.store.alert(alert.id).feedback == "me"
        service.feedback(alert.id, "you")  # a second time changes nothing
        assert [event.kind for event in journal_of(service).events(0)] == [
            "fit",
            "settle",
            "accept",
        ]
        service.refit("shop", reason="a test")
        number = 321
        while service.watches()[0].lanes[0].fitted_at < 300:
            follow_until(service, clock, number)
            number = min(number + 1, N_ROWS - 1)
        assert journal_of(service).events(0)[-1].content["reason"] == "a test"
        follow_until(service, clock, number)
        assert numbers_of(service) == list(range(number + 1))


def test_what_is_not_there_is_said(playback, tmp_path):
    config = pull_config(playback.url, tmp_path, **settings())
    service = Service(config, FastClock(NOW, NOW))
    with pytest.raises(BusyError, match="not running"):
        _ = service.store
    with running(config, FastClock(NOW, NOW)) as service:
        wait_until(lambda: service.is_ready)
        with pytest.raises(UnknownError, match="no watch 'other'"):
            service.refit("other")
        with pytest.raises(UnknownError, match="no such entity"):
            service.refit("shop", "eu")
        with pytest.raises(UnknownError, match="no alert"):
            service.feedback("0123456789abcdef", "me")
        with pytest.raises(InputError, match="cannot be pushed to"):
            service.receive("shop", samples_of(ROWS[:1]))
        assert service.watches()[0].phase in PHASES
    with pytest.raises(BusyError):
        service.refit("shop")


def test_an_infinite_value_that_prometheus_answers_is_said_to_be_one(playback, tmp_path):
    broken = 'ratio{host="h1"}'
    playback.values = lambda time: values_at(time) | {broken: float("inf")}
    clock = FastClock(NOW, NOW)
    with running(pull_config(playback.url, tmp_path, **settings()), clock) as service:
        follow_until(service, clock, 250)
        status = service.watches()[0]
        assert status.infinite > 0
        assert any("infinite" in one and "ratio" in one for one in status.problems)
        playback.values = values_at
        follow_until(service, clock, 252)
        wait_until(lambda: service.health().ok)
