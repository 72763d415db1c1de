"""Pictures of all pages, at the width of a desk and of a phone, to be looked at by a person.

In: a folder. Out: ``fleet-desk.webp``, ``fleet-phone.webp`` and so on, in that folder. A shop of
two parts, of which one depends on the other, gets slow while Chromium looks at it::

    python -m tests.smkc.serve.dashboard.pictures FOLDER
"""

import base64
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from tests.smkc.serve.dashboard.parts import STEP, PulledShop, chromium, look, pulled_shop, width

from smkc.serve.rows import MarkedSpan

USAGE = "usage: python -m tests.smkc.serve.dashboard.pictures FOLDER"

WIDTHS = {"desk": 1280, "phone": 390}
TALLEST = 8000  # pixels
QUALITY = 60  # percent, of the WebP encoder
SECONDS_TO_DRAW = 2.0
CALM_ROWS = 130  # before the first trouble
SECONDS_PER_TESTED_ROW = 1.0  # while the self-tests run


def take_pictures(folder: Path) -> None:
    """Write two pictures of each page."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        tempfile.TemporaryDirectory() as profile,
        pulled_shop(Path(data), self_test=True) as shop,
        chromium(Path(profile)) as browser,
    ):
        _live(shop)
        for name, path in _pages(shop).items():
            for device, pixels in WIDTHS.items():
                width(browser, pixels)
                browser.get(shop.url + path)
                look(browser, "!!document.querySelector('main h1')")
                time.sleep(SECONDS_TO_DRAW)
                (folder / f"{name}-{device}.webp").write_bytes(_picture(browser, pixels))


def _live(shop: PulledShop) -> None:
    """Let an afternoon pass: a self-test, a trouble that is over, marked times, one that is not."""
    shop.learn()
    for _ in range(CALM_ROWS):
        shop.push(1)
        if any(lane.self_test is None for lane in shop.service.watches()[0].lanes):
            time.sleep(SECONDS_PER_TESTED_ROW)
    shop.push(12, slow="cart")
    shop.push(40)
    _mark(shop, "maintenance", 20, "the backup moves to another disk")
    shop.push(30)
    _mark(shop, "deploy", 0, "catalog 2.4")
    shop.push(4)
    shop.push(3, slow="cart")
    shop.push(6, slow="catalog")


def _mark(shop: PulledShop, kind: str, rows: int, note: str) -> None:
    """Mark the latest rows."""
    end = shop.clock.now()
    start = end - rows * STEP
    span = MarkedSpan(watch="shop", kind=kind, start=start, end=end, who="anna", note=note)
    shop.service.store.spans.add(span)


def _pages(shop: PulledShop) -> dict[str, str]:
    """Return the path of each page by name."""
    store = shop.service.store
    incident, alerts = max(store.incidents(), key=lambda one: len(one[1]))
    blamed = next(one for one in alerts if one.entity == "catalog")
    return {
        "fleet": "/",
        "watch": "/watches/shop?entity=catalog&range=1h",
        "incident": f"/incidents/{incident.id}",
        "alert": f"/alerts/{blamed.id}",
        "login": "/login",
    }


def _picture(browser: webdriver.Chrome, pixels: int) -> bytes:
    """Return the whole page, as far as it is not too tall, as WebP."""
    tall = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": pixels, "height": min(tall, TALLEST), "scale": 1}
    answer = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"format": "webp", "quality": QUALITY, "clip": clip, "captureBeyondViewport": True},
    )
    return base64.b64decode(answer["data"])


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(USAGE)
    take_pictures(Path(sys.argv[1]))
