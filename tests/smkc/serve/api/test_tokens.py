"""Tokens: lines are read or refused by their place, and a secret is never repeated."""

import re
from pathlib import Path

import pytest

from smkc.errors import SettingError
from smkc.serve.api.keys import parse_token, read_keys
from smkc.serve.config import TOKENS_VARIABLE, config_of

SECRET = "do-not-repeat-me-ever"


def config(tmp_path, **further):
    return config_of(
        {"data": str(tmp_path / "data"), "watch": [{"name": "shop", "source": "push"}], **further}
    )


def keys_of(tmp_path, text, environment=None):
    file = tmp_path / "tokens"
    file.write_text(text)
    file.chmod(0o600)
    return read_keys(config(tmp_path, tokens=str(file)), environment or {})


def test_file_and_environment_count_together(tmp_path):
    keys = keys_of(
        tmp_path,
        f"# who may what\n\nops:admin:{SECRET}\nci:write:another-secret-123:2030-01-31T12:00:00Z\n",
        {TOKENS_VARIABLE: "grafana:read:a-secret-of-grafana"},
    )
    assert keys.token(SECRET, 0).role == "admin"
    assert keys.token("another-secret-123", 0).expires == 1896091200000
    assert keys.token("a-secret-of-grafana", 0).role == "read"


def test_the_lines_of_the_guide_are_read(tmp_path):
    guide = Path(__file__).parents[4] / "docs" / "production.md"
    (block,) = re.findall(r"```\n(# who: [^`]+)```", guide.read_text())
    lines = [line.split(":", 3) for line in block.splitlines() if not line.startswith("#")]
    keys = keys_of(tmp_path, block)
    assert [keys.token(line[2], 0).role for line in lines] == ["admin", "read", "write"]
    assert keys.token(lines[2][2], 0).expires is not None


def test_without_either_there_are_none(tmp_path):
    assert not read_keys(config(tmp_path), {})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{SECRET}", "name:role:token"),
        (f"ops:{SECRET}", "role"),
        (f"ops:root:{SECRET}", "role"),
        ("ops:admin:short", "too short"),
        ("ops:admin:", "too short"),
        ("ops:admin", "too short"),
        ("ops:admin:\u00fcmlaute-sind-nicht-ascii", "invalid characters"),
        (f"ops:admin:{SECRET}:soon", "expiry"),
        (f"o p s:admin:{SECRET}", "name"),
        (f"{SECRET}:admin:ops", "too short"),
    ],
    ids=range(10),
)
def test_a_line_that_makes_no_sense_is_named_by_its_place(tmp_path, line, said):
    with pytest.raises(SettingError, match=said) as caught:
        keys_of(tmp_path, f"# first\n{line}\n")
    assert "line 2" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"], ids=range(3))
def test_a_file_without_tokens_does_not_open_the_service(tmp_path, text):
    with pytest.raises(SettingError, match="holds no token"):
        keys_of(tmp_path, text)


@pytest.mark.parametrize("value", ["", " ", ","], ids=range(3))
def test_an_empty_variable_does_not_open_the_service(tmp_path, value):
    with pytest.raises(SettingError, match="holds no token"):
        read_keys(config(tmp_path), {TOKENS_VARIABLE: value})


def test_a_missing_file_does_not_open_the_service(tmp_path):
    with pytest.raises(SettingError, match="cannot be read"):
        read_keys(config(tmp_path, tokens=str(tmp_path / "none")), {})


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "tokens").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingError, match="UTF-8"):
        read_keys(config(tmp_path, tokens=str(tmp_path / "tokens")), {})


def test_two_of_a_name_or_a_secret_are_refused(tmp_path):
    with pytest.raises(SettingError, match="two tokens are called"):
        keys_of(tmp_path, f"a:read:{SECRET}\na:read:{SECRET}x\n")
    with pytest.raises(SettingError, match="are the same") as caught:
        keys_of(tmp_path, f"a:read:{SECRET}\nb:read:{SECRET}\n")
    assert SECRET not in str(caught.value)


def test_a_file_that_everybody_can_read_is_told(tmp_path, caplog):
    file = tmp_path / "tokens"
    file.write_text(f"ops:admin:{SECRET}\n")
    file.chmod(0o644)
    read_keys(config(tmp_path, tokens=str(file)), {})
    assert "chmod 600" in caplog.text
    assert SECRET not in caplog.text


def test_an_expiry_without_a_zone_is_utc():
    assert parse_token(f"a:read:{SECRET}:1970-01-01T00:00:01", "here").expires == 1000
    assert parse_token(f"a:read:{SECRET}:1970-01-01T01:00:01+01:00", "here").expires == 1000
