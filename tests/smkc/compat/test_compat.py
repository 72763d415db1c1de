import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import smkc
from smkc.compat import as_recording, reference_scores, scores
from smkc.compat.tsb_ad import run_SMKC
from smkc.errors import InputError, SettingError, UnscoredWarning
from smkc.paper import KnnDetector

HOSTS = ("TSB_AD", "aeon", "pyod", "river", "sklearn")

ADAPTERS = {
    "aeon": ("SmkcSeriesDetector", "aeon"),
    "pyod": ("SmkcDetector", "pyod"),
    "river": ("SmkcAnomalyDetector", "river"),
    "scikit": ("SmkcOutlierDetector", "scikit-learn"),
    "tsb_ad": ("register", "TSB-AD"),
}


def outcome(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.splitlines()


def test_importing_the_room_imports_no_host():
    loaded = outcome("import sys, smkc.compat; print(*sys.modules, sep='\\n')")
    assert "smkc.compat" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(HOSTS)


def test_a_missing_host_is_named_with_its_remedy_when_its_adapter_is_made():
    code = f"""
import sys
from importlib import import_module
sys.modules |= dict.fromkeys({HOSTS!r})
for module, (name, _) in {ADAPTERS!r}.items():
    adapter = getattr(import_module("smkc.compat." + module), name)
    try:
        adapter()
    except ImportError as error:
        print(type(error).__name__, error)
"""
    said = outcome(code)
    assert len(said) == len(ADAPTERS)
    for line, (_, package) in zip(said, ADAPTERS.values(), strict=True):
        assert line.startswith(f"MissingExtraError this needs {package}, which")
        options = "--no-deps " if package == "TSB-AD" else ""
        assert line.endswith(f"install it with: pip install {options}{package}")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"b": [1.0, np.nan], "a": [2, 3]}, index=[7, 5]),
        pd.DataFrame({"b": [1.0, None], "a": [2, 3]}, dtype="Float64"),
        pl.DataFrame({"b": [1.0, None], "a": [2, 3]}),
        [{"a": 2, "b": 1.0}, {"a": 3}],
        ({"a": 2, "b": 1.0}, {"a": 3, "b": None}),
        smkc.Recording.from_rows([0, 1], [{"a": 2, "b": 1.0}, {"a": 3}]),
    ],
    ids=["pandas", "nullable", "polars", "dicts", "nulls", "recording"],
)
def test_tables_of_all_kinds_are_the_same_recording(table):
    assert as_recording(table) == smkc.read({"time": [0, 1], "a": [2, 3], "b": [1.0, np.nan]})


def test_columns_of_arrays_are_numbered():
    assert as_recording(np.zeros((2, 3))).names == ("x0", "x1", "x2")
    assert as_recording([1, 2]) == as_recording([[1], [2]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\); give"),
        ([["a", "b"]], "not a number"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"same variable in \['a', 'a'\]"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        as_recording(table)


def test_steps_without_a_score_have_the_usual_one(rng):
    det = KnnDetector(window=16, neighbours=5).fit(as_recording(rng.normal(size=(300, 2))))
    table = rng.normal(size=(100, 2))
    table[40:80] = np.nan
    with pytest.warns(UnscoredWarning):
        raw = det.decision_function(as_recording(table))
    with pytest.warns(UnscoredWarning):
        filled = scores(det, table)
    is_unscored = np.isnan(raw)
    assert 0 < is_unscored.sum() < 100
    assert set(filled[is_unscored]) == {np.median(det.fitted_.of_steps.null)}
    np.testing.assert_array_equal(filled[~is_unscored], raw[~is_unscored])


def test_reference_rows_are_judged_by_the_half_that_they_are_not_in(rng):
    table = rng.normal(size=(600, 2))
    table[100:110, 0] += 9
    table[500:510, 1] -= 9
    whole = as_recording(table)
    det = smkc.Detector(false_alarm_rate=0.01).fit(whole)
    found = reference_scores(det, whole)
    first = smkc.Detector(false_alarm_rate=0.01).fit(whole.rows(300))
    np.testing.assert_array_equal(found[:300], first.decision_function(whole.rows(0, 300)))
    assert 90 <= found[:300].argmax() < 115
    assert 490 <= 300 + found[300:].argmax() < 515
    short = whole.rows(0, 60)
    np.testing.assert_array_equal(reference_scores(det, short), det.decision_function(short))


def test_an_unknown_setting_is_named():
    with pytest.raises(SettingError, match="no setting 'windows'; use window"):
        run_SMKC([[0.0]], [[0.0]], windows=16)
