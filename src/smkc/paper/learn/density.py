"""The learned density: networks trained on normal kernel images score windows of a recording.

In: windows of a prepared recording, to learn from and to score. Out: one score per window, higher =
farther from normal. It has the methods of :class:`smkc.paper.density.KnnDensity`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError, WindowError
from smkc.paper.kernel import Representation, filled_share
from smkc.paper.learn.held_out import HeldOut
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.model import LearnedModel, LearnSettings
from smkc.paper.learn.patches import Patches
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

# Largest numbers of training and validation windows: more would only add similar neighbours and
# make epochs longer.
MOST_TRAINED = 20_000
MOST_WATCHED = 4_000

# Smallest numbers of training and validation windows: fewer are too few to learn from, or to decide
# when to stop.
LEAST_TRAINED = 64
LEAST_WATCHED = 16

# Largest number of held-out windows that calibrate: each costs one network pass per mask.
MOST_LEFT_OUT = 8_192

# Windows averaged for the typical image, and how many of them are computed at a time.
MOST_TYPICAL = 1_024
MADE_TOGETHER = 64

# Largest number of patches per side: more tokens would take hours, and soon too much memory.
MOST_PATCHES = 128


@dataclass(frozen=True, kw_only=True)
class LearnedDensity:
    """The paper's learned scores, density and surprise, over windows of a recording.

    Parameters
    ----------
    window
        rows per window.
    representation, sketch
        how a window becomes a kernel image.
    least_filled
        share of a window's rows that must hold an observation; otherwise its score is NaN.
    settings
        settings of the networks and of their training.
    typical
        (F,) mean kernel image of training windows, flat.
    model
        the trained networks; None before training.
    held_out
        the held-out blocks of the recording learned from; None before training and for a model
        that was loaded.

    Notes
    -----
    Every fifth block of rows is held out; one window of rows on either side of it is not used at
    all. Held-out windows decide when to stop, standardise the components of the score, and
    calibrate: no network was trained on them.
    """

    window: int
    representation: Representation
    sketch: Sketch
    least_filled: float
    settings: LearnSettings
    typical: NDArray[np.float32]
    model: LearnedModel | None = None
    held_out: HeldOut | None = None

    @classmethod
    def empty(
        cls,
        *,
        window: int,
        representation: Representation,
        sketch: Sketch,
        least_filled: float,
        settings: LearnSettings,
    ) -> "LearnedDensity":
        """Check the settings and return a density that is not trained yet."""
        settings.training.where()
        patch = settings.patch_of(window)
        if window > MOST_PATCHES * patch:
            raise SettingError(
                f"window={window} has more than {MOST_PATCHES} patches of {patch} rows; take a "
                "shorter window, one that a larger power of two divides, or a larger patch in learn"
            )
        Patches(window, patch, settings.tokens)
        n_features = representation.n_features(window, sketch.width)
        return cls(
            window=window,
            representation=representation,
            sketch=sketch,
            least_filled=least_filled,
            settings=settings,
            typical=np.zeros(n_features, np.float32),
        )

    @property
    def neighbours(self) -> int:
        """Number of nearest reference windows that the density component averages over."""
        return self.settings.neighbours

    @property
    def n_references(self) -> int:
        """Number of training windows whose embeddings are kept; the smallest of all networks."""
        return min(len(learner.references) for learner in self._trained().learners_.values())

    def is_filled(self, prepared: Recording, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (B,) whether each window has enough filled rows to be scored."""
        return filled_share(prepared, starts, self.window) >= self.least_filled

    # ------------------------------------------------------------------ learning

    def learned(self, prepared: Recording, starts: NDArray[np.int64]) -> "LearnedDensity":
        """Return a density trained on these windows, except those in or near held-out blocks.

        Raise InputError if this density is trained already: it cannot learn from more data.
        """
        if self.model is not None:
            raise InputError(
                "networks that are trained cannot take in more reference data; fit again on all "
                "of it (only detector='knn' learns on with partial_fit)"
            )
        held_out = HeldOut.of(len(prepared), self.window)
        trained = starts[held_out.is_trained(starts)]
        watched = starts[held_out.is_held_out(starts)]
        n_least = max(LEAST_TRAINED, self.neighbours)
        if len(trained) < n_least or len(watched) < LEAST_WATCHED:
            raise WindowError(
                f"the reference data's {len(prepared):,} rows give {len(trained):,} windows of "
                f"{self.window} rows to train on and {len(watched):,} held out, where at least "
                f"{n_least} and {LEAST_WATCHED} are needed: give more reference data, a shorter "
                "window or a smaller stride, or use detector='knn', which needs no training"
            )
        seed = self.settings.training.seed
        trained = _some(trained, MOST_TRAINED, seed)
        watched = _some(watched, MOST_WATCHED, seed)
        images = self._images(prepared, trained)
        model = LearnedModel(self.settings).fit(images, self._images(prepared, watched))
        return replace(self, model=model, held_out=held_out, typical=_mean_image(images))

    def left_out_runs(
        self, prepared: Recording, starts: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return the windows in held-out blocks, one run per block, at most MOST_LEFT_OUT."""
        runs = self.held_out.runs(starts) if self.held_out is not None else []
        most = MOST_LEFT_OUT // max(len(runs), 1)
        return [run[:most] for run in runs]

    # ------------------------------------------------------------------ judging

    def scores(
        self, prepared: Recording, starts: NDArray[np.int64], guard: int = 0
    ) -> NDArray[np.float64]:
        """Return (B,) scores; NaN where too little was observed.

        A positive ``guard``, of any size, is for windows of the recording learned from: all windows
        outside held-out blocks get NaN, since networks cannot unlearn a window.
        """
        wanted = self.is_filled(prepared, starts)
        if guard:
            known = self.held_out
            wanted &= known.is_held_out(starts) if known is not None else False
        scores = np.full(len(starts), np.nan)
        if wanted.any():
            scores[wanted] = self._trained().score(self._images(prepared, starts[wanted]))
        return scores

    def _images(self, prepared: Recording, starts: NDArray[np.int64]) -> RecordingImages:
        channels, device = self.settings.channels, self.settings.training.device
        return RecordingImages(prepared, starts, self.window, self.sketch, channels, device)

    def _trained(self) -> LearnedModel:
        if self.model is None:
            raise NotFittedError("no network is trained yet; call fit first")
        return self.model

    # ------------------------------------------------------------------ saving

    def fingerprint(self) -> bytes:
        """Return bytes that identify this density: a digest of weights and references."""
        digest = sha256()
        arrays, _ = self._trained().to_arrays()
        for name in sorted(arrays):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
        return digest.digest()

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the detector saves the settings."""
        arrays, header = self._trained().to_arrays()
        return {**arrays, "typical": self.typical}, {
            "hash": "md5 of identifier and suffix, big-endian",
            "model": header,
        }

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "LearnedDensity":
        """Return this (empty) density filled with the results of :meth:`to_arrays`."""
        typical = arrays["typical"]
        of_model = {name: array for name, array in arrays.items() if name != "typical"}
        model = LearnedModel.from_arrays(self.settings, of_model, header["model"])
        fits = (
            typical.dtype == np.float32
            and typical.shape == self.typical.shape
            and model.window_ == self.window
            and all(np.isfinite(array).all() for array in arrays.values())
        )
        found = replace(self, model=model, typical=typical)
        if not fits or found.n_references < self.neighbours:
            raise ModelFileError(
                f"the stored networks, for windows of {model.window_} rows, do not fit the "
                "model's settings; fit again and save the model anew"
            )
        return found


def _some(starts: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """Return at most ``most`` of the windows, drawn at random, in ascending order."""
    if len(starts) <= most:
        return starts
    rng = np.random.Generator(np.random.PCG64([seed, len(starts)]))
    return np.sort(rng.choice(starts, most, replace=False))


def _mean_image(source: RecordingImages) -> NDArray[np.float32]:
    """Return the (K*L*L,) mean image of windows spread evenly over the source."""
    n = min(len(source), MOST_TYPICAL)
    rows = np.arange(n) * len(source) // n
    total: NDArray[np.float64] | float = 0.0
    for first in range(0, n, MADE_TOGETHER):
        pixels, _ = source.batch(rows[first : first + MADE_TOGETHER])
        total = total + pixels.flatten(1).double().sum(dim=0).cpu().numpy()
    return np.asarray(total / n, np.float32)
