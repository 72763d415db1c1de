"""Detector itself as a step of scikit-learn's pipelines and searches."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import smkc


@pytest.fixture
def table(rng):
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=["cpu", "mem", "net"])
    frame.iloc[700:730, 0] += 4
    return frame


@pytest.fixture
def truth():
    truth = np.zeros(900, int)
    truth[700:730] = 1
    return truth


def test_a_pipeline_scores_as_the_detector_does(table, truth):
    pipeline = make_pipeline(StandardScaler(), smkc.Detector(false_alarm_rate=0.01))
    scores = pipeline.fit(table[:500]).decision_function(table[500:])
    scaled = pipeline[0].transform(table)
    alone = smkc.Detector(false_alarm_rate=0.01).fit(scaled[:500])
    np.testing.assert_array_equal(scores, alone.decision_function(scaled[500:]))
    assert average_precision_score(truth[500:], scores) > 0.9
    assert pipeline.predict(table[500:])[215] == 1


def test_a_search_chooses_settings(table, truth):
    search = GridSearchCV(
        make_pipeline(smkc.Detector(false_alarm_rate=0.05)),
        {"detector__window": [1, 8]},
        scoring="average_precision",
        cv=[(np.arange(500), np.arange(500, 900))],
        error_score="raise",
    )
    search.fit(table, truth)
    assert search.cv_results_["mean_test_score"].min() > 0.5
    assert search.best_params_["detector__window"] in (1, 8)
    assert search.best_estimator_[-1].is_fitted


def test_tags_and_clones():
    detector = smkc.Detector(window=4)
    assert is_outlier_detector(detector)
    assert get_tags(detector).input_tags.allow_nan
    assert not get_tags(detector).target_tags.required
    assert clone(detector).get_params() == detector.get_params()


def test_scikit_learn_knows_whether_it_is_fitted(table):
    with pytest.raises(NotFittedError):
        check_is_fitted(smkc.Detector())
    check_is_fitted(smkc.Detector(false_alarm_rate=0.05).fit(table))
