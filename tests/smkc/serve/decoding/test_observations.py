"""Observations as JSON: three shapes, times in many words, and refusals that name the place."""

import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.smkc.serve.decoding.refusals import refused

from smkc.recording import canonical
from smkc.serve.config import Limits
from smkc.serve.decoding.observations import decode_observations

JSON = "application/json"


def decode(content, content_type: str = JSON, encoding: str = "", **limits):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return decode_observations(body, content_type, encoding, Limits(**limits))


def plain(samples) -> list[tuple[str, int, str]]:
    return [
        (samples.names[code], time, repr(value))
        for code, time, value in zip(
            samples.codes.tolist(), samples.times.tolist(), samples.values.tolist(), strict=True
        )
    ]


def one(**changes) -> dict:
    return {"time": 0, "name": "a", "value": 1, **changes}


OBSERVATIONS = [
    one(time=1, name='cpu{pod="x", host="h"}', value=0.5),
    {"time": 2, "metric": "cpu", "labels": {"pod": "x", "host": "h"}, "value": None},
    {"time": 3, "metric": "mem", "value": 7},
    one(time=3, name="mem", value=-1e300),
]
EXPECTED = [
    ('cpu{host="h",pod="x"}', 1000, "0.5"),
    ('cpu{host="h",pod="x"}', 2000, "nan"),
    ("mem", 3000, "7.0"),
    ("mem", 3000, "-1e+300"),
]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"observations": OBSERVATIONS}, JSON),
        ({"observations": OBSERVATIONS}, ""),
        (OBSERVATIONS, "Application/JSON; charset=utf-8"),
        (b"\xef\xbb\xbf" + json.dumps(OBSERVATIONS).encode(), JSON),
    ],
    ids=["object", "untold", "list", "byte order mark"],
)
def test_shapes(content, kind):
    assert plain(decode(content, kind)) == EXPECTED


def test_columns():
    columns = {"time": [0, 15], "series": {"b": [1, None], 'a{y="1",x="2"}': [2.5, 3]}}
    assert plain(decode(columns)) == [
        ("b", 0, "1.0"),
        ('a{x="2",y="1"}', 0, "2.5"),
        ('a{x="2",y="1"}', 15_000, "3.0"),
    ]


def test_gzip():
    assert plain(decode(gzip.compress(json.dumps(OBSERVATIONS).encode()), JSON, "gzip")) == EXPECTED


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [
        (0, 0),
        (1_700_000_000, 1_700_000_000_000),
        (1_700_000_000.25, 1_700_000_000_250),
        (1_700_000_000_250, 1_700_000_000_250),
        (9_223_372_036, 9_223_372_036_000),
        (100_000_000_000, 100_000_000_000),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T22:13:20.250+00:00", 1_700_000_000_250),
        ("2023-11-15T00:13:20+02:00", 1_700_000_000_000),
        ("2023-11-14 22:13:20", 1_700_000_000_000),
    ],
)
def test_times(time, milliseconds):
    assert decode([one(time=time)]).times.tolist() == [milliseconds]


@pytest.mark.parametrize(
    "time",
    [None, True, "", "noon", [], {}, 1_700_000_000_000_000_000, 10**400, math.nan, math.inf],
    ids=repr,
)
def test_what_is_no_time(time):
    with refused(400, "observation 2: time .* is not a time"):
        decode([one(), one(time=time)])


@pytest.mark.parametrize(
    "time",
    [-5, -0.01, 99_999_999_999, 1e14, "1969-12-31T23:59:59.999Z", "0001-01-01T00:00:00+23:59"],
)
def test_what_no_row_can_be_at(time):
    with refused(400, "observation 2: time .* from 1970 to 2262"):
        decode([one(), one(time=time)])


def test_values():
    values = [0, -1.5, 10**400, -(10**400), None, math.nan, math.inf]
    found = decode([one(time=n, value=value) for n, value in enumerate(values)]).values
    expected = "[0.0, -1.5, inf, -inf, nan, nan, inf]"
    assert repr(found.tolist()) == expected


@pytest.mark.parametrize("value", ["1", True, [], {}], ids=repr)
def test_what_is_no_value(value):
    with refused(400, "observation 1: value .* is not a number"):
        decode([one(value=value)])
    with refused(400, "is not a number"):
        decode({"time": [1], "series": {"a": [value]}})


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ({"time": 1, "value": 1}, "either a name"),
        (one(metric="b"), "either a name"),
        (one(name=""), "empty"),
        (one(name=5), "are text"),
        (one(name=["a"]), "observation 1"),
        (one(name=None, metric="a", labels={"b": 1}), "are text"),
        (one(name=None, metric="a", labels=["b"]), "are text"),
        (one(name="x" * 20_000), "16,384"),
        ({"time": 1, "name": "a"}, "not a number"),
        (5, "observation 1 is 5"),
        (None, "observation 1 is None"),
        ([1], "observation 1 is list"),
    ],
    ids=lambda part: str(part)[:30],
)
def test_observations_that_are_refused(observation, words):
    with refused(400, words):
        decode([observation])


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"observations": {}},
        "text",
        5,
        {"series": {"a": [1]}},
        {"time": 5, "series": {}},
        {"time": [1], "series": [1]},
        {"time": [1], "series": {"a": 5}},
        {"time": [1], "series": {"a": [1, 2]}},
        {"time": [None], "series": {"a": [1]}},
    ],
    ids=str,
)
def test_shapes_that_are_refused(content):
    with refused(400, "send|give|write"):
        decode(content)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 3000, b'["\\ud800"]', b"[1" + b"0" * 5000 + b"]", b"\x00"],
    ids=["nothing", "cut", "no UTF-8", "deep", "half a letter", "digits", "zero"],
)
def test_what_is_no_json(body):
    with refused(400, "not JSON"):
        decode(body)


def test_letters_of_two_halves_are_whole():
    assert decode(b'[{"time":1,"name":"\\ud83d\\ude00","value":1}]').names == ("\U0001f600",)


def test_names_that_half_a_letter_damages_are_refused():
    with refused(400, "not JSON"):
        decode(b'[{"time":1,"name":"a\\udc00","value":1}]')


@pytest.mark.parametrize("kind", ["text/csv", "application/x-protobuf", "json"])
def test_what_is_not_known(kind):
    with refused(415, "Content-Type"):
        decode([], kind)


def test_so_many_samples_and_no_more():
    assert len(decode([one(time=n) for n in range(20_000)], samples_per_request=20_000)) == 20_000
    with refused(413, "more than the 5 samples"):
        decode({"time": [1, 2, 3], "series": {"a": [1] * 3, "b": [1] * 3}}, samples_per_request=5)
    with refused(413, "parts"):
        decode([[]] * 11_000, samples_per_request=5)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
readings = st.lists(
    st.tuples(names, st.integers(0, 2 * 10**9), st.none() | st.floats(allow_nan=False)),
    max_size=20,
)


@given(readings=readings)
def test_lists_with_and_without_a_name_say_the_same(readings):
    listed = [{"time": time, "name": name, "value": value} for name, time, value in readings]
    expected = [
        (canonical(name), time * 1000, repr(math.nan if value is None else value))
        for name, time, value in readings
    ]
    assert plain(decode({"observations": listed})) == expected
    assert plain(decode(json.dumps(listed, ensure_ascii=False).encode())) == expected
