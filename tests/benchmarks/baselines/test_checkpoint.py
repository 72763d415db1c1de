"""A training that was stopped ends like one that was not, and none resumes from another's state."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.smkc.paper.learn.made_images import TINY, made_images
from tests.smkc.paper.learn.small_network import (
    QUICK,
    Hungry,
    Small,
    assert_same,
    made_data,
    small,
    weights,
)

from benchmarks.baselines.checkpoint import digest, train_resumed
from benchmarks.baselines.tensor_source import TensorSource
from benchmarks.world import World, generate
from smkc.errors import ModelFileError
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.learner import untrained_network
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.learn.training import Training, train
from smkc.paper.sketch import Sketch

MASKED = Training(epochs=3, batch_size=8, learning_rate=2e-3, seed=5)
SETTINGS = LearnSettings(
    patch=2, n_masks=3, predictor_layers=1, decoder_layers=1, training=MASKED, **TINY
)
LENGTH = 8


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


@pytest.fixture
def data():
    return made_data()


@pytest.fixture(scope="module")
def pictures():
    pixels, tau = made_images(length=LENGTH, n_windows=32)
    return TensorSource((pixels[:24], tau[:24])), TensorSource((pixels[24:], tau[24:]))


def masked(objective, **more):
    return untrained_network(replace(SETTINGS, **more), objective, LENGTH)


@pytest.mark.parametrize("n_phases", [1, 2])
def test_a_training_in_two_parts_ends_with_the_same_weights(data, path, n_phases):
    whole = small(n_phases=n_phases)
    log = train(whole, *data, QUICK)
    train_resumed(small(n_phases=n_phases), *data, replace(QUICK, epochs=2), path=path)
    resumed = small(n_phases=n_phases)
    resumed_log = train_resumed(resumed, *data, QUICK, path=path)
    assert_same(weights(whole), weights(resumed))
    assert resumed_log == log
    again = small(n_phases=n_phases)
    written = path.stat().st_mtime_ns
    assert train_resumed(again, *data, QUICK, path=path) == log
    assert_same(weights(whole), weights(again))
    assert path.stat().st_mtime_ns == written, "what has ended is not run again"


@pytest.mark.parametrize("objective", ["recon", "prediction"])
def test_an_interrupted_training_ends_with_the_same_weights(objective, pictures, path):
    whole = masked(objective)
    log = train(whole, *pictures, MASKED)
    stopped = masked(objective)
    stepped = stopped.stepped

    def stop(step, total):
        if step == 7:  # in the third epoch of three steps each
            raise KeyboardInterrupt
        stepped(step, total)

    stopped.stepped = stop
    with pytest.raises(KeyboardInterrupt):
        train_resumed(stopped, *pictures, MASKED, path=path, seconds_apart=0.0)
    resumed = masked(objective)
    assert train_resumed(resumed, *pictures, MASKED, path=path) == log
    assert_same(weights(whole), weights(resumed))


def test_another_trainings_checkpoint_is_refused(data, path):
    class Other(Small):
        pass

    settings = replace(QUICK, epochs=2)
    train_resumed(small(), *data, settings, path=path)
    inputs, validation = data
    others = [TensorSource((part.tensors[0] + 1,)) for part in data]
    with pytest.raises(ModelFileError, match="settings differ; delete it"):
        train_resumed(small(), *data, replace(settings, seed=9), path=path)
    with pytest.raises(ModelFileError, match="layers differ"):
        train_resumed(small(dropout=0.5), *data, settings, path=path)
    with pytest.raises(ModelFileError, match="windows differ"):
        train_resumed(small(), others[0], validation, settings, path=path)
    with pytest.raises(ModelFileError, match="validation differ"):
        train_resumed(small(), inputs, others[1], settings, path=path)
    with pytest.raises(ModelFileError, match="network"):
        train_resumed(Other(), *data, settings, path=path)
    with pytest.raises(ModelFileError, match="2 epochs, but epochs=1"):
        train_resumed(small(), *data, replace(settings, epochs=1), path=path)
    path.write_bytes(b"something else")
    with pytest.raises(ModelFileError, match=r"run\.safetensors"):
        train_resumed(small(), *data, settings, path=path)


def test_a_longer_training_whose_steps_depend_on_its_length_is_another(data, pictures, path):
    settings = replace(QUICK, schedule="cosine")
    train_resumed(small(), *data, settings, path=path)
    with pytest.raises(ModelFileError, match="settings differ"):
        train_resumed(small(), *data, replace(settings, epochs=9), path=path)
    path.unlink()
    train_resumed(masked("prediction"), *pictures, MASKED, path=path)
    with pytest.raises(ModelFileError, match="settings differ"):
        train_resumed(masked("prediction"), *pictures, replace(MASKED, epochs=4), path=path)


def test_settings_that_the_layers_do_not_show_are_part_of_the_identity(pictures, path):
    train_resumed(masked("recon"), *pictures, MASKED, path=path)
    masking = replace(SETTINGS.masking, ratio=0.5)
    with pytest.raises(ModelFileError, match="layers differ"):
        train_resumed(masked("recon", masking=masking), *pictures, MASKED, path=path)


def test_batches_that_did_not_fit_into_memory_are_not_tried_again(data, path):
    settings = replace(QUICK, batch_size=20, epochs=2)
    torch.manual_seed(0)
    train_resumed(Hungry(), *data, settings, path=path)
    resumed = Hungry()
    train_resumed(resumed, *data, replace(settings, epochs=3), path=path)
    assert 20 not in resumed.sizes


def test_a_digest_is_that_of_the_windows_chosen():
    windows = generate(World(), pool="train", n_windows=9, cardinality=3, length=LENGTH, seed=2)

    def source(windows, which=slice(None), sketch=Sketch(), **more):  # noqa: B008 (it is frozen)
        starts = windows.starts()[which]
        return RecordingImages(windows.recording(), starts, LENGTH, sketch, **more)

    first = slice(0, 6)
    alone = digest(source(windows.take(first)))
    assert digest(source(windows, first)) == alone
    others = [
        source(windows),
        source(windows.take(first), channels=("log_g",)),
        source(windows.take(first), sketch=Sketch(buckets=64)),
        source(windows.take(np.array([1, 0, 2, 3, 4, 5]))),
    ]
    assert all(digest(other) != alone for other in others)
