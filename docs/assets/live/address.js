/* What a panel shows, in the address of the page: behind the #, where no server sees it. */
const PAUSE = 250; // ms: WebKit refuses an address that changes a hundred times in ten seconds

let next; // what waits to be written
let timer;

addEventListener("hashchange", () => {
  clearTimeout(timer); // the reader has gone somewhere else
  timer = undefined;
});

/* At once, or when the last one is old enough. */
export function writeAddress(hash) {
  next = hash;
  if (timer) return;
  write();
  timer = setTimeout(() => {
    timer = undefined;
    if (next) writeAddress(next);
  }, PAUSE);
}

function write() {
  history.replaceState(history.state, "", next);
  next = undefined;
}

/* The names and values of an address such as #model=masking&row=3. */
export const readAddress = () => new URLSearchParams(location.hash.slice(1));
