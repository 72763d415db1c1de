"""Libraries that peers come from: imported when a peer is fitted, not before.

In: a module's name. Out: the module, or an error that says what to install.
"""

from importlib import import_module
from typing import Any

from smkc.errors import MissingExtraError

__all__ = ["library"]


def library(module: str, package: str) -> Any:
    """Import a module of another library.

    Examples
    --------
    >>> library("no_such_library.trees", "no-such-library")
    Traceback (most recent call last):
    smkc.errors.MissingExtraError: this peer needs no-such-library, which cannot be imported
    (No module named 'no_such_library'); install it with: pip install "smkc[bench]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this peer needs {package}, which cannot be imported ({error}); "
            'install it with: pip install "smkc[bench]"'
        ) from error
