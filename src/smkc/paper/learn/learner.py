"""One objective, learned: its network, and what density and surprise are measured by.

In: sources of images, to learn from and held out. Out: components of a window's score.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.paper.density import ReferenceSet
from smkc.paper.learn.images import ImageSource, SomeImages
from smkc.paper.learn.network import Batch, Training, TrainingLog
from smkc.paper.learn.objective import Objective
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.learn.standard import Standard
from smkc.paper.learn.training import at_once, evaluated, train
from smkc.paper.learn.whitening import Whitening

__all__ = ["Learner"]

# Share of a window's patches whose errors make its surprise. Of the mean over all, a fifth, a tenth
# and a twentieth the last three told validation anomalies best, about alike.
WORST_SHARE = 0.1


@dataclass(frozen=True)
class Learner:
    """A trained network with the normal windows that others are compared with.

    Parameters
    ----------
    settings
        of the model.
    network
        trained.
    whitening, references
        how embeddings become unit vectors, and those of training windows.
    patches
        the usual errors of patches among held-out normal windows, of each patch in all respects
        (channels, in reconstruction).
    mask_noise
        variance that the choice of masks leaves in the mean error of those windows, as a share of
        all its variance.
    log
        how training went; None for a network that was loaded.

    Notes
    -----
    Paper, section "Anomaly score". With ``scoring="paper"`` density is the mean cosine distance of
    class tokens to those of the nearest training windows, and surprise is the mean masked error,
    over patches, channels and fixed masks.

    With ``scoring="tuned"`` density is that of the mean of patches' tokens, whitened. Surprise is
    the masked error of each patch and log-distance channel in spreads of that patch and channel
    among held-out normal windows, then of the worst tenth of those, since anomalies are short.
    These choices were made by hand on a few small runs of the benchmark, with seeds that its tables
    do not use. results/paper has both.
    """

    settings: LearnSettings
    network: Objective
    whitening: Whitening
    references: ReferenceSet
    patches: Standard
    mask_noise: float
    log: TrainingLog | None

    @classmethod
    def learned(
        cls, settings: LearnSettings, objective: str, windows: ImageSource, held_out: ImageSource
    ) -> "Learner":
        """Train on normal windows, stop and standardise by others."""
        window = int(windows.batch(np.zeros(1, np.int64))[0].shape[-1])
        network = settings.network(objective, window)
        training = _own_checkpoint(settings, objective)
        log = train(network, windows, held_out, training)
        size = min(len(windows), settings.reference_size)
        # Spread over all windows: neighbours may be alike.
        kept = np.arange(size) * len(windows) // size
        embedded = network.summaries if settings.scoring == "tuned" else network.embeddings
        embeddings = evaluated(network, embedded, SomeImages(windows, kept), training, "embedding")
        whitening = Whitening.of(embeddings)
        vectors = _unit_vectors(settings, whitening, embeddings)
        references = ReferenceSet(vectors, len(windows), size, kept)

        def both(batch: Batch) -> Tensor:
            by_token, by_mask = network.surprises(batch)
            return torch.cat([by_token.flatten(1), by_mask], dim=1)

        errors = evaluated(network, both, held_out, training).astype(np.float64)
        by_patch, by_mask = errors[:, : -settings.n_masks], errors[:, -settings.n_masks :]
        patches = Standard.of(by_patch)
        left = by_mask.var(axis=1).mean() / settings.n_masks
        noise = float(left / max(by_mask.mean(axis=1).var(), 1e-30))
        return cls(settings, network, whitening, references, patches, noise, log)

    @property
    def component_names(self) -> tuple[str, ...]:
        """What the columns of :meth:`components` are; the first two sum the others up."""
        if self.settings.scoring == "paper":
            return "density", "surprise"
        respects = self.network.respects if len(self.network.respects) > 1 else ()
        kinds = ("surprise", "mean error")
        details = [f"{kind} in {respect}" for kind in kinds for respect in respects]
        return "density", "surprise", *details

    def components(self, source: ImageSource) -> NDArray[np.float64]:
        """(B, k) density and surprise of each window; then surprise and mean error by respect."""
        if not len(source):
            return np.empty((0, len(self.component_names)))
        return self._joined(evaluated(self.network, self._both, source, self.settings.training))

    def components_of_batch(self, batch: Batch) -> NDArray[np.float64]:
        """(B, k) the same of images and scale tokens, to rounding; meant for a window or a few.

        Many are scored a fixed number at a time, the last of them filled up: for one window that
        would be a hundred times the work.
        """
        return self._joined(at_once(self.network, self._both, batch, self.settings.training))

    def _both(self, batch: Batch) -> Tensor:
        """(B, D + T * R) summary of each window, and errors of its patches.

        With the paper's scoring (B, D + 1): class token and mean error.
        """
        if self.settings.scoring == "paper":
            error = self.network.errors(batch).unsqueeze(1)
            return torch.cat([self.network.embeddings(batch), error], dim=1)
        by_token = self.network.surprises(batch)[0].flatten(1)
        return torch.cat([self.network.summaries(batch), by_token], dim=1)

    def _joined(self, found: NDArray[np.float32]) -> NDArray[np.float64]:
        """(B, k) components of what :meth:`_both` gives."""
        network = self.network
        embeddings, errors = np.split(found, [self.settings.width], axis=1)
        embeddings = np.ascontiguousarray(embeddings)
        vectors = _unit_vectors(self.settings, self.whitening, embeddings)
        density = self.references.mean_distance(vectors, self.settings.neighbours)
        if self.settings.scoring == "paper":
            return np.column_stack([density, errors.astype(np.float64)])
        shape = len(found), network.n_tokens, len(network.respects)
        by_patch = errors.astype(np.float64)
        standard = self.patches(by_patch).reshape(shape)
        surprise = _worst(standard[:, :, list(network.telling)].reshape(len(found), -1))
        columns = [density, surprise]
        if len(network.respects) > 1:
            columns += [_worst(standard[:, :, at]) for at in range(shape[2])]
            columns += [*by_patch.reshape(shape).mean(axis=1).T]
        return np.column_stack(columns)

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the settings are saved by the caller."""
        arrays: dict[str, NDArray[Any]] = {
            "references": self.references.vectors,
            "whitening/centre": self.whitening.centre,
            "whitening/matrix": self.whitening.matrix,
            "patches/centre": self.patches.centre,
            "patches/spread": self.patches.spread,
        }
        for name, tensor in self.network.state_dict().items():
            arrays[f"weights/{name}"] = tensor.detach().cpu().numpy()
        return arrays, {"seen": self.references.seen, "mask_noise": self.mask_noise}

    @classmethod
    def restored(
        cls,
        settings: LearnSettings,
        objective: str,
        window: int,
        arrays: Mapping[str, NDArray[Any]],
        header: Mapping[str, Any],
    ) -> "Learner":
        """Return the learner that :meth:`to_arrays` gave; ValueError where it does not fit."""
        network = settings.network(objective, window)
        weights = below(arrays, "weights/")
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        vectors = arrays["references"]
        whitening = Whitening(**below(arrays, "whitening/"))
        patches = Standard(**below(arrays, "patches/"))
        n, width = len(vectors), settings.width
        n_directions = width + (settings.scoring == "tuned")
        n_errors = network.n_tokens * len(network.respects)
        fits = (
            vectors.shape == (n, n_directions)
            and vectors.dtype == np.float32
            and whitening.centre.shape == (width,)
            and whitening.matrix.shape == (width, width)
            and patches.centre.shape == patches.spread.shape == (n_errors,)
            and n >= settings.neighbours
        )
        if not fits:
            raise ValueError(
                f"{n} references of width {vectors.shape[-1]} for neighbours="
                f"{settings.neighbours} and width={width}"
            )
        references = ReferenceSet(vectors, int(header["seen"]), n, np.arange(n, dtype=np.int64))
        noise = float(header["mask_noise"])
        return cls(settings, network.eval(), whitening, references, patches, noise, None)


def below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _worst(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B,) the mean over the worst of (B, n) errors."""
    n_worst = max(1, round(WORST_SHARE * errors.shape[1]))
    worst: NDArray[np.float64] = np.sort(errors, axis=1)[:, -n_worst:].mean(axis=1)
    return worst


def _unit_vectors(
    settings: LearnSettings, whitening: Whitening, embeddings: NDArray[np.float32]
) -> NDArray[np.float32]:
    """(B, d) vectors of length 1 whose cosine distances make the density."""
    # Class tokens have length 1 as they come.
    return embeddings if settings.scoring == "paper" else whitening.unit_vectors(embeddings)


def _own_checkpoint(settings: LearnSettings, objective: str) -> Training:
    """Return the training with a checkpoint that no other network writes to."""
    training = settings.training
    path = training.checkpoint
    if path is None:
        return training
    plain = objective == "recon" and not settings.expects_errors
    name = f"{path.stem}-{objective}{'-plain' if plain else ''}{path.suffix}"
    return replace(training, checkpoint=path.with_name(name))
