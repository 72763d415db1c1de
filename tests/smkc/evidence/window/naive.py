"""The evidences inside a window in plain NumPy, by dense matrices; imports nothing of ours.

Factors over a window are one Gaussian vector (2 L,), step by step; a step's information about
them is (h, J), and every likelihood is an integral over that vector.
"""

import numpy as np

NU, PRIOR, RIDGE, ROUNDS, HOLE_ROUNDS = 5.0, 1.0, 2.0, 10, 2


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


def information(x, seen, weights, loadings, noise):
    """(L, 2) h and (L, 2, 2) J of (L, C) values."""
    g = np.where(seen, weights, 0.0) / noise
    h = np.einsum("tc,kc->tk", g * x, loadings)
    return h, np.einsum("tc,kc,lc->tkl", g, loadings, loadings)


def blocks(j):
    n = len(j)
    out = np.zeros((2 * n, 2 * n))
    for t in range(n):
        out[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] = j[t]
    return out


def integral(covariance, mean, h, j):
    """Return log of the integral of N(f; mean, covariance) exp(h'f - f'Jf / 2)."""
    g = h - j @ mean
    n = len(h)
    _, logdet = np.linalg.slogdet(np.eye(n) + covariance @ j)
    posterior = np.linalg.solve(np.eye(n) + covariance @ j, covariance)
    return -0.5 * logdet + h @ mean - 0.5 * mean @ j @ mean + 0.5 * g @ posterior @ g


def path_likelihood(covariance, h, j, steps=None):
    """Return log p of the steps (all if None) under a zero-mean path (2 L, 2 L)."""
    used = np.ones(len(h), bool) if steps is None else steps
    return integral(
        covariance,
        np.zeros(2 * len(h)),
        (h * used[:, None]).ravel(),
        blocks(j * used[:, None, None]),
    )


def stationary(length, memory):
    """(2 L, 2 L) covariance of two AR(1) processes of unit variance."""
    lag = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    out = np.zeros((2 * length, 2 * length))
    for k in range(2):
        out[k::2, k::2] = memory[k] ** lag
    return out


def walk(variances, first=4.0):
    """(2 L, 2 L) covariance of two random walks; (L - 1, 2) the variances of their steps."""
    length = len(variances) + 1
    out = np.zeros((2 * length, 2 * length))
    for k in range(2):
        at = first + np.concatenate([[0.0], np.cumsum(np.asarray(variances)[:, k])])
        out[k::2, k::2] = np.minimum.outer(at, at)
    return out


def smoothed(covariance, h, j):
    """Means (L, 2) and joint covariance (2 L, 2 L) given all steps."""
    n = len(covariance)
    posterior = np.linalg.solve(np.eye(n) + covariance @ blocks(j), covariance)
    return (posterior @ h.ravel()).reshape(-1, 2), posterior


def start(x, seen, noise):
    """(2, C) leading components of the noise-whitened values."""
    white = np.where(seen, np.clip(x, -4, 4), 0.0) / np.sqrt(noise)
    both = seen.astype(float).T @ seen.astype(float)
    values, vectors = np.linalg.eigh(white.T @ white / np.maximum(both, 1))
    loadings = np.zeros((2, len(noise)))
    for k in range(min(2, len(noise))):
        strength = np.sqrt(max(values[-1 - k] - 1, 0.3))
        loadings[k] = vectors[:, -1 - k] * strength * np.sqrt(noise)
    return loadings


