"""Surprises beyond a reference, against plain Python: monotone, bounded by what is known."""

from dataclasses import replace

import numpy as np
import pytest
from tests import naive_variables as naive

from smkc.evidence.variables import Tails

# Surprises are kept in float32.
CLOSE = 1e-5


@pytest.fixture
def reference(rng):
    """Return columns: normal, with heavy tails, with gaps, counts, constant, seldom, never seen."""
    rows = rng.normal(size=(600, 7))
    rows[:, 1] = rng.standard_t(3, size=600)
    rows[rng.random(600) < 0.7, 2] = np.nan
    rows[:, 3] = rng.poisson(3.0, size=600)
    rows[:, 4] = 5.0
    rows[20:, 5] = np.nan
    rows[:, 6] = np.nan
    return rows.astype(np.float32)


@pytest.fixture
def asked(rng):
    return np.concatenate([rng.normal(size=(50, 7)), [[x] * 7 for x in (-1e6, -9, 5, 9, 1e6)]])


@pytest.mark.parametrize(("is_one_sided", "gap", "assumed"), [(False, 4, 0.25), (True, 1, 0.15)])
def test_surprises_are_those_of_plain_python(reference, asked, is_one_sided, gap, assumed):
    tails = Tails.fit(
        reference, gap=gap, min_spread=0.1, is_one_sided=is_one_sided, assumed_excess=assumed
    )
    columns = [column.astype(float).tolist() for column in reference.T]
    twin = naive.NaiveTails(columns, gap, 0.1, is_one_sided, assumed)
    rows = asked.astype(np.float32)
    expected = [[twin.nats(j, float(x)) for j, x in enumerate(row)] for row in rows]
    np.testing.assert_allclose(tails.nats(rows), expected, rtol=CLOSE, atol=CLOSE)


def test_what_the_reference_has_seen_is_no_rarer_than_once_in_it(reference, asked, rng):
    reference[300, :2], reference[301, 1] = 60.0, -50.0
    is_bounded = np.arange(7) != 2
    pools = np.where(is_bounded, np.arange(7), -1)
    tails = Tails.fit(reference, gap=1, pools=pools)
    columns = [column.astype(float).tolist() for column in reference.T]
    twin = naive.NaiveTails(columns, 1, bounded=np.flatnonzero(is_bounded).tolist())
    rows = np.concatenate([asked, reference[295:305], [[x] * 7 for x in (-51, 59, 61, 100)]])
    rows = rows.astype(np.float32)
    expected = [[twin.nats(j, float(x)) for j, x in enumerate(row)] for row in rows]
    np.testing.assert_allclose(tails.nats(rows), expected, rtol=CLOSE, atol=CLOSE)
    seen_once = tails.nats(np.full((1, 7), 60.0, np.float32))[0, 0]
    assert seen_once <= np.log(601) + CLOSE < Tails.fit(reference, gap=1).nats(rows)[:, 0].max()
    assert tails.nats(np.full((1, 7), 600.0, np.float32))[0, 0] > seen_once, "farther is rarer"


def test_what_one_column_of_a_pool_has_seen_all_have(rng):
    reference = rng.normal(size=(600, 3)).astype(np.float32) * np.float32([1.0, 50.0, 1.0])
    reference[300:303, 0] = 40.0
    alone, pooled = (
        Tails.fit(reference, gap=1, pools=np.array(pools)) for pools in ([0, 1, 2], [0, 0, 2])
    )
    as_far = np.float32([[30.0, 50.0 * 30.0, 30.0]])  # in spreads, what the first column has seen
    assert alone.nats(as_far)[0, 1] > np.log(601) + 1
    assert pooled.nats(as_far)[0, 1] <= np.log(601) + CLOSE
    np.testing.assert_array_equal(pooled.nats(as_far)[:, [0, 2]], alone.nats(as_far)[:, [0, 2]])
    farther = 100 * as_far
    assert pooled.nats(farther)[0, 1] > pooled.nats(as_far)[0, 1]


def test_of_the_reference_itself_as_many_are_surprising_as_stated(rng):
    rows = rng.normal(size=(4000, 3)).astype(np.float32)
    nats = Tails.fit(rows, gap=1).nats(rng.normal(size=(20_000, 3)).astype(np.float32))
    assert (nats > 0).mean() == pytest.approx(0.1, rel=0.1), "a twentieth on either side"
    for rate in (0.01, 0.001):
        assert (nats > -np.log(rate)).mean() < 1.2 * rate


