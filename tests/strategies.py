"""What hypothesis draws: identifiers, rows and recordings as telemetry might have them.

In: sizes. Out: strategies. Values are float32 already, so that what is drawn is what is stored.
"""

from hypothesis import strategies as st

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
