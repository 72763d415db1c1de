"""Each peer's arithmetic: by hand, by plain loops, or by the library that has it."""

import numpy as np
import pytest
from tests.benchmarks.real.peers.made_up_rows import recording, usual

from benchmarks import libraries
from benchmarks.real.peers import make_peer
from benchmarks.real.peers.half_space_trees import HalfSpaceTrees
from benchmarks.real.peers.principal_components import PrincipalComponents
from benchmarks.real.peers.pyod_detectors import PyodEcod, PyodIForest
from benchmarks.real.peers.sketched_discord import SketchedDiscord, nearest_shape
from benchmarks.real.peers.smkc_detector import DetectorPeer
from benchmarks.real.peers.stumpy_discord import StumpyDiscord
from benchmarks.real.peers.windowed_knn import WindowedKnn
from benchmarks.real.peers.z_scores import PlainZ, RobustZ
from smkc.errors import MissingExtraError, SettingError
from smkc.paper import KnnDetector

NAN = np.nan
REFERENCE = recording(usual(n_rows=150))
TEST = recording(usual(n_rows=60, seed=2, first=150) * 1.3, first=150)


def test_robust_z_by_hand():
    levels = np.column_stack([np.arange(32) % 8, 10.0 * (np.arange(32) % 8)])
    live = recording([[7.0, 35.0], [NAN, 70.0], [NAN, NAN]])
    unit = 1.349  # 3.5 from the median is this many spreads of 3.5 / 1.349
    mean, largest = (
        RobustZ(pooling=pooling).fit(recording(levels)).score(live) for pooling in ("mean", "max")
    )
    np.testing.assert_allclose(mean, [unit / 2, unit, NAN])
    np.testing.assert_allclose(largest, [unit, unit, NAN])


def test_plain_z_by_hand():
    table = np.tile([[0.0], [0.0], [0.0], [4.0]], (8, 1))  # median 0, mean 1, sd sqrt(3)
    live = recording([[4.0], [1.0], [NAN]])
    deviations = np.array([4.0, 1.0, NAN]) / np.sqrt(3)
    np.testing.assert_allclose(PlainZ().fit(recording(table)).score(live), deviations)
    from_mean = PlainZ(centre="mean").fit(recording(table)).score(live)
    np.testing.assert_allclose(from_mean, np.array([3.0, 0.0, NAN]) / np.sqrt(3), atol=1e-12)


def test_pca_agrees_with_scikit_learn():
    decomposition = pytest.importorskip("sklearn.decomposition", reason="needs scikit-learn")
    peer = PrincipalComponents(explained=0.8).fit(REFERENCE)
    ours = peer.score(TEST)
    theirs = decomposition.PCA(n_components=0.8, svd_solver="full").fit(peer.aligned_.rows)
    rows = peer.aligned_.columns.filled(TEST)
    again = theirs.inverse_transform(theirs.transform(rows))
    assert len(peer.components_) == theirs.n_components_ < rows.shape[1]
    np.testing.assert_allclose(ours, np.mean((rows - again) ** 2, axis=1), atol=1e-12)


def test_pca_leaves_something_unexplained_with_one_column():
    one = recording(usual(n_columns=1))
    assert np.ptp(PrincipalComponents().fit(one).score(one)) > 0


def test_windowed_knn_agrees_with_plain_loops():
    peer = WindowedKnn(window=3, neighbours=4, reference_size=50).fit(REFERENCE)
    rows = np.concatenate([peer.aligned_.rows[-2:], peer.aligned_.columns.filled(TEST)])
    n_kept = len(peer.aligned_.rows) - 2
    starts = sorted({int(at) for at in np.linspace(0, n_kept - 1, 50)})
    for t in range(len(TEST)):
        distances = []
        for start in starts:
            difference = rows[t : t + 3] - peer.aligned_.rows[start : start + 3]
            distances.append(float(np.sqrt((difference**2).sum())))
        expected = sum(sorted(distances)[:4]) / 4
        assert peer.score(TEST)[t] == pytest.approx(expected, abs=1e-9)


def test_nearest_shape_agrees_with_plain_loops(rng):
    shapes, others = rng.normal(size=(6, 5)), rng.normal(size=(9, 5))
    shapes[0] = 3.0  # stands still
    for at, shape in enumerate(shapes):
        distances = [np.linalg.norm(_z(shape) - _z(other)) for other in others]
        assert nearest_shape(shapes, others)[at] == pytest.approx(min(distances), abs=1e-7)
    others[4] = -1.0
    assert nearest_shape(shapes, others)[0] == 0.0


def test_sketched_sums_use_each_column_once_with_a_sign():
    peer = SketchedDiscord(window=4, seed=3).fit(REFERENCE)
    assert peer.signs_.shape == (4, 2)
    np.testing.assert_array_equal(np.abs(peer.signs_).sum(axis=1), np.ones(4))


