import json
from dataclasses import replace
from pathlib import Path

import pytest

from smkc.errors import SettingError
from smkc.paper.density.reference import APPROXIMATE_FROM
from smkc.scale import Costs, Workload, estimate, measured_costs
from smkc.scale.costs import evidence_terms, knn_terms

KEPT = Path(__file__).parents[3] / "results" / "speed" / "costs.json"

# How far a prediction may be from a point or a run that the fit has not seen.
TOLERANCE = 0.25


@pytest.fixture
def costs():
    """Round numbers: a row costs 1 ms, and 10 us for each of its variables."""
    zeros = dict.fromkeys(evidence_terms(variables=1, learned=1), 0.0)
    none = dict.fromkeys(
        knn_terms(variables=1, window=1, buckets=1, references=1, components=1), 0.0
    )
    return Costs(
        {
            "engines": {
                "evidence": {
                    "row": zeros | {"row": 1e-3, "variables": 1e-5},
                    "live": zeros | {"row": 1e-3, "variables": 1e-5},
                    "fit": zeros | {"learned": 2e-3},
                    "held": zeros | {"row": 1e6},
                },
                "knn": {
                    "row": none | {"row": 1e-3, "references": 1e-6},
                    "live": none | {"row": 2e-3},
                    "held": none | {"references": 2000.0},
                },
            },
            "approximate": {"row": 5e-3, "references": 1e-9},
        }
    )


WORKLOAD = Workload(
    series=400, step_seconds=10, duration_seconds=36_000, variables=40, reference_rows=1000
)


def test_the_arithmetic(costs):
    found = estimate(WORKLOAD, costs)
    assert found.seconds_per_row == pytest.approx(1.4e-3)
    assert found.seconds_per_observation == pytest.approx(3.5e-5)
    assert found.seconds_per_series == pytest.approx(3600 * 3.5e-5)
    assert found.score_core_hours == pytest.approx(10 * 3600 * 1.4e-3 / 3600)
    assert found.fit_core_hours == pytest.approx(10 * 1000 * 2e-3 / 3600)
    assert found.live_cores == pytest.approx(10 * 1.4e-3 / 10)
    assert found.live_bytes == pytest.approx(10e6)
    assert found.live_machines == found.batch_machines == 1


def test_machines_by_cores_and_by_memory(costs):
    many = replace(WORKLOAD, series=400_400_000)
    assert estimate(many, costs).live_machines == 224  # 10.01 TB, 44.8 GB a machine
    assert estimate(replace(many, memory_gb=10**6), costs).live_machines == 126  # 1,401 cores, 11.2
    # 7.05e7 core-seconds in an hour of 11.2 cores a machine
    assert estimate(many, costs).batch_machines == 1748


def test_no_more_rows_are_learned_from_than_there_are(costs):
    short = replace(WORKLOAD, duration_seconds=100, reference_rows=1000)
    assert estimate(short, costs).fit_core_hours == pytest.approx(10 * 10 * 2e-3 / 3600)


def test_large_reference_sets_are_searched_by_an_index(costs):
    few = replace(WORKLOAD, detector="knn", references=APPROXIMATE_FROM - 1)
    many = replace(few, references=APPROXIMATE_FROM)
    assert estimate(few, costs).seconds_per_row == pytest.approx(1e-3 + 0.1, rel=1e-3)
    assert estimate(many, costs).seconds_per_row == pytest.approx(6.1e-3)
    assert estimate(many, costs).model_bytes < estimate(few, costs).model_bytes


def test_what_is_packaged_is_what_was_kept():
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    gpu = json.loads(KEPT.with_name("gpu_costs.json").read_text(encoding="utf-8"))
    assert {**kept, "gpu": gpu} == measured_costs().content


@pytest.mark.parametrize("engine", ["evidence", "knn"])
def test_predictions_are_near_points_that_the_fit_has_not_seen(engine):
    for point in measured_costs().content["engines"][engine]["checked"]:
        assert point["row"]["predicted"] == pytest.approx(point["row"]["measured"], rel=TOLERANCE)


def test_a_gpus_prediction_is_near_a_point_that_the_fit_has_not_seen():
    told = measured_costs().content["gpu"]["checked"]["row"]
    assert told["predicted"] == pytest.approx(told["measured"], rel=TOLERANCE)


def test_a_gpu_is_told_where_it_would_help():
    day = Workload(series=1000, step_seconds=15, duration_seconds=86_400)
    found = estimate(replace(day, detector="knn", references=100_000))
    assert found.score_gpu_hours < 0.1 * found.score_core_hours
    assert estimate(day).score_gpu_hours is None


def test_plans_are_near_whole_runs():
    plans = measured_costs().content["plans"]
    assert len(plans) == 2
    for plan in plans:
        found = estimate(Workload(**plan["workload"]))
        measured = plan["score_core_hours"]["measured"]
        assert found.score_core_hours == pytest.approx(measured, rel=TOLERANCE)


def test_more_of_anything_costs_more():
    base = Workload(series=100_000, step_seconds=15, duration_seconds=30 * 86_400, detector="knn")
    for change in (
        {"series": 200_000},
        {"window": 128},
        {"references": 8192},
        {"duration_seconds": 6e6},
    ):
        more = estimate(replace(base, **change))
        assert more.score_core_hours > estimate(base).score_core_hours


def test_counts_of_a_workload():
    month = Workload(series=1_000_000, step_seconds=15, duration_seconds=30 * 86_400)
    assert (month.n_recordings, month.n_rows) == (25_000, 172_800)
    assert month.n_observations == 172_800_000_000
    assert replace(WORKLOAD, series=41).n_recordings == 2, "the last one has fewer variables"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"series": 0}, "series=0 is out of range; give a number from 1 to 1e15"),
        ({"series": 10**16}, "series=10000000000000000 is out of range"),
        ({"step_seconds": 0}, "step_seconds=0 is out of range; give a number above 0"),
        ({"memory_gb": float("nan")}, "memory_gb=nan is out of range"),
        ({"detector": "recon"}, "detector='recon' were not measured; choose evidence or knn"),
    ],
)
def test_what_is_out_of_range_is_named(change, message):
    with pytest.raises(SettingError, match=message):
        replace(WORKLOAD, **change)
