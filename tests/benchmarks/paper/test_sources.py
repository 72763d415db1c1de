"""Which files make a row: its own and what they import, none that only others need."""

from dataclasses import replace

import pytest

from benchmarks.paper import sources
from benchmarks.paper.methods import ABLATIONS, METHODS, SCALING_METHODS
from benchmarks.paper.sources import code_digest, source_digest, source_files


@pytest.mark.parametrize("method", {row.home: row for row in METHODS.values()}.values())
def test_a_row_reads_its_own_files_and_the_windows(method):
    files = source_files(method.home)
    own = f"benchmarks.baselines.{method.home.split(':')[0]}"
    assert {
        own,
        "benchmarks.world.generate",
        "benchmarks.windows",
        "smkc.paper.sketch",
    } <= files.keys()
    assert not any(name.startswith(("smkc.serve", "smkc.cli", "smkc.detector")) for name in files)


def test_imports_inside_functions_count():
    assert "smkc.paper.kernel.torch_windows" in source_files(METHODS["randproj-knn"].home)
    assert "smkc.paper.learn.training" in source_files(METHODS["gru-ae"].home)


def test_a_changed_file_changes_the_digest_of_the_rows_that_read_it(tmp_path, monkeypatch):
    before = {key: source_digest(METHODS[key].home) for key in ("lof", "largest-jump")}
    lof = sources._file("benchmarks.baselines.lof")
    changed = tmp_path / "lof.py"
    changed.write_text(lof.read_text() + "CHANGED = True  # and a comment\n")
    usual = sources._file
    monkeypatch.setattr(
        sources, "_file", lambda name: changed if name.endswith(".lof") else usual(name)
    )
    fresh = source_digest.__wrapped__
    assert fresh(METHODS["lof"].home) != before["lof"]
    assert fresh(METHODS["largest-jump"].home) == before["largest-jump"]


def test_settings_of_a_row_count():
    rows = (METHODS | SCALING_METHODS | ABLATIONS).values()
    assert len({code_digest(row) for row in rows}) == len(rows)
    full = SCALING_METHODS["randproj-full"]
    assert code_digest(replace(full, representation="log3 image")) != code_digest(full)
