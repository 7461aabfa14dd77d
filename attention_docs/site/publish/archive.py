"""The site without its search and its largest model, as one zip that opens from disk."""

from __future__ import annotations

import hashlib
import html
import posixpath
import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

from attention_docs.site.publish.catalogue import GAP, ZIP

FOLDER = "attention-docs"
SUMS = "SHA256SUMS"
"""The hash of each other file of the site: `sha256sum --check` reads it too."""

LINK = re.compile(r'(?P<before>\s(?:href|src)=")(?P<path>[^"#?:]*)(?P<rest>[^":]*")')
OFFER = re.compile(rf'{re.escape(GAP)}<a href="[^"]*{re.escape(ZIP)}"[^>]*>[^<]*</a>')
LEFT_OUT = re.compile(
    r"(404\.html|sitemap\.xml.*|(\w[\w-]*/)?search/.*|assets/search(-box)?\.js|assets/javascripts/(lunr|workers)/.*"
    r"|.*\.map|(?!live/|banks/).*\.zip|live/smollm2/.*)$"
)
"""What makes no sense on a disk, and a model of 98 MB. The search index cannot be read there."""

QUIET = '<style>.md-search,[for="__search"]{display:none!important}</style>'
STORED = {".epub", ".png", ".woff2", ".woff", ".gz", ".jpg", ".onnx"}
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold: the same site, the same bytes


def add_entry(
    archive: zipfile.ZipFile, name: str, content: str | bytes, packed: bool = True, level: int = 6
) -> None:
    """Add a file to a zip that is the same on every day and every machine."""
    entry = zipfile.ZipInfo(name, DATE)
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    archive.writestr(entry, content, compresslevel=level)


def list_files(built: Path) -> list[str]:
    """What the archive holds of a site."""
    names = (path.relative_to(built).as_posix() for path in built.rglob("*") if path.is_file())
    return sorted(name for name in names if not LEFT_OUT.match(name))


def format_sum(name: str, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {name}\n"


def pack_site(built: Path, target: Path, base: str) -> None:
    """Write the site in `built` as a zip; `base` is the path of the site's own address."""
    sums = ""
    with zipfile.ZipFile(target, "w") as archive:
        for name in list_files(built):
            content = (built / name).read_bytes()
            if name.endswith(".html"):
                content = adapt_page(content.decode(), name, built, base).encode()
            packed = Path(name).suffix not in STORED
            add_entry(archive, f"{FOLDER}/{name}", content, packed=packed)
            sums += format_sum(name, content)
        archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{SUMS}", DATE), sums)


def adapt_page(content: str, name: str, built: Path, base: str) -> str:
    """A page for the disk: a link to a folder becomes a link to the page in it."""
    folder = posixpath.dirname(name)

    def adapt_link(match: re.Match[str]) -> str:
        path = html.unescape(match["path"])
        if not path or path.startswith("//"):
            return match[0]
        if path.startswith("/"):
            path = posixpath.relpath(path.removeprefix(base) or ".", folder or ".")
        if (built / folder / unquote(path)).is_dir():
            path = posixpath.join(path, "index.html")
        return match["before"] + html.escape(path) + match["rest"]

    content = OFFER.sub("", LINK.sub(adapt_link, content))
    return content.replace("</head>", QUIET + "</head>", 1)
