"""Which columns are the loudest, and which have a new normal, against plain Python."""

import numpy as np
import pytest
from tests import naive_variables as naive

from smkc.decide import Mark
from smkc.evidence.settings import SETTINGS
from smkc.evidence.variables import Loudest
from smkc.evidence.variables.lasting import Lasting
from smkc.evidence.variables.loudest import N_KEPT

IS_LASTING = [True, False, True]

# Surprises are kept in float32.
CLOSE = 1e-4

# Of one question asked of one column: a surprise that is loud, one that is not.
LOUD, QUIET = 12.0, 1.0


class Listener:
    """The loudest columns, where those with a new normal say nothing."""

    def __init__(self, is_lasting, n_columns, places=(), rows=()):
        self.is_lasting = is_lasting
        self.lasting = Lasting(is_lasting, n_columns)
        self.loudest = Loudest(np.array(places, np.int32), rows)

    def push(self, nats, asked=None, statistics=None):
        n_questions, n, n_columns = nats.shape
        if asked is None:
            asked = np.full(n_columns, np.log(max(n_questions * n_columns, 1)))
        nats = nats.copy()
        new = self.lasting.push(nats, asked, np.zeros((n, n_columns), np.float32))
        for question, lasts in enumerate(self.is_lasting):
            nats[question][new.is_new[0 if lasts else 1]] = 0.0
        return self.loudest.push(nats, asked, statistics)

    def to_arrays(self):
        return self.lasting.to_arrays(), self.loudest.to_arrays()

    def restore(self, arrays):
        for part, saved in zip((self.lasting, self.loudest), arrays, strict=True):
            part.restore({key: array.copy() for key, array in saved.items()})


def said(rng, n, n_columns):
    """(Q, n, C) surprises with episodes, some of which last."""
    nats = rng.exponential(size=(len(IS_LASTING), n, n_columns)).astype(np.float32)
    nats[rng.random(nats.shape) < 0.3] = 0.0
    for _ in range(6 * n_columns):
        question, column = rng.integers(len(IS_LASTING)), rng.integers(n_columns)
        first, length = rng.integers(n), rng.choice([1, 5, 30, 260])
        nats[question, first : first + length, column] += rng.uniform(5, 20)
    return nats


def one(nats):
    """Push one lasting question of one column; return its surprises."""
    nats = np.asarray(nats, np.float32)
    return Listener([True], 1).push(nats[None, :, None]).nats[:, 0]


@pytest.mark.parametrize("n_columns", [1, 3, 20])
def test_the_loudest_are_those_of_plain_python(rng, n_columns):
    n = 1200
    nats = said(rng, n, n_columns)
    asked = rng.uniform(0.0, 6.0, size=n_columns)
    heard = Listener(IS_LASTING, n_columns).push(nats, asked)
    surprises, ranked = naive.loudest(nats.tolist(), IS_LASTING, asked.tolist())
    np.testing.assert_allclose(heard.surprises, surprises, rtol=CLOSE, atol=CLOSE)
    assert heard.columns.shape == (n, N_KEPT)
    for row, expected in enumerate(ranked):
        found = heard.columns[row]
        assert found[: len(expected)].tolist() == [column for _, column in expected]
        assert (found[len(expected) :] == -1).all()
        np.testing.assert_allclose(
            heard.nats[row, : len(expected)], [x for x, _ in expected], rtol=CLOSE, atol=CLOSE
        )
        asked = heard.questions[row, : len(expected)]
        assert (nats[asked, row, found[: len(expected)]] >= heard.nats[row, : len(expected)]).all()


def test_the_surprise_counts_all_that_were_asked():
    nats = np.zeros((2, 1, 5), np.float32)
    nats[1, 0, 2] = 9.0
    found = Listener([True, True], 5).push(nats).surprises
    np.testing.assert_allclose(found, [9 - np.log(10)])
    shares = np.array([1.0, 1.0, 2.5, 1.0, 1.0])
    np.testing.assert_allclose(Listener([True, True], 5).push(nats, shares).surprises, [6.5])


def test_a_column_with_a_larger_share_is_louder_at_the_same_nats():
    nats = np.full((1, 1, 2), 9.0, np.float32)
    heard = Listener([True], 2).push(nats, np.array([4.0, 1.0]))
    assert heard.columns[0, :3].tolist() == [1, 0, -1]


