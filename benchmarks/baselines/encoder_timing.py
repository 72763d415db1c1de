"""Timing of the learned detector: kernel image and encoder, inference and training, on a device.

In: a device, a backbone and a window length. Out: milliseconds per window, of our version and of a
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
from smkc.paper.learn.learner import untrained_network
from smkc.paper.learn.network import Training
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.sketch import Sketch

__all__ = ["Timing", "time_encoder"]

CARDINALITY = 16
REPEATS = 5


@dataclass(frozen=True)
class Timing:
    """Milliseconds per window.

    Parameters
    ----------
    sketch
        from observations to states on the device.
    inference, train_step
        from states to the embedding, and from states to a step of the optimiser on masked
        reconstruction.
    plain_inference, plain_train_step
        the same of a plain version: every token, float32, attention without fused kernels, pairs
        of time steps compared by torch's own functions, not compiled.
    compiled
        whether compiling made our inference or training step faster; the faster times are given.
    """

    sketch: float
    inference: float
    train_step: float
    plain_inference: float
    plain_train_step: float
    compiled: bool


def time_encoder(device: str, backbone: str, window: int, n_windows: int, **sizes: Any) -> Timing:
    """Return median times of several runs, after a warm-up run.

    Parameters
    ----------
    device
        ``cpu`` or ``cuda``.
    backbone
        backbone of the encoder.
    window
        L, time steps per window.
    n_windows
        windows per batch; the plain version gets 1/8 of them, since it needs more memory.
    sizes
        further fields of :class:`smkc.paper.learn.settings.LearnSettings`.
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
    """A network with an optimiser, in bfloat16 or in float32."""

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
        self.network = untrained_network(settings, "recon", window).to(device)
        trained = list(self.network.parameters())
        self.optimizer = torch.optim.AdamW(trained, fused=True)
        # All weights in bfloat16, to avoid a cast in every layer.
        kind = torch.bfloat16 if is_low else torch.float32
        self.encoder = Encoder(settings, window).to(device, kind).eval()
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
        # Otherwise code compiled for another window length would be generalised to both.
        torch.compiler.reset()
        self.encoder.compile(dynamic=False)
        self.network.compile(dynamic=False)


def _median(work: Callable[[], object], device: torch.device) -> float:
    """Return the median seconds of several runs, without the first."""
    times = []
    for _ in range(1 + REPEATS):
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])
