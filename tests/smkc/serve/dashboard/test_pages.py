"""The pages in a real Chromium, drawn from a real service that was pushed a shop's telemetry."""

import json
import re

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys as Key
from tests.smkc.serve.dashboard.checks import (
    complaints,
    low_contrasts,
    nameless,
    requests_elsewhere,
)
from tests.smkc.serve.dashboard.parts import (
    HOSTILE,
    HOSTILE_POD,
    NOON,
    STEP,
    browser_marks,
    look,
)
from tests.smkc.serve.dashboard.visits import PAGES, address, texts, visit

from smkc.plot import wording

pytestmark = browser_marks


def test_the_fleet_puts_trouble_first(browser, shop):
    visit(browser, shop, "fleet")
    assert texts(browser, "h1") == ["Fleet"]
    lanes = texts(browser, ".lanes .cell.name")
    assert lanes == ["shop / cart", "idle", f"shop / {HOSTILE}"]
    states = texts(browser, ".lanes .cell.doing")
    assert states[:2] == ["alert", "no rows yet"]
    strip = browser.find_element(By.CSS_SELECTOR, ".lanes .lane .plot")
    assert "score now" in strip.get_attribute("aria-label")
    assert strip.find_elements(By.CSS_SELECTOR, ".threshold")
    assert "1 recording with an open alert" in texts(browser, "#summary")[0]
    assert len(texts(browser, ".alerts .alert-row")) == 1 + len(shop.service.store.alerts())


def test_the_fleet_is_filtered_by_name(browser, shop):
    visit(browser, shop, "fleet")
    browser.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("CART")
    assert texts(browser, ".lanes .cell.name") == ["shop / cart"]
    browser.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("nowhere")
    assert texts(browser, ".lanes") == ["No recording has this in its name."]


def test_a_watch_shows_scores_evidences_and_who_was_there(browser, shop):
    visit(browser, shop, "watch")
    assert texts(browser, "h1") == [f"shop / {HOSTILE}"]
    score = browser.find_element(By.CSS_SELECTOR, "svg.plot[aria-label^='Score:']")
    assert "1 alert" in score.get_attribute("aria-label")
    assert len(score.find_elements(By.CSS_SELECTOR, "a .band")) == 1
    assert "nats" not in browser.find_element(By.TAG_NAME, "main").text
    browser.find_element(By.CSS_SELECTOR, "details.evidence-details summary").click()
    assert "In nats" in texts(browser, "details > .note")[0]
    evidences = texts(browser, ".strip-head b")
    assert {"level", "jump", "relation"} <= set(evidences)
    presence = browser.find_element(By.CSS_SELECTOR, "canvas.presence")
    assert "Presence of 9 variables" in presence.get_attribute("aria-label")
    assert len(texts(browser, ".alerts .alert-row")) == 2


def test_no_gaps_are_shown_where_every_row_was_there(browser, shop):
    browser.get(f"{address(shop, 'watch')}&range=1h")
    presence = look(browser, "document.querySelector('canvas.presence[aria-label]')")
    shades = browser.execute_script(
        """const canvas = arguments[0];
           const line = canvas.getContext("2d").getImageData(0, 0, canvas.width, 1).data;
           return [...line].filter((_, i) => i % 4 === 0);""",
        presence,
    )
    assert len(shades) == 3_600_000 // STEP
    assert len(set(shades[:-10])) == 1  # of the latest the row may not be there yet


def test_a_watch_is_zoomed_by_keyboard(browser, shop):
    visit(browser, shop, "watch")
    before = look(browser, "document.querySelector('svg.plot').getAttribute('aria-label')")
    hour = browser.find_element(By.CSS_SELECTOR, ".ranges button[aria-label='1 hour']")
    hour.send_keys(Key.ENTER)
    look(browser, f"document.querySelector('svg.plot').getAttribute('aria-label') !== {before!r}")
    pressed = texts(browser, ".ranges button[aria-pressed=true]")
    assert pressed == ["1h", "Now"]
    assert "range=1h" in browser.current_url
    assert browser.switch_to.active_element.text == "1h"
    browser.find_element(By.XPATH, "//button[text()='Earlier']").send_keys(Key.SPACE)
    assert "until=" in browser.current_url
    assert texts(browser, ".ranges button[aria-pressed=true]") == ["1h"]


def test_a_chart_is_read_by_arrow_keys(browser, shop):
    visit(browser, shop, "watch")
    plot = browser.find_element(By.CSS_SELECTOR, "svg.plot[aria-label^='Score:']")
    browser.execute_script("arguments[0].focus()", plot)
    browser.switch_to.active_element.send_keys(Key.ARROW_LEFT)
    reading = look(browser, "document.querySelector('.reading').textContent")
    assert "score 0." in reading
    browser.switch_to.active_element.send_keys(Key.ARROW_LEFT)
    look(browser, f"document.querySelector('.reading').textContent !== {reading!r}")


