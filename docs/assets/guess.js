/* Blurs what gives the answer to a guess away, until the reader has guessed, has moved the control or
   edits the code, turns to it, or presses the button that lies over it. Loaded by site.js when a guess
   comes near. */

const words = JSON.parse(document.getElementById("__words").textContent).exercises;

const IN_USE = ".moved, .live-editor";

/* What follows a guess, to the first paragraph below its outputs that is no caption. A control hides
   its answer itself. */
function findAnswer(guess) {
  const found = [];
  let output;
  for (let one = guess.nextElementSibling; one; one = one.nextElementSibling) {
    if (one.matches("p")) found.push(one);
    else if (one.matches(".output")) {
      output ??= one;
      if (!one.querySelector(".stepper, .instrument, input")) found.push(one);
    } else if (!one.matches(".block, .live-place")) break;
    if (output && one.matches("p:not(.caption)")) break;
  }
  return { found, output };
}

export function start(guess) {
  const { found, output } = findAnswer(guess);
  if (!found.length || guess.querySelector("details").open) return;
  if (output?.querySelector(IN_USE)) return;
  const button = document.createElement("button");
  Object.assign(button, {
    type: "button",
    className: "md-button uncover",
    textContent: words.uncover,
  });
  const watch = new MutationObserver(() => {
    if (output.querySelector(IN_USE) || !button.isConnected) uncover();
  });
  const uncover = () => {
    watch.disconnect();
    button.remove();
    for (const one of found) one.classList.remove("covered");
  };
  for (const one of found) {
    one.classList.add("covered");
    for (const kind of ["click", "focusin"]) one.addEventListener(kind, uncover, { once: true });
  }
  button.addEventListener("click", () => {
    uncover();
    found[0].tabIndex = -1; // the next thing to read
    found[0].focus({ preventScroll: true });
  });
  guess.querySelector("details").addEventListener("toggle", uncover, { once: true });
  if (output) watch.observe(output, { attributeFilter: ["class"], childList: true, subtree: true });
  found[0].previousElementSibling.append(button);
}
