"""Leave one dataset out: a dataset has no say in the setting that it is judged with."""

from pathlib import Path

import pytest

from benchmarks.alerts.left_out import choices_left_out
from benchmarks.alerts.methods import METHODS, variant
from benchmarks.alerts.tables import AlertPlan, left_out_table

DATASET_OF = {"x": "x", "x, full churn": "x", "y": "y", "z": "z"}


def test_columns_of_one_dataset_are_left_out_together():
    r1k = {
        "first": {"x": 1.0, "x, full churn": 1.0, "y": 0.3, "z": 0.3},
        "second": {"x": 0.0, "x, full churn": 0.5, "y": 0.4, "z": 0.4},
    }
    by_dataset = {choice.dataset: choice for choice in choices_left_out(r1k, DATASET_OF)}
    assert by_dataset["x"].setting == "second"
    assert by_dataset["x"].r1k == (0.0, 0.5)
    assert by_dataset["y"].setting == by_dataset["z"].setting == "first"


def test_of_equally_good_settings_the_first_is_chosen():
    same = dict.fromkeys(DATASET_OF, 0.5)
    choices = choices_left_out({"first": same, "second": same}, DATASET_OF)
    assert {choice.setting for choice in choices} == {"first"}


def test_the_table_says_what_the_choice_costs():
    methods = [METHODS["default"], variant("calm_rows=10"), METHODS["pca"]]
    plan = AlertPlan(methods=methods, datasets=["lro", "nasa"], folder=Path("unused"))
    lro, nasa = plan.columns
    figures = {
        (methods[0].key, lro): {"one": {"r1k": 0.9}},
        (methods[0].key, nasa): {"one": {"r1k": 0.2}},
        (methods[1].key, lro): {"one": {"r1k": 0.5}},
        (methods[1].key, nasa): {"one": {"r1k": 0.4}},
    }
    rows = left_out_table(plan, figures).rows
    names = ["lro: with calm_rows=10", "nasa: smkc, default", "mean of all columns"]
    assert [row.name for row in rows] == names
    assert [cell.value for cell in rows[-1].cells] == [
        pytest.approx((0.5 + 0.2) / 2),
        pytest.approx((0.9 + 0.2) / 2),
    ]


def test_one_setting_leaves_nothing_to_choose():
    methods = [METHODS["default"]]
    plan = AlertPlan(methods=methods, datasets=["lro"], folder=Path("unused"))
    figures = {(methods[0].key, plan.columns[0]): {"one": {"r1k": 0.9}}}
    assert left_out_table(plan, figures).rows == ()
