"""What rules of variables do to alerts of the default detector."""

import numpy as np
import pytest

import smkc
from smkc.errors import SettingError
from smkc.serve.config import config_of

N, LIVE = 1_500, 600


def made(rng, shift=0.0, n=LIVE, start=N):
    rows = np.arange(start, start + n)
    frame = {"time": rows, **{f"v{i}": rng.normal(size=n) for i in range(8)}}
    frame["latency"] = 10 + rng.normal(size=n)
    frame["latency"][200:260] += shift
    return frame


@pytest.fixture(scope="module")
def reference():
    return made(np.random.default_rng(1), n=N, start=0)


def alerted(reference, rules, shift):
    detector = smkc.Detector(rules=rules).fit(reference)
    live = made(np.random.default_rng(2), shift)
    return [
        alert for alert in detector.alerts(live) if alert.first_row < 260 and alert.last_row >= 200
    ]


@pytest.mark.parametrize(
    ("rules", "shift", "is_alerted"),
    [
        ([], 12.0, True),
        ([], -12.0, True),
        ([{"match": "latency", "only": "up"}], 12.0, True),
        ([{"match": "latency", "only": "up"}], -12.0, False),
        ([{"match": "latency", "only": "down"}], 12.0, False),
        ([{"match": "latency", "only": "down"}], -12.0, True),
        ([{"match": "latency", "at_least": 20.0}], 12.0, False),
        ([{"match": "latency", "at_least": 6.0}], 12.0, True),
        ([{"match": "lat.*", "never": True}], 12.0, False),
        ([{"match": "other", "never": True}], 12.0, True),
    ],
)
def test_rules_decide_what_is_trouble(reference, rules, shift, is_alerted):
    found = alerted(reference, rules, shift)
    assert bool(found) is is_alerted
    assert all(alert.causes[0].variable == "latency" for alert in found)


def test_rules_are_saved_with_the_model_and_hold_in_a_stream(reference, tmp_path):
    rules = [{"match": "latency", "only": "up"}, {"match": "v7", "never": True}]
    detector = smkc.Detector(rules=rules).fit(reference)
    detector.save(tmp_path / "model.safetensors")
    loaded = smkc.load(tmp_path / "model.safetensors")
    live = made(np.random.default_rng(3), -12.0)
    expected = detector.decision_function(live)
    np.testing.assert_array_equal(loaded.decision_function(live), expected)
    stream = loaded.stream()
    recording = smkc.read(live)
    pushed = stream.push_rows(recording)
    np.testing.assert_allclose(pushed.p_values, detector.score(live).p_values, rtol=1e-12)


def test_a_watch_takes_rules_and_says_what_is_wrong_with_them():
    def config(rules):
        watch = {"name": "a", "query": "up", "detector": {"rules": rules}}
        return config_of({"prometheus": {"url": "http://localhost:9090"}, "watch": [watch]})

    assert config([{"match": "up", "only": "down"}])
    with pytest.raises(SettingError, match=r"watch.*rule 1.*only='left'"):
        config([{"match": "up", "only": "left"}])
