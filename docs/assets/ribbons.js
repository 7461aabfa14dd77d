// Ribbons (attention_docs/figures/ribbons.py). stepper.js shows the drawing of the word that is chosen;
// this lets its ribbons move there from those of the word before, and shows the stage that is pressed.
(() => {
  // Of ribbons, a stage is what the style sheet shows of a drawing. At first it is the last one.
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const stages = (box) => [...box.querySelectorAll("button[data-stage]")];
  const shapes = (frame) => [...frame.querySelectorAll(".ribbon, .bar")];
  const showStage = (box, stage) => {
    finish();
    box.dataset.stage = stage;
    for (const one of stages(box)) {
      if (one.dataset.stage === stage) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
    }
  };

  // Another word: its ribbons and bars begin where those of the word before it lie.
  const retie = (box, before, after) => {
    const from = shapes(before).map((path) => path.getAttribute("d"));
    showStage(box, stages(box).at(-1).dataset.stage);
    const to = shapes(after);
    if (before !== after && from.length === to.length) morph(to.map((path, i) => [path, from[i]]));
  };

  const NUMBER = /-?\d*\.?\d+/g;
  const mix = (from, to, share) => {
    const starts = from.match(NUMBER);
    let i = 0;
    return to.replace(NUMBER, (end) => {
      const start = Number(starts[i++]);
      return ` ${(start + share * (end - start)).toFixed(2)}`;
    });
  };
  let finish = () => {};
  const morph = (parts) => {
    if (calm.matches) return;
    const all = parts.map(([path, from]) => {
      const to = path.getAttribute("d");
      return { path, from, to, drawn: to };
    });
    const begun = performance.now();
    let frame;
    const draw = (now) => {
      const t = Math.min(1, Math.max(0, (now - begun) / 500));
      const share = t * t * (3 - 2 * t);
      for (const one of all) {
        // A live page may have drawn it anew meanwhile: that stays.
        if (one.path.getAttribute("d") !== one.drawn) continue;
        one.drawn = t < 1 ? mix(one.from, one.to, share) : one.to;
        one.path.setAttribute("d", one.drawn);
      }
      if (t < 1) frame = requestAnimationFrame(draw);
    };
    draw(begun);
    finish = () => {
      cancelAnimationFrame(frame);
      draw(Number.POSITIVE_INFINITY);
      finish = () => {};
    };
  };

  const within = (event, selector) => event.target.closest?.(`.ribbons ${selector}`);
  const getShown = (box) => box.querySelector(".frame.shown");
  let before;
  document.addEventListener(
    // before stepper.js hears of it
    "input",
    (event) => {
      before = getShown(within(event, "input")?.closest(".ribbons") ?? document);
    },
    true,
  );
  document.addEventListener("input", (event) => {
    const box = within(event, "input")?.closest(".ribbons");
    // A live page says "input" of its own where it has drawn the same word anew.
    if (box && before && event.isTrusted) retie(box, before, getShown(box));
  });
  document.addEventListener("click", (event) => {
    const button = within(event, "button[data-stage]");
    if (!button) return;
    showStage(button.closest(".ribbons"), button.dataset.stage);
  });

  for (const box of document.querySelectorAll(".ribbons"))
    showStage(box, stages(box).at(-1).dataset.stage);
})();
