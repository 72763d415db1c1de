"""A training step as a CUDA graph: recorded once, then replayed.

In: a function of a batch that launches the same kernels every time. Out: the same function without
Python's time to launch each kernel, which is most of the time for small networks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from smkc.paper.learn.network import Batch

# Runs per batch shape before recording, in which kernels are selected and memory is allocated.
WARM_UP = 3

# Batch shapes that are recorded: full batches, and the last batch of an epoch.
MOST_GRAPHS = 2


@dataclass(frozen=True)
class _Recorded:
    graph: torch.cuda.CUDAGraph
    batch: Batch
    result: Tensor


class GraphedStep:
    """A function of a batch on a GPU, replayed from a graph after a few ordinary runs.

    The function must not copy results to the host, must use torch's default random generator, and
    must not depend on host values that change. The next call overwrites the returned tensor.

    All calls run on one separate stream: a graph can only record operations whose gradients do not
    belong to another stream.
    """

    def __init__(self, step: Callable[[Batch], Tensor], device: torch.device) -> None:
        self._step = step
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._n_runs: dict[tuple[torch.Size, ...], int] = {}
        self._recorded: dict[tuple[torch.Size, ...], _Recorded] = {}

    def __call__(self, batch: Batch) -> Tensor:
        """Run the step on a batch."""
        shapes = tuple(tensor.shape for tensor in batch)
        around = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(around)
        with torch.cuda.stream(self._stream):
            result = self._run(shapes, batch)
        around.wait_stream(self._stream)
        return result

    def _run(self, shapes: tuple[torch.Size, ...], batch: Batch) -> Tensor:
        n_runs = self._n_runs.get(shapes, 0)
        self._n_runs[shapes] = n_runs + 1
        if shapes not in self._recorded:
            if n_runs < WARM_UP or len(self._recorded) == MOST_GRAPHS:
                return self._step(batch)
            self._recorded[shapes] = self._record(batch)
        recorded = self._recorded[shapes]
        for kept, new in zip(recorded.batch, batch, strict=True):
            kept.copy_(new)
        recorded.graph.replay()
        return recorded.result

    def _record(self, batch: Batch) -> _Recorded:
        """Record the step without computing it."""
        kept = tuple(tensor.clone() for tensor in batch)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            result = self._step(kept)
        return _Recorded(graph, kept, result)
