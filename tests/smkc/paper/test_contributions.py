import math

import numpy as np
import pytest
from tests import naive, worlds

from smkc.paper.contributions import contributions
from smkc.paper.kernel import Representation
from smkc.paper.sketch import Sketch

WINDOW = 10
LAGS = 3
BAND = Representation.parse(f"log3 band({LAGS})")


@pytest.fixture
def span(rng):
    table = worlds.coupled(rng, WINDOW, 4)
    table[3:5, 1] = np.nan
    table[6:, 2] = np.nan
    return worlds.recording_of(table)


def own_states(span, name, buckets):
    """The states of a window in which one variable alone acts, and how many act in all."""
    states = []
    for t in range(len(span)):
        row = span.row(t)
        empty = [0.0] * (2 * buckets)
        if name in row:
            scale = 1 / math.sqrt(len(row))
            bucket, sign = naive.bucket_and_sign(name, "val", buckets)
            empty[bucket] += sign * row[name] * scale
            bucket, sign = naive.bucket_and_sign(name, "pres", buckets)
            weight = min(naive.PRESENCE_SLOPE * len(row), 1.0)
            empty[buckets + bucket] += sign * weight * scale
        states.append(empty)
    return states


def plain_parts(span, buckets):
    """Each variable's part of all log distances of a band, by loops; no collisions."""
    pairs = [(t, t + lag) for lag in range(1, LAGS + 1) for t in range(len(span) - lag)]
    together = naive.differences([naive.state(span.row(t), buckets) for t in range(len(span))])
    parts = dict.fromkeys(span.names, 0.0)
    for which, z in enumerate(together):
        squares = [naive.squared_distance(z[i], z[j]) for i, j in pairs]
        sigma = naive.robust_scale([math.sqrt(square) for square in squares])
        for name in span.names:
            own = naive.differences(own_states(span, name, buckets))[which]
            for (i, j), square in zip(pairs, squares, strict=True):
                if square > 0:
                    share = naive.squared_distance(own[i], own[j]) / square
                    parts[name] += share * naive.log_of(square, sigma)
    return parts


def are_apart(names, buckets):
    places = [naive.bucket_and_sign(name, "val", buckets)[0] for name in names]
    places += [buckets + naive.bucket_and_sign(name, "pres", buckets)[0] for name in names]
    return len(set(places)) == len(places)


def test_the_parts_of_a_plain_loop(span):
    assert are_apart(span.names, 128)
    expected = plain_parts(span, 128)
    parts = contributions(span, BAND, Sketch())
    actual = dict(zip(parts.names, parts.value + parts.presence, strict=True))
    assert actual == pytest.approx(expected, rel=1e-5)
    assert not any(parts.joint(j) for j in range(4))


@pytest.mark.parametrize("buckets", [1, 2, 16, 128])
@pytest.mark.parametrize(
    "representation", ["log3 band(3)", "full image", "log_delta anchor(4)", "cos3 image", "seq"]
)
def test_parts_add_up_without_remainder(span, representation, buckets):
    parts = contributions(span, Representation.parse(representation), Sketch(buckets=buckets))
    assert parts.total > 0
    assert (parts.value >= 0).all()
    assert (parts.presence >= 0).all()
    assert (parts.value + parts.presence).sum() == pytest.approx(parts.total, rel=1e-9)


def test_only_what_exceeds_the_typical_counts(span):
    whole = contributions(span, BAND, Sketch())
    n_features = BAND.n_features(WINDOW)
    half = contributions(span, BAND, Sketch(), np.full(n_features, 0.5, np.float32))
    none = contributions(span, BAND, Sketch(), np.full(n_features, 50, np.float32))
    assert 0 < half.total < whole.total
    assert none.total == 0
    assert (half.value + half.presence).sum() == pytest.approx(half.total, rel=1e-9)


def test_collisions_are_named(span):
    parts = contributions(span, BAND, Sketch(buckets=2))
    for number, name in enumerate(parts.names):
        expected = {
            other
            for other in span.names
            for stream in ("val", "pres")
            if other != name
            and naive.bucket_and_sign(name, stream, 2)[0]
            == naive.bucket_and_sign(other, stream, 2)[0]
        }
        assert set(parts.joint(number)) == expected
        assert expected


def test_without_presence_only_values_contribute(span):
    parts = contributions(span, BAND, Sketch(presence=False))
    assert not parts.presence.any()
    assert parts.value.all()


def test_a_constant_window_has_nothing_to_divide():
    parts = contributions(worlds.recording_of(np.ones((WINDOW, 3))), BAND, Sketch())
    assert parts.total == 0
    assert not parts.value.any()
