"""Prepare the configuration of mkdocs: templates, style sheets, Markdown, the language."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.theme import Theme

from attention_docs.locales import Locale
from attention_docs.site.publish import styles
from attention_docs.site.render.documentation import Documentation
from attention_docs.site.render.extension import SiteExtension
from attention_docs.site.store import find_cache_folder


@dataclass(frozen=True)
class RenderingTools:
    """What turns Markdown into pages, the same for all languages of a build.

    Attributes:
        templates: the compiled templates of earlier builds.
        documentation: what mkdocstrings has collected of the package.
        extension: our part of Markdown.
        sheets: the style sheets that become one.
    """

    templates: jinja2.FileSystemBytecodeCache
    documentation: Documentation
    extension: SiteExtension
    sheets: list[str]


def create_tools(config: MkDocsConfig) -> RenderingTools:
    """Create the tools of a build; its style sheets become one."""
    compiled = find_cache_folder(config_file(config).parent) / "templates"
    compiled.mkdir(parents=True, exist_ok=True)
    templates = jinja2.FileSystemBytecodeCache(str(compiled))
    sheets, config.extra_css = styles.split_sheets(Path(config.docs_dir), config.extra_css)
    return RenderingTools(templates, Documentation(templates), SiteExtension(), sheets)


def prepare_language(
    config: MkDocsConfig, tools: RenderingTools, read_locale: Callable[[str], Locale]
) -> None:
    """Name permalinks in the language that is being built, and share what was documented.

    The first language lets our extension take part in Markdown, for all.
    """
    toc = config.mdx_configs.setdefault("toc", {})
    toc["permalink_title"] = read_locale(current_language(config))["site"]["theme"]["permalink"]
    if documenting := config.plugins.get("mkdocstrings"):
        tools.documentation.share(documenting.get_handler("python"))
    if is_nested(config):
        _, config.extra_css = styles.split_sheets(Path(config.docs_dir), config.extra_css)
        return
    config.markdown_extensions.append(tools.extension)  # type: ignore[arg-type]
    superfences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fence = {"name": "python", "class": "python"}
    ours = {"validator": tools.extension.accepts_fence, "format": tools.extension.format_block}
    superfences["custom_fences"] = [*superfences.get("custom_fences", []), fence | ours]


def config_file(config: MkDocsConfig) -> Path:
    """The file that says what is built; the project lies around it."""
    return Path(config.config_file_path or "mkdocs.yml").resolve()


def is_nested(config: MkDocsConfig) -> bool:
    """Whether this is the inner build of a further language."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def current_language(config: MkDocsConfig) -> str:
    code: str = config.plugins["i18n"].current_language  # type: ignore[attr-defined]
    return code


def find_theme_asset(theme: Theme, pattern: str) -> str:
    """A file of the theme whose name holds a hash, by a pattern; exactly one has it."""
    found = {path.relative_to(one) for one in theme.dirs for path in Path(one).glob(pattern)}
    if len(found) != 1:
        names = ", ".join(sorted(map(str, found))) or "none"
        raise BuildError(f"wanted one file {pattern} in the theme, got {names}")
    return found.pop().as_posix()


def hide_icons(theme: Theme) -> None:
    """Prevent mkdocs from listing the theme's fourteen thousand icons: none is published."""
    get_original_env = theme.get_env

    def get_env() -> jinja2.Environment:
        env = get_original_env()

        def list_templates(filter_func: Callable[[str], bool]) -> list[str]:
            return sorted({name for name in _find_files(theme.dirs) if filter_func(name)})

        env.list_templates = list_templates  # type: ignore[method-assign, assignment]
        return env

    theme.get_env = get_env  # type: ignore[method-assign]


def _find_files(folders: Iterable[str]) -> Iterator[str]:
    """The files in folders, by their names there; what begins with a dot is left out."""
    for folder in folders:
        for path, inner, names in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            for name in names:
                yield Path(path, name).relative_to(folder).as_posix()
