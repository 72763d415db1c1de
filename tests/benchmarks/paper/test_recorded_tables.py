"""The recorded tables: every printed entry is what the recorded scores give.

Pages are made from the record by the benchmark's own code and compared text by text. Values and
their sd are taken once more by plain loops that share no code with it.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.paper.budget import find_budget
from benchmarks.paper.jobs import RunSettings
from benchmarks.paper.methods import ABLATIONS, METHODS, SCALING_METHODS, TUNED_ABLATIONS
from benchmarks.paper.plan import Plan
from benchmarks.paper.seeds import COMPARED
from benchmarks.paper.tables import TABLES
from benchmarks.report import markdown, read_table, strict_json
from benchmarks.windows import KINDS

RESULTS = Path(__file__).parents[3] / "results" / "paper"
RECORD = RESULTS / "record"
LARGEST_RECORD = 4_000_000  # bytes

# Their intervals take 10 to 20 seconds each.
LONG = ("average", "cardinality", "rate", "types")

# Figures are equal but for the order of sums.
TOLERANCE = 1e-9


def content(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def page(name: str) -> str:
    return (RESULTS / f"{name}.md").read_text()


def numbers(table: dict) -> dict[tuple, float]:
    """All numbers of a table by row, column and field; NaN where there is none."""
    found = {
        (row["group"], row["name"], cell["column"], field): value
        for row in table["rows"]
        for cell in row["cells"]
        for field, value in cell.items()
        if field != "column"
    }
    found |= {(row["group"], row["name"], "p"): row["p_value_vs_next"] for row in table["rows"]}
    return {key: np.nan if value is None else value for key, value in found.items()}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in TABLES],
)
def test_the_record_gives_every_entry_of_the_page(name, tmp_path):
    budget = find_budget("paper")
    settings = RunSettings(budget=budget, folder=tmp_path, record=RECORD)
    plan = Plan(settings=settings, methods=list(METHODS.values()), seeds=budget.seeds)
    table = TABLES[name].make(plan)
    recorded = content(name)
    if name == "diagnostic":  # its notes have rounding errors of the processor
        table = replace(table, notes=tuple(recorded["notes"]))
    assert markdown(table, recorded["provenance"]) == page(name)
    assert numbers(json.loads(strict_json(table.as_json()))) == pytest.approx(
        numbers(recorded), abs=TOLERANCE, rel=TOLERANCE, nan_ok=True
    )
    assert not list(tmp_path.iterdir()), "and nothing is run"


# Tables of other worlds whose scores were kept; each has one protocol.
PROTOCOLS = {"any-composition": "in_dist_C"}
ELSEWHERE = sorted(
    (table, world)
    for path in RECORD.glob("main-*.parquet")
    if (world := path.stem.removeprefix("main-")) != "seen-variables"
    for table in ("average", "types", "cardinality")
    if (RESULTS / f"variants/{table}-{world}.json").exists()
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "world"), ELSEWHERE)
def test_the_record_gives_every_entry_of_another_world(name, world, tmp_path):
    recorded = content(f"variants/{name}-{world}")
    shown = {row["name"] for row in recorded["rows"]}
    plan = Plan(
        settings=RunSettings(budget=find_budget("paper"), folder=tmp_path, record=RECORD),
        methods=[method for method in METHODS.values() if method.name in shown],
        seeds=3,
        world=world,
        protocols=(PROTOCOLS.get(world, "holdout_C"),),
    )
    table = TABLES[name].make(plan)
    assert markdown(table, recorded["provenance"]) == page(f"variants/{name}-{world}")


@pytest.mark.parametrize(
    "name",
    sorted(
        path.relative_to(RESULTS).with_suffix("").as_posix()
        for path in RESULTS.rglob("*.md")
        if path.name != "README.md"
    ),
)
def test_a_page_says_what_its_data_say(name):
    table = read_table(RESULTS / f"{name}.json")
    assert markdown(table, content(name)["provenance"]) == page(name)


def auprc(is_anomalous, ranks):
    """Mean over anomalous windows of the precision at their rank."""
    at_least = ranks[None, :] >= ranks[is_anomalous][:, None]
    return np.mean(at_least[:, is_anomalous].sum(axis=1) / at_least.sum(axis=1))


def auroc(is_anomalous, ranks):
    """Share of pairs in the right order, ties half."""
    ours, normal = ranks[is_anomalous][:, None], ranks[~is_anomalous][None, :]
    return np.mean((ours > normal) + 0.5 * (ours == normal))


def tpr(is_anomalous, ranks):
    """Most anomalous windows found with one normal window in a hundred."""
    ours, normal = ranks[is_anomalous], ranks[~is_anomalous]
    allowed = [rank for rank in ours if np.mean(normal >= rank) <= 0.01]
    return np.mean(ours >= min(allowed)) if allowed else 0.0


@cache
def columns(name: str) -> dict[str, np.ndarray]:
    table = pq.read_table(RECORD / f"{name}.parquet")
    return {key: table[key].to_numpy(zero_copy_only=False) for key in table.column_names}


def mean_and_sd(file, method, metric, seeds, *, kind=None, **where):
    """Mean over seeds, and the sd over them, of the mean over cardinalities."""
    found = columns(file)
    chosen = np.logical_and.reduce([found[key] == value for key, value in where.items()])
    by_seed = []
    for seed in range(seeds):
        of_seed = chosen & (found["seed"] == seed)
        values = []
        for cardinality in np.unique(found["cardinality"][of_seed]):
            rows = of_seed & (found["cardinality"] == cardinality)
            kinds, ranks = found["kind"][rows], found[method][rows].astype(float)
            assert not np.isnan(ranks).any()
            if kind is not None:
                kept = (kinds == -1) | (kinds == kind)
                kinds, ranks = kinds[kept], ranks[kept]
            if (kinds >= 0).any():
                values.append(metric(kinds >= 0, ranks))
        by_seed.append(np.mean(values))
    return np.mean(by_seed), np.std(by_seed, ddof=1)


def figures(name: str):
    """Yield group, row, column, value and sd of every detection figure of a table."""
    usual = {"rate": np.float32(0.10), "length": 32, "buckets": 128}
    for protocol in ("in_dist_C", "holdout_C"):
        for method in METHODS.values():
            where = {"protocol": protocol, **usual}
            if name == "average":
                wanted = [
                    ("AUPRC", auprc, {}),
                    ("AUROC", auroc, {}),
                    ("TPR at 1% FPR", tpr, {}),
                ]
            elif name == "cardinality":
                tested = (1, 2, 3, 4, 6, 8, 12, 16) if protocol == "in_dist_C" else (3, 6, 12, 16)
                wanted = [(f"C={each}", auprc, {"cardinality": each}) for each in tested]
            elif name == "rate" and protocol == "in_dist_C":
                rates = (0.01, 0.05, 0.10, 0.20)
                wanted = [(f"{each:.2f}", auprc, {"rate": np.float32(each)}) for each in rates]
            elif name == "types":
                wanted = [(kind, auroc, {"kind": at}) for at, kind in enumerate(KINDS)]
            else:
                wanted = []
            for column, metric, more in wanted:
                value, sd = mean_and_sd("main", method.key, metric, 3, **(where | more))
                yield protocol, method.name, column, value, sd
    detection = (("AUPRC", auprc), ("AUROC", auroc))
    where = {"protocol": "holdout_C", **usual}
    for column, metric in detection:
        if name == "hash-width":
            for buckets in (32, 64, 128, 256, 512):
                file = "main" if buckets == 128 else "hash-width"
                found = mean_and_sd(file, "randproj-knn", metric, 7, **where | {"buckets": buckets})
                yield "", f"m = {buckets}", column, *found
        elif name == "scaling":
            for key, method in SCALING_METHODS.items():
                found = mean_and_sd("scaling", key, metric, 10, **where | {"length": 64})
                yield "", method.name, column, *found
        elif name.startswith("ablation"):
            for key, method in (ABLATIONS if name == "ablation" else TUNED_ABLATIONS).items():
                yield "", method.name, column, *mean_and_sd("ablation", key, metric, 3, **where)
        elif name == "seeds":
            n_seeds = find_budget("paper").paired_seeds
            for method in COMPARED:
                found = mean_and_sd("main", method.key, metric, n_seeds, **where)
                yield "", method.name, column, *found


@pytest.mark.parametrize(
    "name", [*LONG, "hash-width", "scaling", "ablation", "ablation-tuned", "seeds"]
)
def test_plain_loops_find_the_same_figures(name):
    table = read_table(RESULTS / f"{name}.json")
    recorded = {
        (row.group, row.name, column): cell
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.sd is not None and "collision" not in column
    }
    found = {(group, row, column): rest for group, row, column, *rest in figures(name)}
    assert found.keys() == recorded.keys()
    for key, (value, sd) in found.items():
        assert recorded[key].value == pytest.approx(value, abs=TOLERANCE), key
        assert recorded[key].sd == pytest.approx(sd, abs=TOLERANCE), key


def test_the_record_is_small_and_has_no_other_files():
    assert sum(path.stat().st_size for path in RECORD.iterdir()) < LARGEST_RECORD
    assert {path.suffix for path in RECORD.iterdir()} == {".parquet", ".json"}


def test_every_table_is_checked():
    assert {path.stem for path in RESULTS.glob("*.json")} == set(TABLES)


def test_the_readme_shows_the_averages_of_other_worlds():
    lines = (RESULTS / "README.md").read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| AUPRC, holdout_C |"))
    worlds = [cell.strip() for cell in lines[first].strip("|").split("|")][1:]
    found = {}
    for world in worlds:
        name = "average" if world == "paper" else f"variants/average-{world}"
        rows = [row for row in content(name)["rows"] if row["group"] == "holdout_C"]
        found[world] = {row["name"]: f"{row['cells'][0]['value']:.3f}" for row in rows}
    told = lines[first + 2 : lines.index("", first)]
    assert len(told) == 9
    for line in told:
        escaped = line.replace("\\|", "!").strip("|").split("|")
        name, *figures = [cell.strip().replace("!", "|") for cell in escaped]
        assert figures == [found[world].get(name, "") for world in worlds], name
