"""Visits of the dashboard's pages, each until it is drawn, and what they say.

In: a browser, the made-up shop and the name of a page. Out: the page as it is drawn.
"""

from urllib.parse import quote

from selenium.webdriver.common.by import By
from tests.smkc.serve.dashboard.parts import HOSTILE, look

PAGES = ("fleet", "watch", "idle", "alert", "login")


def address(shop, page):
    """Where a page is; the watch and the alert are those of the part with the hostile name."""
    alerts = shop.service.store.alerts(entity=HOSTILE)
    return (
        shop.url
        + {
            "fleet": "/",
            "watch": f"/watches/shop?entity={quote(HOSTILE)}",
            "idle": "/watches/idle",
            "alert": f"/alerts/{alerts[0].record.id}",
            "login": "/login",
        }[page]
    )


def visit(browser, shop, page):
    """Open a page and wait until it is drawn."""
    browser.get(address(shop, page))
    look(browser, "document.readyState === 'complete' && !!document.querySelector('main h1')")
    if page != "login":
        look(browser, "document.getElementById('connection').dataset.state === 'live'")
    drawn = {
        "fleet": ".lane .plot .line",
        "watch": "canvas.presence[aria-label]",
        "alert": "canvas.evidence-strip[aria-label]",
    }
    if page in drawn:
        look(browser, f"document.querySelector({drawn[page]!r})")


def texts(browser, selector):
    return [one.text for one in browser.find_elements(By.CSS_SELECTOR, selector)]
