"""How smkc is installed: from a checkout, since no package index has it."""

import re
from pathlib import Path

import pytest

from smkc.errors import install_command

ROOT = Path(__file__).parent.parent
READ = {".md", ".py", ".toml", ".yaml", ".yml", ".service", ".html", ".js", ""}
FROM_AN_INDEX = re.compile(r"""pip install (?:-\S+ )*["']?smkc\b""")


def texts():
    for folder in ("src", "benchmarks", "docs", "deploy", ".github", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in READ:
                yield path
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"


@pytest.mark.parametrize(
    "path", [path for path in texts() if path.exists()], ids=lambda path: path.name
)
def test_nothing_says_to_install_it_from_an_index(path):
    assert FROM_AN_INDEX.findall(path.read_text("utf-8")) == []


def test_an_extra_is_installed_from_a_checkout():
    assert install_command("serve") == 'pip install ".[serve]" in a checkout of smkc'
    assert FROM_AN_INDEX.search('run: pip install "smkc[serve]"')
    assert FROM_AN_INDEX.search("help='ray needs pip install \"smkc\\\\[ray]\".'")
    assert not FROM_AN_INDEX.search(install_command("serve"))
