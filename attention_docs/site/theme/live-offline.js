/* Keeps what a live page has loaded, so that it works without network. The network comes first, so
   nothing is ever old. Registered by docs/assets/live/page.js when a reader asks for Python. */
const NAME = "attention-live";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith(answered(event));
});

async function answered(event) {
  const { request } = event;
  const kept = await caches.open(NAME);
  try {
    const answer = await fetch(request);
    if (answer.ok && answer.type === "basic") {
      event.waitUntil(kept.put(request.url.split("#")[0], answer.clone()));
    }
    return answer;
  } catch (error) {
    const found = await kept.match(request.url.split("#")[0]);
    if (found) return found;
    throw error;
  }
}

/* What was there before this script was: what the browser still has is not fetched again. */
addEventListener("message", (event) => event.waitUntil((async () => {
  const kept = await caches.open(NAME);
  await Promise.all(event.data.map(async (address) => {
    if (await kept.match(address)) return;
    const answer = await fetch(address, { cache: "force-cache" });
    if (answer.ok) await kept.put(address, answer);
  }));
})()));