def test_an_alert_says_what_happened_and_who_did_it(browser, shop):
    visit(browser, shop, "alert")
    record = shop.service.store.alerts(entity=HOSTILE)[0].record
    assert "behaved unlike before" in texts(browser, ".story")[0]
    assert "1 is the threshold" in texts(browser, ".story")[0]
    names = texts(browser, ".cause .name")
    assert names == [cause.variable for cause in record.causes[: len(names)]]
    assert names[0].startswith(("cpu", "latency", "queue"))
    assert record.causes_at == record.peak
    worst = wording.clock(np.datetime64(record.peak, "ms")).partition(" ")[2]
    assert (
        f"of what made {worst} strange, the worst moment." in texts(browser, "section > .note")[0]
    )
    detail = re.sub(r"T(\d\d:\d\d)(?::00|(:\d\d))Z", r" \1\2", record.causes[0].detail)
    assert "Z" not in detail
    assert texts(browser, ".lead") == [f"{names[0]} {detail}"]
    browser.find_element(By.CSS_SELECTOR, "details.evidence-details summary").click()
    assert texts(browser, "details > .note")[0].startswith(f"At the worst moment, {worst}, in nats")
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.bar i')].map((one) => parseFloat(one.style.width))"
    )
    shares = [100 * cause.share for cause in record.causes[: len(widths)]]
    assert widths == pytest.approx(shares, abs=0.06)
    assert widths == sorted(widths, reverse=True)
    for cause in browser.find_elements(By.CSS_SELECTOR, ".cause:not(.lesser)"):
        assert cause.find_elements(By.CSS_SELECTOR, ".plot .band")
        assert cause.find_elements(By.CSS_SELECTOR, ".plot .line")
        assert cause.find_elements(By.CSS_SELECTOR, ".plot .usual")
        plot = cause.find_element(By.CSS_SELECTOR, ".plot")
        assert ", usually " in plot.get_attribute("aria-label")
        browser.execute_script("arguments[0].focus()", plot)
        plot.send_keys(Key.ARROW_LEFT)
        assert ", usually " in cause.find_element(By.CSS_SELECTOR, ".reading").text
    loud = texts(browser, ".loud li")
    spoke = sum(nats >= 1 for nats in record.evidences.values())
    assert len(loud) == spoke > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({}, "strange, the worst moment so far.", id="the worst so far"),
        pytest.param(
            {"causesAt": 0},
            "of what made 00:00 strange, when the score was 1.50. It rose to 2.00 at 00:01; who "
            "did that is found out some rows later.",
            id="before the worst",
        ),
        pytest.param(
            {"causesAt": 0, "isOpen": False},
            "who did that cannot be told any more.",
            id="the worst was never explained",
        ),
    ],
)
def test_causes_name_the_moment_that_they_are_of(browser, shop, change, words):
    visit(browser, shop, "idle")
    alert = {"isOpen": True, "peak": 60_000, "anomaly": 2.0}
    alert |= {"causesAt": 60_000, "causesAnomaly": 1.5} | change
    note = browser.execute_async_script(
        """const [alert, done] = arguments;
           const folder = document.querySelector("script[src]").src.replace("main.js", "words.js");
           import(folder).then((words) => done(words.blameNote(alert)));""",
        alert,
    )
    assert note.endswith(words)


def test_a_watch_names_what_is_loudest_now(browser, shop):
    browser.get(f"{shop.url}/watches/shop?entity=cart")
    look(browser, "document.querySelectorAll('.loudest li').length > 1")
    (status,) = (one for one in shop.service.watches()[0].lanes if one.entity == "cart")
    names = texts(browser, ".loudest .name")
    assert names == [one.variable for one in status.loudest]
    assert len(names) <= 5
    said = texts(browser, ".loudest .detail")[0]
    assert said.startswith("now ")
    assert ", usually " in said
    assert "row of" in said


TEST = {
    "verdict": "partly",
    "planted": 24,
    "caught": 18,
    "kinds": {"level shift": {"planted": 21, "caught": 17}, "spike": {"planted": 3, "caught": 1}},
    "rows": 1436,
    "reason": "",
    "remedy": "",
}


@pytest.mark.parametrize(
    ("test", "words"),
    [
        pytest.param(None, "It is not known yet", id="not yet"),
        pytest.param(TEST, "18 of 24 large anomalies, planted in", id="some"),
        pytest.param(TEST, "By kind: level shift 17 of 21, spike 1 of 3.", id="by kind"),
        pytest.param(
            TEST | {"reason": "spikes are missed: 1 of 3", "remedy": "a = 2 would catch 20 of 24"},
            "Why not more: spikes are missed: 1 of 3. a = 2 would catch 20 of 24.",
            id="why not more",
        ),
        pytest.param(
            TEST | {"caught": 24, "reason": "false alarms: 9%"},
            "Even so: false alarms: 9%.",
            id="all, with false alarms",
        ),
        pytest.param(
            {"verdict": "unknown", "reason": "it took long"}, "not known: it took", id="unknown"
        ),
    ],
)
def test_what_it_would_catch_is_told(browser, shop, test, words):
    visit(browser, shop, "watch")
    assert texts(browser, ".self-test")[0].startswith("It is not known yet")
    story = browser.execute_async_script(
        """const [test, done] = arguments;
           const folder = document.querySelector("script[src]").src.replace("main.js", "words.js");
           import(folder).then((words) => done(words.selfTestStory(test)));""",
        test,
    )
    assert words in story


