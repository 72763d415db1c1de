"""The anchor for GPUs: the paper's equations in eager torch, with states of full width d = 2m.

In: observations on the device. Out: images, bands, projected vectors and scores in float32. It is
idiomatic torch: batched products for all pairs, a median by sorting, no loop over windows.
"""

import torch
from torch import Tensor

# Windows per batch: larger batches were not faster.
AT_ONCE = 2048


def states(observed: tuple[Tensor, ...], starts: Tensor, length: int, buckets: int) -> Tensor:
    """(B, L, 2m) states of windows, by one scatter of all observations per stream."""
    indptr, codes, values, value_bucket, value_sign, presence_bucket, presence_sign = observed
    rows = (starts[:, None] + torch.arange(length, device=starts.device)).flatten()
    counts = indptr[rows + 1] - indptr[rows]
    slot = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
    firsts = counts.cumsum(0) - counts
    at = torch.arange(len(slot), device=rows.device) + (indptr[rows] - firsts)[slot]
    code = codes[at].long()
    scale = counts.clamp(min=1).float().rsqrt()
    weight = (0.2 * counts.float()).clamp(max=1.0) * scale
    g = torch.zeros(len(rows) * 2 * buckets, device=rows.device)
    amounts = value_sign[code] * values[at] * scale[slot]
    g.index_add_(0, slot * 2 * buckets + value_bucket[code], amounts)
    g.index_add_(
        0, slot * 2 * buckets + buckets + presence_bucket[code], presence_sign[code] * weight[slot]
    )
    return g.view(len(starts), length, 2 * buckets)


def image(g: Tensor) -> Tensor:
    """(B, 6, L, L) kernel images of (B, L, d) states."""
    length = g.shape[1]
    upper = torch.triu_indices(length, length, 1, device=g.device)
    cosines, logs = [], []
    for z in derived(g):
        gram = z @ z.mT
        squares = gram.diagonal(dim1=1, dim2=2)
        norms = squares.sqrt()
        cosine = gram / (norms[:, :, None] * norms[:, None, :]).clamp(min=1e-12)
        cosines.append((0.5 + 0.5 * cosine).clamp(0, 1))
        cosines[-1].diagonal(dim1=1, dim2=2).fill_(1.0)
        far = (squares[:, :, None] + squares[:, None, :] - 2 * gram).clamp(min=0)
        sigma = middle(far[:, upper[0], upper[1]].sqrt())
        logs.append(torch.log1p(far / (2 * sigma * sigma).clamp(min=1e-12)[:, None, None]))
    return torch.stack(cosines + logs, dim=1)


def log3_band(g: Tensor, lags: int) -> Tensor:
    """(B, 3 * lags * L) log distances of (B, L, d) states at the lags 1 to ``lags``."""
    n_windows, length, _ = g.shape
    steps = torch.arange(length, device=g.device)
    is_pair = steps + torch.arange(1, lags + 1, device=g.device)[:, None] < length
    logs = []
    for z in derived(g):
        far = z.new_zeros((n_windows, lags, length))
        for lag in range(1, lags + 1):
            far[:, lag - 1, :-lag] = (z[:, lag:] - z[:, :-lag]).square().sum(dim=2)
        sigma = middle(far[:, is_pair].sqrt())
        logs.append(torch.log1p(far / (2 * sigma * sigma).clamp(min=1e-12)[:, None, None]))
    return torch.stack(logs, dim=1).flatten(1)


def derived(g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states, their first difference (0 at the first step) and its absolute value."""
    delta = torch.zeros_like(g)
    delta[:, 1:] = g[:, 1:] - g[:, :-1]
    return g, delta, delta.abs()


def middle(distances: Tensor) -> Tensor:
    """(B,) median of (B, n) distances; torch.median returns the lower of two middle values."""
    n = distances.shape[1]
    ordered = distances.sort(dim=1).values
    return 0.5 * (ordered[:, (n - 1) // 2] + ordered[:, n // 2])


def unit_vectors(features: Tensor, matrix: Tensor) -> Tensor:
    """(B, 256) projected and normalised features."""
    return torch.nn.functional.normalize(features @ matrix, dim=1)


def scores(vectors: Tensor, references: Tensor, neighbours: int = 20) -> Tensor:
    """(B,) mean cosine distance to the nearest references."""
    return (1 - (vectors @ references.T).topk(neighbours, dim=1).values).mean(dim=1)
