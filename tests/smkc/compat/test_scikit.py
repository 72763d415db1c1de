import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import smkc
from smkc.compat import as_recording
from smkc.compat.scikit import EXPECTED_FAILED_CHECKS, SmkcOutlierDetector
from smkc.errors import CalibrationWarning, InputError

# Small enough for the 10 rows that some checks of scikit-learn fit on.
TINY = {"window": 3, "false_alarm_rate": 0.2}

# The table is too short for the default rate.
SMALL = {"window": 16, "false_alarm_rate": 0.01}


@pytest.fixture
def table(rng):
    frame = pd.DataFrame(rng.normal(size=(700, 3)), columns=["cpu", "mem", "net"])
    frame.iloc[650:655] += 9
    return frame


@pytest.fixture
def model(table):
    return SmkcOutlierDetector(**SMALL).fit(table[:500])


@pytest.mark.filterwarnings("ignore:.* rows are too few:smkc.errors.CalibrationWarning")
def test_scikit_learns_checks_pass_but_for_those_listed():
    results = check_estimator(SmkcOutlierDetector(**TINY), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    passed = [result["check_name"] for result in results if result["status"] == "passed"]
    assert failed == EXPECTED_FAILED_CHECKS.keys()
    assert len(passed) > 35
    assert {"check_outliers_train", "check_outliers_fit_predict"} <= set(passed)


def test_scores_are_the_detectors_with_the_other_sign(table, model):
    det = smkc.Detector(**SMALL).fit(as_recording(table[:500]))
    live = as_recording(table[500:])
    np.testing.assert_array_equal(model.score_samples(table[500:]), -det.decision_function(live))
    # scikit-learn wants the sign of the decision function, not the rows of alerts.
    is_past = det.decision_function(live) > det.threshold_
    np.testing.assert_array_equal(model.predict(table[500:]), 1 - 2 * is_past)
    # Alerts go by p-values: both mark the fault, and rows beside it each for itself.
    assert is_past[150:155].all()
    assert det.predict(live)[150:155].all()
    assert model.offset_ == -det.threshold_
    assert model.decision_function(table[500:])[151] < 0


@pytest.mark.parametrize(
    "change",
    [
        lambda live: live.assign(new=live["cpu"] * 2),
        lambda live: live.drop(columns="net"),
        lambda live: live.rename(columns={"net": "network"}),
        lambda live: live.iloc[np.arange(len(live)) % 7 != 3].reindex(live.index),
        lambda live: live.to_dict("records"),
        pl.from_pandas,
    ],
    ids=["appears", "vanishes", "renamed", "missing", "dicts", "polars"],
)
def test_columns_may_change_after_fitting(table, model, change):
    marks = model.predict(change(table[500:]))
    assert marks.shape == (200,)
    assert (marks[151:155] == -1).all()
    assert (marks[:130] == 1).mean() > 0.8


def test_names_matter_and_positions_do_not(table, model):
    live = table[500:]
    np.testing.assert_array_equal(
        model.score_samples(live), model.score_samples(live[["net", "cpu", "mem"]])
    )


def test_it_works_inside_scikit_learn(table):
    pipeline = make_pipeline(StandardScaler(), SmkcOutlierDetector(**SMALL))
    assert pipeline.fit(table[:500]).predict(table[500:])[152] == -1
    for point in ParameterGrid({"window": [16, 32], "settings": [None, {"align": "prompt"}]}):
        copy = clone(SmkcOutlierDetector(**SMALL)).set_params(**point)
        assert copy.fit_predict(table).shape == (700,)
        assert copy.detector_.window == point["window"]


def test_nothing_is_scored_before_fitting(table):
    with pytest.raises(NotFittedError):
        SmkcOutlierDetector().predict(table)
    assert not hasattr(SmkcOutlierDetector(**SMALL).fit(table), "n_features_in_")


def test_few_rows_are_repeated_and_said(table):
    with pytest.warns(CalibrationWarning, match="20 rows are too few"):
        model = SmkcOutlierDetector(false_alarm_rate=0.2).fit(table[:20])
    assert np.isfinite(model.score_samples(table[20:40])).all()


def test_a_table_on_its_side_is_refused(table, model):
    with pytest.raises(InputError, match="3 rows and 200 columns, of which only 0 were there"):
        model.predict(table[500:].to_numpy().T)
