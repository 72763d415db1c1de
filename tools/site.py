"""Hooks for MkDocs that add files from outside ``docs/`` to the site.

In: the Markdown of ``docs/`` and of a few files and folders beside it, with links to files in the
repository. Out: the same pages, with links to pages of the site.
"""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", "CITATION.cff")
FOLDERS = ("results", "deploy", "data/hostwatch", "tests/golden")
SUFFIXES = {".md", ".png", ".json", ".toml", ".yml", ".yaml", ".service", ".ini", ".conf", ""}
MAX_BYTES = 200_000
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#:]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages, pictures and data from outside ``docs/``, under their paths in the repository."""
    paths = [ROOT / name for name in BESIDE if (ROOT / name).exists()]
    for folder in FOLDERS:
        paths += sorted(path for path in (ROOT / folder).rglob("*") if path.is_file())
    for path in paths:
        if path.suffix in SUFFIXES and path.stat().st_size < MAX_BYTES:
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    """Rewrite links to pages of the site, whose root holds ``docs/`` and the added files."""
    name = page.file.src_uri
    place = name if files.get_file_from_path(name).generated_by else f"docs/{name}"
    here = PurePosixPath(place).parent

    def rewritten(link: re.Match[str]) -> str:
        before, target, anchor = link.group(1), link.group(2), link.group(3) or ""
        wanted = os.path.normpath(here / target)
        found = wanted.removeprefix("docs/")
        if (ROOT / wanted).is_dir():
            found = f"{found}/README.md"
        if files.get_file_from_path(found) is None:
            if (ROOT / wanted).exists():  # not part of the site: show the path instead of a link
                return f"`{wanted}`" if not before.startswith("!") else link.group(0)
            return link.group(0)  # MkDocs reports it as broken
        relative = os.path.relpath(found, PurePosixPath(name).parent)
        return f"{before}{relative}{anchor})"

    return LINK.sub(rewritten, markdown)
