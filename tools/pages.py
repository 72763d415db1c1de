"""Pages that run: the code blocks of a Markdown page, executed in order in a folder.

In: a page and a folder. Out: what each block printed, beside what the page says it prints.

``sh`` blocks run in bash, ``python`` blocks in one namespace per page, ``toml`` and ``json`` blocks
are parsed. A ``text`` block right after one of them is the output of that block. To write the
output of all blocks into the pages after a change of the detector::

    python -m tools.pages README.md docs/start.md

Blocks whose first line has the word ``needs`` in a comment, such as ``# needs Prometheus``, are
left out unless the need is given as satisfied.
"""

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "run_page", "written_demo"]

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^# needs (.+)$", re.MULTILINE)
LANGUAGES = {"sh", "python", "text", "toml", "json"}
SECONDS = 300.0


@dataclass(frozen=True)
class Block:
    """A fenced block, and the output that the page shows for it, or None.

    ``line`` is its line number, and ``shown_at`` the range of the output in the page's text.
    """

    language: str
    text: str
    line: int
    shown: str | None = None
    shown_at: tuple[int, int] | None = None

    @property
    def needs(self) -> str | None:
        """Requirement for running the block, from a comment in its first line, or None."""
        found = NEEDS.match(self.text)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order; a ``text`` block is the output of the one before."""
    content = page.read_text("utf-8")
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(content):
        language, text = match.groups()
        line = content.count("\n", 0, match.start()) + 1
        if language not in LANGUAGES:
            raise ValueError(
                f"{page}, line {line}: a block of language {language!r}, which no test runs"
            )
        is_output = language == "text" and found and not content[end : match.start()].strip()
        if is_output:
            last = found.pop()
            found.append(Block(last.language, last.text, last.line, text, match.span(2)))
        else:
            found.append(Block(language, text, line))
        end = match.end()
    return found


def run_page(
    page: Path, folder: Path, given: frozenset[str] = frozenset(), env: Mapping[str, str] = {}
) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in a folder, and yield each with its output.

    Parameters
    ----------
    page, folder
        the page, and the working directory of its commands.
    given
        requirements that are satisfied; blocks that need something else are skipped.
    env
        additional environment variables, for commands and Python.
    """
    names: dict[str, object] = {"__name__": page.stem}
    with _inside(folder, env):
        for block in blocks(page):
            if block.needs is not None and block.needs not in given:
                continue
            place = f"{page.name}, line {block.line}"
            if block.language == "sh":
                yield block, _shell(block.text, place)
            elif block.language == "python":
                yield block, _python(block, names, place)
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "json":
                json.loads(block.text)


def written_demo(folder: Path) -> Path:
    """Write the files of ``smkc demo --out demo`` into a folder, for pages that start from them."""
    from smkc.fleet import make_fleet, write_fleet

    write_fleet(make_fleet(0), folder / "demo")
    return folder / "demo"


def _shell(text: str, place: str) -> str:
    """Run commands except ``pip install``, which tests/test_wheel.py covers."""
    text = "".join(line for line in text.splitlines(True) if not line.startswith("pip install "))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{place}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def _python(block: Block, names: dict[str, object], place: str) -> str:
    output = io.StringIO()
    source = "\n" * (block.line) + block.text  # so that tracebacks give the line in the page
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(source, place.split(",")[0], "exec"), names)
    return output.getvalue()


@contextlib.contextmanager
def _inside(folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    before, kept = Path.cwd(), dict(os.environ)
    os.environ.update(env)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(kept)


def rewrite(page: Path) -> int:
    """Write the output of the blocks into the page; return the number of changed outputs."""
    content = page.read_text("utf-8")
    changes = []
    with tempfile.TemporaryDirectory() as folder:
        written_demo(Path(folder))
        for block, printed in run_page(page, Path(folder)):
            if block.shown_at is not None and printed != block.shown:
                changes.append((block.shown_at, printed))
    for (start, end), printed in reversed(changes):
        content = content[:start] + printed + content[end:]
    page.write_text(content, "utf-8")
    return len(changes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    for path in parser.parse_args().pages:
        sys.stdout.write(f"{path}: {rewrite(path.resolve())} outputs changed\n")
