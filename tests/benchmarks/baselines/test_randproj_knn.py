import sys

import numpy as np
import pytest
from tests import promise
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from benchmarks.baselines.randproj_knn import RandProjKnn
from smkc.errors import InputError, MissingExtraError, NotFittedError, SettingError, WindowError
from smkc.paper.density import Projection
from smkc.paper.kernel import Representation, features
from smkc.paper.sketch import Sketch

TOLERANCE = 1e-5  # float32 features against float64 cosines

SMALL = {"window": 8, "sketch": Sketch(buckets=16), "components": 24, "neighbours": 3}


@pytest.fixture(scope="module")
def normal():
    return made_windows(np.random.default_rng(5), 40)


@pytest.mark.parametrize("representation", ["full image", "log3 band(4)", "seq"])
def test_scores_are_mean_cosine_distances_to_the_nearest(rng, normal, representation):
    windows = made_windows(rng, 6)

    def vectors(some):
        chosen = Representation.parse(representation)
        plain = features(some.recording(), some.starts(), 8, chosen, SMALL["sketch"])
        projected = plain @ Projection(components=24, seed=2).matrix(plain.shape[1])
        return projected / np.linalg.norm(projected, axis=1, keepdims=True)

    distances = np.sort(1.0 - vectors(windows) @ vectors(normal).T, axis=1)
    competitor = RandProjKnn(representation=representation, seed=2, **SMALL).fit(normal)
    actual = competitor.score(windows)
    np.testing.assert_allclose(actual, distances[:, :3].mean(axis=1), atol=TOLERANCE)


def test_every_training_window_is_kept(normal):
    competitor = RandProjKnn(**SMALL).fit(normal)
    assert len(competitor.density_.references) == len(normal)


def test_neither_threads_nor_the_order_of_variables_change_a_score(rng, normal, monkeypatch):
    windows = made_windows(rng, 33)
    scores = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SMKC_THREADS", threads)
        scores.append(RandProjKnn(**SMALL).fit(normal).score(windows))
    promise.assert_scores_agree(scores[0], scores[1])
    again = RandProjKnn(**SMALL).fit(normal).score(shuffled(rng, windows))
    promise.assert_scores_agree(again, scores[0])


def test_windows_with_hardly_an_observation_have_a_score_too(rng, normal):
    windows = made_windows(rng, 3)
    windows.observed[0] = False
    windows.observed[1, 1:] = False
    assert np.isfinite(RandProjKnn(**SMALL).fit(normal).score(windows)).all()


def test_spikes_score_higher(rng, normal):
    windows = made_windows(rng, 20, n_anomalous=10)
    scores = RandProjKnn(**SMALL).fit(normal).score(windows)
    assert scores[windows.is_anomalous].mean() > scores[~windows.is_anomalous].mean()


def test_what_it_needs_is_said(rng, normal):
    with pytest.raises(NotFittedError, match="call fit first"):
        RandProjKnn(**SMALL).score(normal)
    with pytest.raises(WindowError, match="windows of 6 steps were given and window=8"):
        RandProjKnn(**SMALL).fit(made_windows(rng, 9, length=6))
    with pytest.raises(InputError, match="2 training windows, neighbours=3"):
        RandProjKnn(**SMALL).fit(normal.take(slice(0, 2)))
    with pytest.raises(SettingError, match="smaller band"):
        RandProjKnn(representation="band(8)", **SMALL).fit(normal)


def test_a_missing_torch_is_named_with_its_remedy(normal, monkeypatch):
    monkeypatch.setitem(sys.modules, "smkc.paper.density.torch_knn", None)
    with pytest.raises(MissingExtraError, match=r'pip install ".\[deep\]"'):
        RandProjKnn(device="cuda", **SMALL).fit(normal)
