"""Masks: which patches of a symmetric image are hidden, in a mixture of patterns.

In: patches, a number of windows and a seeded generator. Out: the visible and the masked tokens of
each window; their numbers are the same in every window.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from smkc.errors import SettingError
from smkc.paper.learn.patches import Patches

# Single pairs; contiguous rows with their columns; bands of lags; blocks with their mirror images.
PATTERNS = ("random", "rows", "bands", "blocks")

# Smallest share of a mask that its pattern makes up; the rest is masked at random. Patterns thus
# vary in size while the number of masked patches does not.
LEAST_PATTERN_SHARE = 0.5

# Blocks per mask, and the smallest side of a block relative to the largest.
BLOCKS = 3
LEAST_BLOCK_SIDE = 0.2

# Candidates drawn for each fixed mask; the one that gives the most even coverage is chosen.
CANDIDATES = 64

# Images per network pass: few windows are scored under several masks at a time.
IMAGES_PER_PASS = 512


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Settings of masks, and methods that draw them.

    A mask is drawn for unordered pairs {i, j} of patch rows, so it is symmetric: (i, j) and (j, i)
    are masked together.

    Parameters
    ----------
    ratio
        share of patches that are masked.
    patterns
        shapes of masks: some of PATTERNS, equally frequent. ``("random",)`` is the paper's
        mask_random_only.

    Notes
    -----
    Paper, section "Masked kernel reconstruction objective"; it gives neither ratio nor frequencies.

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

    def __post_init__(self) -> None:
        if not 0 < self.ratio < 1:
            raise SettingError(f"mask ratio={self.ratio!r} is not between 0 and 1; try 0.6")
        if not self.patterns or not set(self.patterns) <= set(PATTERNS):
            raise SettingError(f"mask patterns={self.patterns!r}: name one or more of {PATTERNS}")

    def n_masked(self, patches: Patches) -> int:
        """Return M, the number of masked tokens in every window.

        With ``full`` tokens, a pair off the diagonal has 2 tokens and a pair on it has 1. M then
        has the same parity as the number of patch rows, so that exactly M tokens can be masked
        whatever the order in which pairs are taken.
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
        """Return (B, V) visible and (B, M) masked tokens of B windows, in ascending order.

        They are drawn on the generator's device and returned on the device of ``patches``. This is
        fastest if both are the same; a CPU generator gives the same masks on every machine.
        """
        wanted_on = patches.pairs.device
        here = patches if wanted_on == generator.device else patches.on(generator.device)
        kinds = self._kinds(_uniform(generator, n_windows))
        hidden = self._members(here, kinds, generator)
        chance = _uniform(generator, n_windows, len(here.pair_rows))
        visible, masked = self._tokens(here, self._take(here, hidden + chance))
        return visible.to(wanted_on), masked.to(wanted_on)

    def fixed(self, patches: Patches, n_masks: int) -> tuple[Tensor, Tensor]:
        """Return (S, V) visible and (S, M) masked tokens of S fixed masks for scoring.

        They are the same on every machine. Patterns are equally frequent. Each mask is the one of
        CANDIDATES that covers patches most evenly; the part outside its pattern is filled with the
        patches masked least often so far.
        """
        generator = torch.Generator().manual_seed(0)
        here = patches.on(generator.device)
        n_pairs = len(here.pair_rows)
        covered = torch.zeros(n_pairs)
        chosen = []
        # Single pairs come last, because they can balance the coverage of the other patterns.
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

    def _kinds(self, chance: Tensor) -> Tensor:
        """Return (n,) patterns, as indices into PATTERNS, for (n,) numbers in [0, 1)."""
        known, bounds = _choice(self.patterns, chance.device)
        return known[torch.bucketize(chance, bounds, right=True)]

    def _members(self, patches: Patches, kinds: Tensor, generator: torch.Generator) -> Tensor:
        """Return (n, pairs) bool: the pairs that belong to each mask's pattern."""
        n = len(kinds)
        row = (patches.pair_rows + 0.5) / patches.side
        column = (patches.pair_columns + 0.5) / patches.side
        centre = _uniform(generator, n, 1)
        # Each pattern is defined by a distance; the nearest pairs belong to it.
        distances = torch.stack(
            [
                _uniform(generator, n, len(row)),
                torch.minimum((row - centre).abs(), (column - centre).abs()),
                (column - row - centre).abs(),
                _to_blocks(row, column, generator, n),
            ]
        )
        distance = distances[kinds, torch.arange(n, device=kinds.device)]
        # Break ties at random: otherwise a pattern could have more pairs than intended.
        distance = distance + _uniform(generator, n, len(row)) * (1e-3 / patches.side)
        share = LEAST_PATTERN_SHARE + (1 - LEAST_PATTERN_SHARE) * _uniform(generator, n, 1)
        last = (share * self.ratio * len(row)).long().clamp(1, len(row)) - 1
        return distance <= distance.sort(dim=1).values.gather(1, last)

    def _take(self, patches: Patches, priority: Tensor) -> Tensor:
        """Return (n, pairs) bool: the pairs of highest priority that make up exactly M tokens."""
        n_masked = self.n_masked(patches)
        order = priority.argsort(dim=1, descending=True, stable=True)
        counts = patches.tokens_per_pair[order]
        taken = counts.cumsum(1) <= n_masked
        # One token may be missing if the next pair has 2; then a pair of 1 token is still left.
        short = n_masked - (counts * taken).sum(1, keepdim=True)
        spare = (~taken & (counts == 1)).byte().argmax(1, keepdim=True)
        taken = taken.scatter(1, spare, taken.gather(1, spare) | (short > 0))
        return torch.zeros_like(taken).scatter(1, order, taken)

    def _tokens(self, patches: Patches, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Return (n, V) visible and (n, M) masked tokens under (n, pairs) masks."""
        is_masked = masks.index_select(1, patches.pairs)
        order = is_masked.byte().argsort(dim=1, stable=True)
        n_visible = patches.n_tokens - self.n_masked(patches)
        return order[:, :n_visible].contiguous(), order[:, n_visible:].contiguous()


@cache
def _choice(patterns: tuple[str, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return (k,) indices of patterns, and the (k - 1,) bounds between their parts of [0, 1).

    They are cached on the device, because nothing can be copied there while a CUDA graph is
    recorded.
    """
    known = torch.tensor([PATTERNS.index(pattern) for pattern in patterns], device=device)
    return known, torch.arange(1, len(known), device=device) / len(known)


def _uniform(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device)


def _to_blocks(row: Tensor, column: Tensor, generator: torch.Generator, n: int) -> Tensor:
    """Return (n, pairs) distances to the nearest of BLOCKS blocks with random places and sides."""
    places = _uniform(generator, 2, n, BLOCKS, 1)
    sides = LEAST_BLOCK_SIDE + (1 - LEAST_BLOCK_SIDE) * _uniform(generator, 2, n, BLOCKS, 1)

    def distance(first: Tensor, second: Tensor) -> Tensor:
        down, across = (first - places[0]).abs() / sides[0], (second - places[1]).abs() / sides[1]
        return torch.maximum(down, across).amin(1)

    return torch.minimum(distance(row, column), distance(column, row))


def under_each(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], visible: Tensor, masked: Tensor
) -> Tensor:
    """Return (B, S, ...) ``function(*inputs, visible, masked)`` of B windows under S masks.

    ``inputs`` (B, ...) are repeated for every mask; ``visible`` (S, V) and ``masked`` (S, M) are
    those of :meth:`Masking.fixed`. The function takes and returns (n, ...).
    """
    n_windows = len(inputs[0])
    together = max(1, IMAGES_PER_PASS // max(n_windows, 1))
    results = []
    for seen, hidden in zip(
        torch.split(visible, together), torch.split(masked, together), strict=True
    ):
        n_masks = len(seen)
        repeated = [tensor.repeat_interleave(n_masks, dim=0) for tensor in inputs]
        result = function(*repeated, seen.repeat(n_windows, 1), hidden.repeat(n_windows, 1))
        results.append(torch.unflatten(result, 0, (n_windows, n_masks)))
    return torch.cat(results, dim=1)
