import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smkc.serve.prometheus.collected import Collected

PART = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99), st.floats(-9, 9)), max_size=9)


@given(answers=st.lists(st.tuples(PART, st.booleans()), max_size=8))
def test_what_is_taken_back_leaves_no_trace(answers):
    collected = Collected()
    for name in "abcd":
        collected.codes[name] = len(collected.codes)
    expected = []
    for part, is_whole in answers:
        before = len(collected)
        codes, times, values = ([row[which] for row in part] for which in range(3))
        collected.add(np.array(codes, int), np.array(times, int), np.array(values, float))
        if is_whole:
            expected += part
        else:
            collected.cut(before)
    samples = collected.samples()
    names = [samples.names[code] for code in samples.codes.tolist()]
    rows = zip(names, samples.times.tolist(), samples.values.tolist(), strict=True)
    assert list(rows) == [("abcd"[code], time, value) for code, time, value in expected]
    assert set(samples.names) == set(names)


def test_a_name_alone_is_not_among_the_samples():
    collected = Collected()
    collected.codes.update(a=0, b=1)
    collected.add(np.array([1]), np.array([5]), np.array([2.0]))
    samples = collected.samples()
    assert (samples.names, samples.codes.tolist()) == (("b",), [0])
