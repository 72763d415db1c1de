"""Variants of the default detector: changes are read, used for one run only, and named."""

from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.alerts.methods import METHODS, method_of, variant
from benchmarks.alerts.variants import ABLATIONS, changed_settings, variant_keys
from benchmarks.real.series import Series
from smkc.detector import Detector
from smkc.errors import SettingError
from smkc.evidence.settings import SETTINGS
from smkc.recording import Recording


@pytest.fixture
def series(rng):
    """Two short faults, 86 rows apart."""
    values = rng.normal(size=(900, 3))
    values[700:704] += 40.0
    values[790:794] += 40.0
    rows = [dict(zip("abc", row, strict=True)) for row in values.tolist()]
    labels = np.zeros(300, bool)
    labels[100:194] = True
    return Series(
        dataset="made",
        name="one",
        reference=Recording.from_rows(range(600), rows[:600]),
        test=Recording.from_rows(range(600, 900), rows[600:]),
        labels=labels,
        events=(),
    )


def parts():
    """Return the settings, and the functions that ablations replace."""
    replaced = [what for what in ABLATIONS.values() if not isinstance(what, str)]
    return asdict(SETTINGS), [getattr(owner, name) for owner, name, _ in replaced]


@pytest.mark.parametrize("key", variant_keys("ablation"))
def test_every_ablation_changes_the_detector_for_a_while(key, series):
    before = parts()
    with changed_settings(key):
        assert parts() != before
        scores = Detector().fit(series.reference).score(series.test).scores
        assert np.isfinite(scores).all()
    assert parts() == before


def test_a_detector_without_seasons_has_none():
    hours = np.arange(24 * 20)
    times = np.datetime64("2024-01-01", "ns") + hours * np.timedelta64(1, "h")
    daily = {"time": times, "load": np.sin(2 * np.pi * hours / 24)}
    assert Detector().fit(daily).fitted_.seasons == {"load": 86_400.0}
    with changed_settings("without seasons"):
        assert Detector().fit(daily).fitted_.seasons == {}


def test_settings_are_restored_after_a_failure():
    before = asdict(SETTINGS)
    with pytest.raises(RuntimeError), changed_settings("calm_rows=7"):
        raise RuntimeError
    assert asdict(SETTINGS) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("calm_row=3", "'calm_row' is not known; there are majority"),
        ("calm_rows=x", "gives no int"),
        ("without sense", "no such part; there are budget"),
    ],
)
def test_what_makes_no_sense_is_told(text, told):
    with pytest.raises(SettingError, match=told):
        variant_keys(text)


def test_a_variant_is_another_row_with_other_alerts(series):
    default, other = METHODS["default"], variant("calm_rows=100")
    assert other == method_of(other.key)
    assert other.settings() != default.settings()
    assert len(default.judge(series)[1]) == 2
    assert len(other.judge(series)[1]) == 1
    assert len(default.judge(series)[1]) == 2
