"""The learned density: networks that know normal kernel images score windows of a recording.

In: windows of a prepared recording, to learn from and then to judge. Out: one score per window,
higher = farther from normal. It has the surface of :class:`smkc.paper.density.Density`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError, WindowError
from smkc.paper.kernel import Representation, SlidingWindow, filled_share
from smkc.paper.kernel.torch_features import torch_images
from smkc.paper.learn.held_out import HeldOut
from smkc.paper.learn.images import ImageSource, RecordingImages
from smkc.paper.learn.model import LearnedModel, LearnSettings
from smkc.paper.learn.patches import Patches
from smkc.paper.learn.training import Training
from smkc.paper.sketch import Sketch
from smkc.recording import Recording

__all__ = ["LearnedDensity", "usable_device"]

# Windows that are trained on, at most, and that are watched while training: beyond, neighbours
# are alike and epochs only longer.
MOST_TRAINED = 20_000
MOST_WATCHED = 4_000

# Fewer windows than this teach nothing, or do not tell when to stop.
LEAST_TRAINED = 64
LEAST_WATCHED = 16

# Held-out windows that calibrate, at most: each costs a pass of the network under every mask.
MOST_LEFT_OUT = 8_192

# Windows whose mean image is kept as what is typical, and how many of them at a time.
MOST_TYPICAL = 1_024
MADE_TOGETHER = 64

# Patches a side: the tokens of more take hours, and soon more memory than there is.
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
        of the networks and of their training.
    typical
        (F,) mean kernel image of windows trained on, flat.
    model
        the trained networks; None before.
    held_out
        the blocks of the recording learned from that were not trained on; None if it is not known.

    Notes
    -----
    Every fifth block of rows is held out, with a window of rows around it that is used for
    nothing. Held-out windows say when to stop, set the scale of the score's parts, and calibrate:
    their scores are those of windows that no network has seen.
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
        """Check the settings and return a density that has seen no window yet."""
        settings.training.where()
        patch = settings.encoder(window).patch
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
        """How many nearest reference windows the density part of a score averages over."""
        return self.settings.neighbours

    @property
    def n_references(self) -> int:
        """How many embeddings of windows trained on are kept, for each network."""
        return min((len(found) for found in self._trained().references_.values()), default=0)

    def is_filled(self, prepared: Recording, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(B,) whether enough was observed in each window for it to be scored."""
        return filled_share(prepared, starts, self.window) >= self.least_filled

    # ------------------------------------------------------------------ learning

    def learned(self, prepared: Recording, starts: NDArray[np.int64]) -> "LearnedDensity":
        """Return a density trained on these windows, less those in held-out blocks.

        What is trained cannot learn a little more: that is refused.
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
        """Return the windows in held-out blocks, block by block, each cut if they are too many."""
        runs = self.held_out.runs(starts) if self.held_out is not None else []
        most = MOST_LEFT_OUT // max(len(runs), 1)
        return [run[:most] for run in runs]

    # ------------------------------------------------------------------ judging

    def scores(
        self, prepared: Recording, starts: NDArray[np.int64], guard: int = 0
    ) -> NDArray[np.float64]:
        """(B,) how unusual each window is; NaN where too little was seen.

        With a ``guard``, for windows of the recording that was learned from: NaN for all that are
        not in a held-out block, however large the guard. Networks cannot unlearn a window.
        """
        wanted = self.is_filled(prepared, starts)
        if guard:
            known = self.held_out
            wanted &= known.is_held_out(starts) if known is not None else False
        scores = np.full(len(starts), np.nan)
        if wanted.any():
            scores[wanted] = self._trained().score(self._images(prepared, starts[wanted]))
        return scores

    def score_latest(self, latest: SlidingWindow) -> float:
        """Score the latest window of a stream: as :meth:`scores`, to rounding."""
        model = self._trained()
        shape = self.representation.shape(self.window, self.sketch.width)
        pixels = torch.from_numpy(latest.features().reshape(1, *shape))
        states = torch.from_numpy(np.ascontiguousarray(latest.states.T))
        tau = torch_images(states[None], ("log_g",))[1]
        parts = model.components_of_batch((pixels, tau))
        return float(model.fused(parts)[0])

    def _images(self, prepared: Recording, starts: NDArray[np.int64]) -> RecordingImages:
        channels, device = self.settings.channels, self.settings.training.device
        return RecordingImages(prepared, starts, self.window, self.sketch, channels, device)

    def _trained(self) -> LearnedModel:
        if self.model is None:
            raise NotFittedError("no network is trained yet; call fit first")
        return self.model

    # ------------------------------------------------------------------ saving

    def fingerprint(self) -> bytes:
        """Return what tells this density from others: a digest of weights and references."""
        digest = sha256()
        arrays, _ = self._trained().to_arrays()
        for name in sorted(arrays):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
        return digest.digest()

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the settings are saved by the detector."""
        arrays, header = self._trained().to_arrays()
        return {**arrays, "typical": self.typical}, {
            "hash": "md5 of identifier and suffix, big-endian",
            "model": header,
        }

    def restored(
        self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> "LearnedDensity":
        """Return this (empty) density with what :meth:`to_arrays` gave."""
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


def usable_device(trained_on: str, wanted: str | None = None) -> str:
    """Return where networks shall work: where wanted, else where they were trained, else the CPU.

    A device that is wanted must be there; one that they were trained on need not.

    Examples
    --------
    >>> usable_device("cpu")
    'cpu'
    """
    if wanted is not None:
        Training(device=wanted).where()
        return wanted
    try:
        Training(device=trained_on).where()
    except (SettingError, TypeError):
        return "cpu"
    return trained_on


def _some(starts: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """Return at most so many of the windows, drawn at random, in order."""
    if len(starts) <= most:
        return starts
    rng = np.random.Generator(np.random.PCG64([seed, len(starts)]))
    return np.sort(rng.choice(starts, most, replace=False))


def _mean_image(source: ImageSource) -> NDArray[np.float32]:
    """(K*L*L,) the mean image of windows spread over all of the source's."""
    n = min(len(source), MOST_TYPICAL)
    rows = np.arange(n) * len(source) // n
    total: NDArray[np.float64] | float = 0.0
    for first in range(0, n, MADE_TOGETHER):
        pixels, _ = source.batch(rows[first : first + MADE_TOGETHER])
        total = total + pixels.flatten(1).double().sum(dim=0).cpu().numpy()
    return np.asarray(total / n, np.float32)
