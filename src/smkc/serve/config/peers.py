"""Peers: connection settings of the servers that the service queries or sends to.

In: settings by name. Out: frozen dataclasses. They hold the location of a secret, not the secret,
which is read when it is used.
"""

import base64
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from smkc.errors import SettingError
from smkc.serve.config.reaching import check_labels, check_url, read_secret

HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, section 5.6.2
SECRET_HEADERS = ("authorization", "cookie", "proxy-authorization", "x-api-key", "api-key")
SHORTEST_RESEND = 1_000


@dataclass(frozen=True, kw_only=True)
class PeerConfig:
    """Settings for reaching a server over HTTP.

    Parameters
    ----------
    url
        URL of the server, without user and password.
    token_env, token_file
        environment variable or file with a bearer token; read for each request.
    username, password_env, password_file
        credentials for basic authentication instead of a token.
    headers
        additional headers that are not secret, such as ``X-Scope-OrgID`` for a tenant.
    headers_env
        header -> environment variable with its value.
    ca_file
        CA certificates to trust instead of those of the system.
    cert_file, key_file
        client certificate and its key, if the server requires one.
    timeout
        maximum time until an answer, in milliseconds.
    """

    url: str
    token_env: str = ""
    token_file: Path | None = None
    username: str = ""
    password_env: str = ""
    password_file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    timeout: int = 30_000

    def __post_init__(self) -> None:
        check_url("url", self.url)
        self._check_headers()
        if not isinstance(self.timeout, int) or not 1 <= self.timeout <= 3_600_000:
            raise SettingError(f"timeout={self.timeout!r} ms: give '1ms' to '1h', such as '30s'")
        _check_one("token", self.token_env, self.token_file)
        _check_one("password", self.password_env, self.password_file)
        has_token = bool(self.token_env or self.token_file)
        has_password = bool(self.password_env or self.password_file)
        if has_password != bool(self.username):
            raise SettingError(
                f"username={self.username!r}: a user and a password go together; give username "
                "and one of password_env and password_file, or none of them"
            )
        if has_token and has_password:
            raise SettingError("give a token or a user with a password, not both; leave one out")
        if self.key_file and not self.cert_file:
            raise SettingError(f"key_file={str(self.key_file)!r} needs cert_file beside it")

    def request_headers(self) -> dict[str, str]:
        """Return the headers of a request, including secrets, which are read now."""
        found = dict(self.headers)
        for header, variable in self.headers_env.items():
            found[header] = read_secret(variable, None, f"headers_env {header}")
        if self.token_env or self.token_file:
            token = read_secret(self.token_env, self.token_file, "token")
            found["Authorization"] = f"Bearer {token}"
        elif self.username:
            password = read_secret(self.password_env, self.password_file, "password")
            pair = base64.b64encode(f"{self.username}:{password}".encode()).decode("ascii")
            found["Authorization"] = f"Basic {pair}"
        for header, value in found.items():
            if not value.isascii():
                raise SettingError(
                    f"{header} has a character that no header can hold; check its secret"
                )
        return found

    def trust(self) -> ssl.SSLContext | bool:
        """Return the SSL context that verifies certificates; True for the system's default."""
        if self.ca_file is None and self.cert_file is None:
            return True
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            raise SettingError(
                f"ca_file={_shown(self.ca_file)}, cert_file={_shown(self.cert_file)}, "
                f"key_file={_shown(self.key_file)} cannot be used ({error}); give PEM files that "
                "this process may read"
            ) from None
        return context

    def _check_headers(self) -> None:
        for header in (*self.headers, *self.headers_env):
            if not HEADER.fullmatch(header):
                raise SettingError(f"headers: {header!r} is not a header name; use letters and '-'")
        for header, value in self.headers.items():
            if header.lower() in SECRET_HEADERS:
                raise SettingError(
                    f"headers: {header} holds a secret; set an environment variable to it and "
                    f"write headers_env = {{ {header} = 'NAME_OF_THE_VARIABLE' }}"
                )
            if not value.isprintable() or not value.isascii():
                raise SettingError(
                    f"headers: {header} = {value!r} has characters that no header can hold"
                )
        twice = {name.lower() for name in self.headers} & {
            name.lower() for name in self.headers_env
        }
        if twice:
            raise SettingError(f"{min(twice)} is in headers and in headers_env; leave one out")


@dataclass(frozen=True, kw_only=True)
class AlertmanagerConfig(PeerConfig):
    """An Alertmanager that receives alerts.

    Parameters
    ----------
    labels
        labels added to each alert; they replace labels of the same name that smkc sets.
    cause_labels
        labels of the first cause that are copied to the alert, for routing.
    resend
        milliseconds between repeated notifications of an open alert.
    silences
        whether a silence that covers a watch or an entity counts as maintenance of it.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    cause_labels: tuple[str, ...] = ("service", "instance", "job", "namespace")
    resend: int = 60_000
    silences: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_labels(self.labels)
        check_labels(dict.fromkeys(self.cause_labels, ""))
        if not isinstance(self.resend, int) or self.resend < SHORTEST_RESEND:
            raise SettingError(f"resend={self.resend!r} ms: give 1s or longer, such as '60s'")


@dataclass(frozen=True, kw_only=True)
class WebhookConfig(PeerConfig):
    """A URL to which alerts are posted as JSON.

    Parameters
    ----------
    name
        name used in messages and problems; by default the host and port.
    secret_env, secret_file
        environment variable or file with the key for signing messages.

    Notes
    -----
    The URL is never shown, since chat services put a secret into the path.
    """

    url: str = field(repr=False)
    name: str = ""
    secret_env: str = ""
    secret_file: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one("secret", self.secret_env, self.secret_file)
        if not self.name:
            object.__setattr__(self, "name", urlsplit(self.url).netloc)

    def signing_key(self) -> bytes | None:
        """Read and return the key for signing messages; None if none is configured."""
        if not self.secret_env and not self.secret_file:
            return None
        return read_secret(self.secret_env, self.secret_file, "secret").encode()


@dataclass(frozen=True, kw_only=True)
class GrafanaConfig(PeerConfig):
    """A Grafana in which each alert becomes an annotation.

    They are annotations of the organization, which any dashboard can show by their tags. The token
    must allow reading, creating and changing annotations.
    """


def _check_one(what: str, variable: str, file: Path | None) -> None:
    if variable and file:
        raise SettingError(f"give {what}_env or {what}_file, not both; leave one out")


def _shown(path: Path | None) -> str:
    return "none" if path is None else repr(str(path))
