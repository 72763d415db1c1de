"""Marked times on the pages, in a real Chromium: drawn, read, marked, ended and deleted."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from selenium.webdriver.support.ui import Select
from tests.smkc.serve.dashboard.checks import complaints, low_contrasts, nameless
from tests.smkc.serve.dashboard.parts import HOSTILE, STEP, Shop, browser_marks, look, media
from tests.smkc.serve.dashboard.test_on_call import SCORE, drag
from tests.smkc.serve.dashboard.visits import texts, visit

from smkc.serve.rows import MarkedSpan

pytestmark = browser_marks


@pytest.fixture(autouse=True)
def unmarked(shop):
    yield
    for span in spans_of(shop):
        shop.service.store.spans.delete(span.id)


def spans_of(shop):
    return shop.service.store.spans.find("shop", 0, 10**15)


def put(shop, kind, first, last, **more):
    """Mark a span by rows before now."""
    now = shop.clock.now()
    end = None if last is None else now - last * STEP
    span = MarkedSpan(watch="shop", kind=kind, start=now - first * STEP, end=end, who="ann", **more)
    return shop.service.store.spans.add(span)


def confirm(browser):
    look(browser, "document.querySelector('dialog[open]')")
    browser.find_element(By.CSS_SELECTOR, "dialog button[type=submit]").click()
    look(browser, "!document.querySelector('dialog')")


def test_spans_are_drawn_listed_and_read(browser, shop):
    put(shop, "maintenance", 40, 30, note="disk <b>swap</b>")
    put(shop, "missed", 20, 10, entity=HOSTILE)
    put(shop, "deploy", 5, 5, note="v2")
    put(shop, "missed", 8, 6, entity="cart")  # another lane's
    visit(browser, shop, "watch")
    look(browser, "document.querySelectorAll('.spans li').length === 3")
    titles = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)",
        f"{SCORE} .mark title",
    )
    assert [one.split(",")[0] for one in titles] == ["Deploy", "Missed fault", "Maintenance"]
    assert titles[2].endswith(": disk <b>swap</b>")
    assert "marked by ann" in texts(browser, ".spans li")[0]
    assert "2 missed faults" in browser.find_element(By.TAG_NAME, "main").text
    label = browser.find_element(By.CSS_SELECTOR, SCORE).get_attribute("aria-label")
    assert label.endswith("1 alert, 3 marked times")

    # The reading names what is marked there, for the pointer and for arrow keys alike.
    plot = browser.find_element(By.CSS_SELECTOR, SCORE)
    browser.execute_script("arguments[0].focus()", plot)
    for _ in range(14):
        plot.send_keys(Key.ARROW_LEFT)
    reading = browser.find_element(By.CSS_SELECTOR, ".reading").text
    assert "Missed fault" in reading
    assert "Maintenance" not in reading
    assert complaints(browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marked_times_are_named_and_stand_out(browser, shop, scheme):
    media(browser, prefers_color_scheme=scheme)
    put(shop, "maintenance", 40, None, note="goes on")
    visit(browser, shop, "watch")
    look(browser, "document.querySelector('.spans li')")
    assert nameless(browser) == []
    assert low_contrasts(browser) == []


def test_a_part_that_was_dragged_over_is_marked_as_a_missed_fault(browser, shop):
    visit(browser, shop, "watch")
    browser.find_element(By.CSS_SELECTOR, ".ranges button[aria-label='1 hour']").click()
    now = shop.clock.now()
    for field in ("mark-start", "mark-end"):
        assert browser.find_element(By.ID, field).get_attribute("value") == ""
    drag(browser, browser.find_element(By.CSS_SELECTOR, SCORE), 0.25, 0.75)
    look(browser, "document.getElementById('mark-end').value !== ''")
    browser.find_element(By.ID, "mark-note").send_keys("the disk was full")
    browser.find_element(By.ID, "mark").click()
    look(browser, "document.querySelectorAll('.spans li').length === 1")
    (span,) = spans_of(shop)
    assert (span.kind, span.entity, span.who, span.note) == (
        "missed",
        HOSTILE,
        "local",
        "the disk was full",
    )
    hour = 3_600_000
    assert span.start == pytest.approx(now - 0.75 * hour, abs=60_000)
    assert span.end == pytest.approx(now - 0.25 * hour, abs=60_000)
    look(browser, f"document.querySelector({SCORE!r} + ' .mark.missed')")
    browser.find_element(By.ID, f"delete-{span.id}").click()
    confirm(browser)
    look(browser, "!document.querySelector('.spans li')")
    assert spans_of(shop) == []
    assert complaints(browser) == []


def test_maintenance_begins_now_for_the_whole_watch_and_is_ended(browser, shop):
    visit(browser, shop, "watch")
    Select(browser.find_element(By.ID, "mark-kind")).select_by_value("maintenance")
    browser.find_element(By.ID, "mark-whole").click()
    browser.find_element(By.ID, "mark").send_keys(Key.ENTER)
    look(browser, "document.querySelectorAll('.spans li').length === 1")
    (span,) = spans_of(shop)
    assert (span.kind, span.entity, span.end) == ("maintenance", None, None)
    assert span.start == shop.clock.now()
    browser.find_element(By.ID, f"end-{span.id}").click()
    confirm(browser)
    look(browser, f"!document.getElementById('end-{span.id}')")
    (ended,) = spans_of(shop)
    assert ended.end == shop.clock.now()


def test_what_is_refused_is_said_and_nothing_is_lost(browser, shop):
    visit(browser, shop, "watch")
    browser.find_element(By.ID, "mark-note").send_keys("kept")
    browser.execute_script(
        "document.getElementById('mark-start').value = '2026-01-02T00:00:00';"
        "document.getElementById('mark-end').value = '2026-01-01T00:00:00'"
    )
    browser.find_element(By.ID, "mark").click()
    said = look(browser, "document.querySelector('.marking .refused').textContent")
    assert "before its start" in said
    assert browser.find_element(By.ID, "mark-note").get_attribute("value") == "kept"
    assert spans_of(shop) == []


def test_an_alert_in_maintenance_is_shown_as_muted(browser, tmp_path):
    with Shop(tmp_path) as shop:
        shop.learn()
        shop.push(10)
        put(shop, "maintenance", 8, None)  # the clock may be some rows ahead of the latest one
        shop.push(6, slow="cart")
        (alert,) = shop.service.store.alerts(entity="cart")
        assert alert.record.is_muted
        browser.get(shop.url)
        look(browser, "document.querySelector('.alerts [data-alert] .state.muted')")
        look(browser, "document.querySelector('.lanes .doing').textContent === 'muted'")
        assert "No open alert" in texts(browser, "#summary")[0]
        browser.get(f"{shop.url}/alerts/{alert.record.id}")
        look(browser, "document.querySelector('.seen-by')")
        assert texts(browser, ".seen-by") == ["It began during maintenance: nobody was notified."]


def test_each_acknowledgement_is_shown_newest_first(browser, shop):
    visit(browser, shop, "alert")
    for number, button in enumerate(["acknowledge", "acknowledge-again"]):
        look(browser, f"document.getElementById('{button}')")
        browser.find_element(By.ID, button).click()
        look(browser, "document.querySelector('dialog[open] textarea') === document.activeElement")
        browser.switch_to.active_element.send_keys(f"note {number}")
        confirm(browser)
    look(browser, "document.querySelectorAll('.seen-by').length === 2")
    assert [one.rpartition(": ")[2] for one in texts(browser, ".seen-by")] == ["note 1", "note 0"]
    assert complaints(browser) == []
