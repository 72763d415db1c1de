"""The evidences inside a window in plain NumPy; imports nothing of ours but the naive factors."""

import numpy as np
from tests.benchmarks.single_window.naive_factors import (
    fit,
    foreseen_ratios,
    information,
    integral,
    likely_speed,
    path_likelihood,
    ratios,
    recognised,
    rotated,
    smoothed,
    stationary,
    walk,
)

ROUNDS, HOLE_ROUNDS = 10, 2


def spreads(values):
    """Yardsticks of (L, C) values with NaN: unit, centre, level, step, scale, noise."""
    centre = np.nanmedian(values, axis=0)
    y = values - centre
    unit = np.sqrt(np.nanmean(y**2))
    mad = 1.4826 * np.nanmedian(np.abs(y), axis=0)
    level = np.sqrt(mad**2 + (0.1 * unit) ** 2)
    steps = np.abs(np.diff(y, axis=0))
    step = np.sqrt((1.4826 * np.nanmedian(steps, axis=0)) ** 2 + (0.1 * unit) ** 2)
    capped = np.minimum(np.abs(y), 3 * mad + 0.1 * unit)
    scale = np.sqrt(np.nanmean(capped**2, axis=0) + (0.05 * unit) ** 2)

    def squares(lag):
        d = np.abs(y[lag:] - y[:-lag]) / scale
        cap = 2.5 * 1.4826 * np.nanmedian(d, axis=0) + 0.05
        return np.nanmean(np.minimum(d, cap) ** 2, axis=0)

    short, long = squares(1), squares(2)
    noise = np.clip(np.clip(short - long / 2, 0.075 * short, 0.5 * short), 0.01, 1.0)
    pairs = [(~np.isnan(y[lag:] - y[:-lag])).sum(axis=0) for lag in (1, 2)]
    noise[np.minimum(*pairs) < 4] = 0.25
    return unit, centre, level, step, scale, noise


def log_mean(numbers):
    return np.logaddexp.reduce(numbers) - np.log(len(numbers))


