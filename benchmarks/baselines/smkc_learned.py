"""The paper's learned detectors as rows of its tables: reconstruction, prediction, both.

In: normal windows, for the ensembles also labelled validation windows, then any windows. Out: one
score per window. Each detector exists with the score that the paper describes, and tuned. Variants
are those of the ablation tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.checkpoint import train_resumed
from benchmarks.baselines.logistic_fusion import LogisticFusion
from benchmarks.baselines.trained import _set_aside
from benchmarks.windows import Windows
from smkc.errors import NotFittedError, SettingError, WindowError
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.learner import Learner, mean_of_worst
from smkc.paper.learn.masks import Masking
from smkc.paper.learn.model import LearnedModel, LearnSettings
from smkc.paper.learn.reconstruction import Reconstruction
from smkc.paper.learn.standard import Standard
from smkc.paper.learn.training import (
    Network,
    Source,
    Trainer,
    Training,
    TrainingLog,
    train,
)
from smkc.paper.sketch import Sketch

__all__ = [
    "VARIANTS",
    "SmkcEnsemble",
    "SmkcEnsembleTuned",
    "SmkcEnsembleWithoutLabels",
    "SmkcPrediction",
    "SmkcPredictionTuned",
    "SmkcRecon",
    "SmkcReconTuned",
]

# The paper's ablations, by its names: changed settings of the sketch and of the model.
VARIANTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "log_only": ({}, {"channels": ("log_g", "log_delta", "log_abs")}),
    "no_presence_stream": ({"presence": False}, {}),
    "no_absdelta_only": ({}, {"channels": ("cos_g", "cos_delta", "log_g", "log_delta")}),
    "base": ({}, {}),
    "no_scale_token": ({}, {"scale_token": False}),
    "no_lag_positional": ({}, {"lag_positions": False}),
    "lambda_linear_no_saturation": ({"saturate": False}, {}),
    "no_deltas_and_absdeltas": ({}, {"channels": ("cos_g", "log_g")}),
    "no_delta_only": ({}, {"channels": ("cos_g", "cos_abs", "log_g", "log_abs")}),
    "mask_random_only": ({}, {"masking": Masking(patterns=("random",))}),
    "no_sqrt_nt_normalization": ({"normalise": False}, {}),
    "cos_only": ({}, {"channels": ("cos_g", "cos_delta", "cos_abs")}),
    # Our own: the effect of the triangle of tokens with bfloat16, and of a learned scale of errors.
    "full_tokens_float32": ({}, {"tokens": "full", "bf16": False}),
    "no_expected_errors": ({}, {"expects_errors": False}),
}

# The score exactly as the paper describes it: the class token's density plus the mean masked error
# without a learned scale, with equal weights; in the ensemble, 4 components.
AS_THE_PAPER = {"scoring": "paper", "expects_errors": False}

# The patch size is the paper's, which does not give the size of its networks.
SIZE = {"patch": 2, "width": 128, "layers": 4, "stem_width": 32}

# Variants have a smaller network and are trained for this share of the epochs: the paper's
# "reduced compute budget".
VARIANT_EPOCHS = 0.25
VARIANT_SIZE = {"width": 64, "layers": 2}

# Runs of at most this many epochs use a network small enough for 2 CPU cores without a GPU.
QUICK_EPOCHS = 20
QUICK_SIZE = {"patch": 4, "width": 64, "layers": 2, "stem_width": 16, "n_masks": 4}

# Runs of at most this many epochs use a tiny network: they only test that the code runs.
TRIAL_EPOCHS = 2
TRIAL_SIZE = {"width": 16, "layers": 1, "heads": 2, "stem_width": 8, "patch": 8, "n_masks": 2}


@dataclass(kw_only=True, eq=False)
class SmkcLearned:
    """A learned detector with the interface of competitors.

    Parameters
    ----------
    window
        time steps per window.
    sketch
        sketch of a time step into a state.
    training
        epochs, batches, device, seed.
    checkpoint
        path beside which trained networks are saved; rows that train the same network share one
        file. None for no file.
    variant
        one of VARIANTS, at a reduced budget; the method itself if empty.

    Attributes
    ----------
    model_
        the fitted model.
    log_
        training log of its first network.
    """

    objective: ClassVar[str]

    # Whether the score is tuned; otherwise it is the paper's.
    tuned: ClassVar[bool] = False

    # Whether the validation windows for ``fit`` include anomalous ones, labelled by their kinds.
    wants_labels: ClassVar[bool] = False

    window: int
    sketch: Sketch = field(default_factory=Sketch)
    training: Training = field(default_factory=Training)
    checkpoint: Path | None = None
    variant: str = ""

    def settings(self) -> LearnSettings:
        """Return the model's settings."""
        training = replace(self.training, schedule="cosine")
        more: dict[str, Any] = dict(SIZE)
        if self.variant:
            epochs = max(1, round(VARIANT_EPOCHS * training.epochs))
            training = replace(training, epochs=epochs)
            more.update(VARIANT_SIZE)
        if self.training.epochs <= QUICK_EPOCHS:
            more.update(QUICK_SIZE)
        if self.training.epochs <= TRIAL_EPOCHS:
            more.update(TRIAL_SIZE)
        if not self.tuned:
            more.update(AS_THE_PAPER)
        more.update(self._variant()[1])
        training = replace(training, bf16=more.pop("bf16", training.bf16))
        return LearnSettings(objective=self.objective, training=training, **more)

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Train on normal windows; validation windows serve early stopping and standardisation."""
        if validation is None:
            windows, validation = _set_aside(windows)
        held_out = validation.normal()
        model = LearnedModel(self.settings(), self._trainer(windows, held_out))
        self.model_ = model.fit(self._images(windows), self._images(held_out))
        self.log_: TrainingLog = model.logs_[model.objectives[0]]
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) scores, higher = more anomalous."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"{type(self).__name__} has learned nothing yet; call fit first")
        return self.model_.score(self._images(windows))

    def _images(self, windows: Windows) -> RecordingImages:
        if windows.length != self.window:
            raise WindowError(
                f"{type(self).__name__} reads windows of {self.window} steps, but these have "
                f"{windows.length}; set window={windows.length}, or cut the windows anew"
            )
        settings = self.settings()
        return RecordingImages(
            windows.recording(),
            windows.starts(),
            self.window,
            replace(self.sketch, **self._variant()[0]),
            settings.channels,
            settings.training.device,
        )

    def _trainer(self, windows: Windows, held_out: Windows) -> Trainer:
        """Return a function that trains a network, or finds it trained by another row."""
        if self.checkpoint is None:
            return train
        settings = self.settings()
        # These do not change a network, except that expects_errors changes the reconstruction
        # network, whose checkpoint then has a different name.
        alike = replace(settings, objective="ensemble", scoring="paper", expects_errors=False)
        digest = sha256(f"{alike} {self.sketch} {self.variant}".encode())
        for part in (windows, held_out):
            for array in (part.values, part.observed, part.variables):
                digest.update(np.ascontiguousarray(array).data)
        suffix = self.checkpoint.suffix
        shared = self.checkpoint.with_name(f"smkc-{digest.hexdigest()[:16]}{suffix}")

        def trained(
            network: Network,
            inputs: Source,
            validation: Source,
            training: Training,
        ) -> TrainingLog:
            is_plain = isinstance(network, Reconstruction) and not settings.expects_errors
            name = f"{type(network).__name__.lower()}{'-plain' if is_plain else ''}"
            path = shared.with_name(f"{shared.stem}-{name}{suffix}")
            return train_resumed(network, inputs, validation, training, path=path)

        return trained

    def _variant(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        if not self.variant:
            return {}, {}
        if self.variant not in VARIANTS:
            raise SettingError(
                f"variant={self.variant!r} is not known; there are {', '.join(VARIANTS)}"
            )
        return VARIANTS[self.variant]


class SmkcRecon(SmkcLearned):
    """SMKC-Recon(HYB): masked reconstruction alone."""

    objective = "recon"


class SmkcPrediction(SmkcLearned):
    """SMKC-Pred(HYB): masked prediction alone, which the paper does not report separately."""

    objective = "prediction"


class SmkcEnsemble(SmkcLearned):
    """SMKC-ENS(HYB): reconstruction and prediction, fused by logistic regression on labels.

    Without an anomalous validation window the model's own fusion is used, which needs no labels.

    Attributes
    ----------
    standard_, fusion_
        standardisation of :func:`components`, and their fusion; None if there are no labels.
    """

    objective = "ensemble"
    wants_labels = True
    standard_: Standard
    fusion_: LogisticFusion | None

    def fit(self, windows: Windows, validation: Windows | None = None) -> Self:
        """Train on normal windows; learn the fusion from labelled validation windows."""
        super().fit(windows, validation)
        self.fusion_ = None
        if validation is not None and validation.is_anomalous.any():
            found = self._components(validation)
            self.standard_ = Standard.of(found[~validation.is_anomalous])
            self.fusion_ = LogisticFusion.fitted(self.standard_(found), validation.is_anomalous)
        return self

    def score(self, windows: Windows) -> NDArray[np.float64]:
        """(B,) scores, higher = more anomalous."""
        if not len(windows) or not hasattr(self, "model_") or self.fusion_ is None:
            return super().score(windows)
        return self.fusion_(self.standard_(self._components(windows)))

    def _components(self, windows: Windows) -> NDArray[np.float64]:
        images = self._images(windows)
        learners = self.model_.learners_.values()
        return np.hstack([components(learner, images) for learner in learners])


class SmkcReconTuned(SmkcRecon):
    """Masked reconstruction with the tuned score."""

    tuned = True


class SmkcPredictionTuned(SmkcPrediction):
    """Masked prediction with the tuned score."""

    tuned = True


class SmkcEnsembleTuned(SmkcEnsemble):
    """The tuned ensemble: it fuses every channel's surprise and error, not only 4 components."""

    tuned = True


class SmkcEnsembleWithoutLabels(SmkcLearned):
    """The tuned ensemble, fused by tail probabilities among normal validation windows."""

    objective = "ensemble"
    tuned = True


def components(learner: Learner, images: RecordingImages) -> NDArray[np.float64]:
    """Return (B, k) components of windows: density and surprise, and details if there are any.

    With the tuned scoring, a network with several ``error_parts`` has the surprise in each of them,
    then the mean error in each.
    """
    found = learner.outputs(images)
    main, parts = learner.joined(found), learner.network.error_parts
    if learner.settings.scoring == "paper" or len(parts) == 1:
        return main
    shape = len(found), learner.network.n_tokens, len(parts)
    errors = found[:, learner.settings.width :].astype(np.float64)
    standard = learner.patches(errors).reshape(shape)
    surprises = [mean_of_worst(standard[:, :, at]) for at in range(len(parts))]
    return np.column_stack([main, *surprises, errors.reshape(shape).mean(axis=1)])
