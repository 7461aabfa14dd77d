/* Edits within an address: compressed, behind the #, so that no server is told. */
const HEAD = "#live=";

async function through(stream, bytes) {
  const answer = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await answer.arrayBuffer());
}

/* The published code of a block in one word: an edit fits only what it was made from. */
async function word(code) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(code)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(36);
}

export async function link(cells) {
  const edited = cells.filter((cell) => cell.edited);
  const told = await Promise.all(edited.map(async (cell) => [cell.id, await word(cell.base), cell.code]));
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(told)));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return HEAD + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/* The edits of a fragment: those that fit the page, and the blocks that have changed since. */
export async function edits(fragment, cells) {
  try {
    const letters = fragment.slice(HEAD.length).replaceAll("-", "+").replaceAll("_", "/");
    const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const told = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed)));
    const found = { fitting: [], lost: [] };
    for (const [id, base, code] of told) {
      const cell = cells.find((one) => one.id === id && !one.torch);
      if (typeof code !== "string") throw new Error(id);
      if (cell && await word(cell.base) === base) found.fitting.push([id, code]);
      else found.lost.push(String(id).slice(0, 60));
    }
    return found;
  } catch {
    return null;
  }
}
