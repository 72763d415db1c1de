"""Every library that the source and the benchmarks import is declared in pyproject.toml."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent

# Used only on what a user's own library made (frames), the host of an adapter in smkc.compat, which
# names the command that installs it, or shipped inside a declared one.
NOT_OURS_TO_DECLARE = {"pandas", "polars", "sklearn", "triton"}

# Libraries whose private names are used: a new version may break them.
NEED_UPPER_BOUND = {"uvicorn"}


# The last versions before the fixes that results/security.md lists.
VULNERABLE = [
    "anyio 4.14.1",
    "h11 0.15.0",
    "jinja2 3.1.5",
    "mcp 2.1.0",
    *(f"protobuf {version}" for version in ("5.29.5", "6.30.2", "6.31.1", "6.32.1")),
    *(f"protobuf 6.33.{patch}" for patch in range(5)),
    "ray 2.55.1",
    "starlette 1.3.0",
]


def requirements(group: str | None = None) -> list[str]:
    """Return those of the package with all its extras, or of a dependency group."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if group is not None:
        return list(content["dependency-groups"][group])
    project = content["project"]
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(text for extra in extras for text in extra)]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(texts: list[str]) -> set[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", text) for text in texts)
    return {normal(match.group()) for match in names if match} - {"smkc"}


def imported(folder: str) -> dict[str, list[str]]:
    """Return by top-level module where it is imported below a folder."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module or ""]
            for module in modules:
                found.setdefault(module.split(".")[0], []).append(str(path.relative_to(ROOT)))
    return found


def undeclared(folder: str, ours: set[str], texts: list[str]) -> dict[str, str]:
    distributions, known = packages_distributions(), declared(texts)
    return {
        module: places[0]
        for module, places in imported(folder).items()
        if module not in sys.stdlib_module_names | NOT_OURS_TO_DECLARE | ours
        and not {normal(name) for name in distributions.get(module, [module])} & known
    }


def test_every_import_is_declared():
    assert not undeclared("src", {"smkc"}, requirements())


def test_every_import_of_the_benchmarks_is_declared():
    texts = [*requirements(), *requirements("benchmarks")]
    assert not undeclared("benchmarks", {"benchmarks", "smkc"}, texts)


def test_libraries_whose_private_names_are_used_have_an_upper_bound():
    for name in NEED_UPPER_BOUND:
        assert any(text.startswith(name) and "<" in text for text in requirements())
    # Numba documents the events of its compiler.
    private = re.compile(
        r"^\s*(?:from|import) (?:numba\.core(?! import event$)|llvmlite)", re.MULTILINE
    )
    users = [path for path in (ROOT / "src").rglob("*.py") if private.search(path.read_text())]
    assert not users  # of numba, public names alone


@pytest.mark.parametrize("vulnerable", VULNERABLE)
def test_versions_with_known_vulnerabilities_are_excluded(vulnerable):
    name, version = vulnerable.split()
    needed = [Requirement(text) for text in requirements()]
    specifiers = [one.specifier for one in needed if normal(one.name) == name]
    assert specifiers
    assert not any(version in specifier for specifier in specifiers)


def test_pinned_versions_are_among_those_that_are_allowed():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    pinned = {normal(name): version for name, version in pinned.items()}
    for one in map(Requirement, requirements()):
        if normal(one.name) != "smkc":
            assert pinned[normal(one.name)] in one.specifier, one
