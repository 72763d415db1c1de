"""Recipes of the golden cases: truth and scores of short recordings, and periodic values.

Needs NumPy alone, so that it runs beside any version of the packages whose values are stored.
"""

import hashlib

import numpy as np

__all__ = ["PERIODIC", "RECORDINGS", "WINDOWS", "digest", "periodic", "recording"]

# Largest buffer lengths: none, the first that matters, odd, even, and longer than most gaps.
WINDOWS = (0, 2, 5, 20, 61)


def _truth(n, *spans):
    truth = np.zeros(n, np.int64)
    for start, end in spans:
        truth[start:end] = 1
    return truth


def _smooth(values, width):
    return np.convolve(values, np.ones(width) / width, mode="same")


def _one_long(rng):
    truth = _truth(800, (300, 520))
    return truth, rng.random(800) + 0.6 * _smooth(truth, 41)


def _points(rng):
    truth = (rng.random(1000) < 0.06).astype(np.int64)
    return truth, rng.random(1000) + 0.5 * truth


def _close_points(rng):
    truth = (np.arange(300) % 7 == 3).astype(np.int64)
    truth[100:180] = 0
    return truth, rng.random(300) + 0.4 * truth


def _at_both_ends(rng):
    truth = _truth(400, (0, 13), (200, 203), (390, 400))
    return truth, rng.random(400) + 0.8 * truth


def _first_step(rng):
    return _truth(120, (0, 1)), rng.random(120)


def _last_step(rng):
    return _truth(120, (119, 120)), rng.random(120)


def _late(rng):
    truth = _truth(900, (100, 140), (400, 404), (600, 680))
    return truth, np.roll(truth, 11) + rng.random(900)


def _ties(rng):
    truth = _truth(500, (50, 60), (64, 70), (300, 345))
    return truth, rng.integers(0, 4, 500) + truth.astype(float)


def _two_values(rng):
    truth = _truth(260, (30, 55), (140, 141))
    return truth, (rng.random(260) < 0.2).astype(float)


def _constant(rng):
    return _truth(200, (80, 90)), np.full(200, 0.25)


def _random(rng):
    truth = _truth(2000, (90, 130), (700, 701), (704, 705), (1200, 1500))
    return truth, rng.random(2000)


def _perfect(rng):
    truth = _truth(350, (20, 50), (77, 80), (200, 260))
    return truth, truth + 0.5 * rng.random(350)


def _inverted(rng):
    truth = _truth(350, (20, 50), (77, 80), (200, 260))
    return truth, 0.5 * rng.random(350) - truth


def _mostly_anomalous(rng):
    truth = 1 - _truth(240, (60, 64), (100, 101), (150, 190))
    return truth, rng.random(240) + 0.3 * truth


def _fewer_than_thresholds(rng):
    return _truth(40, (5, 9), (20, 22)), rng.random(40)


RECORDINGS = {
    "one_long": _one_long,
    "points": _points,
    "close_points": _close_points,
    "at_both_ends": _at_both_ends,
    "first_step": _first_step,
    "last_step": _last_step,
    "late": _late,
    "ties": _ties,
    "two_values": _two_values,
    "constant": _constant,
    "random": _random,
    "perfect": _perfect,
    "inverted": _inverted,
    "mostly_anomalous": _mostly_anomalous,
    "fewer_than_thresholds": _fewer_than_thresholds,
}


def recording(name):
    """Return (n,) truth as 0 and 1, and (n,) scores."""
    rng = np.random.default_rng([22, *name.encode("ascii")])
    truth, scores = RECORDINGS[name](rng)
    return truth, np.round(scores, 6)


# name: steps, period (0 = none), standard deviation of the noise
PERIODIC = {
    "period_24": (1000, 24.0, 0.3),
    "period_100": (3000, 100.0, 0.1),
    "period_7_and_half": (500, 7.5, 0.2),
    "period_too_short": (400, 4.0, 0.1),
    "period_too_long": (4000, 350.0, 0.0),
    "noise": (1500, 0.0, 1.0),
    "longer_than_read": (25000, 60.0, 1.0),
    "short": (60, 12.0, 0.1),
    "shortest": (5, 2.0, 0.0),
    "constant": (300, 0.0, 0.0),
}


def periodic(name):
    """Return (n,) values with a period."""
    n, period, noise = PERIODIC[name]
    rng = np.random.default_rng([23, *name.encode("ascii")])
    wave = np.sin(2 * np.pi * np.arange(n) / period) if period else np.ones(n)
    return np.round(wave + noise * rng.standard_normal(n), 6)


def digest(*arrays):
    """Return what the arrays hold, short: another stream of random numbers shows at once."""
    joined = b"".join(np.asarray(array, "<f8").tobytes() for array in arrays)
    return hashlib.sha256(joined).hexdigest()[:16]
