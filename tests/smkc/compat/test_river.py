import random

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed; run: pip install river")

from river import anomaly, checks, compose
from river.checks import common

import smkc
from smkc.compat.river import SmkcAnomalyDetector
from smkc.errors import InputError
from smkc.recording import Recording

STREAM_RTOL = 1e-5  # float32 sums in another order

SMALL = {"block": 200, "window": 16}


def stream(n_rows, n_variables=6, seed=0):
    """Rows with their truth: one in a hundred is far off, from row 300 on."""
    rng = np.random.default_rng(seed)
    for at in range(n_rows):
        is_off = at >= 300 and at % 100 == 0
        values = rng.normal(size=n_variables) + 9 * is_off
        yield {f"v{j}": value for j, value in enumerate(values.tolist())}, is_off


@pytest.fixture
def rows():
    return [row for row, _ in stream(500)]


@pytest.fixture
def seeded():
    random.seed(0)  # the checks of River shuffle keys with it


def all_checks():
    return [check.__name__ for check in checks.yield_checks(SmkcAnomalyDetector(**SMALL))]


@pytest.mark.slow
def test_rivers_checks_pass(monkeypatch, seeded):
    # River checks anomaly detectors on credit card data that it downloads; these stand in.
    def datasets(model, scale=1):
        yield list(stream(600))

    monkeypatch.setattr(checks, "_yield_datasets", datasets)
    assert {"check_roc_auc", "check_pickling", "check_bounded_memory_growth"} <= set(all_checks())
    assert SmkcAnomalyDetector()._unit_test_skips() == set()
    checks.check_estimator(SmkcAnomalyDetector(**SMALL))


@pytest.mark.parametrize(
    "check",
    [
        common.check_emerging_features,
        common.check_disappearing_features,
        common.check_radically_disappearing_features,
        common.check_shuffle_features_no_impact,
    ],
)
def test_rivers_checks_of_changing_features_pass(check, seeded):
    check(SmkcAnomalyDetector(**SMALL), list(stream(600, n_variables=12)))


def test_scores_are_those_of_the_whole_recording(rows):
    model = SmkcAnomalyDetector(**SMALL, is_frozen=True)
    actual = []
    for row in rows:
        actual.append(model.score_one(row))
        model.learn_one(row)
    recording = Recording.from_rows(np.arange(500), rows)
    det = smkc.Detector(window=16).fit(recording.rows(0, 200))
    expected = det.decision_function(recording, align="prompt")
    assert actual[:200] == [0] * 200
    np.testing.assert_allclose(actual[200:], expected[200:], rtol=STREAM_RTOL)


def test_scoring_leaves_the_model_as_it_is(rows):
    one, other = SmkcAnomalyDetector(**SMALL), SmkcAnomalyDetector(**SMALL)
    for at, row in enumerate(rows):
        one.score_one({**row, "new": 50.0})
        first = one.score_one(row)
        assert one.score_one(row) == first
        if at % 2:
            one.score_one({"odd": 1.0})
        one.learn_one(row)
        other.learn_one(row)
    assert one.score_one(rows[0]) == other.score_one(rows[0])


def test_a_new_variable_is_seen_where_others_ignore_it(rows):
    model = SmkcAnomalyDetector(**SMALL)
    trees = anomaly.HalfSpaceTrees(seed=0)
    for row in rows:
        model.learn_one(row)
        trees.learn_one(row)
    for at, row in enumerate(rows[:120]):  # it has a past of its own by then
        model.learn_one({**row, "new": at % 3})
        trees.learn_one({**row, "new": at % 3})
    usual, more = {**rows[0], "new": 1.0}, {**rows[0], "new": 1e9}
    assert trees.score_one(more) == trees.score_one(usual)
    assert model.score_one(more) > model.score_one(usual)


def test_later_blocks_are_learned_unless_frozen():
    rng = np.random.default_rng(0)
    calm = [{"a": value, "b": value} for value in rng.normal(size=200)]
    apart = [{"a": a, "b": b, "c": c} for a, b, c in rng.normal(size=(600, 3))]
    late = {}
    for is_frozen in (True, False):
        model = SmkcAnomalyDetector(**SMALL, is_frozen=is_frozen)
        for row in calm + apart:
            late[is_frozen] = model.score_one(row)
            model.learn_one(row)
    assert late[False] < 0.9 * late[True]


def test_it_works_inside_river(rows):
    model = anomaly.QuantileFilter(SmkcAnomalyDetector(**SMALL), q=0.99)
    pipeline = compose.Select("v0", "v1", "v2") | model
    marks = []
    for row, is_off in stream(700):
        marks.append((model.classify(pipeline.score_one(row)), is_off))
        pipeline.learn_one(row)
    assert sum(mark for mark, is_off in marks if is_off) >= 3


def test_odd_rows_pass():
    model = SmkcAnomalyDetector(**SMALL, settings={"counters": None})
    for at in range(300):
        model.learn_one({1: float(at % 7), "flag": at % 2 == 0, "none": None})
    for row in ({}, {1: float("nan")}, {1: 3.0}):
        assert np.isfinite(model.score_one(row))
        model.learn_one(row)


def test_too_little_is_not_learned_from(rows):
    model = SmkcAnomalyDetector(**SMALL)
    for _ in range(350):
        model.learn_one({})
        assert model.score_one({}) == 0
    for row in rows[:350]:
        model.learn_one(row)
    before = model.score_one(rows[400])
    assert before > 0
    for _ in range(450):  # the rest of a block, and two without a row
        model.learn_one({})
    for row in rows[:16]:
        model.learn_one(row)
    assert np.isfinite(model.score_one(rows[400]))


def test_a_stream_without_anything_to_learn_from_says_so():
    model = SmkcAnomalyDetector(**{**SMALL, "block": 20})
    for _ in range(199):
        model.learn_one({})
    with pytest.raises(InputError, match="give a longer reference"):
        model.learn_one({})
