"""The dashboard while things happen: an incident, a lost connection, visitors with tokens."""

import hashlib

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from tests.smkc.serve.dashboard.checks import complaints
from tests.smkc.serve.dashboard.parts import HOSTILE, Shop, browser_marks, look

from smkc.serve.api import Keys, Token

pytestmark = browser_marks

SECRETS = {"read": "secret-of-the-reader-1", "admin": "secret-of-the-admins-2"}


def keys():
    return Keys(
        Token(name=f"the-{role}", role=role, digest=hashlib.sha256(secret.encode()).digest())
        for role, secret in SECRETS.items()
    )


@pytest.fixture
def calm_shop(tmp_path):
    with Shop(tmp_path) as shop:
        shop.learn()
        shop.push(10)
        yield shop


@pytest.fixture(scope="module")
def closed_shop(tmp_path_factory):
    """A shop that needs tokens, with an alert that is over."""
    with Shop(tmp_path_factory.mktemp("closed"), keys()) as shop:
        shop.headers = {"Authorization": f"Bearer {SECRETS['admin']}"}
        shop.learn()
        shop.push(20)
        shop.push(6, slow="cart")
        yield shop


def state(browser):
    return browser.find_element(By.ID, "connection").get_attribute("data-state")


def lane_text(name, cell):
    """Return a script for the text of a cell in the row of a lane."""
    return (
        "[...document.querySelectorAll('.lanes .lane')]"
        f".find((one) => one.querySelector('.name').textContent === 'shop / {name}')"
        f"?.querySelector('.{cell}').textContent"
    )


def test_an_incident_appears_is_opened_and_acknowledged(calm_shop, browser):
    shop = calm_shop
    browser.get(shop.url)
    look(browser, f"{lane_text('cart', 'doing')} === 'calm'")
    look(browser, "document.getElementById('connection').dataset.state === 'live'")
    browser.execute_script("window.isSamePage = true")

    # Rows come in: the page counts them without being asked to.
    line = "document.querySelector('.lanes .plot .line')?.getAttribute('d')"
    before = look(browser, line)
    shop.push(2)
    look(browser, f"{line} !== {before!r}")

    # The cart gets slow: it comes first, with an alert, on the page that was open all along.
    shop.push(5, slow="cart")
    look(browser, f"{lane_text('cart', 'doing')} === 'alert'")
    first = "document.querySelector('.lanes .lane .name').textContent"
    look(browser, f"{first} === 'shop / cart'")
    look(browser, "document.querySelectorAll('.alerts [data-alert]').length === 1")
    look(browser, "document.title.startsWith('1 alert')")
    assert browser.execute_script("return window.isSamePage")

    # Opened by keyboard, it says who is to blame.
    browser.find_element(By.CSS_SELECTOR, ".lanes .lane .cell.alert a").send_keys(Key.ENTER)
    look(browser, "document.querySelector('.cause .plot .line')")
    names = [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".cause .name")]
    assert {"cpu", "latency", "queue"} == {name.split("{")[0] for name in names[:3]}
    assert all('pod="pod-0"' in name for name in names[:3])
    assert "Since" in browser.find_element(By.CSS_SELECTOR, ".story").text

    # It goes on: the page follows without losing what the visitor does.
    peak = shop.service.store.alerts(open_only=True)[0].record.end
    browser.find_element(By.ID, "acknowledge").send_keys(Key.ENTER)
    look(browser, "document.querySelector('dialog[open] textarea') === document.activeElement")
    shop.push(3, slow="cart")
    assert shop.service.store.alerts(open_only=True)[0].record.end > peak
    note = "looking <b>into</b> it"
    browser.switch_to.active_element.send_keys(note)
    browser.find_element(By.CSS_SELECTOR, "dialog button[type=submit]").click()
    look(browser, "!document.querySelector('dialog')")
    seen = look(browser, "document.querySelector('.seen-by')?.textContent")
    assert note in seen
    stored = shop.service.store.alerts()[0]
    assert (stored.note, stored.acknowledged_by) == (note, "local")
    assert not browser.find_elements(By.ID, "acknowledge")

    # What has the focus keeps it while rows come.
    browser.execute_script("document.getElementById('feedback').focus()")
    line = "document.querySelector('.plot .line').getAttribute('d')"
    before = look(browser, line)
    shop.push(2, slow="cart")
    look(browser, f"{line} !== {before!r}")
    assert browser.switch_to.active_element.get_attribute("id") == "feedback"
    assert len(browser.find_elements(By.CSS_SELECTOR, ".cause .plot .line")) >= 3

    # Taken as normal, after a question that can be declined.
    browser.find_element(By.ID, "feedback").click()
    look(browser, "document.querySelector('dialog[open]')")
    browser.switch_to.active_element.send_keys(Key.ESCAPE)
    look(browser, "!document.querySelector('dialog')")
    assert shop.service.store.alerts()[0].feedback is None
    browser.find_element(By.ID, "feedback").click()
    browser.find_element(By.CSS_SELECTOR, "dialog button[type=submit]").click()
    look(browser, "[...document.querySelectorAll('.seen-by')].length === 2")
    assert shop.service.store.alerts()[0].feedback == "local"
    assert complaints(browser) == []


