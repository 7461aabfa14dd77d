"""Where a site will be, and what it offers there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Where a site will be.

    Attributes:
        site_url: its own address, or "".
        repository: that of its repository, or "".
        edit: what "edit this page" leads to.
        shared: what is shown where a page is shared, in words.
        served: whether it is only served for preview.
        live: whether its pages can run in a reader's browser.
        minilm: whether it also serves the model that reads a reader's own sentence.
        smollm2: whether it also serves the model that writes.
    """

    site_url: str = ""
    repository: str = ""
    edit: str = ""
    shared: str = ""
    served: bool = False
    live: bool = False
    minilm: bool = False
    smollm2: bool = False
