"""Scores of rows as they come: causal, the same however rows are cut, sane under churn."""

from itertools import pairwise

import numpy as np
import pytest

from smkc.errors import InputError, ModelFileError
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording

N_REFERENCE, N_LIVE = 240, 150


def recording(values, names=None, first=0):
    names = names or [f"v{j}" for j in range(values.shape[1])]
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(names))


def waves(rng, n, first=0, n_variables=5):
    t = np.arange(first, first + n)[:, None]
    return np.sin(t / (7.0 + np.arange(n_variables))) + 0.2 * rng.normal(size=(n, n_variables))


@pytest.fixture(scope="module")
def model():
    return ReferenceEvidence.fit(recording(waves(np.random.default_rng(1), N_REFERENCE)), window=2)


@pytest.fixture(scope="module")
def live():
    """Rows with a fault, gaps, a vanished, a new and a renamed variable, and silent rows."""
    rng = np.random.default_rng(2)
    values = np.full((N_LIVE, 7), np.nan)
    values[:, :5] = waves(rng, N_LIVE, N_REFERENCE)
    values[60:75, 1] += 4.0
    values[90:, 2] = np.nan
    values[30:, 5] = rng.normal(size=N_LIVE - 30)
    values[70:, 6], values[70:, 3] = values[70:, 3], np.nan
    values[rng.random(values.shape) < 0.1] = np.nan
    values[100:104] = np.nan
    return values


NAMES = ["v0", "v1", "v2", "v3", "v4", "new", "v3~2"]


def scored(model, values, cuts=(), names=NAMES, first=N_REFERENCE):
    state = model.start()
    edges = [0, *cuts, len(values)]
    parts = [state.push_rows(recording(values[a:b], names, first + a)) for a, b in pairwise(edges)]
    keys = ("scores", "p_values", "nats")
    return {key: np.concatenate([getattr(part, key) for part in parts]) for key in keys}, state


@pytest.mark.parametrize("cuts", [(1,), (50, 51, 97), tuple(range(1, N_LIVE))])
def test_cuts_change_nothing(model, live, cuts):
    whole, _ = scored(model, live)
    parts, _ = scored(model, live, cuts)
    for key, expected in whole.items():
        np.testing.assert_array_equal(parts[key], expected)


def test_later_rows_change_nothing(model, live):
    whole, _ = scored(model, live)
    changed = live.copy()
    changed[80:] = 50.0
    other, _ = scored(model, changed)
    np.testing.assert_array_equal(other["scores"][:80], whole["scores"][:80])
    assert (other["scores"][80:] != whole["scores"][80:]).any()


def test_order_of_variables_changes_nothing(model, live):
    order = np.array([4, 6, 0, 5, 2, 1, 3])
    whole, _ = scored(model, live)
    state = model.start(follows=True)
    shuffled = state.push_rows(live[:, order], [NAMES[j] for j in order])
    np.testing.assert_array_equal(shuffled.scores, whole["scores"])


def test_scores_are_finite_whatever_is_missing(model, live):
    found, _ = scored(model, live)
    assert np.isfinite(found["scores"]).all()
    assert ((found["p_values"] > 0) & (found["p_values"] <= 1)).all()
    empty, _ = scored(model, np.full((40, 7), np.nan))
    assert np.isfinite(empty["scores"]).all()


def test_a_fault_is_found_and_its_variable_named(model):
    rng = np.random.default_rng(3)
    values = waves(rng, 60, N_REFERENCE)
    values[40:, 1] += 5.0
    state = model.start(follows=True)
    found = state.push_rows(values, [f"v{j}" for j in range(5)])
    assert found.p_values[40:].max() < 0.01
    assert np.median(found.p_values[:40]) > 0.05
    blame = state.blame(40, 60)
    assert next(iter(blame.variables)) == "v1"
    assert sum(blame.variables.values()) == pytest.approx(1.0)
    level = blame.by_evidence["level"]
    assert max(level, key=level.get) == "v1"


def test_what_was_unusual_before_the_trouble_is_not_its_cause():
    rng = np.random.default_rng(5)
    model = ReferenceEvidence.fit(recording(rng.normal(size=(N_REFERENCE, 5))), window=2)
    values = rng.normal(size=(160, 5))
    values[:, 3] += 9.0  # all the time, and farther than the fault goes
    values[140:, 1] += 5.0
    state = model.start(follows=True)
    state.push_rows(values, [f"v{j}" for j in range(5)])
    assert next(iter(state.blame(140, 150, begun=10).variables)) == "v3", "nothing is known before"
    assert next(iter(state.blame(140, 150).variables)) == "v1"
    assert next(iter(state.blame(140, 150, begun=130).variables)) == "v1"
    late = state.blame(155, 160, begun=155)  # the rows before end 40 rows before that
    assert next(iter(late.variables)) == "v1"


def test_newcomers_are_judged_by_their_own_past(model):
    rng = np.random.default_rng(4)
    values = np.column_stack([waves(rng, 150, N_REFERENCE), rng.normal(size=150)])
    values[130:, 5] += 8.0
    state = model.start(follows=True)
    found = state.push_rows(values, [*(f"v{j}" for j in range(5)), "new"])
    at = found.evidences.index("newcomers")
    assert np.isnan(found.nats[0, at])
    assert np.nanmin(found.nats[132:140, at]) > np.nanquantile(found.nats[60:130, at], 0.9)
    assert list(state.blame(132).by_evidence["newcomers"]) == ["new"]


def test_a_saved_state_goes_on_exactly(model, live):
    whole, _ = scored(model, live)
    _, state = scored(model, live[:77])
    arrays, header = state.to_arrays()
    arrays = {key: array.copy() for key, array in arrays.items()}
    again = ReferenceEvidence.restored(*model.to_arrays())
    resumed = again.start().restored(arrays, header)
    rest = resumed.push_rows(recording(live[77:], NAMES, N_REFERENCE + 77))
    np.testing.assert_array_equal(rest.scores, whole["scores"][77:])
    np.testing.assert_array_equal(rest.p_values, whole["p_values"][77:])
    with pytest.raises(InputError, match="already"):
        resumed.restored(arrays, header)
    del arrays["scorer.recent"]
    with pytest.raises(ModelFileError, match="recent"):
        again.start().restored(arrays, header)


def test_rows_that_do_not_follow_start_without_a_past(model, live):
    values = live[:20].copy()
    values[0] += 3.0  # a jump, if there is a row before
    near, _ = scored(model, values)
    far, _ = scored(model, values, first=10 * N_REFERENCE)
    jump = model.evidence_names.index("jump")
    assert near["nats"][0, jump] > 3.0 > far["nats"][0, jump]
    assert np.isfinite(far["scores"]).all()


def test_misuse_is_named(model, live):
    state = model.start()
    state.push_rows(recording(live[:10], NAMES, N_REFERENCE))
    with pytest.raises(InputError, match="not after"):
        state.push_rows(recording(live[:10], NAMES, N_REFERENCE))
    with pytest.raises(InputError, match="names"):
        state.push_rows(live)
    with pytest.raises(InputError, match="remembered"):
        state.blame(10)
    with pytest.raises(InputError, match="remembered"):
        state.accept(3, 40)
