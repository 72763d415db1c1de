import pytest

from smkc.errors import SettingError
from smkc.plan import Workload


def test_a_sentence_is_read():
    found = Workload.parse("1e6 series, 15 s, 30 days")
    assert (found.series, found.step, found.span) == (1_000_000, 15, 30 * 86_400)
    assert (found.n_recordings, found.n_rows) == (25_000, 172_800)
    assert found.n_observations == 172_800_000_000


def test_every_part_is_read_in_any_order():
    found = Workload.parse(
        "2 weeks, KNN, 1_000 series, every 1 min, 10 variables, 32 rows, 1e5 references, "
        "5000 reference-rows, machines of 8 cores, 32 GB"
    )
    assert found == Workload(
        series=1000,
        step=60,
        span=14 * 86_400,
        variables=10,
        engine="knn",
        window=32,
        references=100_000,
        reference_rows=5000,
        cores=8,
        memory=32,
    )


def test_a_last_recording_may_have_fewer_variables():
    assert Workload.parse("41 series, 1 s, 1 h").n_recordings == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not understood"),
        ("many series, 15 s, 30 days", "'many series' is not understood"),
        ("1e6 series, 15 s", 'for example "1e6 series, 15 s, 30 days"'),
        ("15 s, 30 days", "needs how many series"),
        ("1e6 series, 15 s, 30 days, 2 h", "needs how many series"),
        ("1e6 series, 15 s, 30 days, 7 apples", "'7 apples' is not understood"),
        ("1e6 series, 2 series, 15 s, 30 days", "said twice"),
        ("0 series, 15 s, 30 days", "out of range"),
        ("0.5 series, 15 s, 30 days", "out of range"),
        ("1e6 series, 0 s, 30 days", "out of range"),
        ("1e99 series, 15 s, 30 days", "out of range"),
        ("1.2.3 series, 15 s, 30 days", "not understood"),
    ],
    ids=range(12),
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(SettingError) as error:
        Workload.parse(text)
    assert message in str(error.value)
