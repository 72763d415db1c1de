"""The service as a whole: history, rows, everything outside that can fail, and being asked."""

from contextlib import contextmanager

import numpy as np
import pytest
from tests.following import (
    START,
    STEP,
    FastClock,
    Playback,
    made_rows,
    pull_config,
    push_config,
    wait_until,
    with_fault,
)

from smkc.errors import InputError
from smkc.serve.intake.samples import Samples
from smkc.serve.lane.follower import Follower
from smkc.serve.service import Service
from smkc.serve.view import PHASES, BusyError, UnknownError

N_HISTORY, N_ROWS = 240, 360
FAULT = (300, 311)
ROWS = with_fault(made_rows(5, N_ROWS), *FAULT)
NOW = START + N_HISTORY * STEP  # the history is there, and the row of now is not due yet


def time_of(number):
    return START + number * STEP


def values_at(time):
    """Return what the made-up system shows at a time."""
    number = (time - START) // STEP
    if not 0 <= number < len(ROWS):
        return {}
    row = ROWS[number]
    return dict(zip(row.names, row.values.tolist(), strict=True))


@pytest.fixture
def playback():
    with Playback(values_at).running() as server:
        yield server


@contextmanager
def running(config, clock, **settings):
    service = Service(config, clock, **settings)
    service.start()
    try:
        yield service
    finally:
        service.stop()


def journal_of(service, entity=""):
    return service.store.lane("shop", entity)


def follow_until(service, clock, number, entity=""):
    """Let time pass until a row is committed."""
    clock.limit = max(clock.limit, time_of(number) + STEP)
    wait_until(lambda: (journal_of(service, entity).last_time or 0) >= time_of(number))


