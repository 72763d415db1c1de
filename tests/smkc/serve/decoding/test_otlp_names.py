"""OpenTelemetry's names as Prometheus would write them."""

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from smkc.serve.decoding.otlp import attribute_labels, metric_name
from smkc.serve.decoding.unpacking import DecodeError


@pytest.mark.parametrize(
    ("name", "ending", "expected"),
    [
        ("a.b-c d", "", "a_b_c_d"),
        ("a:b", "_total", "a:b_total"),
        ("a_total", "_total", "a_total"),
        ("5xx", "", "_5xx"),
        ("h\u00f6he", "_sum", "h_he_sum"),
    ],
)
def test_metrics(name, ending, expected):
    assert metric_name(name, ending) == expected


def test_a_metric_has_a_name():
    with pytest.raises(DecodeError, match="no name"):
        metric_name("", "_total")


def some_list() -> AnyValue:
    value = AnyValue()
    value.array_value.values.add(string_value="a")
    value.array_value.values.add(int_value=2)
    return value


def some_table() -> AnyValue:
    value = AnyValue()
    value.kvlist_value.values.add(key="k").value.double_value = 0.5
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (AnyValue(string_value="text"), "text"),
        (AnyValue(int_value=-3), "-3"),
        (AnyValue(double_value=0.5), "0.5"),
        (AnyValue(bool_value=True), "true"),
        (AnyValue(bytes_value=b"\x00\xff"), "AP8="),
        (AnyValue(), ""),
        (some_list(), '["a", 2]'),
        (some_table(), '{"k": 0.5}'),
    ],
    ids=["text", "whole", "number", "truth", "bytes", "nothing", "list", "table"],
)
def test_values(value, text):
    assert attribute_labels([KeyValue(key="a.b", value=value)]) == {"a_b": text}


def test_labels_that_become_one_are_joined():
    pairs = [("a.b", "2"), ("a-b", "1"), ("5", "x"), ("", "y"), ("c", "3")]
    entries = [KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in pairs]
    expected = {"a_b": "1;2", "_5": "x", "c": "3"}
    assert attribute_labels(entries) == attribute_labels(entries[::-1]) == expected


def test_values_nest_only_so_deep():
    value = inner = AnyValue()
    for _ in range(30):
        inner = inner.array_value.values.add()
    inner.int_value = 1
    with pytest.raises(DecodeError, match="levels"):
        attribute_labels([KeyValue(key="a", value=value)])
