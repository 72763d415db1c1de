"""Reaching: checks of URLs and labels, and reading of secrets.

In: values of a configuration. Out: an error if a value is invalid, or the secret that was read. No
error message shows a secret, not even one that was written in the wrong place.
"""

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from smkc.errors import SettingError

LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
PLACE = re.compile(r"[a-zA-Z0-9.-]+:[0-9]{1,5}")  # host:port, which only lacks the http://


def read_secret(variable: str, file: Path | None, what: str) -> str:
    """Return a secret from an environment variable or a file; errors never show it."""
    if variable:
        secret = os.environ.get(variable, "").strip()
        if not secret:
            raise SettingError(
                f"{what}: the environment variable {variable} is not set; export it, or correct "
                "its name in the configuration"
            )
        place = f"the environment variable {variable}"
    else:
        place = f"the file {file}"
        try:
            secret = Path(str(file)).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise SettingError(
                f"{what}: {place} cannot be read ({reason}); give one that this process may read"
            ) from None
        if not secret:
            raise SettingError(f"{what}: {place} is empty; write the secret into it")
    if not secret.isprintable():
        raise SettingError(f"{what}: {place} has unprintable characters; write one line of text")
    return secret


def is_loopback(host: str) -> bool:
    """Return whether a host is the loopback address of this machine.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("alerts.example")
    (True, True, False)
    """
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def check_url(name: str, url: object) -> None:
    """Raise SettingError if a value is not an HTTP URL, or contains a user or a password."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        is_usable = parts is not None and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, is_usable = None, False
    if parts is None or not is_usable or parts.scheme not in ("http", "https"):
        shown, likely = "what was given", "http://localhost:9090"
        if "@" not in str(url):
            shown = repr(url)
            likely = f"http://{url}" if PLACE.fullmatch(str(url)) else likely
        raise SettingError(f"{name}={shown} is not a URL; write it like {likely!r}")
    if parts.username is not None or parts.password is not None:
        raise SettingError(
            f"{name} of {parts.hostname} holds a user or a password; take them out and give "
            "username and password_env, or token_env"
        )


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise SettingError if a label's name is not valid in Prometheus."""
    for label in labels:
        if not LABEL.fullmatch(label):
            raise SettingError(
                f"labels: {label!r} is not a label name; use letters, digits and underscores"
            )
