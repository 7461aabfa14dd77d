// Steppers and sliders (attention_docs/figures/steppers.py). The page holds every frame and its
// controls; this shows the frame that the controls name, moves the controls, and lets a frame fade
// into the next.
(() => {
  const inputs = (box) => [...box.querySelectorAll(".stepper-bar input")];
  const frames = (box) => [...box.querySelectorAll(".frame")];
  const easing = "cubic-bezier(.4, 0, .2, 1)";
  const chosen = (box) =>
    inputs(box)
      .filter((one) => one.type === "range" || one.checked)
      .map((one) => one.value)
      .join(" ");
  const place = (box) => frames(box).findIndex((one) => one.dataset.at === chosen(box));

  // Where a narrow window has scrolled a drawing, the next one begins.
  const drawings = (frame) => [...frame.querySelectorAll(".drawing")];
  const readScrolled = (frame) => drawings(frame).map((one) => one.scrollLeft);
  const keepScrolled = (frame, places) => {
    drawings(frame).forEach((one, i) => {
      if (places[i]) one.scrollLeft = places[i];
    });
  };

  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const fade = (before, after, scrolled) => {
    for (const one of document.querySelectorAll(".fading")) one.remove();
    // A copy of the old frame fades over the new one: what both have alike does not flicker.
    const copy = before.cloneNode(true);
    copy.className = "fading";
    copy.inert = true;
    after.after(copy);
    keepScrolled(copy, scrolled);
    copy.animate({ opacity: [1, 0] }, { duration: 250, easing }).onfinish = () => copy.remove();
  };

  // Two frames that are drawn alike: what differs moves from the one to the other.
  const PARTS = "svg :is(path, text, rect, circle)";
  const letters = (one) => one.getAttribute("d")?.replace(/[-\d.\s]+/g, "");
  const isAlike = (a, b) => a.localName === b?.localName && letters(a) === letters(b);
  const glide = (before, after) => {
    const [old, fresh] = [before, after].map((frame) => [...frame.querySelectorAll(PARTS)]);
    const alike = old.length === fresh.length && old.every((one, i) => isAlike(one, fresh[i]));
    if (!old.length || !alike) return false;
    fresh.forEach((one, i) => {
      const both = (name) => [old[i], one].map((part) => part.getAttribute(name));
      const [from, to] = both("d");
      const [[x, endX], [y, endY]] = [both("x"), both("y")];
      const frames = from
        ? { d: [from, to].map((d) => `path("${d}")`) }
        : { transform: [`translate(${x - endX}px, ${y - endY}px)`, "none"] };
      if (from !== to || x !== endX || y !== endY) one.animate(frames, { duration: 300, easing });
    });
    return true;
  };

  // Where each frame has its own height, what stands below glides to its place.
  const grow = (area, height) => {
    if (area.offsetHeight !== height)
      area.animate(
        { height: [`${height}px`, `${area.offsetHeight}px`], overflow: ["clip", "clip"] },
        { duration: 250, easing },
      );
  };

  const show = (box) => {
    const all = frames(box),
      n = place(box),
      label = all[n].querySelector("strong");
    const says = all[n].dataset.says ?? label.textContent;
    const before = all.find((one) => one.classList.contains("shown"));
    const still = before === all[n] || calm.matches || box.querySelector("[type=range]");
    const moves = box.matches(".moved:not(.ribbons)") && !still;
    const height = moves && before.parentNode.offsetHeight;
    const scrolled = before && before !== all[n] ? readScrolled(before) : [];
    all.forEach((one, i) => one.classList.toggle("shown", i === n));
    keepScrolled(all[n], scrolled);
    if (moves) {
      grow(before.parentNode, height);
      if (!glide(before, all[n])) fade(before, all[n], scrolled);
    }
    for (const button of box.querySelectorAll("[data-by]"))
      button.setAttribute("aria-disabled", !all[n + Number(button.dataset.by)]);
    for (const one of inputs(box))
      if (one.type === "range") one.setAttribute("aria-valuetext", says);
    // Between the arrows stands the choice of the last control; beside a slider, where it stands.
    const choice = [...box.querySelectorAll("input:checked + span")].at(-1)?.cloneNode(true);
    choice?.querySelector(".inks")?.remove();
    for (const one of box.querySelectorAll(".stepper-now"))
      one.replaceChildren(...(choice ?? label).cloneNode(true).childNodes);
    return says;
  };

  const move = (box, by) => {
    const target = frames(box)[place(box) + by];
    if (target) goTo(box, target.dataset.at);
  };
  const goTo = (box, at) => {
    const values = at.split(" ");
    const names = [...new Set(inputs(box).map((one) => one.name))];
    for (const one of inputs(box)) {
      const value = values[names.indexOf(one.name)];
      if (one.type === "range") one.value = value;
      else one.checked = one.value === value;
    }
    box.classList.add("moved");
    // A radio button says itself where it stands; after a button the status does.
    const said = show(box);
    for (const one of box.querySelectorAll("[role=status]")) one.textContent = said;
  };

  // Once a reader has guessed (exercises.js): to the setting of the answer, a slider place by place.
  document.addEventListener("guessed", ({ target: box }) => {
    const { answer } = box.dataset;
    const step = () => {
      const far = box.querySelector("[type=range]") ? Number(answer) - place(box) : 0;
      goTo(box, calm.matches || !far ? answer : String(place(box) + Math.sign(far)));
      if (Math.abs(far) > 1 && !calm.matches) setTimeout(step, 150);
    };
    step();
  });

  const within = (event, selector) => event.target.closest?.(`.stepper ${selector}`);
  document.addEventListener("input", (event) => {
    const box = within(event, "input")?.closest(".stepper");
    if (!box) return;
    box.classList.add("moved");
    show(box);
  });
  document.addEventListener("click", (event) => {
    const button = within(event, "[data-by]");
    if (button) move(button.closest(".stepper"), Number(button.dataset.by));
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const button = within(event, "[data-by]");
    if (!by || !button || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    move(button.closest(".stepper"), by);
  });
  // A browser may have restored the controls as they were at the last visit.
  addEventListener("pageshow", () => document.querySelectorAll(".stepper").forEach(show));
})();
