/* A figure comes from code that may be anybody's: of its HTML only what draws is taken. */
const ELEMENTS = new Set(
  `svg g path rect circle ellipse line polyline polygon text tspan
   figure figcaption div span p strong em b i sub sup code br wbr ul ol li
   table caption thead tbody tfoot tr th td fieldset legend label input button
   math mi mn mo mrow msub msup msubsup msqrt mtext`.split(/\s+/),
);
const ATTRIBUTES = new Set(
  `xmlns class style role lang dir hidden viewBox preserveAspectRatio transform
   x y x1 y1 x2 y2 dx dy cx cy r rx ry d points width height
   fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap
   stroke-linejoin opacity paint-order font-size font-weight font-style font-family text-anchor text-decoration
   dominant-baseline type name value min max step checked disabled colspan rowspan scope
   data-at data-by data-says data-stage data-column data-key data-from data-play`.split(/\s+/),
);
const STYLES = new Set(
  `--turn --names --at --edge --ratio --ink --more --tall --wide --x --y width max-width min-width color background font-family font-style font-weight
   paint-order text-align`.split(/\s+/),
);
const VALUE = /^(?:[\w.,%#\s-]|var\(--[\w-]+(?:,\s*[\w#-]+)?\))*$/; // no address, no other function
const PAINTS = new Set(["fill", "stroke"]);
const INPUTS = new Set(["radio", "checkbox", "range", "button"]);

/* What of a drawing's HTML may stand on the page, as a fragment; nothing of it has run. */
export function cleanHtml(html) {
  const body = new DOMParser().parseFromString(html, "text/html").body;
  const fragment = document.createDocumentFragment();
  fragment.append(...copyChildren(body));
  return fragment;
}

function copyChildren(node) {
  return [...node.childNodes].flatMap((child) => {
    if (child.nodeType === Node.TEXT_NODE) return [document.createTextNode(child.data)];
    return child.nodeType === Node.ELEMENT_NODE && ELEMENTS.has(child.localName)
      ? [copyElement(child)]
      : [];
  });
}

function copyElement(element) {
  const copy = document.createElementNS(element.namespaceURI, element.localName);
  for (const attribute of element.attributes) {
    if (isHarmless(attribute.name, attribute.value)) copy.setAttributeNode(attribute.cloneNode());
  }
  if (copy.localName === "button") copy.type = "button";
  copy.append(...copyChildren(element));
  return copy;
}

function isHarmless(name, value) {
  if (name.startsWith("aria-")) return true;
  if (!ATTRIBUTES.has(name)) return false;
  if (name === "style") return value.split(";").every(isHarmlessStyle);
  if (name === "type") return INPUTS.has(value);
  if (name === "class") return !/\b(?:md|live)-/.test(value);
  return !PAINTS.has(name) || VALUE.test(value);
}

function isHarmlessStyle(rule) {
  const [property, ...value] = rule.split(":");
  return !rule.trim() || (STYLES.has(property.trim()) && VALUE.test(value.join(":")));
}
