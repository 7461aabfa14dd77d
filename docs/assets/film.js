// A film: the figure stays, the text scrolls (attention_docs/site/render/films.py). Each step has a
// drawing; where the text of the next one comes up, the first drawing turns into the second as far as
// the reader has scrolled. Parts with one key are one thing in both, and new ones come from the parts
// that they name (attention_docs/figures/search_film.py). Without this all drawings stand in the text.
(() => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const narrow = matchMedia("(max-width: 59.99em)");
  const SPAN = 1000; // of an animation from drawing to drawing; nothing runs by itself
  const clamp = (x) => Math.min(1, Math.max(0, x));
  const flat = (x) => clamp((x - 0.2) / 0.6); // near a step nothing moves
  const ratio = (one, two) => (two ? one / two : 1); // what is not laid out has no size

  // --- from one drawing to the next

  const look = (one) => {
    const { fill, fillOpacity, opacity } = getComputedStyle(one);
    return { fill, fillOpacity, opacity };
  };
  // What lays a part over another one: cells become as large, numbers only move.
  const lay = (one, { x, y, width, height }) => {
    const own = one.getBBox();
    if (one.localName === "text") {
      const across = x + width / 2 - own.x - own.width / 2;
      return `translate(${across}px, ${y + height / 2 - own.y - own.height / 2}px)`;
    }
    const [wide, high] = [ratio(width, own.width), ratio(height, own.height)];
    return `translate(${x - wide * own.x}px, ${y - high * own.y}px) scale(${wide}, ${high})`;
  };

  // An empty drawing that lies over another one: what flies is no part of the page's own drawings.
  const over = (svg) => {
    const [sky, figure] = [svg.cloneNode(false), svg.closest("figure")];
    for (const name of ["role", "aria-label"]) sky.removeAttribute(name);
    sky.setAttribute("aria-hidden", true);
    const [own, whole] = [svg.getBoundingClientRect(), figure.getBoundingClientRect()];
    const part = (length, all) => `${100 * ratio(length, all)}%`;
    Object.assign(sky.style, {
      position: "absolute",
      left: part(own.left - whole.left, whole.width),
      top: part(own.top - whole.top, whole.height),
      width: part(own.width, whole.width),
      height: part(own.height, whole.height),
      maxWidth: "none",
      minWidth: 0,
      margin: 0,
    });
    figure.append(sky);
    return sky;
  };

  class Change {
    constructor(before, after) {
      this.drawings = [before, after];
      this.animations = [];
      this.sky = over(after);
      const parts = (svg) => [...svg.querySelectorAll("[data-key]")];
      const byKey = (svg) => new Map(parts(svg).map((one) => [one.dataset.key, one]));
      [this.old, this.fresh] = [before, after].map(byKey);
      this.turns = Math.max(...parts(after).map((one) => Number(one.dataset.turn ?? 0)));
      // What goes is gone before what comes is there; those with a turn follow each other.
      const [a, b, c, d, e] = this.turns ? [0.2, 0.1, 0.4, 0.3, 0.6] : [0.3, 0.15, 0.8, 0.7, 1];
      Object.assign(this, { leaving: [0, a], moving: [b, c], coming: [d, e] });
      for (const one of this.fresh.values()) this.bring(one);
      for (const [key, one] of this.old) if (!this.fresh.has(key)) this.fade(one, this.leaving);
    }

    // When a new part comes, of those with a turn in the second half.
    find(turn) {
      const begin = 0.35 + (0.65 * turn) / (this.turns + 1);
      return turn ? [begin, Math.min(1, begin + 0.3)] : this.coming;
    }

    run(one, frames, [begin, end]) {
      const timing = { delay: begin * SPAN, duration: (end - begin) * SPAN };
      const animation = one.animate(frames, { ...timing, easing: "ease-in-out", fill: "both" });
      animation.pause();
      this.animations.push(animation);
    }

    fade(one, span, from = look(one).opacity, to = 0) {
      this.run(one, { opacity: [from, to] }, span);
    }

    bring(one) {
      const turn = Number(one.dataset.turn ?? 0);
      const old = this.old.get(one.dataset.key);
      const end = look(one);
      if (!old) {
        this.fade(one, this.find(turn), 0, end.opacity);
        for (const key of one.dataset.from?.split(" ") ?? []) this.fly(key, one, turn);
        return;
      }
      const transform = [lay(one, old.getBBox()), "none"];
      if (old.textContent === one.textContent) {
        const looks = [look(old), end].map((frame, i) => ({ transform: transform[i], ...frame }));
        this.run(one, looks, this.moving);
        return this.fade(old, [0, 1], 0);
      }
      this.run(one, { transform }, this.moving);
      this.run(old, { transform: ["none", lay(old, one.getBBox())] }, this.moving);
      this.fade(one, this.coming, 0, end.opacity);
      this.fade(old, this.leaving);
    }

    // A copy of a part goes to what is made of it.
    fly(key, target, turn) {
      const source = this.fresh.get(key) ?? this.old.get(key);
      if (!source) return;
      const flight = source.cloneNode(true);
      for (const name of ["data-key", "data-from", "data-turn"]) flight.removeAttribute(name);
      flight.setAttribute("opacity", 0); // until it is its turn
      this.sky.append(flight);
      this.run(
        flight,
        [
          { transform: "none", opacity: 0 },
          { transform: "none", opacity: 1, offset: 0.1 },
          { transform: lay(flight, target.getBBox()), opacity: 0.9, offset: 0.9 },
          { transform: lay(flight, target.getBBox()), opacity: 0 },
        ],
        turn ? this.find(turn) : this.moving,
      );
    }

    show(share) {
      for (const one of this.animations) one.currentTime = share * SPAN;
    }

    end() {
      for (const one of this.animations) one.cancel();
      this.sky.remove();
    }
  }

  // --- a film and where its reader is

  class Film {
    constructor(root) {
      this.root = root;
      this.steps = [...root.querySelectorAll(":scope > .scene")];
      const own = root.querySelector(".live-place"); // what a reader may change, after all steps
      if (own) this.steps.at(-1).querySelector(".said").append(own);
      this.place = this.aim();
      this.show();
      this.addRail();
      const follow = () => this.follow();
      addEventListener("scroll", follow, { passive: true });
      addEventListener("resize", () => this.endChange());
      addEventListener("beforeprint", () => this.endChange());
      new ResizeObserver(follow).observe(root); // a fold that is opened
      // A live page has drawn anew (live/output.js).
      root.addEventListener("contentvisibilityautostatechange", () => this.endChange());
    }

    drawing(n) {
      return this.steps[n].querySelector(":scope > .output svg");
    }

    endChange() {
      this.change?.end();
      this.change = undefined;
      this.move();
    }

    // Where a step begins in the window: at its tools, so that it stays when they are opened.
    findTop(n) {
      return this.steps[n].querySelector(".tools, .said > *").getBoundingClientRect().top;
    }

    // Where the text has come to: 1.5 is half way from the second step to the third. At rest it is a step.
    aim() {
      const [low, high] = narrow.matches ? [0.97, 0.66] : [0.85, 0.45];
      const shares = this.steps
        .slice(1)
        .map((_, n) => flat((low - this.findTop(n + 1) / innerHeight) / (low - high)));
      const place = shares.reduce((total, share) => total + share, 0);
      return calm.matches || this.rests ? Math.round(place) : place;
    }

    follow() {
      this.rests = false;
      clearTimeout(this.rest);
      this.rest = setTimeout(() => {
        this.rests = true;
        this.move();
      }, 150);
      this.move();
    }

    move() {
      this.frame ??= requestAnimationFrame(() => {
        this.frame = undefined;
        const far = this.aim() - this.place;
        const near = Math.abs(far) < 0.004 || calm.matches;
        this.place += near ? far : far * 0.22; // a wheel jumps, the drawing does not
        this.show();
        if (!near) this.move();
      });
    }

    show() {
      const from = Math.floor(this.place);
      const share = this.place - from;
      const pair = [from, ...(share ? [from + 1] : [])].map((n) => this.drawing(n));
      if (this.change?.drawings.some((one, i) => one !== pair[i])) {
        this.change.end();
        this.change = undefined;
      }
      this.steps.forEach((step, n) => {
        step.classList.toggle("now", n === from || (share > 0 && n === from + 1));
        step.classList.toggle("read", n === Math.round(this.place));
      });
      // A reader's edit may leave a block without a drawing.
      if (share && pair.every(Boolean)) {
        this.change ??= new Change(...pair);
        this.change.show(share);
      }
      if (!this.rail) return;
      const now = Math.round(this.place);
      this.rail.value = now;
      const said = this.steps[now].querySelector(".said strong")?.textContent ?? `${now + 1}`;
      const name = said.replace(/\p{P}$/u, "");
      this.rail.setAttribute("aria-valuetext", name);
      this.root.querySelector(".rail strong").textContent = name;
    }

    // Below the drawing a slider from step to step, as a stepper has it (stepper.css).
    addRail() {
      const last = this.steps.length - 1;
      const ticks = this.steps.map((_, n) => `<span style="--at:${n / last}">${n + 1}</span>`);
      this.root.insertAdjacentHTML(
        "beforeend",
        `<div class="rail"><strong aria-hidden="true"></strong><span class="stepper-track">
        <input type="range" min="0" max="${last}">
        <span class="stepper-ticks" aria-hidden="true">${ticks.join("")}</span></span></div>`,
      );
      this.rail = this.root.querySelector(".rail input");
      this.rail.setAttribute("aria-label", this.root.dataset.name);
      this.rail.addEventListener("input", () => this.goTo(this.rail.valueAsNumber));
      this.show();
    }

    goTo(n) {
      const line = innerHeight * (narrow.matches ? 0.5 : 0.35);
      scrollBy({ top: this.findTop(n) - line, behavior: "instant" }); // the drawing takes its time
    }
  }

  for (const root of document.querySelectorAll(".film")) root.film = new Film(root);
})();
