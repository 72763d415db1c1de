"""Incidents in a real Chromium: on the fleet's page, on one of their own, and on their alerts'."""

import pytest
from selenium.webdriver.common.by import By
from tests.smkc.serve.dashboard.checks import (
    PHONE,
    complaints,
    low_contrasts,
    nameless,
    requests_elsewhere,
    wider_than_a_phone,
)
from tests.smkc.serve.dashboard.parts import HOSTILE, Shop, browser_marks, look, media, width
from tests.smkc.serve.dashboard.visits import texts

pytestmark = browser_marks


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The cart gets slow, and then the hostile part, on which it depends."""
    folder = tmp_path_factory.mktemp("shop")
    with Shop(folder, dependencies={"cart": [HOSTILE]}) as shop:
        shop.learn()
        shop.push(30)
        shop.push(6, slow="cart")
        shop.push(6, slow=HOSTILE)
        yield shop


@pytest.fixture
def incident(shop):
    """The incident, as the store has it, with its alerts."""
    return next(one for one in shop.service.store.incidents() if len(one[1]) > 1)


def visit(browser, shop, incident):
    browser.get(f"{shop.url}/incidents/{incident[0].id}")
    look(browser, "document.querySelectorAll('.timeline .step').length > 1")
    look(browser, "document.getElementById('connection').dataset.state === 'live'")


def test_an_incident_says_what_moved_first_where_it_spread_and_who_is_to_blame(
    browser, shop, incident
):
    visit(browser, shop, incident)
    alerts = incident[1]
    assert [one.entity for one in alerts][:2] == ["cart", HOSTILE]
    steps = browser.find_elements(By.CSS_SELECTOR, ".timeline .step")
    assert [one.get_attribute("data-alert") for one in steps] == [one.id for one in alerts]
    links = [one.get_attribute("href") for one in browser.find_elements(By.CSS_SELECTOR, ".step a")]
    assert links == [f"{shop.url}/alerts/{one.id}" for one in alerts]
    assert steps[0].text.splitlines()[1] == "first"
    assert steps[1].text.splitlines()[1].endswith("later")
    assert f"in common with those before: {HOSTILE}" in steps[1].text
    assert alerts[0].causes[0].variable in steps[0].text
    assert "shop / cart moved first, at " in texts(browser, ".note")[0]
    assert texts(browser, ".blamed .lead")[0].startswith(f"shop / {HOSTILE}: ")
    assert "Why: shop / cart depends on it, and it alerted" in texts(browser, ".blamed")[0]
    lefts = browser.execute_script(
        "return [...document.querySelectorAll('.reach i')].map((one) => parseFloat(one.style.left))"
    )
    assert lefts[0] == 0
    assert lefts == sorted(lefts)
    assert browser.title.startswith("Open incident: ")


def test_the_fleet_and_alerts_lead_to_it(browser, shop, incident):
    browser.get(shop.url)
    look(browser, "document.querySelector('[data-incident]')")
    first = browser.find_element(By.CSS_SELECTOR, "[data-incident]")
    assert first.get_attribute("data-incident") == incident[0].id
    assert first.text.splitlines()[0] == "open"
    assert f"{len(incident[1])} alerts" in first.text
    first.find_element(By.TAG_NAME, "a").click()
    look(browser, "document.querySelectorAll('.timeline .step').length > 1")
    browser.find_element(By.CSS_SELECTOR, ".timeline .step a").click()
    look(browser, "document.querySelector('.part-of a')")
    assert texts(browser, ".part-of")[0].startswith(f"One of {len(incident[1])} alerts of the")
    browser.find_element(By.CSS_SELECTOR, ".part-of a").click()
    look(browser, f"location.pathname === '/incidents/{incident[0].id}'")
    assert complaints(browser) == []


def test_names_are_only_ever_read_and_nobody_else_is_asked(browser, shop, incident):
    visit(browser, shop, incident)
    assert browser.title.endswith("smkc")
    assert not browser.find_elements(By.CSS_SELECTOR, "main img, main script, [onload], [onerror]")
    assert HOSTILE in browser.find_element(By.TAG_NAME, "main").text
    assert nameless(browser) == []
    assert complaints(browser) == []
    assert requests_elsewhere(browser, shop.url) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, shop, incident, scheme):
    media(browser, prefers_color_scheme=scheme)
    visit(browser, shop, incident)
    assert low_contrasts(browser) == []
    browser.get(shop.url)
    look(browser, "document.querySelector('[data-incident]')")
    assert low_contrasts(browser) == []


@pytest.mark.parametrize("page", ["incident", "fleet"])
def test_a_phone_shows_all_without_scrolling_sideways(browser, shop, incident, page):
    width(browser, PHONE)
    if page == "incident":
        visit(browser, shop, incident)
    else:
        browser.get(shop.url)
        look(browser, "document.querySelector('[data-incident]')")
    assert wider_than_a_phone(browser) == []


def test_an_incident_that_is_not_there_is_said_to_be_missing(browser, shop):
    browser.get(f"{shop.url}/incidents/0000000000000000")
    look(browser, "document.querySelector('main h1')?.textContent === 'Not there'")
