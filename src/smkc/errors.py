"""Every error that smkc raises on purpose, and the warnings it gives.

The tree::

    SmkcError
      InputError            what was handed in cannot be used           (also a ValueError)
        ReadError           a file or frame cannot become a recording
        WindowError         the windows asked for do not fit the recording
        SettingError        a parameter has a value that makes no sense
      NotFittedError        the detector has seen no reference data yet
      ModelFileError        a model file is damaged, foreign or too new
      MissingExtraError     an optional dependency is not installed     (also an ImportError)

A room that must tell more apart derives its own from these and keeps them beside what raises them:
``smkc.serve`` has ``UnknownError`` and ``DecodeError`` (both an InputError), ``SourceError``,
``StoreError`` and ``BusyError``. So ``except SmkcError`` catches everything raised on purpose.

Each message names the value, the place and the remedy.
"""

__all__ = [
    "CalibrationWarning",
    "DeviceWarning",
    "InputError",
    "InputWarning",
    "MissingExtraError",
    "ModelFileError",
    "NotFittedError",
    "ReadError",
    "SettingError",
    "SmkcError",
    "UnscoredWarning",
    "WindowError",
    "install_command",
]


class SmkcError(Exception):
    """Root of all errors that smkc raises on purpose."""


class InputError(SmkcError, ValueError):
    """What was handed in cannot be used."""


class ReadError(InputError):
    """A file or a frame cannot be turned into a recording."""


class WindowError(InputError):
    """The windows asked for do not fit the recording."""


class SettingError(InputError):
    """A parameter has a value that makes no sense."""


class NotFittedError(SmkcError, ValueError, AttributeError):
    """The detector was asked for scores before it saw reference data."""


class ModelFileError(SmkcError, ValueError):
    """A model file is damaged, foreign or written by a newer version."""


class MissingExtraError(SmkcError, ImportError):
    """An optional dependency is needed and not installed."""


class CalibrationWarning(UserWarning):
    """The reference data are too short for the false-alarm rate that was asked for."""


class DeviceWarning(UserWarning):
    """A device works otherwise, or elsewhere, than asked for."""


class InputWarning(UserWarning):
    """What was handed in was used, but perhaps not as it was meant."""


class UnscoredWarning(UserWarning):
    """Some windows held too few observations to be scored; their scores are NaN."""


def install_command(extra: str) -> str:
    """Return how an extra is installed; no package index has smkc yet.

    Examples
    --------
    >>> install_command("serve")
    'pip install ".[serve]" in a checkout of smkc'
    """
    return f'pip install ".[{extra}]" in a checkout of smkc'
