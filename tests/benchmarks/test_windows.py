"""Windows: joined, chosen, padded, and turned into a recording without a lost observation."""

import numpy as np
import pytest

from benchmarks.windows import PADDING, Windows
from benchmarks.world import World, generate
from smkc.errors import InputError


def some(cardinality=3, pool="eval", length=16, **more):
    return generate(
        World(),
        pool=pool,
        n_windows=20,
        cardinality=cardinality,
        length=length,
        rate=0.2,
        seed=1,
        **more,
    )


def test_joined_windows_are_padded():
    joined = Windows.concat([some(3), some(5)])
    assert joined.values.shape == (40, 16, 5)
    assert (joined.cardinality == np.repeat([3, 5], 20)).all()
    assert (joined.variables[:20, 3:] == PADDING).all()
    assert not joined.observed[:20, :, 3:].any()
    np.testing.assert_array_equal(joined.take(slice(20, 40)).values, some(5).values)


def test_choosing():
    windows = some()
    assert len(windows.normal()) == 16
    assert not windows.normal().is_anomalous.any()
    assert len(windows.take(windows.is_anomalous)) == 4
    assert windows.padded_to(2) is windows
    assert repr(windows) == "Windows(20 of 16 steps, up to 3 variables, 4 anomalous)"


def test_a_recording_holds_every_observation():
    windows = Windows.concat([some(2), some(4)])
    recording = windows.recording()
    assert len(recording) == 40 * 16
    assert len(recording.values) == windows.observed.sum()
    b, t = 27, 5
    expected = {
        windows.names[variable]: float(value)
        for variable, value, is_seen in zip(
            windows.variables[b], windows.values[b, t], windows.observed[b, t], strict=True
        )
        if is_seen
    }
    assert recording.row(windows.starts()[b] + t) == expected


def test_what_cannot_be_joined():
    with pytest.raises(InputError, match="cannot be joined"):
        Windows.concat([some(), some(pool="train")])
    with pytest.raises(InputError, match="cannot be joined"):
        Windows.concat([some(), some(length=32)])
