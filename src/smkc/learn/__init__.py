"""Learning what normal kernel images look like; this room needs torch (extra ``deep``).

In: kernel images and scale tokens of normal windows. Out: networks that guess the masked part of
an image, its pixels (reconstruction) or a teacher's view of it (prediction). A window's embedding
and its surprise, how wrong the guesses are, tell how far it is from normal; a learned model joins
them into one score.
"""

from smkc.learn.collapse import check_collapse, effective_rank
from smkc.learn.encoder import Encoder, EncoderConfig
from smkc.learn.images import ImageSource, RecordingImages, SomeImages
from smkc.learn.masks import PATTERNS, Masking
from smkc.learn.model import OBJECTIVES, LearnedModel, LearnSettings
from smkc.learn.patches import Patches
from smkc.learn.prediction import Prediction, PredictionConfig
from smkc.learn.reconstruction import Reconstruction, ReconstructionConfig
from smkc.learn.training import Training

__all__ = [
    "OBJECTIVES",
    "PATTERNS",
    "Encoder",
    "EncoderConfig",
    "ImageSource",
    "LearnSettings",
    "LearnedModel",
    "Masking",
    "Patches",
    "Prediction",
    "PredictionConfig",
    "Reconstruction",
    "ReconstructionConfig",
    "RecordingImages",
    "SomeImages",
    "Training",
    "check_collapse",
    "effective_rank",
]