def test_sketched_discord_marks_a_shape_that_the_reference_lacks():
    wave = np.sin(np.arange(300) / 3.0)[:, None]
    test = wave[200:].copy()
    test[50:54] = [[2.0], [-2.0], [2.0], [-2.0]]
    scores = SketchedDiscord(window=8).fit(recording(wave[:200])).score(recording(test, first=200))
    assert 50 <= int(np.argmax(scores)) < 62


@pytest.mark.slow
def test_stumpy_agrees_with_the_plain_join():
    pytest.importorskip("stumpy", reason="stumpy is not installed; the group benchmarks has it")
    peer = StumpyDiscord(window=8, largest=1).fit(REFERENCE)
    rows = np.concatenate([peer.aligned_.rows[-7:], peer.aligned_.columns.filled(TEST)])
    expected = np.zeros(len(TEST))
    for j in range(rows.shape[1]):
        shapes, others = (
            np.lib.stride_tricks.sliding_window_view(part[:, j], 8)
            for part in (rows, peer.aligned_.rows)
        )
        expected = np.maximum(expected, nearest_shape(shapes, others))
    np.testing.assert_allclose(peer.score(TEST), expected, atol=1e-6)


def test_half_space_trees_are_rivers():
    anomaly = pytest.importorskip(
        "river.anomaly", reason="river is not installed; see the group benchmarks"
    )
    peer = HalfSpaceTrees(window=50, seed=4).fit(REFERENCE)
    assert isinstance(peer.trees_, anomaly.HalfSpaceTrees)
    row = dict(zip(peer.columns_.names, peer.columns_.standardised(TEST)[7].tolist(), strict=True))
    assert peer.score(TEST)[7] == peer.trees_.score_one(row)


def test_half_space_trees_tell_rows_apart_after_a_short_reference():
    pytest.importorskip("river", reason="river is not installed; see the group benchmarks")
    assert len(np.unique(HalfSpaceTrees().fit(REFERENCE).score(TEST))) > 5


def test_pyod_recommends_these_two():
    engine = pytest.importorskip(
        "pyod.utils.ad_engine", reason="pyod is not installed; see the group benchmarks"
    )
    planner = engine.ADEngine()
    plan = planner.plan_detection(planner.profile_data(np.zeros((2000, 30))))
    assert plan["detector_name"] == "IForest"
    assert plan["alternatives"][0]["detector_name"] == "ECOD"


def test_pyod_scores_are_its_own():
    pytest.importorskip("pyod", reason="pyod is not installed; see the group benchmarks")
    forest, ecod = PyodIForest(seed=1).fit(REFERENCE), PyodEcod(block=25).fit(REFERENCE)
    rows = forest.aligned_.columns.filled(TEST)
    np.testing.assert_array_equal(forest.score(TEST), forest.model_.decision_function(rows))
    expected = ecod.model_.decision_function(rows[25:50])
    np.testing.assert_array_equal(ecod.score(TEST)[25:50], expected)


def test_a_detector_peer_is_the_detector_with_the_rows_before():
    whole = recording(np.concatenate([usual(n_rows=150), usual(n_rows=60, seed=2, first=150)]))
    peer = DetectorPeer(detector="knn", window=16, align="prompt").fit(whole.rows(0, 150))
    expected = KnnDetector(window=16, align="prompt").fit(whole.rows(0, 150))
    actual = peer.score(whole.rows(150))
    assert np.isfinite(actual).all()
    np.testing.assert_array_equal(actual, expected.decision_function(whole.rows(135))[15:])


def test_the_papers_detector_looks_ahead_by_its_window():
    assert make_peer("RandProj-kNN").look_ahead == 31
    assert DetectorPeer(detector="knn", window=16, align="prompt").look_ahead == 0


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("isolation forest", "sklearn"),
        ("River half-space trees", "river"),
        ("PyOD ECOD", "pyod"),
        ("STUMPY discord", "stumpy"),
    ],
)
def test_a_missing_library_is_named_with_the_command(name, package, monkeypatch):
    def missing(module, *rest):
        raise ModuleNotFoundError(f"No module named {package!r}")

    monkeypatch.setattr(libraries, "import_module", missing)
    with pytest.raises(MissingExtraError, match="--group benchmarks"):
        make_peer(name).fit(REFERENCE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RobustZ(pooling="sum"),
        lambda: PlainZ(centre="mode"),
        lambda: PrincipalComponents(explained=0.0),
        lambda: WindowedKnn(neighbours=0),
        lambda: PyodEcod(block=0),
        lambda: StumpyDiscord(window=2),
        lambda: SketchedDiscord(groups=0),
    ],
)
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(SettingError):
        make()


def _z(shape):
    deviation = shape.std()
    return (shape - shape.mean()) / deviation if deviation > 0 else np.zeros_like(shape)
