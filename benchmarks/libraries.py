"""Imports of libraries that only benchmarks need, made when a method runs.

In: a module's name. Out: the module, or an error that says what to install.
"""

from importlib import import_module
from typing import Any

from smkc.errors import MissingExtraError

__all__ = ["library", "not_installed"]

INSTALL = 'pip install -e ".[deep,plot]" --group benchmarks'


def library(module: str, package: str) -> Any:
    """Import and return a module of another library.

    Examples
    --------
    >>> library("no_such_library.trees", "no-such-library")
    Traceback (most recent call last):
    smkc.errors.MissingExtraError: this method needs no-such-library, which cannot be imported
    (No module named 'no_such_library'); in a checkout of the project, install it with:
    pip install -e ".[deep,plot]" --group benchmarks
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise not_installed("this method", package, error) from error


def not_installed(what: str, package: str | None, error: ImportError) -> MissingExtraError:
    """Return the error that says what to install for ``what``."""
    return MissingExtraError(
        f"{what} needs {package}, which cannot be imported ({error}); in a checkout of the "
        f"project, install it with: {INSTALL}"
    )
