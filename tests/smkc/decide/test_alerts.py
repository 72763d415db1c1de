import numpy as np
import pytest

from smkc.decide import Alert, Calibration, Cause, Mark, find_alerts
from smkc.decide.alerts import NEWS_STEPS

CALIBRATION = Calibration(np.linspace(0, 1, 101), 101.0)
NAN = np.nan


def spans(scores, threshold=5.0, release=3.0, join=1):
    times = 100 + 10 * np.arange(len(scores))
    alerts = find_alerts(np.array(scores, float), times, CALIBRATION, threshold, release, join)
    for alert in alerts:
        assert alert.start == times[alert.first_row]
        assert alert.end == times[alert.last_row]
        assert alert.p_value == CALIBRATION.p_values(np.array([alert.score]))[0]
    return [(alert.first_row, alert.last_row) for alert in alerts]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, 1, 2, 0], []),
        ([5, 5, 5], []),  # at the threshold is not past it
        ([0, 6, 0, 0], [(1, 1)]),
        ([6, 6, 0, 0, 6], [(0, 1), (4, 4)]),
        ([0, 4, 6, 4, 4, 0], [(1, 4)]),  # goes on in both directions above the release
        ([0, 4, 4, 4, 0], []),  # above the release alone raises nothing
        ([6, 0, 6, 0, 0, 6], [(0, 2), (5, 5)]),  # one quiet step is bridged, two are not
        ([4, 0, 6], [(2, 2)]),  # a quiet run is not joined to a loud one
        ([NAN, 6, NAN, NAN, 6, NAN], [(1, 1), (4, 4)]),  # NaN is quiet
        ([6, NAN, 6], [(0, 2)]),
        ([NAN, NAN], []),
        ([6], [(0, 0)]),
        ([], []),
    ],
)
def test_intervals(scores, expected):
    assert spans(scores) == expected


def test_a_release_above_the_threshold_is_the_threshold():
    assert spans([0, 6, 4, 0], threshold=5, release=9) == [(1, 1)]


def test_no_joining():
    assert spans([6, 0, 6], join=0) == [(0, 0), (2, 2)]


def test_the_peak_is_the_highest_step_and_the_middle_of_equals():
    times = np.arange(8)
    scores = np.array([6, 7, 9, 9, 9, 7, 0, 0.0])
    (alert,) = find_alerts(scores, times, CALIBRATION, 5, 5, 1)
    assert (alert.start, alert.peak, alert.end) == (0, 3, 5)
    assert alert.score == 9


def test_in_words():
    cause = Cause(variable="cpu", share=0.4, kind="level", joint_with=("mem",), detail="rose")
    alert = Alert(
        start=1, end=2, peak=2, score=1.0, p_value=0.004, first_row=1, last_row=2
    ).with_causes([cause])
    assert str(alert) == "1 to 2, p = 0.004: cpu (jointly with mem): level, 40%; rose"


def test_news_begins_another_alert_after_the_first_has_lasted_a_while():
    scores = np.array([0.0, 9, 9, 9, 9, 9, 9, 6, 9, 0])
    times = np.arange(len(scores))

    def found(*rows):
        marks = np.where(np.isin(times, rows), Mark.NEWS, Mark.NONE)
        alerts = find_alerts(scores, times, CALIBRATION, 8, 5, 2, marks)
        return [(one.first_row, one.last_row) for one in alerts]

    assert found() == [(1, 8)]
    assert found(4) == [(1, 3), (4, 8)]
    assert found(1, 2, 3) == [(1, 8)]  # it has only just begun
    assert found(7) == [(1, 6), (7, 8)]  # past the threshold one step later
    assert found(9) == [(1, 8)]  # not past the threshold
    assert found(4, 5, 8) == [(1, 3), (4, 7), (8, 8)]


def test_news_that_passes_the_threshold_late_is_none():
    times = np.arange(NEWS_STEPS + 8)
    marks = np.where(times == 5, Mark.NEWS, Mark.NONE)

    def n_alerts(loud):
        scores = np.where(np.isin(times, [0, 5 + loud]), 9.0, 6.0)
        return len(find_alerts(scores, times, CALIBRATION, 8, 5, 2, marks))

    assert (n_alerts(NEWS_STEPS), n_alerts(NEWS_STEPS + 1)) == (2, 1)


def test_an_alert_ends_before_its_echoes_and_is_joined_as_if_they_counted():
    scores = np.array([0.0, 9, 9, 8.5, 8.5, 6, 0, 0, 9, 8.5, 0, 0, 0, 0])
    times = 10 * np.arange(len(scores))

    def found(*rows):
        marks = np.where(np.isin(times, 10 * np.array(rows)), Mark.ECHO, Mark.NONE)
        alerts = find_alerts(scores, times, CALIBRATION, 8, 5, 2, marks)
        return [(one.first_row, one.last_row, one.end) for one in alerts]

    assert found() == [(1, 9, 90)]
    assert found(9) == [(1, 8, 80)]
    assert found(3, 4, 5) == [(1, 9, 90)]  # what shows again after them was not over
    assert found(8, 9) == [(1, 7, 70)]
    assert found(*range(14)) == [(1, 1, 10)]  # an alert is never empty


def test_an_alert_does_not_end_before_it_was_loud():
    scores, times = np.array([0.0, 6, 6, 9, 9, 0]), np.arange(6)
    marks = np.full(6, Mark.ECHO)
    (alert,) = find_alerts(scores, times, CALIBRATION, 8, 5, 2, marks)
    assert (alert.first_row, alert.last_row, alert.score) == (1, 3, 9)
