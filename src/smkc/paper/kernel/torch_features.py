"""Kernel features on a torch device: the same features as the jitted loops, in plain torch.

In: a recording and start rows, or states that are already on the device. Out: states, features and
kernel images as float32 tensors there. This module needs torch (extra ``deep``); it is imported
only if a device is requested.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.errors import DeviceWarning
from smkc.paper.kernel.features import _checked_starts, _state_projection, anchor_steps
from smkc.paper.kernel.representation import CHANNELS, Representation
from smkc.paper.kernel.windows import window_observations
from smkc.paper.sketch import PRESENCE_SLOPE, STATE_LIMIT, Sketch
from smkc.paper.sketch._loops import HEADROOM
from smkc.recording import Recording

# Device memory for a block of windows, besides its input and output.
BLOCK_BYTES = 512 * 2**20

# A little below the largest float32; see ``smkc.paper.kernel._channels``.
MAX_FINITE = 3.0e38


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute matrix products inside this block in float32: no TensorFloat-32, no bfloat16."""
    mkldnn: Any = torch.backends.mkldnn  # torch's type stubs lack its matmul
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, mkldnn.matmul)
    before = [backend.fp32_precision for backend in backends]
    try:
        for backend in backends:
            backend.fp32_precision = "ieee"
        yield
    finally:
        for backend, precision in zip(backends, before, strict=True):
            backend.fp32_precision = precision


# ---------------------------------------------------------------------- states


def torch_states(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    sketch: Sketch,
    device: str | torch.device,
) -> Tensor:
    """Return (B, L, 2m) float32 states of B windows, on the device.

    Only the windows' observations are copied; they are added to their buckets on the device.

    Notes
    -----
    Paper, section 3.2.1; sums, headroom and limit are those of
    :meth:`smkc.paper.sketch.Sketch.states`. If 3 or more variables share a bucket, a GPU may add
    them in any order.
    """
    starts = _checked_starts(recording, starts, window)
    counts, which = window_observations(recording, starts, window)
    codes = torch.from_numpy(recording.codes[which].astype(np.int64)).to(device)
    values = torch.from_numpy(recording.values[which]).to(device)
    n_observed = torch.from_numpy(counts).to(device)

    scale, mark = _weights(n_observed, sketch)
    slot = torch.repeat_interleave(torch.arange(len(counts), device=device), n_observed)
    hashes = sketch.hash(recording.names)

    def of_each(table: NDArray[np.uint32] | NDArray[np.float32], kind: torch.dtype) -> Tensor:
        signed = table.astype(np.int64) if table.dtype == np.uint32 else table
        return torch.from_numpy(signed).to(device=device, dtype=kind)[codes]

    states = torch.zeros(len(counts) * sketch.width, device=device)
    places = slot * sketch.width + of_each(hashes.value_bucket, torch.int64)
    signs = of_each(hashes.value_sign, torch.float32)
    states.index_add_(0, places, signs * (values * scale[slot]))
    if sketch.presence:
        places = slot * sketch.width + of_each(hashes.presence_bucket, torch.int64)
        places += sketch.buckets
        signs = of_each(hashes.presence_sign, torch.float32)
        states.index_add_(0, places, signs * mark[slot])
    states.div_(float(HEADROOM)).clamp_(-float(STATE_LIMIT), float(STATE_LIMIT))
    return states.view(len(starts), window, sketch.width)


def _weights(n_observed: Tensor, sketch: Sketch) -> tuple[Tensor, Tensor]:
    """Return (R,) weights of a value and of a presence in rows of n observations, with headroom."""
    n = n_observed.double()
    scale = (1 / n.clamp(min=1).sqrt() if sketch.normalise else torch.ones_like(n)).float()
    scale = scale * float(HEADROOM)
    weight = PRESENCE_SLOPE * n
    if sketch.saturate:
        weight = weight.clamp(max=1.0)
    return scale, (weight * scale.double()).float()


# ---------------------------------------------------------------------- features


def torch_features(states: Tensor, representation: Representation) -> Tensor:
    """Return (B, F) float32 flat features of ``states`` (B, L, 2m), on their device.

    Equal to :func:`smkc.paper.kernel.features` up to float32 rounding; computed block by block.
    """
    n_windows, window, width = states.shape
    representation.check(window)
    out = states.new_empty((n_windows, *representation.shape(window, width)))
    _compare(states, representation, out)
    return out.flatten(1)


