"""What hypothesis draws: identifiers, rows, recordings and tables as telemetry might have them.

In: sizes. Out: strategies. Values are float32 already, so that what is drawn is what is stored.
"""

import numpy as np
from hypothesis import strategies as st

from smkc.recording import Recording, canonical
from smkc.recording.layout import INDEX_NAMES

TIME = "time"

# Any text that UTF-8 can hold, and the shapes that names of metrics take.
identifiers = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.from_regex(r'[a-z_]{1,8}\{[a-z]{1,4}="[a-z0-9-]{0,6}"\}', fullmatch=True),
    st.sampled_from(["cpu", "mem", "cpu#val", "v0", "v1", "v2"]),
)

# Whole and dyadic numbers, everyday floats, and the ends of float32's range.
values = st.one_of(
    st.integers(-8, 8).map(float),
    st.floats(-1e3, 1e3, width=32),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)


def rows(min_size: int = 1, max_size: int = 12, max_variables: int = 6):
    """Lists of rows, each a dict of variable to value; some rows are empty."""
    some_names = st.lists(identifiers, min_size=1, max_size=max_variables, unique=True)

    def rows_of(names):
        row = st.dictionaries(st.sampled_from(names), values, max_size=len(names))
        return st.lists(row, min_size=min_size, max_size=max_size)

    return some_names.flatmap(rows_of)


# Names that a table can carry: no time column, no nameless one, already in canonical order.
variables = identifiers.map(canonical).filter(lambda name: name not in {TIME, *INDEX_NAMES})

plain_times = st.integers(-(10**6), 10**7)
float_times = st.integers(-(10**6), 10**6).map(lambda quarter: quarter / 4)
instants = st.integers(-(10**18), 10**18).map(lambda ns: np.datetime64(ns, "ns"))


@st.composite
def recordings(draw, min_rows: int = 1, max_rows: int = 8, max_variables: int = 5):
    """Recordings with at least one observation, some rows empty, times of all three kinds."""
    names = draw(st.lists(variables, min_size=1, max_size=max_variables, unique=True))
    row = st.dictionaries(st.sampled_from(names), values, max_size=len(names))
    observed = draw(st.lists(row, min_size=min_rows, max_size=max_rows).filter(any))
    kind = draw(st.sampled_from([plain_times, float_times, instants]))
    n_rows = len(observed)
    times = draw(st.lists(kind, min_size=n_rows, max_size=n_rows, unique=True))
    return Recording.from_rows(np.array(sorted(times)), observed)


def long_columns(recording: Recording) -> dict[str, list]:
    """Columns of a long table; an empty row keeps its time, without variable and value."""
    table: dict[str, list] = {TIME: [], "variable": [], "value": []}
    for at, time in enumerate(recording.times):
        for name, value in recording.row(at).items() or [(None, None)]:
            for column, cell in zip(table.values(), (time, name, value), strict=True):
                column.append(cell)
    return table


def wide_columns(recording: Recording) -> dict[str, list]:
    """Columns of a wide table, None where a variable was not observed."""
    rows = [recording.row(at) for at in range(len(recording))]
    by_name = {name: [row.get(name) for row in rows] for name in recording.names}
    return {TIME: list(recording.times), **by_name}
