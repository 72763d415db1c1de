import numpy as np
import pytest
from tests import promise
from tests.smkc.scale.conftest import SMALL, churning, long_table, write

import smkc
from smkc.errors import SettingError, WindowError
from smkc.paper import KnnDetector
from smkc.scale import fit_file, fitting


@pytest.fixture
def stretched(monkeypatch):
    """Stretches of some hundred rows, so that a small file has several."""
    monkeypatch.setattr(fitting, "STRETCH_OBSERVATIONS", 500)
    monkeypatch.setattr(fitting, "STRETCH_WINDOWS", 8)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "reference.parquet"
    return write(path, long_table(churning(7, 3000)), 400)


def arrays_of(detector):
    return detector.fitted_.to_arrays()[0]


def test_fit_of_one_stretch_equals_fit_in_memory(reference):
    """With all data in one stretch and room for all windows nothing is left to chance."""
    settings = {**SMALL, "reference_size": 4096}
    whole = KnnDetector(**settings).fit(smkc.read(reference))
    apart = fit_file(reference, KnnDetector(**settings))
    for name, expected in arrays_of(whole).items():
        promise.assert_features_agree(arrays_of(apart)[name], expected)
    live = churning(8)
    promise.assert_scores_agree(whole.decision_function(live), apart.decision_function(live))


@pytest.mark.usefixtures("stretched")
def test_stretches_are_joined_into_one_uniform_sample(reference):
    settings = {**SMALL, "reference_size": 300}
    detector = fit_file(reference, KnnDetector(**settings))
    density = detector.fitted_.density
    assert len(density.references) == 300
    n_stretches = len(list(fitting._stretches(smkc.scale.Source.open(reference), 16)))
    assert n_stretches > 5
    assert density.references.seen == 3000 - 15 * n_stretches
    whole = KnnDetector(**settings).fit(smkc.read(reference))
    live = churning(8)
    one, other = detector.decision_function(live), whole.decision_function(live)
    assert np.corrcoef(one, other)[0, 1] > 0.8
    assert 0.5 < detector.threshold_ / whole.threshold_ < 2
    again = fit_file(reference, KnnDetector(**settings))
    for name, expected in arrays_of(detector).items():
        np.testing.assert_array_equal(arrays_of(again)[name], expected, err_msg=name)


@pytest.mark.usefixtures("stretched")
def test_a_sample_is_spread_over_the_file(reference):
    detector = fit_file(reference, KnnDetector(**SMALL), sample=3000)
    assert 300 < detector.fitted_.density.references.seen < 1500


def test_fit_file_rejects_unsuitable_detectors_and_short_files(reference, tmp_path):
    with pytest.raises(SettingError, match="parts cannot be learned apart and joined"):
        fit_file(reference, smkc.Detector())
    short = write(tmp_path / "short.parquet", long_table(churning(7, 1200).rows(0, 9)))
    with pytest.raises(WindowError, match="fewer rows than the window's 16"):
        fit_file(short, KnnDetector(**SMALL))
    few = write(tmp_path / "few.parquet", long_table(churning(7, 1200).rows(0, 18)))
    with pytest.raises(WindowError, match="3 windows of 16 rows for 5 neighbours"):
        fit_file(few, KnnDetector(**SMALL))
