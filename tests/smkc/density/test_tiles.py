import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from smkc.density._loops import products_in_tiles
from smkc.density._tiles import (
    BLOCK,
    GROUPS,
    TILE_QUERIES,
    bound_many,
    bound_one,
    has_tiles,
    packed_blocks,
)

needs_tiles = pytest.mark.skipif(not has_tiles(), reason="the processor has no AVX-512 VNNI")

FAR = np.float32(3e38)


@njit
def bounded(queries, references, facts, about, bounds, farthest, many):
    for block in range(references.shape[0]):
        if many:
            for first in range(0, queries.shape[0], TILE_QUERIES):
                bound_many(queries, first, references, block, facts, about, bounds, farthest)
        else:
            for row in range(queries.shape[0]):
                bound_one(queries, row, references, block, facts, about, bounds, farthest)


def test_references_are_packed_by_blocks():
    items = np.arange(2 * BLOCK * 3, dtype=np.int32).reshape(2 * BLOCK, 3)
    packed = packed_blocks(items)
    assert packed.shape == (2, 3, BLOCK)
    assert packed[1, 2, 5] == items[BLOCK + 5, 2]


@needs_tiles
@pytest.mark.parametrize("many", [True, False], ids=["tiles", "one-by-one"])
def test_bounds_are_made_of_products_of_bytes(rng, many):
    n_queries, n, width = 2 * TILE_QUERIES, 2 * GROUPS, 36
    queries = rng.integers(-128, 128, (n_queries, width)).astype(np.int8)
    references = rng.integers(0, 256, (n, width)).astype(np.uint8)
    queries[0], references[:BLOCK] = -128, 255  # as far from 0 as it gets
    starts = rng.integers(-1000, 1000, n_queries)
    units, widths = rng.random((2, n_queries))
    facts = np.stack([units, widths, starts], axis=1).astype(np.float32)
    about = rng.random((3, n)).astype(np.float32)
    sums = queries.astype(np.int64) @ references.T.astype(np.int64) + starts[:, None]
    expected = about[2] - units[:, None] * about[0] * sums + widths[:, None] * about[1]
    actual = np.full((n_queries, n + 16), FAR)
    farthest = np.full((n_queries, GROUPS), FAR)
    packed = packed_blocks(references.view(np.int32))
    bounded(queries.view(np.int32), packed, facts, about, actual, farthest, many)
    np.testing.assert_allclose(actual[:, :n], expected, rtol=1e-5, atol=1e-3)
    assert (actual[:, n:] == FAR).all()
    least = actual[:, :n].reshape(n_queries, -1, GROUPS).min(axis=1)
    np.testing.assert_array_equal(farthest, least)


@needs_tiles
@pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 11])
def test_products_of_floats_are_the_same_to_the_bit_in_any_company(rng, n_rows):
    rows = rng.normal(size=(11, 70)).astype(np.float32)
    matrix = rng.normal(size=(70, 2 * BLOCK)).astype(np.float32)
    packed = packed_blocks(matrix.T)
    together, actual = (
        np.empty((11, 2 * BLOCK), np.float32),
        np.empty((n_rows, 2 * BLOCK), np.float32),
    )
    every = np.arange(70)
    products_in_tiles(rows, every, packed, together)
    products_in_tiles(rows[:n_rows], every, packed, actual)
    np.testing.assert_array_equal(actual, together[:n_rows])
    np.testing.assert_allclose(actual, rows[:n_rows] @ matrix, atol=1e-4)


@needs_tiles
@pytest.mark.parametrize("n_rows", [1, 5])
def test_items_that_are_zero_need_not_be_multiplied(rng, n_rows):
    rows = rng.normal(size=(n_rows, 70)).astype(np.float32)
    items = np.flatnonzero(rng.random(70) < 0.6)
    rows[:, np.setdiff1d(np.arange(70), items)] = 0.0
    matrix = rng.normal(size=(70, BLOCK)).astype(np.float32)
    expected, actual = np.empty((2, n_rows, BLOCK), np.float32)
    products_in_tiles(rows, np.arange(70), packed_blocks(matrix.T), expected)
    products_in_tiles(rows, items, packed_blocks(matrix[items].T), actual)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    "setting", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_DISABLE_JIT": "1"}], ids=lambda s: min(s)
)
def test_there_are_none_where_numba_cannot_compile_them(setting):
    code = "from smkc.density._tiles import has_tiles; print(has_tiles())"
    environment = os.environ | setting
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
