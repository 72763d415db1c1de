"""The oracle: the paper's equations as loops in plain Python, slow and easy to check by eye.

In: rows as dicts of variable to value, windows as lists of states. Out: states, kernel images
and features in float64. It imports nothing of smkc, so that it can judge smkc; NumPy serves as
container and for the median alone.
"""

import hashlib
import itertools
import math
from collections.abc import Sequence

import numpy as np

CHANNELS = ("cos_g", "cos_delta", "cos_abs", "log_g", "log_delta", "log_abs")
PRESENCE_SLOPE = 1 / math.ceil(0.3 * 16)  # the paper's A_PRES = 1/ceil(0.3*Cmax), Cmax = 16
STATE_LIMIT = 1e16  # no state entry is larger, so that distances fit float32

Vector = list[float]
States = Sequence[Sequence[float]]  # L steps, each of width 2m


# ---------------------------------------------------------------------- sketch


def md5_number(identifier: str, suffix: str) -> int:
    """MD5 of the identifier's UTF-8 bytes and the suffix, read as a big-endian integer."""
    digest = hashlib.md5(identifier.encode("utf-8") + suffix.encode("ascii")).digest()
    return int.from_bytes(digest, "big")


def bucket_and_sign(identifier: str, stream: str, m: int) -> tuple[int, int]:
    """Bucket (from 0) and sign of a variable in the stream "val" or "pres"."""
    bucket = md5_number(identifier, "#" + stream) % m
    sign = -1 if md5_number(identifier, "#" + stream + "_sign") % 2 == 1 else 1
    return bucket, sign


def state(
    row: dict[str, float],
    m: int = 128,
    presence: bool = True,
    saturate: bool = True,
    normalise: bool = True,
) -> Vector:
    """g_t of one row: m buckets of values, then m buckets of presence."""
    g = [0.0] * (2 * m)
    n_observed = len(row)
    if n_observed == 0:
        return g
    weight = PRESENCE_SLOPE * n_observed
    if saturate:
        weight = min(weight, 1.0)
    for identifier in sorted(row):
        bucket, sign = bucket_and_sign(identifier, "val", m)
        g[bucket] += sign * row[identifier]
        if presence:
            bucket, sign = bucket_and_sign(identifier, "pres", m)
            g[m + bucket] += sign
    for k in range(m, 2 * m):
        g[k] *= weight
    if normalise:
        g = [entry / math.sqrt(n_observed) for entry in g]
    return [max(-STATE_LIMIT, min(STATE_LIMIT, entry)) for entry in g]


# ---------------------------------------------------------------------- pairs of steps


def differences(g: States) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """The three sequences of a window: g, delta g (0 at the first step), |delta g|."""
    same = [list(step) for step in g]
    delta = [[0.0] * len(same[0])]
    for before, after in itertools.pairwise(same):
        delta.append([b - a for a, b in zip(before, after, strict=True)])
    absolute = [[abs(entry) for entry in step] for step in delta]
    return same, delta, absolute


def sequence_of(g: States, channel: str) -> list[Vector]:
    """The sequence that a channel compares."""
    return differences(g)[("g", "delta", "abs").index(channel.split("_")[1])]


def squared_distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def cosine_of(a: Sequence[float], b: Sequence[float]) -> float:
    """(1 + cos)/2 of two different steps; 1/2 where either is the zero vector."""
    norms = math.hypot(*a) * math.hypot(*b)
    if norms == 0:
        return 0.5
    inner = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return 0.5 * (1 + max(-1.0, min(1.0, inner / norms)))


def robust_scale(distances: Sequence[float]) -> float:
    """Median of the distances; of the positive ones if that is 0; 0 if there are none."""
    if len(distances) == 0:
        return 0.0
    scale = float(np.median(distances))
    if scale == 0:
        positive = [distance for distance in distances if distance > 0]
        scale = float(np.median(positive)) if positive else 0.0
    return scale


def log_of(squared: float, scale: float) -> float:
    return math.log1p(squared / (2 * scale**2)) if scale > 0 else 0.0


def compare(z: States, pairs: Sequence[tuple[int, int]], family: str) -> dict[tuple, float]:
    """One channel's number for each pair of different steps; sigma over just these pairs.

    A pair that occurs twice counts twice in the median.
    """
    if family == "cos":
        return {(i, j): cosine_of(z[i], z[j]) for i, j in pairs}
    squared = {(i, j): squared_distance(z[i], z[j]) for i, j in pairs}
    scale = robust_scale([math.sqrt(squared[pair]) for pair in pairs])
    return {pair: log_of(squared[pair], scale) for pair in pairs}


