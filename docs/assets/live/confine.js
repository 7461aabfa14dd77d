/* What a reader's code can reach. Runs first in the worker, before Python and before any reader's
   code: of the worker's names only the language and what Python needs to start stay. No network, no
   storage, no further workers, no text that becomes code. The frame of guest.js adds the browser's
   own walls, and without them nothing starts. */
const ALLOWED_NAMES = new Set(
  `Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date
   Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError
   URIError globalThis JSON Math Intl ArrayBuffer SharedArrayBuffer Atomics Int8Array Uint8Array
   Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array
   Float16Array Float32Array Float64Array DataView Map Set WeakMap WeakSet WeakRef BigInt Iterator
   FinalizationRegistry Proxy Reflect SuppressedError DisposableStack AsyncDisposableStack decodeURI
   decodeURIComponent encodeURI encodeURIComponent escape unescape isFinite isNaN WebAssembly
   self location console performance crypto setTimeout clearTimeout queueMicrotask structuredClone
   atob btoa TextDecoder TextEncoder MessageChannel URL Response AbortController AbortSignal DOMException
   WorkerGlobalScope`.split(/\s+/),
);

/* The only way to the page: a port that the page sends once, before anything else runs. */
// biome-ignore lint/correctness/noUnusedVariables: worker.js, behind it in one script, uses it
const connected = new Promise((resolve) => {
  self.onmessage = ({ ports: [port] }) => resolve(port);
});

(() => {
  if (self.origin !== "null") throw new Error("a reader's code runs in a frame without an origin");
  const { userAgent, platform, maxTouchPoints } = self.navigator; // Pyodide asks on which browser it is
  const end = EventTarget.prototype; // a port has its methods
  for (let holder = self; holder !== end; holder = Object.getPrototypeOf(holder)) {
    for (const name of Object.getOwnPropertyNames(holder)) {
      if (name === "constructor" || ALLOWED_NAMES.has(name)) continue;
      Reflect.deleteProperty(holder, name);
    }
  }
  // biome-ignore lint/suspicious/noShadowRestrictedNames: it stands in its place, with its name
  const refuse = function Function() {
    throw new TypeError("text cannot become code here");
  };
  refuse.prototype = Object.getPrototypeOf(refuse);
  for (const made of [() => {}, async () => {}, function* () {}, async function* () {}]) {
    Object.defineProperty(Object.getPrototypeOf(made), "constructor", { value: refuse });
  }
  self.Function = refuse;
  self.navigator = { userAgent, platform, maxTouchPoints };
  const wait = self.setTimeout;
  self.setTimeout = (job, ...rest) => (typeof job === "function" ? wait(job, ...rest) : refuse());
  delete URL.createObjectURL;
})();
