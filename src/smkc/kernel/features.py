"""Kernel features: windows of a recording -> flat vectors that a density reads.

In: a recording (scaled, if at all, before), start rows, a window length, a representation. Out:
float32 features, block by block, or six-channel kernel images with their scale tokens.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smkc.errors import WindowError
from smkc.kernel._loops import scan_anchors, scan_lags
from smkc.kernel._pairs import compare_anchors, compare_lags
from smkc.kernel.representation import CHANNELS, Representation
from smkc.kernel.windows import segments
from smkc.recording import Recording
from smkc.sketch import Sketch

__all__ = [
    "anchor_steps",
    "feature_blocks",
    "features",
    "features_of_states",
    "images",
    "scale_token",
]

# A block of features is as large as this at most: images are never all in memory at once.
BLOCK_BYTES = 16 * 2**20
BLOCK_WINDOWS = 1024

# Seed of the matrix that projects states (representation option proj): part of the definition.
STATE_PROJECTION_SEED = 7


def features(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    sketch: Sketch,
) -> NDArray[np.float32]:
    """(B, F) float32: the features of B windows, flat, channel by channel.

    Overlapping windows share their work when their starts ascend; independent windows cost what
    each needs. Either way the numbers are the same to the bit.

    Notes
    -----
    Paper, section 3.2.2 (channels) and 3.3 (band, anchor, proj, down).
    """
    starts = _checked_starts(recording, starts, window)
    representation.check(window)
    n_features = representation.n_features(window, sketch.width)
    out = np.empty((len(starts), n_features), np.float32)
    if representation.layout == "seq":
        _sequences(recording, starts, window, representation, sketch, out)
    else:
        shaped = out.reshape(len(starts), *representation.shape(window, sketch.width))
        _compare(recording, starts, window, representation, sketch, shaped)
    return out


def feature_blocks(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    sketch: Sketch,
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (which windows, their features) block by block, in bounded memory."""
    n_features = representation.n_features(window, sketch.width)
    block = max(1, min(BLOCK_WINDOWS, BLOCK_BYTES // (4 * n_features)))
    for first in range(0, len(starts), block):
        part = slice(first, min(first + block, len(starts)))
        yield part, features(recording, starts[part], window, representation, sketch)


def features_of_states(
    states: NDArray[np.float32], representation: Representation
) -> NDArray[np.float32]:
    """(F,) float32: the features of one window, given its states (2m, L), bucket by bucket."""
    width, window = states.shape
    length = representation.down or window
    if representation.proj:
        states = _state_projection(width, representation.proj).T @ states
    if length < window:
        states = states.reshape(len(states), length, -1).mean(axis=2)
    if representation.layout == "seq":
        return states.T.ravel()
    states = np.ascontiguousarray(states, np.float32)
    out = np.empty((1, *representation.shape(window)), np.float32)
    sigma = np.empty(1)
    channel_at = _channel_places(representation)
    if representation.layout == "anchor":
        anchors = anchor_steps(length, representation.size)
        compare_anchors(states, anchors, channel_at, out[0], sigma)
    else:
        n_lags, is_image = _lags(representation, length)
        first = np.zeros(1, np.int64)
        compare_lags(states, first, length, n_lags, channel_at, is_image, out, sigma)
    return out.reshape(-1)


def images(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    sketch: Sketch,
    channels: tuple[str, ...] = CHANNELS,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return (B, K, L, L) kernel images and the (B,) scale tokens tau of B windows.

    The scale token is computed where ``log_g`` is among the channels; it is NaN otherwise.
    """
    starts = _checked_starts(recording, starts, window)
    representation = Representation(channels=channels, layout="image", size=0)
    out = np.empty((len(starts), *representation.shape(window)), np.float32)
    sigma = _compare(recording, starts, window, representation, sketch, out)
    return out, scale_token(sigma)


def scale_token(sigma: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return tau = tanh(log(sigma)); -1 where no two states of the window differ."""
    with np.errstate(divide="ignore"):
        return np.tanh(np.log(sigma)).astype(np.float32)


def anchor_steps(length: int, n_anchors: int) -> NDArray[np.int64]:
    """(r,) the time steps of a window that all others are compared with: evenly spaced."""
    return np.linspace(0, length - 1, n_anchors).round().astype(np.int64)


def _checked_starts(
    recording: Recording, starts: NDArray[np.int64], window: int
) -> NDArray[np.int64]:
    starts = np.ascontiguousarray(starts, np.int64)
    if len(starts) and (starts.min() < 0 or starts.max() + window > len(recording)):
        raise WindowError(
            f"a window of {window} rows from row {int(starts.max())} does not fit a recording of "
            f"{len(recording)} rows"
        )
    return starts


def _channel_places(representation: Representation) -> NDArray[np.int64]:
    """(6,) each channel's place among those wanted, -1 for the others."""
    place = {channel: k for k, channel in enumerate(representation.channels)}
    return np.array([place.get(channel, -1) for channel in CHANNELS], np.int64)


def _lags(representation: Representation, length: int) -> tuple[int, bool]:
    """How many lags are compared, and whether they are laid out as an image."""
    is_image = representation.layout == "image"
    return (length - 1 if is_image else representation.size), is_image


def _state_projection(width: int, size: int) -> NDArray[np.float32]:
    rng = np.random.Generator(np.random.PCG64(STATE_PROJECTION_SEED))
    matrix = rng.standard_normal((width, size)).astype(np.float32)
    return matrix / np.float32(np.sqrt(max(size, 1)))


def _compare(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    sketch: Sketch,
    out: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Fill ``out`` with compared time steps; return sigma(g) of each window."""
    sigma = np.full(len(starts), np.nan)
    if len(starts) == 0:
        return sigma
    channel_at = _channel_places(representation)
    projection = _state_projection(sketch.width, representation.proj)
    length = representation.down or window
    pool = window // length
    rows = sketch.hashed(recording)
    if representation.layout == "anchor":
        anchors = anchor_steps(length, representation.size)
        scan_anchors(rows, starts, window, projection, pool, anchors, channel_at, out, sigma)
        return sigma
    n_lags, is_image = _lags(representation, length)
    # Pooled steps are not shared. An image's shared pairs are worth computing while windows
    # advance by less than half their length; those of a band always are.
    sharing = 0 if pool > 1 else window // 2 if is_image else window - 1
    parts = segments(starts, window, sharing)
    scan_lags(
        rows,
        starts,
        parts,
        window,
        projection,
        pool,
        n_lags,
        channel_at,
        is_image,
        out,
        sigma,
    )
    return sigma


def _sequences(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    sketch: Sketch,
    out: NDArray[np.float32],
) -> None:
    """Fill ``out`` with each window's flattened states."""
    if len(starts) == 0:
        return
    first, last = int(starts.min()), int(starts.max()) + window
    states = sketch.states(recording.rows(first, last))
    if representation.proj:
        states = states @ _state_projection(sketch.width, representation.proj)
    length = representation.down or window
    for b, start in enumerate(starts - first):
        span = states[start : start + window]
        out[b] = span.reshape(length, window // length, -1).mean(axis=1).ravel()
