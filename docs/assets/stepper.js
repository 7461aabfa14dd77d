// Steppers and sliders (attention_docs/figures/steppers.py). The page holds every frame and its
// controls; this shows the frame that the controls name, moves the controls, and lets what a frame
// has in common with the one before it move there.
(() => {
  const inputs = (box) => [...box.querySelectorAll(".stepper-bar input")];
  const frames = (box) => [...box.querySelectorAll(".frame")];
  // ms of a flight
  const TURN = 600;
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

  // From one frame to the next, what has a key keeps its place or moves to its new one; what has just
  // been computed comes from where its parts stand (attention_docs/figures/canvas.py).
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const travel = (before, after, onward, scrolled) => {
    for (const one of document.querySelectorAll(".flight, .fading")) one.remove();
    // A copy of the old frame fades over the new one: what both have alike does not flicker.
    const copy = before.cloneNode(true);
    copy.className = "fading";
    copy.inert = true;
    after.after(copy);
    keepScrolled(copy, scrolled);
    copy.animate({ opacity: [1, 0] }, { duration: 250, easing }).onfinish = () => copy.remove();
    const find = (key) =>
      after.querySelector(`[data-key="${key}"]`) ?? before.querySelector(`[data-key="${key}"]`);
    const middle = (one) => {
      const { x, y, width, height } = one.getBBox();
      return [x + width / 2, y + height / 2];
    };
    // Where it shows: a wide window moves some groups aside.
    const spot = (one) => {
      const aside = one.closest(".aside");
      const { e, f } = new DOMMatrix(aside ? getComputedStyle(aside).transform : "none");
      const [x, y] = middle(one);
      return [x + e, y + f];
    };
    const shift = (a, b) => `translate(${b[0] - a[0]}px, ${b[1] - a[1]}px)`;
    for (const one of after.querySelectorAll("[data-key]")) {
      const old = before.querySelector(`[data-key="${one.dataset.key}"]`);
      const moved = old && shift(spot(one), spot(old));
      if (moved && moved !== "translate(0px, 0px)")
        one.animate([{ transform: moved }, { transform: "none" }], { duration: 350, easing });
      if (!old && onward && one.dataset.from)
        for (const route of one.dataset.from.split(" ")) fly(one, route);
    }
    function fly(target, route) {
      const [source, ...stops] = [...route.split(">").map(find), target];
      if (stops.includes(null) || !source) return;
      const flight = source.cloneNode(true);
      for (const name of ["data-key", "data-from", "style"]) flight.removeAttribute(name);
      flight.setAttribute("class", "flight");
      target.ownerSVGElement.append(flight); // in no group: it goes from one to another
      const turn = Number(target.style.getPropertyValue("--turn")) || 1;
      flight.animate(
        [
          { transform: shift(middle(source), spot(source)), opacity: 1 },
          ...stops.map((stop, i) => ({
            transform: shift(middle(source), spot(stop)),
            opacity: i + 1 === stops.length ? 0.2 : 1,
            offset: (i + 1) / stops.length,
          })),
        ],
        { delay: (turn - 1) * TURN, duration: TURN, easing, fill: "backwards" },
      ).onfinish = () => flight.remove();
    }
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
      travel(before, all[n], all.indexOf(before) < n, scrolled);
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
    if (!target) return;
    const values = target.dataset.at.split(" ");
    const names = [...new Set(inputs(box).map((one) => one.name))];
    for (const one of inputs(box)) one.checked = one.value === values[names.indexOf(one.name)];
    box.classList.add("moved");
    // A radio button says itself where it stands; after a button the status does.
    box.querySelector("[role=status]").textContent = show(box);
  };

  // Step by step, until the last step or until the reader does something else.
  let player;
  const stop = () => {
    clearInterval(player?.timer);
    player?.button.setAttribute("aria-pressed", "false");
    player = undefined;
  };
  const play = (button) => {
    const box = button.closest(".stepper");
    const steps = box.querySelectorAll("fieldset:last-of-type input").length;
    const go = (by) => {
      move(box, by);
      if ((place(box) + 1) % steps === 0) stop();
    };
    button.setAttribute("aria-pressed", "true");
    player = { button, timer: setInterval(go, 2600, 1) };
    go(place(box) + 1 === frames(box).length ? -place(box) : 1);
  };

  const within = (event, selector) => event.target.closest?.(`.stepper ${selector}`);
  document.addEventListener("input", (event) => {
    const box = within(event, "input")?.closest(".stepper");
    if (!box) return;
    if (event.isTrusted) stop();
    box.classList.add("moved");
    show(box);
  });
  document.addEventListener("click", (event) => {
    const starts = within(event, "[data-play]");
    const again = starts && starts !== player?.button;
    if (within(event, "button")) stop();
    if (again) play(starts);
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
