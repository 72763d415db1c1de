// Elements: the functions with which all scripts create elements.
//
// Strings are inserted as text, never as markup, so a name such as "<img onerror=...>" is harmless.
// Invisible characters and those that change the text direction are shown as escapes.

import { visible } from "./words.js";

// Attributes that are shown to visitors or read aloud.
const READ = new Set(["aria-label", "placeholder", "title"]);

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element; properties are attributes, "on" holds listeners, null is skipped. */
export function make(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** Make an SVG element. */
export function draw(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** Replace the children of a node; the focus stays on the same or the equivalent element. */
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

/** Return the element with the same tag, id, link and text as one that was removed. */
function likeliest(node, gone) {
  const marks = (one) => [one.id, one.getAttribute("href"), one.textContent].join("\n");
  return [...node.querySelectorAll(gone.tagName)].find((one) => marks(one) === marks(gone));
}

/** Return a child for a node: an element as it is, anything else as text. */
const seen = (child) => (child instanceof Node ? child : visible(child));

/** Set the text of a node if it differs, to avoid needless layout. */
export function say(node, text) {
  const shown = visible(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/** Set the name of an element for screen readers. */
export function label(node, text) {
  node.setAttribute("aria-label", visible(text));
}

/** Find an element by its id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Set a style property; the content security policy allows this, but not style attributes. */
export function styled(node, name, value) {
  node.style.setProperty(name, value);
  return node;
}

/** Call back with an element's width after the first layout and whenever it changes. */
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

/** Announce a text to screen readers. */
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
