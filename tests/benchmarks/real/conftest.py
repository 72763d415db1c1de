"""A registry of two small made-up datasets, in place of the real one."""

import pytest
from tests.benchmarks.real.made_up import write_registry

from benchmarks.real import datasets, measures


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """The folder of the made-up datasets, which the registry and SMKC_DATA name."""
    folder = tmp_path / "data"
    folder.mkdir()
    found = write_registry(folder)
    monkeypatch.setattr(datasets, "_registry", lambda: found)
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(folder))
    measures._truth.cache_clear()
    yield folder
    measures._truth.cache_clear()
