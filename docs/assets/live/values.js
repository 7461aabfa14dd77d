/* The numbers in sentences and formulas that follow from the blocks above them. */
import { fillTemplate } from "./dom.js";

export const VALUES = ".value[id], [data-value]";
export const numberOf = (place) => Number(place.dataset.value ?? place.id.slice("value-".length));

export class Values {
  constructor(words) {
    this.words = words;
    this.places = new Map(); // of each value, by its number
    for (const place of document.querySelectorAll("[id^=value-], [data-value]")) {
      const number = numberOf(place);
      this.places.set(number, [...(this.places.get(number) ?? []), place]);
    }
  }

  /* Show a value as it is now; where it is not the published one, a press shows that. */
  show(number, text, published) {
    const changed = text !== published;
    for (const place of this.places.get(number) ?? []) {
      if (!changed && !place.classList.contains("live-value")) continue;
      place.classList.toggle("live-value", changed);
      Object.assign(place.dataset, { now: text, was: published });
      setValue(place, text);
      const name = `${typeset(text)} (${fillTemplate(this.words.changed, typeset(published))})`;
      const wanted = { tabindex: "0", role: "button", "aria-pressed": "false", title: name };
      for (const [key, value] of Object.entries({ ...wanted, "aria-label": name })) {
        if (changed) place.setAttribute(key, value);
        else place.removeAttribute(key);
      }
    }
  }
}

/* What Python prints, as a sentence has it; see attention_docs/running/signs.py. */
function typeset(text) {
  return text
    .replace(/(?<!\w)(-?)inf(?!\w)/g, (_, sign) => `${sign && "−"}∞`)
    .replace(/(?<![\w)\]])-(?=[\d.])(?!\d+e\d)/g, "−");
}

/* In a formula the sign of a number is an element of its own. */
function setValue(place, text) {
  if (place.localName !== "mn") {
    place.textContent = typeset(text);
    return;
  }
  const sign = place.previousElementSibling;
  const own = place.dataset.was.startsWith("-") && sign?.localName === "mo";
  if (own) sign.textContent = text.startsWith("-") ? "−" : "";
  place.textContent = own ? text.replace("-", "") : text.replace("-", "−");
}

/* Show the published value instead of the one that has changed, or that one again. */
export function peekValue(place, shown = place.getAttribute("aria-pressed") !== "true") {
  place.setAttribute("aria-pressed", String(shown));
  setValue(place, shown ? place.dataset.was : place.dataset.now);
}

for (const type of ["click", "keydown"]) {
  document.addEventListener(type, (event) => {
    const place = event.target.closest?.(".live-value");
    if (!place || (type === "keydown" && !["Enter", " "].includes(event.key))) return;
    if (type === "keydown") event.preventDefault();
    peekValue(place);
  });
}
