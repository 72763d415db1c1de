"""Rows: gaps that are bridged in the sketch."""

from itertools import pairwise

import numpy as np
import pytest

from smkc.evidence.reference import ReferenceEvidence
from smkc.evidence.reference.rows import BRIDGED, bridged
from smkc.recording import Recording

N = 240


def recording(values, first=0, names=("a", "b", "c")):
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], names)


@pytest.fixture
def model(rng):
    return ReferenceEvidence.fit(recording(rng.normal(size=(N, 3))), window=2)


def states(model, values, cuts=()):
    state = model.start()
    state.push_rows(recording(values[:1], N))
    rows, edges = state._rows, [1, *cuts, len(values)]
    blocks = [rows.block(recording(values[a:b], N + a)) for a, b in pairwise(edges)]
    return np.concatenate([block.states for block in blocks]), blocks


def test_a_short_gap_is_no_movement_and_a_long_one_is(model, rng):
    values = np.repeat(rng.normal(size=(1, 3)), 30, axis=0)
    whole, _ = states(model, values)
    values[10:26, 1] = np.nan
    found, blocks = states(model, values)
    end = 9 + BRIDGED * 2  # of the gap's rows, the first of all left out
    np.testing.assert_array_equal(found[:end], whole[:end])
    assert (found[end:25] != whole[end:25]).any(axis=1).all()
    np.testing.assert_array_equal(found[25:], whole[25:])
    assert blocks[0].counts[8:12].tolist() == [3.0, 2.0, 2.0, 2.0]


def test_cuts_change_no_state(model, rng):
    values = rng.normal(size=(60, 3))
    values[rng.random(values.shape) < 0.4] = np.nan
    expected, _ = states(model, values)
    for cuts in [(7,), (2, 3, 40), tuple(range(2, 60))]:
        np.testing.assert_array_equal(states(model, values, cuts)[0], expected)


def test_gaps_at_the_start_are_bridged_from_the_reference_alone_if_rows_follow(model, rng):
    values = rng.normal(size=(6, 3))
    values[:, 0] = np.nan
    near, far = model.start(), model.start()
    near.push_rows(recording(values[:1], N))
    far.push_rows(recording(values[:1], 10 * N))
    near, far = (
        one._rows.block(recording(values[1:], first)).states
        for one, first in ((near, N + 1), (far, 10 * N + 1))
    )
    assert (near != far).any()


def test_where_members_are_replaced_nothing_is_bridged(rng):
    names = tuple(f'cpu{{pod="{pod}"}}' for pod in "abc")
    model = ReferenceEvidence.fit(recording(rng.normal(size=(N, 3)), names=names), window=2)
    assert len(model.start()._rows.past) == 0


def test_what_was_never_seen_is_not_bridged():
    rows = np.full((4, 1), np.nan, np.float32)
    assert np.isnan(bridged(rows, 3)).all()
    rows[1] = 2.0
    assert bridged(rows, 0)[:, 0].tolist() == pytest.approx(rows[:, 0].tolist(), nan_ok=True)
