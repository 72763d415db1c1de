"""Where time goes, and how far channels vary."""

import json

import numpy as np

from benchmarks.paper.budget import find_budget
from benchmarks.paper.concentration import concentration, contrast
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.methods import METHODS, SCALING_METHODS
from benchmarks.paper.plan import Plan
from benchmarks.paper.stages import STAGES, stages, time_stages
from benchmarks.world import World, generate
from smkc.paper.sketch import Sketch


def planned(folder):
    settings = RunSettings(budget=find_budget("smoke"), folder=folder)
    return Plan(settings=settings, methods=list(METHODS.values()), seeds=1)


def test_stages_are_measured_once_and_told(tmp_path):
    plan = planned(tmp_path)
    assert stages(plan).notes == ("Not measured yet.",)
    time_stages(plan.settings)
    path = plan.settings.scores_folder / "stages-cpu.json"
    content = json.loads(path.read_text())
    assert set(content["stages"]) == {method.name for method in SCALING_METHODS.values()} | {
        f"m = {buckets}" for buckets in (32, 64, 128, 256, 512)
    }
    for row in stages(plan).rows:
        *each, _, both = [cell.value for cell in row.cells]
        assert all(content["stages"][row.name][stage] > 0 for stage in STAGES)
        assert both > each[1]
    content["stages"]["m = 32"]["search"] = 9.0
    path.write_text(json.dumps(content))
    time_stages(plan.settings)
    assert json.loads(path.read_text()) == content, "what was measured stays"


def test_contrast_is_the_spread_over_pairs():
    windows = generate(World(), pool="train", n_windows=3, cardinality=2, length=8, seed=1)
    means, spreads = contrast(windows, 16)
    states = Sketch(buckets=16).states(windows.recording()).reshape(3, 8, 32).astype(float)
    expected_mean, expected_spread = [], []
    for window in states:
        unit = window / np.linalg.norm(window, axis=1, keepdims=True)
        cosines = [0.5 + 0.5 * unit[i] @ unit[j] for i in range(8) for j in range(i)]
        expected_mean.append(np.mean(cosines))
        expected_spread.append(np.std(cosines))
    np.testing.assert_allclose(means[0], np.mean(expected_mean), atol=1e-5)
    np.testing.assert_allclose(spreads[0], np.mean(expected_spread), atol=1e-5)


def test_concentration_has_a_row_for_every_width(tmp_path):
    table = concentration(planned(tmp_path))
    assert [row.name for row in table.rows] == ["m = 32", "m = 64", "m = 128", "m = 256", "m = 512"]
    assert all(np.isfinite(cell.value) for row in table.rows for cell in row.cells)
