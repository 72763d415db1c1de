"""``smkc plan``: a workload in, its cost out."""

import json
from dataclasses import asdict

import pytest
from tests.smkc.cli.conftest import run, wrong

from smkc.scale import Workload, estimate

MONTH = ("--series", "1000000", "--step", "15s", "--duration", "30d")


def test_a_plan_is_printed():
    done = run("plan", *MONTH)
    assert done.exit_code == 0, done.output
    found = estimate(Workload(series=1_000_000, step_seconds=15, duration_seconds=30 * 86_400))
    assert "1,000,000 in 25,000 recordings" in done.output
    assert "172,800,000,000 observations" in done.output
    assert f"{found.score_core_hours:,.3g} core-hours" in done.output
    assert "machine" in done.output


def test_what_is_not_given_is_as_in_python():
    told = json.loads(run("plan", *MONTH, "--json").output)
    month = Workload(series=1_000_000, step_seconds=15, duration_seconds=30 * 86_400)
    assert told["workload"] == asdict(month)


def test_every_part_is_an_option_and_json_has_them_all():
    words = ["--series", "1000", "--step", "1m", "--duration", "14d", "--variables", "10"]
    words += ["--detector", "knn", "--window", "32", "--references", "100000"]
    words += ["--reference-rows", "5000", "--cores", "8", "--memory-gb", "32", "--json"]
    done = run("plan", *words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["workload"] == {
        "series": 1000,
        "step_seconds": 60,
        "duration_seconds": 14 * 86_400,
        "variables": 10,
        "detector": "knn",
        "window": 32,
        "references": 100_000,
        "reference_rows": 5000,
        "cores": 8,
        "memory_gb": 32,
    }
    assert told["score_core_hours"] > told["score_gpu_hours"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--step", "often"], "'often' is no duration; write it like '15s'"),
        (["--duration", "0s"], "duration_seconds=0.0 is out of range"),
        (["--memory-gb", "0"], "memory_gb=0.0 is out of range"),
        (["--series", "0"], "--series"),
        (["--detector", "recon"], "recon"),
    ],
)
def test_what_cannot_be_planned_ends_with_a_message(words, message):
    wrong(run("plan", *MONTH, *words), message)
