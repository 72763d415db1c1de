"""A detector's settings: by name, changed after fitting, cloned, refused."""

import pytest
from sklearn.base import clone
from tests import worlds

import smkc
from smkc.errors import SettingError
from smkc.loading import KINDS, make_detector
from smkc.paper import KnnDetector
from smkc.recording import Identity

SMALL = {"window": 16, "neighbours": 5, "components": 32, "false_alarm_rate": 0.05}


@pytest.fixture(scope="module")
def reference():
    return worlds.recording_of(worlds.spiked()[:400])


@pytest.fixture(scope="module")
def live():
    return worlds.recording_of(worlds.spiked()[400:], first_time=400)


@pytest.fixture(scope="module")
def det(reference):
    return KnnDetector(**SMALL).fit(reference)


def test_scikit_learn_can_clone(det):
    identity = Identity(drop=("pod",))
    original = KnnDetector(**SMALL, identity=identity)
    copy = clone(original)
    assert copy is not original
    assert copy.get_params() == original.get_params()
    assert not clone(det).is_fitted


def test_settings_by_name():
    det = KnnDetector(**SMALL)
    assert det.set_params(window=32, seed=3) is det
    assert det.get_params()["window"] == det.window == 32
    assert det.get_params(deep=False) == det.get_params()
    with pytest.raises(SettingError, match=r"no setting 'windows'.*window"):
        det.set_params(windows=3)


@pytest.mark.parametrize(
    "change",
    [
        {"window": 32},
        {"stride": 2},
        {"representation": "seq"},
        {"buckets": 64},
        {"neighbours": 6},
        {"align": "prompt"},
        {"seed": 9},
        {"scaling": None},
        {"reference_size": 10},
    ],
)
def test_a_changed_setting_is_refused_until_set_back(reference, live, change):
    det = KnnDetector(**SMALL).fit(reference)
    (name,) = change
    before = getattr(det, name)
    det.set_params(**change)
    with pytest.raises(SettingError, match=rf"fitted with {name}=.*now {name}=.*fit again"):
        det.decision_function(live)
    with pytest.raises(SettingError, match="fit again"):
        det.partial_fit(reference)
    det.set_params(**{name: before}).decision_function(live)


def test_the_false_alarm_rate_may_change_after_fitting(reference, live):
    det = KnnDetector(**SMALL).fit(reference)
    few = det.predict(live).sum()
    assert det.set_params(false_alarm_rate=0.3).predict(live).sum() > few


def test_scikit_learns_limits_are_never_set(det):
    assert not hasattr(det, "n_features_in_")
    assert not hasattr(det, "feature_names_in_")


def test_constructors_only_store():
    assert KnnDetector(window="a", seed=None).window == "a"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"window": 1}, "window=1: give a whole number from 2"),
        ({"window": 16.0}, "window=16.0: give a whole number"),
        ({"window": True}, "window=True"),
        ({"stride": 0}, "stride=0: give a whole number from 1"),
        ({"neighbours": 0}, "neighbours=0"),
        ({"reference_size": 3}, "reference_size=3: give a whole number from 5"),
        ({"seed": -1}, "seed=-1: give a whole number from 0"),
        ({"seed": None}, "seed=None"),
        ({"components": 0}, "components=0: give a number from 1"),
        ({"buckets": 0}, "buckets=0: give a whole number from 1"),
        ({"scaling": "minmax"}, "scaling='minmax'.*'robust' or None"),
        ({"counters": "always"}, "counters='always'"),
        ({"align": "late"}, "align='late'.*'sharp' or 'prompt'"),
        ({"false_alarm_rate": 0.0}, "false_alarm_rate=0.0: give a rate between 0 and 1"),
        ({"false_alarm_rate": 1.0}, "false_alarm_rate=1.0"),
        ({"least_filled": 1.5}, "least_filled=1.5: give a share"),
        ({"presence": "yes"}, "presence='yes': give True or False"),
        ({"representation": "log4"}, "'log4' is not known; use"),
        ({"representation": 8}, "representation=8: give text"),
        ({"representation": "log3 band(16)"}, "longer window or a smaller band"),
        ({"representation": "full down(5) image"}, "multiple of 5"),
        ({"window": 20_000, "representation": "full image"}, "shorter window, or a band"),
    ],
)
def test_settings_that_cannot_work(reference, settings, told):
    with pytest.raises(SettingError, match=told):
        KnnDetector(**{**SMALL, **settings}).fit(reference)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"neighbours": 5},
            r"'neighbours'.*smkc\.paper\.KnnDetector \(--detector knn\)",
        ),
        ({"epochs": 5}, r"no setting 'epochs'.*smkc\.paper\.EnsembleDetector"),
        ({"windw": 5}, "no setting 'windw'; use window$"),
        ({"random_state": 5}, "no setting 'random_state'; its settings are window, counters"),
    ],
)
def test_settings_that_the_default_does_not_have(settings, told):
    with pytest.raises(SettingError, match=told):
        smkc.Detector(**settings)
    with pytest.raises(SettingError, match=told):
        smkc.Detector().set_params(**settings)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_a_class_with_settings_of_its_own(kind):
    made = make_detector({"detector": kind})
    assert made.kind == kind
    assert type(made)().get_params() == made.get_params()
    assert set(made.setting_names()) >= {"window", "align", "false_alarm_rate", "identity"}
    with pytest.raises(SettingError, match=rf"{type(made).__name__} has no setting 'xyz'"):
        make_detector({"detector": kind, "xyz": 1})


def test_an_unknown_kind_is_named():
    with pytest.raises(SettingError, match="detector='forest' is not known; use 'evidence' or"):
        make_detector({"detector": "forest"})
