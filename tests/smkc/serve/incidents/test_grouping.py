from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.serve.incidents.grouping import REJOIN_MILLISECONDS, Incident, united

MINUTE = 60_000


def incident(id: str, start: int, end: int, names: str, severity: str = "warning") -> Incident:
    """Return an incident of one alert; each letter is a name."""
    return Incident(id=id, start=start, end=end, names=frozenset(names), severity=severity)


def grouped(alerts: list[Incident]) -> set[frozenset[str]]:
    """Take one alert after another, as the store does; return the ids in each incident."""
    known: dict[str, Incident] = {}
    parts: dict[str, frozenset[str]] = {}
    for one in alerts:
        whole, others = united(
            one,
            lambda since, until: [
                other for other in known.values() if other.end >= since and other.start <= until
            ],
        )
        parts[one.id] = frozenset({one.id}).union(*(parts.pop(other.id) for other in others))
        for other in others:
            del known[other.id]
        known[one.id] = whole
    return set(parts.values())


def split(*parts: str) -> set[frozenset[str]]:
    return {frozenset(part) for part in parts}


LATE = 10 * MINUTE + REJOIN_MILLISECONDS


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(incident("b", 5 * MINUTE, LATE, "xz"), split("ab"), id="overlap and share"),
        pytest.param(incident("b", 5 * MINUTE, LATE, "z"), split("a", "b"), id="share nothing"),
        pytest.param(incident("b", LATE, LATE, "x"), split("ab"), id="just in time"),
        pytest.param(incident("b", LATE + 1, LATE + 1, "x"), split("a", "b"), id="too late"),
        pytest.param(incident("b", 0, 0, "y"), split("ab"), id="at the same time"),
    ],
)
def test_two_alerts(second, expected):
    first = incident("a", 0, 10 * MINUTE, "xy")
    assert grouped([first, second]) == grouped([second, first]) == expected


def test_an_alert_may_join_two_incidents_into_one():
    """Two clients of a database alert first, and then the database itself."""
    cart, search = incident("c", 0, MINUTE, "cx"), incident("s", 0, MINUTE, "sy")
    database = incident("d", MINUTE, 2 * MINUTE, "xy")
    assert grouped([cart, search]) == split("c", "s")
    assert grouped([cart, search, database]) == split("csd")


def test_what_an_incident_grows_by_reaches_further():
    """The third is near the first two only through the second, in time and by name."""
    first = incident("a", 0, 0, "x")
    second = incident("b", 4 * MINUTE, 20 * MINUTE, "xy")
    third = incident("c", 24 * MINUTE, 24 * MINUTE, "x")
    assert grouped([first, third]) == split("a", "c")
    assert grouped([first, third, second]) == split("abc")


def test_a_union_has_all_times_names_and_the_worst_severity():
    mild = incident("a", 5, 7, "x")
    whole = mild.joined(incident("b", 3, 6, "y", "critical"))
    assert whole == incident("a", 3, 7, "xy", "critical")
    assert mild.joined(incident("b", 3, 6, "y", "")).severity == "warning"


spans = st.tuples(st.integers(0, 40), st.integers(0, 10), st.sets(st.sampled_from("vwxyz")))


def incidents(found: list[tuple[int, int, set[str]]]) -> list[Incident]:
    """Return alerts whose names hold their own id, as a lane's name is among them."""
    return [
        incident(f"{at:02}", start * MINUTE, (start + length) * MINUTE, "".join(names))
        for at, (start, length, names) in enumerate(found)
    ]


@given(st.lists(spans, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_alerts_changes_nothing(found, random):
    alerts = incidents(found)
    shuffled = random.sample(alerts, len(alerts))
    assert grouped(alerts) == grouped(shuffled)


@given(st.lists(spans, max_size=12))
def test_each_alert_is_in_one_incident_and_none_of_those_are_one(found):
    alerts = incidents(found)
    parts = grouped(alerts)
    assert sorted(id for part in parts for id in part) == [one.id for one in alerts]
    by_id = {one.id: one for one in alerts}
    wholes = []
    for part in parts:
        first, *others = (by_id[id] for id in sorted(part))
        for other in others:
            first = first.joined(other)
        wholes.append(first)
        ordered = sorted((by_id[id] for id in part), key=lambda one: one.start)
        reached = ordered[0].end
        for before, after in pairwise(ordered):  # an incident has no long pause
            reached = max(reached, before.end)
            assert after.start - reached <= REJOIN_MILLISECONDS
    for at, one in enumerate(wholes):
        assert not any(one.is_one_with(other) for other in wholes[at + 1 :])
