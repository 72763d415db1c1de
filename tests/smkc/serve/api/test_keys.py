"""Keys: a token is found by its secret alone, a cookie stands for it, and time ends both."""

import hashlib

import pytest

from smkc.serve.api.keys import ALLOWED, COOKIE, Caller, Keys, Token, parse_token

NOW = 1_800_000_000_000
SECRET = "correct-horse-battery"


def token(name="ops", role="admin", secret=SECRET, expires=None):
    return Token(
        name=name, role=role, digest=hashlib.sha256(secret.encode()).digest(), expires=expires
    )


def scope(*headers):
    return {"headers": list(headers), "client": ("10.0.0.9", 4711)}


def test_a_token_is_found_by_its_secret():
    keys = Keys([token(), token("ci", "write", "another-secret-of-ci")])
    assert keys.token(SECRET, NOW).name == "ops"
    assert keys.token("another-secret-of-ci", NOW).role == "write"


@pytest.mark.parametrize(
    "secret",
    [
        "",
        " ",
        SECRET[:-1],
        SECRET + "x",
        SECRET.upper(),
        "\x00",
        "x" * 5000,
        "\udcff",
        "\u00fcmlaut",
    ],
    ids=range(9),
)
def test_another_secret_finds_none(secret):
    assert Keys([token()]).token(secret, NOW) is None


def test_a_token_ends_at_its_expiry():
    keys = Keys([token(expires=NOW)])
    assert keys.token(SECRET, NOW - 1) is not None
    assert keys.token(SECRET, NOW) is None


def test_a_cookie_stands_for_a_token_and_does_not_hold_it():
    keys = Keys([token()])
    cookie, seconds = keys.session(token(), NOW)
    assert SECRET not in cookie
    assert token().digest.hex() not in cookie
    assert seconds == 12 * 3600
    assert keys.of_session(cookie, NOW).name == "ops"
    assert keys.of_session(cookie, NOW + 1000 * seconds) is None


def test_a_cookie_ends_with_its_token():
    mine = token(expires=NOW + 5000)
    keys = Keys([mine])
    cookie, seconds = keys.session(mine, NOW)
    assert seconds == 5
    assert keys.of_session(cookie, NOW + 4999) is not None
    assert keys.of_session(cookie, NOW + 5000) is None


def test_a_cookie_dies_with_a_changed_secret_or_role():
    cookie, _ = Keys([token()]).session(token(), NOW)
    assert Keys([token(secret="a-new-secret-for-ops")]).of_session(cookie, NOW) is None
    assert Keys([token(role="read")]).of_session(cookie, NOW) is None


def test_a_cookie_cannot_be_altered():
    keys = Keys([token(), token("reader", "read", "the-secret-of-reader")])
    cookie, _ = keys.session(token("reader", "read", "the-secret-of-reader"), NOW)
    name, until, seal = cookie.split(":")
    forged = [
        f"ops:{until}:{seal}",
        f"{name}:{int(until) + 1}:{seal}",
        f"{name}:{until}:{seal[:-1]}0" if seal[-1] != "0" else f"{name}:{until}:{seal[:-1]}1",
        f"{name}:{until}:",
        f"{name}:-1:{seal}",
        f"{name}:{'9' * 5000}:{seal}",
        f"{name}:\u0663:{seal}",
        "",
        ":::",
        cookie * 200,
    ]
    assert [keys.of_session(one, NOW) for one in forged] == [None] * len(forged)


def test_without_tokens_everybody_is_admin():
    assert Keys().caller(scope(), NOW).role == "admin"
    assert not Keys()


@pytest.mark.parametrize(
    "header",
    [b"Basic b3BzOng=", b"Bearer", b"Bearer ", b"Bearer nope", SECRET.encode(), b"\xff\xfe", b""],
    ids=range(7),
)
def test_what_is_no_valid_bearer_token_is_nobody(header):
    caller = Keys([token()]).caller(scope((b"authorization", header)), NOW)
    assert caller.role is None
    assert caller.presented
    assert not any(caller.may(need) for need in ALLOWED)


def test_a_bad_bearer_token_is_not_saved_by_a_good_cookie():
    keys = Keys([token()])
    cookie = f"{COOKIE}={keys.session(token(), NOW)[0]}".encode()
    assert keys.caller(scope((b"cookie", cookie)), NOW).role == "admin"
    both = scope((b"cookie", cookie), (b"authorization", b"Bearer nope"))
    assert keys.caller(both, NOW).role is None


def test_roles_do_what_they_say():
    may = {
        role: {need for need in ALLOWED if Caller(name="x", role=role, address="").may(need)}
        for role in ("read", "write", "admin", None)
    }
    assert may == {
        "read": {"read"},
        "write": {"write"},
        "admin": {"read", "write", "admin"},
        None: set(),
    }


def test_a_token_does_not_print_its_secret():
    shown = repr(parse_token(f"ops:admin:{SECRET}", "line 1"))
    assert SECRET not in shown
    assert hashlib.sha256(SECRET.encode()).hexdigest() not in shown
    assert "digest" not in shown
