"""The median of squared distances inside a GPU kernel, by selection: nothing is sorted.

Triton functions for other kernels. A bracket around the wanted number is narrowed by counting how
many lie below a probe, until it is the first or the last in the bracket; floats that are not
negative are ordered as their bits are.
"""

import triton
import triton.language as tl

__all__ = ["median", "median_of_image"]

# Bits of the infinity that stands where there is no pair.
INFINITE = tl.constexpr(0x7F800000)

# Every so many probes the bracket is halved; in between the probe is where the wanted one would be
# if numbers lay evenly.
HALVE_EVERY = tl.constexpr(4)


@triton.jit
def median(squares, n):  # type: ignore[no-untyped-def]
    """Return the float64 median of n distances whose squares these are; infinities are none.

    The mean of two middle ones for even n; if that is 0, the median of the positive ones; 0 if
    there are none.
    """
    bits = _bits(squares)
    return _selected(bits, bits, bits, n, 1, 0, False)


@triton.jit
def median_of_image(first, second, third, length):  # type: ignore[no-untyped-def]
    """Return the median over all pairs of a window whose squares are in three tiles.

    The first and the third hold every pair twice and a diagonal of zeros, the second one each once.
    """
    n = length * (length - 1) // 2
    return _selected(_bits(first), _bits(second), _bits(third), n, 2, length, True)


@triton.jit
def _selected(  # type: ignore[no-untyped-def]
    x, y, z, n, TIMES: tl.constexpr, OWN, IS_IMAGE: tl.constexpr
):
    """Each of n pairs counts TIMES times, and OWN zeros are no pairs."""
    n_zero, most, minus_least = tl.reduce(
        (
            _count(x == 0, y == 0, z == 0, IS_IMAGE),
            _larger(_finite(x), _finite(y), _finite(z), IS_IMAGE),
            _larger(_minus(x, 0), _minus(y, 0), _minus(z, 0), IS_IMAGE),
        ),
        0,
        _sum_and_largest,
    )
    first, second = _ranks((n_zero - OWN) // TIMES, n)
    first, second = first * TIMES + OWN, second * TIMES + OWN

    # Fewer than ``first`` lie at or below lo, namely ``below``; as many or more, ``upto``, at or
    # below hi.
    is_zero = n_zero >= first
    lo = tl.where(is_zero, -1, -minus_least - 1)
    hi = tl.where(is_zero, 0, most)
    below = tl.where(is_zero, 0, n_zero)
    upto = tl.where(is_zero, n_zero, n * TIMES + OWN)
    step = 0
    while (upto != first) & (below != first - TIMES) & (hi - lo > 1):
        share = (first - below).to(tl.float32) / (upto - below).to(tl.float32)
        share = tl.minimum(tl.maximum(share, 1.0 / 64), 1.0 - 1.0 / 64)
        share = tl.where(step % HALVE_EVERY == HALVE_EVERY - 1, 0.5, share)
        at = lo + ((hi - lo).to(tl.float32) * share).to(tl.int32)
        at = tl.maximum(tl.minimum(at, hi - 1), lo + 1)
        count = tl.sum(_count(x <= at, y <= at, z <= at, IS_IMAGE), 0)
        is_high = count >= first
        lo, below = tl.where(is_high, lo, at), tl.where(is_high, below, count)
        hi, upto = tl.where(is_high, at, hi), tl.where(is_high, count, upto)
        step += 1

    # The lower middle one is the largest up to hi, or the smallest above lo.
    if upto == first:
        one = tl.max(_larger(_upto(x, hi), _upto(y, hi), _upto(z, hi), IS_IMAGE), 0)
    else:
        one = -tl.max(_larger(_minus(x, lo), _minus(y, lo), _minus(z, lo), IS_IMAGE), 0)
    count, minus_next = tl.reduce(
        (
            _count(x <= one, y <= one, z <= one, IS_IMAGE),
            _larger(_minus(x, one), _minus(y, one), _minus(z, one), IS_IMAGE),
        ),
        0,
        _sum_and_larger,
    )
    other = tl.where(count >= second, one, -minus_next)
    lower = tl.sqrt_rn(one.to(tl.float32, bitcast=True)).to(tl.float64)
    upper = tl.sqrt_rn(other.to(tl.float32, bitcast=True)).to(tl.float64)
    return tl.where(first == OWN, 0.0, 0.5 * (lower + upper))


@triton.jit
def _ranks(n_zero, n):  # type: ignore[no-untyped-def]
    """Ranks of the two middle ones of n, or of the positive ones if both are 0; 0 if none is."""
    first, second = (n + 1) // 2, n // 2 + 1
    is_zero = n_zero >= second
    first = tl.where(is_zero, n_zero + (n - n_zero + 1) // 2, first)
    second = tl.where(is_zero, n_zero + (n - n_zero) // 2 + 1, second)
    is_none = n_zero >= n
    return tl.where(is_none, 0, first), tl.where(is_none, 0, second)


@triton.jit
def _bits(tile):  # type: ignore[no-untyped-def]
    """Return the bits of all numbers in a row, in any order: each thread keeps its own."""
    return tl.reshape(tile, (tile.numel,), can_reorder=True).to(tl.int32, bitcast=True)


@triton.jit
def _count(x, y, z, IS_IMAGE: tl.constexpr):  # type: ignore[no-untyped-def]
    if IS_IMAGE:
        return x.to(tl.int32) + 2 * y.to(tl.int32) + z.to(tl.int32)
    else:
        return x.to(tl.int32)


@triton.jit
def _larger(x, y, z, IS_IMAGE: tl.constexpr):  # type: ignore[no-untyped-def]
    if IS_IMAGE:
        return tl.maximum(x, tl.maximum(y, z))
    else:
        return x


@triton.jit
def _finite(bits):  # type: ignore[no-untyped-def]
    return tl.where(bits < INFINITE, bits, 0)


@triton.jit
def _upto(bits, hi):  # type: ignore[no-untyped-def]
    return tl.where(bits <= hi, bits, -1)


@triton.jit
def _minus(bits, lo):  # type: ignore[no-untyped-def]
    """Minus those above lo, so that the largest is the least."""
    return tl.where(bits > lo, -bits, -INFINITE)


@triton.jit
def _sum_and_largest(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    return a + d, tl.maximum(b, e), tl.maximum(c, f)


@triton.jit
def _sum_and_larger(a, b, c, d):  # type: ignore[no-untyped-def]
    return a + c, tl.maximum(b, d)
