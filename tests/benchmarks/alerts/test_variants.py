"""Variants of the default detector: changes are read, used for one run only, and named."""

from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.alerts.methods import METHODS, method_of, variant
from benchmarks.alerts.variants import ABLATIONS, changed_settings, read_changes, variant_keys
from benchmarks.real.series import Series
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


@pytest.mark.parametrize("text", ABLATIONS.values())
def test_every_ablation_changes_a_setting(text):
    before = asdict(SETTINGS)
    with changed_settings(read_changes(text)):
        assert asdict(SETTINGS) != before
    assert asdict(SETTINGS) == before


def test_settings_are_restored_after_a_failure():
    before = asdict(SETTINGS)
    with pytest.raises(RuntimeError), changed_settings({"calm_rows": 7}):
        raise RuntimeError
    assert asdict(SETTINGS) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [("calm_row=3", "'calm_row' is not known; there are min_obs"), ("calm_rows=x", "gives no int")],
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
