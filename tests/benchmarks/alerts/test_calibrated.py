"""Peers under one calibration: thresholds from the reference alone, alerts joined."""

from dataclasses import replace

import numpy as np
import pytest
from tests.benchmarks.real.made_up import made_up_series

from benchmarks.alerts.calibrated import alert_calibration, decide
from smkc.errors import InputError


class Given:
    """A peer whose scores of a recording are the values of v03."""

    look_ahead = 0

    def __init__(self, log):
        self.log = log

    def fit(self, reference):
        self.log.append(len(reference))
        return self

    def score(self, test):
        assert test.names[3] == "v03"
        scores = np.full(len(test), np.nan)
        mine = test.codes == 3
        scores[test.row_numbers[mine]] = test.values[mine]
        return scores


class Blaming(Given):
    def blame(self, test, row):
        return [f"row-{test.times[row]}", "v03"]


def test_a_budget_per_1000_rows_is_a_rate_per_block_of_20_rows():
    # 100 blocks, whose largest scores are 19, 39, ... 1999; 2 of 100 may be above.
    found = alert_calibration(np.arange(2000.0))
    assert found.null.tolist() == list(range(19, 2000, 20))
    threshold = found.threshold(0.02)
    assert 1900 < threshold < 2500


def test_rows_without_a_score_are_left_out_and_none_at_all_is_an_error():
    null = np.arange(60.0)
    null[:20] = np.nan
    assert alert_calibration(null).null.tolist() == [39, 59]
    assert len(alert_calibration(np.arange(5.0)).null) == 1
    with pytest.raises(InputError, match="none of the last 40 reference rows"):
        alert_calibration(np.full(40, np.nan))


def test_the_null_comes_from_rows_that_were_not_learned_from():
    series, log = made_up_series(), []
    scores, _ = decide(lambda: Given(log), series, 3)
    assert log == [240, 400], "60% of the reference for the null, all of it for the scores"
    assert scores.shape == (400,)


def test_alerts_are_marks_joined_and_name_what_the_peer_blames_at_the_peak():
    series = made_up_series()
    values = np.where(series.test.codes == 3, 0.0, series.test.values)
    rows = series.test.row_numbers
    for row, value in ((50, 900.0), (69, 950.0), (89, 800.0), (200, 900.0)):
        values[(series.test.codes == 3) & (rows == row)] = value
    series = replace(series, test=replace(series.test, values=values.astype(np.float32)))
    _, alerts = decide(lambda: Blaming([]), series, 1)
    assert [(alert.first, alert.last) for alert in alerts] == [(50, 89), (200, 200)]
    assert [alert.names for alert in alerts] == [("row-469",), ("row-600",)]
    _, nameless = decide(lambda: Given([]), series, 1)
    assert [alert.names for alert in nameless] == [(), ()]
