import numpy as np
import pytest

from smkc.errors import SettingError
from smkc.recording import Recording
from smkc.recording.rules import Rule, Rules, read_rules

ROWS = [{"up_only": -2.0, "down_only": -3.0, "small": 0.5, "any": -4.0, "gone": 9.0}]
CENTRES = {"up_only": 10.0, "down_only": 20.0, "small": 30.0, "any": 40.0}
RULES = read_rules(
    [
        {"match": "up_only", "only": "up"},
        {"match": "down_only", "only": "down"},
        {"match": "small", "at_least": 2.0},
        {"match": "go.*", "never": True},
    ]
)


def applied(rows, plain):
    scaled = Recording.from_rows([0], rows)
    return Rules(RULES, CENTRES).applied(scaled, np.array(plain, np.float32))


def test_what_does_not_matter_is_taken_for_usual():
    scaled = Recording.from_rows([0], ROWS)
    values = {"up_only": 8.0, "down_only": 17.0, "small": 31.5, "any": 36.0, "gone": 9.0}
    plain = [values[scaled.names[code]] for code in scaled.codes.tolist()]
    found, own = applied(ROWS, plain)
    by_name = dict(zip((found.names[code] for code in found.codes), found.values, strict=True))
    assert by_name == {"up_only": 0, "down_only": -3, "small": 0, "any": -4, "gone": 9}
    unit = dict(zip((found.names[code] for code in found.codes), own.tolist(), strict=True))
    assert unit == {"up_only": 10, "down_only": 17, "small": 30, "any": 36, "gone": 9}


def test_a_newcomer_has_a_direction_but_no_usual_value():
    rules = Rules(read_rules([{"match": "new", "only": "up", "at_least": 5}]), {})
    scaled, plain = rules.applied(
        Recording.from_rows([0, 1], [{"new": -2.0}, {"new": 3.0}]), np.float32([1.0, 4.0])
    )
    assert scaled.values.tolist() == [0.0, 3.0]
    assert plain.tolist() == [1.0, 4.0]


def test_what_shall_never_alert_is_left_out():
    kept = Rules(RULES, CENTRES).kept(Recording.from_rows([0], ROWS))
    assert "gone" not in kept.names
    assert len(kept.names) == 4


def test_values_beyond_a_bound_are_found_and_those_at_it_are_not():
    given = [{"match": "a", "alert_above": 0.1, "alert_below": -2}, {"match": "b"}]
    rules = Rules(read_rules(given), {"a": 0.0})
    assert rules.has_bounds()
    assert [rules.has_bounds(name) for name in ("a", "b", "c")] == [True, False, False]
    plain = np.float32([0.1, 0.11, -2.0, -2.1, 1e9, 1e9])
    rows = [{name: 0.0} for name in "aaaabc"]
    scaled = Recording.from_rows(range(6), rows)
    assert rules.beyond(scaled, plain).tolist() == [False, True, False, True, False, False]
    assert not Rules(RULES, CENTRES).has_bounds()


def test_without_rules_nothing_is_copied():
    recording = Recording.from_rows([0], ROWS)
    rules = Rules((), {})
    assert rules.kept(recording) is recording
    assert rules.applied(recording, recording.values)[0] is recording


@pytest.mark.parametrize(
    ("variable", "fits"),
    [
        ("latency", True),
        ('latency{pod="a"}', True),
        ("latency_p95", False),
        ('x{metric="latency"}', False),
    ],
)
def test_a_rule_fits_whole_names_and_metrics(variable, fits):
    assert Rule(match="latency").fits(variable) is fits


def test_the_first_rule_that_fits_counts():
    rules = Rules(read_rules([{"match": "a.*", "only": "up"}, {"match": ".*", "never": True}]), {})
    kept = rules.kept(Recording.from_rows([0], [{"ab": 1.0, "b": 2.0}]))
    assert kept.names == ("ab",)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("up", "give a list"),
        ([{"only": "up"}], "rule 1, .*: give a table with match"),
        ([{"match": "a", "onyl": "up"}], "rule 1 has no setting 'onyl'; its settings are match"),
        ([{"match": "a"}, {"match": "["}], "rule 2: match='\\[' is no regular expression"),
        ([{"match": ""}], "give a regular expression"),
        ([{"match": "a", "only": "left"}], "only='left': write 'up', 'down'"),
        ([{"match": "a", "at_least": -1}], "at_least=-1: give a number from 0"),
        ([{"match": "a", "at_least": float("nan")}], "at_least=nan"),
        ([{"match": "a", "at_least": True}], "at_least=True"),
        ([{"match": "a", "never": "yes"}], "never='yes': write true or false"),
        ([{"match": "a", "alert_above": "9"}], "alert_above='9': give a number"),
        ([{"match": "a", "alert_below": True}], "alert_below=True: give a number"),
        ([{"match": "a", "alert_above": float("nan")}], "alert_above=nan"),
        ([{"match": "a", "alert_below": -1e300}], "alert_below=-1e\\+300"),
        ([{"match": "a", "alert_above": 1, "never": True}], "never = true leaves the variable out"),
        ([{"match": "a", "alert_above": 1, "alert_below": 2}], "every value would be trouble"),
    ],
)
def test_rules_that_make_no_sense_are_refused_with_their_number(given, words):
    with pytest.raises(SettingError, match=words):
        read_rules(given)
