"""Settings of the learned model, all of them in one place.

In: what is to be learned, how large networks are, how they are trained. Out: a network of either
objective, not trained.
"""

from dataclasses import dataclass, field

from smkc.errors import SettingError
from smkc.paper.kernel import CHANNELS
from smkc.paper.learn.encoder import EncoderConfig
from smkc.paper.learn.masks import Masking
from smkc.paper.learn.objective import Objective, PredictionObjective, ReconstructionObjective
from smkc.paper.learn.prediction import PredictionConfig
from smkc.paper.learn.reconstruction import ReconstructionConfig
from smkc.paper.learn.training import INITIAL_WEIGHTS, Training, seeded

__all__ = ["OBJECTIVES", "SCORINGS", "LearnSettings"]

# What a model may learn by, and the networks that each choice trains.
OBJECTIVES = {
    "recon": ("recon",),
    "prediction": ("prediction",),
    "ensemble": ("recon", "prediction"),
}

# How components of a score are made: as the paper describes them, or as validation windows liked
# best. See :class:`smkc.learn.learner.Learner`.
SCORINGS = ("tuned", "paper")

# Patches a side, at least, where their size is left open: time grows with its fourth power.
LEAST_SIDE = 8


@dataclass(frozen=True, kw_only=True)
class LearnSettings:
    """Settings of the learned model; those of networks are explained at :class:`EncoderConfig`.

    The defaults are what two processors train in minutes on some ten thousand windows; the
    paper's tables are made with larger networks and smaller patches.

    Parameters
    ----------
    objective
        ``recon``, ``prediction`` or ``ensemble`` of both.
    channels
        of the kernel images.
    patch
        time steps a patch; 0 for the largest power of two that leaves 8 patches a side or more.
    width, layers, heads, expansion, backbone, tokens, stem_width, stem_layers
        of the encoder.
    lag_positions, scale_token
        of the encoder; without them, two of the paper's ablations.
    decoder_layers, predictor_layers
        cross blocks of reconstruction and of prediction.
    expects_errors
        whether reconstruction also learns how large an error to expect, and is surprised by more;
        the paper's does not.
    scoring
        ``tuned``, or ``paper`` for density and surprise as the paper describes them. The networks
        are the same.
    masking
        how patches are masked, in training and in scoring.
    n_masks
        fixed masks that the surprise is averaged over.
    neighbours
        K, nearest training windows that the density averages over.
    reference_size
        training windows that neighbours are sought among, at most.
    training
        epochs, batches, learning rate, device, seed.
    """

    objective: str = "ensemble"
    channels: tuple[str, ...] = CHANNELS
    patch: int = 0
    width: int = 64
    layers: int = 2
    heads: int = 4
    expansion: int = 4
    backbone: str = "attention"
    tokens: str = "triangle"
    stem_width: int = 16
    stem_layers: int = 2
    lag_positions: bool = True
    scale_token: bool = True
    decoder_layers: int = 2
    predictor_layers: int = 4
    expects_errors: bool = True
    scoring: str = "tuned"
    masking: Masking = field(default_factory=Masking)
    n_masks: int = 16
    neighbours: int = 20
    reference_size: int = 20_000
    training: Training = field(
        default_factory=lambda: Training(epochs=15, patience=4, schedule="cosine")
    )

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise SettingError(
                f"objective={self.objective!r} is not known; use one of {', '.join(OBJECTIVES)}"
            )
        if self.scoring not in SCORINGS:
            raise SettingError(
                f"scoring={self.scoring!r} is not known; use one of {', '.join(SCORINGS)}"
            )
        for name in ("n_masks", "neighbours", "reference_size"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name}={getattr(self, name)!r}: give a whole number from 1 on")

    def encoder(self, window: int) -> EncoderConfig:
        """Return the encoder's settings for windows of so many time steps.

        Examples
        --------
        >>> [LearnSettings().encoder(window).patch for window in (8, 30, 32, 64, 128)]
        [1, 2, 4, 8, 16]
        """
        return EncoderConfig(
            window=window,
            channels=self.channels,
            patch=self.patch or _patch(window),
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
                    encoder=encoder,
                    masking=self.masking,
                    decoder_layers=self.decoder_layers,
                    expects_errors=self.expects_errors,
                )
                return ReconstructionObjective(recon, self.n_masks)
            prediction = PredictionConfig(
                encoder=encoder, masking=self.masking, predictor_layers=self.predictor_layers
            )
            return PredictionObjective(prediction, self.n_masks)


def _patch(window: int) -> int:
    """Return the largest power of two that divides a window into LEAST_SIDE patches or more."""
    patch = 1
    while window % (2 * patch) == 0 and window // (2 * patch) >= LEAST_SIDE:
        patch *= 2
    return patch
