"""The K nearest of many references on a GPU: our search beside eager torch, in one run.

In: nothing. Out: a table of microseconds a window, their ratio, the share of windows that had to be
measured to all references, and the largest difference. Run it on a GPU with ``python -m
speed.gpu_neighbours``; ``--stages`` times our steps one by one, ``--cuts`` tries other tiles.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from statistics import median
from typing import Any

import torch
from torch import Tensor

from smkc.paper.density._triton_measure import measure_nearest
from smkc.paper.density._triton_neighbours import DEFAULT_TILES, GroupedReferences, Tiles
from smkc.paper.density.torch_neighbours import TorchReferences
from smkc.paper.kernel.torch_features import full_precision

NEIGHBOURS, SETS, ROUNDS = 20, 3, 7

# Bytes of one block of similarities in eager torch: larger blocks were not faster.
EAGER_BYTES = 4 * 2**30

CUTS = (
    Tiles(),
    Tiles(warps=16),
    Tiles(windows=128),
    Tiles(windows=128, stages=4),
    Tiles(windows=128, warps=4),
    Tiles(windows=128, references=128, stages=2),
    Tiles(windows=128, references=256, stages=1),
    Tiles(most_groups=2048),
    Tiles(most_groups=8192),
    Tiles(rows=16),
    Tiles(measuring_warps=2),
    Tiles(measuring_warps=8),
    Tiles(rows=64, measuring_warps=8),
)


def main() -> None:
    """Run the measurement that the options select and print it."""
    parser = argparse.ArgumentParser(prog="benchmarks.speed.gpu_neighbours", description=__doc__)
    parser.add_argument("--windows", type=int, default=65_536)
    parser.add_argument("--references", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--stages", action="store_true", help="time our steps one by one")
    parser.add_argument("--cuts", action="store_true", help="try other tiles")
    options = parser.parse_args()
    device = torch.device("cuda")
    print(torch.cuda.get_device_name(device), torch.__version__)
    vectors, *sets = made_vectors(
        options.references, *[options.windows] * SETS, width=options.width, device=device
    )
    print(f"median cosine {float((sets[0][:1000] @ vectors[:1000].T).median()):.4f}")
    if options.cuts:
        try_cuts(vectors, sets)
    elif options.stages:
        print(json.dumps(steps(GroupedReferences.of(vectors), sets), indent=1))
    else:
        print(json.dumps(compared(vectors, sets), indent=1))


def compared(vectors: Tensor, sets: list[Tensor]) -> dict[str, Any]:
    """Time eager torch and our search in turns; return the times and their ratio."""
    ours = TorchReferences.of(vectors.cpu().numpy(), vectors.device)
    eager_times, our_times = [], []
    for _ in range(2):  # twice, to show the spread
        eager_times.append(timed(lambda q: eager(q, vectors), sets))
        our_times.append(timed(lambda q: ours.mean_distance(q, NEIGHBOURS), sets))
    off = max(
        float((ours.mean_distance(q, NEIGHBOURS) - eager(q, vectors)).abs().max()) for q in sets
    )
    _, is_open = GroupedReferences.of(vectors).mean_distance(sets[0], NEIGHBOURS)
    return {
        "windows": len(sets[0]),
        "references": len(vectors),
        "width": vectors.shape[1],
        "neighbours": NEIGHBOURS,
        "eager_us": [round(value, 4) for value in eager_times],
        "ours_us": [round(value, 4) for value in our_times],
        "ratio": round(min(eager_times) / max(our_times), 2),
        "share_open": float(is_open.float().mean()),
        "largest_difference": off,
    }


def eager(queries: Tensor, references: Tensor) -> Tensor:
    """(B,) mean cosine distance to the nearest: the anchor, by product and topk per block."""
    size = max(1, EAGER_BYTES // (4 * len(references)))
    with full_precision():
        parts = [
            (1 - (block @ references.T).topk(NEIGHBOURS, dim=1).values).mean(dim=1)
            for block in queries.split(size)
        ]
    return torch.cat(parts)


def try_cuts(vectors: Tensor, sets: list[Tensor]) -> None:
    """Print the times of all steps for other tiles."""
    for tiles in CUTS:
        changed = {
            name: value
            for name, value in asdict(tiles).items()
            if value != getattr(DEFAULT_TILES, name)
        }
        try:
            found: object = steps(GroupedReferences.of(vectors, tiles), sets)
        except Exception as error:  # tiles that do not fit are a result, too
            found = f"{type(error).__name__}: {str(error)[:100]}"
        print(changed or "default", found, flush=True)


def steps(grouped: GroupedReferences, sets: list[Tensor]) -> dict[str, float]:
    """Return microseconds per window of each step for one block, and in total for all windows."""
    size = min(grouped._block_size(), len(sets[0]))
    blocks = [q[:size].contiguous() for q in sets]
    maxima = blocks[0].new_empty((2, size, grouped.n_groups))
    measured = blocks[0].new_empty((size, grouped.most_measured))
    places = torch.empty_like(measured.repeat(1, 2), dtype=torch.int32)
    out = blocks[0].new_empty(size)
    is_open = torch.empty_like(out, dtype=torch.bool)
    n_last_bits = grouped.group_size.bit_length() - 1
    halved = {id(q): grouped.rounded.rounded(q, n_last_bits) for q in blocks}

    def measure(q: Tensor) -> None:
        measure_nearest(
            *(maxima, 2 * halved[id(q)][1], q, grouped.vectors, NEIGHBOURS, places, measured),
            *(out, is_open),
            group_size=grouped.group_size,
            tile=grouped.tiles.references,
            rows=grouped.tiles.rows,
            warps=grouped.tiles.measuring_warps,
        )

    found = {
        "round": timed(lambda q: grouped.rounded.rounded(q, n_last_bits), blocks),
        "multiply": timed(lambda q: grouped._find_maxima(halved[id(q)][0], maxima), blocks),
    }
    grouped._find_maxima(halved[id(blocks[-1])][0], maxima)
    found["measure"] = timed(measure, blocks[-1:])
    found["whole"] = timed(lambda q: grouped.mean_distance(q, NEIGHBOURS), sets)
    n_products = 2 * len(grouped.vectors) * grouped.vectors.shape[1]
    found["multiply_teraflops"] = n_products / found["multiply"] / 1e6
    found["share_open"] = float(is_open.float().mean())
    return {name: round(value, 4) for name, value in found.items()}


def timed(work: Callable[[Tensor], object], sets: list[Tensor]) -> float:
    """Return microseconds per window: the median over rounds, measured by CUDA events."""
    for queries in sets:
        work(queries)
    times = []
    for number in range(ROUNDS):
        queries = sets[number % len(sets)]
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        work(queries)
        last.record()
        torch.cuda.synchronize()
        times.append(1e3 * first.elapsed_time(last) / len(queries))
    return float(median(times))


def made_vectors(*counts: int, width: int, device: torch.device, seed: int = 0) -> list[Tensor]:
    """Return unit vectors of clustered features: cosines of about 0.98, 1 % of vectors far off.

    A vector is its cluster's centre, moved along a few directions of the cluster, plus noise.
    """
    rng = torch.Generator(device).manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng, device=device)

    n_clusters, n_directions = 40, 10
    typical = torch.rand(width, generator=rng, device=device)
    typical /= typical.norm()
    centres = typical + 0.1 * normal(n_clusters, width) / width**0.5
    directions = normal(n_clusters, n_directions, width) / width**0.5
    sets = []
    for n in counts:
        which = torch.randint(0, n_clusters, (n,), generator=rng, device=device)
        vectors = centres[which] + 0.03 * normal(n, width) / width**0.5
        along = 0.1 * normal(n, n_directions) / n_directions**0.5
        for number in range(n_clusters):
            vectors[which == number] += along[which == number] @ directions[number]
        vectors[::100] += 0.5 * normal(len(vectors[::100]), width) / width**0.5
        sets.append(vectors / vectors.norm(dim=1, keepdim=True))
    return sets


if __name__ == "__main__":
    main()
