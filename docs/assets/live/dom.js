/* What the scripts of live pages share: elements, buttons, and the texts of the interface. */

export const element = (tag, attributes = {}, ...inner) =>
  fillElement(document.createElement(tag), attributes, inner);

export const svg = (tag, attributes, ...inner) =>
  fillElement(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, inner);

function fillElement(created, attributes, inner) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) created.addEventListener(name.slice(2), value);
    else if (value !== false) created.setAttribute(name, value === true ? "" : value);
  }
  created.append(...inner);
  return created;
}

export function makeButton(name, text, press, attributes = {}) {
  return element("button", { type: "button", class: name, onclick: press, ...attributes }, text);
}

/* The address of a file that the page names from its own place. */
export const resolveUrl = (path) => new URL(path, location.href).href;

/* Load a style sheet of this folder; the promise is fulfilled when it is there, or is not to be had. */
export function addStyles(name) {
  const href = new URL(name, import.meta.url).href;
  return new Promise((onload) => {
    document.head.append(element("link", { rel: "stylesheet", href, onload, onerror: onload }));
  });
}

/* A text with its gaps filled: {} takes `parts` itself, {name} what it holds under the name. */
export const fillTemplate = (text, parts = {}) =>
  text.replace(/\{(\w*)\}/g, (_, name) => (name ? parts[name] : parts));

/* The same for bytes that have come and all that will. */
export function fillMegabytes(text, done, all) {
  const size = (bytes) => (bytes / 1e6).toFixed(1);
  return fillTemplate(text, { done: size(done), all: size(all) });
}

/* Open the folds that a place is in. */
export function openFolds(place) {
  for (let fold = place?.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
}
