"""Tables and pictures from runs on made-up recordings, and what they say of what is missing."""

import json
from dataclasses import replace

import pytest
from tests.benchmarks.real.test_jobs import use
from tests.benchmarks.real.test_plan import plan_of

from benchmarks.real import datasets, pictures
from benchmarks.real.first_figures import first_figure, first_mean
from benchmarks.real.main_table import in_order
from benchmarks.real.measures import METRICS
from benchmarks.real.methods import METHODS
from benchmarks.real.plan import Figures
from benchmarks.real.tables import TABLES, headlines, run_tables
from benchmarks.running import Failed
from smkc.errors import InputError, SettingError

KEYS = "random,plain-z,windowed-knn,smkc-knn"

pytestmark = pytest.mark.filterwarnings("ignore::smkc.errors.CalibrationWarning")


@pytest.fixture
def plan(registry, tmp_path):
    return plan_of(tmp_path, KEYS, seeds=2)


def test_every_table_is_made_with_its_provenance(plan):
    outcome = run_tables(plan, "python -m benchmarks real")
    assert outcome.n_left == 0
    assert [table.name for table in outcome.tables] == list(TABLES)
    folder = plan.settings.folder
    for name in TABLES:
        content = json.loads((folder / f"{name}.json").read_text())
        assert {"command", "machine", "commit", "versions"} <= content["provenance"].keys()
        assert (folder / f"{name}.md").exists()
    for picture in ("main", "churn", "drift"):
        assert (folder / f"{picture}.png").stat().st_size > 5_000
    assert not list(folder.glob(".table-*"))
    by_name = {table.name: table for table in outcome.tables}

    main = by_name["main"]
    assert main.columns == ("smd", "lro", "smd, full churn", "mean of 3")
    assert main.groups == tuple(METRICS.values())
    names = [method.name for method in in_order(Figures(plan))]
    assert names[-1] == "random"
    for group in main.groups:
        assert [row.name for row in main.rows_of(group)] == names
    for row in main.rows_of("VUS-PR, tsb_ad"):
        values = [cell.value for cell in row.cells]
        assert values[-1] == pytest.approx(sum(values[:3]) / 3)
        assert (row.cells[0].paper is None) == (row.name == "smkc kNN")

    for row in by_name["churn"].rows:
        none, _, full, kept = (cell.value for cell in row.cells)
        assert kept == pytest.approx(full / none)
    for row in by_name["drift"].rows:
        assert all(0 < cell.value <= 1 for cell in row.cells)
    causes = {row.name: row.cells for row in by_name["causes"].rows_of("smd, churn none")}
    assert causes["plain z, mean"][0].value == 1.0
    assert causes["chance"][0].value == pytest.approx(0.25)
    compared = {row.name: row.cells for row in by_name["comparison"].rows}
    assert compared["random"][2].value < 0
    total = by_name["cost"].rows[-1]
    assert total.cells[0].value == len(plan.jobs())
    assert len(headlines(outcome.tables)[0].groups) == 1


def test_nothing_runs_twice_and_tables_come_again_from_metrics_alone(plan):
    first = run_tables(plan, "python -m benchmarks real").tables
    for path in plan.settings.folder.rglob("*.parquet"):
        path.unlink()
        path.with_suffix(".json").unlink()
    again = run_tables(plan, "again")
    assert not list(plan.settings.folder.rglob("*.parquet")), "what is recorded is not run again"
    for before, after in zip(first, again.tables, strict=True):
        assert [row.name for row in before.rows] == [row.name for row in after.rows]
        for one, other in zip(before.rows, after.rows, strict=True):
            values = [cell.value for cell in one.cells]
            assert [cell.value for cell in other.cells] == pytest.approx(
                values, abs=1e-4, nan_ok=True
            )


