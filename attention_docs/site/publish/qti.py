"""The judged questions as QTI 1.2 in a content package, which Canvas, Sakai and others import.

A number is right between two bounds. Each number of a list is a question of its own, and all of
them are worth a point together, as any other question is. A choice has one right answer, of the
lines of a proof those that do not belong are marked, a card is answered in words. What is written
is what Canvas understands: it takes any bounds for those of a right answer, and therefore the wrong
numbers that a page recognises stand in the feedback with their sentences. A question with other
numbers stands with its like in a section that gives one of them; a list with other numbers is left
out, since its entries cannot be drawn together.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from attention_docs.site.publish.archive import DATE
from attention_docs.site.publish.catalogue import PublishedPage
from attention_docs.site.publish.moodle import NEVER, explain, give_digits, list_mistakes
from attention_docs.site.publish.questions import Question, to_html
from attention_docs.site.publish.tolerance import find_slack
from attention_docs.site.render.judged import Number

PACKAGE = "qti.zip"
SPACE = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
PACKING = "http://www.imsglobal.org/xsd/imscp_v1p1"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
RESPONSE = 'respident="response1"'
GENERAL = "general_fb"  # the feedback that is shown in any case; Canvas knows it by this name
SCORE = (
    '<outcomes><decvar varname="SCORE" vartype="Decimal" minvalue="0" maxvalue="100"/></outcomes>'
)
ONE_OF_THEM = (
    "<selection_ordering><selection><selection_number>1</selection_number>"
    "<selection_extension><points_per_item>1</points_per_item></selection_extension>"
    "</selection></selection_ordering>\n"
)
"""A section that is a pool, of which a test takes one question; Canvas calls it a group."""
KINDS = {
    "essay": "essay_question",
    "choice": "multiple_choice_question",
    "lines": "multiple_answers_question",
    "number": "numerical_question",
}
"""What Canvas calls the kinds of questions."""


def write_assessment(questions: Sequence[Question], slug: str, title: str, words: Any) -> str:
    """The questions of a chapter as a file of a package."""
    groups: dict[str, list[str]] = {}  # by pool
    for question in questions:
        parts = [*_split(question, words)]
        if question.pool and len(parts) > 1:
            continue
        items = [_write_item(*part, 1 / len(parts), words) for part in parts]
        groups.setdefault(question.pool, []).extend(items)
    single = groups.pop("", [])
    pools = (
        f'<section ident="pool-{number}" title={_quote(pool)}>\n{ONE_OF_THEM}{"".join(items)}'
        "</section>\n"
        for number, (pool, items) in enumerate(groups.items(), start=1)
    )
    return (
        f'{HEAD}<questestinterop xmlns="{SPACE}">\n'
        f"<assessment ident={quoteattr(f'attention-{slug}')} title={_quote(title)}>\n"
        f'<section ident="root_section">\n{"".join(chain(single, pools))}</section>\n'
        "</assessment>\n</questestinterop>\n"
    )


def write_package(folder: Path, pages: Sequence[PublishedPage]) -> None:
    """All assessments of a language as one package, unless some are as they were."""
    paths = [folder / one.assessment for one in pages if one.assessment]
    if not paths or not all(one.is_file() for one in paths):
        return
    resources = "".join(
        f'<resource identifier={quoteattr(one.name)} type="imsqti_xmlv1p2" '
        f"href={quoteattr(one.name)}><file href={quoteattr(one.name)}/></resource>\n"
        for one in paths
    )
    manifest = (
        f'{HEAD}<manifest xmlns="{PACKING}" identifier="attention">\n'
        "<metadata><schema>IMS Content</schema><schemaversion>1.1.3</schemaversion></metadata>\n"
        f"<organizations/>\n<resources>\n{resources}</resources>\n</manifest>\n"
    )
    texts = {"imsmanifest.xml": manifest.encode()}
    texts |= {one.name: one.read_bytes() for one in paths}
    with zipfile.ZipFile(paths[0].with_name(PACKAGE), "w") as archive:
        for name, content in texts.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED)


def _split(question: Question, words: Any) -> Iterator[tuple[Question, float]]:
    """A question for each number of a list, with its largest; else the question itself."""
    ask = question.ask
    if ask is None or ask.wanted is None or not isinstance(ask.wanted.exact, list):
        yield question, 0
        return
    rows = ask.wanted.exact if isinstance(ask.wanted.exact[0], list) else [ask.wanted.exact]
    answer = question.answer + list_mistakes(question.told, words)
    largest = max(abs(one) for row in rows for one in row)
    for row, entries in enumerate(rows, start=1):
        for column, exact in enumerate(entries, start=1):
            said = words["cell" if len(rows) > 1 else "entry"].format(row=row, column=column)
            one = replace(
                question,
                name=f"{question.name}-{row}-{column}",
                title=f"{question.title}: {said}",
                text=f"{question.text}<p><strong>{said}</strong></p>",
                ask=replace(ask, wanted=Number("", exact), traps=[]),
                answer=answer,
            )
            yield one, largest


def _write_item(question: Question, largest: float, points: float, words: Any) -> str:
    ask, text, feedback = question.ask, question.text, {GENERAL: question.answer}
    rules: list[str] = []
    if ask is None:
        kind, fields = "essay", [_write_field("String")]
    elif ask.wanted is None:
        kind = "lines" if ask.is_proof else "choice"
        fields, rules = _write_choice(question, feedback)
        text += f"<p>{words['strangers']}</p>" if ask.is_proof else ""
    else:
        kind, fields = "number", [_write_field("Decimal")]
        rules = [_write_number(ask.wanted, largest)]
        text += give_digits(ask.wanted, words)
        feedback[GENERAL] += list_mistakes(question.told, words)
    feedback = {name: one for name, one in feedback.items() if one}
    said = "".join(_write_feedback(name, one) for name, one in feedback.items())
    always = _write_rule("<other/>", feedback=GENERAL, goes_on=True)
    rules = [always, *rules] if GENERAL in feedback else rules
    is_measured = words["measured"] in question.tags
    title = words["measured_title"].format(question.title) if is_measured else question.title
    return (
        f"<item ident={quoteattr(question.name)} title={_quote(title)}>\n"
        f"{_describe(kind, points)}<presentation>{_material(text + question.source)}\n"
        f"{''.join(fields)}</presentation>\n<resprocessing>{SCORE}\n{''.join(rules)}"
        f"</resprocessing>\n{said}</item>\n"
    )


def _describe(kind: str, points: float) -> str:
    """What Canvas calls the kind of a question, and its points."""
    entries = {"question_type": KINDS[kind], "points_possible": f"{points:.4g}"}
    fields = "".join(
        f"<qtimetadatafield><fieldlabel>{label}</fieldlabel><fieldentry>{entry}</fieldentry>"
        "</qtimetadatafield>"
        for label, entry in entries.items()
    )
    return f"<itemmetadata><qtimetadata>{fields}</qtimetadata></itemmetadata>\n"


def _write_feedback(name: str, html: str) -> str:
    inner = f"<flow_mat>{_material(html)}</flow_mat>"
    return f"<itemfeedback ident={quoteattr(name)}>{inner}</itemfeedback>\n"


def _write_choice(question: Question, feedback: dict[str, str]) -> tuple[list[str], list[str]]:
    """The choices, of which one is right; of a proof, all lines that do not belong."""
    assert question.ask
    is_proof, labels, rules, right = question.ask.is_proof, [], [], []
    for number, option in enumerate(question.ask.options, start=1):
        name = f"choice{number}"
        inner = _material(to_html(option.text))
        labels.append(f'<response_label ident="{name}">{inner}</response_label>\n')
        chosen = f'<varequal respident="response1">{name}</varequal>'
        is_wanted = option.is_right != is_proof
        right.append(chosen if is_wanted else f"<not>{chosen}</not>")
        if option.why:
            feedback[f"{name}_fb"] = explain(option.why)
            rules.append(_write_rule(chosen, feedback=f"{name}_fb", goes_on=True))
    several = "Multiple" if is_proof else "Single"
    field = f'<response_lid ident="response1" rcardinality="{several}">\n'
    field += '<render_choice shuffle="Yes">\n'
    wanted = (
        f"<and>{''.join(right)}</and>"
        if is_proof
        else "".join(one for one in right if not one.startswith("<not>"))
    )
    return [field, *labels, "</render_choice>\n</response_lid>\n"], [
        *rules,
        _write_rule(wanted, 100),
    ]


def _write_number(wanted: Number, largest: float) -> str:
    slack = find_slack(wanted, largest)
    low, high = wanted.exact - slack, wanted.exact + slack
    bounds = f"<vargte {RESPONSE}>{low!r}</vargte><varlte {RESPONSE}>{high!r}</varlte>"
    return _write_rule(f"<and>{bounds}</and>", 100)


def _write_field(kind: str) -> str:
    inner = f'<render_fib fibtype="{kind}"><response_label ident="answer1"/></render_fib>'
    return f'<response_str ident="response1" rcardinality="Single">{inner}</response_str>\n'


def _write_rule(
    condition: str, score: int | None = None, feedback: str = "", *, goes_on: bool = False
) -> str:
    given = "" if score is None else f'<setvar action="Set" varname="SCORE">{score}</setvar>'
    shown = f'<displayfeedback feedbacktype="Response" linkrefid="{feedback}"/>' if feedback else ""
    after = "Yes" if goes_on else "No"
    return (
        f'<respcondition continue="{after}"><conditionvar>{condition}</conditionvar>'
        f"{given}{shown}</respcondition>\n"
    )


def _material(html: str) -> str:
    text = escape(NEVER.sub("", html))
    return f'<material><mattext texttype="text/html">{text}</mattext></material>'


def _quote(text: str) -> str:
    return quoteattr(re.sub(r"\s+", " ", NEVER.sub("", text)))
