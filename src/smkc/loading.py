"""Loading: a model file -> the detector that was saved in it.

In: a path. Out: a fitted detector, or an error that says what is wrong with the file.
"""

from copy import deepcopy
from pathlib import Path

from smkc import model_file
from smkc.detector import Detector
from smkc.errors import ModelFileError
from smkc.fitted import Fitted
from smkc.recording import Identity
from smkc.settings import scoring_device

__all__ = ["load"]


def load(path: str | Path, device: str | None = None) -> Detector:
    """Read a detector that :meth:`Detector.save` wrote.

    Parameters
    ----------
    path
        the model file.
    device
        where a detector shall score; by default where it was trained, if that device is
        here, and else on the CPU.
    """
    arrays, header = model_file.read(path)
    try:
        if header["kind"] != "detector":
            raise ModelFileError(f"it holds a {header['kind']!r}, not a detector")
        settings = dict(header["settings"])
        if settings["identity"] is not None:
            rule = settings["identity"]
            settings["identity"] = Identity(drop=tuple(rule["drop"]), pattern=rule["pattern"])
        detector = Detector(**settings)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _unusable(path, error) from None
    detector.device = scoring_device(detector.get_params(), device)
    try:
        restored = detector._empty().restored(arrays, header)
        detector._fitted = restored
        if isinstance(restored, Fitted) and (restored.scaling is None) != (
            detector.scaling is None
        ):
            raise ModelFileError("its scaling is not the one that its settings name")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _unusable(path, error) from None
    detector._fitted_with = deepcopy(detector.get_params())
    detector._reference = None
    return detector


def _unusable(path: str | Path, error: Exception) -> ModelFileError:
    return ModelFileError(f"{path} is no usable detector: {error}; fit again and save it anew")
