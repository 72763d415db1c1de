"""Successors: who goes on under another name, and who does not."""

from itertools import pairwise

import numpy as np
import pytest

from smkc.evidence.columns import successors as successors_module
from smkc.evidence.columns.successors import Successors
from smkc.evidence.model import ReferenceEvidence
from smkc.recording import Recording, Scaling

N_REFERENCE, N_LIVE, CAME = 300, 160, 50
LEVELS = np.array([0.0, 40.0, -40.0, 0.0])


def rows_of(columns, first=0):
    """Return a recording of named columns (T,), NaN where not observed."""
    values = np.column_stack(list(columns.values()))
    rows, codes = np.nonzero(~np.isnan(values))
    times = np.arange(first, first + len(values))
    return Recording.from_observations(times, rows, codes, values[rows, codes], tuple(columns))


def usual(rng, n):
    return {f"pod-{j}/cpu": level + rng.normal(size=n) for j, level in enumerate(LEVELS)}


@pytest.fixture(scope="module")
def model():
    return ReferenceEvidence.fit(rows_of(usual(np.random.default_rng(1), N_REFERENCE)), window=2)


@pytest.fixture
def live(rng):
    return usual(rng, N_LIVE)


def renamed(live, old, new, at=CAME, until=None):
    """Let a column go on under another name from some row on, at most up to another."""
    live = {name: column.copy() for name, column in live.items()}
    live.setdefault(new, np.full(N_LIVE, np.nan))
    live[new][at:until] = live[old][at:until]
    live[old][at:until] = np.nan
    return live


def heirs(model, live, cuts=()):
    state = model.start()
    for a, b in pairwise([0, *cuts, N_LIVE]):
        state.push_rows(rows_of({k: v[a:b] for k, v in live.items()}, N_REFERENCE + a))
    return {new: old for new, (old, _) in state._rows.successors.heirs.items()}, state


def test_a_renamed_variable_goes_on_and_is_blamed_under_its_new_name(model, live):
    live = renamed(live, "pod-1/cpu", "pod-1-b/cpu")
    live["pod-1-b/cpu"][120:] += 8.0
    found, state = heirs(model, live)
    assert found == {"pod-1-b/cpu": "pod-1/cpu"}
    blame = state.blame(121)
    assert max(blame.by_evidence["level"].items(), key=lambda item: item[1])[0] == "pod-1-b/cpu"
    assert "pod-1/cpu" not in blame.variables
    assert sum(blame.by_evidence["level"].values()) > 5.0


@pytest.mark.parametrize("cuts", [(CAME,), (CAME + 33, 97), tuple(range(1, N_LIVE))])
def test_cuts_change_no_decision(model, live, cuts):
    live = renamed(live, "pod-1/cpu", "pod-1-b/cpu", until=140)
    live = renamed(live, "pod-2/cpu", "pod-2-b/cpu", at=CAME + 3)
    expected, _ = heirs(model, live)
    assert expected == {"pod-2-b/cpu": "pod-2/cpu"}
    assert heirs(model, live, cuts)[0] == expected


def test_of_two_at_once_each_goes_on_as_itself(model, live):
    for j in (0, 3):  # alike in values: the names decide
        live = renamed(live, f"pod-{j}/cpu", f"pod-{j}-b/cpu")
    assert heirs(model, live)[0] == {"pod-0-b/cpu": "pod-0/cpu", "pod-3-b/cpu": "pod-3/cpu"}


def test_values_that_do_not_go_on_are_a_stranger_s(model, live):
    live = renamed(live, "pod-1/cpu", "pod-1-b/cpu")
    live["pod-1-b/cpu"] += 5.0
    assert heirs(model, live)[0] == {}


def test_a_name_that_has_nothing_in_common_is_a_stranger_s(model, live):
    assert heirs(model, renamed(live, "pod-1/cpu", "queue length"))[0] == {}


def test_nobody_is_followed_who_is_there_or_long_gone(model, live):
    live["pod-1-b/cpu"] = np.where(np.arange(N_LIVE) < CAME, np.nan, live["pod-1/cpu"])
    assert heirs(model, live)[0] == {}
    live["pod-1/cpu"][CAME - 40 :] = np.nan
    assert heirs(model, live)[0] == {}


def test_who_is_back_is_followed_no_longer(model, live):
    back = renamed(live, "pod-1/cpu", "pod-1-b/cpu", until=130)
    back["pod-1-b/cpu"][130:] = 7.0
    found, state = heirs(model, back)
    assert found == {}
    assert not np.isnan(state._rows.successors.ring[(N_LIVE - 1) % 160, 1])


def test_a_successor_has_a_successor(model, live):
    live = renamed(live, "pod-1/cpu", "pod-1-b/cpu")
    live = renamed(live, "pod-1-b/cpu", "pod-1-c/cpu", at=CAME + 50)
    assert heirs(model, live)[0] == {"pod-1-c/cpu": "pod-1/cpu"}


def test_counters_are_compared_by_their_rates(rng):
    def column(n, start):
        return start + np.cumsum(rng.poisson(20.0, size=n))

    reference = rows_of({"requests_total": column(300, 0), "load": rng.normal(size=300)})
    model = ReferenceEvidence.fit(reference, window=2)
    live = {"requests_total": column(N_LIVE, 9000.0), "load": rng.normal(size=N_LIVE)}
    live = renamed(live, "requests_total", "requests_b_total")
    live["requests_b_total"] -= live["requests_b_total"][CAME]  # it starts from 0
    assert heirs(model, live)[0] == {"requests_b_total": "requests_total"}


def test_members_of_roles_are_left_to_them(rng):
    names = [f'cpu{{pod="{pod}",service="web"}}' for pod in ("a1", "a2", "b1")]
    reference = rows_of({name: rng.normal(size=300) for name in names[:2]})
    live = {name: rng.normal(size=N_LIVE) for name in names[:2]}
    live = renamed(live, names[1], names[2])
    assert heirs(ReferenceEvidence.fit(reference, window=2), live)[0] == {}


def test_names_without_end_are_not_all_remembered(monkeypatch):
    monkeypatch.setattr(successors_module, "MOST_REMEMBERED", 8)
    monkeypatch.setattr(successors_module, "MOST_WATCHED", 4)
    reference = rows_of({"a": np.sin(np.arange(64.0))})
    scaling = Scaling.fit(reference)
    some = Successors(scaling, ("a",), np.zeros((64, 1), np.float32), 8, lambda name: False)
    for t in range(200):
        row = Recording.from_rows([t], [{"a": 0.0, f"n{t}": 1.0}])
        for piece in some.pieces(row):
            some.take(some.renamed(piece), np.zeros((1, 1), np.float32))
    assert len(some.met) <= 16
    assert len(some.watched) <= 4
    assert some._familiar == {"a", *some.met}
