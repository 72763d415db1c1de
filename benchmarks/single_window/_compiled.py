"""Numba decorators of this package, and vectorised exponentials and logarithms.

In: functions of arrays and scalars. Out: the same functions, compiled at their first call.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Floats", "compiled", "dot", "exp_all", "log_all", "summing"]

Inputs = ParamSpec("Inputs")
Output = TypeVar("Output")
Floats = NDArray[np.float64]

# Both sets allow fused multiply-add. Only loops that sum and write no arrays may reorder the
# additions: a loop that writes arrays is vectorised or not depending on their alignment in memory,
# and must give the same bits either way. NaN and infinity keep their meaning.
FUSED = {"contract", "nsz"}
REORDERED = {"contract", "nsz", "reassoc"}

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6  # the sum is ln 2
LEAST_EXPONENT, MOST_EXPONENT = -700.0, 700.0

MANTISSA = 0x000FFFFFFFFFFFFF
ONE_BITS = 0x3FF0000000000000
SQRT2 = 1.4142135623730951


def compiled(function: Callable[Inputs, Output]) -> Callable[Inputs, Output]:
    """Compile a loop: cached on disk, without the GIL; division by zero gives infinity."""
    loop = njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)(function)
    return cast(Callable[Inputs, Output], loop)


def summing(function: Callable[Inputs, Output]) -> Callable[Inputs, Output]:
    """Compile a loop that only sums and writes no arrays."""
    loop = njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDERED)(function)
    return cast(Callable[Inputs, Output], loop)


@summing
def dot(left: Floats, right: Floats) -> float:
    """Return the dot product of two (n,) arrays."""
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@compiled
def exp_all(numbers: Floats) -> None:
    """Replace (n,) numbers by their exponentials, accurate to 1e-13; clip them to +-700 first."""
    bits = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        x = min(max(numbers[i], LEAST_EXPONENT), MOST_EXPONENT)
        k = np.floor(x * LOG2_E + 0.5)
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        bits[i] = (np.int64(k) + 1023) << 52
        p = 1.0 / 479001600
        p = p * r + 1.0 / 39916800
        p = p * r + 1.0 / 3628800
        p = p * r + 1.0 / 362880
        p = p * r + 1.0 / 40320
        p = p * r + 1.0 / 5040
        p = p * r + 1.0 / 720
        p = p * r + 1.0 / 120
        p = p * r + 1.0 / 24
        p = p * r + 1.0 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        numbers[i] = p * r + 1.0
    powers = bits.view(np.float64)
    for i in range(numbers.size):
        numbers[i] *= powers[i]


@compiled
def log_all(numbers: Floats) -> None:
    """Replace (n,) positive numbers by their logarithms, accurate to 1e-13.

    Numbers below 1e-300 count as 1e-300. With m the number divided by a power of 2 and
    s = (m - 1) / (m + 1), log m is 2 (s + s^3 / 3 + s^5 / 5 + ...).
    """
    bits = np.empty(numbers.size, np.int64)
    exponents = np.empty(numbers.size)
    plain = bits.view(np.float64)
    for i in range(numbers.size):
        plain[i] = max(numbers[i], 1e-300)
    for i in range(numbers.size):
        exponents[i] = np.float64((bits[i] >> 52) - 1023)
        bits[i] = (bits[i] & MANTISSA) | ONE_BITS
    for i in range(numbers.size):
        is_large = plain[i] > SQRT2
        m = 0.5 * plain[i] if is_large else plain[i]
        k = exponents[i] + 1.0 if is_large else exponents[i]
        s = (m - 1.0) / (m + 1.0)
        u = s * s
        p = 1.0 / 17
        p = p * u + 1.0 / 15
        p = p * u + 1.0 / 13
        p = p * u + 1.0 / 11
        p = p * u + 1.0 / 9
        p = p * u + 1.0 / 7
        p = p * u + 1.0 / 5
        p = p * u + 1.0 / 3
        p = p * u + 1.0
        numbers[i] = 2.0 * s * p + k * LN2_LOW + k * LN2_HIGH
