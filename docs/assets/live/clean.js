/* A figure comes from code that may be anybody's: of its HTML only what draws is taken.
   purify/purify.min.js is dist/purify.min.js of the npm package dompurify 3.5.0, its SHA-256
   f69a46022ab1f53e969c8ebbca98172c8995785a9b3be72ea4a12d25b1a1bf67. */
import "./purify/purify.min.js";

const ELEMENTS = `svg g a path rect circle ellipse line polyline polygon text tspan
   figure figcaption div span p strong em b i sub sup code br wbr ul ol li
   table caption thead tbody tfoot tr th td fieldset legend label input button
   math mi mn mo mrow msub msup msubsup msqrt mtext`.split(/\s+/);
const ATTRIBUTES = `xmlns class style role lang dir hidden viewBox preserveAspectRatio transform
   x y x1 y1 x2 y2 dx dy cx cy r rx ry d points width height
   fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap
   stroke-linejoin opacity paint-order font-size font-weight font-style font-family text-anchor text-decoration
   dominant-baseline type name value min max step checked disabled colspan rowspan scope
   data-at data-by data-says data-stage data-column data-key data-from data-turn
   data-answer data-instrument data-numbers data-words data-places data-head data-part data-room data-to data-lane
   id href`.split(/\s+/);
const STYLES = new Set(
  `--turn --names --at --edge --side --ratio --ink --more --tall --box --wide --x --y width max-width min-width color background font-family font-style font-weight
   paint-order text-align`.split(/\s+/),
);
const VALUE =
  /^(?:[\w.,%#\s-]|var\(--[\w-]+(?:,\s*[\w#-]+)?\)|color-mix\(in oklab,var\(--[\w-]+\) \d+%,var\(--[\w-]+\)\))*$/; // no address, no other function
const OWN_PAGE = /^(?!\/)[\w./-]*(?:#[\w.-]+)?$/; // a link to another page of this site
const OWN_ID = /^machine-[\w.-]+$/;
const PAINTS = new Set(["fill", "stroke"]);
const INPUTS = new Set(["radio", "checkbox", "range", "button"]);

const OPTIONS = {
  ALLOWED_TAGS: ["#text", ...ELEMENTS],
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^/, // text may hold a colon; addresses are seen to below
  KEEP_CONTENT: false,
  RETURN_DOM_FRAGMENT: true,
};

const purify = globalThis.DOMPurify(window);
purify.addHook("uponSanitizeAttribute", (_, attribute) => {
  attribute.keepAttr = isHarmless(attribute.attrName, attribute.attrValue);
});
purify.addHook("afterSanitizeAttributes", (element) => {
  if (element.localName === "button") element.type = "button";
});

/* What of a drawing's HTML may stand on the page, as a fragment; nothing of it has run. */
export function cleanHtml(html) {
  return purify.sanitize(html, OPTIONS);
}

/* Of the attributes that are listed, those with a harmless value. */
function isHarmless(name, value) {
  if (name === "style") return value.split(";").every(isHarmlessStyle);
  if (name === "href") return OWN_PAGE.test(value);
  if (name === "id") return OWN_ID.test(value);
  if (name === "type") return INPUTS.has(value);
  if (name === "class") return !/\b(?:md|live)-/.test(value);
  return !PAINTS.has(name) || VALUE.test(value);
}

function isHarmlessStyle(rule) {
  const [property, ...value] = rule.split(":");
  return !rule.trim() || (STYLES.has(property.trim()) && VALUE.test(value.join(":")));
}
