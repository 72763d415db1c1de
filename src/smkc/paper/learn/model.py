"""The learned model: kernel images of normal windows -> trained networks -> scores.

In: sources of training images and of held-out images. Out: components of a score (density and
surprise of each objective), their fusion, and the model as named arrays and a header.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError, NotFittedError
from smkc.model_file import below
from smkc.paper.learn.fusion import FUSIONS, Fusion, TailFusion, WeightedSum
from smkc.paper.learn.images import RecordingImages
from smkc.paper.learn.learner import Learner
from smkc.paper.learn.network import TrainingLog
from smkc.paper.learn.settings import OBJECTIVES, LearnSettings
from smkc.paper.learn.standard import Standard
from smkc.paper.learn.training import Trainer, train

__all__ = ["OBJECTIVES", "LearnSettings", "LearnedModel"]


# Weight of surprise relative to density in the fixed weighted sum, by objective. Of 0, 0.5, 1, 2,
# 4, 8 and surprise alone, these detected validation anomalies best, or as well as the best.
SURPRISE_WEIGHTS = {"recon": 4.0, "prediction": 0.5}

# The same with the paper's scoring: the paper uses a fixed weighted sum and states no weights.
PAPER_WEIGHT = 1.0


class LearnedModel:
    """Networks trained on normal windows, and a score of a window's distance from normal.

    Parameters
    ----------
    settings
        settings of the networks and of their training.
    train
        the function that trains each network.

    Attributes
    ----------
    learners_
        trained networks with their references, by objective.
    standard_, fusion_
        standardisation of the components, and their fusion into one score.
    window_
        time steps per window.
    """

    def __init__(self, settings: LearnSettings, train: Trainer = train) -> None:
        self.settings = settings
        self.train = train

    @property
    def objectives(self) -> tuple[str, ...]:
        """The objectives whose networks are trained, in order."""
        return OBJECTIVES[self.settings.objective]

    @property
    def logs_(self) -> dict[str, TrainingLog]:
        """Training logs, by objective; empty for a model that was loaded."""
        learners = self._fitted().items()
        return {name: learner.log for name, learner in learners if learner.log is not None}

    def fit(self, train: RecordingImages, held_out: RecordingImages) -> Self:
        """Train on normal windows; use held-out ones to stop, to standardise and to fuse.

        Parameters
        ----------
        train
            normal windows.
        held_out
            more normal windows, not trained on. An ensemble fuses densities and surprises by tail
            probabilities among them; those of a single objective are summed with fixed weights.
        """
        settings = self.settings
        if len(train) < max(settings.neighbours, 2):
            raise InputError(
                f"{len(train)} windows to learn from, neighbours={settings.neighbours}; give more "
                "windows or ask for fewer neighbours"
            )
        if len(held_out) < 2:
            raise InputError(
                f"{len(held_out)} normal windows are held out; give at least 2, better some hundred"
            )
        self.learners_ = {
            objective: Learner.learned(settings, objective, train, held_out, self.train)
            for objective in self.objectives
        }
        self.window_ = train.window
        found = self.components(held_out)
        self.standard_ = Standard.of(found)
        self.fusion_ = self._fusion(self.standard_(found))
        return self

    def components(self, source: RecordingImages) -> NDArray[np.float64]:
        """Return (B, k) raw components: density and surprise of each objective."""
        return np.hstack([learner.components(source) for learner in self._fitted().values()])

    def score(self, source: RecordingImages) -> NDArray[np.float64]:
        """Return (B,) scores, higher = more anomalous."""
        components = self.components(source)
        return self.fusion_(self.standard_(components))

    def _fitted(self) -> dict[str, Learner]:
        if not hasattr(self, "learners_"):
            raise NotFittedError("the model has learned nothing yet; call fit first")
        return self.learners_

    def _fusion(self, components: NDArray[np.float64]) -> Fusion:
        if self.settings.objective == "ensemble":
            return TailFusion.fitted(components)
        tuned = self.settings.scoring == "tuned"
        weight = SURPRISE_WEIGHTS[self.settings.objective] if tuned else PAPER_WEIGHT
        return WeightedSum(np.array([1.0, weight]))

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the caller saves the settings."""
        arrays: dict[str, NDArray[Any]] = {}
        learners: dict[str, Any] = {}
        for objective, learner in self._fitted().items():
            own, learners[objective] = learner.to_arrays()
            arrays.update({f"{objective}/{name}": array for name, array in own.items()})
        arrays["standard/centre"] = self.standard_.centre
        arrays["standard/spread"] = self.standard_.spread
        for name, array in vars(self.fusion_).items():
            arrays[f"fusion/{name}"] = array
        fusion = type(self.fusion_).__name__
        return arrays, {"window": self.window_, "fusion": fusion, "learners": learners}

    @classmethod
    def from_arrays(
        cls,
        settings: LearnSettings,
        arrays: Mapping[str, NDArray[Any]],
        header: Mapping[str, Any],
    ) -> "LearnedModel":
        """Return the model saved by :meth:`to_arrays`; its scores are the same to the bit."""
        model = cls(settings)
        try:
            model.window_ = int(header["window"])
            model.learners_ = {
                objective: Learner.restored(
                    settings,
                    objective,
                    model.window_,
                    below(arrays, f"{objective}/"),
                    header["learners"][objective],
                )
                for objective in model.objectives
            }
            # Models saved before have more components of reconstruction, after its first two.
            main = [0, 1, -2, -1][: 2 * len(model.objectives)]
            model.standard_ = Standard(
                arrays["standard/centre"][main], arrays["standard/spread"][main]
            )
            if header["fusion"] not in FUSIONS:
                raise ValueError(f"fusion {header['fusion']!r} is not known")
            model.fusion_ = FUSIONS[header["fusion"]](**below(arrays, "fusion/"))
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise ModelFileError(
                f"the stored networks do not fit the model's settings: {error}; fit again and "
                "save the model anew"
            ) from error
        return model
