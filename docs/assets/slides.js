/* "?slides": the page as slides, made of its own figures, guesses, derivations and results. They are
   the very parts of the page, so that what can be taken in hand still can. A classic script, since
   from a disk no module comes: see site.js. */
"use strict";

(() => {
  const LARGEST = 25; // slides
  const KINDS = ["guess", "result", "output", "derivation"];
  const article = document.querySelector("article");
  const [before, after, full, close] = document
    .querySelector("a[data-slides]")
    .dataset.slides.split("|");
  const address = new URL(location.href);

  function make(tag, options, ...children) {
    const found = Object.assign(document.createElement(tag), options);
    found.append(...children);
    return found;
  }

  // What a heading says, without the mark that links to it.
  function read(heading) {
    const copy = heading.cloneNode(true);
    for (const one of copy.querySelectorAll(".headerlink")) one.remove();
    copy.removeAttribute("id");
    return copy;
  }

  // Each slide as its heading and its parts, in the order of the page.
  function collect() {
    const title = article.querySelector("h1");
    const first = [...article.querySelectorAll(":scope > p")].find(
      (one) => title.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
    const found = [{ heading: title, parts: first ? [first] : [], kind: "title" }];
    let heading = title;
    const parts = [...article.children].flatMap((one) =>
      one.matches(".film") ? [...one.querySelectorAll(".guess, .output")] : [one],
    );
    for (const part of parts) {
      if (/^H[23]$/.test(part.tagName)) heading = part;
      const kind = /^[OU]L$/.test(part.tagName)
        ? "list"
        : KINDS.find((one) => part.classList.contains(one));
      const isEmpty = kind === "output" && !part.querySelector("figure, table, .stepper");
      if (!kind || isEmpty || part.matches(".cards")) continue;
      const lead = part.previousElementSibling;
      const belongs =
        kind === "list" && lead?.tagName === "P" && /[:：]$/.test(lead.textContent.trim());
      found.push({ heading, parts: belongs ? [lead, part] : [part], kind });
    }
    const cited = article.querySelector(".cite-page");
    if (cited) {
      cited.open = true;
      found.push({ heading: title, parts: [cited], kind: "cite" });
    }
    const spare = ["derivation", "output"]; // what is left out first, from the end
    for (const kind of spare) {
      for (let place = found.length - 1; place > 0 && found.length > LARGEST; place--) {
        if (found[place].kind === kind) found.splice(place, 1);
      }
    }
    return found;
  }

  const slides = collect().map(({ heading, parts, kind }) => {
    const head =
      kind === "title"
        ? make("h1", {}, ...read(heading).childNodes)
        : make("h2", {}, ...read(heading).childNodes);
    return make("section", { className: `slide slide-${kind}` }, head, ...parts);
  });
  const count = make("span", { role: "status" });
  const buttons = [
    [before, "←", () => show(at - 1)],
    [after, "→", () => show(at + 1)],
    [
      full,
      "⤢",
      () => (document.fullscreenElement ? document.exitFullscreen() : deck.requestFullscreen()),
    ],
    [close, "✕", leave],
  ].map(([label, sign, onclick]) =>
    make("button", { type: "button", title: label, ariaLabel: label, onclick }, sign),
  );
  const bar = make(
    "nav",
    { className: "slides-bar" },
    ...buttons.slice(0, 1),
    count,
    ...buttons.slice(1),
  );
  const deck = make("main", { className: "slides md-typeset" }, ...slides, bar);
  let at = 0;

  function show(wanted) {
    at = Math.max(0, Math.min(slides.length - 1, wanted));
    for (const [place, slide] of slides.entries()) slide.classList.toggle("shown", place === at);
    fit(slides[at]);
    count.textContent = `${at + 1} / ${slides.length}`;
    buttons[0].disabled = at === 0;
    buttons[1].disabled = at === slides.length - 1;
    address.searchParams.set("slides", at + 1);
    if (location.protocol !== "file:") history.replaceState(null, "", address);
    dispatchEvent(new Event("resize")); // what draws itself to its width
  }

  // What is too high for the slide becomes smaller.
  function fit(slide) {
    const [, ...parts] = slide.children;
    let zoom = 1;
    do {
      for (const part of parts) part.style.zoom = zoom;
      zoom -= 0.05;
    } while (zoom > 0.4 && slide.scrollHeight > innerHeight + 1);
  }

  function leave() {
    address.searchParams.delete("slides");
    location.href = address;
  }

  const MOVES = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
  addEventListener("keydown", (event) => {
    const taken = event.target.closest?.(
      "input, select, textarea, summary, [tabindex], [role=slider]",
    );
    const pressed = event.key === " " && event.target.closest?.("button");
    if (
      event.defaultPrevented ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      taken ||
      pressed
    )
      return;
    const wanted = { Home: 0, End: slides.length - 1 }[event.key] ?? at + MOVES[event.key];
    if (Number.isNaN(wanted)) return;
    event.preventDefault();
    show(wanted);
  });
  addEventListener("resize", () => fit(slides[at]));
  document.body.prepend(deck);
  document.documentElement.dataset.slides = "";
  show(Number(address.searchParams.get("slides")) - 1 || 0);
})();
