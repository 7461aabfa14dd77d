// Ribbons (attention_docs/figures/ribbons.py). stepper.js shows the drawing of the word that is chosen;
// this lets its ribbons move there from those of the word before, and plays the stages once.
(() => {
  // Of ribbons, a stage is what the style sheet shows of a drawing. With the weights they grow.
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const stages = (box) => [...box.querySelectorAll("button[data-stage]")];
  const shapes = (frame) => [...frame.querySelectorAll(".ribbon, .bar")];
  const showStage = (box, stage) => {
    finish();
    const ribbons = [...box.querySelectorAll(".frame.shown .ribbon")];
    const grows = stage === "3" && box.dataset.stage === "2";
    box.dataset.stage = stage;
    for (const one of stages(box)) {
      if (one.dataset.stage === stage) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
    }
    if (grows) morph(ribbons.map((path) => [path, flatten(path.getAttribute("d"))]));
  };
  const play = (box, [stage, ...rest] = stages(box).map((one) => one.dataset.stage)) => {
    if (!stage || box.matches(".moved")) return;
    showStage(box, stage);
    setTimeout(() => play(box, rest), 1100);
  };

  // Another word: its ribbons and bars begin where those of the word before it lie.
  const retie = (box, before, after) => {
    const from = shapes(before).map((path) => path.getAttribute("d"));
    showStage(box, stages(box).at(-1).dataset.stage);
    const to = shapes(after);
    if (before !== after && from.length === to.length) morph(to.map((path, i) => [path, from[i]]));
  };

  const NUMBER = /-?\d*\.?\d+/g;
  // A ribbon as thin as a line: its right side, which runs back, on its left one.
  const flatten = (outline) => {
    const all = outline.match(NUMBER).map(Number);
    const last = all.length - 2;
    let i = -1;
    return outline.replace(NUMBER, (number) => {
      i += 1;
      return i % 2 ? number : ` ${((all[i] + all[last - i]) / 2).toFixed(2)}`;
    });
  };
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
    const all = parts.map(([path, from]) => [path, from, path.getAttribute("d")]);
    const begun = performance.now();
    let frame;
    const draw = (now) => {
      const t = Math.min(1, Math.max(0, (now - begun) / 500));
      const share = t * t * (3 - 2 * t);
      for (const [path, from, to] of all) path.setAttribute("d", t < 1 ? mix(from, to, share) : to);
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
    if (box && before) retie(box, before, getShown(box));
  });
  document.addEventListener("click", (event) => {
    const button = within(event, "button[data-stage]");
    if (!button) return;
    const box = button.closest(".ribbons");
    box.classList.add("moved");
    showStage(box, button.dataset.stage);
  });

  const inView = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        inView.unobserve(target);
        if (calm.matches) showStage(target, stages(target).at(-1).dataset.stage);
        else play(target);
      }
    },
    { threshold: 0.5 },
  );
  document.querySelectorAll(".ribbons").forEach((box) => inView.observe(box));
})();
