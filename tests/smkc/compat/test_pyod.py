import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyod", reason="PyOD is not installed; run: pip install pyod")

from pyod.models.base import BaseDetector
from pyod.utils.data import evaluate_print
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from smkc.compat.pyod import SmkcDetector

CONTAMINATION = 0.1


@pytest.fixture
def table(rng):
    values = rng.normal(size=(900, 3))
    for at in (200, 700, 800):
        values[at : at + 4] += 9
    return values


@pytest.fixture
def truth():
    truth = np.zeros(300, int)
    truth[100:104] = truth[200:204] = 1
    return truth


@pytest.fixture
def model(table):
    return SmkcDetector(contamination=CONTAMINATION, window=16).fit(table[:600])


def test_it_is_one_of_pyods_detectors(model):
    assert isinstance(model, BaseDetector)
    for name in ("decision_scores_", "labels_", "threshold_", "_mu", "_sigma"):
        assert getattr(model, name) is not None
    assert model.decision_scores_.shape == (600,)
    assert model.labels_.mean() == pytest.approx(CONTAMINATION, abs=0.03)
    assert set(model.labels_) == {0, 1}
    assert model.labels_[200:204].all()


def test_high_scores_are_anomalies(table, truth, model):
    scores = model.decision_function(table[600:])
    assert scores.shape == (300,)
    assert roc_auc_score(truth, scores) > 0.9
    marks = model.predict(table[600:])
    np.testing.assert_array_equal(marks, (scores > model.threshold_).astype(int))
    assert marks[truth == 1].all()


def test_pyods_evaluation_takes_scores_without_ties(table, truth, model, capsys):
    prompt = model.set_params(settings={"align": "prompt"}).fit(table[:600])
    evaluate_print("smkc", truth, prompt.decision_function(table[600:]))
    assert "smkc ROC:" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["linear", "unify"])
def test_probabilities_are_pyods(table, truth, model, method):
    chances, confidence = model.predict_proba(table[600:], method=method, return_confidence=True)
    assert chances.shape == (300, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert chances[truth == 1, 1].min() > np.median(chances[truth == 0, 1])
    assert ((confidence >= 0) & (confidence <= 1)).all()


def test_the_rest_of_pyods_surface_works(table, truth, model):
    with pytest.raises(ValueError, match="not a valid probability"):
        model.predict_proba(table[600:], method="something")
    ranks = model._predict_rank(table[600:], normalized=True)
    assert 0 <= ranks.min() <= ranks.max() <= 1
    marks, rates = model.predict_with_rejection(table[600:], c_r=0.1, return_stats=True)
    assert set(marks) <= {-2, 0, 1}
    assert len(rates) == 3
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "decision_scores_")
    assert model.set_params(contamination=0.2).fit(table).labels_.mean() == pytest.approx(0.2, 0.1)


def test_columns_may_change_after_fitting(table, truth, model):
    names = ["x0", "x1", "x2"]
    frame = pd.DataFrame(table[600:], columns=names)
    np.testing.assert_array_equal(
        model.decision_function(frame), model.decision_function(table[600:])
    )
    for changed in (
        frame.assign(new=frame["x0"]),
        frame.drop(columns="x2"),
        frame.iloc[np.arange(len(frame)) % 7 != 3].reindex(frame.index),
    ):
        assert roc_auc_score(truth, model.decision_function(changed)) > 0.9
        assert model.predict(changed)[truth == 1].mean() > 0.9


def test_pyods_own_messages_come_through(table):
    with pytest.raises(ValueError, match="contamination must be in"):
        SmkcDetector(contamination=0.7)
    with pytest.raises(ValueError, match="not fitted"):
        SmkcDetector().decision_function(table)
