"""Images come batch by batch, and only the windows themselves decide what they are."""

import numpy as np
import pytest
import torch

from benchmarks.world import World, generate
from smkc.paper.kernel import images
from smkc.paper.learn.images import RecordingImages
from smkc.paper.sketch import Sketch

LENGTH = 8


@pytest.fixture(scope="module")
def windows():
    return generate(World(), pool="train", n_windows=9, cardinality=3, length=LENGTH, seed=2)


def source(windows, **more):
    return RecordingImages(windows.recording(), windows.starts(), LENGTH, Sketch(), **more)


def test_a_batch_is_the_librarys_own_images(windows):
    rows = np.array([4, 0, 7])
    pixels, tau = source(windows).batch(rows)
    recording, starts = windows.recording(), windows.starts()
    expected, expected_tau = images(recording, starts[rows], LENGTH, Sketch())
    assert pixels.dtype == torch.float32
    assert np.array_equal(pixels.numpy(), expected)
    assert np.array_equal(tau.numpy(), expected_tau)
    assert len(source(windows)) == 9


def test_images_that_are_kept_are_the_same(windows):
    made, kept = source(windows), source(windows)
    kept._is_kept = True
    for rows in (np.array([3, 3, 8]), np.arange(9)):
        for ours, theirs in zip(kept.batch(rows), made.batch(rows), strict=True):
            assert torch.equal(ours, theirs)


def test_channels_are_those_asked_for(windows):
    pixels, tau = source(windows, channels=("cos_g", "log_abs")).batch(np.arange(2))
    whole, _ = source(windows).batch(np.arange(2))
    assert torch.equal(pixels, whole[:, [0, 5]])
    assert torch.equal(tau, source(windows).batch(np.arange(2))[1]), "it needs no log_g channel"
