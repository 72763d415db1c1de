import importlib

import numpy as np
import pytest

import smkc
from smkc.compat import as_recording
from smkc.compat.tsb_ad import register, run_SMKC, run_SMKC_U

SMALL = {"window": 16}


@pytest.fixture
def data(rng):
    values = rng.normal(size=(800, 2))
    values[700:704] += 9
    return values


def test_learns_from_the_beginning_and_scores_everything(data):
    det = smkc.Detector(**SMALL).fit(as_recording(data[:500]))
    actual = run_SMKC(data[:500], data, **SMALL)
    np.testing.assert_array_equal(actual, det.decision_function(as_recording(data)))
    assert actual.shape == (800,)
    assert actual.dtype == np.float64


def test_scores_data_among_themselves(data):
    actual = run_SMKC_U(data, **SMALL)
    assert 700 - 16 < actual.argmax() < 704 + 16
    one = run_SMKC_U(data[:, :1], **SMALL)
    assert one.shape == (800,)
    assert np.isfinite(one).all()


def test_the_runner_knows_it_once_registered(data):
    pytest.importorskip(
        "TSB_AD", reason="TSB-AD is not installed; run: pip install --no-deps TSB-AD"
    )
    register(**SMALL)
    register(**SMALL)
    wrapper = importlib.import_module("TSB_AD.model_wrapper")
    tables = importlib.import_module("TSB_AD.HP_list")
    metrics = importlib.import_module("TSB_AD.evaluation.metrics")
    assert wrapper.Semisupervise_AD_Pool.count("SMKC") == 1
    assert wrapper.Unsupervise_AD_Pool.count("SMKC_U") == 1
    best = tables.Optimal_Multi_algo_HP_dict
    assert best["SMKC"] == tables.Optimal_Uni_algo_HP_dict["SMKC"] == SMALL
    semi = wrapper.run_Semisupervise_AD("SMKC", data[:500], data, **best["SMKC"])
    alone = wrapper.run_Unsupervise_AD("SMKC_U", data, **best["SMKC_U"])
    np.testing.assert_array_equal(semi, run_SMKC(data[:500], data, **SMALL))
    np.testing.assert_array_equal(alone, run_SMKC_U(data, **SMALL))
    truth = np.zeros(800, int)
    truth[700:704] = 1
    marks = semi > semi.mean() + 3 * semi.std()  # as in its script
    judged = metrics.get_metrics(semi, truth, slidingWindow=16, pred=marks)
    assert marks[700:704].all()
    assert judged["AUC-ROC"] > 0.95
