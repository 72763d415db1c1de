import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.recording import identifier
from smkc.serve.prometheus import matrix
from smkc.serve.prometheus.collected import Collected
from smkc.serve.prometheus.matrix import (
    CutShortError,
    ForeignError,
    MatrixReader,
    TooLongError,
)

ODD = ['a"b', "back\\", ',"values":[[', '"]]}', "]", "\u00e9\n\u2603", "", "{", '{"metric":{']
LABELS = st.dictionaries(
    st.sampled_from(["__name__", "pod", "values", "metric", "result"]),
    st.sampled_from(ODD) | st.text(max_size=4),
    max_size=3,
)
NUMBERS = st.floats() | st.sampled_from([0.1, 1e300, -0.0, math.nan, math.inf, -math.inf])
TIMES = st.integers(0, 4 * 10**12)
SERIES = st.fixed_dictionaries(
    {"metric": LABELS, "values": st.lists(st.tuples(TIMES, NUMBERS), max_size=4)},
    optional={"histograms": st.just([[1.5, {"count": "2", "buckets": [[0, "1", "2", "2"]]}]])},
)


def written(value):
    """A number as Go writes it."""
    if math.isnan(value):
        return "NaN"
    return repr(value) if math.isfinite(value) else f"{'+' if value > 0 else '-'}Inf"


def body_of(series, *, is_compact=True, **more):
    result = [
        {
            **one,
            "values": [[time / 1000, written(value)] for time, value in one["values"]],
        }
        for one in series
    ]
    content = {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}
    separators = (",", ":") if is_compact else None
    text = json.dumps(content, separators=separators, indent=None if is_compact else 1)
    return text.encode()


def expected_of(series):
    """(name, time, value) of each sample that is a number, in order."""
    found = []
    for one in series:
        labels = {key: value for key, value in one["metric"].items() if key != "__name__"}
        name = identifier(one["metric"].get("__name__") or "value", labels)
        found += [(name, time, value) for time, value in one["values"] if not math.isnan(value)]
        if "histograms" not in one:
            continue
        if metric := one["metric"].get("__name__"):  # cumulative, and without one before it
            found.append((identifier(f"{metric}_count", labels), 1500, 2.0))
        else:
            found.append((identifier("value_count_delta", labels), 1500, 2.0))
            for q in (0.5, 0.9, 0.99):
                spread = labels | {"quantile": str(q)}
                found.append((identifier("value", spread), 1500, pytest.approx(1 + q)))
    return found


def read(body, *, width=None, most_bytes=2**30, most_samples=10**8, known=None):
    collected, known = Collected(), {} if known is None else known
    reader = MatrixReader(collected, known, most_bytes=most_bytes, most_samples=most_samples)
    width = width or max(len(body), 1)
    for start in range(0, len(body), width):
        reader.feed(body[start : start + width])
    reader.close()
    return reader, listed(collected.samples())


def listed(samples):
    rows = zip(samples.codes.tolist(), samples.times.tolist(), samples.values.tolist(), strict=True)
    return [(samples.names[code], time, value) for code, time, value in rows]


@given(
    series=st.lists(SERIES, max_size=5),
    is_compact=st.booleans(),
    width=st.integers(1, 200),
    piece=st.integers(1, 400),
    batch=st.integers(1, 400),
)
def test_any_answer_in_any_pieces(series, is_compact, width, piece, batch):
    body = body_of(series, is_compact=is_compact)
    expected = expected_of(series)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix, "PIECE", piece)
        patch.setattr(matrix, "BATCH", batch)
        reader, actual = read(body, width=width)
    assert actual == expected
    n_samples = sum(len(one["values"]) + 5 * ("histograms" in one) for one in series)
    assert reader.n_samples == n_samples


@given(series=st.lists(SERIES, min_size=1, max_size=3), data=st.data())
def test_half_an_answer_is_never_taken_for_a_whole_one(series, data):
    body = body_of(series)
    cut = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(CutShortError):
        read(body[:cut])


