"""The GPU's search against plain torch; skipped where there is no GPU.

With TRITON_INTERPRET=1 and Triton, the same kernels run on the processor, slowly.
"""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cpu" if IS_INTERPRETED else "cuda")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not (IS_INTERPRETED or torch.cuda.is_available()),
        reason="needs a GPU, or TRITON_INTERPRET=1 for the interpreter",
    ),
]

# A GPU's tiles are larger than those that the interpreter is given.
TIMES = 1 if IS_INTERPRETED else 8

TOLERANCE = 1e-6  # cosine distances in float32, summed in two orders


def units(vectors):
    return (vectors / vectors.norm(dim=1, keepdim=True)).float()


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def spread(n, width):
    return units(random(n, width))


def clustered(n, width):
    centres = 1 + 0.3 * random(7, width, seed=1).abs()
    return units(centres[torch.arange(n) * 5 % 7] + 0.05 * random(n, width))


def drifting(n, width):
    return units(1 + 0.01 * random(n, width).cumsum(dim=0))


def exact(queries, references, neighbours):
    far = (1 - queries.double() @ references.double().T).clamp(min=0)
    return far.topk(neighbours, dim=1, largest=False).values.mean(dim=1)


def found(references, queries, neighbours, **tiles):
    from smkc.paper.density._triton_neighbours import GroupedReferences, Tiles

    smaller = {"windows": 16, "references": 32} if IS_INTERPRETED else {}
    order = torch.randperm(len(references), generator=torch.Generator().manual_seed(2))
    grouped = GroupedReferences.of(references[order].to(DEVICE), Tiles(**(smaller | tiles)))
    assert neighbours <= grouped.most_neighbours
    distances, is_open = grouped.mean_distance(queries.to(DEVICE), neighbours)
    return distances.cpu().double(), is_open.cpu()


@pytest.mark.parametrize("data", [spread, clustered, drifting])
@pytest.mark.parametrize(
    ("n", "width", "neighbours", "most_groups"),
    [(700, 24, 1, 512), (700, 24, 20, 512), (1001, 24, 5, 64), (513, 300, 3, 64)],
    ids=["one", "many", "larger groups", "wide"],
)
def test_the_nearest_are_found(data, n, width, neighbours, most_groups):
    n *= TIMES
    vectors = data(n + 5, width)
    references, queries = vectors[:n], torch.cat([vectors[n - 4 :], torch.zeros(1, width)])
    actual, is_open = found(references, queries, neighbours, most_groups=TIMES * most_groups)
    assert not is_open[:-1].any()
    expected = exact(queries, references, neighbours)
    torch.testing.assert_close(
        actual[~is_open], expected[~is_open], atol=TOLERANCE, rtol=0, check_dtype=False
    )


def test_copies_in_one_group_count_one_by_one():
    references = spread(700, 24)
    references[::10] = references[0]
    actual, is_open = found(references, references[:3], 8)
    assert not is_open.any()
    torch.testing.assert_close(actual, exact(references[:3], references, 8), atol=1e-6, rtol=0)
    assert actual[0] < TOLERANCE < actual[1]


def test_windows_with_too_many_likely_references_are_left_open():
    references = spread(1000, 24)
    references[100:900] = references[0]
    queries = references[[0, 1, 50, 950]]
    actual, is_open = found(references, queries, 5, most_measured=256)
    assert is_open.tolist() == [True, False, False, False]
    expected = exact(queries, references, 5)
    torch.testing.assert_close(actual[1:], expected[1:], atol=TOLERANCE, rtol=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, where the interpreter uses it
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_windows_that_are_no_unit_vectors_are_left_open(value):
    references = spread(700, 24)
    queries = references[:3].clone()
    queries[1] = value
    actual, is_open = found(references, queries, 5)
    assert is_open.tolist() == [False, True, False]
    expected = exact(queries[[0, 2]], references, 5)
    torch.testing.assert_close(actual[[0, 2]], expected, atol=TOLERANCE, rtol=0)


@pytest.mark.skipif(IS_INTERPRETED, reason="too many products for the interpreter")
@pytest.mark.parametrize("data", [clustered, drifting])
@pytest.mark.parametrize("n", [16_384, 100_003])
def test_large_sets_on_a_gpu(data, n):
    from smkc.paper.density.torch_neighbours import TorchReferences

    vectors = data(n + 5000, 256)
    vectors[2000:4000] = vectors[0]  # some windows are left open, and measured to all
    references, queries = vectors[:n].cuda(), vectors[n - 1000 :].cuda()
    stored = TorchReferences.of(vectors[:n].numpy(), DEVICE)
    for neighbours in (1, 20, 300):
        actual = stored.mean_distance(torch.cat([queries, references[:5]]), neighbours)
        expected = exact(torch.cat([queries, references[:5]]), references, neighbours)
        torch.testing.assert_close(actual, expected, atol=TOLERANCE, rtol=0)
