"""Timing of the learned detector: kernel image and encoder, scoring and training, on a device.

In: a device, a backbone and a window length. Out: milliseconds a window, of our version and of a
plain one.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.world import World, generate
from smkc.paper.kernel.torch_features import torch_images, torch_states
from smkc.paper.learn.encoder import Encoder
from smkc.paper.learn.model import LearnSettings
from smkc.paper.learn.network import Training
from smkc.paper.sketch import Sketch

__all__ = ["Timing", "time_encoder"]

CARDINALITY = 16
REPEATS = 5


@dataclass(frozen=True)
class Timing:
    """Milliseconds a window.

    Parameters
    ----------
    sketch
        from observations to states on the device.
    inference, train_step
        from states to the embedding, and to a step of the optimiser on masked reconstruction.
    plain_inference, plain_train_step
        the same of a plain version: every token, float32, attention written out, pairs of time
        steps compared by torch's own functions, not compiled.
    compiled
        whether ours was quicker compiled, and timed so.
    """

    sketch: float
    inference: float
    train_step: float
    plain_inference: float
    plain_train_step: float
    compiled: bool


def time_encoder(device: str, backbone: str, window: int, n_windows: int, **sizes: Any) -> Timing:
    """Measure medians of some runs after one that is not counted.

    Parameters
    ----------
    device
        ``cpu`` or ``cuda``.
    backbone
        of the encoder.
    window
        L, time steps a window.
    n_windows
        how many are worked on at a time; the plain version takes an eighth of them, since it
        needs more memory.
    sizes
        more of :class:`smkc.paper.learn.LearnSettings`.
    """
    where = torch.device(device)
    is_gpu = where.type == "cuda"
    windows = generate(
        World(), pool="train", n_windows=n_windows, cardinality=CARDINALITY, length=window, seed=0
    )
    recording, starts, sketch = windows.recording(), windows.starts(), Sketch()

    def sketched() -> Tensor:
        return torch_states(recording, starts, window, sketch, where)

    def each(work: Callable[[], object], n: int) -> float:
        return 1e3 * _median(work, where) / n

    states = sketched()
    few = states[: max(1, n_windows // 8)]
    ours = _Version(backbone, window, "triangle", is_gpu, where, sizes)
    plain = _Version(backbone, window, "full", False, where, sizes)
    with sdpa_kernel(SDPBackend.MATH):
        plain_inference = each(lambda: plain.infer(few), len(few))
        plain_step = each(lambda: plain.step(few), len(few))
    inference = each(lambda: ours.infer(states), n_windows)
    step = each(lambda: ours.step(states), n_windows)
    is_compiled = False
    if is_gpu:
        ours.compile()
        again = (
            each(lambda: ours.infer(states), n_windows),
            each(lambda: ours.step(states), n_windows),
        )
        is_compiled = again[0] < inference or again[1] < step
        inference, step = min(inference, again[0]), min(step, again[1])
    return Timing(
        each(sketched, n_windows), inference, step, plain_inference, plain_step, is_compiled
    )


class _Version:
    """A network with an optimiser, in bfloat16 or plain."""

    def __init__(
        self,
        backbone: str,
        window: int,
        tokens: str,
        is_low: bool,
        device: torch.device,
        sizes: dict[str, Any],
    ) -> None:
        settings = LearnSettings(
            objective="recon", backbone=backbone, tokens=tokens, training=Training(), **sizes
        )
        self.network = settings.network("recon", window).to(device)
        trained = list(self.network.parameters())
        self.optimizer = torch.optim.AdamW(trained, fused=True)
        # Weights in bfloat16 as a whole: no cast in every layer.
        kind = torch.bfloat16 if is_low else torch.float32
        self.encoder = Encoder(settings.encoder(window)).to(device, kind).eval()
        self.is_low, self.device = is_low, device

    def infer(self, states: Tensor) -> Tensor:
        with torch.inference_mode():
            embedded: Tensor = self.encoder(*self._images(states))[0]
            return embedded

    def step(self, states: Tensor) -> None:
        pixels, tau = self._images(states)
        self.optimizer.zero_grad(set_to_none=True)
        low = torch.autocast("cuda", torch.bfloat16) if self.is_low else nullcontext()
        with low:
            loss = self.network.loss((pixels, tau), 1)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def _images(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return torch_images(states, at_once=self.is_low)

    def compile(self) -> None:
        # What was compiled for another window length would be made to fit this one too.
        torch.compiler.reset()
        self.encoder.compile(dynamic=False)
        self.network.compile_parts()


def _median(work: Callable[[], object], device: torch.device) -> float:
    """Seconds: the median of some runs."""
    times = []
    for _ in range(1 + REPEATS):
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])
