"""One set of checks that every competitor passes: what they all promise."""

import numpy as np
import pytest

from benchmarks.paper.methods import METHODS, SCALING_METHODS
from benchmarks.windows import Windows
from benchmarks.world import World, generate
from smkc.errors import NotFittedError, SmkcError
from smkc.paper.learn.training import Training
from smkc.paper.sketch import Sketch

ALL = METHODS | SCALING_METHODS
LENGTH = 16


def some(pool, n_windows=30, seed=0, rate=0.0, length=LENGTH):
    return Windows.concat(
        [
            generate(
                World(),
                pool=pool,
                n_windows=n_windows,
                cardinality=cardinality,
                length=length,
                rate=rate,
                seed=(seed, cardinality),
            )
            for cardinality in (1, 3)
        ]
    )


def made(key, seed=1):
    training = Training(epochs=2, patience=2, seed=seed)
    return ALL[key].make(window=LENGTH, sketch=Sketch(buckets=16), seed=seed, training=training)


@pytest.fixture(scope="module")
def fitted():
    """Every competitor, fitted when first asked for."""
    found = {}

    def get(key):
        if key not in found:
            found[key] = made(key).fit(some("train"), some("train", seed=1))
        return found[key]

    return get


TEST = some("eval", n_windows=20, rate=0.3)


@pytest.mark.parametrize("key", ALL)
def test_scores_are_finite_and_one_a_window(fitted, key):
    scores = fitted(key).score(TEST)
    assert scores.shape == (40,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 20, "they tell windows apart"


@pytest.mark.parametrize("key", ALL)
def test_fit_returns_the_competitor_and_scores_want_a_fit(key):
    competitor = made(key)
    with pytest.raises(NotFittedError, match="fit"):
        competitor.score(TEST)
    assert competitor.fit(some("train")) is competitor, "and needs no validation windows"


@pytest.mark.parametrize("key", ALL)
def test_a_score_does_not_depend_on_its_company(fitted, key):
    together = fitted(key).score(TEST)
    which = np.array([7, 3, 31])
    np.testing.assert_allclose(fitted(key).score(TEST.take(which)), together[which], rtol=1e-5)
    assert len(fitted(key).score(TEST.take(slice(0, 0)))) == 0, "not even on any"


@pytest.mark.parametrize("key", ALL)
def test_the_order_of_variables_plays_no_part(fitted, key):
    widest = TEST.values.shape[2]
    order = np.random.default_rng(0).permutation(widest)
    shuffled = Windows(
        TEST.values[:, :, order],
        TEST.observed[:, :, order],
        TEST.variables[:, order],
        TEST.names,
        TEST.kinds,
        TEST.segments,
    )
    whole = TEST.cardinality == widest  # the others' padding would no longer be last
    expected = fitted(key).score(TEST.take(whole))
    np.testing.assert_allclose(fitted(key).score(shuffled.take(whole)), expected, rtol=2e-4)


@pytest.mark.parametrize("key", ALL)
def test_the_same_seed_gives_the_same_scores_whatever_the_threads(fitted, key, monkeypatch):
    import torch

    expected = fitted(key).score(TEST)
    n_threads = torch.get_num_threads()
    monkeypatch.setenv("SMKC_THREADS", "3")
    torch.set_num_threads(3)
    try:
        again = made(key).fit(some("train"), some("train", seed=1)).score(TEST)
    finally:
        torch.set_num_threads(n_threads)
    np.testing.assert_allclose(again, expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("key", [key for key, method in ALL.items() if method.is_trained])
def test_another_seed_gives_other_weights(fitted, key):
    other = made(key, seed=2).fit(some("train"), some("train", seed=1))
    assert not np.array_equal(other.score(TEST), fitted(key).score(TEST))


@pytest.mark.parametrize("key", [key for key, method in ALL.items() if method.reads == "network"])
def test_windows_of_another_length_are_refused(fitted, key):
    with pytest.raises(SmkcError, match=f"{LENGTH} steps"):
        fitted(key).score(some("eval", length=32))
