"""Alerts from verdicts: when they open, what makes them worse, when they close."""

import math

import numpy as np
import pytest

from smkc.decide import Cause, Mark
from smkc.serve.lane.alerting import (
    LEAST_PAUSE,
    Alerting,
    Limits,
    alert_id,
    alert_rate,
    anomaly_of,
    calm_rows,
)
from smkc.serve.rows import Verdict

RATE = 0.001
RELEASE = math.log(0.005) / math.log(RATE)
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


def explain(number, begun):
    assert begun <= number
    return (Cause(variable=f"of row {number}", share=1.0, kind="level"),)


def limits(calm=3, confirming=1):
    return Limits(rate=RATE, calm_rows=calm, confirming_rows=confirming)


def changes(anomalies, calm=3, alerting=None, first=0, confirming=1):
    """Return what each row did to an alert, None if nothing."""
    alerting = alerting or Alerting("shop", "eu")
    found = [
        alerting.take(verdict(first + number, anomaly), limits(calm, confirming), explain)
        for number, anomaly in enumerate(anomalies)
    ]
    assert all(len(some) <= 1 for some in found)
    return [some[0] if some else None for some in found]


def muted_changes(anomalies, muted_rows, marks=()):
    """Return what each row did to an alert, with maintenance at some rows."""
    alerting = Alerting("shop", "eu")
    marks = dict(marks)
    return [
        change
        for number, anomaly in enumerate(anomalies)
        for change in alerting.take(
            verdict(number, anomaly),
            limits(),
            explain,
            mark=marks.get(number, Mark.NONE),
            is_muted=lambda time: time // STEP - 1 in muted_rows,
        )
    ]


@pytest.mark.parametrize(
    ("muted_rows", "expected"),
    [
        (range(9), [("open", True), *[("go on", True)] * 5, ("close", True)]),
        (range(1, 9), [("open", False), *[("go on", False)] * 5, ("close", False)]),
        # Rows 4 to 6 are quiet: the last one that shows the fault is row 3.
        (range(4), [("open", True), *[("go on", True)] * 5, ("close", True)]),
        (
            range(3),
            [
                *[("open", True), ("go on", True), ("go on", True), ("open", False)],
                *[("go on", False)] * 2,
                ("close", False),
            ],
        ),
    ],
    ids=["all of it", "all but the first row", "all that show it", "all but the last"],
)
def test_an_alert_is_muted_while_it_lies_in_maintenance(muted_rows, expected):
    found = muted_changes([1.2, 1.1, 1.1, 1.1, 0.1, 0.1, 0.1], muted_rows)
    assert [(change.kind, change.alert.is_muted) for change in found] == expected


def test_what_was_told_counts_from_when_a_muted_alert_is_told():
    found = muted_changes([1.2, 2.0, 4.0, 4.1, 5.9, 6.3], range(3))
    kinds_of = [(change.kind, change.alert.is_muted) for change in found]
    assert kinds_of == [
        *[("open", True), ("update", True), ("update", True), ("open", False)],
        *[("go on", False), ("update", False)],
    ]
    assert found[3].alert.told_anomaly == 4.1


def test_an_echo_after_the_maintenance_does_not_let_an_alert_out():
    found = muted_changes([1.2, 1.1, 1.1], range(2), {2: Mark.ECHO})
    assert [change.alert.is_muted for change in found] == [True, True, True]


def kinds(found):
    return [change and change.kind for change in found]


def test_quiet_rows_raise_nothing():
    assert kinds(changes([0.0, 0.5, 0.99, 1.0, 0.2])) == [None] * 5


def test_an_alert_opens_goes_on_and_closes_after_calm_rows():
    found = changes([0.1, 1.2, 0.9, 0.1, 0.1, 0.1, 0.1])
    assert kinds(found) == [None, "open", "go on", "go on", "go on", "close", None]
    closed = found[5].alert
    assert not closed.is_open
    assert (closed.first_row, closed.last_row) == (1, 2)
    assert (closed.start, closed.end, closed.peak) == (2_000, 3_000, 2_000)


def test_most_of_ten_seconds_and_of_five_rows_confirm_an_alert():
    steps = 500, 1_000, 2_000, 3_000, 5_000, 6_000, 60_000
    rows = [Limits.of(1.0, step).confirming_rows for step in steps]
    assert rows == [5, 5, 5, 3, 2, 1, 1]


@pytest.mark.parametrize(
    ("anomalies", "opens_at", "begins_at"),
    [
        ([1.1, 1.1, 1.1], 2, 0),
        ([1.1, 0.1, 1.1, 0.1, 1.1], 4, 0),
        ([1.1, 0.1, 1.1, 0.1, 0.1, 1.1, 1.1], 6, 2),
        ([1.1, 1.1, 0.1, 0.1, 0.1, 1.1], None, None),
        ([9.9], None, None),
    ],
)
def test_an_alert_opens_when_most_of_the_latest_rows_are_loud(anomalies, opens_at, begins_at):
    found = changes(anomalies, confirming=5)
    opened = [number for number, change in enumerate(found) if change and change.kind == "open"]
    assert opened[:1] == ([] if opens_at is None else [opens_at])
    if opened:
        alert = found[opens_at].alert
        assert (alert.first_row, alert.last_row) == (begins_at, opens_at)
        assert (alert.start, alert.end) == (STEP * (begins_at + 1), STEP * (opens_at + 1))


