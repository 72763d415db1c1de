"""A lasting change on a watch's page, in a real Chromium: shown, refused, and gone."""

import pytest
from selenium.webdriver.common.by import By
from tests.smkc.serve.dashboard.checks import complaints, low_contrasts, nameless
from tests.smkc.serve.dashboard.parts import Shop, browser_marks, look
from tests.smkc.serve.dashboard.visits import texts

from smkc.evidence.settings import SETTINGS

pytestmark = browser_marks


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A shop one part of which has been slow for so long that this is a new normal."""
    with Shop(tmp_path_factory.mktemp("changed")) as shop:
        shop.learn()
        shop.push(10)
        shop.push(SETTINGS.lasting_rows + 20, slow="cart")
        yield shop


def listed(shop):
    (lane,) = (one for one in shop.service.watches()[0].lanes if one.entity == "cart")
    return [one.variable for one in lane.new_normals]


def test_a_lasting_change_is_shown_and_can_be_refused(browser, changed):
    expected = listed(changed)
    assert any("latency" in name for name in expected)
    browser.get(f"{changed.url}/watches/shop?entity=cart")
    look(browser, "document.querySelectorAll('.new-normals button').length > 1")
    look(browser, "document.querySelector('canvas.presence[aria-label]')")
    assert texts(browser, ".new-normals .name") == expected
    assert "changed " in texts(browser, ".new-normals .detail")[0]
    assert not low_contrasts(browser)
    assert not nameless(browser)
    browser.find_elements(By.CSS_SELECTOR, ".new-normals button")[1].click()
    look(browser, f"document.querySelectorAll('.new-normals .name').length < {len(expected)}")
    assert listed(changed) == texts(browser, ".new-normals .name") == expected[1:]
    assert not complaints(browser)