def test_a_dataset_beside_is_shown_after_the_mean_and_changes_no_mean(registry, tmp_path):
    found = datasets._registry()
    found["lro"] = replace(found["lro"], is_beside=True, ships=True)
    narrow = {"churn": ["none"], "modes": [False], "seeds": 1}
    both = plan_of(tmp_path, KEYS, **narrow)
    tables = {table.name: table for table in run_tables(both, "python -m benchmarks real").tables}
    assert tables["main"].columns == ("smd", "mean of 1", "lro")
    assert any(
        note == "Beside the mean, which leaves it out: lro." for note in tables["main"].notes
    )
    for row in tables["main"].rows_of("VUS-PR, tsb_ad"):
        smd, mean, lro = (cell.value for cell in row.cells)
        assert smd == mean
        assert 0 < lro <= 1
    assert tables["drift-columns"].columns == ("smd", "mean of 1", "lro")
    without = plan_of(tmp_path, KEYS, datasets=["smd"], **narrow)
    fewer = {table.name: table for table in run_tables(without, "python -m benchmarks real").tables}
    for name in ("comparison", "drift"):
        for one, other in zip(fewer[name].rows, tables[name].rows, strict=True):
            assert one.name == other.name
            values = [cell.value for cell in one.cells]
            assert [cell.value for cell in other.cells] == pytest.approx(
                values, abs=1e-4, nan_ok=True
            )


def test_what_has_not_run_is_said_and_leaves_no_cell(plan):
    narrow = replace(plan, churn=["none"], drift=[False], modes=[False])
    run_tables(narrow, "python -m benchmarks real")
    stopped = replace(plan, settings=replace(plan.settings, stop_after=0.0))
    outcome = run_tables(stopped, "python -m benchmarks real")
    main = outcome.tables[0]
    assert outcome.n_left == len(plan.jobs()) - len(narrow.jobs())
    assert any(note.startswith("Not run yet: random (") for note in main.notes)
    for row in main.rows_of("VUS-PR, tsb_ad"):
        shown = [cell.value == cell.value for cell in row.cells]
        assert shown == [True, True, False, False]


def test_tables_of_the_others_are_made_when_some_fail(plan, monkeypatch):
    class Failing:
        look_ahead = 0

        def fit(self, reference):
            raise RuntimeError("out of luck")

    use(monkeypatch, "plain-z", lambda seed: Failing())
    with pytest.raises(Failed, match="out of luck"):
        run_tables(plan, "python -m benchmarks real")
    content = json.loads((plan.settings.folder / "main.json").read_text())
    assert {row["name"] for row in content["rows"]} == {"random", "windowed kNN", "smkc kNN"}


def test_conditions_that_a_method_is_not_run_under_leave_no_table(registry, tmp_path, monkeypatch):
    use(monkeypatch, "stumpy", METHODS["plain-z"].make)
    outcome = run_tables(plan_of(tmp_path, "stumpy", modes=[False]), "python -m benchmarks real")
    named = {table.name: table for table in outcome.tables}
    assert "drift-columns" in named, "of what has run: as recorded"
    assert [row.group for row in named["drift-columns"].rows] == ["static"]
    alone = plan_of(tmp_path, "stumpy", datasets=["lro"], modes=[False])
    outcome = run_tables(alone, "python -m benchmarks real")
    assert "churn" not in {table.name for table in outcome.tables}


def test_a_plan_of_nothing_is_said(registry, tmp_path):
    with pytest.raises(SettingError, match="--budget thorough"):
        run_tables(plan_of(tmp_path, "stumpy", modes=[True]), "python -m benchmarks real")


def test_first_figures_have_their_means():
    columns = ["smd", "asd", "skab", "nezha", "lro", "petshop", "nasa", "cloudmon"]
    columns += [f"{name}, full churn" for name in columns[:3]]
    means = {"plain-z": 0.50, "pca": 0.50, "isolation-forest": 0.47, "windowed-knn": 0.52}
    for key, mean in (means | {"randproj-knn": 0.40}).items():
        assert first_mean(key, columns) == pytest.approx(mean, abs=0.006), "rounded to two digits"
    assert first_figure("random", "smd, full churn") is None
    assert first_mean("random", columns) is None


def test_pictures_of_nothing_are_refused():
    with pytest.raises(InputError, match="shape"):
        pictures.heat_map(["a"], ["b", "c"], [[0.1]], "title")
    for draw in (pictures.churn_figure, pictures.drift_figure):
        with pytest.raises(InputError, match="nothing to draw"):
            draw({}, "VUS-PR")
