"""A watch that names no step or history: the step of its rows counts, or that of the scrapes.

The history follows from the number of series.
"""

import pytest
from tests.following import STEP, FastClock, pull_config, wait_until
from tests.smkc.serve.service_parts import N_HISTORY, NOW, follow_until, numbers_of, running

from smkc.serve.config import config_of
from smkc.serve.metrics import render

EVERY_15_S = {"shop": [NOW - 15_000 * k for k in range(5)]}


def config_without_step(playback, folder, **watch):
    given = pull_config(playback.url, folder).watches[0]
    return config_of(
        {
            "data": str(folder),
            "prometheus": {"url": playback.url},
            "watch": [{"name": given.name, "query": given.query, "min_rows": 200} | watch],
        }
    )


def test_it_is_that_of_the_scrapes_and_stays(playback, tmp_path):
    playback.scrapes = {"shop": [NOW - 30_000 * k for k in range(5)]}
    clock = FastClock(NOW, NOW)
    config = config_without_step(playback, tmp_path, min_rows=60)
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].phase == "following")
        assert service.config.watches[0].step == service.config.watches[0].lateness == 30_000
        assert set(numbers_of(service)[:4]) <= set(range(0, N_HISTORY, 2)) | {1, 3, 5, 7}
    playback.scrapes = EVERY_15_S  # but the rows that were learned from are two steps apart
    with running(config, clock) as service:
        wait_until(lambda: service.is_ready)
        assert service.config.watches[0].step == 30_000


def test_it_waits_for_a_source_that_does_not_answer_yet(playback, tmp_path):
    playback.scrapes = {"shop": [NOW - 5_000 * k for k in range(5)]}
    playback.fails = lambda: "error"
    clock = FastClock(NOW, NOW + 10_000_000)
    with running(config_without_step(playback, tmp_path), clock) as service:
        wait_until(lambda: service.watches()[0].errors.get("source", 0) >= 2)
        assert service.watches()[0].phase == "waiting"
        playback.fails = lambda: ""
        wait_until(lambda: service.config.watches[0].step == 5_000)


@pytest.mark.parametrize("scrapes", [{}, None], ids=["shows none", "may not be asked"])
def test_without_it_there_is_a_row_every_15_s_and_a_sentence(playback, tmp_path, caplog, scrapes):
    playback.scrapes = scrapes
    clock = FastClock(NOW, NOW)
    with running(config_without_step(playback, tmp_path), clock) as service:
        follow_until(service, clock, N_HISTORY - 1)
        assert service.config.watches[0].step == STEP
        assert numbers_of(service) == list(range(N_HISTORY))
        assert b"smkc_phase" in render(service)
    (said,) = {record.getMessage() for record in caplog.records if "step" in record.getMessage()}
    assert said.startswith("watch shop: step is not set")
    assert said.endswith(
        "there is a row every 15s: set step to the scrape interval if that is another"
    )


def test_a_step_that_is_given_is_not_asked_for(playback, tmp_path):
    playback.scrapes = {"shop": [NOW - 5_000 * k for k in range(5)]}
    clock = FastClock(NOW, NOW)
    with running(pull_config(playback.url, tmp_path), clock) as service:
        wait_until(lambda: service.is_ready)
        assert service.config.watches[0].step == STEP


def test_the_history_is_longer_with_fewer_series_and_stays(playback, tmp_path):
    clock = FastClock(NOW, NOW)
    config = config_without_step(playback, tmp_path, step="15s")
    history = config.watches[0].with_found(STEP, len(playback.values(NOW))).history
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].phase == "following")
        assert service.config.watches[0].history == history > config.watches[0].history
    playback.fails = lambda: "error"  # the rows that are kept tell how many series there are
    with running(config, clock) as service:
        wait_until(lambda: service.watches()[0].errors.get("source", 0) >= 1)
        assert service.config.watches[0].history == history
        assert service.watches()[0].lanes
