"""From images to scores: what a learned model promises."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests import promise
from tests.smkc.paper.learn.made_images import TINY

from benchmarks.world import World, generate
from smkc import model_file
from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError
from smkc.paper.learn.fusion import TailFusion, WeightedSum
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.model import SURPRISE_WEIGHTS, LearnedModel, LearnSettings
from smkc.paper.learn.training import Training
from smkc.paper.sketch import Sketch

LENGTH = 16
SETTINGS = LearnSettings(
    patch=4,
    n_masks=3,
    neighbours=5,
    predictor_layers=1,
    decoder_layers=1,
    training=Training(epochs=4, batch_size=16, learning_rate=2e-3, schedule="cosine", seed=1),
    **TINY,
)


def windows(n_windows, seed, rate=0.0):
    return generate(
        World(),
        pool="train",
        n_windows=n_windows,
        cardinality=4,
        length=LENGTH,
        rate=rate,
        seed=seed,
    )


def source(of):
    return RecordingImages(of.recording(), of.starts(), LENGTH, Sketch())


TRAIN, HELD_OUT, TEST = windows(60, 1), windows(45, 2), windows(40, 3, rate=0.5)


@pytest.fixture(scope="module")
def fitted():
    found = {}

    def get(objective):
        if objective not in found:
            model = LearnedModel(replace(SETTINGS, objective=objective))
            found[objective] = model.fit(source(TRAIN), source(HELD_OUT))
        return found[objective]

    return get


@pytest.mark.parametrize(("objective", "k"), [("recon", 2), ("prediction", 2), ("ensemble", 4)])
def test_components_and_scores(fitted, objective, k):
    model = fitted(objective)
    components = model.components(source(TEST))
    assert components.shape == (40, k)
    scores = model.score(source(TEST))
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) == 40


def test_anomalies_score_higher(fitted):
    scores = fitted("ensemble").score(source(TEST))
    is_anomalous = TEST.is_anomalous
    assert np.median(scores[is_anomalous]) > np.median(scores[~is_anomalous])


def test_the_ensemble_has_the_components_of_both(fitted):
    both = fitted("ensemble").components(source(TEST))
    alone = [fitted(each).components(source(TEST)) for each in ("recon", "prediction")]
    assert np.array_equal(both, np.hstack(alone))


def test_surprise_is_the_mean_of_the_worst_patches_in_spreads(fitted):
    model = fitted("recon")
    network = model.learners_["recon"].network
    with torch.no_grad():
        by_token, usual = (
            network.surprises(source(of).batch(np.arange(len(of)))).double().numpy()
            for of in (TEST, HELD_OUT)
        )
    low, centre, high = np.quantile(usual, [0.25, 0.5, 0.75], axis=0)
    z = ((by_token - centre) / (high - low) * 1.34898)[:, :, 3:]
    worst = np.sort(z.reshape(40, -1), axis=1)[:, -3:].mean(1)  # of 10 patches in 3 channels
    np.testing.assert_allclose(model.components(source(TEST))[:, 1], worst, rtol=1e-2)


def test_one_objective_is_the_sum_of_its_density_and_surprise(fitted):
    model = fitted("prediction")
    for each in (model, fitted("recon")):
        z = each.standard_(each.components(source(TEST)))
        np.testing.assert_allclose(
            each.score(source(TEST)),
            z[:, 0] + SURPRISE_WEIGHTS[each.settings.objective] * z[:, 1],
            rtol=1e-9,
        )


def test_objectives_decide_the_fusion(fitted):
    assert isinstance(fitted("recon").fusion_, WeightedSum)
    assert isinstance(fitted("ensemble").fusion_, TailFusion)


def test_a_score_does_not_depend_on_its_company(fitted):
    model = fitted("ensemble")
    together = model.score(source(TEST))
    alone = model.score(source(TEST.take(np.array([7, 3]))))
    promise.assert_scores_agree(alone, together[[7, 3]], "ensemble")
    assert model.score(source(TEST.take(slice(0, 0)))).shape == (0,)


def test_the_same_seed_gives_the_same_bits_whatever_the_threads(fitted):
    expected = fitted("recon").score(source(TEST))
    n_threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        model = LearnedModel(replace(SETTINGS, objective="recon"))
        again = model.fit(source(TRAIN), source(HELD_OUT)).score(source(TEST))
    finally:
        torch.set_num_threads(n_threads)
    assert np.array_equal(again, expected)


@pytest.mark.parametrize("objective", ["recon", "ensemble"])
def test_saving_and_loading_is_exact(fitted, tmp_path, objective):
    model = fitted(objective)
    path = tmp_path / "model.smkc"
    model_file.write(path, *model.to_arrays())
    arrays, header = model_file.read(path)
    again = LearnedModel.from_arrays(model.settings, arrays, header)
    assert np.array_equal(again.score(source(TEST)), model.score(source(TEST)))
    more, same = again.to_arrays(), model.to_arrays()
    assert more[0].keys() == same[0].keys()
    assert all(np.array_equal(more[0][name], same[0][name]) for name in more[0])


@pytest.mark.parametrize("objective", ["recon", "ensemble"])
def test_models_with_details_of_reconstruction_score_the_same(fitted, objective):
    model = fitted(objective)
    arrays, header = model.to_arrays()
    for name in ("standard/centre", "standard/spread"):
        arrays[name] = np.insert(arrays[name], 2, np.arange(1.0, 13.0))
    again = LearnedModel.from_arrays(model.settings, arrays, header)
    assert np.array_equal(again.score(source(TEST)), model.score(source(TEST)))
    arrays["standard/centre"] = arrays["standard/centre"][:1]
    with pytest.raises(ModelFileError, match="fit again"):
        LearnedModel.from_arrays(model.settings, arrays, header)


def test_arrays_that_do_not_fit_are_refused(fitted):
    model = fitted("recon")
    arrays, header = model.to_arrays()
    with pytest.raises(ModelFileError, match="fit again"):
        LearnedModel.from_arrays(replace(model.settings, width=32), arrays, header)
    with pytest.raises(ModelFileError, match="fit again"):
        LearnedModel.from_arrays(replace(model.settings, objective="ensemble"), arrays, header)
    with pytest.raises(ModelFileError, match="fusion 'Sum' is not known; fit again"):
        LearnedModel.from_arrays(model.settings, arrays, {**header, "fusion": "Sum"})
    short = {**arrays, "recon/references": arrays["recon/references"][:3]}
    with pytest.raises(ModelFileError, match="3 references"):
        LearnedModel.from_arrays(model.settings, short, header)


def test_what_makes_no_sense_is_refused():
    model = LearnedModel(SETTINGS)
    with pytest.raises(NotFittedError, match="call fit first"):
        model.score(source(TEST))
    with pytest.raises(InputError, match="3 windows to learn from, neighbours=5"):
        model.fit(source(windows(3, 1)), source(HELD_OUT))
    with pytest.raises(InputError, match="1 normal windows are held out"):
        model.fit(source(TRAIN), source(HELD_OUT.take(slice(0, 1))))


def test_one_window_at_once_scores_the_same_to_rounding(fitted):
    model = fitted("ensemble")
    together = model.components(source(TEST))
    one = source(TEST.take(np.array([3])))
    np.testing.assert_allclose(model.components(one), together[3:4], rtol=1e-3, atol=1e-5)
    assert model.score(one) == pytest.approx(model.score(source(TEST))[3], rel=1e-2)


@pytest.mark.parametrize("objective", ["recon", "prediction"])
def test_the_papers_score_is_the_class_tokens_density_plus_the_mean_error(objective):
    settings = replace(SETTINGS, objective=objective, scoring="paper", expects_errors=False)
    normal = source(HELD_OUT)
    model = LearnedModel(settings).fit(source(TRAIN), normal)
    network = model.learners_[objective].network

    def class_tokens_and_errors(of):
        batch = of.batch(np.arange(len(of)))
        with torch.no_grad():
            return network.embeddings(batch).numpy(), network.errors(batch).numpy()

    def raw(of):
        tokens, errors = class_tokens_and_errors(of)
        known, _ = class_tokens_and_errors(source(TRAIN))
        apart = np.sort(1 - tokens.astype(float) @ known.astype(float).T, axis=1)
        return np.column_stack([apart[:, : SETTINGS.neighbours].mean(axis=1), errors])

    found = raw(source(TEST))
    np.testing.assert_allclose(model.components(source(TEST)), found, rtol=1e-3, atol=1e-6)
    low, middle, high = np.quantile(raw(normal), [0.25, 0.5, 0.75], axis=0)
    expected = ((found - middle) / (high - low)).sum(axis=1)
    scores = model.score(source(TEST))
    assert np.corrcoef(scores, expected)[0, 1] > 0.999
    again = LearnedModel.from_arrays(settings, *model.to_arrays())
    assert np.array_equal(again.score(source(TEST)), scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "best"}, "scoring='best' is not known; use one of tuned, paper"),
        ({"objective": "both"}, "objective='both' is not known"),
        ({"backbone": "rnn"}, "backbone='rnn'"),
        ({"tokens": "half"}, "tokens='half'"),
        ({"channels": ()}, "name one or more"),
        ({"channels": ("cos_g", "cos_g")}, "each once"),
        ({"channels": ("cosine",)}, "cosine"),
        ({"n_masks": 0}, "n_masks=0: give a whole number from 1"),
        ({"stem_width": 0}, "stem_width=0"),
        ({"expansion": 0}, "expansion=0"),
        ({"decoder_layers": 0}, "decoder_layers=0"),
        ({"width": 10, "heads": 3}, "width=10 is not a multiple of heads=3"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(SettingError, match=message):
        LearnSettings(**settings)
