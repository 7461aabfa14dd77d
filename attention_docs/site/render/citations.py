"""The works that the chapters name under "Sources", and the public reports that they link to.

A chapter's source is an item such as `Author (year), [Title](address), §3.1: what it is used for`.
Works with the same address are one row; what a chapter uses them for stays in its own words.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.render.chapters import Chapters, join_titles

LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<address>https?://[^)\s]+)\)")
# What may hold a colon that does not end the citation.
SHIELDED = re.compile(r"\[[^\]]*\]\([^)]*\)|\$[^$]*\$|`[^`]*`")
COLON = re.compile(r"[:：]")
REPORT = re.compile(
    r"https://github\.com/(?P<repo>[\w.-]+/[\w.-]+)/(?:issues|pull)/(?P<number>\d+)"
)
LECTURES = ("towardsdatascience.com", "speech.ee.ntu.edu.tw", "nlp.seas.harvard.edu")
DOCUMENTATION = ("docs.pytorch.org", "data-apis.org", "IEEESTD", "github.com", "docs.python.org")
JOINING = ("", "and", "和", "与", "與")
KINDS = ("papers", "lectures", "documentation")


@dataclass
class Work:
    """A work: how it is cited, and what each page uses it for."""

    citation: str
    uses: dict[str, str] = field(default_factory=dict)

    @property
    def year(self) -> str:
        """The year in the citation; a work without one comes last."""
        found = re.search(r"\b(1[5-9]|20)\d\d\b", LINK.sub("", self.citation))
        return found[0] if found else "9999"


def classify_work(key: str) -> str:
    """Where a work belongs, by its address."""
    if any(host in key for host in LECTURES):
        return "lectures"
    return "documentation" if any(host in key for host in DOCUMENTATION) else "papers"


def list_sources(page: Page) -> list[str]:
    """The items under a page's heading #sources."""
    text = "".join(passage.text for passage in page.passages if passage.id == "sources")
    return [line[2:].strip() for line in text.split("\n") if line.startswith("- ")]


def split_citation(item: str) -> tuple[str, str]:
    """The citation and what the work is used for.

    Examples:
        >>> split_citation("A. B. (2019), [Set: a title](https://a.org), §3: sets.")
        ('A. B. (2019), [Set: a title](https://a.org), §3', 'sets.')
    """
    blank = SHIELDED.sub(lambda match: " " * len(match[0]), item)
    colon = COLON.search(blank)
    if not colon:
        return item.rstrip(".。"), ""
    return item[: colon.start()], item[colon.end() :].strip()


def parse_works(citation: str) -> list[tuple[str, str, str]]:
    """Address, label and place inside the work, for every work of a citation.

    Examples:
        >>> parse_works("PyTorch, [Linear](https://p.org/l) and [Softmax](https://p.org/s)")[1]
        ('https://p.org/s', 'PyTorch, [Softmax](https://p.org/s)', '')
        >>> parse_works("A. B. (2019), [Set](https://a.org), §3")
        [('https://a.org', 'A. B. (2019), [Set](https://a.org)', '§3')]
        >>> parse_works("R. Duncan Luce (1959), Individual Choice Behavior, Wiley")[0][1]
        'R. Duncan Luce (1959), Individual Choice Behavior, Wiley'
    """
    links = list(LINK.finditer(citation))
    if not links:
        return [(citation, citation, "")]
    if len(links) == 1:
        inside = re.sub("^and |^及", "", citation[links[0].end() :].strip(" ,，"))
        return [(links[0]["address"], citation[: links[0].end()], inside)]
    author = citation[: links[0].start()]
    found = [(links[0]["address"], author + links[0][0], "")]
    for before, link in itertools.pairwise(links):
        between = citation[before.end() : link.start()].strip(" ,，、")
        label = author + link[0] if between in JOINING else link[0]
        found.append((link["address"], label, ""))
    return found


def collect_works(chapters: Chapters) -> dict[str, Work]:
    """Every work that a page names, by its address, or by its citation where it has none."""
    found: dict[str, Work] = {}
    colon = chapters.locale["site"]["marks"]["colon"]
    for slug, page in _select_pages(chapters):
        for item in list_sources(page):
            citation, use = split_citation(item)
            if not LINK.search(citation) and REPORT.search(item):
                continue  # a list of reports, under the name of a tracker
            for key, label, inside in parse_works(citation):
                if REPORT.match(key):
                    continue
                work = found.setdefault(key, Work(label))
                work.citation = max(work.citation, label, key=len)
                description = colon.join(filter(None, [inside, use])).rstrip(".。")
                link = f"[{page.title}]({slug}.md#sources)"
                before = work.uses.get(slug, link)
                work.uses[slug] = f"{before}{colon}{description}" if description else before
    return found


def _select_pages(chapters: Chapters) -> list[tuple[str, Page]]:
    """The pages that name sources: all but those of modules."""
    return sorted((slug, page) for slug, page in chapters.pages.items() if "/" not in slug)


def render_works(kind: str, chapters: Chapters) -> str:
    """The works of one kind, the oldest first."""
    if kind not in KINDS:
        raise Failure("", 1, f'works: wanted one of {", ".join(KINDS)}, got "{kind}"')
    found = [
        (work, key) for key, work in collect_works(chapters).items() if classify_work(key) == kind
    ]
    locale = chapters.locale["site"]["citations"]
    rows = [f"| {locale['work']} | {locale['use']} |", "|---|---|"]
    for work, _ in sorted(found, key=lambda pair: (pair[0].year, pair[1])):
        rows.append(f"| {work.citation} | {'<br>'.join(work.uses.values())} |")
    return "\n".join(rows)


def render_reports(chapters: Chapters) -> str:
    """Every public report that the gallery or a chapter links to, once, by what it is about."""
    locale, lang, gallery = chapters.locale, chapters.lang, chapters.find_asking("gallery").slug
    texts = [
        (
            f"[{chapters.translate_field('mistakes', entry)}]({gallery}.md#{entry['id']})",
            entry.get(f"report_{lang}", ""),
        )
        for entry in chapters.read_records("mistakes")
    ]
    passages = [
        (slug, page, part) for slug, page in _select_pages(chapters) for part in page.passages
    ]
    # The lists of sources name again what the chapters' text links to, so they come last.
    for slug, page, part in sorted(passages, key=lambda place: place[2].id == "sources"):
        title = join_titles(page.title, part.title, locale) if part.level else page.title
        place = f"#{part.id}" if part.level > 1 else ""
        texts.append((f"[{title}]({slug}.md{place})", part.text))
    heads = locale["site"]["citations"]
    rows = [f"| {heads['place']} | {heads['report']} |", "|---|---|"]
    seen: set[tuple[str, str]] = set()
    for place, text in texts:
        new = {(found["repo"], found["number"]): found[0] for found in REPORT.finditer(text)}
        new = {key: address for key, address in new.items() if key not in seen}
        seen.update(new)
        if new:
            links = [f"[{repo} #{number}]({new[repo, number]})" for repo, number in new]
            rows.append(f"| {place} | {'<br>'.join(links)} |")
    return "\n".join(rows)
