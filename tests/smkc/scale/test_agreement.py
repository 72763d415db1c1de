"""The promise: batch, stream, pieces and Ray agree (docs/decisions.md, "What agrees with what")."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests import promise, worlds
from tests.smkc.scale.conftest import TINY, long_table, write

import smkc
from smkc.evidence.variables import WEEK
from smkc.loading import make_detector
from smkc.recording import Recording
from smkc.scale import RayCluster, score_file

# As users have it: the defaults, of which components and neighbours matter to rounding. The
# reference is too short for the default rate.
DETECTORS = {
    "evidence": {"false_alarm_rate": 0.01},
    "evidence by local time": {
        "detector": "evidence",
        "false_alarm_rate": 0.01,
        "time_zone": "Europe/Berlin",
        "holidays": ["2026-03-25"],
    },
    "knn": {"window": 32, "false_alarm_rate": 0.01},
}
N_REFERENCE, N_LIVE = 1500, 700


@pytest.fixture(scope="module")
def recording():
    """Hours of twelve variables that come and go, with two faults and a workday season.

    Clocks change within the last 700 hours.
    """
    rng = np.random.default_rng(16)
    table = worlds.churn(rng, worlds.coupled(rng, N_REFERENCE + N_LIVE, 12))
    table[N_REFERENCE + 200 : N_REFERENCE + 240, 3] += 12
    table[N_REFERENCE + 500 : N_REFERENCE + 540, ::2] *= -3
    hours = np.arange(len(table))
    table += (3 * np.sin(2 * np.pi * hours / 24) * (hours // 24 % 7 < 5))[:, None]
    found = worlds.recording_of(table).canonical()
    times = np.datetime64("2026-01-19", "ns") + found.times * np.timedelta64(1, "h")
    return Recording(times, found.indptr, found.codes, found.values, found.names)


@pytest.fixture(scope="module", params=DETECTORS)
def detector(request, recording):
    own = DETECTORS[request.param]
    made = make_detector({"detector": request.param, "align": "prompt", **own})
    made.fit(recording.rows(0, N_REFERENCE))
    assert "time_zone" not in own or WEEK in made.fitted_.seasons.values()
    return made


@pytest.fixture(scope="module")
def live(recording):
    return recording.rows(N_REFERENCE)


@pytest.fixture(scope="module")
def batch(detector, live):
    """Scores and alerts of the whole recording; there are alerts to agree upon."""
    alerts = detector.alerts(live, explain=False)
    assert alerts
    return detector.decision_function(live), alerts


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray", reason='Ray is not installed; run: pip install ".[ray]"')
    with RayCluster(workers=2) as started:
        yield started


def check(actual, alerts, batch, detector):
    promise.assert_scores_agree(actual, batch[0], detector)
    promise.assert_alerts_agree(alerts, batch[1], detector)


def test_stream(detector, live, batch):
    stream = detector.stream()
    scores = [stream.push(live.times[t], live.row(t)) for t in range(len(live))]
    promise.assert_scores_agree(scores, batch[0], detector)
    if detector.kind == "evidence":
        np.testing.assert_array_equal(stream.p_value, detector.score_windows(live).p_value[-1])
    with np.errstate(invalid="ignore"):
        is_marked = np.array(scores, float) > detector.threshold_
        np.testing.assert_array_equal(is_marked, batch[0] > detector.threshold_)


def test_pieces(detector, live, batch, tmp_path):
    path, out = write(tmp_path / "live.parquet", long_table(live)), tmp_path / "out.parquet"
    summary = score_file(path, detector, out, settings=TINY)
    scores = pq.read_table(out)["score"].to_numpy()
    check(scores, [alert for _, alert in summary.alerts], batch, detector)


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray leaves its log files to the end
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ray(cluster, detector, live, batch, tmp_path):
    path, out = write(tmp_path / "live.parquet", long_table(live)), tmp_path / "out.parquet"
    summary = cluster.score_file(path, detector, out, settings=TINY)
    scores = pq.read_table(out)["score"].to_numpy()
    check(scores, [alert for _, alert in summary.alerts], batch, detector)


@pytest.mark.parametrize("n_threads", ["1", "3"])
def test_threads(detector, live, batch, monkeypatch, n_threads):
    monkeypatch.setenv("SMKC_THREADS", n_threads)
    scores = detector.decision_function(live)
    check(scores, detector.alerts(live, explain=False), batch, detector)


@pytest.mark.parametrize("n_rows", [33, 64, 257, 699])
def test_fewer_rows(detector, live, batch, n_rows):
    scores = detector.decision_function(live.rows(0, n_rows))
    promise.assert_scores_agree(scores, batch[0][:n_rows], detector)


def test_a_model_from_a_file(detector, live, batch, tmp_path):
    detector.save(tmp_path / "model.smkc")
    loaded = smkc.load(tmp_path / "model.smkc")
    np.testing.assert_array_equal(loaded.decision_function(live), batch[0])


@pytest.mark.parametrize("kind", ["evidence", "knn"])
def test_the_promise_can_be_broken(kind):
    expected = np.array([0.05, 0.5, np.nan])
    off = 1e-15 if kind == "evidence" else 3e-6
    promise.assert_scores_agree(expected, expected, kind)
    with pytest.raises(AssertionError):
        promise.assert_scores_agree(expected * (1 + off), expected, kind)
    with pytest.raises(AssertionError):
        promise.assert_scores_agree([0.05, np.nan, np.nan], expected, kind)
