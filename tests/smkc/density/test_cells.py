import numpy as np
import pytest

from smkc.density import cells as module
from smkc.density._tiles import BLOCK
from smkc.density.cells import NOBODY, SHIFT, PackedCells

N_CELLS = 9


@pytest.fixture(params=["in tiles, if the processor has them", "plainly"])
def form(request, monkeypatch):
    if request.param == "plainly":
        monkeypatch.setattr(module, "has_tiles", lambda: False)


def entries(rng, n, d=12, values=128):
    """Return cells of which one is empty and one has few entries, and bytes."""
    of = rng.choice([0, 1, 2, 4, 5, 6, 7, 8], n).astype(np.int32)
    of[of == 8] = 7
    of[:3] = 8
    return of, rng.integers(SHIFT - values, SHIFT + values, (n, d)).astype(np.uint8)


def asked(rng, n, n_probes, d=12):
    queries = rng.integers(-127, 128, (n, d)).astype(np.int8)
    chosen = np.array([rng.choice(N_CELLS, n_probes, replace=False) for _ in range(n)])
    return queries, np.sort(chosen, axis=1), rng.random((n, n_probes), np.float32)


def expected_entries(cells, codes, query, chosen, n):
    """Return the n entries of some cells with the largest products, the first among equals."""
    inside = np.flatnonzero(np.isin(cells, chosen))
    products = codes[inside].astype(int) @ query.astype(int)
    return set(inside[np.argsort(-products, kind="stable")[:n]].tolist())


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("n_queries", [1, 2, 4, 7, 60])
@pytest.mark.parametrize(("n_probes", "n"), [(1, 5), (6, 40), (8, 40), (9, 3000)])
def test_the_most_alike_entries_of_the_cells_are_found(rng, n_queries, n_probes, n):
    cells, codes = entries(rng, 2500)
    packed = PackedCells.of(cells, codes, N_CELLS)
    queries, chosen, likeness = asked(rng, n_queries, n_probes)
    found = packed.look(queries, chosen, likeness, n)
    assert found.shape == (n_queries, n)
    for query, looked_into, mine in zip(queries, chosen, found, strict=True):
        actual = mine[mine != NOBODY].tolist()
        assert len(set(actual)) == len(actual)
        assert set(actual) == expected_entries(cells, codes, query, looked_into, n)


@pytest.mark.usefixtures("form")
def test_of_equals_the_first_are_found_wherever_one_looks_first(rng):
    cells, codes = entries(rng, 2500, values=1)  # bytes of two values: most products are shared
    packed = PackedCells.of(cells, codes, N_CELLS)
    queries, chosen, likeness = asked(rng, 20, 9)
    found = packed.look(queries, chosen, likeness, 30)
    again = packed.look(queries, chosen, likeness[:, ::-1].copy(), 30)
    np.testing.assert_array_equal(np.sort(found), np.sort(again))
    for query, mine in zip(queries, found, strict=True):
        assert set(mine.tolist()) == expected_entries(cells, codes, query, range(N_CELLS), 30)


@pytest.mark.usefixtures("form")
def test_what_a_query_finds_is_its_own(rng):
    packed = PackedCells.of(*entries(rng, 2500), N_CELLS)
    queries, chosen, likeness = asked(rng, 30, 7)
    together = packed.look(queries, chosen, likeness, 25)
    for at in range(30):
        one = slice(at, at + 1)
        alone = packed.look(queries[one], chosen[one], likeness[one], 25)
        np.testing.assert_array_equal(np.sort(alone), np.sort(together[one]))


@pytest.mark.usefixtures("form")
def test_entries_without_a_cell_are_never_found(rng):
    cells, codes = entries(rng, 600)
    cells[::3] = -1
    packed = PackedCells.of(cells, codes, N_CELLS)
    assert len(packed.entries) % BLOCK == 0
    queries, chosen, likeness = asked(rng, 5, 9)
    for mine in packed.look(queries, chosen, likeness, 600):
        assert set(mine[mine != NOBODY].tolist()) == set(np.flatnonzero(cells >= 0).tolist())
