"""A trained objective: its network, and the references that density and surprise are based on.

In: sources of training images and of held-out images. Out: components of a window's score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smkc.model_file import below
from smkc.paper.density import ReferenceSet
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.network import Batch, TrainingLog
from smkc.paper.learn.objective import Objective
from smkc.paper.learn.prediction import Prediction
from smkc.paper.learn.reconstruction import Reconstruction
from smkc.paper.learn.settings import LearnSettings
from smkc.paper.learn.standard import Standard, Whitening
from smkc.paper.learn.training import INITIAL_WEIGHTS, Trainer, evaluated, seeded, train

NETWORKS: dict[str, type[Reconstruction | Prediction]] = {
    "recon": Reconstruction,
    "prediction": Prediction,
}

# Names of weights in a model file begin with this.
WEIGHTS = "weights/model."

# Share of a window's patches, those with the largest errors, that its surprise averages over. Of
# all patches, a fifth, a tenth and a twentieth, the last three detected validation anomalies best,
# with little difference.
WORST_SHARE = 0.1


@dataclass(frozen=True)
class Learner:
    """A trained network with the normal windows that other windows are compared with.

    Parameters
    ----------
    settings
        settings of the model.
    network
        the trained network.
    whitening, references
        the map from embeddings to unit vectors, and the unit vectors of training windows.
    patches
        centre and spread of each patch's errors among held-out normal windows, for each of the
        network's ``error_parts`` (channels, in reconstruction).
    log
        log of the training; None for a network that was loaded.

    Notes
    -----
    Paper, section "Anomaly score". With ``scoring="paper"`` density is the mean cosine distance of
    class tokens to those of the nearest training windows, and surprise is the mean masked error,
    over patches, channels and fixed masks.

    With ``scoring="tuned"`` density uses the whitened mean of the patches' tokens instead of the
    class token. Surprise standardises the masked error of each patch and log-distance channel by
    its centre and spread among held-out normal windows, and averages the largest tenth, since
    anomalies are short. These choices were made by hand on a few small runs of the benchmark, with
    seeds that its tables do not use. results/paper has both.
    """

    settings: LearnSettings
    network: Objective
    whitening: Whitening
    references: ReferenceSet
    patches: Standard
    log: TrainingLog | None

    @classmethod
    def learned(
        cls,
        settings: LearnSettings,
        objective: str,
        windows: RecordingImages,
        held_out: RecordingImages,
        train: Trainer = train,
    ) -> "Learner":
        """Train on normal windows; use held-out ones for early stopping and standardisation."""
        training = settings.training
        network = untrained_network(settings, objective, windows.window)
        log = train(network, windows, held_out, training)
        size = min(len(windows), settings.reference_size)
        # Spread evenly over all windows, because neighbours may be similar.
        kept = np.arange(size) * len(windows) // size
        embedded = network.summaries if settings.scoring == "tuned" else network.embeddings
        embeddings = evaluated(network, embedded, windows, training, "embedding", kept)
        whitening = Whitening.of(embeddings)
        vectors = _unit_vectors(settings, whitening, embeddings)
        references = ReferenceSet(vectors, len(windows), size, kept)
        errors = evaluated(network, network.surprises, held_out, training)
        patches = Standard.of(errors.reshape(len(held_out), -1).astype(np.float64))
        return cls(settings, network, whitening, references, patches, log)

    def components(self, source: RecordingImages) -> NDArray[np.float64]:
        """Return (B, 2) components: density and surprise of each window."""
        return self.joined(self.outputs(source)) if len(source) else np.empty((0, 2))

    def outputs(self, source: RecordingImages) -> NDArray[np.float32]:
        """Return (B, D + T * R): the summary of each window, and the errors of its patches.

        With the paper's scoring, return (B, D + 1): class token and mean error.
        """
        return evaluated(self.network, self._both, source, self.settings.training)

    def _both(self, batch: Batch) -> Tensor:
        if self.settings.scoring == "paper":
            error = self.network.errors(batch).unsqueeze(1)
            return torch.cat([self.network.embeddings(batch), error], dim=1)
        by_token = self.network.surprises(batch).flatten(1)
        return torch.cat([self.network.summaries(batch), by_token], dim=1)

    def joined(self, found: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return (B, 2) components, computed from the result of :meth:`outputs`."""
        network = self.network
        embeddings, errors = np.split(found, [self.settings.width], axis=1)
        embeddings = np.ascontiguousarray(embeddings)
        vectors = _unit_vectors(self.settings, self.whitening, embeddings)
        density = self.references.mean_distance(vectors, self.settings.neighbours)
        if self.settings.scoring == "paper":
            return np.column_stack([density, errors.astype(np.float64)])
        shape = len(found), network.n_tokens, len(network.error_parts)
        standard = self.patches(errors.astype(np.float64)).reshape(shape)
        scored = standard[:, :, list(network.scored_parts)].reshape(len(found), -1)
        return np.column_stack([density, mean_of_worst(scored)])

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the caller saves the settings."""
        arrays: dict[str, NDArray[Any]] = {
            "references": self.references.vectors,
            "whitening/centre": self.whitening.centre,
            "whitening/matrix": self.whitening.matrix,
            "patches/centre": self.patches.centre,
            "patches/spread": self.patches.spread,
        }
        for name, tensor in self.network.state_dict().items():
            arrays[f"{WEIGHTS}{name}"] = tensor.detach().cpu().numpy()
        return arrays, {"seen": self.references.seen}

    @classmethod
    def restored(
        cls,
        settings: LearnSettings,
        objective: str,
        window: int,
        arrays: Mapping[str, NDArray[Any]],
        header: Mapping[str, Any],
    ) -> "Learner":
        """Return the learner saved by :meth:`to_arrays`; raise ValueError if it does not fit."""
        network = untrained_network(settings, objective, window)
        weights = below(arrays, WEIGHTS)
        network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
        vectors = arrays["references"]
        whitening = Whitening(**below(arrays, "whitening/"))
        patches = Standard(**below(arrays, "patches/"))
        n, width = len(vectors), settings.width
        n_directions = width + (settings.scoring == "tuned")
        n_errors = network.n_tokens * len(network.error_parts)
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
        return cls(settings, network.eval(), whitening, references, patches, None)


def untrained_network(settings: LearnSettings, objective: str, window: int) -> Objective:
    """Return the network of an objective, for windows of this length, initialised by the seed."""
    with seeded(settings.training.seed, INITIAL_WEIGHTS):
        return NETWORKS[objective](settings, window)


def mean_of_worst(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (B,) means over the largest WORST_SHARE of (B, n) errors."""
    n_worst = max(1, round(WORST_SHARE * errors.shape[1]))
    worst: NDArray[np.float64] = np.sort(errors, axis=1)[:, -n_worst:].mean(axis=1)
    return worst


def _unit_vectors(
    settings: LearnSettings, whitening: Whitening, embeddings: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return (B, d) unit vectors, whose cosine distances make the density."""
    # Class tokens already have length 1.
    return embeddings if settings.scoring == "paper" else whitening.unit_vectors(embeddings)
