"""The pages for all who use them: by ear, by keyboard, on a phone, in the dark, without motion."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from tests.smkc.serve.dashboard.checks import PHONE, low_contrasts, nameless, wider_than_a_phone
from tests.smkc.serve.dashboard.parts import browser_marks, media, width
from tests.smkc.serve.dashboard.visits import PAGES, visit

pytestmark = browser_marks


@pytest.mark.parametrize("page", PAGES)
def test_everything_has_a_name_for_those_who_listen(browser, shop, page):
    visit(browser, shop, page)
    assert nameless(browser) == []
    headings = browser.find_elements(By.CSS_SELECTOR, "h1")
    assert len(headings) == 1
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_text_stands_out_from_its_ground(browser, shop, page, scheme):
    media(browser, prefers_color_scheme=scheme)
    visit(browser, shop, page)
    assert low_contrasts(browser) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_phone_shows_all_without_scrolling_sideways(browser, shop, page):
    width(browser, PHONE)
    visit(browser, shop, page)
    assert wider_than_a_phone(browser) == []


def test_all_is_reached_by_keyboard_and_seen_to_be(browser, shop):
    visit(browser, shop, "alert")
    browser.find_element(By.TAG_NAME, "body").send_keys(Key.TAB)
    first = browser.switch_to.active_element
    assert first.text == "Skip to content"
    assert first.location["y"] >= 0
    first.send_keys(Key.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "content"
    reached = set()
    for _ in range(40):
        browser.switch_to.active_element.send_keys(Key.TAB)
        now = browser.switch_to.active_element
        outline = now.value_of_css_property("outline-style")
        if now.tag_name != "body":
            assert outline != "none", now.get_attribute("outerHTML")
        reached.add(now.text if now.tag_name in ("a", "button") else now.tag_name)
    assert {"Acknowledge", "This was normal", "Metrics", "svg"} <= reached


def test_nothing_moves_for_those_who_asked_for_that(browser, shop):
    media(browser, prefers_reduced_motion="reduce")
    visit(browser, shop, "fleet")
    moving = browser.execute_script("return document.getAnimations().length")
    assert moving == 0
