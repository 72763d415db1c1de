"""The training loop that all networks share.

In: a network, its inputs for training and for validation, settings. Out: the network with its final
weights and a log of the training; then one error per window.
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
from smkc.paper.learn.network import Batch, Network, Source, Training, TrainingLog, on_device
from smkc.paper.learn.run import CHANCE, INITIAL_WEIGHTS, SCORED_TOGETHER, Run, seeded

__all__ = [
    "INITIAL_WEIGHTS",
    "Batch",
    "Network",
    "Source",
    "Trainer",
    "Training",
    "TrainingLog",
    "evaluated",
    "seeded",
    "train",
]

# A function that trains a network, as :func:`train` does.
Trainer = Callable[[Network, Source, Source, Training], TrainingLog]


def train(
    network: Network,
    inputs: Source,
    validation: Source,
    training: Training,
    start: Callable[[Network, Source, Source, Training, torch.device], Run] = Run,
) -> TrainingLog:
    """Train a network until its validation loss stops falling; leave it with its best weights.

    A network with ``keeps_last`` is trained for all epochs and left with its last weights.
    ``start`` makes the run, of which some epochs may be done already.

    Notes
    -----
    On the CPU the result is the same to the bit, whatever the number of threads: it runs on one
    thread. To run several fits at once, use processes. On a GPU the forward pass of training
    computes in bfloat16 unless that is switched off; that of networks with recurrent layers
    computes in float32.
    """
    device = training.where()
    if not len(inputs) or not len(validation):
        raise InputError(
            f"{len(inputs)} windows to train on and {len(validation)} to validate by: "
            "give at least one of each"
        )
    with _exactly(), seeded(training.seed, CHANCE, device):
        network.to(device)
        run = start(network, inputs, validation, training, device)
        name = f"training {type(network).__name__}"
        with progress.task(name, training.epochs) as advance:
            advance(run.epoch)
            while run.is_unfinished:
                run.one_epoch(advance)
        network.load_state_dict(run.kept())
        network.eval()
        return run.log()


def evaluated(
    network: Network,
    function: Callable[[Batch], Tensor],
    inputs: Source,
    training: Training,
    name: str = "scoring",
    chosen: NDArray[np.int64] | None = None,
) -> NDArray[Any]:
    """Return (B, ...) results of ``function`` for one or more windows, in batches of a fixed size.

    The windows are all, or those with the numbers ``chosen`` (B,). The network is set to evaluation
    mode and moved to the device. A window's result does not depend on the other windows of its
    batch, up to rounding. A single window, such as the latest of a stream, is not padded to a
    batch.
    """
    device = training.where()
    numbers = torch.arange(len(inputs)) if chosen is None else torch.from_numpy(chosen)
    n_windows = len(numbers)
    network.to(device).eval()
    size = SCORED_TOGETHER if n_windows > 1 else 1
    found = []
    with _exactly(), torch.inference_mode(), progress.task(name, n_windows) as advance:
        for first in range(0, n_windows, SCORED_TOGETHER):
            n = min(SCORED_TOGETHER, n_windows - first)
            # Repeat the remaining windows cyclically until the batch is full.
            rows = numbers[first + torch.arange(size) % n]
            result = function(on_device(inputs, rows, device))[:n]
            found.append(result.cpu().numpy())
            advance(n)
    return np.concatenate(found)


@contextmanager
def _exactly() -> Iterator[None]:
    """Use one CPU thread, and on a GPU only deterministic cuDNN algorithms without TF32."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            yield
    finally:
        torch.set_num_threads(n_threads)
