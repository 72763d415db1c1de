"""Scaling whose variables come and go without end: it forgets, and the same everywhere."""

import numpy as np
import pytest
from tests.naive_scaling import NaiveScaling, Rows
from tests.smkc.recording.scaled_rows import assert_same_rows, record, scaled_rows, stream

from smkc.recording import Recording, Scaling


def churning(n_rows: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    return [
        {f"u{number}": float(rng.normal()) for number in rng.integers(t, t + 30, size=5)}
        | {
            f"c{number}_total": float(rng.integers(100))
            for number in rng.integers(t, t + 9, size=2)
        }
        for t in range(n_rows)
    ]


@pytest.mark.parametrize("max_variables", [1, 3, 8, 20])
def test_forgetting_is_the_same_in_batch_stream_and_twin(max_variables: int) -> None:
    rows = churning(300, seed=11)
    fitted = Scaling.fit(record([{"x": 1.0}]), max_variables=max_variables)
    naive = NaiveScaling([], [], max_variables)
    batch = fitted.start().scale(record(rows))
    times = np.arange(300) * 15
    assert batch == Recording.from_rows(times, stream(fitted.start(), times, rows))
    expected = [naive.scale(15 * t, row) for t, row in enumerate(rows)]
    assert_same_rows(expected, scaled_rows(batch))
    assert batch != Scaling.fit(record([{"x": 1.0}])).start().scale(record(rows))


def test_a_million_names_do_not_grow_the_state() -> None:
    state = Scaling.fit(record([{"x": 1.0}]), max_variables=1000).start()
    sizes = []
    for t in range(1000):
        state.scale(record([{f"pod-{t}-{i}": 1.0 for i in range(100)}], first=t))
        sizes.append((len(state._table), len(state._slot_of)))
    assert max(sizes) <= (4096, 2100)
    arrays, header = state.to_arrays()
    assert len(header["names"]) <= 1000
    assert all(len(array) <= 1000 for array in arrays.values())


def test_the_latest_row_is_never_forgotten() -> None:
    state = Scaling.fit(record([{"x": 1.0}]), max_variables=10).start()
    row = {f"v{i}": float(i) for i in range(50)}
    state.scale(record([row] * 9))
    moved = state.scale(record([{name: value + 1 for name, value in row.items()}], first=999))
    assert (np.abs(moved.values) > 0).all()
