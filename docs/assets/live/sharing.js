/* Edits outlast the page: in this tab (see ../site.js), and in a link. */
import { fillTemplate, openFolds, resolveUrl } from "./dom.js";
import { edits, isLink, link, listEntries, selectFitting } from "./link.js";

const STORED = `live ${location.pathname}`;
const NAMED = 5; // how many lost blocks are named

/* Copy a text that is still to come. It is asked for at once: WebKit lets a page copy only while the
   press on its button lasts. */
async function copyText(coming) {
  if (!window.ClipboardItem) return navigator.clipboard.writeText(await coming);
  const text = coming.then((one) => new Blob([one], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
}

export class Sharing {
  constructor(page) {
    Object.assign(this, { page, bar: page.bar, words: page.words });
    this.hash = ""; // of the address whose edits the page holds
    this.left = new Map(); // edits that a link has replaced, by the address where they were
  }

  /* --- in this tab */

  collect() {
    const { cells, lang } = this.page;
    const foreign = cells.filter((cell) => cell.foreign).map((cell) => cell.id);
    return { entries: listEntries(cells, lang), foreign };
  }

  noteEdits() {
    const edits = this.collect();
    const isEdited = edits.entries.length > 0;
    this.bar.setEdited(isEdited);
    const stored = { ...edits, hash: this.hash, left: [...this.left] };
    try {
      if (isEdited) sessionStorage.setItem(STORED, JSON.stringify(stored));
      else sessionStorage.removeItem(STORED);
    } catch {
      /* a browser that stores nothing, or no more */
    }
  }

  /* Show what this tab has stored, but where a link has other edits. */
  begin() {
    let stored = null;
    try {
      stored = JSON.parse(sessionStorage.getItem(STORED));
    } catch {
      /* a browser that stores nothing */
    }
    this.hash = stored?.hash ?? "";
    this.left = new Map(stored?.left);
    return this.hasOther(location.hash)
      ? this.replace(stored, this.hash, location.hash)
      : this.restore(stored);
  }

  hasOther(hash) {
    return hash !== this.hash && (isLink(hash) || this.left.has(hash));
  }

  /* The address has changed. What a reader has written or read makes way if they agree; their own
     edits come back unasked. */
  async move(from, to) {
    if (!this.hasOther(to)) return;
    const edits = this.collect();
    const isOwn = this.left.get(to)?.foreign.length === 0;
    if (edits.entries.length && !isOwn && !confirm(this.words.replace)) {
      history.replaceState(null, "", from || location.pathname + location.search);
      return;
    }
    this.page.runs.reset();
    await this.replace(edits, from, to);
  }

  /* Keep edits for the way back, and show those of another address. */
  replace(edits, from, to) {
    const kept = this.left.get(to);
    this.left.delete(to);
    if (edits?.entries.length) this.left.set(from, edits);
    this.hash = to;
    return kept ? this.restore(kept) : this.follow(to);
  }

  async restore({ entries, foreign }) {
    const found = selectFitting(entries, this.page.cells);
    this.bar.showStatus(this.words.restored);
    await this.show(found, (cell) => foreign.includes(cell.id));
  }

  /* --- links */

  async share() {
    const { cells, lang } = this.page;
    const address = link(cells, lang).then((hash) => {
      history.replaceState(null, "", hash);
      this.hash = hash; // this address is theirs
      this.noteEdits();
      return location.href;
    });
    const copied = copyText(address).then(
      () => true,
      () => false, // a page that may not copy
    );
    try {
      await address;
    } catch {
      this.bar.showAnswer(this.words.tooLong);
      return;
    }
    this.bar.showAnswer((await copied) ? this.words.copied : this.words.addressed);
  }

  /* The edits of a link are shown, and run when the reader asks for it. */
  async follow(fragment) {
    const { cells, lang } = this.page;
    let found;
    try {
      found = await edits(fragment, cells, lang, (other) => this.fetchCells(other));
    } catch (error) {
      const { tooLarge, unreadable } = this.words;
      this.bar.showStatus(error instanceof RangeError ? tooLarge : unreadable);
      return;
    }
    await this.show(found, () => true);
    found.fitting[0]?.[0].place?.scrollIntoView({ block: "center" });
  }

  /* The blocks of this page in another language. */
  async fetchCells(other) {
    const { lang } = this.page;
    const answer = await fetch(resolveUrl(this.words.page).replace(`/${lang}/`, `/${other}/`));
    return (await answer.json()).cells;
  }

  /* Whether code that came with a link waits for the reader to read it and press Run; says so. */
  warnOfForeign() {
    const count = this.page.cells.filter((cell) => cell.foreign && cell.edited).length;
    if (count) this.bar.showStatus(fillTemplate(this.words.linked, count));
    return count > 0;
  }

  /* Show edits in their editors; `isForeign` says of which cells they came with a link. Whatever came
     with a link is shown, where the page has no code of the block too: it is read before it runs. */
  async show({ fitting, lost }, isForeign) {
    for (const [cell, code] of fitting) {
      cell.foreign = isForeign(cell);
      cell.set(code);
      if (cell.id === "scratch") this.page.placeScratch();
      openFolds(cell.place);
      if (!cell.block && cell.id !== "scratch") cell.showKnobs();
      if (cell.block || cell.foreign || cell.id === "scratch") await cell.edit();
    }
    this.noteEdits();
    const isWarned = this.warnOfForeign();
    if (!lost.length) return;
    const named = lost.slice(0, NAMED).join(", ") + (lost.length > NAMED ? " …" : "");
    const before = isWarned ? [this.bar.status.textContent] : [];
    this.bar.showStatus([...before, fillTemplate(this.words.lost, named)].join(" "));
  }
}
