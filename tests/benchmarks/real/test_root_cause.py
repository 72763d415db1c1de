from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.real.root_cause import HIT_RANKS, chance_hit_rates, hit_rates
from smkc.errors import InputError, SettingError

VARIABLES = ["a", "b", "c", "d", "e", "f"]
blamed_sets = st.lists(st.sets(st.sampled_from(VARIABLES), min_size=1), min_size=1, max_size=6)


def naive_hit_rate(named, responsible, k):
    n_hits = 0
    for i in range(len(responsible)):
        is_hit = False
        for rank, name in enumerate(named[i]):
            if rank < k and name in responsible[i]:
                is_hit = True
        n_hits += is_hit
    return n_hits / len(responsible)


@st.composite
def named_and_responsible(draw):
    responsible = draw(blamed_sets)
    ranking = st.lists(st.sampled_from(VARIABLES), unique=True)
    n = len(responsible)
    return draw(st.lists(ranking, min_size=n, max_size=n)), responsible


def test_by_hand():
    named = [
        ["cpu", "disk", "net"],  # hit at once
        ["net", "cpu", "disk", "ram"],  # hit by the third
        ["a", "b", "c", "d", "ram"],  # by the fifth
        ["a", "b", "c", "d", "e", "ram"],  # too late
        [],  # not found
    ]
    responsible = [{"cpu"}, ["disk", "swap"], {"ram"}, {"ram"}, {"ram"}]
    assert hit_rates(named, responsible) == {1: 1 / 5, 3: 2 / 5, 5: 3 / 5}
    assert tuple(hit_rates(named, responsible)) == HIT_RANKS


def test_renamed_variables():
    named, responsible = [["cpu.b", "disk"]], [{"cpu"}]
    assert hit_rates(named, responsible, ranks=[1]) == {1: 0.0}
    assert hit_rates(named, responsible, ranks=[1], original={"cpu.b": "cpu"}) == {1: 1.0}


@given(named_and_responsible())
def test_against_the_naive_twin(case):
    named, responsible = case
    actual = hit_rates(named, responsible, ranks=range(1, 8))
    assert actual == {k: naive_hit_rate(named, responsible, k) for k in range(1, 8)}


@given(named_and_responsible())
def test_more_ranks_hit_no_less(case):
    rates = list(hit_rates(*case, ranks=range(1, 8)).values())
    assert rates == sorted(rates)


@given(blamed_sets)
def test_naming_the_responsible_first(responsible):
    named = [sorted(blamed) for blamed in responsible]
    assert set(hit_rates(named, responsible).values()) == {1.0}


@pytest.mark.parametrize("blamed", [{"a"}, {"a", "c"}, {"a", "b", "c", "d"}])
def test_chance_is_the_mean_over_all_rankings(blamed):
    rankings = list(permutations(VARIABLES[:4]))
    expected = hit_rates(rankings, [blamed] * len(rankings), ranks=(1, 2, 3, 4))
    actual = chance_hit_rates(4, [blamed], ranks=(1, 2, 3, 4))
    assert actual == pytest.approx(expected)


def test_chance_with_few_variables():
    assert chance_hit_rates([3, 38], [{"a"}, {"a"}]) == pytest.approx(
        {1: (1 / 3 + 1 / 38) / 2, 3: (1 + 3 / 38) / 2, 5: (1 + 5 / 38) / 2}
    )


@pytest.mark.parametrize(
    ("named", "responsible", "message"),
    [
        ([], [], "no event was given"),
        ([["a"]], [["a"], ["b"]], "for 1 events, and 2 have responsible"),
        ([["a"], ["a"]], [["a"], []], "event 1 has no responsible variable.*leave out"),
        ([["a"]], ["a b"], "event 0 has the responsible variables 'a b', one string; split"),
        (["ab"], [["a"]], "event 0 names 'ab', one string; give a list"),
    ],
)
def test_what_cannot_be_measured(named, responsible, message):
    with pytest.raises(InputError, match=message):
        hit_rates(named, responsible)


def test_chance_that_cannot_be():
    with pytest.raises(InputError, match="2 numbers of variables for 1 events"):
        chance_hit_rates([3, 4], [["a"]])
    with pytest.raises(InputError, match="event 0 has 2 responsible variables of 1"):
        chance_hit_rates(1, [["a", "b"]])


def test_no_rank():
    with pytest.raises(SettingError, match=r"ranks=\(1, 0\) holds 0; look at the first 1"):
        hit_rates([["a"]], [["a"]], ranks=(1, 0))
