"""What holds for every competitor that reads the hashed sequence.

In: a function that makes the competitor. Out: nothing, or an assertion that fails.
"""

from dataclasses import replace

import numpy as np
import torch
from tests.benchmarks.baselines.made_windows import made_windows, shuffled

from smkc.paper.learn.training import Training
from smkc.paper.sketch import Sketch

SKETCH = Sketch(buckets=16)
TRAINING = Training(epochs=3, batch_size=16, learning_rate=5e-3, seed=2)
LENGTH = 8


def made(kind, training=TRAINING, **settings):
    """Return a competitor for windows of ``made_windows``."""
    return kind(window=LENGTH, sketch=SKETCH, training=training, **settings)


def check_learns_and_scores(kind, rng, **settings):
    """Training lowers the validation loss, and spikes score higher than normal windows."""
    training = replace(TRAINING, epochs=12)
    competitor = made(kind, training, **settings).fit(made_windows(rng, 150))
    losses = competitor.log_.validation_losses
    assert min(losses) < 0.97 * losses[0]
    check_spikes_score_higher(competitor, rng)


def check_spikes_score_higher(competitor, rng):
    """A fitted competitor tells spiked windows from normal ones."""
    windows = made_windows(rng, 150, n_anomalous=30)
    scores = competitor.score(windows)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    spiked, normal = scores[windows.is_anomalous], scores[~windows.is_anomalous]
    assert (spiked[:, None] > normal).mean() > 0.9


def check_score_is_the_windows_own(kind, rng, **settings):
    """No other window, no order of variables and no number of threads changes a score."""
    windows = made_windows(rng, 140)
    competitor = made(kind, **settings).fit(windows)
    scores = competitor.score(windows)
    assert np.array_equal(scores, competitor.score(shuffled(rng, windows)))
    assert np.array_equal(scores[:9], competitor.score(windows.take(slice(0, 9))))
    order = rng.permutation(len(windows))
    np.testing.assert_allclose(competitor.score(windows.take(order)), scores[order], rtol=1e-6)
    n_threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3 - min(n_threads, 2))
        again = made(kind, **settings).fit(windows).score(windows)
    finally:
        torch.set_num_threads(n_threads)
    assert np.array_equal(scores, again)
    other = made(kind, replace(TRAINING, seed=3), **settings).fit(windows).score(windows)
    assert not np.array_equal(scores, other)


def check_goes_on_from_a_checkpoint(kind, rng, tmp_path, **settings):
    """A training that was stopped ends like one that was not."""
    windows = made_windows(rng, 60)
    path = tmp_path / "run.safetensors"
    expected = made(kind, **settings).fit(windows).score(windows)
    made(kind, replace(TRAINING, epochs=1), checkpoint=path, **settings).fit(windows)
    resumed = made(kind, checkpoint=path, **settings).fit(windows)
    assert np.array_equal(expected, resumed.score(windows))


def network_of(kind, **settings):
    """Return an untrained network with fixed weights, and a batch for it."""
    torch.manual_seed(7)
    network = made(kind, **settings).network().eval()
    batch = torch.randn(5, LENGTH, SKETCH.width)
    return network, batch
