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


def stated(seed, n, start, share=0.0):
    """Return eight quiet variables and a state of 0 or 1, in a share of the rows 2."""
    rng = np.random.default_rng(seed)
    frame = {"time": np.arange(start, start + n)}
    frame |= {f"v{i}": rng.normal(size=n) for i in range(8)}
    frame["state"] = np.where(rng.random(n) < share, 2.0, rng.integers(0, 2, n))
    return frame


@pytest.fixture(scope="module")
def bounded():
    """A detector whose reference has many values that a rule calls trouble, and one without."""
    reference = stated(4, N, 0, share=0.1)
    rules = [{"match": "state|errors|ready", "alert_above": 1.0}]
    return [smkc.Detector(rules=given).fit(reference) for given in (rules, [])]


def covering(detector, live, row):
    return [one for one in detector.alerts(live) if one.first_row <= row <= one.last_row]


def test_a_value_beyond_a_bound_alerts_however_usual_it_is(bounded):
    live = stated(5, LIVE, N)
    live["state"][300] = 2.0
    (found,) = covering(bounded[0], live, 300)
    assert (found.first_row, found.causes[0].variable) == (300, "state")
    assert covering(bounded[1], live, 300) == []


def test_a_newcomer_beyond_a_bound_alerts_with_its_first_value(bounded):
    live = stated(5, LIVE, N)
    live["errors"] = np.full(LIVE, np.nan)
    live["errors"][300:303] = [1.0, 7.0, 1.0]
    (found,) = covering(bounded[0], live, 301)
    assert (found.first_row, found.causes[0].variable) == (301, "errors")
    assert covering(bounded[1], live, 301) == []


def test_what_is_beyond_a_bound_never_becomes_normal(bounded):
    live = stated(5, 1_200, N)
    live["state"][100:] = 2.0
    ruled, plain = (-np.log(detector.score(live).p_values) for detector in bounded)
    assert ruled[100:].min() > 50
    assert plain[-100:].max() < 50


def test_bounds_hold_in_a_stream_and_after_saving(bounded, tmp_path):
    live = stated(6, LIVE, N, share=0.01)
    live["ready"] = np.where(np.arange(LIVE) % 97 == 96, 2.0, np.nan)
    expected = bounded[0].score(live).p_values
    bounded[0].save(tmp_path / "model.safetensors")
    stream = smkc.load(tmp_path / "model.safetensors").stream()
    recording = smkc.read(live)
    pushed = [stream.push_rows(recording.rows(at, at + 1)).p_values[0] for at in range(LIVE)]
    np.testing.assert_allclose(pushed, expected, rtol=1e-9)
    is_beyond = (live["state"] > 1) | (live["ready"] > 1)
    assert (-np.log(expected[is_beyond])).min() > 50
    assert is_beyond.sum() > 8


def test_a_member_that_is_replaced_routinely_is_named_when_it_is_beyond_a_bound():
    def pods(seed, n, start):
        rng = np.random.default_rng(seed)
        rows = []
        for at in range(start, start + n):
            row = {f"v{i}": rng.normal() for i in range(4)}
            names = [f'ready{{app="a",pod="{k}-{(at + 40 * k) // 120}"}}' for k in range(3)]
            rows.append(row | {name: float(rng.integers(1, 4)) for name in names})
        return rows

    reference = smkc.Recording.from_rows(range(N), pods(7, N, 0))
    rows = pods(8, LIVE, N)
    guilty = sorted(name for name in rows[300] if name.startswith("ready"))[1]
    rows[300][guilty] = 0.0
    live = smkc.Recording.from_rows(range(N, N + LIVE), rows)
    rules = [{"match": "ready", "alert_below": 1}]
    (found,) = covering(smkc.Detector(rules=rules).fit(reference), live, 300)
    assert (found.first_row, found.causes[0].variable) == (300, guilty)


def test_a_watch_takes_rules_and_says_what_is_wrong_with_them():
    def config(rules):
        watch = {"name": "a", "query": "up", "detector": {"rules": rules}}
        return config_of({"prometheus": {"url": "http://localhost:9090"}, "watch": [watch]})

    assert config([{"match": "up", "only": "down"}])
    with pytest.raises(SettingError, match=r"watch.*rule 1.*only='left'"):
        config([{"match": "up", "only": "left"}])
