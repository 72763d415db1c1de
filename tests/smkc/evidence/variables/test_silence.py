"""Variables that fall silent, many at once or one alone, against plain Python."""

import numpy as np
import pytest
from tests import naive_variables as naive

from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables.silence import Silence

N_VARIABLES = 20
NOBODY = np.zeros(400, bool)  # nobody comes


@pytest.fixture
def present():
    return np.zeros((400, N_VARIABLES), np.float32)


def fitted(values, members=None):
    return Silence.fit(values, members or [False] * values.shape[1])


def rows_of(flags):
    return np.flatnonzero(flags).tolist()


@pytest.mark.parametrize(("n_gaps", "shares"), [(60, [0.1, 0.3, 0.8]), (6, [0.01, 0.01, 0.4])])
@pytest.mark.parametrize("nats_of_one", [0.0, 7.0])
def test_trouble_is_that_of_plain_python(rng, n_gaps, shares, nats_of_one):
    values = np.zeros((1500, N_VARIABLES), np.float32)
    for _ in range(n_gaps):
        first, length = rng.integers(1500), rng.choice([1, 3, 12, 300])
        some = rng.random(N_VARIABLES) < rng.choice(shares)
        values[first : first + length, some] = np.nan
    values[:300] = 0.0
    values[220:280, 0] = np.nan
    is_resident = rng.random(N_VARIABLES) < 0.8
    is_resident[0] = True
    fitted = Silence(is_resident=is_resident, n_certain=5, nats_of_one=nats_of_one)
    state = fitted.start()
    has_newcomer = rng.random(1500) < 0.004
    has_newcomer[:300] = False
    actual = state.push(values, has_newcomer)
    columns = [column.tolist() for column in values.T]
    expected, most = naive.silent(
        columns, is_resident.tolist(), 5, nats_of_one > 0, has_newcomer.tolist()
    )
    assert n_gaps < 60 or 100 < expected.count(1) < 1400
    assert (2 in expected) == (nats_of_one > 0)
    np.testing.assert_array_equal(actual, expected)
    assert state.n_most == most
    again, parts = fitted.start(), []
    for rows in np.split(np.arange(1500), [1, 1, 700]):
        parts.append(again.push(values[rows], has_newcomer[rows]))
        after = fitted.start()
        after.restore({key: array.copy() for key, array in again.to_arrays().items()})
        again = after
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_gaps_say_nothing_if_the_reference_had_some(rng, present):
    present[50:54] = np.nan
    silence = fitted(present)
    values = np.zeros((1500, N_VARIABLES), np.float32)
    for first in range(20, 1500, 90):
        values[first : first + 40, rng.random(N_VARIABLES) < 0.5] = np.nan
    is_gap = rng.random(1500) < 0.2
    values[is_gap] = np.nan
    actual = silence.start().push(values, np.zeros(1500, bool))
    seen = np.flatnonzero(~is_gap)
    without = silence.start().push(values[seen], np.zeros(len(seen), bool))
    latest = np.maximum(np.searchsorted(seen, np.arange(1500), side="right") - 1, 0)
    np.testing.assert_array_equal(actual, np.where(np.arange(1500) < seen[0], 0, without[latest]))
    assert 100 < np.count_nonzero(actual) < 1400


def test_a_gap_is_trouble_if_the_reference_had_none(present):
    silence = fitted(present)
    present[100:110] = np.nan
    assert rows_of(silence.start().push(present, NOBODY)) == list(range(101, 110))


def test_variables_that_come_first_after_some_rows_did_not_fall_silent(present):
    silence = fitted(present)
    present[:3, 8:] = np.nan
    assert fitted(present).n_certain == silence.n_certain < N_VARIABLES / 2
    assert fitted(present).nats_of_one == silence.nats_of_one > 0


def test_half_of_them_at_once_is_trouble_until_they_are_back(present):
    silence = fitted(present)
    present[100:150, :10] = np.nan
    assert rows_of(silence.start().push(present, NOBODY)) == list(range(101, 150))


def test_one_lost_row_and_a_few_variables_are_no_trouble(present):
    silence = fitted(present)
    present[100] = np.nan
    present[200:, :3] = np.nan
    assert not silence.start().push(present, NOBODY).any()


def test_one_that_was_always_there_and_leaves_alone_is_trouble(present):
    silence = fitted(present)
    present[100:180, 4] = np.nan
    found = silence.start().push(present, NOBODY)
    assert rows_of(found == 2) == list(range(99 + 2 * SETTINGS.calm_rows, 180))
    assert not (found == 1).any()
    assert silence.nats_of_one == pytest.approx(np.log(401))


@pytest.mark.parametrize(("came", "is_trouble"), [(74, True), (76, False), (120, False)])
def test_one_that_leaves_when_another_comes_may_have_a_new_name(present, came, is_trouble):
    live, has_newcomer = present.copy(), NOBODY.copy()
    live[101:190, 4] = np.nan
    has_newcomer[came] = True
    found = fitted(present).start().push(live, has_newcomer)
    assert (found == 2).any() == is_trouble


def test_one_that_leaves_where_others_left_before_is_no_trouble(present):
    reference = present.copy()
    reference[50:60, 2] = np.nan
    live = present.copy()
    live[100:180, 4] = np.nan
    assert fitted(reference).nats_of_one == 0.0
    assert not fitted(reference).start().push(live, NOBODY).any()
    live[90:98, 7] = live[96:105, 9] = np.nan  # gaps of others shortly before
    assert not fitted(present).start().push(live, NOBODY).any()


def test_those_that_are_gone_for_good_end_it(present):
    silence = fitted(present)
    present[100:, :10] = np.nan
    assert rows_of(silence.start().push(present, NOBODY)) == list(
        range(101, 101 + SETTINGS.lasting_rows)
    )


def test_who_is_seldom_there_or_replaced_routinely_does_not_count(present):
    reference = present.copy()
    reference[::4, :8] = np.nan
    members = [False] * 12 + [True] * 8
    silence = fitted(reference, members)
    np.testing.assert_array_equal(np.flatnonzero(silence.is_resident), [8, 9, 10, 11])
    present[100:, :8] = present[100:, 12:] = np.nan
    assert not silence.start().push(present, NOBODY).any()


def test_what_the_reference_showed_is_no_trouble(present):
    reference = present.copy()
    reference[50:60, :6] = np.nan
    silence = fitted(reference)
    assert silence.n_certain == 12
    assert not silence.start().push(reference, NOBODY).any()


@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_a_few_variables_are_no_share(n_columns):
    values = np.zeros((50, n_columns), np.float32)
    silence = fitted(values)
    values[20:] = np.nan
    assert not silence.start().push(values, NOBODY[: len(values)]).any()
    assert len(silence.start().push(values[:0], NOBODY[:0])) == 0