def lengths(length):
    return max(1, length // 16), max(2, length // 8), max(3, 3 * length // 16), max(4, length // 4)


def largest_value(values):
    _, centre, level, *_ = spreads(values)
    return np.log(np.nanmax(np.abs(values - centre) / level))


def scaled_steps(values):
    return np.abs(np.diff(values, axis=0)) / spreads(values)[3]


def largest_step(values):
    return np.log(np.nanmax(scaled_steps(values)))


def repeated_steps(values):
    length = len(values)
    distance = np.full((length, length), np.nan)
    for s in range(length):
        for t in range(length):
            both = ~np.isnan(values[s]) & ~np.isnan(values[t])
            if both.any():
                distance[s, t] = ((values[s, both] - values[t, both]) ** 2).mean()
    typical = np.nanmedian(distance[np.triu_indices(length, 1)])
    logs = np.log(np.where(np.isnan(distance), 1.0, distance / typical) + 1e-4)
    runs = [
        np.mean([logs[t + i, t + lag + i] for i in range(4)])
        for lag in range(2, length - 3)
        for t in range(length - lag - 3)
    ]
    return -min(runs)


def step_sizes(values):
    steps = scaled_steps(values)
    squares = [np.minimum(row[~np.isnan(row)], 4.0) ** 2 for row in steps]
    energy = np.array([row.mean() if len(row) else np.nan for row in squares])
    n = len(energy)

    def part(rows):
        known = rows[~np.isnan(rows)]
        return len(known) * np.log(known.mean() + 1e-6)

    return np.log(
        max(part(energy) - part(energy[:k]) - part(energy[k:]) for k in range(5, n - 5)) + 1e-3
    )


def gaps(values):
    seen = ~np.isnan(values)
    length, n_variables = seen.shape
    best = 0.0
    for n in lengths(length)[1:]:
        for s in range(1, length - n):
            total = 0.0
            for c in range(n_variables):
                is_gap = not seen[s : s + n, c].any()
                if is_gap and seen[:s, c].any() and seen[s + n :, c].any():
                    rest = np.concatenate([seen[:s, c], seen[s + n :, c]])
                    total -= n * np.log((1 + (~rest).sum()) / (2 + len(rest)))
            best = max(best, total)
    return max(best - np.log(length * n_variables), 0.0)


def changed_speed(h, j, speeds, log_weights, log_pairs):
    """Log likelihood ratio of a change between (A, 2) speeds against none."""
    length = len(h)
    part = max(4, length // 5)
    unchanged = [
        w + path_likelihood(walk(np.tile(q, (length - 1, 1))), h, j)
        for q, w in zip(speeds, log_weights, strict=True)
    ]
    changed = []
    for split in range(part, length - part + 1):
        for i, before in enumerate(speeds):
            for k, after in enumerate(speeds):
                if log_pairs[i, k] > -np.inf:
                    steps = np.concatenate(
                        [np.tile(before, (split, 1)), np.tile(after, (length - 1 - split, 1))]
                    )
                    changed.append(log_pairs[i, k] + path_likelihood(walk(steps), h, j))
    n_splits = length - 2 * part + 1
    return np.logaddexp.reduce(changed) - np.log(n_splits) - np.logaddexp.reduce(unchanged)


def broken_and_copied(h, j, speed):
    length = len(h)
    path = walk(np.tile(speed, (length - 1, 1)))
    whole = path_likelihood(path, h, j)
    mean, joint = smoothed(path, h, j)
    broken, copied = [], []
    for i, n in enumerate(lengths(length)):
        for s in range(1, length - n + 1):
            inside = (np.arange(length) >= s) & (np.arange(length) < s + n)
            expected = whole - path_likelihood(path, h, j, ~inside)
            fresh = path_likelihood(walk(np.tile(speed, (n - 1, 1))), h[inside], j[inside])
            broken.append(fresh - expected)
            for lag in range(n, s + 1) if i else ():
                x = 0.0
                for t in range(s, s + n):
                    u = 2 * (t - lag)
                    x += integral(joint[u : u + 2, u : u + 2], mean[t - lag], h[t], j[t])
                copied.append(x - expected)
    return log_mean(broken), log_mean(copied)


def residual_size(found, seen):
    length, n_variables = found.shape
    best = -np.inf
    for n in lengths(length)[1:]:
        for s in range(length - n + 1):
            inside = (np.arange(length) >= s) & (np.arange(length) < s + n)
            total = 0.0
            for c in range(n_variables):
                a, b = found[inside & seen[:, c], c], found[~inside & seen[:, c], c]
                if len(a) and len(b):
                    both = np.concatenate([a, b])
                    total += 0.5 * sum(
                        sign * len(part) * np.log(part.mean() + 1e-2)
                        for sign, part in ((1, both), (-1, a), (-1, b))
                    )
            best = max(best, total)
    return (best - n_variables / 2) / np.sqrt(n_variables)


def hole(values, old_scale, first_noise, model):
    length, n_variables = values.shape
    seen = ~np.isnan(values)
    shortest, best = max(2, length // 8), 1e-3
    for first in range(0, length - length // 4 + 1, max(1, length // 10)):
        outside = np.ones(length, bool)
        outside[first : first + length // 4] = False
        known = seen & outside[:, None]
        _, centre, _, _, scale, _ = spreads(np.where(known, values, np.nan))
        x = np.where(seen, (values - centre) / scale, 0.0)
        change = old_scale / scale
        loadings, old_noise, memory, weights = model
        begun = (change * loadings, change**2 * old_noise, memory, weights * known)
        loadings, noise, memory, weights, *without = fit(
            x, known, change**2 * first_noise, HOLE_ROUNDS, begun
        )
        h, j = information(x, seen, seen.astype(float), loadings, noise)
        within = smoothed(stationary(length, memory), h, j)
        found = foreseen_ratios(x, seen, loadings, noise, weights, without, within)
        for n in (shortest, shortest + shortest // 2, 2 * shortest):
            for s in range(first, first + length // 4 - n + 1):
                inside = (np.arange(length) >= s) & (np.arange(length) < s + n)
                total = 0.0
                for c in range(n_variables):
                    a, b = found[inside & seen[:, c], c], found[known[:, c], c]
                    if len(a) and len(b):
                        usual = (np.minimum(b, 16.0).sum() + 4) / (len(b) + 4)
                        r, m = a.mean() / usual, len(b) + 4
                        if r > 1:
                            joined = (len(a) * r + m) / (len(a) + m)
                            gain = 0.5 * ((len(a) + m) * np.log(joined) - len(a) * np.log(r))
                            total += max(gain, 0.0)
                best = max(best, total)
    return np.log(best)


def statistics(values, unit, speeds, log_weights, log_pairs, couplings=()):
    """All statistics of one window (L, C); speeds (A, 2) are in squares of ``unit``."""
    seen = ~np.isnan(values)
    _, centre, _, _, scale, first_noise = spreads(values)
    x = np.where(seen, (values - centre) / scale, 0.0)
    loadings, noise, memory, weights, mean, joint = fit(x, seen, first_noise, ROUNDS)
    ones = seen.astype(float)

    in_common = scale / unit
    common = rotated(loadings, in_common) / in_common
    better = noise
    if len(couplings):
        h, j = information(x, seen, ones, common, noise)
        speed = likely_speed(h, j, speeds, log_weights)
        found = recognised(
            x * in_common, seen, common * in_common, noise * in_common**2, speed, couplings
        )
        common, better = found[0] / in_common, found[1] / in_common**2

    h, j = information(x, seen, ones, loadings, noise)
    own = np.array([(1 - memory**2) * 2.0 ** (i - 3) for i in range(7)])
    pairs = np.where(np.eye(7, dtype=bool), -np.inf, -np.log(42.0))
    factor_speed = changed_speed(h, j, own, np.zeros(7), pairs)

    h, j = information(x, seen, ones, common, better)
    known_speeds = changed_speed(h, j, speeds, log_weights, log_pairs)
    path_break, path_copy = broken_and_copied(h, j, likely_speed(h, j, speeds, log_weights))
    found = ratios(x, seen, loadings, noise, mean, joint)
    return np.array(
        [
            *(
                largest_value(values),
                largest_step(values),
                repeated_steps(values),
                step_sizes(values),
                gaps(values),
            ),
            *(factor_speed, known_speeds, path_break, path_copy),
            hole(values, scale, first_noise, (loadings, noise, memory, weights)),
            residual_size(found, seen),
        ]
    )
