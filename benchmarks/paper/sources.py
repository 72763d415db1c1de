"""Digest of the source files that produce a row's scores.

In: a method. Out: a digest that changes with the code of any of these files, so that a run never
mixes scores of different code.
"""

import ast
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import benchmarks
import smkc
from benchmarks.bare_code import bare_code
from benchmarks.paper.methods import BASELINES, Method

__all__ = ["code_digest", "source_digest", "source_files"]

PACKAGES = {
    package.__name__: Path(str(package.__file__)).parent.parent for package in (benchmarks, smkc)
}

# Imported for every row, whatever its method: they make the training and test windows.
SHARED = ("benchmarks.protocols", "benchmarks.world", "smkc.paper.sketch")

# Fits and scores; its imports other than SHARED do not change scores.
RUNNER = "benchmarks.paper.jobs"


def code_digest(method: Method) -> str:
    """Return a digest of a method's settings and of the source files that fit and score it."""
    text = json.dumps([source_digest(method.home), asdict(method)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def source_digest(home: str) -> str:
    """Return a digest of the source files used by one competitor's module."""
    digest = hashlib.sha256()
    for name, path in sorted(source_files(home).items()):
        digest.update(f"{name}\n{bare_code(path)}".encode())
    return digest.hexdigest()[:16]


def source_files(home: str) -> dict[str, Path]:
    """Return source files by module: the competitor's, the windows', and all that they import.

    Imports inside functions count. The parent package of an imported module does not: smkc's own
    ``__init__`` would include everything.

    Examples
    --------
    >>> names = source_files("statspool_knn:StatsPoolKnn")
    >>> "benchmarks.baselines.statspool_knn" in names, "smkc.serve" in names
    (True, False)
    """
    found = {RUNNER: _file(RUNNER)}
    waiting = [f"{BASELINES}.{home.split(':')[0]}", *SHARED]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if path is not None and name not in found:
            found[name] = path
            waiting += _imports(path)
    return {name: path for name, path in found.items() if path is not None}


@cache
def _file(name: str) -> Path | None:
    """Return a module's file; None if the module is not in PACKAGES."""
    top = PACKAGES.get(name.split(".")[0])
    if top is None:
        return None
    base = top.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _imports(path: Path) -> tuple[str, ...]:
    return tuple(_imported(ast.parse(path.read_bytes())))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _file(inner) is not None else node.module
