"""Collapse: whether embeddings still tell windows apart.

In: embeddings of many different windows. Out: their effective rank, or an error that says that
training has lost them.
"""

import torch
from torch import Tensor

from smkc.errors import InputError, SmkcError

__all__ = ["LEAST_RANK_SHARE", "check_collapse", "effective_rank"]

# Of the largest rank possible. Embeddings along a single direction have 1 / D, 0.008 at D = 128;
# reconstruction, which cannot collapse, was seen to dip to 0.034 early in training.
LEAST_RANK_SHARE = 0.015

# The rank of a single direction, with some room for rounding; few dimensions have no share below.
LEAST_RANK = 1.05

# Embeddings that differ by less than this, in relation to their length, are all the same one.
LEAST_DIFFERENCE = 1e-4


def effective_rank(embeddings: Tensor) -> float:
    """Return exp of the entropy of the singular values of (B, D) embeddings, less their mean.

    It is between 1 and the smaller of D and B - 1, and 1 also if all embeddings are the same.

    Notes
    -----
    Roy and Vetterli, "The effective rank: a measure of effective dimensionality", EUSIPCO 2007,
    section 2. The mean is taken away first: what all windows share tells none of them apart.

    Examples
    --------
    >>> round(effective_rank(torch.eye(5)), 3)
    4.0
    """
    if embeddings.ndim != 2 or len(embeddings) < 2:
        raise InputError(
            f"embeddings of the shape {tuple(embeddings.shape)} have no rank; give (B, D) with "
            "at least two windows"
        )
    vectors = embeddings.detach().to("cpu", torch.float64)
    centred = vectors - vectors.mean(dim=0)
    if not float(centred.norm()) > LEAST_DIFFERENCE * float(vectors.norm()):
        return 1.0
    singular = torch.linalg.svdvals(centred)
    share = singular / singular.sum()
    return float(torch.special.entr(share).sum().exp())


def check_collapse(embeddings: Tensor, least_share: float = LEAST_RANK_SHARE) -> float:
    """Return the effective rank of (B, D) embeddings; raise if it is too small a share.

    The share is of the largest rank there could be, the smaller of D and B - 1. Give embeddings of
    a few hundred different windows: they must be able to differ.
    """
    rank = effective_rank(embeddings)
    n_windows, width = embeddings.shape
    largest = min(width, n_windows - 1)
    least = max(least_share * largest, min(LEAST_RANK, largest))
    if rank < least:
        raise SmkcError(
            f"the representation has collapsed: the embeddings of {n_windows} windows have an "
            f"effective rank of {rank:.2f} out of {largest}, less than {least:.3g}; "
            "lower the learning rate, train for fewer epochs, or use detector='recon', which "
            "has nothing to collapse to"
        )
    return rank
