"""Listen to what mkdocs and its plugins warn about: a warning is a fault of the site."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import mkdocs

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page as Source

log = logging.getLogger("mkdocs.attention_docs")
LINK_WARNING = re.compile(r"Doc file '(?P<page>[^']+)' contains an? .*?link '(?P<link>[^']+)'")
UNCHANGED = "Generated empty output"  # what mkdocs says of a page that stays as it was


class Listener(logging.Handler):
    """Collects the warnings of a build, except our own."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Collect the message, unless it is one of ours."""
        if record.name != log.name:
            self.messages.append(record.getMessage())

    def attach(self) -> None:
        """Listen even where -q would silence warnings."""
        for name in {"mkdocs", mkdocs.__name__}:  # a successor goes by its own name
            root = logging.getLogger(name)
            root.addHandler(self)
            if root.level > logging.WARNING:  # -q
                for handler in root.handlers:
                    if handler is not self:
                        handler.setLevel(root.level)
                root.setLevel(logging.WARNING)
            logging.getLogger(f"{name}.commands.build").addFilter(
                lambda record: UNCHANGED not in record.getMessage()
            )


def locate_warning(message: str, sources: Iterable[Source]) -> Failure:
    """A warning of mkdocs as a fault of the line that holds the link."""
    match = LINK_WARNING.search(message)
    for source in sources:
        if match and source.path == f"docs/{match['page']}":
            return Failure(source.path, source.find_line(f"({match['link']}"), message)
    return Failure("mkdocs.yml", 1, message)
