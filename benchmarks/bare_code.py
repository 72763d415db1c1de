"""Source files without their words: code alone, for digests.

In: a Python file. Out: its code as text. Rewording a docstring or a comment changes nothing in it,
so that scores which the same code made stay valid.
"""

import ast
from pathlib import Path

__all__ = ["bare_code"]

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def bare_code(path: Path) -> str:
    """Return the code of a Python file without comments and docstrings."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