@pytest.mark.parametrize("cuts", [[1], [0, 300, 300, 301], list(range(1, 500))])
def test_cuts_saving_and_late_columns_change_no_bit(rng, cuts):
    nats = said(rng, 500, 6)
    nats[:, :350, 4:] = 0.0  # the last two columns came at row 350
    asked = np.full(6, np.log(4))
    expected = Listener(IS_LASTING, 6).push(nats, asked)
    state = Listener(IS_LASTING, 4)
    parts = []
    for rows in np.split(np.arange(500), cuts):
        width = 6 if len(rows) and rows[-1] >= 350 else 4
        parts.append(state.push(nats[:, rows, :width], asked[:width]))
        again = Listener(IS_LASTING, width)
        again.restore(state.to_arrays())
        state = again
    np.testing.assert_array_equal(
        np.concatenate([part.surprises for part in parts]), expected.surprises
    )
    np.testing.assert_array_equal(
        np.concatenate([part.columns[:, :4] for part in parts]), expected.columns[:, :4]
    )


def test_shuffled_columns_are_heard_the_same(rng):
    nats = said(rng, 600, 8)
    order = rng.permutation(8)
    expected = Listener(IS_LASTING, 8).push(nats)
    actual = Listener(IS_LASTING, 8).push(np.ascontiguousarray(nats[:, :, order]))
    np.testing.assert_array_equal(actual.surprises, expected.surprises)
    np.testing.assert_array_equal(actual.nats, expected.nats)
    names = np.append(order, -1)
    is_alone = np.diff(expected.nats, axis=1, prepend=-1, append=-1) != 0
    is_alone = is_alone[:, 1:] & is_alone[:, :-1]  # columns that say the same may be in any order
    np.testing.assert_array_equal(names[actual.columns][is_alone], expected.columns[is_alone])


def test_what_lasts_is_muted_and_heard_again_after_as_long():
    nats = np.full(1000, QUIET)
    nats[100:600] = LOUD
    nats[900:910] = LOUD
    heard = one(nats)
    assert (heard[100 : 100 + SETTINGS.lasting_rows - 1] == LOUD).all()
    assert (heard[100 + SETTINGS.lasting_rows - 1 : 600 + SETTINGS.lasting_rows - 1] == 0.0).all()
    assert (heard[600 + SETTINGS.lasting_rows : 900] > 0.0).all()
    assert (heard[900:910] == LOUD).all()


def test_what_is_somewhat_loud_is_muted_as_well():
    nats = np.full(400, QUIET)
    nats[100:] = -np.log(0.02)  # in fewer than 1 in 33 rows, but not in fewer than 1 in 333
    heard = one(nats)
    assert (heard[100 + SETTINGS.lasting_rows :] == 0.0).all()
    nats[100:] = -np.log(0.08)
    assert (one(nats)[100:] > 0.0).all(), "that is nothing to be muted for"


def test_a_fault_of_a_muted_question_leaves_passing_ones_their_say():
    nats = np.zeros((2, 500, 1), np.float32)
    nats[0, 50:, 0] = LOUD
    nats[1, 400, 0] = LOUD
    heard = Listener([True, False], 1).push(nats)
    assert heard.nats[399, 0] == 0.0
    assert heard.nats[400, 0] == LOUD
    assert heard.questions[400, 0] == 1


def test_what_is_accepted_is_muted_until_it_has_been_quiet():
    loudest = Listener([True], 2)
    nats = np.zeros((1, 10, 2), np.float32)
    nats[0, :, 0] = LOUD
    loudest.push(nats)
    loudest.lasting.accept(np.array([0]))
    assert (loudest.push(nats).nats == 0.0).all()
    loudest.push(np.zeros((1, SETTINGS.lasting_rows, 2), np.float32))
    assert loudest.push(nats).nats[0, 0] > 10.0


@pytest.mark.parametrize("shape", [(3, 0, 4), (3, 5, 0), (3, 1, 1)])
def test_nothing_and_next_to_nothing(shape):
    heard = Listener(IS_LASTING, shape[2]).push(np.zeros(shape, np.float32))
    assert heard.surprises.tolist() == [0.0] * shape[1]
    assert (heard.columns == -1).all()


def news(nats, cuts=(), places=(0, 1, 2, 3)):
    """Push (n, C) surprises of one lasting question; return the rows of news."""
    nats, places = np.asarray(nats, np.float32), np.array(places, np.int32)
    loudest, found, first = Listener([True], nats.shape[1], places), [], 0
    for part in np.split(nats, list(cuts)):
        heard = loudest.push(part[None], np.zeros(nats.shape[1]))
        found += (first + np.flatnonzero(heard.marks == Mark.NEWS)).tolist()
        again = Listener([True], nats.shape[1], places)
        again.restore(loudest.to_arrays())
        loudest, first = again, first + len(part)
    return found


