"""The plotting libraries, imported when a picture is asked for and not before.

In: a module's name. Out: the module, or an error that says how to install it.
"""

from importlib import import_module
from typing import Any

from smkc.errors import MissingExtraError, install_command

__all__ = ["need"]


def need(module: str) -> Any:
    """Import a module of the extra ``plot``."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"pictures need {package}, which is not installed; "
            f"install it with: {install_command('plot')}"
        ) from error
