"""Shares of the budget: equal for every group; columns that are extreme together count once."""

import numpy as np
import pytest

from smkc.evidence.variables.shares import effective_number, shares

N = 4000


def test_a_correction_is_that_of_the_group(rng):
    names = ["node_a", "node_b", "pg_a", "node_c", "up"]
    n_questions = np.array([3, 5, 2, 0, 0])
    values = rng.normal(size=(N, 5)).astype(np.float32)
    values[:, 1] = -3 * values[:, 0]
    nats, n_groups = shares(names, n_questions, values)
    assert n_groups == 3  # node, pg, and newcomers
    node, pg = np.log(3 * 4), np.log(3 * 2)  # node's columns are as one, of 4 questions on average
    np.testing.assert_allclose(nats, [node, node, pg, 0.0, 0.0])


@pytest.mark.parametrize("n_columns", [2, 10, 100, 1000])
def test_independent_columns_count_all(rng, n_columns):
    values = rng.standard_t(3, size=(N, n_columns)).astype(np.float32)
    assert effective_number(values) == pytest.approx(n_columns, rel=0.1)


def test_independent_columns_of_few_values_count_all(rng):
    values = (rng.random((N, 20)) < 0.3).astype(np.float32)
    assert effective_number(values) == pytest.approx(20, rel=0.2)


@pytest.mark.parametrize("n_copies", [2, 10, 50])
def test_columns_that_are_extreme_together_count_once(rng, n_copies):
    values = rng.normal(size=(N, 8)).astype(np.float32)
    together = np.repeat(values, n_copies, axis=1) + 0.01 * rng.normal(size=(N, 8 * n_copies))
    assert 4 < effective_number(together.astype(np.float32)) < 16


def test_neither_order_nor_unit_nor_gaps_matter(rng):
    values = rng.normal(size=(N, 20)).astype(np.float32)
    values[:, 10:] = values[:, :10] + 0.3 * values[:, 10:]
    expected = effective_number(values)
    assert expected < 18
    assert effective_number(values[:, ::-1]) == expected
    assert effective_number(100 * values + 7) == pytest.approx(expected, rel=0.02)
    values[rng.random(N) < 0.3] = np.nan
    assert effective_number(values) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 3), (5, 0), (5, 1)])
def test_next_to_nothing_counts_as_it_is(shape):
    assert effective_number(np.zeros(shape, np.float32)) == max(shape[1], 1)


def test_columns_without_observations_count_little():
    values = np.full((100, 4), np.nan, np.float32)
    assert effective_number(values) == 1.0
