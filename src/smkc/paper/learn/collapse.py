"""Collapse check: whether the embeddings of different windows still differ.

In: embeddings of many different windows. Out: their effective rank, or an error if training has
collapsed them.
"""

import torch
from torch import Tensor

from smkc.errors import SmkcError

# Smallest effective rank, as a share of the largest possible rank. Embeddings along a single
# direction have 1 / D, 0.008 at D = 128; reconstruction, which cannot collapse, was observed to
# fall to 0.034 early in training.
LEAST_RANK_SHARE = 0.015

# Smallest effective rank in any case: that of a single direction, plus a margin for rounding. With
# few dimensions the share above would allow less.
LEAST_RANK = 1.05

# Embeddings that differ by less than this, relative to their length, count as equal.
LEAST_DIFFERENCE = 1e-4


def effective_rank(embeddings: Tensor) -> float:
    """Return exp of the entropy of the singular values of centred (B, D) embeddings.

    It is between 1 and the smaller of D and B - 1; if all embeddings are equal, it is 1. There must
    be at least 2.

    Notes
    -----
    Roy and Vetterli, "The effective rank: a measure of effective dimensionality", EUSIPCO 2007,
    section 2. The mean is subtracted first, since it does not distinguish windows.

    Examples
    --------
    >>> round(effective_rank(torch.eye(5)), 3)
    4.0
    """
    vectors = embeddings.detach().to("cpu", torch.float64)
    centred = vectors - vectors.mean(dim=0)
    if not float(centred.norm()) > LEAST_DIFFERENCE * float(vectors.norm()):
        return 1.0
    singular = torch.linalg.svdvals(centred)
    share = singular / singular.sum()
    return float(torch.special.entr(share).sum().exp())


def check_collapse(embeddings: Tensor) -> None:
    """Raise SmkcError if the effective rank of (B, D) embeddings is too small.

    It must be at least LEAST_RANK_SHARE of the largest possible rank, the smaller of D and B - 1.
    Pass embeddings of a few hundred different windows.
    """
    rank = effective_rank(embeddings)
    n_windows, width = embeddings.shape
    largest = min(width, n_windows - 1)
    least = max(LEAST_RANK_SHARE * largest, min(LEAST_RANK, largest))
    if rank < least:
        raise SmkcError(
            f"the representation has collapsed: the embeddings of {n_windows} windows have an "
            f"effective rank of {rank:.2f} out of {largest}, less than {least:.3g}; "
            "lower the learning rate, train for fewer epochs, or use detector='recon', which "
            "has nothing to collapse to"
        )
