"""Shards: each name in one of them, the same one for ever."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smkc.errors import SettingError
from smkc.serve.config import Shard, config_of, read_shard


def shards(n):
    return [Shard(number=number, of=n) for number in range(1, n + 1)]


@given(name=st.text(st.characters(codec=None)), n=st.integers(1, 50))
def test_each_name_is_in_one_shard(name, n):
    assert sum(shard.holds(name) for shard in shards(n)) == 1


def test_names_stay_where_they_are():
    # Data folders depend on it: a change of the hash would move entities among them.
    where = {
        name: next(shard.number for shard in shards(4) if shard.holds(name))
        for name in ("cart", "pay", "search", "mail", "a", "")
    }
    assert where == {"cart": 2, "pay": 1, "search": 4, "mail": 4, "a": 3, "": 1}


def test_names_are_spread_evenly():
    names = [f"team-{n}" for n in range(4_000)]
    for shard in shards(4):
        assert 900 < sum(map(shard.holds, names)) < 1_100


@pytest.mark.parametrize("text", ["", "2", "2/", "/4", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/4/2"])
def test_what_is_no_shard(text):
    with pytest.raises(SettingError, match=r"write (which one of|1/4 to 4/4)"):
        read_shard(text)


def test_a_shard_is_written_as_one_of_many():
    assert read_shard(" 2/4 ") == Shard(number=2, of=4)


def config(**more):
    split = {"name": "clusters", "source": "push", "entity": "ns"}
    whole = {"name": "pay", "source": "push"}  # of shard 1 of 4
    tables = {"watch": [split, whole], "data": "/data", **more}
    return config_of(tables)


def test_a_watch_that_is_not_split_is_in_one_shard():
    names = [[one.name for one in config().of_shard(shard).watches] for shard in shards(4)]
    assert names == [["clusters", "pay"], ["clusters"], ["clusters"], ["clusters"]]


def test_each_shard_has_its_folder_and_its_address():
    found = config(public_url="https://smkc-{shard}.example.org").of_shard(read_shard("2/4"))
    assert found.data == Path("/data/shard-2-of-4")
    assert found.public_url == "https://smkc-2.example.org"
    assert found.shard == Shard(number=2, of=4)


def test_a_shard_without_any_watch():
    alone = config_of({"watch": [{"name": "pay", "source": "push"}]})
    with pytest.raises(SettingError, match=r"shard 2/4 holds no watch.*use fewer shards"):
        alone.of_shard(read_shard("2/4"))
