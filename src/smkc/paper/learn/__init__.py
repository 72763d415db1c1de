"""Learning what normal kernel images look like; this room needs torch (extra ``deep``).

In: kernel images and scale tokens of normal windows. Out: networks that guess the masked part of
an image, its pixels (reconstruction) or a teacher's view of it (prediction). A window's embedding
and its surprise, how wrong the guesses are, tell how far it is from normal; a learned model joins
them into one score.
"""

from smkc.paper.learn.collapse import check_collapse, effective_rank
from smkc.paper.learn.encoder import Encoder, EncoderConfig
from smkc.paper.learn.images import ImageSource, RecordingImages, SomeImages
from smkc.paper.learn.masks import PATTERNS, Masking
from smkc.paper.learn.model import OBJECTIVES, LearnedModel, LearnSettings
from smkc.paper.learn.patches import Patches
from smkc.paper.learn.prediction import Prediction, PredictionConfig
from smkc.paper.learn.reconstruction import Reconstruction, ReconstructionConfig
from smkc.paper.learn.training import Training

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
