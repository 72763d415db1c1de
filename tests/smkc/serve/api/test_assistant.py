"""An assistant's view of a real service, by the protocol's own client and a real process."""

import sys

import anyio
import pytest
from tests.smkc.serve.api.conftest import ALERT, SECRETS

mcp = pytest.importorskip("mcp", reason="no mcp here; pip install mcp to try it")

SINCE, UNTIL = "2027-01-15T07:59", "2027-01-15T09:00+00:00"
RUN = "from smkc.cli import main; main()"


def ask(url, calls, token=""):
    """Start ``smkc mcp``, make calls, return the tools and the results."""

    async def talk():
        server = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-c", RUN, "mcp", "--url", url, *(["--token-env", "KEY"] if token else [])],
            env={"KEY": token},
        )
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(*call) for call in calls]

    return anyio.run(talk)


@pytest.fixture(scope="module")
def talk(open_server):
    calls = [
        ("watches", {}),
        ("alerts", {"watch": "shop"}),
        ("alert", {"id": ALERT}),
        ("loudest", {"watch": "shop"}),
        ("trace", {"watch": "shop", "variable": 'load{pod="p0"}', "since": SINCE, "until": UNTIL}),
        ("alerts", {"since": "yesterday"}),
        ("alert", {"id": "ffffffffffffffff"}),
        ("alerts", {"limit": 0}),
        ("incidents", {"since": SINCE}),
    ]
    return ask(open_server.url, calls)


def test_every_tool_says_that_it_only_looks(talk):
    tools, _ = talk
    names = ["watches", "incidents", "alerts", "alert", "loudest", "trace"]
    assert [tool.name for tool in tools] == names
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)


def test_what_is_followed(talk):
    found = talk[1][0].structured_content["watches"]
    assert [watch["name"] for watch in found] == ["shop", "fleet"]
    assert found[0]["lanes"][0]["last_time"] == "2027-01-15T08:49:30Z"


def test_what_is_wrong_and_why(talk):
    (listed,) = talk[1][1].structured_content["alerts"]
    assert listed["id"] == ALERT
    assert listed["first_causes"] == ['load{pod="p0"}: it rose']
    whole = talk[1][2].structured_content
    assert whole["causes"][0]["share"] == 0.7
    assert whole["start"] == "2027-01-15T08:24:45Z"


def test_what_belongs_together(talk):
    (incident,) = talk[1][8].structured_content["incidents"]
    assert (incident["id"], incident["n_alerts"], incident["is_open"]) == (ALERT, 1, False)
    assert incident["start"] == "2027-01-15T08:24:45Z"
    assert incident["timeline"][0]["variable"] == 'load{pod="p0"}'
    assert incident["likely_to_blame"]["reason"] == "it is the only one that alerted"


def test_what_is_unusual_now_and_what_was_read(talk):
    assert talk[1][3].structured_content["variables"] == []
    (trace,) = talk[1][4].structured_content["traces"]
    assert trace["name"] == 'load{pod="p0"}'
    assert 0 < len(trace["times"]) == len(trace["values"]) <= 200
    assert (trace["lower"], trace["upper"]) == (None, None)  # there is no model
    assert trace["times"][0].startswith("2027-01-15T0")


def test_what_is_wrong_with_a_question_is_said(talk):
    date, missing, limit = talk[1][5:8]
    assert all(one.is_error for one in (date, missing, limit))
    assert "'yesterday' is not a time" in date.content[0].text
    assert "there is no alert" in missing.content[0].text
    assert "limit" in limit.content[0].text


def test_a_service_that_is_away_is_said_to_be():
    _, (found,) = ask("http://127.0.0.1:9", [("watches", {})])
    assert found.is_error
    assert "does not answer" in found.content[0].text


def test_a_token_opens_what_is_closed(locked_server):
    _, (shut,) = ask(locked_server.url, [("watches", {})])
    assert shut.is_error
    _, (opened,) = ask(locked_server.url, [("watches", {})], SECRETS["read"])
    assert not opened.is_error
