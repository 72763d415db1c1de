import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.recording.identity import Identity, canonical, identifier, parse

metrics = st.text().filter(lambda text: "{" not in text)
label_sets = st.dictionaries(st.text(), st.text(), max_size=5)


def test_labels_are_sorted_and_escaped() -> None:
    labels = {"b": 'say "hi"', "a": "back\\slash", "c": "two\nlines"}
    expected = r'm{a="back\\slash",b="say \"hi\"",c="two\nlines"}'
    assert identifier("m", labels) == expected
    assert parse(expected) == ("m", labels)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cpu", ("cpu", {})),
        ("", ("", {})),
        ("cpu{}", ("cpu", {})),
        ('{a="x"}', ("", {"a": "x"})),
        ('m{a="x",}', ("m", {"a": "x"})),
        ('m{ a = "x" , b="y"}', ("m", {"a": "x", "b": "y"})),
        ('m{a="},{"}', ("m", {"a": "},{"})),
        ('m{"k8s.pod"="x"}', ("m", {"k8s.pod": "x"})),
        ('m{k8s.pod name="x"}', ("m", {"k8s.pod name": "x"})),
        ('m{"a\\"=\\\\"="\\n"}', ("m", {'a"=\\': "\n"})),
        ("a}b", ("a}b", {})),
    ],
)
def test_parse_reads(text: str, parts: tuple[str, dict[str, str]]) -> None:
    assert parse(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "m{",
        "m{a}",
        'm{a="x"',
        'm{a="x"} ',
        "m{a=x}",
        'm{="x"}',
        'm{a="x"b="y"}',
        'm{a="x",,b="y"}',
        "m{,}",
        'm{a="x",a="y"}',
        'm{a="\\t"}',
        'm{a="\n"}',
        'm{a="x\\"}',
        'm{{a="x"}}',
        'm{a="x"}{b="y"}',
    ],
)
def test_parse_refuses(text: str) -> None:
    assert parse(text) is None
    assert canonical(text) == text
    assert Identity().family(text) == text


@given(metrics, label_sets)
def test_round_trip(metric: str, labels: dict[str, str]) -> None:
    assert parse(identifier(metric, labels)) == (metric, labels)


@given(st.text(alphabet='am{}="\\,\n x'))
def test_canonical_is_stable_and_keeps_the_meaning(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once
    assert parse(once) == parse(text)


@given(st.text(), label_sets, label_sets)
def test_labels_can_be_added_in_steps(
    name: str, first: dict[str, str], more: dict[str, str]
) -> None:
    if parse(name) is None:
        return
    assert identifier(identifier(name, first), more) == identifier(name, first | more)


def test_hostile_names_are_parsed_in_one_pass() -> None:
    """A parser that went back and forth would take hours."""
    hostile = ['m{a="' + "\\\\" * 200_000, "m{" + "a " * 200_000 + "}", "m{" + " " * 200_000 + "}"]
    for text in hostile:
        assert parse(text) is None


def test_family_is_the_metric_name() -> None:
    assert Identity().family('cpu{pod="a"}') == Identity().family('cpu{pod="b"}') == "cpu"
    assert Identity().family("pod-abc/cpu") == "pod-abc/cpu"


def test_family_without_some_labels() -> None:
    rule = Identity(drop=("pod", "host"))
    assert rule.family('cpu{host="h",pod="a",zone="z"}') == 'cpu{zone="z"}'
    assert rule.family('cpu{pod="a"}') == "cpu"


def test_family_by_pattern() -> None:
    assert Identity(pattern=r"/(\w+)$").family("pod-abc/cpu") == "cpu"
    assert Identity(pattern=r"\w+$").family("pod-abc/cpu") == "cpu"
    assert Identity(pattern=r"/(\w+)$").family("nothing") == "nothing"
    assert Identity(pattern=r"(x)?cpu").family("pod/cpu") == "cpu"


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(SettingError, match=r"\(\[a"):
        Identity(pattern="([a")
    with pytest.raises(SettingError, match="not both"):
        Identity(pattern="a", drop=("pod",))
    with pytest.raises(SettingError, match="list of labels"):
        Identity(drop="pod")  # type: ignore[arg-type]
    assert Identity(drop=["pod"]) == Identity(drop=("pod",))  # type: ignore[arg-type]
