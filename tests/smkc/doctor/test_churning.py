import numpy as np
import pytest
from tests.smkc.doctor.conftest import made

from smkc.doctor import CHURN, add_churn, hold_out
from smkc.recording import parse


@pytest.fixture
def wide(rng: np.random.Generator):
    whole = made(rng, 1500, n_pairs=10)
    return hold_out(whole.rows(0, 500), whole.rows(500), 16, {})


def churned(held, kind: str, seed: int = 1):
    return add_churn(held, kind, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", list(CHURN))
def test_rows_are_kept_and_the_seed_determines_the_rest(wide, kind: str) -> None:
    copy = churned(wide, kind)
    assert np.array_equal(copy.times, wide.recording.times)
    assert copy != wide.recording
    assert copy == churned(wide, kind)
    assert copy != churned(wide, kind, seed=2)


def test_renamed_variables_go_on_under_another_name(wide) -> None:
    copy = churned(wide, "rename")
    assert len(copy.names) == 24
    assert copy.n_observations == wide.recording.n_observations
    for new in set(copy.names) - set(wide.recording.names):
        old = new.split("~")[0]
        before, after = copy.trace(old), copy.trace(new)
        assert np.all(np.isnan(before) != np.isnan(after))
        assert np.array_equal(np.where(np.isnan(before), after, before), wide.recording.trace(old))


def test_vanished_variables_do_not_return(wide) -> None:
    copy = churned(wide, "vanish")
    ended = [name for name in copy.names if np.isnan(copy.trace(name)[-1])]
    assert len(ended) == 4
    for name in ended:
        is_gone = np.isnan(copy.trace(name))
        assert np.all(np.diff(is_gone.astype(int)) >= 0)
        assert 100 <= int(is_gone.argmax()) <= 900


def test_new_variables_repeat_values_of_others(wide) -> None:
    copy = churned(wide, "appear")
    new = set(copy.names) - set(wide.recording.names)
    assert len(new) == 4
    assert copy.select(wide.recording.names) == wide.recording
    for name in new:
        trace = copy.trace(name)
        first = int(np.isfinite(trace).argmax())
        old = wide.recording.trace(name.split("~")[0])
        assert np.array_equal(trace[first:], old[: len(old) - first])


def test_a_tenth_is_missing_in_bursts(wide) -> None:
    copy = churned(wide, "missing")
    lost = 1 - copy.n_observations / wide.recording.n_observations
    assert 0.06 < lost < 0.13
    gone = np.isnan(np.column_stack([copy.trace(name) for name in copy.names]))
    n_bursts = np.count_nonzero(np.diff(gone.astype(int), axis=0) > 0)
    assert 6 < gone.sum() / n_bursts < 16


def test_new_names_change_a_label(rng: np.random.Generator) -> None:
    whole = made(rng, 400).rename(lambda name: f'cpu{{pod="{name}"}}')
    copy = churned(hold_out(whole, whole, 16, {}), "rename")
    (new,) = set(copy.names) - set(whole.names)
    metric, labels = parse(new)
    assert metric == "cpu"
    assert "~" in labels["pod"]
