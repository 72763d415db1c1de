"""A Prometheus that is slow: past the timeout, or past the step. What is said stays the same."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.following import (
    SLOW_SECONDS,
    START,
    STEP,
    FastClock,
    Playback,
    pull_config,
    wait_until,
)
from tests.smkc.serve.service_parts import (
    FAULT,
    NOW,
    follow_until,
    journal_of,
    keys_of,
    numbers_of,
    running,
    settings,
    time_of,
    values_at,
)

from smkc.serve.metrics import render

LAST = 400  # the row by which the alert on the fault is closed
ANSWER_TAKES = 40_000  # milliseconds, in which two or three rows fall due


def said_by(service):
    """Return everything that was said up to the last row: scores, alerts, keys of messages."""
    columns = journal_of(service).verdicts(None, time_of(LAST), 10_000)
    alerts = [stored.record for stored in service.store.alerts()]
    return columns["number"].tolist(), columns["score"].tolist(), alerts, keys_of(service)


def lag_in_metrics(service):
    families = text_string_to_metric_families(render(service).decode())
    (found,) = (one for one in families if one.name == "smkc_lag_seconds")
    return found.samples[0].value


@pytest.fixture(scope="module")
def unhurried(tmp_path_factory):
    """Return what is said where every answer comes at once."""
    folder, clock = tmp_path_factory.mktemp("unhurried"), FastClock(NOW, NOW)
    with (
        Playback(values_at).running() as playback,
        running(pull_config(playback.url, folder, **settings()), clock) as service,
    ):
        follow_until(service, clock, LAST)
        said = said_by(service)
    assert len(said[2]) == 1
    assert not said[2][0].is_open
    return said


def test_answers_past_the_timeout_are_waited_out_and_asked_for_again(playback, tmp_path, unhurried):
    clock = FastClock(NOW, NOW)
    timeout_s = SLOW_SECONDS / 2
    config = pull_config(playback.url, tmp_path, timeout=f"{timeout_s * 1000:g}ms", **settings())
    with running(config, clock) as service:
        follow_until(service, clock, FAULT[0] - 10)
        wait_until(lambda: service.watches()[0].problems == ())
        before = service.watches()[0].rows
        playback.fails = lambda: "slow"
        clock.limit = time_of(FAULT[1] + 10)  # the whole fault passes meanwhile
        wait_until(lambda: service.watches()[0].errors.get("source", 0) >= 4)
        wait_until(lambda: clock.now() >= clock.limit)
        status = service.watches()[0]
        assert status.phase == "waiting"
        assert f"did not answer within {timeout_s:g} s" in status.last_error
        assert status.rows - before <= 1  # one may have been under way
        assert status.lag >= 20 * STEP
        assert lag_in_metrics(service) == status.lag / 1000
        assert any("did not answer" in problem for problem in service.health().problems)
        assert service.store.alerts() == []
        playback.fails = lambda: ""
        follow_until(service, clock, LAST)
        wait_until(lambda: service.watches()[0].problems == ())
        assert numbers_of(service) == list(range(LAST + 1))
        assert said_by(service) == unhurried
        assert service.watches()[0].lag <= 2 * STEP


def test_answers_past_the_step_come_late_and_whole(playback, tmp_path, unhurried):
    clock = FastClock(NOW, NOW)
    lags, behind = [], []
    config = pull_config(playback.url, tmp_path, **settings())
    with running(config, clock) as service:

        def takes_long():
            if journal_of(service).last_time is not None:
                lags.append(service.watches()[0].lag)
                behind.append(lag_in_metrics(service))
            clock.step(ANSWER_TAKES)  # goes by while the answer is made
            return ""

        playback.fails = takes_long
        wait_until(lambda: (journal_of(service).last_time or START) >= time_of(LAST))
        wait_until(lambda: not service.store.alerts()[0].record.is_open)
        said = said_by(service)
        assert numbers_of(service)[: LAST + 1] == list(range(LAST + 1))
        assert said == unhurried
        assert service.watches()[0].errors == {}
    during = lags[5:-5]
    assert min(during) >= ANSWER_TAKES  # it is never up to date, and shows that
    assert max(during) <= 2 * ANSWER_TAKES + 2 * STEP  # but does not fall further behind
    assert behind == [lag / 1000 for lag in lags]
