"""Which variables peers name: the one that moved, whatever else a row holds."""

from importlib.util import find_spec

import numpy as np
import pytest
from tests.benchmarks.real.peers.made_up_rows import recording, usual

from benchmarks.real.methods import METHODS
from benchmarks.real.peers.contract import Blames
from smkc.errors import NotFittedError

pytestmark = pytest.mark.filterwarnings("ignore::smkc.errors.CalibrationWarning")

BLAMING = ["robust-z-mean", "robust-z-max", "plain-z", "pca", "windowed-knn", "pyod-ecod"]
OURS = ["randproj-knn", "smkc-knn"]
REFERENCE = recording(usual(n_rows=300))
FAULT = 90


def faulty(variable):
    """A test part of which one variable is far off in a few rows."""
    table = usual(n_rows=140, seed=2, first=300)
    table[FAULT - 3 : FAULT + 3, variable] += 40.0
    return recording(table, first=300)


@pytest.mark.parametrize("key", BLAMING)
def test_the_variable_that_moved_comes_first(key):
    if key.startswith("pyod") and find_spec("pyod") is None:
        pytest.skip("pyod is not installed; the group benchmarks has it")
    peer = METHODS[key].make(0).fit(REFERENCE)
    for variable in (1, 3):
        test = faulty(variable)
        named = peer.blame(test, FAULT)
        assert named[0] == test.names[variable], key
        assert len(named) == len(set(named))
        assert set(named) <= set(test.names)


@pytest.mark.parametrize("key", OURS)
def test_our_causes_are_variables_of_the_test_part(key):
    peer = METHODS[key].make(0).fit(REFERENCE)
    test = faulty(2)
    named = peer.blame(test, FAULT)
    assert test.names[2] in named[:3]
    assert peer.blame(test.rows(0, 5), 2) == [], "too short for a window"


def test_chance_names_every_variable_once():
    test = faulty(0)
    peer = METHODS["random"].make(0)
    orders = [peer.blame(test, row) for row in range(20)]
    assert all(sorted(order) == sorted(test.names) for order in orders)
    assert len({order[0] for order in orders}) == len(test.names)
    assert peer.blame(test, 3) == orders[3]


def test_who_blames_is_known_without_asking():
    assert isinstance(METHODS["pca"].make(0), Blames)
    assert not isinstance(METHODS["isolation-forest"].make(0), Blames)


@pytest.mark.parametrize("key", [*BLAMING, *OURS])
def test_nobody_blames_before_fitting(key):
    with pytest.raises(NotFittedError):
        METHODS[key].make(0).blame(faulty(0), 0)


def test_a_longer_stride_bounds_the_windows():
    from benchmarks.real.peers.smkc_detector import DetectorPeer

    peer = DetectorPeer(detector="knn", window=16, most_windows=50).fit(REFERENCE)
    assert peer.detector_.stride == 6
    scores = peer.score(faulty(1))
    assert np.isfinite(scores).mean() > 0.9
