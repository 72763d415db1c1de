"""``smkc plan``: a sentence in, a plan out."""

import json

from typer.testing import CliRunner

from smkc.cli.app import app
from smkc.plan import Workload, estimate


def run(*words):
    return CliRunner().invoke(app, ["plan", *words])


def test_a_plan_is_printed():
    done = run("1e6 series, 15 s, 30 days")
    assert done.exit_code == 0, done.output
    found = estimate(Workload.parse("1e6 series, 15 s, 30 days"))
    assert "1,000,000 in 25,000 recordings" in done.output
    assert "172,800,000,000 observations" in done.output
    assert f"{found.score_core_hours:,.3g} core-hours" in done.output
    assert "machine" in done.output


def test_the_same_as_json():
    done = run("100 series, 1 min, 1 day, knn", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["workload"]["engine"] == "knn"
    assert told["score_core_hours"] > 0


def test_what_is_not_understood_ends_with_a_message():
    done = run("a lot")
    assert done.exit_code == 2
    assert "'a lot' is not understood" in done.output
