"""What every peer must do, checked over all of them."""

from importlib.util import find_spec

import numpy as np
import pytest
from tests.benchmarks.real.peers.made_up_rows import recording, usual

from benchmarks.real.peers import PEERS, make_peer
from smkc.errors import NotFittedError, SettingError
from smkc.recording import Recording

LIBRARY = {
    "isolation forest": "sklearn",
    "River half-space trees": "river",
    "PyOD IForest": "pyod",
    "PyOD ECOD": "pyod",
    "STUMPY discord": "stumpy",
}


def case(name):
    marks = []
    library = LIBRARY.get(name)
    if library is not None:
        missing = find_spec(library) is None
        reason = f"{library} is not installed; the group benchmarks has it"
        marks.append(pytest.mark.skipif(missing, reason=reason))
    if library == "stumpy":
        marks.append(pytest.mark.slow)  # its loops are compiled anew in every process
    return pytest.param(name, marks=marks, id=name)


pytestmark = pytest.mark.filterwarnings("ignore::smkc.errors.CalibrationWarning")
each_peer = pytest.mark.parametrize("name", [case(name) for name in PEERS])
REFERENCE = recording(usual(n_rows=200))
N_ROWS = 140


def live(table=None, names=None):
    table = usual(n_rows=N_ROWS, seed=2, first=200) if table is None else table
    return recording(table, names, first=200)


def scores_of(name, test, reference=REFERENCE):
    scores = make_peer(name).fit(reference).score(test)
    assert scores.shape == (len(test),)
    assert scores.dtype == np.float64
    assert not np.isinf(scores).any()
    return scores


@each_peer
def test_scores_every_row_the_same_each_time(name):
    first, second = scores_of(name, live()), scores_of(name, live())
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, second)


@each_peer
def test_scoring_changes_nothing_that_was_learned(name):
    peer = make_peer(name).fit(REFERENCE)
    before = peer.score(live())
    peer.score(live(usual(n_rows=N_ROWS, seed=3) + 50.0))
    np.testing.assert_array_equal(peer.score(live()), before)


@each_peer
def test_later_rows_change_no_score_beyond_the_look_ahead(name):
    table = usual(n_rows=N_ROWS, seed=2, first=200)
    changed = table.copy()
    cut = 100
    changed[cut:] = changed[cut:] ** 2 + 7.0
    safe = cut - make_peer(name).look_ahead
    assert safe > 0
    expected, actual = scores_of(name, live(table)), scores_of(name, live(changed))
    np.testing.assert_allclose(actual[:safe], expected[:safe], rtol=0, atol=1e-6)
    shorter = scores_of(name, live(table[:cut]))
    np.testing.assert_allclose(shorter[:safe], expected[:safe], rtol=0, atol=1e-6)


@each_peer
def test_new_and_missing_variables_are_survived(name):
    table = usual(n_rows=N_ROWS, seed=2, first=200)
    table[60:, 1] = np.nan  # one vanishes
    table[:, 2] = np.nan  # one is never seen
    both = np.column_stack([table, np.where(np.arange(N_ROWS) < 50, np.nan, 3.0)])
    scores = scores_of(name, live(both, ["v0", "v1", "v2", "v3", "new"]))
    assert np.isfinite(scores).any()


@each_peer
def test_a_part_without_any_known_variable_is_survived(name):
    scores_of(name, live(names=["w0", "w1", "w2", "w3"]))


@each_peer
def test_constant_columns_and_rare_ones_are_survived(name):
    table = usual(n_rows=200)
    table[:, 0] = 5.0
    table[3:, 1] = np.nan  # three observations settle nothing
    scores = scores_of(name, live(), recording(table))
    assert np.isfinite(scores).any()


@each_peer
def test_empty_rows_are_survived(name):
    table = usual(n_rows=N_ROWS, seed=2, first=200)
    table[:3] = np.nan
    table[70:75] = np.nan
    assert np.isfinite(scores_of(name, live(table))).any()


@each_peer
def test_a_part_without_rows_has_no_scores(name):
    scores_of(name, REFERENCE.rows(0, 0))


@each_peer
def test_a_peer_that_was_not_fitted_says_so(name):
    if name == "random":
        pytest.skip("random scores learn nothing")
    with pytest.raises(NotFittedError, match="call fit first"):
        make_peer(name).score(live())


@pytest.mark.parametrize("name", ["robust z, mean", "plain z, mean", "PCA", "windowed kNN"])
def test_a_shift_far_out_scores_highest(name):
    table = usual(n_rows=N_ROWS, seed=2, first=200)
    table[90] += [9.0, -9.0, 9.0, -9.0]
    assert 90 <= int(np.argmax(scores_of(name, live(table)))) < 98


def test_an_unknown_name_is_refused():
    with pytest.raises(SettingError, match="no peer is called 'oracle'"):
        make_peer("oracle")


def test_seeds_change_random_scores():
    rows = Recording.from_rows(range(5), [{"cpu": 1.0}] * 5)
    first, other = (make_peer("random", seed).score(rows) for seed in (0, 1))
    assert not np.array_equal(first, other)
