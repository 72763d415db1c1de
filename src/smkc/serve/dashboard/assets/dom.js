// Elements: the one way in which anything gets onto a page.
//
// Text goes in as text, never as markup, so a name such as "<img onerror=...>" is only ever read, and
// signs that hide or turn others are written out.

import { visible } from "./words.js";

// Attributes that people read or hear; others are for the page itself.
const READ = new Set(["aria-label", "placeholder", "title"]);

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element; properties are attributes, "on" holds listeners, null is left out. */
export function make(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** Make an element of a drawing. */
export function draw(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** Put these children into a node instead of what it holds; who had the focus keeps it. */
export function fill(node, ...children) {
  const active = document.activeElement;
  const isInside = active !== node && node.contains(active);
  const given = children.flat().filter((child) => child !== null && child !== undefined);
  node.replaceChildren(...given.map(seen));
  if (isInside && document.activeElement !== active) {
    const heir = active.isConnected ? active : likeliest(node, active);
    heir?.focus({ preventScroll: true });
  }
  return node;
}

/** The element that stands where another stood: of the same kind, name and words. */
function likeliest(node, gone) {
  const marks = (one) => [one.id, one.getAttribute("href"), one.textContent].join("\n");
  return [...node.querySelectorAll(gone.tagName)].find((one) => marks(one) === marks(gone));
}

/** A child of a node: an element as it is, anything else as text. */
const seen = (child) => (child instanceof Node ? child : visible(child));

/** Write a text where it is another, so that nothing is laid out anew for nothing. */
export function say(node, text) {
  const shown = visible(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/** Name an element for people who listen. */
export function label(node, text) {
  node.setAttribute("aria-label", visible(text));
}

/** Find an element by its id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Set one property of an element's style; a content policy allows this and forbids attributes. */
export function styled(node, name, value) {
  node.style.setProperty(name, value);
  return node;
}

/** Call back when an element's width becomes another; at first when it is laid out. */
export function onWidth(node, callback) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(node.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      callback(width);
    }
  }).observe(node);
}

/** Say something to people who listen rather than look. */
export function announce(text) {
  let region = byId("announcer");
  if (!region) {
    region = make("p", { id: "announcer", class: "unseen", role: "status" });
    document.body.append(region);
  }
  region.textContent = visible(text);
}

function filled(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [kind, listener] of Object.entries(value)) node.addEventListener(kind, listener);
    } else {
      const text = READ.has(name) ? visible(value) : String(value);
      node.setAttribute(name, value === true ? "" : text);
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.append(seen(child));
  }
  return node;
}
