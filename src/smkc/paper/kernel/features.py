"""Kernel features: windows of a recording -> flat vectors that a density reads.

In: a recording (already scaled, if scaling is used), start rows, a window length, a representation.
Out: float32 features, block by block, or kernel images with their scale tokens.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from smkc.errors import WindowError
from smkc.paper.kernel._loops import scan_anchors, scan_lags, scan_sequences
from smkc.paper.kernel.representation import CHANNELS, Representation
from smkc.paper.kernel.windows import segments
from smkc.paper.sketch import Hashed, Sketch
from smkc.parallel import in_threads, n_threads, scratch
from smkc.recording import Recording

# Largest size of a block of features: small enough to stay in the CPU's caches.
BLOCK_BYTES = 8 * 2**20
BLOCK_WINDOWS = 256

Result = TypeVar("Result")

# Seed of the matrix that projects states (option proj); part of the representation's definition.
STATE_PROJECTION_SEED = 7


def features(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    sketch: Sketch,
) -> NDArray[np.float32]:
    """Return (B, F) float32 features of B windows, flat, channel by channel.

    Overlapping windows share work if their starts ascend; other windows are computed one by one.
    The features are the same up to rounding.

    Notes
    -----
    Paper, section 3.2.2 (channels) and 3.3 (band, anchor, proj, down).
    """
    out = np.empty((len(starts), representation.n_features(window, sketch.width)), np.float32)

    def keep(part: slice, block: NDArray[np.float32]) -> None:
        out[part] = block

    for _ in map_features(keep, recording, starts, window, representation, sketch):
        pass
    return out


def map_features(
    function: Callable[[slice, NDArray[np.float32]], Result],
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    sketch: Sketch,
) -> Iterator[Result]:
    """Yield ``function(slice of windows, their features)`` for every block of windows.

    Several blocks are processed at once, in threads. A block's features are overwritten after the
    call, so that only a few blocks are in memory at any time.
    """
    starts = _checked_starts(recording, starts, window)
    representation.check(window)
    rows = sketch.hashed(recording)
    shape = representation.shape(window, sketch.width)
    n_features = representation.n_features(window, sketch.width)
    size = _block_size(len(starts), n_features)

    def work(first: int) -> Result:
        part = slice(first, min(first + size, len(starts)))
        block = scratch("features", (part.stop - first, *shape))
        _compare(rows, starts[part], window, representation, sketch.width, block)
        return function(part, block.reshape(len(block), n_features))

    yield from in_threads(work, range(0, len(starts), size))


def images(
    recording: Recording,
    starts: NDArray[np.int64],
    window: int,
    sketch: Sketch,
    channels: tuple[str, ...] = CHANNELS,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return (B, K, L, L) kernel images and (B,) scale tokens tau of B windows.

    The scale tokens are NaN unless ``log_g`` is among the channels.
    """
    starts = _checked_starts(recording, starts, window)
    representation = Representation(channels=channels, layout="image", size=0)
    out = np.empty((len(starts), *representation.shape(window)), np.float32)
    sigma = _compare(sketch.hashed(recording), starts, window, representation, sketch.width, out)
    return out, scale_token(sigma)


def scale_token(sigma: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return tau = tanh(log(sigma)); -1 where no two states of the window differ."""
    with np.errstate(divide="ignore"):
        return np.tanh(np.log(sigma)).astype(np.float32)


def anchor_steps(length: int, n_anchors: int) -> NDArray[np.int64]:
    """Return the (r,) anchors of a window, evenly spaced time steps."""
    return np.linspace(0, length - 1, n_anchors).round().astype(np.int64)


def _block_size(n_windows: int, n_features: int) -> int:
    """Return the windows per block, so that every thread gets about the same number of blocks."""
    most = max(1, min(BLOCK_WINDOWS, BLOCK_BYTES // (4 * n_features)))
    n_rounds = -(-n_windows // (most * n_threads()))
    return max(1, -(-n_windows // max(n_rounds * n_threads(), 1)))


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


@lru_cache(maxsize=8)
def _state_projection(width: int, size: int) -> NDArray[np.float32]:
    rng = np.random.Generator(np.random.PCG64(STATE_PROJECTION_SEED))
    matrix = rng.standard_normal((width, size)).astype(np.float32)
    return matrix / np.float32(np.sqrt(max(size, 1)))


def _compare(
    rows: Hashed,
    starts: NDArray[np.int64],
    window: int,
    representation: Representation,
    width: int,
    out: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Fill ``out`` (B, ...) with features; return (B,) sigma(g), NaN where it is not computed."""
    sigma = np.full(len(starts), np.nan)
    if len(starts) == 0:
        return sigma
    channel_at = np.array(representation.places, np.int64)
    projection = _state_projection(width, representation.proj)
    length = representation.down or window
    pool = window // length
    if representation.layout == "seq":
        every_bucket = projection if representation.proj else np.eye(width, dtype=np.float32)
        scan_sequences(rows, starts, window, every_bucket, pool, out)
        return sigma
    if representation.layout == "anchor":
        anchors = anchor_steps(length, representation.size)
        scan_anchors(rows, starts, window, projection, pool, anchors, channel_at, out, sigma)
        return sigma
    is_image = representation.layout == "image"
    n_lags = length - 1 if is_image else representation.size
    # Pooled steps cannot be shared. Sharing pairs pays for images while windows advance by at most
    # half their length, and for bands whenever windows overlap.
    sharing = 0 if pool > 1 else window // 2 if is_image else window - 1
    parts = segments(starts, window, sharing)
    scan_lags(
        rows, starts, parts, window, projection, pool, n_lags, channel_at, is_image, out, sigma
    )
    return sigma
