"""The largest change of a newcomer, judged by its own past."""

import numpy as np
import pytest

from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.contract import Block
from smkc.evidence.reference.memory import Memory
from smkc.evidence.reference.newcomer_jump import AGE, NewcomerJump

WINDOW, BLOCK, N = 2, 16, 128


def started():
    choices = Choices(window=WINDOW, block=BLOCK, quarantine=100, memory=256)
    memory = Memory(choices, 1)
    return NewcomerJump(window=WINDOW).start(None, memory), memory


def pushed(part, memory, fresh):
    """Push rows (n, F) block by block, as the scorer does."""
    out = []
    for at in range(0, len(fresh), BLOCK):
        rows = fresh[at : at + BLOCK].astype(np.float32)
        nothing = np.empty((len(rows), 0), np.float32)
        counts = np.zeros(len(rows), np.float32)
        out.append(
            part.push(Block(nothing, nothing, rows, counts, nothing, rows, np.zeros(len(rows))))
        )
        memory.n_rows += len(rows)
        if memory.n_rows % BLOCK == 0:
            part.refresh()
    return np.concatenate(out)


@pytest.fixture
def fresh(rng):
    fresh = rng.normal(size=(N, 2))
    fresh[:64, 1] = np.nan
    fresh[100, 0] += 30.0
    fresh[110:112, 0] = np.nan
    return fresh


def test_a_newcomer_speaks_once_it_has_a_past(fresh):
    part, memory = started()
    found = pushed(part, memory, fresh)
    young = (AGE * WINDOW // (2 * BLOCK) + 1) * 2 * BLOCK
    assert np.isnan(found[:young]).all()
    assert np.isfinite(found[young:100]).all()
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    assert found[[100, 101], 0].min() > 4 * np.nanmax(found[:100, 0])


def test_the_unit_is_the_usual_largest_of_its_own(fresh):
    part, memory = started()
    pushed(part, memory, fresh[:96])
    changes = np.abs(np.diff(fresh[:96, 0].astype(np.float32)))
    assert part.scale[0] == pytest.approx(max(np.quantile(changes, 0.99), 3 * changes.mean()))
    assert np.isinf(part.scale[1])
    assert part.made(np.array([50]))[0].tolist() == pytest.approx(
        [(changes[49] / part.scale[0]) ** 2, 0.0]
    )


def test_who_is_not_seen_twice_in_a_row_says_nothing(fresh):
    part, memory = started()
    fresh[:, 1] = np.nan
    found = pushed(part, memory, fresh)[:, 0]
    assert np.isnan(found[[110, 111, 112]]).all()
    assert np.isfinite(found[113:]).all()
    nobody, memory = started()
    assert np.isnan(pushed(nobody, memory, np.empty((20, 0)))).all()


def test_a_saved_part_goes_on_exactly(fresh):
    part, memory = started()
    expected = pushed(part, memory, fresh)[80:]
    first, memory = started()
    pushed(first, memory, fresh[:80])
    again, other = started()
    again.restore({key: array.copy() for key, array in first.to_arrays().items()})
    other.n_rows = 80
    np.testing.assert_array_equal(pushed(again, other, fresh[80:]), expected)
