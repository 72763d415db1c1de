"""A shop that was calm, in trouble and calm again, and a browser to look at it."""

import pytest
from tests.smkc.serve.dashboard.parts import HOSTILE, Shop, chromium


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def browser(driver):
    """The browser as if it were new; a test that ends without a complaint in it has passed."""
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    driver.get_log("browser")
    driver.get_log("performance")
    yield driver
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    driver.get("about:blank")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The hostile part has an alert that is over, the cart one that goes on."""
    with Shop(tmp_path_factory.mktemp("shop")) as shop:
        shop.learn()
        shop.push(30)
        shop.push(20, slow=HOSTILE)
        shop.push(40, lost="cart")
        shop.push(6, slow="cart")
        yield shop
