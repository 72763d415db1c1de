"""What can be checked of any page: what it says, asks for, names, and how its text stands out."""

import json
from typing import Any

from selenium import webdriver

# Roles that mean nothing to a listener without a name.
NAMED = {
    "button",
    "checkbox",
    "combobox",
    "figure",
    "heading",
    "image",
    "img",
    "link",
    "navigation",
    "searchbox",
    "table",
    "textbox",
}

PHONE = 400  # pixels across

# Contrast of text to its ground, WCAG 2.2, 1.4.3: small and large.
CONTRASTS = """
const channel = (part) => {
  const c = part / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parts = (text) => {
  const found = text.match(/[\\d.]+/g).map(Number);
  return [...found.slice(0, 3), found.length > 3 ? found[3] : 1];
};
const over = ([r, g, b, a], ground) => [r, g, b].map((one, i) => a * one + (1 - a) * ground[i]);
const groundOf = (node) => {
  const layers = [];
  for (let one = node; one; one = one.parentElement) {
    layers.push(parts(getComputedStyle(one).backgroundColor));
  }
  return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255]);
};
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !node.checkVisibility() || node.closest("noscript, :disabled")) continue;
  const style = getComputedStyle(node);
  const ground = groundOf(node);
  const ink = over(parts(node.closest("svg") ? style.fill : style.color), ground);
  const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
  const contrast = (a + 0.05) / (b + 0.05);
  const isLarge = parseFloat(style.fontSize) >= 24;
  if (contrast < (isLarge ? 3 : 4.5)) {
    low.push(`${contrast.toFixed(2)}: ${text.slice(0, 60)}`);
  }
}
return low;
"""


def complaints(driver: webdriver.Chrome) -> list[str]:
    """What the page's console says of faults, refused loads and broken policies."""
    return [one["message"] for one in driver.get_log("browser") if one["level"] != "INFO"]


def requests_elsewhere(driver: webdriver.Chrome, origin: str) -> list[str]:
    """Addresses of other origins that a page asked for."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    assert any(one.startswith(origin) for one in found)
    return [one for one in found if not one.startswith((f"{origin}/", "about:", "data:"))]


def nameless(driver: webdriver.Chrome) -> list[str]:
    """Parts of the browser's own accessibility tree that have a role and lack a name."""
    tree: dict[str, Any] = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
    nodes = [node for node in tree["nodes"] if not node.get("ignored")]
    assert len(nodes) > 10
    return [
        f"{node['role']['value']} {node.get('backendDOMNodeId')}"
        for node in nodes
        if node["role"]["value"].lower() in NAMED
        and not node.get("name", {}).get("value", "").strip()
    ]


def low_contrasts(driver: webdriver.Chrome) -> list[str]:
    """Texts that do not stand out enough from what is behind them."""
    return list(driver.execute_script(CONTRASTS))


def wider_than_a_phone(driver: webdriver.Chrome) -> list[str]:
    """Classes of what lies beyond the right edge of a page that is as wide as a phone."""
    assert driver.execute_script("return document.documentElement.scrollWidth") == PHONE
    return list(
        driver.execute_script(
            """const [edge] = arguments;
               return [...document.querySelectorAll("main *:not(svg *)")]
                 .filter((one) => one.getBoundingClientRect().right > edge + 1)
                 .map((one) => one.className)""",
            PHONE,
        )
    )
