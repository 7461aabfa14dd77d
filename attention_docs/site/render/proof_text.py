"""Proofs that a kernel has checked: beside a derivation line by line, and each as a whole.

docs/assets/proof-steps.js makes a proof one that opens sentence by sentence.
"""

from __future__ import annotations

from html import escape
from xml.etree.ElementTree import Element

from markdown import Markdown

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.passage import Passage
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.boxes import name_steps, render_statement
from attention_docs.site.render.chapters import Chapters

LINES = "coq"  # the class of what Coq reads for the lines of the formula before it
STEPS = "proof-steps"  # the class of a proof's name, where its sentences are to stand


def offer_lines(slug: str, name: str, chapters: Chapters) -> str:
    """What Coq reads for each line of a derivation; without a name the switch that shows it."""
    if not name:
        label = chapters.locale["site"]["proofs"]["switch"]
        return f'<label class="coq-switch"><input type="checkbox"> {label}</label>'
    page = chapters.find_page(slug)
    if name not in page.proof_lines:
        raise Failure(page.path, 1, f"no proof has lines of {name}: (* {name}: 1 *)")
    lines = [f"`{line}`" for line in page.proof_lines[name]]
    return "\n".join([*lines, f"{{ .{LINES} }}"])


def render_proofs(chapters: Chapters) -> str:
    """Every proof: by chapter the theorems, with the words of their boxes, then the lemmas."""
    steps = chapters.find_asking("proofs").proof_steps
    parts, named = [], set[str]()
    for slug, number in chapters.numbered.items():
        page = chapters.find_page(slug)
        boxes = [one for one in page.passages if "proved" in dict(one.options)]
        if boxes:
            parts.append(f"## {number} {page.title} {{ #{slug} }}")
            assembled = AssembledPage(
                page, chapters.results(page), chapters.locale, numbered=chapters.numbered
            )
            parts += [_render_box(box, name, assembled) for box in boxes for name in _names(box)]
            named.update(name for box in boxes for name in _names(box))
    parts.append(f"## {chapters.locale['site']['proofs']['lemmas']} {{ #lemmas }}")
    lemmas = [(file, one) for file in steps for one in steps[file] if f"{file}.{one}" not in named]
    parts += [_fold_steps(f"`{file}.{one}`", file, one) for file, one in lemmas]
    return "\n\n".join(parts)


def _names(box: Passage) -> list[str]:
    return dict(box.options)["proved"].split()


def _render_box(box: Passage, name: str, assembled: AssembledPage) -> str:
    """A theorem with the words of its box."""
    number = assembled.find_number(box.id)
    words = assembled.locale["site"]["boxes"]["result"].format(number)
    link = f"[{words}]({assembled.page.slug}.md#{box.id})"
    said = f"{render_statement(box, assembled)}\n\n{link}\n{{ .result-links }}"
    file, _, theorem = name.partition(".")
    which = f" (`{theorem}`)" if len(_names(box)) > 1 else ""  # else two folds have one title
    return _fold_steps(f"**{number}** {box.title}{which}", file, theorem, said)


def _fold_steps(title: str, file: str, name: str, said: str = "") -> str:
    address = name_steps(f"{file}.{name}").replace("'", "-")
    head = f"/// fold | {title}\n    id: {address}\n"
    return "\n".join([head, said, f"\n{file}.{name}\n{{ .{STEPS} }}\n", "///"])


def lay_out_steps(root: Element, assembled: AssembledPage, md: Markdown) -> None:
    """In place of each name of a proof its sentences, as Coq reads them."""
    for place in [one for one in root.iter("p") if one.get("class") == STEPS]:
        proof = place.text or ""
        file, _, name = proof.partition(".")
        theorem, *sentences = (sentence for sentence, _ in assembled.page.proof_steps[file][name])
        lines = [theorem, "Proof.", *(f"  {sentence}" for sentence in sentences), "Qed."]
        place.tag = "div"
        place.set("lang", "en")
        place.set("data-proof", proof)
        place.text = md.htmlStash.store(f"<pre>{escape(chr(10).join(lines))}</pre>")
