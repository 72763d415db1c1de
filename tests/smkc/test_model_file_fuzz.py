"""Model files, changed or cut anywhere: refused by name, or the very same content is read."""

from pathlib import Path

import numpy as np
import pytest
from tests.smkc.model_file_parts import ARRAYS, HEADER, same_arrays

from smkc import model_file
from smkc.errors import ModelFileError


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "host.smkc"
    model_file.write(path, ARRAYS, HEADER)
    return path


def test_any_cut_is_noticed(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(0, len(content), 3):
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            model_file.read(saved)
    saved.write_bytes(content + b"\0")
    with pytest.raises(ModelFileError, match="bytes of arrays"):
        model_file.read(saved)


def fuzz(path: Path, n_cases: int, seed: int) -> int:
    """Change a byte, or a few, or cut: refused by name, or the very same content is read."""
    rng = np.random.default_rng(seed)
    content = path.read_bytes()
    n_refused = 0
    for _ in range(n_cases):
        changed = bytearray(content)
        kind = rng.integers(4)
        if kind < 2:
            changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            for _ in range(rng.integers(1, 6)):
                changed[rng.integers(len(changed))] = rng.integers(256)
        else:
            first, last = sorted(rng.integers(len(changed), size=2))
            del changed[first : last + 1]
        path.write_bytes(changed)
        try:
            arrays, header = model_file.read(path)
        except ModelFileError as error:
            n_refused += str(path) in str(error)
        else:
            assert same_arrays(ARRAYS, arrays)
            assert header == HEADER
    return n_refused


def test_fuzz(saved: Path) -> None:
    assert fuzz(saved, n_cases=500, seed=1) > 480


@pytest.mark.slow
def test_fuzz_long(saved: Path) -> None:
    assert fuzz(saved, n_cases=4_000, seed=2) > 3_840


@pytest.mark.slow
def test_every_bit(saved: Path) -> None:
    content = saved.read_bytes()
    for at in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[at] ^= 1 << bit
            saved.write_bytes(changed)
            try:
                arrays, header = model_file.read(saved)
            except ModelFileError:
                continue
            assert same_arrays(ARRAYS, arrays)
            assert header == HEADER
