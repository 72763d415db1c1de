"""Masks: which patches of a symmetric image are hidden, in a mixture of patterns.

In: patches, a number of windows and a seeded generator. Out: for each window the tokens that stay
visible and those that are masked, the same number of each in every window.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from smkc.errors import SettingError
from smkc.paper.learn.patches import Patches

__all__ = ["PATTERNS", "Masking", "under_each"]

# Single pairs; contiguous rows with their columns; bands of lags; blocks with their mirror images.
PATTERNS = ("random", "rows", "bands", "blocks")

# A pattern makes up this share of a mask at least; what it leaves is hidden at random. Shapes thus
# vary in size while the number of masked patches does not.
LEAST_PATTERN_SHARE = 0.5

# Blocks a mask, and the least side of one in relation to the largest.
BLOCKS = 3
LEAST_BLOCK_SIDE = 0.2

# Fixed masks are chosen one by one among so many, for even coverage.
CANDIDATES = 64

# Few windows are scored under several masks at a time: about so many images a pass.
IMAGES_A_PASS = 512


@dataclass(frozen=True, kw_only=True)
class Masking:
    """How patches are masked.

    A mask is decided for unordered pairs {i, j} of patch rows, so it is symmetric: (i, j) and
    (j, i) are masked together.

    Parameters
    ----------
    ratio
        share of patches that is masked.
    patterns
        what masks look like: some of PATTERNS. ``("random",)`` is the paper's mask_random_only.
    weights
        how often each pattern is drawn, in relation to the others; all alike if not given.

    Notes
    -----
    Paper, section "Masked kernel reconstruction objective"; it gives neither ratio nor weights.

    Examples
    --------
    >>> patches = Patches(8, 2, "triangle")
    >>> generator = torch.Generator().manual_seed(0)
    >>> visible, masked = Masking(ratio=0.6).draw(patches, 5, generator)
    >>> visible.shape, masked.shape
    (torch.Size([5, 4]), torch.Size([5, 6]))
    """

    ratio: float = 0.6
    patterns: tuple[str, ...] = PATTERNS
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.ratio < 1:
            raise SettingError(f"mask ratio={self.ratio!r} is not between 0 and 1; try 0.6")
        if not self.patterns or not set(self.patterns) <= set(PATTERNS):
            raise SettingError(f"mask patterns={self.patterns!r}: name one or more of {PATTERNS}")
        weights = self._weights()
        if len(weights) != len(self.patterns) or not (min(weights) >= 0 < sum(weights) < math.inf):
            raise SettingError(
                f"mask weights={self.weights!r} do not fit patterns={self.patterns!r}; give one "
                "number for each pattern, none negative and not all 0"
            )

    def n_masked(self, patches: Patches) -> int:
        """M, the number of masked tokens in every window.

        With all tokens, a pair off the diagonal counts two and one on it counts one. Every number
        can be made up of any pairs, in any order, if it is even or odd as the number of rows is.
        """
        n_tokens = patches.n_tokens
        if patches.tokens == "triangle":
            return min(max(round(self.ratio * n_tokens), 1), n_tokens - 1)
        odd = patches.side % 2
        n_masked = odd + 2 * round((self.ratio * n_tokens - odd) / 2)
        return min(max(n_masked, 2 - odd), n_tokens - 2)

    def draw(
        self, patches: Patches, n_windows: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """(B, V) visible and (B, M) masked tokens of B windows, each ascending.

        They are drawn on the generator's device and returned on that of ``patches``: quickest
        where both are the same, alike on every machine where the generator is the processor's.
        """
        wanted_on = patches.pairs.device
        here = patches if wanted_on == generator.device else patches.on(generator.device)
        kinds = self._kinds(_uniform(generator, n_windows))
        hidden = self._members(here, kinds, generator)
        chance = _uniform(generator, n_windows, len(here.pair_rows))
        visible, masked = self._tokens(here, self._take(here, hidden + chance))
        return visible.to(wanted_on), masked.to(wanted_on)

    def fixed(self, patches: Patches, n_masks: int, seed: int = 0) -> tuple[Tensor, Tensor]:
        """(S, V) visible and (S, M) masked tokens of S masks for scoring, the same everywhere.

        Patterns come in proportion to their weights. Each mask is the one of some candidates that
        leaves patches masked most evenly, and what its pattern leaves is filled with patches that
        were masked least.
        """
        if n_masks < 1:
            raise SettingError(f"n_masks={n_masks} masks cannot score a window; use 1 or more")
        generator = torch.Generator().manual_seed(seed)
        here = patches.on(generator.device)
        n_pairs = len(here.pair_rows)
        covered = torch.zeros(n_pairs)
        chosen = []
        # Single pairs come last: they can even out whatever the shapes left.
        kinds = self._kinds((torch.arange(n_masks) + 0.5) / n_masks).flip(0)
        for kind in kinds[torch.argsort(kinds == PATTERNS.index("random"), stable=True)]:
            hidden = self._members(here, kind.expand(CANDIDATES), generator)
            hidden = hidden & (kind != PATTERNS.index("random"))
            chance = _uniform(generator, CANDIDATES, n_pairs)
            rarely = 1 - (covered + chance) / (n_masks + 1)
            masks = self._take(here, hidden + rarely)
            unevenness = (covered + masks).sub(covered.mean()).square().sum(1)
            mask = masks[unevenness.argmin()]
            covered += mask
            chosen.append(mask)
        return self._tokens(here, torch.stack(chosen))

    # ------------------------------------------------------------------ parts

    def _weights(self) -> Sequence[float]:
        return (1.0,) * len(self.patterns) if self.weights is None else self.weights

    def _kinds(self, chance: Tensor) -> Tensor:
        """(n,) patterns, as indices into PATTERNS, for (n,) numbers in [0, 1)."""
        known, bounds = _choice(self.patterns, tuple(self._weights()), chance.device)
        return known[torch.bucketize(chance, bounds, right=True)]

    def _members(self, patches: Patches, kinds: Tensor, generator: torch.Generator) -> Tensor:
        """(n, pairs) bool: the pairs that belong to each mask's pattern."""
        n = len(kinds)
        row = (patches.pair_rows + 0.5) / patches.side
        column = (patches.pair_columns + 0.5) / patches.side
        centre = _uniform(generator, n, 1)
        # Every pattern is a distance to something; the nearest pairs make the shape.
        distances = torch.stack(
            [
                _uniform(generator, n, len(row)),
                torch.minimum((row - centre).abs(), (column - centre).abs()),
                (column - row - centre).abs(),
                _to_blocks(row, column, generator, n),
            ]
        )
        distance = distances[kinds, torch.arange(n, device=kinds.device)]
        # Ties would leave the size to the order of pairs.
        distance = distance + _uniform(generator, n, len(row)) * (1e-3 / patches.side)
        share = LEAST_PATTERN_SHARE + (1 - LEAST_PATTERN_SHARE) * _uniform(generator, n, 1)
        last = (share * self.ratio * len(row)).long().clamp(1, len(row)) - 1
        return distance <= distance.sort(dim=1).values.gather(1, last)

    def _take(self, patches: Patches, priority: Tensor) -> Tensor:
        """(n, pairs) bool: pairs of highest priority that make up exactly M tokens."""
        n_masked = self.n_masked(patches)
        order = priority.argsort(dim=1, descending=True, stable=True)
        counts = patches.tokens_per_pair[order]
        taken = counts.cumsum(1) <= n_masked
        # One token may be missing where the next pair has two; then a pair of one token remains.
        short = n_masked - (counts * taken).sum(1, keepdim=True)
        spare = (~taken & (counts == 1)).byte().argmax(1, keepdim=True)
        taken = taken.scatter(1, spare, taken.gather(1, spare) | (short > 0))
        return torch.zeros_like(taken).scatter(1, order, taken)

    def _tokens(self, patches: Patches, masks: Tensor) -> tuple[Tensor, Tensor]:
        """(n, V) visible and (n, M) masked tokens under (n, pairs) masks."""
        is_masked = masks.index_select(1, patches.pairs)
        order = is_masked.byte().argsort(dim=1, stable=True)
        n_visible = patches.n_tokens - self.n_masked(patches)
        return order[:, :n_visible].contiguous(), order[:, n_visible:].contiguous()


