"""Channels inside GPU kernels: products and squared distances -> cosines and log distances.

Triton functions for other kernels.
"""

import triton
import triton.language as tl

__all__ = ["cosine", "logarithm"]

# Float32's range ends a little above it; see ``smkc.paper.kernel._channels``.
LARGEST = tl.constexpr(3.0e38)

LOG_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def cosine(products, squares, other_squares):  # type: ignore[no-untyped-def]
    """Half of one plus the cosine, in [0, 1]; one half beside a vector of zeros."""
    like = 0.5 + 0.5 * (products * _inverse_root(squares) * _inverse_root(other_squares))
    return tl.minimum(tl.maximum(like, 0.0), 1.0)


@triton.jit
def _inverse_root(squares):  # type: ignore[no-untyped-def]
    """One over the root; 0 of 0."""
    is_zero = squares == 0
    return tl.where(is_zero, 0.0, 1.0 / tl.sqrt_rn(tl.where(is_zero, 1.0, squares)))


@triton.jit
def logarithm(squares, sigma):  # type: ignore[no-untyped-def]
    """log(1 + d^2 / (2 sigma^2)); 0 if sigma is."""
    is_zero = sigma == 0
    factor = tl.where(is_zero, 0.0, 0.5 / tl.where(is_zero, 1.0, sigma * sigma))
    factor = tl.minimum(factor, LARGEST).to(tl.float32)
    x = tl.minimum(squares * factor, LARGEST)
    # Near zero by its series: 1 + x would lose the digits of x.
    series = x * (1.0 + x * (-0.5 + x * (1.0 / 3 - x * (1.0 / 4))))
    return tl.where(x < 0.015625, series, LOG_2 * tl.log2(1.0 + x))
