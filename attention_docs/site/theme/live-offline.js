/* Lets what was loaded once open without network. The network comes first, so that nothing is stale;
   without it, a file is served only where its content is the one that the build lists here: a cache
   can be written to by any script of this origin. Registered by docs/assets/live/offline.js. */
const LISTED = {}; // paths and their SHA-256, written by the build: attention_docs/site/publish/live.py
const NAME = `attention-offline ${registration.scope}`; // an origin may hold several sites
const TYPES = {
  css: "text/css",
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  wasm: "application/wasm",
  woff2: "font/woff2",
};

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(activate()));

async function activate() {
  for (const name of await caches.keys()) {
    if (name === "attention-live") await caches.delete(name); // of earlier versions: without hashes
  }
  await removeStale();
  await clients.claim();
}

/* The path of an address within the site, as the build lists it; "" for one that is not listed. */
function pathOf(address) {
  const [place] = address.split(/[?#]/);
  const { scope } = registration;
  if (!place.startsWith(scope)) return "";
  const path = decodeURI(place.slice(scope.length));
  const file = path === "" || path.endsWith("/") ? `${path}index.html` : path;
  return Object.hasOwn(LISTED, file) ? file : "";
}

const keyOf = (path) => registration.scope + path;

async function isListed(path, body) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return btoa(String.fromCharCode(...hash)) === LISTED[path];
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const path = request.method === "GET" ? pathOf(request.url) : "";
  if (path) event.respondWith(respond(event, path));
});

async function respond(event, path) {
  try {
    const answer = await fetch(event.request);
    if (answer.ok) event.waitUntil(cacheFile(path, answer.clone()));
    return answer;
  } catch (error) {
    const cached = await readCached(path);
    if (cached) return cached;
    throw error;
  }
}

async function cacheFile(path, answer) {
  const body = await answer.arrayBuffer();
  if (!(await isListed(path, body))) return false;
  const cache = await caches.open(NAME);
  await cache.put(keyOf(path), new Response(body));
  return true;
}

async function readCached(path) {
  const cache = await caches.open(NAME);
  const found = await cache.match(keyOf(path));
  const body = await found?.arrayBuffer();
  if (!body || !(await isListed(path, body))) return null;
  const type = TYPES[path.split(".").at(-1)] ?? "application/octet-stream";
  return new Response(body, { headers: { "Content-Type": type } });
}

/* What the site no longer has, or has otherwise, takes no room. */
async function removeStale() {
  const cache = await caches.open(NAME);
  for (const { url } of await cache.keys()) {
    const path = pathOf(url);
    if (!path || !(await readCached(path))) await cache.delete(url);
  }
}

/* A page names pages that are to open without network, and the folder of their blocks. */
addEventListener("message", (event) => event.waitUntil(prepare(event.data)));

async function prepare({ addresses, folder }) {
  const blocks = folder.slice(registration.scope.length);
  const shared = /^(assets\/|live\/[^/]+$)/;
  const paths = Object.keys(LISTED).filter((path) => path.startsWith(blocks) || shared.test(path));
  for (const path of new Set([...addresses.map(pathOf), ...paths])) {
    if (!path || (await readCached(path))) continue;
    await loadFile(path).catch(() => {}); // the others are still worth having
  }
}

/* From what the browser has, or, where that is of an earlier site, from the network. */
async function loadFile(path) {
  const address = keyOf(path.replace(/(^|\/)index\.html$/, "$1"));
  for (const cache of ["force-cache", "reload"]) {
    const answer = await fetch(address, { cache });
    if (answer.ok && (await cacheFile(path, answer))) return;
  }
}
