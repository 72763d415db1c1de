"""The tree of errors: whatever smkc defines to be raised hangs on one of its roots."""

import ast
from pathlib import Path

import smkc
from smkc.errors import SmkcError

SOURCE = Path(smkc.__file__).parent


def raised_classes() -> dict[str, tuple[str, ...]]:
    """Return every class of the package that is called an error, or derives from one -> bases."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases)
                if any(base.endswith(("Error", "Exception", "Warning")) for base in bases):
                    found[node.name] = bases
    return found


def test_every_error_is_an_smkc_error():
    found = raised_classes()
    assert {"InputError", "DecodeError", "SourceError", "StoreError", "BusyError"} <= set(found)
    rooted = {SmkcError.__name__}
    while True:
        more = {name for name, bases in found.items() if rooted & set(bases)} | rooted
        if more == rooted:
            break
        rooted = more
    strays = {
        name for name, bases in found.items() if name not in rooted and "UserWarning" not in bases
    }
    assert strays == set()