# ---------------------------------------------------------------------- image


def all_pairs(n_steps: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n_steps) for j in range(i + 1, n_steps)]


def full_matrix(z: States, family: str) -> np.ndarray:
    """(L, L) one channel of the image; the diagonal is 1 for cosines, 0 for log distances."""
    n_steps = len(z)
    matrix = np.zeros((n_steps, n_steps))
    for (i, j), number in compare(z, all_pairs(n_steps), family).items():
        matrix[i, j] = matrix[j, i] = number
    for i in range(n_steps):
        matrix[i, i] = 1.0 if family == "cos" else 0.0
    return matrix


def cosine(z: States) -> np.ndarray:
    return full_matrix(z, "cos")


def log_distance(z: States) -> np.ndarray:
    return full_matrix(z, "log")


def image(g: States, channels: Sequence[str] = CHANNELS) -> np.ndarray:
    """(K, L, L) the kernel image of a window."""
    return np.array([full_matrix(sequence_of(g, name), name.split("_")[0]) for name in channels])


def scale_token(g: States) -> float:
    """tanh(log sigma(g)); -1 where no two steps differ."""
    pairs = all_pairs(len(g))
    scale = robust_scale([math.sqrt(squared_distance(g[i], g[j])) for i, j in pairs])
    return math.tanh(math.log(scale)) if scale > 0 else -1.0


def pool(g: States, length: int) -> list[Vector]:
    """L' states: the mean of each L/L' steps in a row."""
    assert len(g) % length == 0
    group = len(g) // length
    means = []
    for first in range(0, len(g), group):
        steps = g[first : first + group]
        means.append([math.fsum(entries) / group for entries in zip(*steps, strict=True)])
    return means


def project(g: States, matrix: np.ndarray) -> list[Vector]:
    """The states times a (2m, d') matrix."""
    lines = np.asarray(matrix, float).T.tolist()
    return [
        [math.fsum(x * y for x, y in zip(step, line, strict=True)) for line in lines] for step in g
    ]


def pooled(g: States, length: int, channels: Sequence[str] = CHANNELS) -> np.ndarray:
    """(K, L', L') the image of the pooled states."""
    return image(pool(g, length), channels)


def projected(g: States, matrix: np.ndarray, channels: Sequence[str] = CHANNELS) -> np.ndarray:
    """(K, L, L) the image of the projected states."""
    return image(project(g, matrix), channels)


# ---------------------------------------------------------------------- cheaper features


def band(g: States, w: int, channels: Sequence[str] = CHANNELS) -> np.ndarray:
    """(K, w, L) where [k, lag-1, t] compares t with t+lag, and is 0 past the window's end."""
    n_steps = len(g)
    pairs = [(t, t + lag) for lag in range(1, w + 1) for t in range(n_steps - lag)]
    features = np.zeros((len(channels), w, n_steps))
    for k, name in enumerate(channels):
        for (t, later), number in compare(sequence_of(g, name), pairs, name.split("_")[0]).items():
            features[k, later - t - 1, t] = number
    return features


def anchor_steps(n_steps: int, r: int) -> list[int]:
    """r steps spread evenly over the window, its first and last among them; halves to even."""
    return [int(step) for step in np.round(np.linspace(0, n_steps - 1, r))]


def anchor(g: States, r: int, channels: Sequence[str] = CHANNELS) -> np.ndarray:
    """(K, L, r) where [k, t, a] compares t with anchor a; an anchor with itself as in the image."""
    n_steps = len(g)
    anchors = anchor_steps(n_steps, r)
    pairs = [(t, step) for t in range(n_steps) for step in anchors if t != step]
    features = np.zeros((len(channels), n_steps, r))
    for k, name in enumerate(channels):
        family = name.split("_")[0]
        numbers = compare(sequence_of(g, name), pairs, family)
        for t in range(n_steps):
            for a, step in enumerate(anchors):
                itself = 1.0 if family == "cos" else 0.0
                features[k, t, a] = itself if t == step else numbers[t, step]
    return features


def sequence(g: States) -> Vector:
    """The states one after another (L*2m)."""
    return [entry for step in g for entry in step]


# ---------------------------------------------------------------------- score


def knn_score(vector: Sequence[float], references: States, k: int) -> float:
    """Mean cosine distance to the k nearest references; 1 from or to a zero vector."""
    distances = []
    for reference in references:
        norms = math.hypot(*vector) * math.hypot(*reference)
        inner = math.fsum(x * y for x, y in zip(vector, reference, strict=True))
        distances.append(1 - inner / norms if norms > 0 else 1.0)
    return math.fsum(sorted(distances)[:k]) / k
