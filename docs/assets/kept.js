/* What this browser alone keeps of a reader: solved exercises, and cards that come back. */

export const SOLVED = "solved exercises";
export const CARDS = "review cards";

const unstored = new Map(); // what the storage did not take: it lasts as long as the page

/* What is kept under a name; nothing where a browser stores nothing, or holds something else there. */
export function read(name) {
  if (unstored.has(name)) return unstored.get(name);
  try {
    const found = JSON.parse(localStorage.getItem(name) ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

export function keep(name, value) {
  try {
    if (Object.keys(value).length) localStorage.setItem(name, JSON.stringify(value));
    else localStorage.removeItem(name);
    unstored.delete(name);
  } catch {
    unstored.set(name, value); // a browser that stores nothing, or no more
  }
}

/* Two buttons: all of it as a file, and all of it gone. */
export function offerTools(words, erased) {
  const erase = () => {
    keep(SOLVED, {});
    keep(CARDS, {});
    erased();
  };
  return [offer(words.export, download), " ", offer(words.erase, erase)];
}

export function offer(text, press) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", press);
  return button;
}

function download() {
  const link = document.createElement("a");
  const all = { [SOLVED]: read(SOLVED), [CARDS]: read(CARDS) };
  const file = new Blob([JSON.stringify(all, null, 2)], { type: "application/json" });
  link.href = URL.createObjectURL(file);
  link.download = "attention-progress.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
