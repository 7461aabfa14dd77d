/* Files for the guest, checked by their hashes. What has arrived outlives a lost connection and a reader
   who cancels: until `forget`, no finished file is fetched again, and an unfinished one is continued
   where the server allows it. On a reader's wish the files of a model stay in the browser. */
const WAITS = [500, 1000, 2000, 4000]; // ms before another try
const whole = new Map(); // addresses and blobs, which a browser may hold outside the page's memory
const begun = new Map(); // addresses and what has come: { bytes, size }

export class LostConnection extends Error {}

export function forget(addresses) {
  for (const address of addresses) {
    whole.delete(address);
    begun.delete(address);
  }
}

const hexadecimal = (bytes) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function isListed(bytes, listed) {
  if (bytes.byteLength !== listed.bytes) return false;
  const { subtle } = globalThis.crypto; // not over plain http, where anything may have been changed
  return !subtle || hexadecimal(await subtle.digest("SHA-256", bytes)) === listed.sha256;
}

/* The bytes of a file as the build `listed` it. `count(n)` hears of each n bytes that come, and, where
   they have to come again, of -n; `shelf` is one of `openShelf`, or null. */
export async function loadPiece(address, listed, { signal, count, shelf }) {
  let counted = 0;
  const tell = (size) => {
    count(size - counted);
    counted = size;
  };
  const arrived = whole.get(address);
  const kept = await (arrived ?? (await shelf?.find(address)))?.arrayBuffer();
  if (kept && (await isListed(kept, listed))) {
    tell(kept.byteLength);
    if (arrived) await shelf?.add(address, kept);
    return kept;
  }
  for (const cache of ["default", "reload"]) {
    const bytes = await fetchPatiently(address, listed, { signal, tell, cache });
    if (await isListed(bytes, listed)) {
      whole.set(address, new Blob([bytes]));
      await shelf?.add(address, bytes);
      return bytes;
    }
    tell(0); // the browser had cached one of an earlier site
  }
  throw new Error(`${address.split("/").at(-1)} is not the file that was published`);
}

const sizeOf = (address) => begun.get(address)?.size ?? 0;

async function fetchPatiently(address, listed, options) {
  for (let tries = 0; ; tries += 1) {
    const before = sizeOf(address);
    try {
      return await fetchRest(address, listed, options);
    } catch (error) {
      if (options.signal.aborted || !(error instanceof TypeError)) throw error; // the network is there
      if (sizeOf(address) > before) tries = 0;
      if (tries === WAITS.length) throw new LostConnection(error.message);
      await new Promise((resolve) => setTimeout(resolve, WAITS[tries]));
      options.signal.throwIfAborted();
    }
  }
}

/* From where it broke off, if the server sends that, or from the beginning. */
async function fetchRest(address, listed, { signal, tell, cache }) {
  const piece = begun.get(address) ?? { bytes: new Uint8Array(listed.bytes), size: 0 };
  begun.set(address, piece);
  const headers = piece.size ? { Range: `bytes=${piece.size}-` } : {};
  const answer = await fetch(address, { cache, signal, headers });
  if (!answer.ok) throw new Error(`${answer.status} ${address}`);
  if (answer.status !== 206) piece.size = 0;
  tell(piece.size);
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done || piece.size + value.length > listed.bytes) break; // or it is another file
    piece.bytes.set(value, piece.size);
    piece.size += value.length;
    tell(piece.size);
  }
  begun.delete(address);
  return piece.bytes.buffer.slice(0, piece.size);
}

/* --- what stays in the browser --- */

export const canKeep = () => "caches" in window;

/* A place for the files below an address, which `failed(error)` tells that no more go into. */
export async function openShelf(base, failed) {
  const cache = await caches.open(nameOf(base));
  let isFull = false;
  return {
    find: async (address) => (await cache.match(address))?.blob(),
    async add(address, bytes) {
      if (isFull || !address.startsWith(base)) return; // Python's files are kept in their own way
      try {
        await cache.put(address, new Response(bytes));
      } catch (error) {
        isFull = true;
        await removeKept(base);
        failed(error);
      }
    },
  };
}

const nameOf = (base) => `attention-model ${base}`; // an origin may hold several sites

export async function countKept(base) {
  if (!canKeep() || !(await caches.has(nameOf(base)))) return 0;
  return (await (await caches.open(nameOf(base))).keys()).length;
}

export const removeKept = (base) => caches.delete(nameOf(base));