def test_an_alert_that_opens_late_has_the_worst_row_so_far():
    alert = changes([1.2, 3.0, 1.1], confirming=5)[-1].alert
    assert (alert.peak_row, alert.anomaly, alert.causes_row) == (1, 3.0, 1)
    assert (alert.causes[0].variable, alert.severity) == ("of row 1", "critical")


def test_a_loud_row_among_calm_ones_keeps_it_open():
    found = changes([1.2, 0.1, 0.1, 1.1, 0.1, 0.1, 0.1])
    assert kinds(found) == ["open", *["go on"] * 5, "close"]
    assert found[-1].alert.last_row == 3


def test_calm_rows_are_a_minute_within_bounds():
    steps = 1_000, 3_000, 8_000, 12_000, 15_000, 3_600_000
    assert [calm_rows(step) for step in steps] == [10, 10, 7, 5, 5, 5]
    assert kinds(changes([1.2, 0.1, 0.1], calm=2)) == ["open", "go on", "close"]


def test_rows_above_the_release_are_loud_and_those_at_it_quiet():
    above = changes([1.2, RELEASE + 1e-9])[-1].alert
    at = changes([1.2, RELEASE])[-1].alert
    assert (above.last_row, at.last_row) == (1, 0)


def test_a_far_worse_row_is_explained_at_once():
    found = changes([2.0, 2.9, 3.1, 4.0, 4.7])
    assert kinds(found) == ["open", "go on", "update", "go on", "update"]
    assert [change.alert.causes[0].variable for change in found] == [
        "of row 0",
        "of row 0",
        "of row 2",
        "of row 2",
        "of row 4",
    ]
    assert [change.alert.causes_anomaly for change in found] == [2.0, 2.0, 3.1, 3.1, 4.7]


def test_the_record_holds_the_worst_row_though_it_is_not_explained_yet():
    alert = changes([2.0, 2.9, 1.5])[-1].alert
    assert (alert.anomaly, alert.peak, alert.peak_row) == (2.9, 2_000, 1)
    assert alert.p_value == pytest.approx(RATE**2.9)
    assert alert.evidences == {"level": 2.9}
    assert (alert.causes_at, alert.causes_anomaly) == (1_000, 2.0)
    assert alert.causes[0].variable == "of row 0"


@pytest.mark.parametrize("calm", [1, 3, 8, 10])
def test_a_peak_is_explained_once_eight_rows_have_passed(calm):
    found = changes([2.0, 2.5, 2.9, *[1.5] * 10], calm)
    assert kinds(found) == ["open", *["go on"] * 12]  # nobody is told of that
    assert [change.alert.causes_row for change in found] == [0] * LEAST_PAUSE + [2] * 5
    alert = found[-1].alert
    assert (alert.causes_at, alert.causes_anomaly) == (alert.peak, alert.anomaly) == (3_000, 2.9)
    assert alert.causes[0].variable == "of row 2"


def test_what_grows_slowly_is_explained_as_it_grows_and_told_when_far_worse():
    found = changes([2.0 + 0.1 * number for number in range(14)])
    assert kinds(found) == ["open", *["go on"] * 10, "update", "go on", "go on"]
    assert [change.alert.causes_row for change in found] == [0] * 8 + [8] * 3 + [11] * 3


@pytest.mark.parametrize("calm", [1, 2, 3, 8])
def test_a_closed_alert_names_the_causes_of_its_worst_row(calm):
    rng = np.random.default_rng(calm)
    for _ in range(50):
        anomalies = [1.1, *rng.uniform(0.1, 2.0, 12), *[0.1] * (calm + 2)]
        for change in changes(anomalies, calm):
            if change is not None and change.kind == "close":
                alert = change.alert
                assert alert.causes_at == alert.peak
                assert alert.causes_anomaly == alert.anomaly
                assert alert.causes[0].variable == f"of row {alert.peak_row}"


@pytest.mark.parametrize("least", [0.5, 1.0], ids=["up and down", "row by row"])
def test_an_alert_that_gets_ever_worse_is_explained_and_told_a_bounded_number_of_times(least):
    n, calm = 2_000, 8
    rng = np.random.default_rng(0)
    asked, told = [], []
    alerting = Alerting("shop", "eu")
    for number in range(n):
        anomaly = (2.01 + 0.05 * number) * rng.uniform(least, 1.0)
        (change,) = alerting.take(
            verdict(number, anomaly), limits(calm), lambda at, begun: asked.append(at) or ()
        )
        told += [number] * (change.kind == "update")
    assert 0 < len(told) <= math.log(2.01 + 0.05 * n) / math.log(1.5)
    assert len(told) < len(asked) <= n / LEAST_PAUSE + len(told) + 1


