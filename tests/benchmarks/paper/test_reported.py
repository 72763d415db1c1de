import json
from pathlib import Path

import numpy as np
import pytest

import benchmarks.paper
from benchmarks.paper.reported import (
    SOURCE,
    reported,
    reported_about,
    reported_columns,
    reported_rows,
)
from smkc.errors import InputError

PARTS = {
    ("average", "in_dist_C"): (12, 3),
    ("average", "holdout_C"): (12, 3),
    ("cardinality", "in_dist_C"): (7, 8),
    ("cardinality", "holdout_C"): (7, 4),
    ("rate", "in_dist_C"): (8, 4),
    ("hash-width", "holdout_C"): (5, 4),
    ("scaling", "holdout_C"): (11, 6),
    ("end-to-end", ""): (2, 4),
    ("ablation", "holdout_C"): (12, 2),
    ("diagnostic", ""): (2, 4),
}
CONTENT = json.loads(Path(benchmarks.paper.__file__).with_name("reported.json").read_text())
ROUNDING = 0.0011  # three decimals on both sides, summed


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("average", "RandProj-kNN(SMKC)", "auprc", "holdout_C"), 0.555),
        (("average", "IsolationForest(stats)", "tpr_at_1pct_fpr", "in_dist_C"), 0.167),
        (("cardinality", "RandProj-kNN(SMKC)", 1, "in_dist_C"), 0.475),
        (("cardinality", "SMKC-ENS(HYB)", "16", "holdout_C"), 0.621),
        (("rate", "StatsPool-kNN", 0.01, None), 0.101),
        (("rate", "SMKC-ENS(HYB)", 0.2, None), 0.619),
        (("hash-width", 128, "value_collision", None), 0.0114),
        (("hash-width", 512, "auroc", None), 0.7357),
        (("scaling", "HYB-log3+bandfeat(w=8)", "feature_dim", None), 1536),
        (("scaling", "SEQ(gseq)", "peak_mb", None), None),
        (("ablation", "cos_only", "auprc", None), 0.1216),
        (("end-to-end", "linear attention", "inference_L128", None), 1.203),
        (("diagnostic", "amplitude scaling", "cosine_auroc", None), 0.511),
        (("average", "no such method", "auprc", "holdout_C"), None),
        (("cardinality", "TS-MAE(gseq)", 2, "holdout_C"), None),
    ],
)
def test_figures_as_printed_in_the_paper(where, expected):
    table, row, column, group = where
    assert reported(table, row, column, group=group) == expected


def test_spread_over_seeds():
    assert reported("cardinality", "RandProj-kNN(SMKC)", 4, group="in_dist_C", sd=True) == 0.111
    assert reported("hash-width", 32, "auprc", sd=True) == 0.0327
    assert reported("hash-width", 32, "value_collision", sd=True) is None
    assert reported("average", "StatsPool-kNN", "auprc", group="holdout_C", sd=True) is None


@pytest.mark.parametrize(("table", "group"), PARTS)
def test_every_table_is_whole(table, group):
    rows, columns = reported_rows(table, group), reported_columns(table, group)
    assert (len(rows), len(columns)) == PARTS[table, group]
    part = CONTENT["tables"][table]["groups"][group]
    for figures in [*part["rows"].values(), *part.get("sd", {}).values()]:
        assert len(figures) == len(columns)
    assert part.get("sd", part["rows"]).keys() == part["rows"].keys()


def test_nothing_beside_these_tables():
    tables = CONTENT["tables"]
    assert {(table, group) for table in tables for group in tables[table]["groups"]} == set(PARTS)


@pytest.mark.parametrize("group", ["in_dist_C", "holdout_C"])
def test_means_over_cardinalities_are_the_averages(group):
    for row in reported_rows("cardinality", group):
        by_c = [reported("cardinality", row, c, group=group) for c in _cardinalities(group)]
        average = reported("average", row, "auprc", group=group)
        assert np.mean(by_c) == pytest.approx(average, abs=ROUNDING)


def test_the_rate_table_is_that_of_in_dist():
    for row in reported_rows("rate"):
        assert reported("rate", row, 0.1) == reported("average", row, "auprc", group="in_dist_C")


def test_source_is_named():
    assert SOURCE in CONTENT["source"]
    assert reported_about("hash-width")["seeds"] == 7
    assert reported_about("diagnostic")["logdist_max_difference"] == 2.08


def test_what_the_paper_does_not_have():
    with pytest.raises(InputError, match="no table 'types'; choose one of ablation, average"):
        reported("types", "a", "b")
    with pytest.raises(InputError, match="no part None; give group as one of 'in_dist_C'"):
        reported("average", "StatsPool-kNN", "auprc")
    with pytest.raises(InputError, match="no part 'out'"):
        reported_rows("average", "out")


def _cardinalities(group):
    return [int(column) for column in reported_columns("cardinality", group)]
