"""Access: every route, with every kind of token; a route that is not listed here fails."""

import socket

import httpx
import pytest
from fastapi import APIRouter

from smkc.serve.api.access import GuardedRoute, needs
from smkc.serve.api.keys import ALLOWED, COOKIE
from smkc.serve.dashboard import routes as dashboard_routes
from smkc.serve.view import Health

ID = "00112233445566aa"

RULES = {
    ("GET", "/healthz"): "open",
    ("GET", "/readyz"): "open",
    ("POST", "/login"): "open",
    ("POST", "/logout"): "open",
    ("GET", "/api/v1/session"): "open",
    ("GET", "/metrics"): "read",
    ("GET", "/openapi.json"): "read",
    ("GET", "/api/v1/watches"): "read",
    ("GET", "/api/v1/watches/{watch}/scores"): "read",
    ("GET", "/api/v1/watches/{watch}/presence"): "read",
    ("GET", "/api/v1/watches/{watch}/traces"): "read",
    ("GET", "/api/v1/watches/{watch}/loudest"): "read",
    ("GET", "/api/v1/watches/{watch}/new-normals"): "read",
    ("GET", "/api/v1/watches/{watch}/spans"): "read",
    ("GET", "/api/v1/alerts"): "read",
    ("GET", "/api/v1/alerts/{id}"): "read",
    ("GET", "/api/v1/incidents"): "read",
    ("GET", "/api/v1/incidents/{id}"): "read",
    ("POST", "/api/v1/observations"): "write",
    ("POST", "/api/v1/write"): "write",
    ("POST", "/v1/metrics"): "write",
    ("POST", "/api/v1/otlp/v1/metrics"): "write",
    ("POST", "/api/v1/watches/{watch}/refit"): "admin",
    ("POST", "/api/v1/watches/{watch}/new-normals"): "admin",
    ("POST", "/api/v1/watches/{watch}/spans"): "admin",
    ("POST", "/api/v1/watches/{watch}/spans/{span}/end"): "admin",
    ("DELETE", "/api/v1/watches/{watch}/spans/{span}"): "admin",
    ("POST", "/api/v1/alerts/{id}/acknowledge"): "admin",
    ("POST", "/api/v1/alerts/{id}/feedback"): "admin",
}

# Pages without data; a browser must get them before it can log in.
PAGES = {
    (method, path)
    for path in (
        "/",
        "/watches/{watch}",
        "/incidents/{incident}",
        "/alerts/{alert}",
        "/login",
        "/assets/{version}/{name}",
    )
    for method in ("GET", "HEAD")
}

CLOSED = sorted(rule for rule, need in RULES.items() if need != "open")


def ways(app):
    return {(method, route.path): route for route in app.routes for method in route.methods}


def address(path):
    # An entity that is not there: what is allowed in is answered 404, and nothing happens.
    return path.replace("{watch}", "none").replace("{id}", "f" * 16).replace("{span}", "1")


def ask(client, method, path, headers=None):
    with client.stream(method, address(path), headers=headers) as answer:
        return answer.status_code, dict(answer.headers)


def test_every_route_has_a_rule_that_is_listed(locked_app):
    found = ways(locked_app)
    guarded = {way: route.needs for way, route in found.items() if isinstance(route, GuardedRoute)}
    assert guarded == RULES
    assert set(found) - set(guarded) == PAGES
    static = {route.path for route in dashboard_routes().routes}
    assert {path for _, path in PAGES} == static


def test_a_route_without_a_rule_cannot_be_made():
    router = APIRouter(route_class=GuardedRoute)
    with pytest.raises(AttributeError):
        router.add_api_route("/forgotten", lambda: None)
    with pytest.raises(ValueError, match="raed"):
        needs("raed")


@pytest.mark.parametrize(("method", "path"), CLOSED, ids=["".join(one) for one in CLOSED])
def test_without_a_token_a_route_is_closed(locked, method, path):
    status, headers = ask(locked, method, path)
    assert status == 401
    assert headers["www-authenticate"] == 'Bearer realm="smkc"'


