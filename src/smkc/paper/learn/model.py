"""The learned model: kernel images of normal windows -> trained networks -> scores.

In: sources of images, to learn from and held out. Out: components of a score (density and surprise
of each objective), their fusion, and the whole as named arrays and a header.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smkc.errors import InputError, ModelFileError, NotFittedError
from smkc.paper.density import ReferenceSet
from smkc.paper.learn.fusion import Fusion, LogisticFusion, TailFusion, WeightedSum, restored_fusion
from smkc.paper.learn.images import ImageSource, SomeImages
from smkc.paper.learn.learner import Learner, below
from smkc.paper.learn.network import Batch, TrainingLog
from smkc.paper.learn.settings import OBJECTIVES, LearnSettings
from smkc.paper.learn.standard import Standard

__all__ = ["OBJECTIVES", "LearnSettings", "LearnedModel"]


# What surprise counts for beside density in the fixed weighted sum, by objective. Of 0, 0.5, 1, 2,
# 4, 8 and surprise alone, these told validation anomalies best or level with the best.
SURPRISE_WEIGHTS = {"recon": 4.0, "prediction": 0.5}

# The same with the paper's scoring: it asks for a fixed weighted sum and names no weights.
PAPER_WEIGHT = 1.0


class LearnedModel:
    """Networks trained on normal windows, and a score of how far a window is from those.

    Parameters
    ----------
    settings
        all of them, the seed among them.

    Attributes
    ----------
    learners_
        by objective: what was learned.
    standard_, fusion_
        how components become comparable, and one score.
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
            f"{component} of {name}"
            for name, learner in self._fitted().items()
            for component in learner.component_names
        )

    @property
    def logs_(self) -> dict[str, TrainingLog]:
        """How training went, by objective; empty for a model that was loaded."""
        learners = self._fitted().items()
        return {name: learner.log for name, learner in learners if learner.log is not None}

    @property
    def references_(self) -> dict[str, ReferenceSet]:
        """Whitened embeddings of training windows, by objective."""
        return {name: learner.references for name, learner in self._fitted().items()}

    @property
    def mask_noise_(self) -> dict[str, float]:
        """By objective, the share of the mean masked error's variance that masks leave in it."""
        return {name: learner.mask_noise for name, learner in self._fitted().items()}

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
            (B,) which of ``held_out`` are anomalous. An ensemble then learns from them how to fuse
            all components. Without any, it fuses densities and surprises by tail probabilities.
            Those of a single objective are always summed with fixed weights.
        """
        settings = self.settings
        if len(train) < settings.neighbours:
            raise InputError(
                f"{len(train)} windows to learn from, neighbours={settings.neighbours}; give more "
                "windows or ask for fewer neighbours"
            )
        if labels is not None and len(labels) != len(held_out):
            raise InputError(
                f"labels for {len(labels)} of {len(held_out)} held-out windows; give one per window"
            )
        is_normal = np.ones(len(held_out), bool) if labels is None else ~labels
        normal = held_out if labels is None else SomeImages(held_out, is_normal)
        if len(normal) < 2:
            raise InputError(
                f"{len(normal)} normal windows are held out; give at least 2, better some hundred"
            )
        self.learners_ = {
            objective: Learner.learned(settings, objective, train, normal)
            for objective in self.objectives
        }
        self.window_ = int(train.batch(np.zeros(1, np.int64))[0].shape[-1])
        found = self.components(held_out)
        self.standard_ = Standard.of(found[is_normal])
        self.fusion_ = self._fusion(self.standard_(found), is_normal)
        return self

    def components(self, source: ImageSource) -> NDArray[np.float64]:
        """(B, k) raw components of each objective: density, surprise, and what that is made of."""
        return np.hstack([learner.components(source) for learner in self._fitted().values()])

    def components_of_batch(self, batch: Batch) -> NDArray[np.float64]:
        """(B, k) the same of (B, K, L, L) images and (B,) scale tokens, to rounding, at once."""
        return np.hstack(
            [learner.components_of_batch(batch) for learner in self._fitted().values()]
        )

    def score(self, source: ImageSource) -> NDArray[np.float64]:
        """(B,) how anomalous each window is, higher = more so."""
        return self.fused(self.components(source))

    def fused(self, components: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B,) scores of (B, k) raw components."""
        self._fitted()
        return self._fused(self.standard_(components))

    def _fitted(self) -> dict[str, Learner]:
        if not hasattr(self, "learners_"):
            raise NotFittedError("the model has learned nothing yet; call fit first")
        return self.learners_

    def _fused(self, standard: NDArray[np.float64]) -> NDArray[np.float64]:
        detailed = isinstance(self.fusion_, LogisticFusion)
        return self.fusion_(standard if detailed else standard[:, self._main()])

    def _main(self) -> list[int]:
        """Which components are densities and surprises as a whole."""
        return [
            at
            for at, name in enumerate(self.component_names)
            if name.startswith(("density of", "surprise of"))
        ]

    def _fusion(self, components: NDArray[np.float64], is_normal: NDArray[np.bool_]) -> Fusion:
        if self.settings.objective != "ensemble":
            tuned = self.settings.scoring == "tuned"
            weight = SURPRISE_WEIGHTS[self.settings.objective] if tuned else PAPER_WEIGHT
            return WeightedSum(np.array([1.0, weight]))
        if not is_normal.all():
            return LogisticFusion.fitted(components, ~is_normal)
        return TailFusion.fitted(components[:, self._main()])

    # ------------------------------------------------------------------ saving

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return arrays and a JSON-able header; the settings are saved by the caller."""
        arrays: dict[str, NDArray[Any]] = {}
        learners: dict[str, Any] = {}
        for objective, learner in self._fitted().items():
            own, learners[objective] = learner.to_arrays()
            arrays.update({f"{objective}/{name}": array for name, array in own.items()})
        arrays["standard/centre"] = self.standard_.centre
        arrays["standard/spread"] = self.standard_.spread
        for name, array in self.fusion_.to_arrays().items():
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
        """Return the model that :meth:`to_arrays` gave; scores are the same to the bit."""
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
            model.standard_ = Standard(arrays["standard/centre"], arrays["standard/spread"])
            model.fusion_ = restored_fusion(header["fusion"], below(arrays, "fusion/"))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ModelFileError(
                f"the stored networks do not fit the model's settings: {error}; fit again and "
                "save the model anew"
            ) from error
        return model