@pytest.mark.parametrize("page", PAGES)
def test_names_are_only_ever_read(browser, shop, page):
    visit(browser, shop, page)
    assert browser.title.endswith("smkc")
    assert not browser.find_elements(By.CSS_SELECTOR, "main img, main script, [onload], [onerror]")
    if page in ("fleet", "watch", "alert"):
        assert HOSTILE in browser.find_element(By.TAG_NAME, "main").text
    if page == "alert":
        assert HOSTILE_POD.replace('"', '\\"') in browser.find_element(By.TAG_NAME, "main").text


@pytest.mark.parametrize("page", PAGES)
def test_pages_complain_of_nothing_and_ask_nobody_else(browser, shop, page):
    visit(browser, shop, page)
    assert complaints(browser) == []
    assert requests_elsewhere(browser, shop.url) == []


def test_the_checks_notice_what_they_should(browser, shop):
    visit(browser, shop, "idle")
    browser.execute_async_script(
        """const done = arguments[0];
           const pale = document.createElement("button");
           pale.style.color = "#aaaaaa";
           pale.append("pale");
           document.querySelector("main").append(pale, document.createElement("button"));
           fetch("http://outside.invalid/x").catch(() => done());"""
    )
    assert complaints(browser)
    assert len(low_contrasts(browser)) == 1
    assert len(nameless(browser)) == 1


def test_words_agree_with_those_of_the_report(browser, shop):
    visit(browser, shop, "idle")
    spans = [1_000, 45_000, 60_000, 1_234_000, 3_600_000, 5_400_000, 180_000_000, 2_000_000_000]
    shares = [0.0, 0.004, 0.034, 0.0999, 0.1, 0.5, 1.0]
    chances = [1e-9, 0.0004, 0.01, 0.3, 0.7]
    moments = [NOON, NOON + 90_000, 0]
    words = browser.execute_async_script(
        """const [spans, shares, chances, moments, done] = arguments;
           const folder = document.querySelector("script[src]").src.replace("main.js", "words.js");
           import(folder).then((words) => done([spans.map(words.duration),
             shares.map(words.percent), chances.map(words.odds), moments.map(words.clock)]));""",
        spans,
        shares,
        chances,
        moments,
    )
    start = np.datetime64(0, "ms")
    assert words[0] == [wording.duration(start, start + np.timedelta64(one, "ms")) for one in spans]
    assert words[1] == [wording.percent(one) for one in shares]
    expected = [wording.odds(one) for one in chances]
    told = [one.replace("time step", "row").replace("this high", "as high") for one in expected]
    assert words[2] == told
    assert words[3] == [wording.clock(np.datetime64(one, "ms")) for one in moments]


def test_figures_are_short_and_nothing_is_less_than_nothing(browser, shop):
    visit(browser, shop, "idle")
    words = browser.execute_async_script(
        """const done = arguments[0];
           const folder = document.querySelector("script[src]").src.replace("main.js", "words.js");
           import(folder).then(({ figure }) =>
             done([-0, 0, null, 1234, -2.5, 12345.678, 4e9, 0.00012].map(figure)));"""
    )
    assert words == ["0", "0", "-", "1,234", "-2.5", "12.3k", "4G", "1.2e-4"]


@pytest.mark.parametrize(
    "path", ["/watches/nothing", "/alerts/0000000000000000", "/watches/shop?entity=nobody"]
)
def test_what_is_not_there_is_said_to_be_missing(browser, shop, path):
    browser.get(shop.url + path)
    look(browser, "document.querySelector('main h1')?.textContent === 'Not there'")
    assert browser.find_element(By.LINK_TEXT, "Back to the fleet")


def test_scores_are_asked_for_only_where_there_are_rows(browser, shop):
    visit(browser, shop, "fleet")
    asked = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert sum("/scores" in one for one in asked) == 2
    assert not any("/watches/idle/" in one for one in asked)


def test_signs_that_hide_or_turn_others_are_shown_escaped(browser, shop):
    visit(browser, shop, "fleet")
    shown = browser.execute_async_script(
        """
        const done = arguments[0];
        const main = document.querySelector("script[type=module]").src;
        import(main.replace("main.js", "dom.js")).then(({ byId, fill, make, say }) => {
          const name = "disk\\u202egpj\\u2066\\u200b\\u3164\\ud83d\\ude00";
          const node = make("p", { title: name, "data-variable": name }, name);
          fill(node, name);
          const other = make("p");
          say(other, name);
          done([node.textContent, node.title, other.textContent, node.dataset.variable.length]);
        });
        """
    )
    expected = "disk\\u202egpj\\u2066\\u200b\\u3164\U0001f600"
    assert shown == [expected, expected, expected, 13]