@pytest.mark.parametrize("cuts", [[], [11], range(1, 150)], ids=["whole", "two", "by row"])
def test_news_is_a_place_that_was_quiet_while_no_other_begins(cuts):
    nats = np.full((150, 4), QUIET)
    nats[10:100, 0] = LOUD
    nats[15:20, 1] = LOUD  # right after: the same trouble spreads
    nats[60:63, 2] = LOUD
    nats[61:90, 3] = LOUD
    nats[[60 + SETTINGS.calm_rows // 2, 110], 2] = LOUD  # it was so lately; and then not
    assert news(nats, cuts) == [10, 60, 110]
    # What was loud before is quiet in row 110, even if all are in one place or are newcomers.
    assert news(nats, cuts, places=[0, 0, 0, 0]) == [10, 110]
    assert news(nats, cuts, places=[0, 1]) == [10, 110]


@pytest.mark.parametrize("cuts", [[], [105], range(1, 150)], ids=["whole", "two", "by row"])
def test_columns_of_the_same_place_are_news_once_older_ones_are_quiet_or_faint(cuts):
    nats = np.full((150, 2), QUIET)
    nats[10:100, 0] = LOUD
    nats[96:130, 1] = LOUD
    last = 96 + SETTINGS.window_rows
    assert news(nats, cuts, places=[0, 0]) == [10, *range(100, last + 1)]
    nats[96:130, 1] = 3.0 * LOUD  # beside it, the older one is faint
    assert news(nats, cuts, places=[0, 0]) == [10, *range(96, last + 1)]
    nats[10:130, 0] = 2.0 * LOUD
    assert news(nats, cuts, places=[0, 0]) == [10]
    nats[:, 0] = QUIET  # there is no older one
    assert news(nats, cuts, places=[0, 0]) == [96]


@pytest.mark.parametrize(("times_as_loud", "rows"), [(1.5, [10, 60]), (3.0, [10])])
def test_a_quieter_place_is_news_beside_a_louder_one_unless_it_is_faint(times_as_loud, rows):
    nats = np.full((150, 2), QUIET)
    nats[10:100, 0] = times_as_loud * LOUD
    nats[60:80, 1] = LOUD
    assert news(nats) == rows


def test_what_is_muted_is_no_news():
    nats = np.full((2 * SETTINGS.lasting_rows, 1), LOUD)
    assert news(nats, places=[0]) == [0]


def echoes(of_row, of_mean, of_relation=0.0):
    """Ask (n, C) nats of one row, of a mean over several and of a relation; return the echoes."""
    nats = np.stack(np.broadcast_arrays(of_row, of_mean, of_relation)).astype(np.float32)
    loudest = Listener([True] * 3, nats.shape[2], rows=[1, 16, 0])
    heard = loudest.push(nats, np.zeros(nats.shape[2]))
    return np.flatnonzero(heard.marks == Mark.ECHO).tolist()


def test_a_row_is_an_echo_where_only_the_mean_of_earlier_rows_is_loud():
    of_mean = np.full((10, 1), LOUD)
    of_row = np.zeros((10, 1))
    of_row[:6] = 4.0
    assert echoes(of_row, of_mean) == [6, 7, 8, 9]
    assert echoes(0.0 * of_row, 0.0 * of_mean) == []  # nothing is loud
    assert echoes(LOUD - 1 + 0.0 * of_row, of_mean) == []


def test_what_goes_the_other_way_does_not_show_the_trouble():
    nats = np.full((3, 4, 1), LOUD, np.float32)
    nats[0], nats[2] = 4.0, 0.0
    statistics = np.ones((3, 4, 1), np.float32)
    statistics[0, 2:] = -1.0
    loudest = Listener([True] * 3, 1, rows=[1, 16, 0])
    marks = loudest.push(nats, np.zeros(1), statistics).marks
    assert marks.tolist() == [Mark.NONE, Mark.NONE, Mark.ECHO, Mark.ECHO]


def test_what_is_no_mean_of_levels_has_no_echo():
    quiet = np.zeros((5, 1))
    assert echoes(quiet, quiet, quiet + LOUD) == []
    assert echoes(quiet, quiet + LOUD, quiet + LOUD - 1) == list(range(5))


def test_a_fifth_of_the_loudest_columns_shows_that_it_goes_on():
    of_mean = np.full((3, 16), LOUD)
    of_row = np.zeros((3, 16))
    of_row[1, 0] = of_row[2, :4] = 4.0
    assert echoes(of_row, of_mean) == [0, 1]
    of_mean[:, 1:] = 0.4 * LOUD  # one column is far louder than all others
    assert echoes(of_row, of_mean) == [0]


def test_without_rows_nothing_is_an_echo():
    nats = np.full((1, 4, 1), LOUD, np.float32)
    assert (Listener([True], 1).push(nats, np.zeros(1)).marks == Mark.NONE).all()
