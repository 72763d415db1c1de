"""Random numbers that are the same on every machine: integers, uniforms, normals, permutations.

In: a generator's state, an array of one uint64 that every draw advances. Out: numbers. The code
uses only integer arithmetic and the four operations and square root of IEEE 754: not the system's
logarithm, nor the random stream of another library, which may change.
"""

from math import frexp, sqrt
from typing import Any

import numpy as np
from numba import njit

__all__ = ["integer", "next_bits", "normal", "permute", "sign", "uniform"]

LOG_2 = 0.6931471805599453
HALF_SQRT = 0.7071067811865476


@njit(cache=True, nogil=True)
def next_bits(state: np.ndarray) -> np.uint64:
    """Return 64 random bits: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z: np.uint64 = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


@njit(cache=True, nogil=True)
def uniform(state: np.ndarray, low: float, high: float) -> float:
    """Return a uniform number strictly between low and high."""
    share = (np.float64(next_bits(state) >> np.uint64(12)) + 0.5) * 2.0**-52
    return low + (high - low) * share


@njit(cache=True, nogil=True)
def integer(state: np.ndarray, n: int) -> Any:
    """Return a uniform integer from 0 to n - 1 (int64)."""
    high = next_bits(state) >> np.uint64(32)
    return np.int64((high * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def sign(state: np.ndarray) -> float:
    """Return +1 or -1."""
    return 1.0 if integer(state, 2) == 0 else -1.0


@njit(cache=True, nogil=True)
def permute(state: np.ndarray, items: np.ndarray, n_drawn: int) -> None:
    """Fill the first ``n_drawn`` positions with a random choice of the items, in random order."""
    for i in range(n_drawn):
        j = i + integer(state, len(items) - i)
        items[i], items[j] = items[j], items[i]


@njit(cache=True, nogil=True)
def _log(x: float) -> float:
    """Return the natural logarithm of a positive number, accurate to about 1e-16."""
    mantissa, exponent = frexp(x)
    if mantissa < HALF_SQRT:
        mantissa *= 2.0
        exponent -= 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    s2 = s * s
    series = 0.0
    for k in range(10, -1, -1):  # 2 artanh(s); s2 < 0.03, so these terms suffice
        series = series * s2 + 1.0 / (2 * k + 1)
    return exponent * LOG_2 + 2.0 * s * series


@njit(cache=True, nogil=True)
def normal(state: np.ndarray) -> float:
    """Return a standard normal number, by the inverse distribution function of a uniform one.

    Notes
    -----
    Wichura, algorithm AS 241 (PPND16), Applied Statistics 37, 1988: about 16 digits.
    """
    p = uniform(state, 0.0, 1.0)
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = 2.5090809287301226727e3
        top = top * r + 3.3430575583588128105e4
        top = top * r + 6.7265770927008700853e4
        top = top * r + 4.5921953931549871457e4
        top = top * r + 1.3731693765509461125e4
        top = top * r + 1.9715909503065514427e3
        top = top * r + 1.3314166789178437745e2
        top = top * r + 3.3871328727963666080e0
        low = 5.2264952788528545610e3
        low = low * r + 2.8729085735721942674e4
        low = low * r + 3.9307895800092710610e4
        low = low * r + 2.1213794301586595867e4
        low = low * r + 5.3941960214247511077e3
        low = low * r + 6.8718700749205790830e2
        low = low * r + 4.2313330701600911252e1
        low = low * r + 1.0
        return q * top / low
    r = sqrt(-_log(p if q < 0 else 1.0 - p))
    if r <= 5.0:
        r -= 1.6
        top = 7.74545014278341407640e-4
        top = top * r + 2.27238449892691845833e-2
        top = top * r + 2.41780725177450611770e-1
        top = top * r + 1.27045825245236838258e0
        top = top * r + 3.64784832476320460504e0
        top = top * r + 5.76949722146069140550e0
        top = top * r + 4.63033784615654529590e0
        top = top * r + 1.42343711074968357734e0
        low = 1.05075007164441684324e-9
        low = low * r + 5.47593808499534494600e-4
        low = low * r + 1.51986665636164571966e-2
        low = low * r + 1.48103976427480074590e-1
        low = low * r + 6.89767334985100004550e-1
        low = low * r + 1.67638483018380384940e0
        low = low * r + 2.05319162663775882187e0
        low = low * r + 1.0
    else:
        r -= 5.0
        top = 2.01033439929228813265e-7
        top = top * r + 2.71155556874348757815e-5
        top = top * r + 1.24266094738807843860e-3
        top = top * r + 2.65321895265761230930e-2
        top = top * r + 2.96560571828504891230e-1
        top = top * r + 1.78482653991729133580e0
        top = top * r + 5.46378491116411436990e0
        top = top * r + 6.65790464350110377720e0
        low = 2.04426310338993978564e-15
        low = low * r + 1.42151175831644588870e-7
        low = low * r + 1.84631831751005468180e-5
        low = low * r + 7.86869131145613259100e-4
        low = low * r + 1.48753612908506148525e-2
        low = low * r + 1.36929880922735805310e-1
        low = low * r + 5.99832206555887937690e-1
        low = low * r + 1.0
    value = top / low
    return -value if q < 0 else value
