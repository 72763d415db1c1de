"""Learning what normal kernel images look like; this room needs torch (extra ``deep``).

In: kernel images and scale tokens of normal windows. Out: networks that guess the masked part of
an image, its pixels (reconstruction) or a teacher's view of it (prediction). A window's embedding
and its surprise, how wrong the guesses are, tell how far it is from normal.
"""

from smkc.learn.collapse import check_collapse, effective_rank
from smkc.learn.encoder import Encoder, EncoderConfig
from smkc.learn.masks import PATTERNS, Masking
from smkc.learn.patches import Patches
from smkc.learn.prediction import Prediction, PredictionConfig
from smkc.learn.reconstruction import Reconstruction, ReconstructionConfig

__all__ = [
    "PATTERNS",
    "Encoder",
    "EncoderConfig",
    "Masking",
    "Patches",
    "Prediction",
    "PredictionConfig",
    "Reconstruction",
    "ReconstructionConfig",
    "check_collapse",
    "effective_rank",
]
