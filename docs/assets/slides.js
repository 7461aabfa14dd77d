/* "?slides", "?slides=3" or "?slides=out-control": the page as slides, made of its own figures,
   guesses, derivations and results, and last of the results in its folds. They are the very parts of
   the page, so that what can be taken in hand still can. With "&plan=softmax:guess-lead,…" these
   parts of several pages, in this order, and no others. A classic script, since from a disk no module
   comes: see site.js. */
"use strict";

(() => {
  const LARGEST = 25; // slides, without those of folded results
  const KINDS = ["guess", "result", "output", "derivation"];
  const article = document.querySelector("article");
  const NARROWEST = 700; // pixels in which a figure still has the form that it has on a wide page
  const COVERED = ".sentence-dial"; // it answers what its page asks, and no guess stands before it
  const [before, after, full, close, uncover, caption] = document
    .querySelector("a[data-slides]")
    .dataset.slides.split("|");
  const address = new URL(location.href);
  const asked = address.searchParams.get("slides");
  const isHere = (slug) => slug === "index" || location.pathname.includes(`/${slug}/`);
  const plan = (address.searchParams.get("plan")?.split(",") ?? []).map((one) => one.split(":"));
  let stop = plan.findIndex(([slug, name]) => name === asked && isHere(slug)); // -1: no plan

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
    const spare = ["derivation", "output"]; // what is left out first, from the end
    for (const kind of spare) {
      for (let place = found.length - 1; place > 0 && found.length >= LARGEST; place--) {
        if (found[place].kind === kind) found.splice(place, 1);
      }
    }
    for (const part of article.querySelectorAll("details .result"))
      found.push({ heading: findHeading(part), parts: [part], kind: "result" });
    const cited = article.querySelector(".cite-page");
    if (cited) {
      cited.open = true;
      found.push({ heading: title, parts: [cited], kind: "cite" });
    }
    // What a plan or an address asks for may be no slide of its page: an exercise, or deep in a fold.
    for (const name of [asked, ...plan.filter(([slug]) => isHere(slug)).map(([, one]) => one)]) {
      const part =
        name && document.getElementById(name)?.closest(`.exercise, .${KINDS.join(", .")}`);
      if (part && !found.some(({ parts }) => parts.some((one) => one.contains(part))))
        found.push({ heading: findHeading(part), parts: [part], kind: "result" });
    }
    return found;
  }

  // The last heading before a part.
  function findHeading(part) {
    return [...article.querySelectorAll("h1, h2, h3")].findLast(
      (one) => one.compareDocumentPosition(part) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
  }

  // A press uncovers what a class is asked first.
  function cover(figure) {
    const button = make("button", { type: "button", className: "cover md-button" }, uncover);
    button.addEventListener("click", () => button.remove());
    figure.append(button);
  }

  const slides = collect().map(({ heading, parts, kind }) => {
    const head =
      kind === "title"
        ? make("h1", {}, ...read(heading).childNodes)
        : make("h2", {}, ...read(heading).childNodes);
    for (const part of parts) {
      for (const one of part.querySelectorAll(COVERED)) cover(one.parentNode);
    }
    return make("section", { className: `slide slide-${kind}` }, head, ...parts);
  });
  const count = make("span", { role: "status" });
  const buttons = [
    [before, "←", () => step(at - 1)],
    [after, "→", () => step(at + 1)],
    [caption, "≡", showCaptions],
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
    const [place, all] = stop < 0 ? [at, slides.length] : [stop, plan.length];
    count.textContent = `${place + 1} / ${all}`;
    buttons[0].disabled = place === 0;
    buttons[1].disabled = place === all - 1;
    address.searchParams.set("slides", stop < 0 ? at + 1 : plan[stop][1]);
    if (location.protocol !== "file:") history.replaceState(null, "", address);
    dispatchEvent(new Event("resize")); // what draws itself to its width
  }

  // Captions take room from their figures, so they stand there when they are asked for.
  function showCaptions({ currentTarget }) {
    const isShown = deck.classList.toggle("captioned");
    currentTarget.ariaPressed = String(isShown);
    fit(slides[at]);
  }

  // The next step uncovers first.
  function step(wanted) {
    const covering = wanted === at + 1 && slides[at].querySelector(".cover");
    if (covering) covering.click();
    else if (stop < 0) show(wanted);
    else follow(stop + wanted - at);
  }

  // The part of a plan at a place, on this page or on another.
  function follow(place) {
    if (!plan[place]) return;
    const [slug, name] = plan[place];
    if (slug === plan[stop][0]) {
      stop = place;
      show(find(name));
      return;
    }
    const root = plan[stop][0] === "index" ? "./" : "../";
    const target = new URL(`${root}${slug === "index" ? "" : `${slug}/`}index.html`, location.href);
    target.searchParams.set("slides", name);
    target.searchParams.set("plan", address.searchParams.get("plan"));
    location.href = target;
  }

  function find(name) {
    return slides.findIndex((one) =>
      [...one.querySelectorAll("[id]")].some(({ id }) => id === name),
    );
  }

  // The largest zoom with which the parts of a slide are not too high; only figures grow.
  function fit(slide) {
    const [, ...parts] = slide.children;
    const isTooHigh = (zoom) => {
      for (const part of parts) part.style.zoom = zoom;
      return slide.scrollHeight > innerHeight + 1;
    };
    isTooHigh(1);
    let zoom = slide.matches(".slide-output") ? Math.max(1, parts[0].clientWidth / NARROWEST) : 1;
    while (isTooHigh(zoom) && zoom > 0.4) zoom -= 0.05;
  }

  function leave() {
    for (const name of ["slides", "plan"]) address.searchParams.delete(name);
    location.href = address;
  }

  const MOVES = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };
  addEventListener("keydown", (event) => {
    // A clicker's keys turn the page after a press on an option or a fold, too.
    const kept = event.key.startsWith("Page")
      ? "select, textarea, [contenteditable], input:not([type=radio], [type=checkbox])"
      : "input, select, textarea, summary, [tabindex], [role=slider]";
    const taken = event.target.closest?.(kept);
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
    const ends = stop < 0 ? { Home: 0, End: slides.length - 1 } : {};
    const wanted = ends[event.key] ?? at + MOVES[event.key];
    if (Number.isNaN(wanted)) return;
    event.preventDefault();
    step(wanted);
  });
  addEventListener("resize", () => fit(slides[at]));
  const watch = new ResizeObserver(() => fit(slides[at])); // a figure that begins later may grow
  for (const slide of slides) watch.observe(slide);
  document.body.prepend(deck);
  document.documentElement.dataset.slides = "";
  const named = find(asked);
  show(named < 0 ? Number(asked) - 1 || 0 : named);
})();