def test_what_ran_once_in_the_reference_may_run_again(rng):
    rows = rng.normal(size=(900, 2)).astype(np.float32)
    rows[400:403, 0] = 1_000.0
    tails = Tails.fit(rows, gap=1)

    def nats(value):
        return float(tails.nats(np.full((1, 2), value, np.float32))[0, 0])

    assert nats(1_000.0) == nats(970.0) == nats(1_030.0) == pytest.approx(np.log(901.0), rel=1e-5)
    assert min(nats(900.0), nats(1_100.0)) > 1.5 * np.log(901.0), "that was not seen"
    assert nats(-1_000.0) > 1.5 * np.log(901.0), "nor was the other side"


def test_surprises_grow_with_distance_and_then_no_more(reference):
    tails = Tails.fit(reference, gap=1)
    tails = replace(tails, farthest=np.full_like(tails.farthest, np.inf))
    away = np.concatenate([np.linspace(0, 50, 400), np.geomspace(51, 1e7, 50)])
    for sign in (1.0, -1.0):
        rows = np.repeat((sign * away)[:, None], 7, axis=1).astype(np.float32)
        rows += tails.centre.astype(np.float32)
        nats = tails.nats(rows)
        assert (np.diff(nats, axis=0) >= 0).all()
        beyond = (nats[:-1] > 0) & (np.diff(rows, axis=0) != 0) & (np.abs(rows[:-1]) < 60)
        assert (np.diff(nats, axis=0)[:, :4][beyond[:, :4]] > 0).all()
        assert np.isfinite(nats).all()
    assert (tails.nats(rows)[:, 5:] == 0.0).all(), "too seldom observed to be asked"


def test_fewer_episodes_are_trusted_less(rng):
    many = rng.normal(size=(5000, 1)).astype(np.float32)
    far = np.array([[20.0]], np.float32)
    surprises = [Tails.fit(many[:n], gap=1).nats(far)[0, 0] for n in (100, 1000, 5000)]
    assert surprises[0] < surprises[1] < surprises[2]
    assert Tails.fit(many, gap=200).nats(far)[0, 0] < surprises[2], "the same as few episodes"


def test_one_side_alone_may_be_asked(rng):
    tails = Tails.fit(rng.normal(size=(500, 1)).astype(np.float32), gap=1, is_one_sided=True)
    assert tails.nats(np.array([[-50.0]], np.float32))[0, 0] == 0.0
    assert tails.nats(np.array([[50.0]], np.float32))[0, 0] > 5.0


def test_shuffled_columns_keep_their_own_surprises(rng, reference, asked):
    order = rng.permutation(7)
    rows = asked.astype(np.float32)
    expected = Tails.fit(reference, gap=2).nats(rows)[:, order]
    actual = Tails.fit(reference[:, order], gap=2).nats(rows[:, order])
    # Sums over columns, for what they have in common, run in another order.
    np.testing.assert_allclose(actual, expected, rtol=CLOSE)


def test_newcomers_have_the_tails_of_most_known_columns(rng):
    tails = Tails.fit(rng.normal(size=(1000, 40)).astype(np.float32), gap=1)
    rows = rng.normal(size=(20_000, 2)).astype(np.float32)
    assert (tails.shared(2).nats(rows) > -np.log(0.01)).mean() < 0.01
    assert (tails.shared(2).nats(np.full((1, 2), 20.0, np.float32)) > 8.0).all()
    unknown = Tails.fit(np.full((50, 3), np.nan, np.float32), gap=1)
    assert (unknown.shared(2).nats(rows) == 0.0).all()


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (1, 1), (30, 1)])
def test_short_and_empty_references_claim_nothing(rng, shape):
    tails = Tails.fit(rng.normal(size=shape).astype(np.float32), gap=1)
    nats = tails.nats(np.full((2, shape[1]), 9.0, np.float32))
    assert nats.shape == (2, shape[1])
    assert np.isfinite(nats).all()
    assert (nats == 0.0).all() or shape[0] >= 24
