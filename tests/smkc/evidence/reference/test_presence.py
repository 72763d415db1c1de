"""Silence that is a symptom, and silence that is routine."""

import numpy as np
import pytest

from smkc.evidence.reference.choices import Choices
from smkc.evidence.reference.contract import Block
from smkc.evidence.reference.memory import Memory
from smkc.evidence.reference.presence import Presence, groups_of

NAMES = [f"pod-{pod}/{what}" for pod in "abcd" for what in ("cpu", "mem", "net", "disk")]


def block_of(rows):
    nothing = np.empty((len(rows), 0), np.float32)
    return Block(
        rows, nothing, nothing, np.ones(len(rows), np.float32), rows, nothing, np.zeros(len(rows))
    )


def surprises(fitted, rows, cuts=()):
    memory = Memory(Choices(window=2, block=8, quarantine=100, memory=512), 1)
    part = fitted.start(block_of(rows[:1]), memory)
    found = [part.push(block_of(some)) for some in np.split(rows, cuts)]
    return np.concatenate(found)[:, 0], part


@pytest.fixture
def quiet():
    return np.zeros((300, len(NAMES)), np.float32)


def test_a_member_that_falls_silent_is_a_symptom(quiet):
    fitted = Presence.fit(quiet, NAMES, 2)
    rows = quiet[:60].copy()
    rows[40:, 4:8] = np.nan  # all of pod b
    rows[20, 0] = np.nan  # one reading is lost
    found, part = surprises(fitted, rows)
    assert found[20] == 0.0
    assert found[40] > 5.0
    assert found[45:].max() < 1.0  # the new state is no news
    assert part.made(np.arange(4)).shape == (4, len(NAMES))


def test_scattered_silence_is_routine_where_it_is_usual(rng, quiet):
    often = quiet.copy()
    often[rng.random(often.shape) < 0.1] = np.nan
    rows = quiet[:200].copy()
    rows[rng.random(rows.shape) < 0.1] = np.nan
    routine, _ = surprises(Presence.fit(often, NAMES, 2), rows)
    news, _ = surprises(Presence.fit(quiet, NAMES, 2), rows)
    assert routine[10:40].mean() < 0.5 * news[10:40].mean()
    assert np.quantile(routine, 0.9) < 4.0
    assert news[150:].mean() < news[:50].mean()  # and is learned where it becomes so


def test_cuts_change_nothing(rng, quiet):
    rows = quiet[:100].copy()
    rows[rng.random(rows.shape) < 0.2] = np.nan
    fitted = Presence.fit(quiet, NAMES, 2)
    np.testing.assert_array_equal(
        surprises(fitted, rows)[0], surprises(fitted, rows, [1, 2, 50])[0]
    )


def test_groups_are_members_and_families():
    groups = groups_of(['cpu{pod="a"}', 'cpu{pod="b"}', 'mem{pod="a"}', "alone"])
    found = {tuple(np.flatnonzero(group).tolist()) for group in groups}
    assert (0, 1, 2, 3) in found
    assert (0, 2) in found
