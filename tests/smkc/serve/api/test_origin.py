"""Origin: a foreign page gets nothing done by a visitor's browser."""

import pytest

LOCAL = "/api/v1/session"
REFIT = "/api/v1/watches/none/refit"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:9469", "LOCALHOST:80"])
def test_without_tokens_loopback_names_are_answered(client, host):
    assert client.get(LOCAL, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9469", "10.0.0.1", "smkc"],
)
@pytest.mark.parametrize("path", ["/", "/healthz", "/metrics", LOCAL, "/nothing"])
def test_without_tokens_other_names_are_refused(client, host, path):
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 400
    assert "localhost" in answer.json()["error"]


def test_with_tokens_any_name_will_do(locked):
    assert locked.get("/healthz", headers={"Host": "smkc.example"}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://localhost:1",
        "http://127.0.0.1",
        "file://",
        "http://[bad",
    ],
    ids=range(7),
)
def test_a_foreign_page_cannot_post(client, locked, secrets, origin):
    headers = {"Origin": origin}
    assert client.post(REFIT, headers=headers).status_code == 403
    assert locked.post("/login", json={"token": secrets["read"]}).status_code == 200
    assert locked.post("/logout", headers=headers).status_code == 403  # though a cookie came along


def test_its_own_page_can_post(client):
    own = str(client.base_url).rstrip("/")
    assert client.post(REFIT, headers={"Origin": own}).status_code == 404  # there is no such watch


def test_a_page_behind_a_proxy_can_post(serve, secrets, keys):
    import httpx

    server = serve(keys=keys, config={"public_url": "https://smkc.example"})
    for origin, status in (("https://smkc.example", 204), ("https://other.example", 403)):
        answer = httpx.post(server.url + "/logout", headers={"Origin": origin}, trust_env=False)
        assert answer.status_code == status


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_a_browser_that_says_where_it_comes_from_is_believed(client, site):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert client.post(REFIT, headers=headers).status_code == 403
    assert client.get(LOCAL, headers=headers).status_code == 403
    visit = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=visit).status_code == 200  # a link in a mail
    assert client.post(REFIT, headers=visit).status_code == 403
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert client.get(LOCAL, headers=own).status_code == 200
