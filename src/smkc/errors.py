"""Every error that smkc raises on purpose, and the warnings it gives.

The tree::

    SmkcError
      InputError            the input cannot be used                    (also a ValueError)
        ReadError           a file or frame cannot become a recording
        WindowError         the requested windows do not fit the recording
        SettingError        a parameter has an invalid value
      NotFittedError        the detector has seen no reference data yet
      ModelFileError        a model file is damaged, foreign or too new
      MissingExtraError     an optional dependency is not installed     (also an ImportError)

A subpackage that needs finer distinctions derives its own errors from these and defines them next
to the code that raises them: ``smkc.serve`` has ``UnknownError`` and ``DecodeError`` (both an
InputError), ``SourceError``, ``StoreError`` and ``BusyError``. So ``except SmkcError`` catches
everything raised on purpose.

Each message names the value, the place and the remedy.
"""

from importlib import import_module
from typing import Any


class SmkcError(Exception):
    """Root of all errors that smkc raises on purpose."""


class InputError(SmkcError, ValueError):
    """The input cannot be used."""


class ReadError(InputError):
    """A file or a frame cannot be turned into a recording."""


class WindowError(InputError):
    """The requested windows do not fit the recording."""


class SettingError(InputError):
    """A parameter has an invalid value."""


class NotFittedError(SmkcError, ValueError, AttributeError):
    """The detector was asked for scores before it saw reference data."""


class ModelFileError(SmkcError, ValueError):
    """A model file is damaged, foreign or written by a newer version."""


class MissingExtraError(SmkcError, ImportError):
    """An optional dependency is needed and not installed."""


class CalibrationWarning(UserWarning):
    """The reference data are too short for the requested false-alarm rate."""


class DeviceWarning(UserWarning):
    """The requested device cannot be used, or is used in a slower way."""


class InputWarning(UserWarning):
    """The input was used, but perhaps not as intended."""


class UnscoredWarning(UserWarning):
    """Some windows held too few observations to be scored; their scores are NaN."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra; smkc is not on a package index yet.

    Examples
    --------
    >>> install_command("serve")
    'pip install ".[serve]" in a checkout of smkc'
    """
    return f'pip install ".[{extra}]" in a checkout of smkc'


def optional_module(module: str, package: str, command: str = "") -> Any:
    """Import a module of an optional package, or raise an error that says how to install it.

    Examples
    --------
    >>> optional_module("no_such_host.base", "no-such-host")
    Traceback (most recent call last):
    smkc.errors.MissingExtraError: this needs no-such-host, which cannot be imported (No module
    named 'no_such_host'); install it with: pip install no-such-host
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {package}, which cannot be imported ({error}); "
            f"install it with: {command or f'pip install {package}'}"
        ) from error
