"""Ask MathCAT, which NVDA and JAWS use to read MathML, what is heard of the site's formulas.

MathCAT is on no package index, so no test runs it. Its demonstration is WebAssembly in a page (the
folder dist of https://github.com/NSoiffer/MathCATDemo). With a copy of that and a built site,
`python -m tests.mathcat DIST SITE` writes tests/heard.toml anew: of the most frequent formulas that
carry intents, the source, a digest of the MathML that MathCAT has read, and its words.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from attention_docs.site.render.formulas import Renderer
from tests.conftest import ROOT, Handler, launch, parse_html, serve

TABLE = ROOT / "tests" / "heard.toml"
IN_TABLE = 150
RENDERER = Renderer()
# The page brings these from elsewhere: one shows formulas, the other is a voice.
FOREIGN = {
    "jsdelivr": """window.MathJax = {startup: {defaultReady() {}}, mathml2mml: one => one,
        tex2mml: one => one, mathml2chtml: () => document.createElement("span")}""",
    "amazonaws": """window.AWS = {config: {update() {}}, Config() {}, Polly() {},
        CognitoIdentityCredentials() {}}""",
}
SETTINGS = {"language": "en", "tts": "Off", "speech_style": "ClearSpeak", "verbosity": "Medium"}


class _Handler(Handler):
    def translate_path(self, path: str) -> str:
        return super().translate_path(path.replace("/MathCATDemo", ""))


def render(tex: str) -> str:
    """The MathML of a formula in a sentence, as the site publishes it."""
    (found,) = re.findall(r"<math.*</math>", RENDERER.render(tex, False), re.DOTALL)
    return str(found)


def make_digest(tex: str) -> str:
    return hashlib.sha256(render(tex).encode()).hexdigest()[:8]


def find_frequent(site: Path) -> list[str]:
    """The most frequent formulas with intents on the English pages."""
    counts: Counter[str] = Counter()
    for page in sorted(site.glob("*/index.html")):
        if page.parent.name.partition("-")[0] != "zh":
            counts.update(
                filter(None, (one.get("data-tex") for one in parse_html(page).iter("math")))
            )
    return [tex for tex, _ in counts.most_common() if "intent=" in render(tex)][:IN_TABLE]


def listen(dist: Path, formulas: list[str]) -> list[str]:
    """What MathCAT says of each formula; another before it shows when its answer is there."""
    heard = []
    with serve(dist, _Handler) as address, launch() as browser:
        page = browser.new_page()
        for host, script in FOREIGN.items():
            page.route(f"**/*{host}*/**", partial(_bring, script))
        page.context.add_cookies(
            [{"name": name, "value": value, "url": address} for name, value in SETTINGS.items()]
        )
        page.goto(f"{address}/index.html")
        for tex in formulas:
            _say(page, "<math><mtext>next</mtext></math>")
            heard.append(_say(page, render(tex)))
    return heard


def _bring(script: str, route: Any) -> None:
    route.fulfill(body=script, content_type="text/javascript")


def _say(page: Any, mathml: str) -> str:
    before = page.input_value("#speech")
    page.fill("#mathml-input", mathml)
    page.click("#render-button")
    page.wait_for_function(
        "before => document.querySelector('#speech').value !== before", arg=before
    )
    return " ".join(page.input_value("#speech").strip(" ,;").split())


if __name__ == "__main__":
    frequent = find_frequent(Path(sys.argv[2]))
    words = zip(frequent, listen(Path(sys.argv[1]), frequent), strict=True)
    lines = [f"{json.dumps(tex)} = {json.dumps([make_digest(tex), said])}" for tex, said in words]
    TABLE.write_text(
        "# Written by tests/mathcat.py with MathCAT 0.6.4.\n\n" + "\n".join(lines) + "\n"
    )
