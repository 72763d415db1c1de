"""Roles: what a service does, whichever pods it has."""

import numpy as np
import pytest

from smkc.errors import ModelFileError
from smkc.evidence.columns import roles as roles_module
from smkc.evidence.columns.farthest import Farthest
from smkc.evidence.columns.roles import Members, Roles
from smkc.evidence.model import ReferenceEvidence
from smkc.evidence.settings import SETTINGS
from smkc.recording import Identity, Recording

METRICS = ("cpu", "latency")


def fleet(rng, n, generations, start=0, shift=None):
    """Telemetry of two services of two pods; pods have new names in every generation."""
    rows = []
    for t in range(n):
        generation = start + t * generations // n
        row = {}
        for service in ("web", "cart"):
            common = rng.normal()
            for pod in range(2):
                for metric in METRICS:
                    name = f'{metric}{{pod="{service}-{generation}-{pod}",service="{service}"}}'
                    row[name] = common + 0.3 * rng.normal()
        rows.append(row)
    if shift is not None:
        first, last, which = shift
        for row in rows[first:last]:
            for name in row:
                if which in name:
                    row[name] += 6.0
    return rows


def test_roles_are_identifiers_without_the_labels_that_name_members():
    names = ['cpu{pod="a",zone="x"}', 'cpu{pod="b",zone="x"}', 'mem{pod="a"}', "load", "cpu{bad"]
    roles = Roles.of(names, ("pod",))
    assert roles.names == ('cpu{zone="x"}', "mem")
    assert roles.is_shared.tolist() == [True, False]
    assert roles.columns == (
        'cpu{zone="x"} (middle)',
        "mem (middle)",
        'cpu{zone="x"} (farthest)',
    )


def test_labels_that_come_and_go_name_members(rng):
    rows = [{f'cpu{{box="b{t // 20}",zone="z"}}': rng.normal(), "load": 1.0} for t in range(100)]
    reference = Recording.from_rows(range(100), rows)
    assert Roles.fit(reference, reference.names, None).names == ('cpu{zone="z"}',)
    steady = [{f'cpu{{box="b{k}",zone="z"}}': 1.0 for k in range(3)} for _ in range(100)]
    reference = Recording.from_rows(range(100), steady)
    assert Roles.fit(reference, reference.names, None).names == ()
    told = Roles.fit(reference, reference.names, Identity(drop=("box",)))
    assert told.names == ('cpu{zone="z"}',)


def test_values_are_the_middle_and_the_farthest_of_members(rng):
    names = tuple(f'cpu{{pod="{pod}"}}' for pod in "abcd")
    values = rng.normal(size=(30, 4)).astype(np.float32)
    values[rng.random(values.shape) < 0.4] = np.nan
    values[5] = np.nan
    row, code = np.nonzero(~np.isnan(values))
    scaled = Recording.from_observations(np.arange(30), row, code, values[row, code], names)
    columns, who = Members(Roles.of(names, ("pod",)), names).values(scaled)
    for t in range(30):
        seen = values[t][~np.isnan(values[t])]
        if not len(seen):
            assert np.isnan(columns[t]).all()
            assert who[t, 0] == -1
            continue
        assert columns[t, 0] == pytest.approx(np.median(seen))
        assert columns[t, 1] == seen[np.argmax(np.abs(seen))]
        assert values[t, names.index(scaled.names[who[t, 0]])] == columns[t, 1]


def test_a_fault_is_seen_and_blamed_after_every_pod_was_replaced():
    rng = np.random.default_rng(7)
    reference = Recording.from_rows(range(1200), fleet(rng, 1200, 6))
    model = ReferenceEvidence.fit(reference)
    culprit = 'latency{pod="cart-7-1"'
    live = Recording.from_rows(
        range(1200, 1600), fleet(rng, 400, 2, start=6, shift=(300, 330, culprit))
    )
    state = model.start()
    scores = state.push_rows(live)
    assert not set(live.names) & set(model.names), "every pod is a new one"
    inside = scores.p_values[300:330]
    assert np.median(inside) < 0.01
    assert (np.delete(scores.p_values, np.s_[290:360]) < 0.01).mean() < 0.05
    assert next(iter(state.blame(305, 325).variables)).startswith(culprit)


