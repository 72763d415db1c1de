"""What importing costs: heavy libraries are loaded when needed and not before."""

import subprocess
import sys

import pytest

HEAVY = {"jinja2", "matplotlib", "numba", "pandas", "polars", "pyarrow", "sklearn", "torch"}


def loaded_by(statements: str) -> set[str]:
    code = f"import sys\n{statements}\nprint(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return HEAVY & {name.split(".")[0] for name in done.stdout.split()}


def test_importing_smkc_loads_nothing_heavy():
    assert loaded_by("import smkc; dir(smkc)") == set()


@pytest.mark.parametrize("name", ["Detector", "load", "read", "Recording", "Alert"])
def test_what_is_used_loads_no_more_than_it_needs(name):
    assert loaded_by(f"import smkc; smkc.{name}") <= {"numba", "pyarrow"}


def test_fitting_and_scoring_loads_no_more():
    work = """
import numpy as np, smkc
data = {"time": np.arange(300), "cpu": np.random.default_rng(0).normal(size=300)}
det = smkc.Detector(false_alarm_rate=0.1).fit(data)
det.alerts(data)
det.score_windows(data).to_arrow()
"""
    assert loaded_by(work) <= {"numba", "pyarrow", "pandas"}  # pyarrow looks for pandas itself
