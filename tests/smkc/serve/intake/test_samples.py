"""What waits in the inbox comes out as it went in, or is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import InputError
from smkc.serve.intake.samples import Samples, pack_samples, unpack_samples


@given(
    st.lists(st.text(), unique=True, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats()), max_size=20),
)
def test_samples_come_back_to_the_bit(names, readings):
    samples = Samples(
        names=tuple(names),
        codes=np.arange(len(readings), dtype=np.int64) % len(names),
        times=np.array([time for time, _ in readings], np.int64),
        values=np.array([value for _, value in readings], np.float64),
    )
    again = unpack_samples(pack_samples(samples))
    assert again.names == samples.names
    for name in ("codes", "times", "values"):
        assert getattr(again, name).tobytes() == getattr(samples, name).tobytes()


@given(st.binary(max_size=100))
def test_other_bytes_are_refused(body):
    with pytest.raises(InputError, match="damaged"):
        unpack_samples(body)


def test_a_cut_body_is_refused():
    names = {"codes": np.zeros(9, np.int64), "times": np.zeros(9, np.int64)}
    body = pack_samples(Samples(names=("a",), values=np.zeros(9), **names))
    with pytest.raises(InputError, match="damaged"):
        unpack_samples(body[:-3])
