"""The learned model: kernel images of normal windows -> trained networks -> scores.

In: sources of images, to learn from and held out. Out: components of a score (density and surprise
of each objective), their fusion, and the whole as named arrays and a header.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from smkc.density import ReferenceSet
from smkc.errors import InputError, ModelFileError, NotFittedError, SettingError
from smkc.kernel import CHANNELS
from smkc.learn.encoder import EncoderConfig
from smkc.learn.fusion import Fusion, LogisticFusion, TailFusion, WeightedSum, restored_fusion
from smkc.learn.images import ImageSource, SomeImages
from smkc.learn.masks import Masking
from smkc.learn.network import Batch
from smkc.learn.objective import Objective, PredictionObjective, ReconstructionObjective
from smkc.learn.prediction import PredictionConfig
from smkc.learn.reconstruction import ReconstructionConfig
from smkc.learn.standard import Standard
from smkc.learn.training import INITIAL_WEIGHTS, Training, TrainingLog, evaluated, seeded, train

__all__ = ["OBJECTIVES", "LearnSettings", "LearnedModel"]

# What a model may learn by, and the networks that each choice trains.
OBJECTIVES = {
    "recon": ("recon",),
    "prediction": ("prediction",),
    "ensemble": ("recon", "prediction"),
}


@dataclass(frozen=True, kw_only=True)
class LearnSettings:
    """Settings of the learned model; those of networks are explained at :class:`EncoderConfig`.

    Parameters
    ----------
    objective
        ``recon``, ``prediction`` or ``ensemble`` of both.
    channels
        of the kernel images.
    patch, width, layers, heads, expansion, backbone, tokens, stem_width, stem_layers
        of the encoder.
    lag_positions, scale_token
        of the encoder; without them, two of the paper's ablations.
    decoder_layers, predictor_layers
        cross blocks of reconstruction and of prediction.
    masking
        how patches are masked, in training and in scoring.
    n_masks
        fixed masks that the surprise is averaged over.
    neighbours
        K, nearest training windows that the density averages over.
    reference_size
        training windows that neighbours are sought among, at most.
    surprise_weight
        what surprise counts for beside density in the fixed weighted sum.
    training
        epochs, batches, learning rate, device, seed.
    """

    objective: str = "ensemble"
    channels: tuple[str, ...] = CHANNELS
    patch: int = 2
    width: int = 128
    layers: int = 4
    heads: int = 4
    expansion: int = 4
    backbone: str = "attention"
    tokens: str = "triangle"
    stem_width: int = 32
    stem_layers: int = 2
    lag_positions: bool = True
    scale_token: bool = True
    decoder_layers: int = 2
    predictor_layers: int = 4
    masking: Masking = field(default_factory=Masking)
    n_masks: int = 16
    neighbours: int = 20
    reference_size: int = 20_000
    surprise_weight: float = 1.0
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise SettingError(
                f"objective={self.objective!r} is not known; use one of {', '.join(OBJECTIVES)}"
            )
        for name in ("n_masks", "neighbours", "reference_size"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name}={getattr(self, name)!r}: give a whole number from 1 on")
        if not self.surprise_weight >= 0:
            raise SettingError(
                f"surprise_weight={self.surprise_weight!r} would make surprising windows normal; "
                "use 0 or more"
            )

    def encoder(self, window: int) -> EncoderConfig:
        """Return the encoder's settings for windows of so many time steps."""
        return EncoderConfig(
            window=window,
            channels=self.channels,
            patch=self.patch,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            expansion=self.expansion,
            backbone=self.backbone,
            tokens=self.tokens,
            stem_width=self.stem_width,
            stem_layers=self.stem_layers,
            lag_positions=self.lag_positions,
            scale_token=self.scale_token,
        )

    def network(self, objective: str, window: int) -> Objective:
        """Return one objective's network, its first weights drawn from the seed."""
        encoder = self.encoder(window)
        with seeded(self.training.seed, INITIAL_WEIGHTS):
            if objective == "recon":
                recon = ReconstructionConfig(
                    encoder=encoder, masking=self.masking, decoder_layers=self.decoder_layers
                )
                return ReconstructionObjective(recon, self.n_masks)
            prediction = PredictionConfig(
                encoder=encoder, masking=self.masking, predictor_layers=self.predictor_layers
            )
            return PredictionObjective(prediction, self.n_masks)


