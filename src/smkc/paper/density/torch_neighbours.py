"""Reference set on a torch device: exact distances of windows to the nearest references.

In: unit vectors. Out: mean cosine distances to the K nearest, as tensors on the device. This module
needs torch (extra ``deep``); it is imported only if a device is requested.
"""

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

# Device memory for the similarities of a block of windows and for intermediate results.
BLOCK_BYTES = 512 * 2**20

# Number of references from which a GPU first narrows the search by half-precision products.
GROUPED_FROM = 16_384

# Major compute capability of the GPUs that do so: Hopper, whose multiprocessors have the required
# 224 KB of shared memory.
GROUPED_ON = 9

# Factor for residuals of unit vectors, which have a length of at most 2. Multiplied by it,
# components down to 1.5e-8 are normal float16 numbers, and the largest stay far below 65,504.
SCALE = 4096.0


@dataclass(frozen=True)
class TorchReferences:
    """Unit vectors (n, d) of reference windows on a device, and their start rows (n,) int64.

    The rows are those of the recording learned from last; ELSEWHERE for other recordings.

    Notes
    -----
    Paper, section 3.3. Equal to an exact search in :class:`smkc.paper.density.ReferenceSet` up to
    float32 rounding. A Hopper GPU with Triton skips references that cannot be among the nearest.

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
        """Copy (n, d) vectors to a device; without ``rows`` (n,), all rows are ELSEWHERE.

        The order is shuffled, so that consecutive windows, which are similar, do not fall into one
        group.
        """
        if rows is None:
            rows = np.full(len(vectors), ELSEWHERE)
        order = np.random.default_rng(0).permutation(len(vectors))
        return cls(
            torch.from_numpy(vectors[order]).to(device), torch.from_numpy(rows[order]).to(device)
        )

    def __len__(self) -> int:
        return len(self.vectors)

    def mean_distance(
        self, queries: Tensor, neighbours: int, starts: Tensor | None = None, guard: int = 0
    ) -> Tensor:
        """Return (B,) float64 mean cosine distances of (B, d) unit vectors to their nearest.

        ``starts`` (B,) int64 and ``guard`` leave out references near a window, as the arguments
        ``rows`` and ``guard`` of :meth:`smkc.paper.density.ReferenceSet.mean_distance`.
        """
        if len(self) < neighbours and guard:
            return queries.new_full((len(queries),), torch.nan, dtype=torch.float64)
        if len(self) < neighbours:
            raise InputError(
                f"{len(self)} reference windows, {neighbours} neighbours asked for; give more "
                "reference data or fewer neighbours"
            )
        grouped = None if guard else self._grouped
        if grouped is None or neighbours > grouped.most_neighbours:
            return self._mean_of_all(queries, neighbours, starts, guard)
        found, is_open = grouped.mean_distance(queries, neighbours)
        distances = found.double()
        left = is_open.nonzero().squeeze(1)
        if len(left):
            distances[left] = self._mean_of_all(queries[left], neighbours)
        return distances

    def _mean_of_all(
        self, queries: Tensor, neighbours: int, starts: Tensor | None = None, guard: int = 0
    ) -> Tensor:
        """Return the mean distances, measured to all references."""
        distances = queries.new_empty(len(queries), dtype=torch.float64)
        size = max(1, BLOCK_BYTES // (8 * max(len(self), 1)))
        for first in range(0, len(queries), size):
            part = slice(first, first + size)
            with full_precision():
                similarities = queries[part] @ self.vectors.T
            if guard and starts is not None:
                after = starts[part, None] - guard
                is_near = (self.rows > after) & (self.rows < after + 2 * guard)
                similarities.masked_fill_(is_near, -torch.inf)
            nearest = similarities.topk(neighbours, dim=1).values
            found = (1 - nearest).clamp_(min=0).mean(dim=1, dtype=torch.float64)
            distances[part] = found.masked_fill_(nearest[:, -1] == -torch.inf, torch.nan)
        return distances

    @cached_property
    def _grouped(self) -> "GroupedReferences | None":
        """The references prepared for the grouped search; None if it cannot be used."""
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


# ---------------------------------------------------------------------- half precision


@dataclass(frozen=True, kw_only=True)
class RoundedReferences:
    """References minus their mean, in half precision, and bounds of the rounding error.

    Parameters
    ----------
    mean
        (d,) float32, of the vectors.
    residuals
        (n, d) float16: vectors minus their mean, times SCALE.
    offsets
        (n,) float32: products of the unrounded residuals with the mean, times SCALE squared.
    longest, most_lost, farthest
        largest length of a residual, of a residual's rounding error, and largest absolute offset.

    Notes
    -----
    With mean m, q.r = (q - m).(r - m) + m.(r - m) + q.m. The last term is the same for all
    references of a window, the second is an offset, and the first is small where all vectors are
    similar, so that half precision loses little of it.
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
        """Return (b, d) float16 residuals of (b, d) windows, and (b,) float32 error bounds.

        A window's float32 products with ``residuals``, plus ``offsets``, differ from
        SCALE squared times (q.r - q.m) by at most the bound, even if the last ``n_last_bits`` bits
        are overwritten.

        Notes
        -----
        Cauchy-Schwarz: if a and b are the rounding errors of q and r, the error of their product is
        at most |a| (|r| + |b|) + |q| |b|. A float32 sum of d terms is off by at most d units in the
        last place.
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
    """Return (b,) Euclidean lengths."""
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return lengths
