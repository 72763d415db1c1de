from dataclasses import replace

import numpy as np
import pytest
import torch
from tests import promise
from tests.smkc.paper.learn.small_network import (
    QUICK,
    Hungry,
    Small,
    assert_same,
    made_data,
    small,
    weights,
)

from benchmarks.baselines.tensor_source import TensorSource
from smkc.errors import InputError, SettingError, SmkcError
from smkc.paper.learn.training import Training, evaluated, train


class Diverging(Small):
    def loss(self, batch, epoch, phase=0):
        return super().loss(batch, epoch) * (float("nan") if epoch == 2 else 1.0)


class Rising(Small):
    """Its validation loss is lowest in the second epoch."""

    def validation_loss(self, batch, epoch):
        self.seen = getattr(self, "seen", {})
        self.seen[epoch] = {name: x.clone() for name, x in self.state_dict().items()}
        return torch.tensor(abs(epoch - 2.0))


@pytest.fixture
def data():
    return made_data()


def errors(network, source):
    return evaluated(network, network.errors, source, QUICK)


def test_training_lowers_both_losses(data):
    log = train(small(), *data, replace(QUICK, epochs=30))
    assert log.epochs == len(log.train_losses) == len(log.validation_losses) == 30
    assert log.train_losses[-1] < 0.7 * log.train_losses[0]
    assert min(log.validation_losses) < 0.7 * log.validation_losses[0]
    assert log.validation_losses[log.best_epoch - 1] == min(log.validation_losses)


def test_same_seed_same_weights_whatever_the_threads(data):
    n_threads = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            network = small()
            train(network, *data, QUICK)
            assert torch.get_num_threads() == threads
            found.append(weights(network))
    finally:
        torch.set_num_threads(n_threads)
    assert_same(*found)
    other = small()
    train(other, *data, replace(QUICK, seed=4))
    assert not torch.equal(other.first.weight, found[0]["first.weight"])


def test_the_callers_random_numbers_are_left_alone(data):
    network = small()
    before = torch.get_rng_state()
    train(network, *data, QUICK)
    errors(network, data[1])
    assert torch.equal(torch.get_rng_state(), before)


def test_training_stops_after_patience_and_keeps_the_best_epoch(data):
    network = Rising()
    log = train(network, *data, replace(QUICK, epochs=20, patience=3))
    assert (log.epochs, log.best_epoch) == (5, 2)
    assert log.validation_losses == (1.0, 0.0, 1.0, 2.0, 3.0)
    assert_same(weights(network), network.seen[2])
    assert not torch.equal(network.seen[5]["first.weight"], network.seen[2]["first.weight"])


def test_phases_change_their_own_parameters_only(data):
    network = small(n_phases=2)
    network.phase_parameters = lambda phase: list(network.first.parameters())
    before = weights(network)
    train(network, *data, QUICK)
    assert torch.equal(network.second.weight, before["second.weight"])
    assert not torch.equal(network.first.weight, before["first.weight"])


def test_buffers_are_prepared_from_the_training_inputs(data):
    network = small()
    train(network, *data, QUICK)
    torch.testing.assert_close(network.centre, data[0].tensors[0].mean(0))


def test_a_loss_that_is_not_finite_is_refused(data):
    with pytest.raises(SettingError, match=r"epoch 2 are nan .*lower the learning rate, now 0.01"):
        train(Diverging(), *data, QUICK)


def test_errors_depend_on_no_neighbour(data):
    network = small()
    train(network, *data, QUICK)
    x = torch.randn(300, 5, generator=torch.Generator().manual_seed(5))
    together = errors(network, TensorSource((x,)))
    with torch.no_grad():
        expected = network.errors((x,)).numpy()
    np.testing.assert_allclose(together, expected, rtol=1e-5)
    promise.assert_scores_agree(errors(network, TensorSource((x[:7],))), together[:7], "recon")


def test_settings_that_make_no_sense_are_refused(data):
    for wrong in ({"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}, {"seed": -1}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            Training(**wrong)
    for device in ("tpu9", "meta"):
        with pytest.raises(SettingError, match="give cpu or cuda"):
            train(small(), *data, replace(QUICK, device=device))
    with pytest.raises(InputError, match="0 to validate"):
        train(small(), data[0], TensorSource((torch.empty(0, 5),)), QUICK)


class Asked(TensorSource):
    """A source that notes how many windows it was asked for."""

    def batch(self, rows):
        self.sizes = [*getattr(self, "sizes", []), len(rows)]
        return super().batch(rows)


def test_windows_are_asked_for_batch_by_batch(data):
    source = Asked(data[0].tensors)
    network = small()
    train(network, source, data[1], QUICK)
    assert source.sizes == [45] + QUICK.epochs * [8, 8, 8, 8, 8, 5], "first those to prepare from"
    errors(network, source)
    assert source.sizes[-1] == 128, "scored in batches of one size"


def test_running_out_of_memory_halves_the_batch(data):
    settings = replace(QUICK, batch_size=20, epochs=2)
    torch.manual_seed(0)
    network = Hungry()
    log = train(network, *data, settings)
    in_epoch = 9  # of 45 windows, 5 at a time
    assert network.sizes[:3] == [20, 10, 5]
    assert network.steps == list(range(2 * in_epoch))
    assert log.train_losses[1] < log.train_losses[0]


def test_too_little_memory_for_one_window_is_an_error(data):
    network = small()
    network.loss = lambda batch, epoch, phase=0: torch.zeros(10**18)
    with pytest.raises(SmkcError, match="memory does not suffice for one window"):
        train(network, *data, QUICK)


def test_other_errors_are_passed_on(data):
    network = small()
    network.loss = lambda batch, epoch, phase=0: batch[0] @ batch[0]
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        train(network, *data, QUICK)


def test_a_cosine_schedule_is_followed(data):
    rates = []

    class Watching(Small):
        def stepped(self, step, total_steps):
            rates.append((step + 1) / total_steps)

    settings = replace(QUICK, schedule="cosine")
    cosine, constant = Watching(), Small()
    cosine.load_state_dict(constant.state_dict())
    train(cosine, *data, settings)
    train(constant, *data, QUICK)
    assert rates[-1] == 1.0
    assert not torch.equal(cosine.first.weight, constant.first.weight)
    with pytest.raises(SettingError, match="schedule='linear'"):
        Training(schedule="linear")


def test_progress_says_loss_and_speed(data, monkeypatch):
    from contextlib import contextmanager

    notes, done = [], []

    @contextmanager
    def task(name, total):
        assert name == "training Small"
        yield lambda amount, note="": (done.append(amount), notes.append(note))

    monkeypatch.setattr("smkc.paper.learn.training.progress.task", task)
    train(small(), *data, QUICK)
    assert sum(done) == pytest.approx(QUICK.epochs)
    assert all("windows/s" in note for note in notes[1:])
    assert "loss 0." in notes[-1] or "loss 1." in notes[-1]
