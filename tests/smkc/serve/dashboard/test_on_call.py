"""What somebody on call does on the pages, in a real Chromium: look closer, in their own time."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.interaction import POINTER_TOUCH
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.smkc.serve.dashboard.checks import complaints
from tests.smkc.serve.dashboard.parts import STEP, browser_marks, look, pulled_shop, width
from tests.smkc.serve.dashboard.visits import texts, visit

from smkc.serve.incidents.names import Dependencies
from smkc.serve.incidents.story import story_of
from smkc.serve.queries import graph_links, query_of_cause

pytestmark = browser_marks

FAR_AHEAD = 10**15  # milliseconds; whatever is due, is due by then

SCORE = "svg.plot[aria-label^='Score:']"

CAUSE = {
    "variable": 'cpu{pod="a"}',
    "share": 0.5,
    "kind": "level",
    "detail": "was 9",
    "jointWith": [],
    "query": 'cpu{pod="a",zone="<b>"}',
    "links": {"Prometheus": "http://prometheus.example/graph?g0.expr=cpu"},
}


@pytest.fixture
def in_new_york(browser):
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "America/New_York"})
    yield browser
    browser.execute_script("localStorage.clear()")
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def drag(browser, plot, begin, end):
    """Drag over a drawing from one share of its width to another."""
    wide = plot.size["width"]
    actions = ActionChains(browser)
    actions.move_to_element_with_offset(plot, int((begin - 0.5) * wide), 0).click_and_hold()
    actions.move_to_element_with_offset(plot, int((begin + end - 1) / 2 * wide), 0)
    actions.move_to_element_with_offset(plot, int((end - 0.5) * wide), 0).release().perform()


def test_dragging_over_a_chart_shows_that_part_alone(browser, shop):
    visit(browser, shop, "watch")
    browser.find_element(By.CSS_SELECTOR, ".ranges button[aria-label='1 hour']").click()
    now = shop.clock.now()
    drag(browser, browser.find_element(By.CSS_SELECTOR, SCORE), 0.25, 0.75)
    look(browser, "location.search.includes('span=')")
    asked = parse_qs(urlsplit(browser.current_url).query)
    assert int(asked["span"][0]) == pytest.approx(1_800_000, rel=0.02)
    assert int(asked["until"][0]) == pytest.approx(now - 900_000, abs=2 * STEP)
    assert texts(browser, ".ranges button[aria-pressed=true]") == []
    browser.refresh()
    look(browser, f"document.querySelector({SCORE!r})")
    assert texts(browser, ".ranges button[aria-pressed=true]") == []
    browser.find_element(By.XPATH, "//button[text()='Now']").click()
    look(browser, "!location.search.includes('span=')")
    assert complaints(browser) == []


def swipe(browser, plot, begin, end):
    """Drag a finger over a drawing from one share of its width to another."""
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    wide = plot.size["width"]
    actions = ActionBuilder(browser, mouse=PointerInput(POINTER_TOUCH, "finger"))
    finger = actions.pointer_action
    finger.move_to(plot, int((begin - 0.5) * wide), 0).pointer_down()
    for share in np.linspace(begin, end, 6)[1:]:
        finger.move_to(plot, int((share - 0.5) * wide), 0)
    finger.pointer_up()
    actions.perform()


def test_a_finger_that_moves_sideways_zooms_too(browser, shop):
    width(browser, 400)
    visit(browser, shop, "watch")
    browser.find_element(By.CSS_SELECTOR, ".ranges button[aria-label='1 hour']").click()
    plot = browser.find_element(By.CSS_SELECTOR, SCORE)
    swipe(browser, plot, 0.5, 0.52)  # it only points
    assert "span=" not in browser.current_url
    swipe(browser, plot, 0.25, 0.75)
    look(browser, "location.search.includes('span=')")
    asked = parse_qs(urlsplit(browser.current_url).query)
    assert int(asked["span"][0]) == pytest.approx(1_800_000, rel=0.02)
    assert complaints(browser) == []


def lines(browser):
    """Return the lines that the charts of an alert's page draw: the score's, and the causes'."""
    drawn = browser.find_elements(By.CSS_SELECTOR, "svg.plot[tabindex]")
    return [one.find_element(By.CSS_SELECTOR, ".line").get_attribute("d") for one in drawn]


@pytest.mark.parametrize("chart", [SCORE, ".cause svg.plot"])
def test_dragging_over_a_chart_of_an_alert_zooms_all_of_them(browser, shop, chart):
    visit(browser, shop, "alert")
    look(browser, "document.querySelector('.cause .plot .line')")
    before = lines(browser)
    label = browser.find_element(By.CSS_SELECTOR, SCORE).get_attribute("aria-label")
    begin = label.partition(" to ")[0]  # the end may be now, which goes on
    assert texts(browser, ".unzoom") == ["", ""]
    plot = browser.find_element(By.CSS_SELECTOR, chart)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    drag(browser, plot, 0.2, 0.8)
    same = f"document.querySelector({SCORE!r}).getAttribute('aria-label').startsWith({begin!r})"
    look(browser, f"!({same})")
    now = lines(browser)
    assert len(now) == len(before) >= 2
    assert not set(now) & set(before)
    browser.find_element(By.CSS_SELECTOR, ".unzoom button").click()
    look(browser, same)
    assert not set(lines(browser)) & set(now)
    assert texts(browser, ".unzoom") == ["", ""]
    assert complaints(browser) == []