def numbers_of(service, entity=""):
    rows = journal_of(service, entity).each_row(0)
    return [(row.time - START) // STEP for _, row in rows]


def keys_of(service):
    with service.store._database.read("look into the outbox") as connection:
        found = connection.execute("SELECT key FROM outbox ORDER BY id").fetchall()
    return [bytes(key).decode() for (key,) in found]


def settings(**more):
    return {"history": "1h", "least_rows": 200} | more


def test_history_is_learned_from_and_the_last_rows_judged_at_once(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    with running(pull_config(playback.url, tmp_path, **settings()), clock) as service:
        wait_until(lambda: service.watches()[0].phase == "following")
        wait_until(lambda: service.watches()[0].lanes[0].latest is not None)
        status = service.watches()[0]
        lane = status.lanes[0]
        assert service.is_ready
        assert (status.progress, status.lag) == (1.0, STEP)
        assert lane.fitted_at == N_HISTORY - 4
        assert lane.latest.number == lane.rows - 1
        assert service.health().ok
        assert numbers_of(service) == list(range(N_HISTORY))
        update = service.subscribe().wait(0, 5.0)[-1]
        assert (update.kind, update.watch) == ("row", "shop")


def test_it_follows_alerts_and_closes(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        follow_until(service, clock, 355)
        assert numbers_of(service) == list(range(356))
        (stored,) = service.store.alerts()
        assert FAULT[0] <= stored.record.first_row < FAULT[0] + 18
        assert not stored.record.is_open
        assert [key.split("/")[-2] for key in keys_of(service)][-1] == "close"
        assert len(set(keys_of(service))) == len(keys_of(service))
        assert service.watches()[0].lanes[0].appeared > 0
        assert service.watches()[0].errors == {}


@pytest.mark.parametrize("how", ["down", "error", "half"])
def test_an_hour_without_prometheus_loses_no_row(playback, tmp_path, how):
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        follow_until(service, clock, 250)
        outage = (clock.now(), clock.now() + 3_600_000)
        playback.fails = lambda: how if outage[0] <= clock.now() < outage[1] else ""
        clock.limit = outage[0] + 1_800_000
        wait_until(lambda: service.watches()[0].errors.get("source", 0) > 5)
        wait_until(lambda: clock.now() >= clock.limit)
        status = service.watches()[0]
        assert status.phase == "waiting"
        assert status.last_error
        assert not service.health().ok
        assert status.rows < N_ROWS - 50
        clock.limit = outage[1] + 20 * STEP
        follow_until(service, clock, N_ROWS - 1)
        assert numbers_of(service) == list(range(N_ROWS))
        wait_until(lambda: service.watches()[0].problems == ())


def test_any_mixture_of_failures_loses_no_row(playback, tmp_path):
    rng = np.random.default_rng(7)
    playback.fails = lambda: str(rng.choice(["", "", "down", "error", "half", "slow"]))
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        for number in range(N_HISTORY + 9, N_HISTORY + 30, 10):
            follow_until(service, clock, number)
        assert numbers_of(service) == list(range(N_HISTORY + 30))


def test_a_clock_that_steps_back_doubles_nothing(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        follow_until(service, clock, 250)
        clock.limit = clock.now()
        clock.step(-3_600_000)
        clock.limit = time_of(100)
        wait_until(lambda: any("clock" in problem for problem in service.health().problems))
        follow_until(service, clock, 270)
        assert numbers_of(service) == list(range(271))
        wait_until(lambda: service.health().ok)
        assert service.watches()[0].errors == {}


def test_a_flood_of_new_series_is_held_back_and_said(playback, tmp_path):
    flood = {f'load{{host="a{j:06d}"}}': 1.0 for j in range(100_000)}
    is_flooded = False

    def values(time):
        return values_at(time) | (flood if is_flooded and time == time_of(250) else {})

    playback.values = values
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, timeout="30s", **settings(max_series=500))
    with running(config, clock) as service:
        follow_until(service, clock, 249)
        is_flooded = True
        clock.limit = time_of(250) + STEP
        wait_until(lambda: (journal_of(service).last_time or 0) >= time_of(250))
        lane = service.watches()[0].lanes[0]
        assert lane.series == 500
        assert lane.refused == 100_000 + 12 - 500
        assert any("max_series=500" in problem for problem in service.health().problems)
        row = dict(journal_of(service).each_row(250))[250]
        assert set(ROWS[250].names) <= set(row.names)
        follow_until(service, clock, 260)
        assert numbers_of(service) == list(range(261))
        assert service.health().ok


def test_a_wrong_query_is_said_and_tried_again(playback, tmp_path):
    playback.fails = lambda: "error"
    clock = FastClock(NOW, NOW + 600_000)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].errors.get("source", 0) > 2)
        assert service.watches()[0].phase == "waiting"
        assert not service.is_ready
        playback.fails = lambda: ""
        wait_until(lambda: service.is_ready)


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


def test_a_damaged_history_is_set_aside_and_begun_anew(playback, tmp_path):
    config = pull_config(playback.url, tmp_path, **settings())
    clock = FastClock(NOW, NOW)
    with running(config, clock) as service:
        follow_until(service, clock, 250)
    (tmp_path / "history.sqlite").write_bytes(b"not a database" * 1000)
    with running(config, clock) as service:
        follow_until(service, clock, 260)
        assert any("set aside" in problem for problem in service.health().problems)
        assert (tmp_path / "lanes.damaged-1").exists()
        wait_until(lambda: service.watches()[0].phase == "following")


def test_rows_wait_for_a_full_disk_and_are_all_there_afterwards(playback, tmp_path):
    config = pull_config(playback.url, tmp_path, **settings())
    clock = FastClock(NOW, NOW)
    with running(config, clock) as service:
        follow_until(service, clock, 250)
        with service.store._database.alone("fill the disk") as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")
        clock.limit = time_of(N_ROWS)
        wait_until(lambda: service.watches()[0].errors.get("store", 0) > 2)
        status = service.watches()[0]
        assert status.phase == "waiting"
        assert "make room" in status.last_error
        assert any("make room" in problem for problem in service.health().problems)
        with service.store._database.alone("make room") as connection:
            connection.execute("PRAGMA max_page_count = 1073741823")
        follow_until(service, clock, 300)
        assert numbers_of(service)[:301] == list(range(301))
        wait_until(lambda: service.watches()[0].last_error == "")


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


def test_an_entity_that_is_gone_makes_room_for_another(playback, tmp_path):
    def values(time):
        spaces = ("eu", "us") if time < time_of(250) else ("eu", "asia")
        return {
            name.replace("{", f'{{namespace="{space}",'): value
            for space in spaces
            for name, value in values_at(time).items()
        }

    playback.values = values
    short = settings(history="15m", least_rows=60, entity="namespace", max_lanes=2)
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
        assert service.explain("shop", "", alert.peak)
        assert service.feedback(alert.id, "me").id == alert.id
        assert service.store.alert(alert.id).feedback == "me"
        service.feedback(alert.id, "you")  # a second time changes nothing
        assert [event.kind for event in journal_of(service).events(0)] == ["fit", "accept"]
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
        with pytest.raises(UnknownError, match="no entity 'eu'"):
            service.refit("shop", "eu")
        with pytest.raises(UnknownError, match="no alert"):
            service.feedback("0123456789abcdef", "me")
        with pytest.raises(InputError, match="cannot be pushed to"):
            service.receive("shop", samples_of(ROWS[:1]))
        assert service.watches()[0].phase in PHASES
    with pytest.raises(BusyError):
        service.explain("shop", "", START)


# ---------------------------------------------------------------------- pushed


def samples_of(rows):
    names = sorted({name for row in rows for name in row.names})
    code_of = {name: code for code, name in enumerate(names)}
    return Samples(
        names=tuple(names),
        codes=np.array([code_of[name] for row in rows for name in row.names], np.int64),
        times=np.repeat([row.time for row in rows], [len(row.names) for row in rows]),
        values=np.concatenate([row.values for row in rows]).astype(np.float64),
    )


def push(service, clock, rows, at_once=1):
    """Send rows, each when it is time."""
    for first in range(0, len(rows), at_once):
        part = rows[first : first + at_once]
        clock.limit = part[-1].time
        wait_until(lambda end=part[-1].time: clock.now() >= end)
        assert service.receive(None, samples_of(part)).watches == ("shop",)


def test_pushed_rows_are_followed_and_a_restart_loses_none(tmp_path):
    config = push_config(tmp_path)
    clock = FastClock(START, START)
    with running(config, clock) as service:
        push(service, clock, ROWS[:250], at_once=5)
    with running(config, clock) as service:
        push(service, clock, ROWS[250:330])
        clock.limit = time_of(332)
        wait_until(lambda: journal_of(service).n_rows == 330)
        assert numbers_of(service) == list(range(330))
        status = service.watches()[0]
        assert (status.phase, status.source, status.late) == ("following", "push", 0)
        assert len(service.store.alerts()) == 1
        wait_until(lambda: service.watches()[0].inbox == 0)


def test_late_doubled_and_foreign_samples_are_counted(tmp_path):
    config = push_config(tmp_path, match={"host": "h[0-9]+"})
    clock = FastClock(START, START)
    with running(config, clock) as service:
        push(service, clock, ROWS[:10])
        clock.limit = time_of(12)
        wait_until(lambda: journal_of(service).n_rows == 10)
        service.receive("shop", samples_of(ROWS[3:4]))
        service.receive("shop", samples_of([*ROWS[12:13], *ROWS[12:13]]))
        other = Samples(
            names=("up",), codes=np.zeros(1, int), times=np.array([START]), values=np.ones(1)
        )
        assert service.receive(None, other).watches == ()
        clock.limit = time_of(14)
        wait_until(lambda: journal_of(service).n_rows == 11)
        status = service.watches()[0]
        assert (status.late, status.duplicates) == (12, 12)


def test_a_sample_of_the_far_future_neither_stays_nor_blocks(tmp_path):
    config = push_config(tmp_path)
    clock = FastClock(START, START)
    with running(config, clock) as service:
        push(service, clock, ROWS[:3])
        far = samples_of(ROWS[4:5])
        service.receive("shop", Samples(**vars(far) | {"times": far.times + 10**11}))
        push(service, clock, ROWS[3:8])
        clock.limit = time_of(10)
        wait_until(lambda: journal_of(service).n_rows == 8)
        wait_until(lambda: service.watches()[0].inbox == 0)
        assert service.watches()[0].refused == 12


def test_a_damaged_body_is_left_out_and_said(tmp_path):
    config = push_config(tmp_path)
    clock = FastClock(START, START)
    with running(config, clock) as service:
        service.store.put_inbox("shop", b"damaged")
        push(service, clock, ROWS[:5])
        clock.limit = time_of(7)
        wait_until(lambda: journal_of(service).n_rows == 5)
        wait_until(lambda: service.watches()[0].inbox == 0)
        assert service.watches()[0].errors == {"decode": 1}
