"""Self-contained HTML pages made from a template, its content and its charts.

In: the name of a template, its values, and charts by name. Out: an HTML file that loads nothing
from outside: its content security policy forbids that, and allows only its own scripts to run.
The templates escape all text.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from smkc.decide.words import KINDS, OTHER_KIND
from smkc.errors import InputError, install_command, optional_module
from smkc.plot.charts import Chart
from smkc.plot.wording import clock, duration, in_full, odds, percent, span
from smkc.version import VERSION


class Tile(NamedTuple):
    """A number at the top of a page, its label and a remark; hot tiles are highlighted."""

    number: str
    what: str
    more: str
    is_hot: bool = False


def write_page(
    path: str | Path, template: str, title: str, charts: Mapping[str, Chart], **content: Any
) -> Path:
    """Write a page atomically and return its path; an existing file is replaced."""
    target = Path(path)
    text = _rendered(template, title, charts, content)
    draft = target.with_name(f".{target.name}.draft")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, "utf-8", newline="\n")
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise InputError(
            f"cannot write {target}: {error.strerror}; choose another place"
        ) from error
    return target


def need(module: str) -> Any:
    """Import a module of the extra ``plot``, or raise an error that says how to install it."""
    return optional_module(module, module, install_command("plot"))


def safe_json(value: object) -> str:
    """Return JSON with ``<``, ``>`` and ``&`` escaped, so that it cannot end a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _rendered(
    template: str, title: str, charts: Mapping[str, Chart], content: Mapping[str, Any]
) -> str:
    markup = need("markupsafe").Markup  # marks the package's own text as safe
    style = "".join(_part(name) for name in ("palette.css", "uplot/uPlot.min.css", "page.css"))
    plotting, script = _part("uplot/uPlot.iife.min.js"), _part("page.js")
    allowed = " ".join(f"'sha256-{_digest(one)}'" for one in (plotting, script))
    page: str = (
        _environment()
        .get_template(template)
        .render(
            title=title,
            version=VERSION,
            policy=markup(
                f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
                "img-src data: blob:"
            ),
            licence=markup(_part("uplot/LICENSE").strip()),
            style=markup(style),
            plotting=markup(plotting),
            script=markup(script),
            charts=charts,
            chart_data=markup(safe_json(charts)),
            **content,
        )
    )
    return page


@lru_cache(maxsize=1)
def _environment() -> Any:
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("smkc.plot"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "capital": lambda words: words[:1].upper() + words[1:],
        "clock": clock,
        "duration": duration,
        "in_full": in_full,
        "odds": odds,
        "percent": percent,
        "phrase": lambda kind: KINDS.get(kind, OTHER_KIND).phrase,
        "span": span,
    }
    return environment


def _part(name: str) -> str:
    return files("smkc.plot").joinpath(name).read_text("utf-8")


def _digest(script: str) -> str:
    """Return the SHA-256 digest in base64 that allows a script in the content policy."""
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
