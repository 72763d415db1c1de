import numpy as np
import pytest

torch = pytest.importorskip("torch")

from smkc.errors import InputError  # noqa: E402
from smkc.paper.density import ReferenceSet  # noqa: E402
from smkc.paper.density import torch_neighbours as module  # noqa: E402
from smkc.paper.density.torch_neighbours import SCALE, RoundedReferences, TorchReferences  # noqa: E402

pytestmark = pytest.mark.deep

TOLERANCE = 1e-6  # cosine distances in float32, summed in two orders
CPU = torch.device("cpu")


def units(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def spread(rng, n):
    return units(rng.normal(size=(n, 24)))


def clustered(rng, n):
    centres = 1 + 0.3 * rng.random((7, 24))
    return units(centres[rng.integers(0, 7, n)] + 0.02 * rng.normal(size=(n, 24)))


def repeated(rng, n):
    return np.repeat(spread(rng, -(-n // 6)), 6, axis=0)[:n]


def nearly_equal(rng, n):
    # Distances of about 1e-5.
    return units(np.ones(24) + 0.005 * rng.normal(size=(n, 24)))


DATA = [spread, clustered, repeated, nearly_equal]


def reference_set(vectors, rows=None):
    rows = np.arange(len(vectors)) if rows is None else rows
    return ReferenceSet(vectors, len(vectors), len(vectors), np.asarray(rows, np.int64))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 200 * 7)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("neighbours", [1, 2, 20, 50])
@pytest.mark.usefixtures("small_blocks")
def test_distances_are_those_of_the_reference_set(rng, data, neighbours):
    vectors = data(rng, 260)
    references, queries = vectors[:200], np.concatenate([vectors[190:], np.eye(1, 24, dtype="f4")])
    expected = reference_set(references).mean_distance(queries, neighbours)
    stored = TorchReferences.of(references, CPU)
    actual = stored.mean_distance(torch.from_numpy(queries), neighbours)
    assert actual.dtype == torch.float64
    np.testing.assert_allclose(actual.numpy(), expected, atol=TOLERANCE, rtol=0)


def test_no_window_and_every_reference_as_neighbour(rng):
    vectors = spread(rng, 5)
    stored = TorchReferences.of(vectors, CPU)
    assert stored.mean_distance(torch.empty(0, 24), 3).shape == (0,)
    expected = (1 - vectors.astype(float) @ vectors.T).mean(axis=1)
    actual = stored.mean_distance(torch.from_numpy(vectors), 5)
    np.testing.assert_allclose(actual.numpy(), expected, atol=TOLERANCE)


def test_too_few_references_say_how_many(rng):
    stored = TorchReferences.of(spread(rng, 5), CPU)
    with pytest.raises(InputError, match=r"5 reference windows, 6 neighbours.*more reference data"):
        stored.mean_distance(torch.zeros(1, 24), 6)


@pytest.mark.parametrize(
    ("guard", "neighbours"), [(0, 3), (1, 3), (7, 3), (25, 3), (25, 30), (10**6, 1), (1, 61)]
)
@pytest.mark.usefixtures("small_blocks")
def test_references_nearby_are_left_out(rng, guard, neighbours):
    references, queries = spread(rng, 60), spread(rng, 300)
    reference_rows, rows = rng.integers(0, 100, 60), rng.integers(0, 100, 300)
    expected = reference_set(references, reference_rows).mean_distance(
        queries, neighbours, rows, guard
    )
    stored = TorchReferences.of(references, CPU, reference_rows)
    actual = stored.mean_distance(
        torch.from_numpy(queries), neighbours, torch.from_numpy(rows), guard
    )
    np.testing.assert_allclose(actual.numpy(), expected, atol=TOLERANCE, rtol=0)


def test_references_of_other_recordings_are_never_left_out(rng):
    references, queries = spread(rng, 60), spread(rng, 10)
    stored = TorchReferences.of(references, CPU)
    starts = torch.arange(10)
    actual = stored.mean_distance(torch.from_numpy(queries), 3, starts, 10**9)
    expected = stored.mean_distance(torch.from_numpy(queries), 3)
    torch.testing.assert_close(actual, expected, atol=0, rtol=0)


# ---------------------------------------------------------------------- half precision


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("n_last_bits", [0, 8])
def test_half_precision_is_off_by_no_more_than_it_says(rng, data, n_last_bits):
    vectors = torch.from_numpy(data(rng, 400))
    queries = torch.cat([vectors[300:], torch.zeros(1, 24), torch.from_numpy(spread(rng, 50))])
    stored = RoundedReferences.of(vectors[:300])
    rounded, bound = stored.rounded(queries, n_last_bits)
    products = rounded.float() @ stored.residuals.float().T + stored.offsets
    overwritten = products.view(torch.int32) & ~(2**n_last_bits - 1)
    overwritten |= 2**n_last_bits - 1 - torch.arange(300, dtype=torch.int32) % 2**n_last_bits
    q, r, mean = queries.double(), vectors[:300].double(), stored.mean.double()
    true = SCALE**2 * (q @ r.T - (q @ mean)[:, None])
    error = (overwritten.view(torch.float32) - true).abs().amax(dim=1)
    assert (error <= bound).all()
    # A bound that is no use would choose all references.
    lengths = (q - mean).norm(dim=1) * (r - mean).norm(dim=1).max() * SCALE**2
    assert (bound <= 2.0**-9 * lengths + 2.0**-13 * stored.farthest).all()
