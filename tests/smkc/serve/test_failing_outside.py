"""Everything outside that can fail: Prometheus, the clock, the disk. No row is lost or doubled."""

import numpy as np
import pytest
from tests.following import START, STEP, FastClock, pull_config, wait_until
from tests.smkc.serve.service_parts import (
    N_HISTORY,
    N_ROWS,
    NOW,
    ROWS,
    follow_until,
    journal_of,
    numbers_of,
    running,
    settings,
    time_of,
    values_at,
)


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
        wait_until(lambda: service.watches()[0].last_error == "")


def test_any_mixture_of_failures_loses_no_row(playback, tmp_path):
    rng = np.random.default_rng(7)
    playback.fails = lambda: str(rng.choice(["", "", "down", "error", "half", "slow"]))
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, timeout="300ms", **settings())
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
    config = pull_config(playback.url, tmp_path, **settings(max_series=500))
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


def test_a_query_that_gives_nothing_is_said_until_it_gives_something(playback, tmp_path):
    playback.values = lambda time: {}
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, query="lod", **settings())
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].problems)
        (problem,) = service.watches()[0].problems
        assert problem.startswith("the query 'lod' gives no series, neither now nor in the last 1h")
        assert service.watches()[0].phase == "collecting"
        phases = set()
        playback.fails = lambda: phases.add(service.watches()[0].phase) or ""
        clock.limit = time_of(N_HISTORY + 3)
        wait_until(lambda: clock.now() >= clock.limit)
        assert phases == {"collecting"}  # a row that is due is no history
        playback.values = values_at
        clock.limit = time_of(N_HISTORY + 6)
        wait_until(lambda: service.watches()[0].problems == ())


def test_a_label_that_no_series_has_is_said(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings(entity="namespace"))
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].problems)
        (problem,) = service.watches()[0].problems
        assert "no series of the query '{}' has the label 'namespace'" in problem


def test_silence_is_said_after_five_minutes_and_over_with_the_next_row(playback, tmp_path):
    silence = range(250, 290)
    playback.values = lambda time: {} if (time - START) // STEP in silence else values_at(time)
    clock = FastClock(NOW, NOW)
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:
        follow_until(service, clock, 249)
        clock.limit = time_of(265)
        wait_until(lambda: clock.now() >= clock.limit)
        assert service.watches()[0].problems == ()
        clock.limit = time_of(280)
        wait_until(lambda: service.watches()[0].problems)
        (problem,) = service.watches()[0].problems
        assert problem.startswith("the query '{}' gives no series since 2023-11-14T23:16:00.000Z")
        follow_until(service, clock, 295)
        wait_until(lambda: service.watches()[0].problems == ())
        assert numbers_of(service) == [number for number in range(296) if number not in silence]


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
