"""The alerts of the past: the same rows judged once, and an alert list for each budget."""

from tests.following import STEP, pull_config
from tests.smkc.serve.service_parts import FAULT, N_ROWS, settings, time_of, values_at

from smkc.serve.backtest import backtest, budgets_of
from smkc.serve.config import WatchConfig
from smkc.serve.prometheus.client import Prometheus


def replayed(playback, folder, last=N_ROWS - 1, **more):
    watch = pull_config(playback.url, folder, **settings(**more)).watches[0]
    with Prometheus(playback.url) as client:
        return backtest(watch, client, time_of(0), time_of(last))


def test_budgets_are_those_tried_and_that_of_the_watch():
    watch = WatchConfig(name="a", query="up", false_alarms_per_day=3.0)
    assert budgets_of(watch) == (0.5, 1.0, 2.0, 3.0, 5.0)
    assert len(budgets_of(WatchConfig(name="a", query="up"))) == 4


def test_a_fault_of_the_past_is_found_with_its_cause(playback, tmp_path):
    (found,) = replayed(playback, tmp_path, min_rows=200)
    assert (found.entity, found.problem) == ("", "")
    assert found.learned == N_ROWS // 2
    assert found.learned + found.judged == N_ROWS
    for budget, alerts in found.alerts.items():
        hits = [one for one in alerts if FAULT[0] <= one.first_row < FAULT[0] + 18]
        assert len(hits) == 1, budget
        assert hits[0].causes[0].variable.startswith("load{")
        assert not hits[0].is_open
        assert time_of(FAULT[0]) <= hits[0].start <= hits[0].end
    rows = [sum((one.end - one.start) // STEP + 1 for one in a) for a in found.alerts.values()]
    assert rows == sorted(rows)  # what a strict budget alerts on, a loose one does too


def test_entities_are_judged_each_by_itself(playback, tmp_path):
    def values(time):
        return {
            name.replace("{", f'{{namespace="{space}",'): value
            for space, least in (("eu", 0), ("us", 200))
            for name, value in values_at(time).items()
            if time >= time_of(least)
        }

    playback.values = values
    eu, us = replayed(playback, tmp_path, min_rows=200, entity="namespace")
    assert (eu.entity, us.entity) == ("eu", "us")
    assert eu.judged == N_ROWS // 2
    assert (us.learned, us.judged) == (200, N_ROWS - 400)  # it came later and learns longer


def test_too_short_a_past_is_a_reason(playback, tmp_path):
    (found,) = replayed(playback, tmp_path, last=150, min_rows=200)
    assert found.judged == 0
    assert found.problem.startswith("151 rows are too few to learn from 200")
    assert not any(found.alerts.values())
