"""The wheel: it is built, installs in a fresh environment, and runs the README's commands there."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from tools.pages import blocks

from smkc.version import VERSION

ROOT = Path(__file__).parents[1]
SECONDS = 600


def run(*command: str, cwd: Path, env: dict[str, str] | None = None):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, cwd=cwd, env=env
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(folder)]
    built = run(*pip, str(ROOT), cwd=folder)
    if built.returncode and "No matching distribution" in built.stderr:
        pytest.skip("hatchling, which builds the wheel, cannot be installed here")
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"smkc", f"smkc-{VERSION}.dist-info"}
    for needed in ("smkc/py.typed", "smkc/plot/page.css"):
        assert needed in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".nbi", ".nbc"))]
    tracked = run("git", "ls-files", "src/smkc", cwd=ROOT).stdout.split()
    if tracked:
        assert {f"src/{name}" for name in names if name.startswith("smkc/")} == set(tracked)


@pytest.mark.slow
def test_it_installs_in_a_fresh_environment_and_runs_the_readme(
    wheel: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh"
    assert run(sys.executable, "-m", "venv", str(fresh), cwd=tmp_path).returncode == 0
    pip = [str(fresh / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    installed = run(*pip, "-c", str(ROOT / "constraints.txt"), f"{wheel}[plot]", cwd=tmp_path)
    if installed.returncode and re.search("No matching distribution|Connection", installed.stderr):
        pytest.skip("the dependencies cannot be installed here")
    assert installed.returncode == 0, installed.stderr
    env = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PATH": f"{fresh / 'bin'}{os.pathsep}{env['PATH']}", "NUMBA_CACHE_DIR": str(tmp_path)}
    commands = [
        line
        for block in blocks(ROOT / "README.md")
        if block.language == "sh" and block.needs is None
        for line in block.text.splitlines()
        if line.startswith("smkc ") and "doctor" not in line
    ]
    assert commands[0].startswith("smkc demo")
    for command in commands:
        done = run("bash", "-c", command, cwd=tmp_path, env=env)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert (tmp_path / "demo" / "report.html").stat().st_size > 0
    version = run("bash", "-c", "smkc --version", cwd=tmp_path, env=env)
    assert version.stdout == f"smkc {VERSION}\n"


def test_what_is_cited_is_what_is_packaged() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (cited["title"], cited["version"]) == (project["name"], VERSION)
    assert cited["license"] == project["license"]
    assert cited["abstract"] == project["description"]
    assert {"cff-version", "message", "authors"} <= cited.keys()
    assert "Python :: 3.13" in " ".join(project["classifiers"])
