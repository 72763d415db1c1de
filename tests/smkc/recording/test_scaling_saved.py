"""Saved scalings: they come back the same, and nonsense is refused."""

import json
from typing import Any

import numpy as np
import pytest
from tests.smkc.recording.scaled_rows import fleet, record

from smkc.errors import ModelFileError
from smkc.recording import Scaling


@pytest.fixture(scope="module")
def fitted() -> Scaling:
    reference = fleet(np.random.default_rng(1), 300, pods=["a", "b", "c"])
    return Scaling.fit(record(reference))


def test_a_scaling_survives_saving(fitted: Scaling) -> None:
    arrays, header = fitted.to_arrays()
    again = Scaling.from_arrays(arrays, json.loads(json.dumps(header)))
    assert again.names == fitted.names
    assert again.identity == fitted.identity
    rows = record(fleet(np.random.default_rng(12), 50, pods=["a", "new"]))
    assert again.start().scale(rows) == fitted.start().scale(rows)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("centre", np.zeros(3)),
        ("centre", None),
        ("spread", np.zeros(15)),
        ("spread", np.full(15, np.inf)),
        ("counter", np.zeros(15, np.int64)),
        ("names", ["cpu"] * 15),
        ("names", 5),
        ("clip", "10"),
        ("clip", -1.0),
        ("max_variables", 0),
        ("max_variables", 10**20),
        ("dated", 1),
        ("counters", "yes"),
        ("identity", {"drop": "pod"}),
        ("identity", {"pattern": "("}),
        ("identity", {"other": 1}),
    ],
)
def test_a_saved_scaling_that_makes_no_sense(fitted: Scaling, part: str, value: Any) -> None:
    arrays, header = fitted.to_arrays()
    if part in arrays:
        arrays[part] = value
    else:
        header[part] = value
    with pytest.raises(ModelFileError, match="fit the model again"):
        Scaling.from_arrays(arrays, header)


def test_a_saved_state_that_makes_no_sense(fitted: Scaling) -> None:
    state = fitted.start()
    state.scale(record([{"new": 1.0}] * 9))
    arrays, header = state.to_arrays()
    bad_headers: list[dict[str, Any]] = [
        {"names": [fitted.names[0]]}, {"names": ["a", "b"]}, {"names": "a"}, {"names": [1]},
        {"tick": -1}, {"tick": 1}, {"origin": "now"}, {"origin": None}, {"settled": 0},
        {"dated": True},
    ]  # fmt: skip
    n_all = len(fitted.names) + 1
    bad_arrays: list[dict[str, Any]] = [
        {"spread": np.array([-1.0])}, {"centre": np.array([np.nan])}, {"count": np.array([1.0])},
        {"count": np.array([-1])}, {"seen": np.full(n_all, -1)}, {"seen": np.full(n_all, 99)},
        {"last_value": np.zeros(2)},
    ]  # fmt: skip
    for bad in bad_headers:
        with pytest.raises(ModelFileError, match="start the stream afresh"):
            fitted.start().restore(arrays, header | bad)
    for bad in bad_arrays:
        with pytest.raises(ModelFileError, match="start the stream afresh"):
            fitted.start().restore(arrays | bad, header)
    with pytest.raises(ModelFileError, match="tick"):
        fitted.start().restore(arrays, {key: header[key] for key in header if key != "tick"})
    with pytest.raises(ModelFileError, match="already scaled"):
        state.restore(arrays, header)
    fitted.start().restore(arrays, header)
