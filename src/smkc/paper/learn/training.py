"""The one training loop that all networks share.

In: a network, its inputs for training and for validation, settings. Out: the network with the
weights of its best epoch, and what happened on the way; then one error a window.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc import progress
from smkc.errors import InputError
from smkc.paper.learn.inputs import SCORED_TOGETHER, Inputs, held
from smkc.paper.learn.network import Batch, Network, Source, Training, TrainingLog
from smkc.paper.learn.run import CHANCE, INITIAL_WEIGHTS, Run, seeded

__all__ = [
    "INITIAL_WEIGHTS",
    "Batch",
    "Network",
    "Source",
    "Training",
    "TrainingLog",
    "at_once",
    "errors",
    "evaluated",
    "seeded",
    "train",
]


def train(
    network: Network, inputs: Batch | Source, validation: Batch | Source, training: Training
) -> TrainingLog:
    """Train a network until its validation loss falls no more; leave it with its best weights.

    Parameters
    ----------
    network
        as initialised; it is moved to the device.
    inputs, validation
        tensors whose first axis counts windows, held on the device as a whole; or sources that
        make them batch by batch.
    training
        the settings.

    Notes
    -----
    On the CPU the result is the same to the bit, whatever the number of threads and however often
    training was stopped and taken up again: it runs on one thread, and several fits at a time run
    as processes. On a GPU the forward pass of training computes in bfloat16 unless that is
    switched off, that of networks with recurrent layers in float32.
    """
    device = training.where()
    learned, held_out = held(inputs, device), held(validation, device)
    if not len(learned) or not len(held_out):
        raise InputError(
            f"{len(learned)} windows to train on and {len(held_out)} to validate by: "
            "give at least one of each"
        )
    with _exactly(), seeded(training.seed, CHANCE, device):
        network.to(device)
        run = Run(network, learned, held_out, training, device)
        run.resume()
        name = f"training {type(network).__name__}"
        with progress.task(name, training.epochs) as advance:
            advance(run.epoch)
            while run.is_unfinished:
                run.one_epoch(advance)
                run.save()
        network.load_state_dict(run.kept())
        network.eval()
        return run.log()


def errors(network: Network, inputs: Batch | Source, training: Training) -> NDArray[np.float64]:
    """(B,) the score of each window, computed in float32, a fixed number at a time."""
    if not len(inputs[0] if isinstance(inputs, tuple) else inputs):
        return np.empty(0)
    return evaluated(network, network.errors, inputs, training).astype(np.float64)


def evaluated(
    network: Network,
    function: Callable[[Batch], Tensor],
    inputs: Batch | Source,
    training: Training,
    name: str = "scoring",
) -> NDArray[Any]:
    """(B, ...) what ``function`` makes of each of one or more windows, a fixed number at a time.

    The network is in evaluation mode and on its device. Each window's result is the same, to
    rounding, whatever stands beside it.
    """
    device = training.where()
    source: Inputs = held(inputs, device)
    n_windows = len(source)
    network.to(device).eval()
    found = []
    with _exactly(), torch.inference_mode(), progress.task(name, n_windows) as advance:
        for first in range(0, n_windows, SCORED_TOGETHER):
            n = min(SCORED_TOGETHER, n_windows - first)
            # Cyclic: the windows that are there, again and again, until the batch is full.
            rows = first + torch.arange(SCORED_TOGETHER) % n
            result = function(source.batch(rows))[:n]
            found.append(result.cpu().numpy())
            advance(n)
    return np.concatenate(found)


def at_once(
    network: Network, function: Callable[[Batch], Tensor], batch: Batch, training: Training
) -> NDArray[Any]:
    """(B, ...) as :func:`evaluated`, to rounding, of a few windows that are not filled up."""
    device = training.where()
    network.to(device).eval()
    with _exactly(), torch.inference_mode():
        return function(tuple(tensor.to(device) for tensor in batch)).cpu().numpy()


@contextmanager
def _exactly() -> Iterator[None]:
    """Compute on one thread of the CPU, and on a GPU without what differs from run to run."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            yield
    finally:
        torch.set_num_threads(n_threads)
