// A term, and a symbol, opens a card where it stands: what it is called, what it means, its entry.
// Without this script it is a link with a title. A mouse or the keyboard can still follow the link;
// a finger opens the card, and only the card leads away.
(() => {
  if (!("popover" in HTMLElement.prototype)) return;
  const { entry } = JSON.parse(document.getElementById("__words").textContent);
  const card = document.createElement("div");
  const [name, other, meaning, link] = ["strong", "span", "span", "a"].map((tag) =>
    card.appendChild(document.createElement(tag)),
  );
  card.className = "term-card";
  card.id = "__term";
  card.popover = "auto";
  other.className = "other";
  other.lang = document.documentElement.lang.startsWith("zh") ? "en" : "zh";
  link.textContent = entry;
  // by the keyboard the term leads there itself
  link.tabIndex = -1;

  // whose card is open
  let term;
  let waiting;
  const find = (event) => event.target.closest?.("article a.term");
  const wait = (job, time) => {
    clearTimeout(waiting);
    waiting = setTimeout(job, time);
  };
  const show = (one) => {
    clearTimeout(waiting);
    if (one === term) return;
    hide();
    term = one;
    if (term.title) {
      // a tooltip would lie over the card
      term.dataset.meaning = term.title;
      term.removeAttribute("title");
    }
    name.replaceChildren(...[...term.childNodes].map((node) => node.cloneNode(true)));
    other.textContent = term.dataset.other ?? "";
    other.hidden = !other.textContent;
    meaning.textContent = term.dataset.meaning;
    link.href = term.href;
    term.setAttribute("aria-describedby", card.id);
    term.after(card);
    card.showPopover();
    place();
  };
  const place = () => {
    const [first] = term.getClientRects();
    const { width, height } = card.getBoundingClientRect();
    const room = document.documentElement.clientWidth - width - 8;
    const below = first.bottom + height + 8 < innerHeight || first.top < height + 60;
    card.style.left = `${Math.max(8, Math.min(first.left, room)) + scrollX}px`;
    card.style.top = `${(below ? first.bottom + 4 : first.top - height - 4) + scrollY}px`;
  };
  const close = () => {
    term?.removeAttribute("aria-describedby");
    term = undefined;
  };
  const hide = () => {
    clearTimeout(waiting);
    if (!card.matches(":popover-open")) return;
    card.hidePopover();
    close();
  };
  card.addEventListener("toggle", () => {
    if (!card.matches(":popover-open")) close();
  });

  const leads = (event) => find(event) ?? (card.contains(event.target) ? term : undefined);
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const one = find(event);
    if (one && one !== term) wait(() => show(one), 150);
    else if (leads(event)) clearTimeout(waiting);
    else if (term) wait(hide, 250);
    else clearTimeout(waiting);
  });
  document.addEventListener("focusin", (event) => {
    const one = leads(event);
    if (one?.matches(":focus-visible")) show(one);
    else if (!one) hide();
  });
  document.addEventListener("click", (event) => {
    const one = find(event);
    // by Enter, its detail is 0
    if (!one || event.pointerType === "mouse" || event.detail === 0) return;
    event.preventDefault();
    if (one === term) hide();
    else show(one);
  });
})();
