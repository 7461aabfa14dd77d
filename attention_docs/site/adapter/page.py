"""A page of mkdocs that can be rendered from a record; how such a record is made."""

from __future__ import annotations

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, TableOfContents

from attention_docs.site.publish import search
from attention_docs.site.render.page_cache import RenderedPage


class SitePage(Page):
    """A page of mkdocs that is either rendered or taken from the cache.

    Attributes:
        record: what is known of it from an earlier build.
    """

    record: RenderedPage | None = None

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Render the Markdown, unless what mkdocs learns by that is known."""
        if self.record is None:
            super().render(config, files)
        else:
            _restore(self, self.record, files)


def record_page(page: Page, html: str, folder: str, is_chapter: bool) -> RenderedPage:
    """What the cache needs of a page that mkdocs has rendered; `folder` is its language's."""

    def listed(item: AnchorLink) -> list[Any]:
        return [item.title, item.id, item.level, [listed(one) for one in item.children]]

    entries = search.find_entries(page.url.removeprefix(folder), html, is_chapter)
    return RenderedPage(
        contents=[listed(item) for item in page.toc],
        anchors=sorted(page.present_anchor_ids or ()),
        links={file.src_uri: dict(found) for file, found in (page.links_to_anchors or {}).items()},
        search_entries=search.format_lines(entries),
    )


def _restore(page: Page, record: RenderedPage, files: Files) -> None:
    """Set what mkdocs would learn by rendering the page."""

    def item(found: list[Any]) -> AnchorLink:
        title, name, level, children = found
        link = AnchorLink(title, name, level)
        link.children = [item(child) for child in children]
        return link

    page.content = ""  # its files are there: no template asks for it
    page.toc = TableOfContents([item(found) for found in record.contents])
    page.present_anchor_ids = set(record.anchors)
    targets = {files.get_file_from_path(name): found for name, found in record.links.items()}
    page.links_to_anchors = {file: dict(found) for file, found in targets.items() if file}
