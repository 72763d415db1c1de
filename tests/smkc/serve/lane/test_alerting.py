"""Alerts from verdicts: when they open, what makes them worse, when they close."""

import math

import pytest

from smkc.decide import Cause
from smkc.serve.lane.alerting import Alerting, alert_id, alert_rate, anomaly_of, explained_of
from smkc.serve.rows import Verdict

RATE = 0.001
RELEASE = math.log(0.01) / math.log(RATE)
STEP = 1_000


def verdict(number, anomaly):
    return Verdict(
        number=number,
        time=STEP * (number + 1),
        score=anomaly,
        p_value=RATE**anomaly,
        anomaly=anomaly,
        cardinality=3,
        appeared=0,
        vanished=0,
        evidences={"level": anomaly},
    )


def explain(number):
    return (Cause(variable=f"of row {number}", share=1.0, kind="level"),)


def changes(anomalies, window=3, alerting=None, first=0):
    alerting = alerting or Alerting("shop", "eu")
    return [
        alerting.take(verdict(first + number, anomaly), RATE, window, explain)
        for number, anomaly in enumerate(anomalies)
    ]


def kinds(found):
    return [change and change.kind for change in found]


def test_quiet_rows_raise_nothing():
    assert kinds(changes([0.0, 0.5, 0.99, 1.0, 0.2])) == [None] * 5


def test_an_alert_opens_goes_on_and_closes_after_a_window_of_quiet_rows():
    found = changes([0.1, 1.2, 0.9, 0.1, 0.1, 0.1, 0.1])
    assert kinds(found) == [None, "open", "go on", "go on", "go on", "close", None]
    closed = found[5].alert
    assert not closed.is_open
    assert (closed.first_row, closed.last_row) == (1, 2)
    assert (closed.start, closed.end, closed.peak) == (2_000, 3_000, 2_000)


def test_a_loud_row_within_the_window_keeps_it_open():
    found = changes([1.2, 0.1, 0.1, 1.1, 0.1, 0.1, 0.1])
    assert kinds(found) == ["open", *["go on"] * 5, "close"]
    assert found[-1].alert.last_row == 3


def test_one_row_windows_wait_for_two_quiet_rows():
    assert kinds(changes([1.2, 0.1, 0.1], window=1)) == ["open", "go on", "close"]


def test_rows_above_the_release_are_loud_and_those_at_it_quiet():
    above = changes([1.2, RELEASE + 1e-9])[-1].alert
    at = changes([1.2, RELEASE])[-1].alert
    assert (above.last_row, at.last_row) == (1, 0)


def test_only_a_far_worse_peak_is_explained_anew():
    found = changes([2.0, 2.9, 3.1, 4.0, 4.7])
    assert kinds(found) == ["open", "go on", "update", "go on", "update"]
    assert [change.alert.causes[0].variable for change in found] == [
        "of row 0",
        "of row 0",
        "of row 2",
        "of row 2",
        "of row 4",
    ]


def test_the_record_holds_the_worst_row_though_it_was_not_explained():
    alert = changes([2.0, 2.9, 1.5])[-1].alert
    assert (alert.anomaly, alert.peak) == (2.9, 2_000)
    assert alert.p_value == pytest.approx(RATE**2.9)
    assert alert.evidences == {"level": 2.9}


def test_it_goes_on_after_a_restart_as_if_there_had_been_none():
    anomalies = [0.2, 2.0, 2.9, 3.1, 0.1, 4.0, 4.7, 0.1, 0.1, 0.1, 1.3, 0.1, 0.1, 0.1, 0.1]
    whole = changes(anomalies)
    for cut in range(1, len(anomalies)):
        before = changes(anomalies[:cut])
        alert = None
        for change in before:
            if change is not None:
                alert = change.alert if change.kind != "close" else None
        told = anomalies[alert.first_row : cut] if alert else []
        resumed = Alerting("shop", "eu", alert, explained_of(told))
        assert changes(anomalies[cut:], alerting=resumed, first=cut) == whole[cut:]


def test_an_alerts_name_tells_lanes_and_starts_apart():
    names = {alert_id(*key) for key in (("a", "b", 1), ("a", "", 1), ("a", "b", 2), ("ab", "", 1))}
    assert len(names) == 4
    assert alert_id("a", "b", 1) == alert_id("a", "b", 1)
    assert all(len(name) == 16 for name in names)


def test_the_rate_stays_within_sense():
    assert alert_rate(1e-9, 1_000, 1) == 1e-6
    assert alert_rate(1e9, 1_000, 1) == 0.05


def test_the_smallest_p_value_has_a_finite_anomaly():
    assert math.isfinite(anomaly_of(2.3e-308, 1e-6))