@cache
def _choice(
    patterns: tuple[str, ...], weights: tuple[float, ...], device: torch.device
) -> tuple[Tensor, Tensor]:
    """(k,) indices of patterns, and (k - 1,) where one ends and the next begins in [0, 1).

    They stay on the device: while steps are recorded nothing can be sent there.
    """
    known = torch.tensor([PATTERNS.index(pattern) for pattern in patterns], device=device)
    total = torch.tensor(weights, device=device)
    return known, (total.cumsum(0) / total.sum())[:-1]


def _uniform(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device)


def _to_blocks(row: Tensor, column: Tensor, generator: torch.Generator, n: int) -> Tensor:
    """(n, pairs) distance to the nearest of some blocks of random places and sides."""
    places = _uniform(generator, 2, n, BLOCKS, 1)
    sides = LEAST_BLOCK_SIDE + (1 - LEAST_BLOCK_SIDE) * _uniform(generator, 2, n, BLOCKS, 1)

    def distance(first: Tensor, second: Tensor) -> Tensor:
        down, across = (first - places[0]).abs() / sides[0], (second - places[1]).abs() / sides[1]
        return torch.maximum(down, across).amin(1)

    return torch.minimum(distance(row, column), distance(column, row))


def under_each(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], visible: Tensor, masked: Tensor
) -> Tensor:
    """(B, S, ...) ``function(*inputs, visible, masked)`` of B windows under each of S masks.

    Parameters
    ----------
    function
        given inputs (n, ...), visible (n, V) and masked (n, M), returns (n, ...).
    inputs
        tensors (B, ...), repeated for every mask.
    visible, masked
        (S, V) and (S, M), as :meth:`Masking.fixed` returns them.
    """
    n_windows = len(inputs[0])
    together = max(1, IMAGES_A_PASS // max(n_windows, 1))
    results = []
    for seen, hidden in zip(
        torch.split(visible, together), torch.split(masked, together), strict=True
    ):
        n_masks = len(seen)
        repeated = [tensor.repeat_interleave(n_masks, dim=0) for tensor in inputs]
        result = function(*repeated, seen.repeat(n_windows, 1), hidden.repeat(n_windows, 1))
        results.append(torch.unflatten(result, 0, (n_windows, n_masks)))
    return torch.cat(results, dim=1)
