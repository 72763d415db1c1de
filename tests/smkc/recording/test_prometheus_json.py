"""Answers of Prometheus, saved or in memory, are recordings."""

import json

import numpy as np
import pytest

from smkc.errors import ReadError
from smkc.recording import Recording, read

ANSWER = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {
                "metric": {"__name__": "cpu", "pod": "b", "host": "x"},
                "values": [[1790000000, "0.5"], [1790000015.25, "NaN"], [1790000030, "1e3"]],
            },
            {"metric": {}, "values": [[1790000030, "+Inf"], [1790000045, "-2"]]},
            {"metric": {"__name__": "h"}, "histograms": [[1790000030, {}]]},
        ],
    },
}
START = np.datetime64(1790000000, "s")
EXPECTED = Recording.from_rows(
    [START + np.timedelta64(ms, "ms") for ms in (0, 15_250, 30_000, 45_000)],
    [{'cpu{host="x",pod="b"}': 0.5}, {}, {'cpu{host="x",pod="b"}': 1000.0}, {"value": -2.0}],
)


@pytest.mark.parametrize("kind", ["file", "answer", "data"])
def test_a_range_is_read(tmp_path, kind):
    (tmp_path / "range.json").write_text(json.dumps(ANSWER))
    given = {"file": tmp_path / "range.json", "answer": ANSWER, "data": ANSWER["data"]}[kind]
    found = read(given)
    assert found == EXPECTED
    assert (found.notes.missing, found.notes.infinities) == (1, 1)


def test_an_instant_is_read():
    series = [{"metric": {"__name__": "up", "job": job}, "value": [5, "1"]} for job in "ab"]
    found = read({"resultType": "vector", "result": series})
    assert found == Recording.from_rows(
        [np.datetime64(5, "s")], [{'up{job="a"}': 1.0, 'up{job="b"}': 1.0}]
    )


def test_a_list_of_rows_is_read(tmp_path):
    (tmp_path / "rows.json").write_text('[{"time": 1, "cpu": 2}, {"time": 2, "mem": 3}]')
    assert read(tmp_path / "rows.json") == Recording.from_rows([1, 2], [{"cpu": 2}, {"mem": 3}])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"status": "error", "error": "parse error"}, r"error response of .*correct the query"),
        (
            {"status": "success", "data": {"resultType": "scalar"}},
            r"type 'scalar'; save the response",
        ),
        ({"resultType": "matrix", "result": [{"values": []}]}, r"series 0 .* is damaged"),
        ({"resultType": "matrix", "result": [{"metric": {}, "values": [[1]]}]}, r"series 0"),
        ({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "x"]]}]}, r"no number"),
        ({"resultType": "matrix", "result": []}, r"holds no observation"),
    ],
)
def test_what_is_wrong_is_said(content, message):
    with pytest.raises(ReadError, match=message):
        read(content)


def test_other_json_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}')
    with pytest.raises(ReadError, match="neither a response of Prometheus nor a list"):
        read(tmp_path / "a.json")
    (tmp_path / "b.json").write_text('{"a":')
    with pytest.raises(ReadError, match="is not JSON"):
        read(tmp_path / "b.json")
    (tmp_path / "c.json").write_text("[1]")
    with pytest.raises(ReadError, match=r"item 0 of the list"):
        read(tmp_path / "c.json")


def test_json_in_a_folder_is_left_alone(tmp_path):
    (tmp_path / "settings.json").write_text("{}")
    (tmp_path / "a.csv").write_text("time,a\n1,2\n")
    assert read(tmp_path).names == ("a",)
