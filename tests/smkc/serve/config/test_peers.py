import base64

import pytest

from smkc.errors import SettingError
from smkc.serve.config import PeerConfig, WebhookConfig

URL = "https://prometheus.example"


def test_a_token_from_the_environment(monkeypatch):
    peer = PeerConfig(url=URL, token_env="SOME_TOKEN", headers={"X-Scope-OrgID": "a"})
    with pytest.raises(SettingError, match="token: the environment variable SOME_TOKEN is not set"):
        peer.request_headers()
    monkeypatch.setenv("SOME_TOKEN", " hunter2\n")
    assert peer.request_headers() == {"X-Scope-OrgID": "a", "Authorization": "Bearer hunter2"}
    assert "hunter2" not in repr(peer)


def test_a_token_file_is_read_each_time(tmp_path):
    file = tmp_path / "token"
    peer = PeerConfig(url=URL, token_file=file)
    with pytest.raises(SettingError, match=r"token: the file .*token cannot be read"):
        peer.request_headers()
    for token in ("one", "two"):
        file.write_text(f"{token}\n")
        assert peer.request_headers() == {"Authorization": f"Bearer {token}"}
    file.write_text("\n")
    with pytest.raises(SettingError, match="is empty"):
        peer.request_headers()


def test_a_user_with_a_password(tmp_path):
    file = tmp_path / "password"
    file.write_text("h\u00fcnter2")
    peer = PeerConfig(url=URL, username="me", password_file=file)
    kind, _, pair = peer.request_headers()["Authorization"].partition(" ")
    assert (kind, base64.b64decode(pair).decode()) == ("Basic", "me:h\u00fcnter2")


@pytest.mark.parametrize("secret", ["hunter2\nX-Evil: 1", "hunter2\x00", "h\u00fcnter2"])
def test_a_secret_that_no_header_can_hold_is_not_shown(tmp_path, secret):
    file = tmp_path / "token"
    file.write_text(secret, "utf-8")
    with pytest.raises(SettingError) as caught:
        PeerConfig(url=URL, token_file=file).request_headers()
    assert "nter2" not in str(caught.value)


def test_headers_from_the_environment(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "hunter2")
    peer = PeerConfig(url=URL, headers_env={"X-Api-Key": "SOME_KEY"})
    assert peer.request_headers() == {"X-Api-Key": "hunter2"}
    with pytest.raises(SettingError, match="x-a is in headers and in headers_env"):
        PeerConfig(url=URL, headers={"X-A": "1"}, headers_env={"x-a": "B"})


def test_token_and_password_exclude_each_other():
    with pytest.raises(SettingError, match="not both"):
        PeerConfig(url=URL, token_env="A", username="me", password_env="B")


def test_certificates(tmp_path):
    assert PeerConfig(url=URL).trust() is True
    with pytest.raises(SettingError, match=r"ca_file='.*ca.pem'.* cannot be used"):
        PeerConfig(url=URL, ca_file=tmp_path / "ca.pem").trust()
    with pytest.raises(SettingError, match="needs cert_file"):
        PeerConfig(url=URL, key_file=tmp_path / "key.pem")


def test_a_webhook_signs_with_its_secret(monkeypatch):
    monkeypatch.setenv("SOME_SECRET", "hunter2")
    webhook = WebhookConfig(url=URL, secret_env="SOME_SECRET")
    assert (webhook.name, webhook.signing_key()) == ("prometheus.example", b"hunter2")
    assert WebhookConfig(url=URL).signing_key() is None
    assert "hunter2" not in repr(webhook)


def test_a_webhook_does_not_show_its_address():
    hook = WebhookConfig(url="https://chat.example/hooks/T0KEN")
    assert "T0KEN" not in repr(hook)
    assert hook.name == "chat.example"