def torch_images(
    states: Tensor, channels: tuple[str, ...] = CHANNELS, at_once: bool = True
) -> tuple[Tensor, Tensor]:
    """Return (B, K, L, L) kernel images and (B,) scale tokens tau of (B, L, 2m) states.

    As in :func:`smkc.paper.kernel.images`, tau is NaN unless ``log_g`` is among the channels.
    ``at_once`` allows the fused GPU kernels, if they are available.
    """
    representation = Representation(channels=channels, layout="image", size=0)
    out = states.new_empty((len(states), *representation.shape(states.shape[1])))
    sigma = _compare(states, representation, out, at_once)
    return out, sigma.log().tanh().float()


def _compare(
    states: Tensor, representation: Representation, out: Tensor, at_once: bool = True
) -> Tensor:
    """Fill ``out`` (B, ...) with features; return (B,) float64 sigma(g), NaN if not computed."""
    n_windows, window, width = states.shape
    kernels = fused_kernels(states.device) if at_once else None
    if kernels is not None and kernels.can_fill(representation, window):
        every = torch.full((n_windows,), width, dtype=torch.int32, device=states.device)
        columns = kernels.Columns(states.float().transpose(1, 2).contiguous(), every)
        filled: Tensor = kernels.fill(columns, representation, out)
        return filled
    sigma = states.new_full((n_windows,), torch.nan, dtype=torch.float64)
    length = representation.down or window
    pairs = _Pairs.of(representation, length, states.device)
    # Memory for 3 sequences and a temporary one of the same size, and for 4 arrays of pairs.
    floats = 4 * window * max(width, representation.proj) + 4 * pairs.is_fixed.numel()
    size = max(1, BLOCK_BYTES // (4 * floats))
    with full_precision():
        for first in range(0, n_windows, size):
            part = slice(first, first + size)
            block = _projected(states[part], representation, length)
            if representation.layout == "seq":
                out[part] = block
            else:
                _fill_channels(block, representation, pairs, out[part], sigma[part])
    return sigma


def _projected(states: Tensor, representation: Representation, length: int) -> Tensor:
    """Return (b, length, d') states after the options proj and down."""
    n_windows, window, width = states.shape
    if representation.proj:
        # In float64: float32 products of equal states can differ by rounding, and a window of
        # constants would then have a positive scale.
        matrix = torch.from_numpy(_state_projection(width, representation.proj))
        states = (states.double() @ matrix.to(states.device, torch.float64)).float()
    if length < window:
        # Add one step after another: all parts are summed in the same order, so that equal parts
        # have equal sums.
        pool = window // length
        parts = (states * (1 / pool)).reshape(n_windows, length, pool, -1)
        states = parts[:, :, 0].clone()
        for step in range(1, pool):
            states += parts[:, :, step]
    return states


def _fill_channels(
    states: Tensor,
    representation: Representation,
    pairs: "_Pairs",
    out: Tensor,
    sigma: Tensor,
) -> None:
    place = {channel: k for k, channel in enumerate(representation.channels)}
    difference = torch.zeros_like(states)
    torch.sub(states[:, 1:], states[:, :-1], out=difference[:, 1:])
    for which, cosine, distance in zip(range(3), CHANNELS[:3], CHANNELS[3:], strict=True):
        z = states if which == 0 else difference if which == 1 else difference.abs()
        if cosine in place:
            alike = (0.5 + 0.5 * pairs.cosines(z)).clamp_(0.0, 1.0)
            out[:, place[cosine]] = alike.masked_fill_(pairs.is_fixed, pairs.fixed_cosine)
        if distance in place:
            far = pairs.distances(z)
            median = _median(far.flatten(1)[:, pairs.counted])
            if which == 0:
                sigma.copy_(median)
            factor = (0.5 / median.square()).clamp(max=MAX_FINITE).float()
            factor = torch.where(median > 0, factor, 0.0).view(-1, 1, 1)
            out[:, place[distance]] = (far.square_() * factor).clamp_(max=MAX_FINITE).log1p_()


@cache
def fused_kernels(device: torch.device) -> ModuleType | None:
    """Return the module of fused GPU kernels; None if unavailable, with a warning on a GPU."""
    if device.type != "cuda":
        return None
    try:
        from smkc.paper.kernel import _cuda_windows

        _cuda_windows.check(device)
    except ModuleNotFoundError as error:
        why = f"{error.name} is not installed; run: pip install {error.name}"
    except (OSError, RuntimeError) as error:
        why = str(error)
    else:
        return _cuda_windows
    warnings.warn(
        f"{device} works with torch's own operations, several times slower: {why}",
        DeviceWarning,
        stacklevel=2,
    )
    return None


def _median(distances: Tensor) -> Tensor:
    """Return (b,) float64 medians of (b, n) distances: the mean of two middle ones for even n.

    Where that is 0, the median of the positive distances, or 0 if there are none.
    """
    n_windows, n = distances.shape
    if n == 0:
        return distances.new_zeros(n_windows, dtype=torch.float64)
    middle = distances.kthvalue((n + 1) // 2, dim=1).values.double()
    if n % 2 == 0:
        middle = 0.5 * (middle + distances.kthvalue(n // 2 + 1, dim=1).values.double())
    is_zero = middle == 0
    if bool(is_zero.any()):
        middle[is_zero] = _median_of_positive(distances[is_zero])
    return middle


def _median_of_positive(distances: Tensor) -> Tensor:
    """Return (b,) float64 medians of each row's positive distances; 0 if there are none."""
    ordered = distances.sort(dim=1).values
    n_zero = (ordered == 0).sum(dim=1)
    n_positive = ordered.shape[1] - n_zero
    lower = n_zero + (n_positive - 1).clamp(min=0) // 2
    upper = n_zero + n_positive // 2
    # If no distance is positive, both places are clamped to the last distance, which is 0.
    places = torch.stack([lower, upper], dim=1).clamp(max=ordered.shape[1] - 1)
    return ordered.gather(1, places).double().mean(dim=1)


# ---------------------------------------------------------------------- pairs


@dataclass(frozen=True)
class _Pairs:
    """The pairs of time steps that are compared, and the layout of the results.

    ``counted`` (n,) are the places of the flat layout that the median is taken over; ``is_fixed``,
    in the layout's shape, marks places whose cosine channel is ``fixed_cosine`` by definition.
    """

    layout: str
    size: int
    anchors: Tensor
    counted: Tensor
    is_fixed: Tensor
    fixed_cosine: float

    @classmethod
    def of(cls, representation: Representation, length: int, device: torch.device) -> "_Pairs":
        """Return the pairs of a window of ``length`` time steps."""
        layout, size = representation.layout, representation.size
        steps = torch.arange(length, device=device)
        anchors = steps
        if layout == "anchor":
            anchors = torch.from_numpy(anchor_steps(length, size)).to(device)
        if layout == "band":
            lags = torch.arange(1, size + 1, device=device)
            is_past = steps + lags[:, None] >= length
            return cls(layout, size, anchors, _places(~is_past), is_past, 0.0)
        is_own = steps[:, None] == anchors
        counted = ~is_own if layout == "anchor" else steps[:, None] < steps
        return cls(layout, size, anchors, _places(counted), is_own, 1.0)

    def distances(self, z: Tensor) -> Tensor:
        """Return (b, ...) Euclidean distances, from differences: a Gram matrix loses small ones."""
        if self.layout == "band":
            return self._by_lag(z, lambda a, b: torch.linalg.vector_norm(b - a, dim=2))
        others = z if self.layout == "image" else z[:, self.anchors]
        return torch.cdist(z, others, compute_mode="donot_use_mm_for_euclid_dist")

    def cosines(self, z: Tensor) -> Tensor:
        """Return (b, ...) cosines; 0 if either vector is zero."""
        norms = z.square().sum(dim=2, keepdim=True).sqrt()
        units = z * torch.where(norms > 0, 1 / norms, 0.0)
        if self.layout == "band":
            return self._by_lag(units, lambda a, b: (a * b).sum(dim=2))
        others = units if self.layout == "image" else units[:, self.anchors]
        return units @ others.transpose(1, 2)

    def _by_lag(self, z: Tensor, compare: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Return (b, w, L) comparisons of steps t and t + lag; 0 past the window's end."""
        n_windows, length, _ = z.shape
        out = z.new_zeros((n_windows, self.size, length))
        for lag in range(1, self.size + 1):
            out[:, lag - 1, : length - lag] = compare(z[:, :-lag], z[:, lag:])
        return out


def _places(chosen: Tensor) -> Tensor:
    """Return (n,) flat indices where a mask is true."""
    return chosen.flatten().nonzero().squeeze(1)
