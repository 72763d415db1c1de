"""The end-to-end table: measured once, ratios and the paper's figures beside."""

import json

import pytest

from benchmarks.baselines import encoder_timing
from benchmarks.paper.budget import find_budget
from benchmarks.paper.end_to_end import end_to_end, time_end_to_end
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.plan import Plan


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setattr(encoder_timing, "REPEATS", 1)
    settings = RunSettings(budget=find_budget("smoke"), folder=tmp_path)
    return Plan(settings=settings, methods=[], seeds=1)


@pytest.mark.slow
def test_both_backbones_at_both_lengths(plan):
    before = end_to_end(plan)
    assert not before.rows
    assert "cpu: not measured yet." in before.notes
    time_end_to_end(plan.settings)
    table = end_to_end(plan)
    assert [row.name for row in table.rows] == ["self-attention", "linear attention"]
    assert all(cell.value > 0 for row in table.rows for cell in row.cells)
    assert all(cell.paper is None for row in table.rows for cell in row.cells), "its GPU is none"
    (path,) = plan.settings.folder.rglob("end-to-end-cpu.json")
    content = json.loads(path.read_text())
    timing = content["timings"]["self-attention, 32"]
    ratio = table.rows[0].cells[table.place("plain / ours, inference, L = 32")].value
    assert ratio == pytest.approx(timing["plain_inference"] / timing["inference"])
    path.write_text(json.dumps({**content, "marked": True}))
    time_end_to_end(plan.settings)
    assert "marked" in json.loads(path.read_text()), "what was measured is kept"
    path.rename(path.with_name("end-to-end-cuda.json"))
    on_gpu = end_to_end(plan)
    assert on_gpu.rows[1].cells[1].paper == 1.203
