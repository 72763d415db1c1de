"""The dashboard's files: how they are sent, and that they hold together."""

import asyncio
import json
import re
from importlib.resources import files

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from tests import worlds

from smkc.decide.words import EVIDENCES, KINDS
from smkc.detector import Detector
from smkc.evidence.causes.wording import KIND_OF_EVIDENCE
from smkc.serve.dashboard import TERMS, routes

FOLDER = files("smkc.serve.dashboard")
ASSETS = sorted(one.name for one in FOLDER.joinpath("assets").iterdir())
SCRIPTS = [name for name in ASSETS if name.endswith(".js")]


class Client:
    """Asks an app without a network."""

    def __init__(self, app):
        self._transport = httpx.ASGITransport(app=app)

    def get(self, path, **further):
        return asyncio.run(self._get(path, **further))

    async def _get(self, path, **further):
        async with httpx.AsyncClient(transport=self._transport, base_url="http://here") as one:
            return await one.get(path, **further)


@pytest.fixture(scope="module")
def client():
    app = FastAPI(openapi_url=None)
    app.include_router(routes())
    return Client(app)


def text(name):
    return FOLDER.joinpath(name).read_text("utf-8")


@pytest.mark.parametrize(
    "path",
    ["/", "/watches/shop", "/incidents/00112233445566aa", "/alerts/00112233445566aa", "/login"],
)
def test_pages_are_asked_for_again_and_sent_once(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_all_that_pages_load_is_there_and_may_be_kept(client):
    loaded = {one for path in ("/", "/login") for one in _links(client.get(path).text)}
    assert {one.rpartition("/")[2] for one in loaded} >= {
        "main.js",
        "login.js",
        "palette.css",
        "style.css",
    }
    for address in loaded:
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["cache-control"]
    assert client.get(next(iter(loaded))).headers["content-type"]


def test_types_are_told(client):
    folder = next(iter(_links(client.get("/").text))).rpartition("/")[0]
    wanted = {"main.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
    for name, kind in wanted.items():
        assert client.get(f"{folder}/{name}").headers["content-type"].startswith(kind)


@pytest.mark.parametrize("name", ["no.js", "..%2Froutes.py", "__init__.py", "%2e%2e/page.html"])
def test_nothing_else_is_sent(client, name):
    folder = next(iter(_links(client.get("/").text))).rpartition("/")[0]
    assert client.get(f"{folder}/{name}").status_code == 404
    assert client.get("/assets/0000000000000000/main.js").status_code == 404


@pytest.mark.parametrize("page", ["page.html", "login.html"])
def test_pages_keep_to_a_policy_without_inline_code(page):
    content = text(page)
    assert not re.search(r"<script(?![^>]*\bsrc=)", content)
    assert "<style" not in content
    assert not re.search(r"<[^>]*\s(style|on\w+)\s*=", content)
    assert not re.search(r"(href|src|action)=\"(https?:)?//", content)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_write_text_only_as_text(name):
    content = text(f"assets/{name}")
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
    ):
        assert way not in content
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", content)
    for other in re.findall(r"from \"\./([^\"]+)\"", content):
        assert other in {*ASSETS, TERMS}


def test_scripts_are_told_all_words(client):
    (address,) = {one for one in _links(client.get("/").text) if one.endswith("main.js")}
    answer = client.get(address.replace("main.js", "terms.js"))
    assert answer.headers["content-type"].startswith("text/javascript")
    told = dict(
        (name, json.loads(content))
        for name, content in re.findall(r"export const (\w+) = (.*);\n", answer.text)
    )
    assert told["EVIDENCES"] == {name: words.sentence for name, words in EVIDENCES.items()}
    assert told["KINDS"]["level"] == {"phrase": KINDS["level"].phrase, "title": "unusual values"}
    assert set(told) == {"EVIDENCES", "KINDS", "OTHER_KIND"}


def test_every_evidence_and_question_has_words():
    table = worlds.coupled(np.random.default_rng(0), 300, 3)
    fitted = Detector().fit(worlds.recording_of(table)).fitted_
    assert set(fitted.known.evidence_names) == set(EVIDENCES)
    assert set(KIND_OF_EVIDENCE.values()) <= set(KINDS)


def test_the_report_and_the_dashboard_have_their_colours_from_one_place(client):
    palette = files("smkc.plot").joinpath("palette.css").read_text("utf-8")
    address = next(one for one in _links(client.get("/").text) if one.endswith("palette.css"))
    assert client.get(address).text == palette
    light, dark = (set(re.findall(r"(--[\w-]+):", part)) for part in palette.split("@media", 1))
    assert light == dark
    used = set()
    for style in (text("assets/style.css"), _report_style()):
        assert not re.search(r"--[\w-]+:\s*(#|rgb)", style)  # none of its own
        used |= set(re.findall(r"var\((--[\w-]+)\)", style))
    scripts = [text(f"assets/{name}") for name in SCRIPTS]
    scripts.append(files("smkc.plot").joinpath("page.js").read_text("utf-8"))
    used |= {one for script in scripts for one in re.findall(r'"(--[\w-]+)"', script)}
    assert used - {"--planted"} == light  # which is the report's word for one of them


def _report_style():
    return files("smkc.plot").joinpath("page.css").read_text("utf-8")


def _links(page):
    return set(re.findall(r"(?:href|src)=\"(/assets/[^\"]+)\"", page))