def test_causes_that_cannot_be_told_any_more_stay_those_of_their_moment():
    alerting = Alerting("shop", "eu")
    for number, anomaly in enumerate([2.0, 2.9, *[1.5] * 8]):
        (change,) = alerting.take(
            verdict(number, anomaly), limits(), lambda *at: explain(*at) if at == (0, 0) else None
        )
        assert change.kind == ("go on" if number else "open")
    assert (change.alert.peak, change.alert.causes_at) == (2_000, 1_000)
    assert change.alert.causes[0].variable == "of row 0"


@pytest.mark.parametrize("confirming", [1, 2, 3])
def test_it_goes_on_after_a_restart_as_if_there_had_been_none(confirming):
    anomalies = [0.2, 2.0, 2.9, 3.1, 0.1, 4.0, 4.7, 0.1, 0.1, 0.1, 1.3, 1.5, 0.1, 0.1, 0.1, 0.1]
    whole = changes(anomalies, confirming=confirming)
    assert kinds(whole).count("open") == 2
    for cut in range(1, len(anomalies)):
        alert = None
        for change in changes(anomalies[:cut], confirming=confirming):
            if change is not None:
                alert = change.alert if change.kind != "close" else None
        latest = [verdict(at, anomalies[at]) for at in range(max(cut - confirming, 0), cut)]
        resumed = Alerting("shop", "eu", alert, latest)
        found = changes(anomalies[cut:], alerting=resumed, first=cut, confirming=confirming)
        assert found == whole[cut:]


def test_an_alerts_name_tells_lanes_and_starts_apart():
    names = {alert_id(*key) for key in (("a", "b", 1), ("a", "", 1), ("a", "b", 2), ("ab", "", 1))}
    assert len(names) == 4
    assert alert_id("a", "b", 1) == alert_id("a", "b", 1)
    assert all(len(name) == 16 for name in names)


def test_the_rate_stays_within_sense():
    assert alert_rate(1e-9, 1_000) == 1e-6
    assert alert_rate(1e9, 1_000) == 0.05


def test_rows_within_three_minutes_share_their_chances():
    assert alert_rate(1.0, 1_000) == alert_rate(1.0, 180_000) == pytest.approx(1 / 480)
    assert alert_rate(2.0, 240_000) == pytest.approx(2 / 360)


def test_the_smallest_p_value_has_a_finite_anomaly():
    assert math.isfinite(anomaly_of(2.3e-308, 1e-6))


def test_another_trouble_closes_one_alert_and_opens_the_next():
    alerting = Alerting("shop", "eu")
    changes([1.5, 2.0, 1.5, 1.5, 1.5], alerting=alerting)
    closed, opened = alerting.take(verdict(5, 1.2), limits(), explain, mark=Mark.NEWS)
    assert (closed.kind, closed.alert.is_open, closed.alert.last_row) == ("close", False, 4)
    assert closed.alert.causes[0].variable == "of row 1"
    assert (opened.kind, opened.alert.first_row) == ("open", 5)
    assert opened.alert.causes[0].variable == "of row 5"
    assert opened.alert.id != closed.alert.id
    assert alerting.alert == opened.alert


def test_news_of_an_alert_that_has_just_begun_is_none():
    alerting = Alerting("shop", "eu")
    changes([1.5] * 2, alerting=alerting, first=3)
    (change,) = alerting.take(verdict(5, 1.5), limits(), explain, mark=Mark.NEWS)
    assert change.kind == "go on"


@pytest.mark.parametrize(("n_rows", "kinds"), [(8, ["close", "open"]), (9, ["go on"])])
def test_news_waits_some_rows_for_an_anomalous_one(n_rows, kinds):
    alerting = Alerting("shop", "eu")
    changes([1.5] * 5, alerting=alerting)
    (change,) = alerting.take(verdict(5, 0.9), limits(), explain, mark=Mark.NEWS)
    assert change.kind == "go on"
    changes([0.9] * (n_rows - 1), alerting=alerting, first=6)
    found = alerting.take(verdict(5 + n_rows, 1.2), limits(), explain)
    assert [one.kind for one in found] == kinds


def test_news_is_confirmed_too():
    alerting = Alerting("shop", "eu")
    changes([1.5] * 6, alerting=alerting, confirming=3)
    enough = limits(confirming=3)
    (change,) = alerting.take(verdict(6, 1.5), enough, explain, mark=Mark.NEWS)
    assert change.kind == "go on"
    closed, opened = alerting.take(verdict(7, 1.2), enough, explain)
    assert (closed.kind, opened.kind) == ("close", "open")
    assert (opened.alert.first_row, opened.alert.peak_row) == (6, 6)


def test_an_echo_keeps_an_alert_open_and_does_not_move_its_end():
    alerting = Alerting("shop", "eu")
    changes([1.5, 2.0], alerting=alerting)
    shown = alerting.alert.end
    (change,) = alerting.take(verdict(2, 1.5), limits(), explain, mark=Mark.ECHO)
    assert (change.kind, change.alert.end, change.alert.last_row) == ("go on", shown, 2)
    (change,) = alerting.take(verdict(3, 1.5), limits(), explain)
    assert change.alert.end > shown
    assert change.alert.last_row == 3
