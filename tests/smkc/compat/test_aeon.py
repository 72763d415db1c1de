import numpy as np
import pandas as pd
import pytest

pytest.importorskip("aeon", reason="aeon is not installed; run: pip install aeon")

from aeon.testing.estimator_checking import check_estimator

import smkc
from smkc.compat import as_recording, reference_scores
from smkc.compat.aeon import SmkcSeriesDetector


@pytest.fixture
def table(rng):
    values = rng.normal(size=(700, 3))
    values[650:655] += 9
    return pd.DataFrame(values, columns=["cpu", "mem", "net"])


@pytest.fixture
def model(table):
    return SmkcSeriesDetector(window=16).fit(table[:500], axis=0)


@pytest.mark.filterwarnings("ignore:.* rows are too few:smkc.errors.CalibrationWarning")
def test_aeons_checks_pass():
    results = check_estimator(SmkcSeriesDetector)
    assert len(results) > 20
    assert {name: said for name, said in results.items() if said != "PASSED"} == {}


def test_scores_are_the_detectors(table, model):
    det = smkc.Detector(window=16).fit(as_recording(table[:500]))
    np.testing.assert_array_equal(
        model.predict(table[500:], axis=0), det.decision_function(as_recording(table[500:]))
    )
    whole = SmkcSeriesDetector(window=16)
    recording = as_recording(table)
    expected = reference_scores(smkc.Detector(window=16).fit(recording), recording)
    np.testing.assert_array_equal(whole.fit_predict(table, axis=0), expected)


def test_time_runs_along_either_axis(table):
    values = table.to_numpy()
    model = SmkcSeriesDetector(window=16)
    np.testing.assert_array_equal(
        model.fit(values[:500], axis=0).predict(values[500:], axis=0),
        model.fit(values[:500].T).predict(values[500:].T),
    )
    assert model.fit(values[:500, 0]).predict(values[500:, 0]).shape == (200,)


def test_channels_may_change_after_fitting(table, model):
    live = table[500:]
    for changed in (
        live.assign(new=live["cpu"] * 2),
        live.drop(columns="net"),
        live.rename(columns={"net": "network"}),
        live.iloc[np.arange(len(live)) % 7 != 3].reindex(live.index),
    ):
        assert 150 - 16 < model.predict(changed, axis=0).argmax() < 155 + 16