@given(series=st.lists(SERIES, min_size=1, max_size=2), data=st.data())
def test_a_damaged_answer_is_read_or_refused(series, data):
    body = bytearray(body_of(series))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    try:
        _, found = read(bytes(body))
    except (CutShortError, ForeignError):
        return
    for name, _, value in found:
        assert name.encode()
        assert not math.isnan(value)


FOREIGN = {
    "a page": b"<html>Log in</html>" * 3,
    "other JSON": b'{"status":"success"}',
    "a vector": b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},'
    b'"value":[1,"2"]}]}}',
    "a scalar": b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}',
    "an empty vector": b'{"status":"success","data":{"resultType":"vector","result":[]}}',
    "a failure": b'{"status":"error","data":{"resultType":"matrix","result":[]}}',
    "text as number": b'{"data":{"result":[{"metric":{},"values":[[1,"x"] ]}]}}',
    "no pairs": b'{"data":{"result":[{"metric":{},"values":[[1,"2","3"] ]}]}}',
    "labels that are none": b'{"data":{"result":[{"metric":{"a":1},"values":[[1,"2"]]}]}}',
    "a time far off": b'{"data":{"result":[{"metric":{},"values":[[1e300,"2"]]}]}}',
    "no text at all": b"\x00" * 100,
    "a long page": b"x" * 200_000,
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_no_matrix_is_refused(case):
    with pytest.raises(ForeignError):
        read(FOREIGN[case])


DAMAGED = {
    "labels without end": b'{"data":{"result":[{"metric":'
    + b"[" * 90_000
    + b',"values":[[1,"2"]]}]}}',
    "a tail without end": b'{"data":{"result":[]' + b',"a":{' * 90_000,
    "brackets without end": b"{" + b"[" * 60_000,
    "nothing": b"",
    "blank": b"  \n",
    "words for numbers": body_of([{"metric": {}, "values": [(1, 2.0)]}]).replace(b"2.0", b"two"),
    "an empty number": body_of([{"metric": {}, "values": [(1, 2.0)]}]).replace(b"2.0", b""),
    "a line break": body_of([{"metric": {}, "values": [(1, 2.0)]}]).replace(b"2.0", b"2\n3,4"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_damaged_is_refused(case):
    with pytest.raises(CutShortError):
        read(DAMAGED[case])


@pytest.mark.parametrize("old_new", [(b',"', b', "'), (b'"],[', b'"], ['), (b"[[", b"[ [")])
def test_blanks_in_an_answer_that_is_compact_otherwise(old_new):
    series = [{"metric": {"__name__": "a"}, "values": [(1, 1.5), (2, 2.5)]}] * 2
    _, found = read(body_of(series).replace(*old_new))
    assert found == expected_of(series)


def test_limits():
    body = body_of([{"metric": {}, "values": [(time, 1.0) for time in range(100)]}])
    assert len(read(body, most_bytes=len(body), most_samples=100)[1]) == 100
    with pytest.raises(TooLongError, match="bytes"):
        read(body, most_bytes=len(body) - 1)
    with pytest.raises(TooLongError, match="99 samples"):
        read(body, most_samples=99)


def test_names_are_read_once():
    known = {}
    series = [{"metric": {"__name__": name}, "values": [(1, 1.0)]} for name in "ab"]
    for _ in range(2):
        assert read(body_of(series), known=known)[1] == [("a", 1, 1.0), ("b", 1, 1.0)]
        assert list(known.values()) == ["a", "b"]


def test_what_the_server_says_beside_it():
    reader, _ = read(body_of([], warnings=["a store is down"], isPartial=True))
    assert reader.warnings == ("a store is down", "the answer is partial")


def test_half_a_surrogate_pair_is_no_name():
    body = body_of([{"metric": {"a": "\ud800"}, "values": [(1, 1.0)]}])
    assert read(body)[1] == [('value{a="?"}', 1, 1.0)]


def test_samples_keep_all_their_digits(rng):
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-300, 300, 2000)
    series = [{"metric": {}, "values": list(enumerate(values.tolist()))}]
    _, found = read(body_of(series))
    np.testing.assert_array_equal([value for _, _, value in found], values)