def fit(x, seen, first_noise, rounds, begun=None):
    """Loadings, noise, memory, weights, means and joint covariance after some rounds of EM."""
    length, n_variables = x.shape
    n_factors = min(2, n_variables)
    if begun is None:
        loadings, noise = start(x, seen, first_noise), first_noise.copy()
        memory, weights = np.full(2, 0.9), seen.astype(float)
    else:
        loadings, noise, memory, weights = (part.copy() for part in begun)
    for r in range(rounds + 1):
        h, j = information(x, seen, weights, loadings, noise)
        mean, joint = smoothed(stationary(length, memory), h, j)
        if r == rounds:
            return loadings, noise, memory, weights, mean, joint
        second = joint + np.outer(mean.ravel(), mean.ravel())
        for k in range(n_factors):
            at = np.diag(second)[k::2]
            next_to = np.array([second[2 * t + k, 2 * t + 2 + k] for t in range(length - 1)])
            ratio = (next_to.sum() + 8 * 0.95) / (0.5 * (at[:-1] + at[1:]).sum() + 8)
            memory[k] = np.clip(ratio, 0.0, 0.98)
        here = np.stack([second[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] for t in range(length)])
        for c in range(n_variables):
            w = weights[:, c]
            a = np.einsum("t,tkl->kl", w, here)[:n_factors, :n_factors]
            b = np.einsum("t,tk->k", w * x[:, c], mean)[:n_factors]
            loadings[:, c] = 0.0
            loadings[:n_factors, c] = np.linalg.solve(a + RIDGE * np.eye(n_factors), b)
            u = loadings[:, c]
            square = x[:, c] ** 2 - 2 * x[:, c] * (mean @ u) + np.einsum("k,tkl,l->t", u, here, u)
            n = seen[:, c].sum()
            noise[c] = max(((w * square).sum() + PRIOR * first_noise[c]) / (n + PRIOR), 0.004)
            weights[:, c] = np.where(seen[:, c], (NU + 1) / (NU + square / noise[c]), 0.0)


def ratios(x, seen, loadings, noise, mean, joint):
    """(L, C) squared residuals over their expected squares."""
    length = len(x)
    here = np.stack([joint[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] for t in range(length)])
    expected = noise + np.einsum("kc,tkl,lc->tc", loadings, here, loadings)
    return np.where(seen, (x - mean @ loadings) ** 2 / expected, 0.0)


def foreseen_ratios(x, seen, loadings, noise, weights, without, within):
    """(L, C) squared residuals over variances that know how well loadings and centres are known.

    ``without`` and ``within`` are means and joint covariances of the factors that the loadings
    were found by, and of those that include the hole.
    """
    length, n_variables = x.shape
    n_factors = min(2, n_variables)
    mean, joint = within
    own = [joint[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] for t in range(length)]
    here, there = (
        np.stack([s[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] for t in range(length)])
        for s in (joint + np.outer(mean, mean), without[1] + np.outer(without[0], without[0]))
    )
    found = np.zeros(x.shape)
    for c in range(n_variables):
        information_ = np.einsum("t,tkl->kl", weights[:, c], there) + RIDGE * np.eye(2)
        unsure = np.zeros((2, 2))
        unsure[:n_factors, :n_factors] = np.linalg.inv(information_[:n_factors, :n_factors])
        for t in np.flatnonzero(seen[:, c]):
            u = loadings[:, c]
            spread = 1 + 1 / max(weights[:, c].sum(), 1.0) + (unsure * here[t]).sum()
            found[t, c] = (x[t, c] - mean[t] @ u) ** 2 / (noise[c] * spread + u @ own[t] @ u)
    return found


def log_mean(numbers):
    return np.logaddexp.reduce(numbers) - np.log(len(numbers))


