"""A window's factors in plain NumPy, by dense matrices; imports nothing of ours.

Factors over a window are one Gaussian vector (2 L,), step by step; a step's information about
them is (h, J), and every likelihood is an integral over that vector.
"""

import numpy as np

NU, PRIOR, RIDGE = 5.0, 1.0, 2.0


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
