"""Import of the plotting libraries on first use."""

from typing import Any

from smkc.errors import install_command, optional_module


def need(module: str) -> Any:
    """Import a module of the extra ``plot``, or raise an error that says how to install it."""
    return optional_module(module, module.partition(".")[0], install_command("plot"))