@pytest.mark.parametrize(("method", "path"), CLOSED, ids=["".join(one) for one in CLOSED])
def test_with_a_wrong_token_a_route_is_closed(locked, secrets, method, path):
    wrong = [
        "Bearer nope-nope-nope-nope",
        f"Bearer {secrets['expired']}",
        f"Bearer {secrets['admin']}x",
        f"Bearer {secrets['admin'][:-1]}",
        f"Basic {secrets['admin']}",
        secrets["admin"],
        "Bearer",
        "",
    ]
    for value in wrong:
        status, headers = ask(locked, method, path, {"Authorization": value})
        assert status == 401, value
        assert "invalid_token" in headers["www-authenticate"]
    for value in (secrets["admin"], "the-admin:9999999999999:00", ""):
        status, _ = ask(locked, method, path, {"Cookie": f"{COOKIE}={value}"})
        assert status == 401, value


@pytest.mark.parametrize(("method", "path"), CLOSED, ids=["".join(one) for one in CLOSED])
def test_a_role_opens_its_routes_and_no_others(locked, secrets, method, path):
    for role in ("read", "write", "admin"):
        status, _ = ask(locked, method, path, {"Authorization": f"Bearer {secrets[role]}"})
        if role in ALLOWED[RULES[method, path]]:
            assert status not in (401, 403), role
            assert status < 500 or status == 503, role
        else:
            assert status == 403, role


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/api/v1/session", "/", "/login"])
def test_open_routes_are_open(locked, path):
    assert ask(locked, "GET", path)[0] == 200
    assert ask(locked, "GET", path, {"Authorization": "Bearer nope"})[0] == 200


def test_the_token_is_looked_at_before_the_body(locked_server):
    head = b"POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", locked_server.port), timeout=60) as line:
        line.sendall(head)  # and not one byte of the body
        assert line.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_token_in_the_query_is_no_token(locked, secrets):
    for name in ("token", "access_token", "authorization"):
        answer = locked.get("/api/v1/watches", params={name: secrets["admin"]})
        assert answer.status_code == 401


def test_a_session_opens_what_its_token_opens(locked, secrets):
    answer = locked.post("/login", json={"token": secrets["read"]})
    assert answer.status_code == 200
    assert answer.json() == {"needs_token": True, "name": "the-read", "role": "read"}
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert secrets["read"] not in cookie
    assert locked.get("/api/v1/watches").status_code == 200
    assert locked.post("/api/v1/watches/none/refit").status_code == 403
    assert locked.post("/logout").status_code == 204
    assert locked.get("/api/v1/watches").status_code == 401


def test_where_people_use_https_so_does_the_cookie(serve, keys, secrets):
    for url, is_secure in (("https://smkc.example", True), ("http://smkc.example", False)):
        server = serve(keys=keys, config={"public_url": url})
        answer = httpx.post(server.url + "/login", json={"token": secrets["read"]}, trust_env=False)
        assert ("secure" in answer.headers["set-cookie"].lower().split("; ")) == is_secure


@pytest.mark.parametrize("name", ["expired", "wrong", "empty", "long"])
def test_a_session_is_refused(locked, secrets, caplog, name):
    token = {"wrong": "not-a-token-at-all", "empty": "", "long": "x" * 4000}.get(name)
    token = secrets["expired"] if token is None else token
    answer = locked.post("/login", json={"token": token})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert token == "" or token not in caplog.text + answer.text


def test_what_is_wrong_is_told_to_readers_alone(serve, keys, secrets):
    ill = Health(ok=False, problems=("watch shop: http://inside:9090 does not answer",))
    server = serve(keys=keys, health=lambda: ill)
    for role, problems in (("read", list(ill.problems)), ("write", []), ("expired", [])):
        headers = {"Authorization": f"Bearer {secrets[role]}"}
        answer = httpx.get(server.url + "/healthz", headers=headers, trust_env=False)
        assert answer.json() == {"ok": False, "n_problems": 1, "problems": problems}
    assert "inside" not in httpx.get(server.url + "/healthz", trust_env=False).text


def test_without_tokens_all_is_open_and_login_says_so(client):
    assert client.get("/api/v1/session").json() == {
        "needs_token": False,
        "name": None,
        "role": "admin",
    }
    answer = client.post("/login", json={"token": "anything"})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
