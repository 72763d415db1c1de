"""The paper's learned rows: what each reads, and the variants of its ablations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.baselines.logistic_fusion import LogisticFusion
from benchmarks.baselines.smkc_learned import (
    VARIANTS,
    SmkcEnsemble,
    SmkcEnsembleTuned,
    SmkcEnsembleWithoutLabels,
    SmkcPrediction,
    SmkcRecon,
    SmkcReconTuned,
    components,
)
from benchmarks.paper.budget import find_budget
from benchmarks.paper.jobs import RunSettings, run_job
from benchmarks.paper.methods import ABLATIONS, TUNED_ABLATIONS
from benchmarks.paper.scores import Job
from benchmarks.world import World, generate
from smkc.errors import SettingError
from smkc.paper.learn.fusion import TailFusion
from smkc.paper.learn.training import Training
from smkc.paper.sketch import Sketch

LENGTH = 16


def some(n_windows=40, seed=0, rate=0.0):
    return generate(
        World(),
        pool="train",
        n_windows=n_windows,
        cardinality=3,
        length=LENGTH,
        rate=rate,
        seed=seed,
    )


def made(kind, **more):
    training = Training(epochs=1, batch_size=16, seed=2)
    return kind(**{"window": LENGTH, "training": training, **more})


def test_labels_are_for_the_ensemble_that_asks_for_them():
    validation = some(seed=1, rate=0.3)
    assert SmkcEnsemble.wants_labels
    labelled = made(SmkcEnsemble).fit(some(), validation)
    assert isinstance(labelled.fusion_, LogisticFusion)
    unlabelled = made(SmkcEnsemble).fit(some(), some(seed=1))
    assert unlabelled.fusion_ is None
    model = unlabelled.model_
    assert np.array_equal(unlabelled.score(some()), model.score(unlabelled._images(some())))
    for kind in (SmkcRecon, SmkcPrediction, SmkcEnsembleWithoutLabels):
        assert not kind.wants_labels
    ours = made(SmkcEnsembleWithoutLabels)
    assert isinstance(ours.fit(some(), validation).model_.fusion_, TailFusion)
    test = some(seed=3)
    normal = made(SmkcEnsembleWithoutLabels).fit(some(), validation.normal())
    assert np.array_equal(ours.score(test), normal.score(test)), "anomalous ones are not looked at"


def test_rows_that_train_the_same_network_train_it_once(tmp_path):
    saved = {"training": Training(epochs=1, seed=2), "checkpoint": tmp_path / "job.safetensors"}
    validation = some(seed=1, rate=0.3)
    for kind in (SmkcRecon, SmkcPrediction):
        made(kind, **saved).fit(some(), validation.normal())
    files = sorted(tmp_path.iterdir())
    times = [path.stat().st_mtime_ns for path in files]
    assert len(files) == 2
    ensemble = made(SmkcEnsemble, **saved).fit(some(), validation)
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.iterdir())] == times
    alone = made(SmkcEnsemble, training=saved["training"]).fit(some(), validation)
    assert np.array_equal(ensemble.score(validation), alone.score(validation))
    made(SmkcRecon, **saved, variant="base").fit(some(), validation.normal())
    made(SmkcRecon, **saved).fit(some(seed=7), validation.normal())
    assert len(list(tmp_path.iterdir())) == 4, "others are not theirs"


def test_the_papers_row_and_the_tuned_one_share_what_they_can(tmp_path):
    saved = {"training": Training(epochs=1, seed=2), "checkpoint": tmp_path / "job.safetensors"}
    validation = some(seed=1, rate=0.3)
    made(SmkcEnsemble, **saved).fit(some(), validation)
    made(SmkcEnsembleTuned, **saved).fit(some(), validation)
    names = sorted(path.stem.split("-", 2)[-1] for path in tmp_path.iterdir())
    assert names == ["prediction", "reconstruction", "reconstruction-plain"]


def test_the_papers_ensemble_fuses_four_components():
    validation = some(seed=1, rate=0.3)
    ours = made(SmkcEnsemble).fit(some(), validation)
    assert len(ours.fusion_.weights) == 4
    assert not ours.model_.settings.expects_errors
    tuned = made(SmkcEnsembleTuned).fit(some(), validation)
    assert len(tuned.fusion_.weights) == 16, "and the errors of 6 channels in 2 ways"
    assert tuned.model_.settings.expects_errors


def test_details_are_the_worst_and_the_mean_errors_of_each_channel():
    validation, test = some(seed=1), some(seed=3)
    ours = made(SmkcReconTuned).fit(some(), validation)
    learner = ours.model_.learners_["recon"]
    found = components(learner, ours._images(test))
    assert np.array_equal(found[:, :2], learner.components(ours._images(test)))
    with torch.no_grad():
        by_token, usual = (
            learner.network.surprises(ours._images(of).batch(np.arange(40))).double().numpy()
            for of in (test, validation)
        )
    np.testing.assert_allclose(found[:, 8:], by_token.mean(1), rtol=1e-3)
    low, centre, high = np.quantile(usual, [0.25, 0.5, 0.75], axis=0)
    z = (by_token - centre) / (high - low) * 1.34898
    np.testing.assert_allclose(found[:, 2:8], z.max(1), rtol=1e-2)  # a tenth of 3 patches is one


def test_every_ablation_is_a_variant_that_differs_from_base():
    assert [method.variant for method in TUNED_ABLATIONS.values()] == list(VARIANTS)
    assert {method.variant for method in ABLATIONS.values()} < set(VARIANTS)
    base = made(SmkcReconTuned, variant="base")
    for variant in set(VARIANTS) - {"base"}:
        ours = made(SmkcReconTuned, variant=variant)
        images = ours._images(some(2))
        differs = ours.settings() != base.settings() or images.sketch != Sketch()
        assert differs, variant
    assert made(SmkcRecon, variant="cos_only").settings().channels == (
        "cos_g",
        "cos_delta",
        "cos_abs",
    )
    assert not made(SmkcRecon, variant="no_presence_stream")._images(some(2)).sketch.presence


@pytest.mark.parametrize("variant", ["log_only", "no_scale_token", "no_sqrt_nt_normalization"])
def test_variants_score(variant):
    ours = made(SmkcRecon, variant=variant).fit(some())
    assert np.isfinite(ours.score(some(5, seed=4))).all()


def test_variants_have_a_reduced_budget():
    training = Training(epochs=300)
    whole = made(SmkcRecon, training=training).settings()
    base = made(SmkcRecon, training=training, variant="base").settings()
    assert base.training.epochs < whole.training.epochs == 300
    assert (base.width, base.layers) < (whole.width, whole.layers)
    trial = made(SmkcRecon, training=replace(training, epochs=1)).settings()
    assert trial.width < base.width


def test_an_unknown_variant_is_refused():
    with pytest.raises(SettingError, match="'no_stem' is not known; there are log_only"):
        made(SmkcRecon, variant="no_stem").fit(some())


@pytest.mark.parametrize(("key", "is_given"), [("smkc-ens", True), ("smkc-recon", False)])
def test_jobs_give_anomalous_windows_to_those_that_ask(tmp_path, monkeypatch, key, is_given):
    given = []

    class Enough(Exception):
        pass

    def fit(self, windows, validation=None):
        given.append(validation.is_anomalous.any())
        raise Enough

    monkeypatch.setattr("benchmarks.baselines.smkc_learned.SmkcLearned.fit", fit)
    settings = RunSettings(budget=find_budget("smoke"), folder=tmp_path)
    with pytest.raises(Enough):
        run_job(Job(method=key, protocol="holdout_C", seed=0), settings)
    assert given == [is_given]