def test_a_watch_follows_its_rows(calm_shop, browser):
    browser.get(f"{calm_shop.url}/watches/shop?entity=cart&range=1h")
    look(browser, "document.getElementById('connection').dataset.state === 'live'")
    label = "document.querySelector('svg.plot').getAttribute('aria-label')"
    before = look(browser, label)
    calm_shop.push(4, slow="cart")
    look(browser, f"{label} !== {before!r} && {label}.includes('1 alert')")
    look(browser, "document.querySelector('.alerts [data-alert]')")
    look(browser, "document.querySelector('svg.plot .band')")


def test_a_watch_that_waits_shows_its_first_row(calm_shop, browser):
    browser.get(f"{calm_shop.url}/watches/idle")
    look(browser, "document.getElementById('connection').dataset.state === 'live'")
    browser.execute_script("window.isSamePage = true")
    calm_shop.push(3)
    assert "Nothing has been pushed" in browser.find_element(By.TAG_NAME, "main").text
    calm_shop.observe("nothing", 3)
    look(browser, "document.querySelector('.sub .state')?.textContent === '3 of 240 rows'")


def test_a_lost_connection_is_said_and_found_again(calm_shop, browser):
    shop = calm_shop
    browser.get(shop.url)
    look(browser, "document.getElementById('connection').dataset.state === 'live'")
    port = shop.server.port
    shop.server.stop()
    look(browser, "!document.getElementById('lost').hidden")
    assert state(browser) == "lost"
    lost = browser.find_element(By.ID, "lost")
    assert lost.text.startswith("Connection lost")
    assert lost.get_attribute("role") == "alert"
    shop.open_again(port)
    look(browser, "document.getElementById('lost').hidden")
    look(browser, "document.getElementById('connection').dataset.state === 'live'", 40)


def log_in(browser, secret):
    field = browser.find_element(By.ID, "token")
    field.clear()
    field.send_keys(secret, Key.ENTER)


def test_a_visitor_logs_in_with_a_token_and_leaves(closed_shop, browser):
    alert = closed_shop.service.store.alerts()[0].record.id
    browser.get(f"{closed_shop.url}/alerts/{alert}")
    look(browser, "location.pathname === '/login'")
    log_in(browser, "not-a-token-at-all-9")
    refused = look(browser, "document.getElementById('refused').textContent")
    assert "not known" in refused
    assert browser.find_element(By.ID, "token").get_attribute("aria-invalid") == "true"
    log_in(browser, SECRETS["admin"])
    look(browser, f"location.pathname === '/alerts/{alert}'")
    look(browser, "document.getElementById('acknowledge')")
    look(browser, "document.getElementById('connection').dataset.state === 'live'")
    stored = browser.execute_script(
        "return [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)]"
    )
    assert stored == ["", "{}", "{}"]
    browser.find_element(By.XPATH, "//button[text()='Log out the-admin']").click()
    look(browser, "location.pathname === '/login'")
    browser.get(closed_shop.url)
    look(browser, "location.pathname === '/login'")


def test_a_reader_may_look_and_not_act(closed_shop, browser):
    browser.get(f"{closed_shop.url}/login")
    log_in(browser, SECRETS["read"])
    look(browser, "document.querySelector('.alerts [data-alert] .what a')").click()
    look(browser, "document.querySelector('.cause .plot .line')")
    assert not browser.find_elements(By.CSS_SELECTOR, "#acknowledge, #feedback")
    assert "may look" in browser.find_element(By.CSS_SELECTOR, ".actions").text


@pytest.mark.parametrize(
    "wanted",
    [
        "//outside.invalid/x",
        "/.//outside.invalid/x",
        "/a/..//outside.invalid/x",
        "/%2e//outside.invalid/x",
        "https://outside.invalid",
        "javascript:alert(1)",
        "/login",
        "http://[",
    ],
)
def test_a_login_leads_nowhere_else(closed_shop, browser, wanted):
    browser.get(f"{closed_shop.url}/login?next={wanted}")
    log_in(browser, SECRETS["read"])
    look(browser, "location.pathname === '/' && !!document.querySelector('.lanes')")
    assert browser.current_url.startswith(closed_shop.url)


def test_a_hostile_part_is_followed_like_any_other(calm_shop, browser):
    browser.get(calm_shop.url)
    look(browser, "document.getElementById('connection').dataset.state === 'live'")
    calm_shop.push(5, slow=HOSTILE)
    look(browser, "document.querySelector('.lanes .lane .doing').textContent === 'alert'")
    assert browser.find_element(By.CSS_SELECTOR, ".lanes .name").text == f"shop / {HOSTILE}"
    assert not browser.title.startswith("broken")
