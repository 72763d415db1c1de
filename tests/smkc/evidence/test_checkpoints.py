"""Causes from checkpoints: those of a second pass over all rows, without the pass."""

from dataclasses import replace

import numpy as np
import pytest
from tests import worlds

import smkc
from smkc.evidence import checkpoints
from smkc.evidence.fitted import ROWS_PER_CHECKPOINT
from smkc.evidence.state import EvidenceState

N_REFERENCE, N_LIVE = 800, 2600
FAULTS = (700, 1900)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    table = worlds.churn(rng, worlds.coupled(rng, N_REFERENCE + N_LIVE, 5))
    for at in FAULTS:
        table[N_REFERENCE + at : N_REFERENCE + at + 10, 1] += 25
    return table


@pytest.fixture(scope="module")
def detector(table):
    return smkc.Detector().fit(worlds.recording_of(table[:N_REFERENCE]))


@pytest.fixture(scope="module")
def live(table):
    return worlds.recording_of(table[N_REFERENCE:], first_time=N_REFERENCE)


def without_checkpoints(scored):
    return replace(scored, windows_scored=replace(scored.windows_scored, checkpoints={}))


def test_causes_are_those_of_a_whole_pass(detector, live):
    scored = detector.score(live)
    alerts = scored.alerts()
    for at in FAULTS:
        assert any(one.first_row <= at + 10 and one.last_row >= at for one in alerts)
    assert without_checkpoints(scored).alerts() == alerts
    for row in (5, 600, N_LIVE - 1):
        time = live.times[row]
        assert scored.explain(time) == without_checkpoints(scored).explain(time)


def test_an_alert_costs_no_second_pass(detector, live, monkeypatch):
    n_pushed = 0
    push_rows = EvidenceState.push_rows

    def counted(self, rows, *names):
        nonlocal n_pushed
        n_pushed += len(rows)
        return push_rows(self, rows, *names)

    monkeypatch.setattr(EvidenceState, "push_rows", counted)
    scored = detector.score(live)
    assert n_pushed == N_LIVE
    alerts = scored.alerts()
    assert 0 < n_pushed - N_LIVE <= len(alerts) * ROWS_PER_CHECKPOINT
    scored.alerts()
    scored.to_dict()
    assert n_pushed - N_LIVE <= len(alerts) * ROWS_PER_CHECKPOINT


def test_memory_is_bounded_and_quiet_parts_make_room(detector, live, monkeypatch):
    all_of_them = detector.score(live).windows_scored.checkpoints
    assert list(all_of_them) == list(range(ROWS_PER_CHECKPOINT, N_LIVE, ROWS_PER_CHECKPOINT))
    size = max(sum(a.nbytes for a in arrays.values()) for arrays, _ in all_of_them.values())
    monkeypatch.setattr(checkpoints, "MAX_CHECKPOINT_BYTES", 3 * size)
    scored = detector.score(live)
    kept = scored.windows_scored.checkpoints
    assert 0 < len(kept) <= 3
    assert sum(a.nbytes for arrays, _ in kept.values() for a in arrays.values()) <= 3 * size
    for at in FAULTS:
        assert at // ROWS_PER_CHECKPOINT * ROWS_PER_CHECKPOINT in kept
    assert without_checkpoints(scored).alerts() == scored.alerts()
