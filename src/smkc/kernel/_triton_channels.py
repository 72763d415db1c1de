"""Channels inside GPU kernels: products and squared distances -> cosines and log distances.

Triton functions for other kernels, and where each channel goes.
"""

import triton
import triton.language as tl

from smkc.kernel.representation import CHANNELS, Representation

__all__ = ["cosine", "logarithm", "places"]

# Float32's range ends a little above it; see ``smkc.kernel._channels``.
LARGEST = tl.constexpr(3.0e38)

# Stand where nothing is divided by: the least positive numbers, and so no others change.
LEAST, LEAST_SQUARE = tl.constexpr(1.4e-45), tl.constexpr(1e-300)

LOG_2 = tl.constexpr(0.6931471805599453)


def places(representation: Representation) -> list[int]:
    """Where each of the six channels goes; -1 for those that are not wanted."""
    channels = representation.channels
    return [channels.index(name) if name in channels else -1 for name in CHANNELS]


@triton.jit
def cosine(products, squares, other_squares):  # type: ignore[no-untyped-def]
    """Half of one plus the cosine, in [0, 1]; one half beside a vector of zeros."""
    inverse = tl.where(squares > 0, 1.0 / tl.sqrt_rn(tl.maximum(squares, LEAST)), 0.0)
    other = tl.where(other_squares > 0, 1.0 / tl.sqrt_rn(tl.maximum(other_squares, LEAST)), 0.0)
    like = 0.5 + 0.5 * (products * inverse * other)
    return tl.minimum(tl.maximum(like, 0.0), 1.0)


@triton.jit
def logarithm(squares, sigma):  # type: ignore[no-untyped-def]
    """log(1 + d^2 / (2 sigma^2)); 0 if sigma is."""
    factor = tl.where(sigma > 0, 0.5 / tl.maximum(sigma * sigma, LEAST_SQUARE), 0.0)
    factor = tl.minimum(factor, LARGEST).to(tl.float32)
    x = tl.minimum(squares * factor, LARGEST)
    # Near zero by its series: 1 + x would lose the digits of x.
    series = x * (1.0 + x * (-0.5 + x * (1.0 / 3 - x * (1.0 / 4))))
    return tl.where(x < 0.015625, series, LOG_2 * tl.log2(1.0 + x))
