"""A small network and inputs to train it on, for the tests of training and of checkpoints."""

import numpy as np
import torch
from torch import nn

from benchmarks.baselines.tensor_source import TensorSource
from smkc.paper.learn.training import Network, Training

QUICK = Training(epochs=4, patience=10, batch_size=8, learning_rate=1e-2, seed=3)


class Small(Network):
    """Two layers that reproduce their input under dropout; one loss, or one for each layer."""

    def __init__(self, n_phases=1, dropout=0.3, width=5):
        super().__init__()
        self.n_phases = n_phases
        self.first = nn.Linear(width, 4)
        self.dropout = nn.Dropout(dropout)
        self.second = nn.Linear(4, width)
        self.register_buffer("centre", torch.zeros(width))

    def prepare(self, inputs):
        self.centre.copy_(inputs.batch(np.arange(len(inputs)))[0].mean(0))

    def phase_parameters(self, phase):
        if self.n_phases == 1:
            return super().phase_parameters(phase)
        return list((self.first, self.second)[phase].parameters())

    def forward(self, x):
        return self.centre + self.second(self.dropout(torch.tanh(self.first(x - self.centre))))

    def loss(self, batch, epoch, phase=0):
        return self.errors(batch).mean()

    def errors(self, batch):
        (x,) = batch
        return (self(x) - x).square().mean(1)


class Hungry(Small):
    """Takes six windows a batch at most, and twice as many memory errors to say so."""

    kinds = (
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    )

    def loss(self, batch, epoch, phase=0):
        self.sizes = getattr(self, "sizes", [])
        self.sizes.append(len(batch[0]))
        if self.training and len(batch[0]) > 6:
            raise self.kinds[len(batch[0]) > 15]
        return super().loss(batch, epoch)

    def stepped(self, step, total_steps):
        self.steps = [*getattr(self, "steps", []), step]


def small(**settings):
    torch.manual_seed(0)
    return Small(**settings)


def made_data():
    """Return 45 windows to train on and 15 to validate by."""
    made = torch.Generator().manual_seed(1)
    factors = torch.randn(60, 2, generator=made)
    x = factors @ torch.randn(2, 5, generator=made) + 1.0
    return TensorSource((x[:45],)), TensorSource((x[45:],))


def weights(network):
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name
