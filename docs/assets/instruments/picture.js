/* The drawing of an instrument as a PNG: colours and type written into it, a title above it, and the
   address below. */
const SIZE = [1200, 630];
const MARGIN = 40;
const FACE = "attention-words";
const FACES = ["latin", "han"].map(
  (name) => new URL(`../fonts/attention-words-${name}.woff2`, import.meta.url).href,
);
const STYLES = [
  "fill",
  "stroke",
  "font-family",
  "font-weight",
  "font-size",
  "opacity",
  "paint-order",
];

export async function makePicture(svg, state) {
  const copy = svg.cloneNode(true);
  const parts = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of STYLES) parts[i].style.setProperty(name, style.getPropertyValue(name));
  });
  const page = getComputedStyle(document.body);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const scale = Math.min((SIZE[0] - 2 * MARGIN) / width, (SIZE[1] - 130) / height);
  copy.setAttribute("width", 2 * scale * width);
  copy.setAttribute("height", 2 * scale * height);
  copy.removeAttribute("style");
  copy.style.color = page.color;
  copy.style.fontFamily = page.fontFamily;
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = (await Promise.all(FACES.map(describeFace))).join("");
  copy.prepend(style);
  const text = new XMLSerializer().serializeToString(copy);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  await waitForWords(image, svg);

  const canvas = Object.assign(document.createElement("canvas"), {
    width: SIZE[0],
    height: SIZE[1],
  });
  const pen = canvas.getContext("2d");
  pen.fillStyle = page.backgroundColor;
  pen.fillRect(0, 0, ...SIZE);
  pen.fillStyle = page.color;
  pen.font = `600 30px ${page.fontFamily}`;
  pen.fillText(readTitle(), MARGIN, 50, SIZE[0] - 2 * MARGIN);
  pen.drawImage(image, (SIZE[0] - scale * width) / 2, 66, scale * width, scale * height);
  pen.font = `19px ${page.fontFamily}`;
  const address = location.href.replace(/^https?:\/\//, "");
  const room = SIZE[0] - 3 * MARGIN - pen.measureText(address).width;
  pen.fillText(state, MARGIN, SIZE[1] - 22, Math.max(room, 200));
  pen.textAlign = "right";
  pen.fillText(address, SIZE[0] - MARGIN, SIZE[1] - 22, SIZE[0] / 2);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/* A browser calls a drawing complete before the fonts in it are there: its words are, where they have
   ink between half their height and their line. */
async function waitForWords(image, svg) {
  const word = svg.querySelector(`.${FACE} text, text.${FACE}`)?.getBBox();
  if (!word) return;
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  Object.assign(pen.canvas, {
    width: svg.viewBox.baseVal.width,
    height: svg.viewBox.baseVal.height,
  });
  const middle = [word.x, word.y + 0.45 * word.height, word.width, 0.2 * word.height];
  for (let n = 0; n < 60; n += 1) {
    pen.drawImage(image, 0, 0, pen.canvas.width, pen.canvas.height);
    if (pen.getImageData(...middle).data.some((one) => one)) return;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/* The heading without the link to itself. */
function readTitle() {
  const heading = document.querySelector("h1").cloneNode(true);
  for (const one of heading.querySelectorAll(".headerlink")) one.remove();
  return heading.textContent.trim();
}

/* A picture asks for no file: its fonts lie in it. */
async function describeFace(url) {
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  const data = btoa(String.fromCharCode(...bytes));
  return `@font-face{font-family:"Attention Words";src:url(data:font/woff2;base64,${data})}`;
}