def lengths(length):
    return max(1, length // 16), max(2, length // 8), max(3, 3 * length // 16), max(4, length // 4)


def zmax(values):
    _, centre, level, *_ = spreads(values)
    return np.log(np.nanmax(np.abs(values - centre) / level))


def scaled_steps(values):
    return np.abs(np.diff(values, axis=0)) / spreads(values)[3]


def dzmax(values):
    return np.log(np.nanmax(scaled_steps(values)))


def copy4(values):
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


def glr_d(values):
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


def rotated(loadings, scale):
    """Loadings in raw units, varimax by search for the angle, unit size where it matters."""
    raw = loadings * scale
    n = raw.shape[1]

    def turned(angle):
        cosine, sine = np.cos(angle), np.sin(angle)
        return np.stack([cosine * raw[0] + sine * raw[1], cosine * raw[1] - sine * raw[0]])

    def criterion(angle):
        square = turned(angle) ** 2
        return (square**2).sum() - (square.sum(axis=1) ** 2).sum() / n

    if n == 1:
        best = np.arctan2(raw[1, 0], raw[0, 0])
    else:
        best, width = 0.0, np.pi / 4
        while width > 1e-9:
            angles = best + np.linspace(-width, width, 41)
            best = angles[np.argmax([criterion(angle) for angle in angles])]
            width /= 10
    found = turned(best)
    size = np.sqrt(((found**4).sum(1) + 1e-12) / ((found**2).sum(1) + 1e-9))
    return found / np.maximum(size, 1e-6)[:, None]


def likely_speed(h, j, speeds, log_weights):
    """Mean speed, by octaves, of (A, 2) speeds as likely as they are in a window."""
    steps = len(h) - 1
    likely = np.array([path_likelihood(walk(np.tile(q, (steps, 1))), h, j) for q in speeds])
    likely = np.exp(likely + log_weights - np.logaddexp.reduce(likely + log_weights))
    return np.exp(likely @ np.log(speeds))


def gaussian(y, mean, covariance):
    _, logdet = np.linalg.slogdet(2 * np.pi * covariance)
    return -0.5 * (logdet + (y - mean) @ np.linalg.solve(covariance, y - mean))


def recognised(y, seen, loadings, noise, speed, couplings):
    """Loadings (2, C) and noise (C,) by known couplings: rows u, v, noise, log weight; all in
    common units. A variable's expected log likelihood, given the factors up to their smoothed
    means and variances, is that of its values at the means and of pseudo-values 0 for the rest.
    """
    length, n_variables = y.shape
    own_loadings, own_noise = loadings.copy(), noise.copy()
    loadings, noise = loadings.copy(), noise.copy()
    for _ in range(2):
        h, j = information(y, seen, seen.astype(float), loadings, noise)
        mean, joint = smoothed(walk(np.tile(speed, (length - 1, 1))), h, j)
        for c in range(n_variables):
            steps = np.flatnonzero(seen[:, c])
            unsure = sum(joint[2 * t : 2 * t + 2, 2 * t : 2 * t + 2] for t in steps)
            design = np.concatenate([mean[steps], np.linalg.cholesky(unsure).T])
            read = np.concatenate([y[steps, c], [0.0, 0.0]])
            logs, means, noises = [], [], []
            for u, v, psi, log_weight in couplings:
                at, spread = np.array([u, v]), 0.25 / 12 * np.eye(2)
                total = design @ spread @ design.T + psi * np.eye(len(read))
                gain = spread @ design.T @ np.linalg.inv(total)
                logs.append(log_weight + gaussian(read, design @ at, total) + np.log(psi))
                means.append(at + gain @ (read - design @ at))
                noises.append(psi)
            at, psi = own_loadings[:, c], own_noise[c]
            alone = gaussian(read, design @ at, psi * np.eye(len(read))) + np.log(psi)
            logs, means, noises = [*logs, alone - 20], [*means, at], [*noises, psi]
            share = np.exp(logs - np.logaddexp.reduce(logs))
            loadings[:, c] = share @ np.array(means)
            noise[c] = 1 / (share @ (1 / np.array(noises)))
    return loadings, noise


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


def relz(found, seen):
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
    regq = changed_speed(h, j, own, np.zeros(7), pairs)

    h, j = information(x, seen, ones, common, better)
    regr = changed_speed(h, j, speeds, log_weights, log_pairs)
    brkr, cpyr = broken_and_copied(h, j, likely_speed(h, j, speeds, log_weights))
    found = ratios(x, seen, loadings, noise, mean, joint)
    return np.array(
        [
            *(zmax(values), dzmax(values), copy4(values), glr_d(values), gaps(values)),
            *(regq, regr, brkr, cpyr),
            hole(values, scale, first_noise, (loadings, noise, memory, weights)),
            relz(found, seen),
        ]
    )
