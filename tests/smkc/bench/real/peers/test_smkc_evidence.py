"""The evidences as a peer: a row has the score of the windows that cover it."""

import numpy as np
import pytest
from tests.smkc.bench.real.peers.made_up_rows import recording, usual

from smkc.bench.real.peers.contract import Blames
from smkc.bench.real.peers.smkc_evidence import EvidencePeer
from smkc.errors import NotFittedError

N_ROWS = 120


@pytest.fixture(scope="module")
def peer():
    return EvidencePeer().fit(recording(usual(n_rows=200)))


def live(table):
    return recording(table, None, first=200)


def test_a_fault_scores_highest_and_is_blamed(peer):
    table = usual(n_rows=N_ROWS, seed=2, first=200)
    table[90:96, 2] += 9.0
    scores = peer.score(live(table))
    assert scores.shape == (N_ROWS,)
    assert 80 <= int(np.argmax(scores)) < 104
    assert isinstance(peer, Blames)
    assert peer.blame(live(table), 92)[0] == "v2"


def test_scores_look_no_further_ahead_than_a_window(peer):
    table = usual(n_rows=N_ROWS, seed=2, first=200)
    changed = table.copy()
    changed[100:] += 20.0
    safe = 100 - peer.look_ahead
    before, after = peer.score(live(table)), peer.score(live(changed))
    np.testing.assert_array_equal(before[:safe], after[:safe])
    shorter = peer.score(live(table[:100]))
    np.testing.assert_array_equal(before[:safe], shorter[:safe])


def test_scoring_changes_nothing(peer):
    table = usual(n_rows=N_ROWS, seed=3, first=200)
    before = peer.score(live(table))
    peer.score(live(table + 50.0))
    np.testing.assert_array_equal(peer.score(live(table)), before)


def test_few_rows_and_none(peer):
    table = usual(n_rows=3, seed=2, first=200)
    assert np.isfinite(peer.score(live(table))).all()
    assert peer.score(live(table[:0])).shape == (0,)
    with pytest.raises(NotFittedError, match="call fit first"):
        EvidencePeer().score(live(table))
