"""Reference set on a torch device: how far windows are from the nearest references, exactly.

In: unit vectors. Out: mean cosine distance to the K nearest, as tensors there. This module needs
torch (extra ``deep``); nothing imports it unless a device is asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.errors import InputError
from smkc.paper.density.reference import ELSEWHERE
from smkc.paper.kernel.torch_features import full_precision

if TYPE_CHECKING:
    from smkc.paper.density._triton_neighbours import GroupedReferences

__all__ = ["RoundedReferences", "TorchReferences"]

# What the similarities of a block of windows, and what is worked out beside them, may take.
BLOCK_BYTES = 512 * 2**20

# References from which a GPU looks for the nearest by half-precision products first.
GROUPED_FROM = 16_384

# GPUs that do so, by the first number of their compute capability: Hopper, whose processors have
# the 224 KB of shared memory that it takes.
GROUPED_ON = 9

# Residuals of unit vectors are at most 2 long; times this, they are normal numbers of half
# precision down to components of 1.5e-8, and far from its end at 65,504.
SCALE = 4096.0


@dataclass(frozen=True)
class TorchReferences:
    """Unit vectors of reference windows on a device.

    Parameters
    ----------
    vectors
        (n, d) float32, of length 1.
    rows
        (n,) int64 start rows in the recording that was learned from last; ELSEWHERE for others.

    Notes
    -----
    Paper, section 3.3. The same as :class:`smkc.paper.density.ReferenceSet` to float32's
    rounding, all references measured. A GPU with Triton leaves out those that
    cannot be among the nearest.

    Examples
    --------
    >>> references = TorchReferences.of(np.eye(3, dtype=np.float32), torch.device("cpu"))
    >>> references.mean_distance(torch.eye(3)[:1], 2)
    tensor([0.5000], dtype=torch.float64)
    """

    vectors: Tensor
    rows: Tensor

    @classmethod
    def of(
        cls,
        vectors: NDArray[np.float32],
        device: torch.device,
        rows: NDArray[np.int64] | None = None,
    ) -> "TorchReferences":
        """Bring (n, d) vectors to a device; without ``rows`` (n,) they are from elsewhere.

        They are shuffled there, so that windows that follow one another, which are alike, do not
        fall into one group.
        """
        if rows is None:
            rows = np.full(len(vectors), ELSEWHERE)
        order = np.random.default_rng(0).permutation(len(vectors))
        return cls(
            torch.from_numpy(vectors[order]).to(device), torch.from_numpy(rows[order]).to(device)
        )

    def __len__(self) -> int:
        return len(self.vectors)

    def mean_distance(self, queries: Tensor, neighbours: int) -> Tensor:
        """(B,) float64 mean cosine distance of (B, d) unit vectors to their nearest references."""
        if len(self) < neighbours:
            raise InputError(
                f"{len(self)} reference windows, {neighbours} neighbours asked for; give more "
                "reference data or fewer neighbours"
            )
        grouped = self._grouped
        if grouped is None or neighbours > grouped.most_neighbours:
            return self._mean_of_all(queries, neighbours)
        found, is_open = grouped.mean_distance(queries, neighbours)
        distances = found.double()
        left = is_open.nonzero().squeeze(1)
        if len(left):
            distances[left] = self._mean_of_all(queries[left], neighbours)
        return distances

    def mean_distance_elsewhere(
        self, queries: Tensor, neighbours: int, starts: Tensor, guard: int
    ) -> Tensor:
        """(B,) as :meth:`mean_distance`, for windows of the recording learned from last.

        References that start less than ``guard`` rows from a window's start row, ``starts`` (B,)
        int64, are left out; NaN where too few remain.
        """
        distances = queries.new_full((len(queries),), torch.nan, dtype=torch.float64)
        if len(self) < neighbours:
            return distances
        for part in self._blocks(len(queries)):
            similarities = self._similarities(queries[part])
            first = starts[part, None] - guard
            is_near = (self.rows > first) & (self.rows < first + 2 * guard)
            nearest = _largest(similarities.masked_fill_(is_near, -torch.inf), neighbours)
            is_enough = nearest[:, -1] > -torch.inf
            distances[part] = torch.where(is_enough, _mean_distance(nearest), torch.nan)
        return distances

    def _mean_of_all(self, queries: Tensor, neighbours: int) -> Tensor:
        distances = queries.new_empty(len(queries), dtype=torch.float64)
        for part in self._blocks(len(queries)):
            nearest = _largest(self._similarities(queries[part]), neighbours)
            distances[part] = _mean_distance(nearest)
        return distances

    def _blocks(self, n_windows: int) -> Iterator[slice]:
        """Yield windows that are compared with all references in one go."""
        size = max(1, BLOCK_BYTES // (8 * max(len(self), 1)))
        return (slice(first, first + size) for first in range(0, n_windows, size))

    def _similarities(self, queries: Tensor) -> Tensor:
        """(b, n) cosines with all references."""
        with full_precision():
            return queries @ self.vectors.T

    @cached_property
    def _grouped(self) -> "GroupedReferences | None":
        """The references as a GPU looks through them, if there is one, and enough of them."""
        if not self.vectors.is_cuda or len(self) < GROUPED_FROM:
            return None
        if torch.cuda.get_device_capability(self.vectors.device)[0] != GROUPED_ON:
            return None
        try:
            from smkc.paper.density._triton_neighbours import MOST_WIDTH, GroupedReferences
        except ModuleNotFoundError:
            return None
        if self.vectors.shape[1] > MOST_WIDTH:
            return None
        return GroupedReferences.of(self.vectors)


def _largest(similarities: Tensor, neighbours: int) -> Tensor:
    """(b, k) the largest similarities, falling."""
    return similarities.topk(neighbours, dim=1).values


def _mean_distance(nearest: Tensor) -> Tensor:
    """(b,) float64 mean cosine distance of (b, k) similarities."""
    return (1 - nearest).clamp_(min=0).mean(dim=1, dtype=torch.float64)


# ---------------------------------------------------------------------- half precision


@dataclass(frozen=True, kw_only=True)
class RoundedReferences:
    """References less their mean, in half precision, and what rounding took from them.

    Parameters
    ----------
    mean
        (d,) float32, of the vectors.
    residuals
        (n, d) float16: vectors less their mean, times SCALE.
    offsets
        (n,) float32: products of the residuals with the mean, times SCALE squared.
    longest, most_lost, farthest
        the largest length of a residual, of what rounding took from one, and of an offset.

    Notes
    -----
    With mean m, q.r = (q - m).(r - m) + m.(r - m) + q.m. The last term is the same for all
    references of a window, the second is an offset, and the first is small where all vectors are
    alike, so that half precision takes little from it.
    """

    mean: Tensor
    residuals: Tensor
    offsets: Tensor
    longest: float
    most_lost: float
    farthest: float

    @classmethod
    def of(cls, vectors: Tensor) -> "RoundedReferences":
        """Round (n, d) float32 unit vectors."""
        mean = vectors.mean(dim=0, dtype=torch.float64).float()
        residuals = torch.empty_like(vectors, dtype=torch.float16)
        offsets = torch.empty_like(vectors[:, 0])
        lengths = torch.empty_like(offsets)
        lost = torch.empty_like(offsets)
        size = max(1, BLOCK_BYTES // (32 * vectors.shape[1]))
        for first in range(0, len(vectors), size):
            part = slice(first, first + size)
            rest = (vectors[part] - mean) * SCALE
            residuals[part] = rest
            offsets[part] = (rest.double() @ mean.double()) * SCALE
            lengths[part] = _length(rest)
            lost[part] = _length(rest - residuals[part])
        return cls(
            mean=mean,
            residuals=residuals,
            offsets=offsets,
            longest=float(lengths.max()),
            most_lost=float(lost.max()),
            farthest=float(offsets.abs().max()),
        )

    def rounded(self, queries: Tensor, n_last_bits: int = 0) -> tuple[Tensor, Tensor]:
        """(b, d) float16 residuals of (b, d) windows, (b,) float32 bounds of an error.

        A window's float32 products with ``residuals``, plus ``offsets``, are at most so far from
        SCALE squared times q.r - q.m, even if their last bits, so many, are overwritten.

        Notes
        -----
        Cauchy-Schwarz: where q and r lose a and b, products lose at most |a| (|r| + |b|) + |q| |b|.
        Float32 sums of d terms lose d units of their last place at most.
        """
        rest = (queries - self.mean) * SCALE
        rounded = rest.half()
        length = _length(rest)
        lost = _length(rest - rounded)
        largest = length * self.longest + self.farthest
        n_units = queries.shape[1] + 16 + 2**n_last_bits
        error = lost * (self.longest + self.most_lost) + length * self.most_lost
        return rounded, error + largest * (n_units * 2.0**-23)


def _length(rows: Tensor) -> Tensor:
    """(b,) Euclidean lengths."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return lengths
