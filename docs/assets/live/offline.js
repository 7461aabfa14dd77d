/* Once Python is here, the chapters open without network too: see theme/live-offline.js. `root` is the
   address of the site, `folder` that of further files which are to be there then. */
export async function keepForLater(root, folder) {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  try {
    await serviceWorker.register(`${root}live-offline.js`, { scope: root, updateViaCache: "none" });
    const { active } = await serviceWorker.ready;
    const links = Array.from(document.querySelectorAll(".md-nav--primary a[href]"), (a) => a.href);
    const { base } = document.querySelector(".md-search").dataset;
    const index = new URL(`${base.replace(/\/*$/, "")}/search/search_index.json`, location.href)
      .href;
    const addresses = [location.href, index, ...links].filter((address) =>
      address.startsWith(root),
    );
    active.postMessage({ addresses, folder });
  } catch {
    /* a browser that stores nothing: only this visit is live */
  }
}