class LearnedModel:
    """Networks trained on normal windows, and a score of how far a window is from those.

    Parameters
    ----------
    settings
        all of them, the seed among them.

    Attributes
    ----------
    networks_, references_, logs_
        by objective: the trained network, embeddings of training windows, how training went.
    standard_, fusion_
        how components become comparable, and one score.
    mask_noise_
        by objective: variance that the choice of masks leaves in the surprise of held-out normal
        windows, as a share of all their variance.

    Notes
    -----
    Paper, section "Anomaly score". Density is the mean cosine distance of the class embedding to
    the nearest training windows; surprise the masked error, averaged over fixed masks.
    """

    def __init__(self, settings: LearnSettings) -> None:
        self.settings = settings

    @property
    def objectives(self) -> tuple[str, ...]:
        """The objectives whose networks are trained, in order."""
        return OBJECTIVES[self.settings.objective]

    @property
    def component_names(self) -> tuple[str, ...]:
        """What the columns of :meth:`components` are."""
        return tuple(
            f"{kind} of {name}" for name in self.objectives for kind in ("density", "surprise")
        )

    def fit(
        self,
        train: ImageSource,
        held_out: ImageSource,
        labels: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Train on normal windows; stop, standardise and fuse by those held out.

        Parameters
        ----------
        train
            normal windows.
        held_out
            more of them, not trained on; with ``labels``, anomalous ones too.
        labels
            (B,) which of ``held_out`` are anomalous. An ensemble then learns its fusion from them;
            without any, components are fused by tail probabilities. One objective's components
            are always summed with fixed weights.
        """
        settings = self.settings
        if len(train) < settings.neighbours:
            raise InputError(
                f"{len(train)} windows to learn from, neighbours={settings.neighbours}; give more "
                "windows or ask for fewer neighbours"
            )
        if labels is not None and len(labels) != len(held_out):
            raise InputError(
                f"labels for {len(labels)} of {len(held_out)} held-out windows; give one a window"
            )
        is_normal = np.ones(len(held_out), bool) if labels is None else ~labels
        normal = held_out if labels is None else SomeImages(held_out, is_normal)
        if len(normal) < 2:
            raise InputError(
                f"{len(normal)} normal windows are held out; give at least 2, better some hundred"
            )
        self.window_ = int(train.batch(np.zeros(1, np.int64))[0].shape[-1])
        self.networks_: dict[str, Objective] = {}
        self.logs_: dict[str, TrainingLog] = {}
        self.references_: dict[str, ReferenceSet] = {}
        for objective in self.objectives:
            self._learn(objective, train, normal)
        found, noise = self._components(held_out)
        self.mask_noise_ = {
            name: float(
                noise[is_normal, at].mean() / max(found[is_normal, 2 * at + 1].var(), 1e-30)
            )
            for at, name in enumerate(self.objectives)
        }
        self.standard_ = Standard.of(found[is_normal])
        self.fusion_ = self._fusion(self.standard_(found), is_normal, labels is not None)
        return self

    def components(self, source: ImageSource) -> NDArray[np.float64]:
        """(B, k) raw components: density and surprise of each objective."""
        return self._components(source)[0]

    def score(self, source: ImageSource) -> NDArray[np.float64]:
        """(B,) how anomalous each window is, higher = more so."""
        if not hasattr(self, "fusion_"):
            raise NotFittedError("the model has learned nothing yet; call fit first")
        return self.fusion_(self.standard_(self.components(source)))

    # ------------------------------------------------------------------ parts

    def _learn(self, objective: str, windows: ImageSource, held_out: ImageSource) -> None:
        training = self._training(objective)
        network = self.settings.network(objective, self.window_)
        self.logs_[objective] = train(network, windows, held_out, training)
        self.networks_[objective] = network
        size = min(len(windows), self.settings.reference_size)
        # Spread over all windows: neighbours may be alike.
        kept = np.arange(size) * len(windows) // size
        vectors = evaluated(
            network, network.embeddings, SomeImages(windows, kept), training, "embedding"
        )
        self.references_[objective] = ReferenceSet(vectors, len(windows), size, kept)

    def _training(self, objective: str) -> Training:
        training = self.settings.training
        path = training.checkpoint
        if path is None:
            return training
        return replace(training, checkpoint=path.with_name(f"{path.stem}-{objective}{path.suffix}"))

    def _components(self, source: ImageSource) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(B, k) components, and (B, k/2) variances that masks leave in each surprise."""
        if not hasattr(self, "networks_"):
            raise NotFittedError("the model has learned nothing yet; call fit first")
        columns, noise = [np.empty((len(source), 0))], [np.empty((len(source), 0))]
        for objective in self.objectives:
            network = self.networks_[objective]
            width, n_masks = self.settings.width, self.settings.n_masks
            found = np.empty((0, width + n_masks), np.float32)
            if len(source):
                found = evaluated(network, _both(network), source, self.settings.training)
            density = self.references_[objective].mean_distance(
                np.ascontiguousarray(found[:, :width]), self.settings.neighbours
            )
            surprises = found[:, width:].astype(np.float64)
            columns.append(np.column_stack([density, surprises.mean(axis=1)]))
            noise.append(surprises.var(axis=1, keepdims=True) / n_masks)
        return np.hstack(columns), np.hstack(noise)

    def _fusion(
        self, components: NDArray[np.float64], is_normal: NDArray[np.bool_], has_labels: bool
    ) -> Fusion:
        if self.settings.objective != "ensemble":
            return WeightedSum(np.array([1.0, self.settings.surprise_weight]))
        if has_labels and not is_normal.all():
            return LogisticFusion.fitted(components, ~is_normal)
        return TailFusion.fitted(components[is_normal])

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the settings are saved by the caller."""
        arrays: dict[str, NDArray[Any]] = {
            "standard/centre": self.standard_.centre,
            "standard/spread": self.standard_.spread,
        }
        for name, array in self.fusion_.to_arrays().items():
            arrays[f"fusion/{name}"] = array
        for objective in self.objectives:
            arrays[f"{objective}/references"] = self.references_[objective].vectors
            for name, tensor in self.networks_[objective].state_dict().items():
                arrays[f"{objective}/weights/{name}"] = tensor.detach().cpu().numpy()
        header = {
            "window": self.window_,
            "fusion": type(self.fusion_).__name__,
            "seen": {name: found.seen for name, found in self.references_.items()},
            "mask_noise": self.mask_noise_,
            "logs": {
                name: {"epochs": log.epochs, "best_epoch": log.best_epoch, "seconds": log.seconds}
                for name, log in self.logs_.items()
            },
        }
        return arrays, header

    @classmethod
    def from_arrays(
        cls,
        settings: LearnSettings,
        arrays: Mapping[str, NDArray[Any]],
        header: Mapping[str, Any],
    ) -> "LearnedModel":
        """Return the model that :meth:`to_arrays` gave; scores are the same to the bit."""
        model = cls(settings)
        try:
            model._restore(arrays, header)
        except (KeyError, TypeError, ValueError, RuntimeError, InputError) as error:
            raise ModelFileError(
                f"the stored networks do not fit the model's settings: {error}; fit again and "
                "save the model anew"
            ) from error
        return model

    def _restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self.window_ = int(header["window"])
        self.standard_ = Standard(arrays["standard/centre"], arrays["standard/spread"])
        self.fusion_ = restored_fusion(header["fusion"], _below(arrays, "fusion/"))
        self.mask_noise_ = dict(header["mask_noise"])
        self.networks_, self.references_, self.logs_ = {}, {}, {}
        for objective in self.objectives:
            network = self.settings.network(objective, self.window_)
            weights = _below(arrays, f"{objective}/weights/")
            network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
            self.networks_[objective] = network.eval()
            vectors = arrays[f"{objective}/references"]
            n, width = vectors.shape
            if (vectors.dtype, width) != (np.float32, self.settings.width) or (
                n < self.settings.neighbours
            ):
                raise ValueError(f"{n} references of {vectors.dtype} and width {width}")
            rows = np.arange(n, dtype=np.int64)
            self.references_[objective] = ReferenceSet(vectors, header["seen"][objective], n, rows)


def _both(network: Objective) -> Callable[[Batch], torch.Tensor]:
    """Return what makes embedding and surprises, side by side, of a batch."""
    return lambda batch: torch.cat([network.embeddings(batch), network.surprises(batch)], dim=1)


def _below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