def test_a_click_on_a_chart_is_no_drag(browser, shop):
    visit(browser, shop, "watch")
    before = browser.current_url
    ActionChains(browser).click(browser.find_element(By.CSS_SELECTOR, SCORE)).perform()
    assert browser.current_url == before or "/alerts/" in browser.current_url


def test_lines_of_the_presence_map_have_names(browser, shop):
    visit(browser, shop, "watch")
    names = texts(browser, ".names-beside li")
    assert len(names) == 9
    height = browser.find_element(By.CSS_SELECTOR, "canvas.presence").size["height"]
    beside = browser.find_element(By.CSS_SELECTOR, ".names-beside").size["height"]
    assert beside == pytest.approx(height, abs=9)


def test_times_are_the_visitors_own_or_utc(in_new_york, shop):
    browser = in_new_york
    visit(browser, shop, "alert")
    own = texts(browser, ".alert-head .sub")[0]
    lead = texts(browser, ".lead")[0]
    assert "UTC-4" in own
    assert texts(browser, "#zone")[0].startswith("UTC-")
    browser.find_element(By.CSS_SELECTOR, "#zone button").click()
    look(browser, "document.querySelector('#zone')?.textContent.startsWith('UTC (')")
    look(browser, "document.querySelector('.alert-head .sub')")
    utc = texts(browser, ".alert-head .sub")[0]
    assert "UTC-4" not in utc
    assert " UTC" in utc
    assert own != utc
    assert lead != texts(browser, ".lead")[0]
    assert complaints(browser) == []


def test_a_cause_leads_to_its_query(browser, shop):
    visit(browser, shop, "idle")
    browser.execute_async_script(
        """
        const [cause, done] = arguments;
        const main = document.querySelector("script[type=module]").src;
        import(main.replace("main.js", "causes.js")).then(({ causeList }) => {
          const list = causeList();
          list.show({ causes: [cause, { ...cause, variable: "x", query: "" }] }, new Map(), {});
          document.querySelector("main").append(list.node);
          done();
        });
        """,
        CAUSE,
    )
    assert texts(browser, ".query code") == [CAUSE["query"]]
    link = browser.find_element(By.CSS_SELECTOR, ".query a")
    assert (link.text, link.get_attribute("href")) == ("Prometheus", CAUSE["links"]["Prometheus"])
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noreferrer")
    browser.find_element(By.CSS_SELECTOR, ".query button").click()
    said = look(browser, "document.getElementById('announcer')?.textContent")
    assert said in ("Copied.", "Marked: copy it with Ctrl and C.")


@pytest.fixture(scope="module")
def pulled(tmp_path_factory):
    """The cart got slow, and then the catalog, on which it depends."""
    with pulled_shop(tmp_path_factory.mktemp("pulled")) as shop:
        shop.learn()
        shop.push(30)
        shop.push(6, slow="cart")
        shop.push(6, slow="catalog")
        yield shop


def test_a_notification_leads_to_the_very_query_in_at_most_three_clicks(browser, pulled):
    store, config = pulled.service.store, pulled.service.config
    incident, alerts = max(store.incidents(), key=lambda one: len(one[1]))
    assert {one.entity for one in alerts} == set(pulled.parts)
    messages = store.due(FAR_AHEAD, 100)
    message = next(one for one in messages if one.about == f"incident/{incident.id}")
    notification = message.content["link"]

    clicks = 1  # on the link in the notification
    browser.get(notification)
    look(browser, "document.querySelector('.blamed .query a')")
    assert texts(browser, ".blamed .lead")[0].startswith("shop / catalog: ")
    blamed = story_of(alerts, Dependencies(config.dependencies)).blamed
    assert blamed.entity == "catalog"
    query = query_of_cause(blamed.causes[0].variable, blamed, config)
    assert texts(browser, ".blamed .query code") == [query]
    assert 'service="catalog"' in query
    (link,) = browser.find_elements(By.CSS_SELECTOR, ".blamed .query a")
    page = browser.current_window_handle
    link.click()
    clicks += 1
    try:
        WebDriverWait(browser, 20).until(lambda one: len(one.window_handles) == 2)
        (graph,) = set(browser.window_handles) - {page}
        browser.switch_to.window(graph)
        look(browser, "location.href !== 'about:blank'")
        expected = graph_links(blamed, query, config)
        assert expected["Prometheus"].startswith(config.prometheus.url)
        assert [browser.current_url] == list(expected.values())
        browser.close()
    finally:
        browser.switch_to.window(page)
    assert clicks <= 3


def test_the_query_of_who_is_to_blame_can_be_copied(browser, pulled):
    incident = max(pulled.service.store.incidents(), key=lambda one: len(one[1]))[0]
    browser.get(f"{pulled.url}/incidents/{incident.id}")
    look(browser, "document.querySelector('.blamed .query button')").click()
    said = look(browser, "document.getElementById('announcer')?.textContent")
    assert said in ("Copied.", "Marked: copy it with Ctrl and C.")
    assert complaints(browser) == []
