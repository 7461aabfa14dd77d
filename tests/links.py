"""Ask every link to another site, over the network, whether it still works: `make links`.

No build and no test does so.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urldefrag, urlsplit
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
READ = ("*.md", "docs/**/*.md", "docs/*.toml")
LINK = re.compile(r"https?://[^\s<>\"'`\])}|\\，。；）]+(?<![.,;:*])")
OWN = {"127.0.0.1:8000", "localhost:8000", "example.org"}
PATIENCE, PAUSE = 30, 1
"""Seconds until a site counts as out of reach, and between two questions to the same one."""
UNDECIDED = {401, 403, 405, 406, 418, 429, 500, 502, 503}
"""Answers of sites that do not like a program, or have a bad day."""


def places(root: Path = ROOT) -> dict[str, list[str]]:
    """Every link to another site, with the files and lines that it stands in."""
    found: dict[str, list[str]] = {}
    for path in sorted({path for pattern in READ for path in root.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), start=1):
            for link in LINK.findall(line):
                if urlsplit(link).netloc not in OWN:
                    place = f"{path.relative_to(root).as_posix()}:{number}"
                    found.setdefault(link, []).append(place)
    return dict(sorted(found.items()))


def answer(link: str) -> str:
    """What is wrong with a link, or ""; "?" begins what a reader must look at."""
    request = Request(urldefrag(link).url, headers={"User-Agent": "Mozilla/5.0 (link check)"})
    try:
        with urlopen(request, timeout=PATIENCE):
            return ""
    except HTTPError as error:
        return f"{'?' * (error.code in UNDECIDED)}{error.code} {error.reason}"
    except (OSError, ValueError) as error:
        return str(error)


def answers(links: Iterable[str]) -> dict[str, str]:
    """What is wrong with links; sites are asked side by side, and each with pauses."""
    sites: dict[str, list[str]] = {}
    for link in links:
        sites.setdefault(urlsplit(link).netloc, []).append(link)

    def asked(own: list[str]) -> dict[str, str]:
        found = {}
        for number, link in enumerate(own):
            time.sleep(PAUSE * bool(number))
            found[link] = answer(link)
        return found

    with ThreadPoolExecutor(16) as pool:
        return {link: said for one in pool.map(asked, sites.values()) for link, said in one.items()}


def main() -> int:
    """Ask each link; 1 if one leads nowhere."""
    found = places()
    wrong = {link: said for link, said in answers(found).items() if said}
    for link, said in wrong.items():
        for place in found[link]:
            print(f"{place}: {link}: {said}")
    dead = sum(not said.startswith("?") for said in wrong.values())
    print(f"{len(found)} links: {dead} lead nowhere, {len(wrong) - dead} to look at by hand (?)")
    return int(bool(dead))


if __name__ == "__main__":
    sys.exit(main())
