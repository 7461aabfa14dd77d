"""Where the real model does what a chapter is about on a reader's own text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.render.chapters import Chapters

MARK = "model-panel"
"""The class by which docs/assets/site.js finds the place."""

SHARED = (
    *("load", "cancel", "cancelled", "loading", "amount", "seconds", "starting"),
    *("keep", "keptAll", "keptSome", "remove", "full", "lost", "killed"),
    *("opening", "own", "read", "reading", "empty", "cut", "id", "comma"),
    *("token", "whole", "without", "control", "controlNote", "out"),
    *("map", "times", "stop", "bytes", "held", "readSome", "marks", "chat"),
)
"""The words that every panel takes from those of the first one."""


def offer_panel(view: str, chapters: Chapters) -> str:
    """What stands there without a script, or that the model is missing, as Markdown."""
    words = chapters.locale["site"]
    views = [name for name, one in words["model"].items() if not isinstance(one, str)]
    if view not in views:
        raise Failure("", 1, f'model: wanted one of {", ".join(views)}, got "{view}"')
    if not chapters.offers_model:
        return f"{words['next']['missing']}"
    return f"{words['model']['script']}\n{{ .{MARK} }}"


def describe_panel(view: str, words: Mapping[str, Any]) -> dict[str, Any]:
    """What the script of a panel says, out of the words of the site."""
    common = {name: text for name, text in words["model"].items() if isinstance(text, str)}
    shared = {name: words["next"][name] for name in SHARED}
    shared |= {name: dict(text) for name, text in shared.items() if isinstance(text, Mapping)}
    return {**shared, **common, **words["model"][view], "view": view}