def test_the_null_knows_no_variable_that_came_later():
    """Else every score of the reference's second part would be that of a stranger."""
    rng = np.random.default_rng(3)
    early = rng.normal(size=(600, 6))
    rows = [{f"v{j}": x for j, x in enumerate(row)} for row in early]
    for t in range(420, 600):
        rows[t] |= {f"late{j}": rng.normal() for j in range(6)}
    model = ReferenceEvidence.fit(Recording.from_rows(range(600), rows))
    only = ReferenceEvidence.fit(
        Recording.from_rows(range(600), [{k: row[k] for k in row if k[0] == "v"} for row in rows])
    )
    at = model.evidence_names.index("jump")
    middle = [np.nanmedian(each.normal.statistics[at]) for each in (model, only)]
    assert middle[0] == pytest.approx(middle[1], rel=0.2)


def test_blame_falls_on_the_member_that_was_farthest():
    roles = Roles.of(['cpu{pod="a"}', 'cpu{pod="b"}'], ("pod",))
    farthest = Farthest(roles, 4)
    farthest.take(0, np.array([[0], [1], [1], [-1]]), ["a", "b"])
    assert farthest.shared_out({"cpu (farthest)": 6.0, "load": 1.0}, 0, 3) == {
        "a": 2.0,
        "b": 4.0,
        "load": 1.0,
    }
    assert farthest.shared_out({"cpu (middle)": 6.0}, 3, 4) == {"cpu (middle)": 6.0}
    farthest.take(4, np.array([[0]]), ["c"])
    assert farthest.shared_out({"cpu (middle)": 1.0}, 4, 5) == {"c": 1.0}
    with pytest.raises(ModelFileError, match="do not fit"):
        farthest.restore(np.zeros((3, 1), np.int64), ["a"])


def test_members_without_end_are_not_all_remembered(monkeypatch):
    monkeypatch.setattr(roles_module, "MOST_REMEMBERED", 20)
    roles = Roles.of(['cpu{pod="a"}', 'cpu{pod="b"}'], ("pod",))
    members = Members(roles, ())
    for t in range(400):
        row = {'cpu{pod="stays"}': 1.0, f'cpu{{pod="p{t}"}}': 2.0}
        members.values(Recording.from_rows([t], [row]))
    assert len(members.ages) <= 2 * 20 + 1
    assert len(members._role_of) <= 2 * 20 + 1
    assert members.ages['cpu{pod="stays"}'] == SETTINGS.min_observations


# ------------------------------------------------------------------ in the variable's own unit


def test_members_are_compared_with_their_peers_in_their_own_unit(rng):
    """Against plain loops; a newcomer counts from its first observation."""
    names = [f'cpu{{pod="{pod}"}}' for pod in "abcd"] + ['mem{pod="a"}', "load"]
    values = rng.normal(size=(40, 6)).astype(np.float32)
    values[rng.random(values.shape) < 0.4] = np.nan
    values[:20, 3] = np.nan
    values[30] = np.nan
    rows, codes = np.nonzero(~np.isnan(values))
    plain = values[rows, codes]
    scaled = Recording.from_observations(np.arange(40), rows, codes, plain * 7, tuple(names))
    members = Members(Roles.of(names, ("pod",)), names[:3])
    middles, apart, who = members.in_own_unit(scaled, scaled.values / 7)
    assert members.roles.middle_columns == ("cpu (middle)", "mem (middle)")
    assert members.roles.peer_columns == ("cpu (one member apart)",)
    for t in range(40):
        seen = sorted((float(values[t, j]), j) for j in range(4) if not np.isnan(values[t, j]))
        middle = float(np.median([x for x, _ in seen])) if seen else np.nan
        np.testing.assert_allclose(middles[t, 0], middle, rtol=1e-5)
        np.testing.assert_allclose(middles[t, 1], values[t, 4], rtol=1e-5)
        if len(seen) < 2:
            assert np.isnan(apart[t, 0])
            assert who[t, 0] == -1
            continue
        farthest = max(abs(x - middle) for x, _ in seen)
        assert abs(apart[t, 0]) == pytest.approx(farthest, rel=1e-4)
        name = scaled.names[who[t, 0]]
        assert values[t, names.index(name)] - middle == pytest.approx(apart[t, 0], rel=1e-4)


def test_a_member_that_leaves_its_peers_is_alerted_however_young(rng):
    reference = Recording.from_rows(range(900), fleet(rng, 900, 6))
    rows = fleet(rng, 200, 2, start=6)
    for row in rows[120:150]:  # twenty rows after it came
        row['latency{pod="web-7-1",service="web"}'] += 12.0
    model = ReferenceEvidence.fit(reference)
    state = model.start()
    found = state.push_rows(Recording.from_rows(range(900, 1100), rows))
    assert (found.p_values[120:150] < 0.001).mean() > 0.9
    assert (found.p_values[:120] > 0.001).all()
    assert next(iter(state.blame(125, 150).variables)) == 'latency{pod="web-7-1",service="web"}'
