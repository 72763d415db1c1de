import numpy as np
import pytest
from tests.smkc.doctor.conftest import Deviation, made

from smkc.decide import Alert, Cause
from smkc.doctor import Outcome, Plant
from smkc.doctor.trial import FalseAlarms, Judge, choose_places, fate

PLANT = Plant(first_row=10, last_row=12, variables=("a", "b"))


@pytest.fixture
def judge(rng: np.random.Generator) -> Judge:
    return Judge(Deviation().fit(made(rng, 400)))


def alert(first: int, last: int, score: float, *causes: Cause) -> Alert:
    return Alert(
        start=first,
        end=last,
        peak=first,
        score=score,
        p_value=0.01,
        first_row=first,
        last_row=last,
        causes=causes,
    )


def test_alarms_are_counted_in_rows_and_stretches() -> None:
    scores = np.array([np.nan, 1.0, 3.0, 3.0, 1.0, 3.0, np.nan])
    counted = FalseAlarms.count("untouched", scores, 2.0)
    assert (counted.rows, counted.alarmed, counted.episodes) == (5, 3, 2)
    assert counted.rate == pytest.approx(0.6)
    assert np.isnan(FalseAlarms.count("x", np.full(3, np.nan), 1.0).rate)


def test_thresholds_follow_the_rates_and_the_setting_is_kept(judge: Judge) -> None:
    assert list(judge.rates) == sorted(judge.rates)
    assert list(judge.thresholds) == sorted(judge.thresholds, reverse=True)
    assert judge.threshold == judge.thresholds[judge.rates.index(0.01)]
    assert judge._detector.false_alarm_rate == 0.01


def test_places_are_quiet_apart_and_within(rng: np.random.Generator) -> None:
    alarms = np.zeros(800, bool)
    alarms[100:140] = alarms[400:420] = True
    for _ in range(20):
        places = choose_places(alarms, 8, 10, rng)
        assert np.all(np.diff(places) >= 30)
        assert places[0] >= 20
        assert places[-1] + 20 <= 800
        assert not any(alarms[first : first + 20].any() for first in places)


def test_only_a_new_alarm_counts_and_its_delay_is_from_the_first_row(judge: Judge) -> None:
    high = judge.thresholds[0] + 1
    untouched, scores = np.zeros(50), np.zeros(50)
    assert fate(PLANT, judge, scores, untouched, 8).delay is None
    scores[14] = untouched[14] = high
    assert fate(PLANT, judge, scores, untouched, 8).delay is None
    scores[16] = high
    found = fate(PLANT, judge, scores, untouched, 8)
    assert found.delay == 6
    assert all(found.caught_at)
    scores[16], scores[9], scores[21] = 0.0, high, high  # before it, and long after
    assert fate(PLANT, judge, scores, untouched, 8).delay is None


def test_at_a_higher_rate_a_lower_score_suffices(judge: Judge) -> None:
    scores = np.zeros(50)
    scores[11] = 0.5 * (judge.thresholds[-1] + judge.thresholds[-2])
    found = fate(PLANT, judge, scores, np.zeros(50), 8)
    assert found.caught_at == (False, False, False, False, True)
    assert found.delay is None
    assert found.change > 0


def test_the_strongest_alert_must_name_a_planted_variable(judge: Judge) -> None:
    right, wrong = (Cause(variable=name, share=1.0, kind="level") for name in ("b", "z"))
    joint = Cause(variable="z", share=1.0, kind="presence", joint_with=("a",))
    flat = np.zeros(50)

    def named(*alerts: Alert) -> bool | None:
        return fate(PLANT, judge, flat, flat, 8, alerts).is_named

    assert named() is None
    assert named(alert(30, 40, 1.0, right)) is None
    assert named(alert(11, 14, 1.0, wrong), alert(13, 13, 2.0, right)) is True
    assert named(alert(11, 14, 3.0, wrong), alert(13, 13, 2.0, right)) is False
    assert named(alert(11, 14, 1.0, joint)) is True
    assert named(alert(11, 14, 1.0)) is False


def test_outcomes_add_up(judge: Judge) -> None:
    high, flat = judge.thresholds[0] + 1, np.zeros(50)
    early, late = flat.copy(), flat.copy()
    early[10], late[14] = high, high
    fates = [fate(PLANT, judge, scores, flat, 8) for scores in (early, late, flat, flat - 1)]
    found = Outcome.of("spike", 2, fates)
    assert (found.planted, found.caught, found.delay) == (4, 2, 2.0)
    assert (found.raised, found.lowered) == (1, 1)
    assert found.share == 0.5
    assert found.words == "16 spreads"
