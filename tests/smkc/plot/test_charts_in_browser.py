"""The report's charts in a real Chromium: painted, readable under the pointer, zoomed together."""

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from tests.smkc.plot.conftest import HOSTILE
from tests.smkc.serve.dashboard.parts import CHROMEDRIVER, chromium, look, media, width

from smkc import plot

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMEDRIVER is None, reason="no Chromium here; install one to see it"),
]

# How many colours each canvas of the page has.
COLOURS = """[...document.querySelectorAll(".chart canvas")].map((one) => {
  const data = one.getContext("2d").getImageData(0, 0, one.width, one.height).data;
  return new Set(new Uint32Array(data.buffer)).size;
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(browser, watched, tmp_path):
    """The report."""
    address = plot.report(tmp_path / "report.html", watched.scored).as_uri()
    browser.get(address)
    look(browser, "document.querySelectorAll('.chart canvas').length >= 4")
    return browser


def chart(page, name):
    return page.find_element(By.CSS_SELECTOR, f'[data-chart="{name}"]')


def test_every_chart_is_painted_light_and_dark(page):
    light = page.execute_script(f"return {COLOURS}")
    assert min(light) > 5
    media(page, prefers_color_scheme="dark")
    look(page, f"JSON.stringify({COLOURS}) !== {str(light).replace(' ', '')!r}")
    assert min(page.execute_script(f"return {COLOURS}")) > 5
    media(page)


def test_charts_fit_a_phone(page):
    width(page, 380)
    look(
        page,
        "[...document.querySelectorAll('.chart canvas')].every("
        "(one) => one.getBoundingClientRect().width <= 380)",
    )
    assert page.execute_script("return document.documentElement.scrollWidth") <= 380
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(
    ("name", "words"), [("score", "score"), ("cardinality", "variables observed 4")]
)
def test_the_pointer_reads_a_chart(page, name, words):
    ActionChains(page).move_to_element(chart(page, name)).perform()
    reading = look(page, f"document.querySelector('[data-chart={name}] .reading').textContent")
    assert reading.startswith("2026-01-05 ")
    assert words in reading


def test_the_pointer_reads_who_was_there(page):
    ActionChains(page).move_to_element(chart(page, "presence")).perform()
    reading = look(page, "document.querySelector('[data-chart=presence] .reading').textContent")
    assert "observed in 100% of the rows" in reading
    assert reading.split(",")[0] in ("cpu", "mem", "disk") or HOSTILE[:20] in reading


def test_charts_over_the_whole_time_zoom_together_and_back(page):
    def shown(name):
        box = chart(page, name).find_element(By.CSS_SELECTOR, ".u-over")
        ActionChains(page).move_to_element_with_offset(
            box, -box.size["width"] // 2 + 3, 0
        ).perform()
        return look(page, f"document.querySelector('[data-chart={name}] .reading').textContent")

    before = shown("cardinality")
    box = chart(page, "score").find_element(By.CSS_SELECTOR, ".u-over")
    drag = ActionChains(page).move_to_element(box).click_and_hold().move_by_offset(150, 0)
    drag.release().perform()
    assert shown("cardinality") > before  # a later time
    ActionChains(page).double_click(box).perform()
    assert shown("cardinality") == before
