"""The GPU's comparison of all pairs against plain torch; skipped where there is no GPU."""

import pytest
import torch

from smkc.kernel.torch_features import torch_images

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize(
    ("n_windows", "length", "width"), [(3, 32, 256), (2, 128, 64), (2, 70, 9), (1, 8, 5)]
)
def test_products_and_distances_are_those_of_each_pair(n_windows, length, width):
    from smkc.kernel._triton_pairs import compare_pairs

    states = torch.randn(n_windows, length, width, generator=torch.Generator().manual_seed(0))
    found = compare_pairs(states.cuda()).cpu().double()
    difference = torch.diff(states, dim=1, prepend=states[:, :1])
    for which, sequence in enumerate((states, difference, difference.abs())):
        z = sequence.double()
        apart = (z[:, :, None] - z[:, None]).square().sum(dim=3)
        torch.testing.assert_close(found[:, which], z @ z.mT, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(found[:, 3 + which], apart, rtol=1e-5, atol=1e-5)
    assert torch.equal(found, found.mT)


@pytest.mark.parametrize("length", [16, 32, 100, 128])
def test_images_are_those_of_the_processor(length):
    states = torch.randn(5, length, 40, generator=torch.Generator().manual_seed(1))
    states[1] = states[1, :1]  # nothing changes
    states[2, length // 2 :] = states[2, : length - length // 2]  # it repeats itself
    states[3] *= 1e3
    states[4, 3] = 1e4  # a spike
    for on_cpu, on_gpu in zip(torch_images(states), torch_images(states.cuda()), strict=True):
        torch.testing.assert_close(on_gpu.cpu(), on_cpu, rtol=1e-4, atol=1e-4)
