"""The largest change of a newcomer, judged by its own past."""

import numpy as np
import pytest
from tests.smkc.evidence.made_blocks import block_of

from smkc.evidence.settings import SETTINGS
from smkc.evidence.system.contract import Ring
from smkc.evidence.system.newcomer_jump import NewcomerJump

BLOCK, N = 16, 128


def started():
    ring = Ring(256)
    return NewcomerJump(renewed_rows=2 * BLOCK).start(None, ring), ring


def pushed(part, ring, fresh):
    """Push rows (n, F) block by block, as the scorer does."""
    out = []
    for at in range(0, len(fresh), BLOCK):
        rows = fresh[at : at + BLOCK].astype(np.float32)
        nothing = np.empty((len(rows), 0), np.float32)
        out.append(part.push(block_of(nothing, rows)))
        ring.n_rows += len(rows)
    return np.concatenate(out)


@pytest.fixture
def fresh(rng):
    fresh = rng.normal(size=(N, 2))
    fresh[:64, 1] = np.nan
    fresh[100, 0] += 30.0
    fresh[110:112, 0] = np.nan
    return fresh


def test_a_newcomer_speaks_once_it_has_a_past(fresh):
    part, ring = started()
    found = pushed(part, ring, fresh)
    young = (SETTINGS.min_observations // (2 * BLOCK) + 1) * 2 * BLOCK
    assert np.isnan(found[:young]).all()
    assert np.isfinite(found[young:100]).all()
    assert found[[100, 101]].min() > 4 * np.nanmax(found[:100])


def test_the_unit_is_the_usual_largest_of_its_own(fresh):
    part, ring = started()
    pushed(part, ring, fresh[:96])
    changes = np.abs(np.diff(fresh[:96, 0].astype(np.float32)))
    assert part.scale[0] == pytest.approx(np.quantile(changes, 0.99))
    assert np.isinf(part.scale[1])
    assert part.made(np.array([50]))[0].tolist() == pytest.approx(
        [(changes[49] / part.scale[0]) ** 2, 0.0]
    )


def test_who_is_not_seen_twice_in_a_row_says_nothing(fresh):
    part, ring = started()
    fresh[:, 1] = np.nan
    found = pushed(part, ring, fresh)
    assert np.isnan(found[[110, 111, 112]]).all()
    assert np.isfinite(found[113:]).all()
    nobody, ring = started()
    assert np.isnan(pushed(nobody, ring, np.empty((20, 0)))).all()


def test_a_saved_part_goes_on_exactly(fresh):
    part, ring = started()
    expected = pushed(part, ring, fresh)[80:]
    first, ring = started()
    pushed(first, ring, fresh[:80])
    again, other = started()
    again.restore({key: array.copy() for key, array in first.to_arrays().items()})
    other.n_rows = 80
    np.testing.assert_array_equal(pushed(again, other, fresh[80:]), expected)
