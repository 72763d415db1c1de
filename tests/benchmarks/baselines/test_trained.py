from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from tests.benchmarks.baselines.made_windows import made_windows
from tests.benchmarks.baselines.states_checks import LENGTH, SKETCH, TRAINING, made
from torch import nn

from benchmarks.baselines.states_input import ReadsStates, StatesNetwork, state_sequences
from smkc.errors import InputError, NotFittedError, SettingError, WindowError


class LayerNetwork(StatesNetwork):
    def __init__(self, width, over_time):
        super().__init__(over_time)
        self.layer = nn.Linear(width, width)

    def loss(self, batch, epoch, phase=0):
        return self.step_errors(batch[0]).mean()

    def step_errors(self, states):
        states = states / self.typical
        return (self.layer(states) - states).square().mean(2)


@dataclass(kw_only=True, eq=False)
class Layer(ReadsStates):
    def network(self):
        return LayerNetwork(self.sketch.width, self.over_time)


def test_states_are_those_of_the_sketch(rng):
    windows = made_windows(rng, 6)
    actual = state_sequences(windows, SKETCH)
    assert (actual.shape, actual.dtype) == ((6, LENGTH, SKETCH.width), np.float32)
    expected = SKETCH.states(windows.recording()).reshape(actual.shape)
    np.testing.assert_array_equal(actual, expected)


def test_the_scale_is_that_of_the_training_windows(rng):
    windows, validation = made_windows(rng, 30), made_windows(rng, 10)
    network = made(Layer).fit(windows, validation).network_
    states = state_sequences(windows, SKETCH)
    assert float(network.typical) == pytest.approx(np.sqrt((states**2).mean()), rel=1e-5)
    assert float(network.largest) == np.abs(states).max()


def test_a_window_scores_as_its_worst_step_or_as_their_mean(rng):
    windows = made_windows(rng, 20)
    fitted = {way: made(Layer, over_time=way).fit(windows) for way in ("max", "mean")}
    states = torch.from_numpy(state_sequences(windows, SKETCH))
    with torch.no_grad():
        steps = fitted["max"].network_.step_errors(states).numpy()
    np.testing.assert_allclose(fitted["max"].score(windows), steps.max(1), rtol=1e-5)
    np.testing.assert_allclose(fitted["mean"].score(windows), steps.mean(1), rtol=1e-5)
    with pytest.raises(SettingError, match="over_time='sum': give one of max, mean"):
        made(Layer, over_time="sum")


def test_every_tenth_window_is_set_aside(rng):
    windows = made_windows(rng, 40)
    is_aside = np.arange(40) % 10 == 9
    by_itself = made(Layer).fit(windows)
    by_hand = made(Layer).fit(windows.take(~is_aside), windows.take(is_aside))
    assert by_itself.log_.validation_losses == by_hand.log_.validation_losses
    with pytest.raises(InputError, match="9 windows are too few"):
        made(Layer).fit(windows.take(slice(0, 9)))


def test_first_weights_come_from_the_seed(rng):
    windows = made_windows(rng, 20)
    torch.manual_seed(1)
    first = made(Layer).fit(windows).score(windows)
    torch.manual_seed(2)
    assert np.array_equal(first, made(Layer).fit(windows).score(windows))
    other = made(Layer, replace(TRAINING, seed=5)).fit(windows).score(windows)
    assert not np.array_equal(first, other)


def test_what_cannot_be_scored_is_refused(rng):
    windows = made_windows(rng, 20)
    with pytest.raises(NotFittedError, match="Layer has learned nothing yet; call fit"):
        made(Layer).score(windows)
    with pytest.raises(WindowError, match="reads windows of 8 steps, but these have 6"):
        made(Layer).fit(made_windows(rng, 20, length=6))
    competitor = made(Layer).fit(windows)
    with pytest.raises(WindowError, match="set window=6"):
        competitor.score(made_windows(rng, 20, length=6))
    assert competitor.score(windows.take(slice(0, 0))).shape == (0,)


def test_scores_that_are_not_finite_are_refused(rng):
    windows = made_windows(rng, 20)
    competitor = made(Layer).fit(windows)
    competitor.network_.errors = lambda batch: batch[0].sum((1, 2)) * float("nan")
    with pytest.raises(InputError, match="score of window 0 is nan"):
        competitor.score(windows)
