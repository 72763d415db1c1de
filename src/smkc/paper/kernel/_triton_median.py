"""The median of squared distances inside a GPU kernel, by selection: nothing is sorted.

A Triton function for other kernels. A bracket around the wanted number is narrowed by counting how
many lie below a probe, until it is the first or the last in the bracket; floats that are not
negative are ordered as their bits are.
"""

import triton
import triton.language as tl

__all__ = ["median"]

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
    # In any order: each thread keeps its own.
    bits = tl.reshape(squares, (squares.numel,), can_reorder=True).to(tl.int32, bitcast=True)
    is_finite = bits < INFINITE
    n_zero, most, minus_least = tl.reduce(
        ((bits == 0).to(tl.int32), tl.where(is_finite, bits, 0), _minus(bits, 0)),
        0,
        _sum_and_largest,
    )
    first, second = _ranks(n_zero, n)

    # Fewer than ``first`` lie at or below lo, namely ``below``; as many or more, ``upto``, at or
    # below hi.
    is_zero = n_zero >= first
    lo = tl.where(is_zero, -1, -minus_least - 1)
    hi = tl.where(is_zero, 0, most)
    below = tl.where(is_zero, 0, n_zero)
    upto = tl.where(is_zero, n_zero, n)
    step = 0
    while (upto != first) & (below != first - 1) & (hi - lo > 1):
        share = (first - below).to(tl.float32) / (upto - below).to(tl.float32)
        share = tl.minimum(tl.maximum(share, 1.0 / 64), 1.0 - 1.0 / 64)
        share = tl.where(step % HALVE_EVERY == HALVE_EVERY - 1, 0.5, share)
        at = lo + ((hi - lo).to(tl.float32) * share).to(tl.int32)
        at = tl.maximum(tl.minimum(at, hi - 1), lo + 1)
        count = tl.sum((bits <= at).to(tl.int32), 0)
        is_high = count >= first
        lo, below = tl.where(is_high, lo, at), tl.where(is_high, below, count)
        hi, upto = tl.where(is_high, at, hi), tl.where(is_high, count, upto)
        step += 1

    # The lower middle one is the largest up to hi, or the smallest above lo.
    if upto == first:
        one = tl.max(tl.where(bits <= hi, bits, -1), 0)
    else:
        one = -tl.max(_minus(bits, lo), 0)
    count, minus_next = tl.reduce(
        ((bits <= one).to(tl.int32), _minus(bits, one)), 0, _sum_and_larger
    )
    other = tl.where(count >= second, one, -minus_next)
    lower = tl.sqrt_rn(one.to(tl.float32, bitcast=True)).to(tl.float64)
    upper = tl.sqrt_rn(other.to(tl.float32, bitcast=True)).to(tl.float64)
    return tl.where(first == 0, 0.0, 0.5 * (lower + upper))


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
def _minus(bits, lo):  # type: ignore[no-untyped-def]
    """Minus those above lo, so that the largest is the least."""
    return tl.where(bits > lo, -bits, -INFINITE)


@triton.jit
def _sum_and_largest(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    return a + d, tl.maximum(b, e), tl.maximum(c, f)


@triton.jit
def _sum_and_larger(a, b, c, d):  # type: ignore[no-untyped-def]
    return a + c, tl.maximum(b, d)
