"""Share what mkdocstrings collects about the package between all languages.

It has a handler for each language, and each would load the package, have signatures formatted and
code highlighted; all that differs are the labels and the titles of links.
"""

from __future__ import annotations

from typing import Any

from griffe import Function
from jinja2 import BytecodeCache, pass_context
from jinja2.runtime import Context
from mkdocstrings import BaseHandler


class Documentation:
    """What one build knows of its modules; the next one reads them again."""

    def __init__(self, compiled: BytecodeCache) -> None:
        self.compiled = compiled
        self.first: BaseHandler | None = None
        self.highlighted: dict[tuple[object, ...], str] = {}
        self.signatures: dict[tuple[object, ...], str] = {}

    def share(self, handler: BaseHandler) -> None:
        """Let the handlers of all languages share one cache."""
        if self.first is None:
            self.first = handler
        else:
            handler.collect = self.first.collect  # type: ignore[method-assign]
            handler.get_aliases = self.first.get_aliases  # type: ignore[method-assign]
        handler.env.bytecode_cache = self.compiled
        fresh = handler.update_env

        def update_env(config: Any) -> None:  # for every page; it sets the filters anew
            fresh(config)
            self._remember(handler.env.filters)

        handler.update_env = update_env  # type: ignore[method-assign]

    def _remember(self, filters: dict[str, Any]) -> None:
        """Cache the answers of slow filters."""
        fresh_highlight, fresh_format = filters["highlight"], filters["format_signature"]

        def highlight(code: str, language: str | None = None, **options: Any) -> str:
            key = (type(code), code, language, repr(options))  # a Markup is escaped, a str is not
            if key not in self.highlighted:
                self.highlighted[key] = fresh_highlight(code, language, **options)
            return self.highlighted[key]

        @pass_context
        def format_signature(
            context: Context, path: str, function: Function, length: int, **options: Any
        ) -> str:
            key = (str(path), function, length, repr(options), repr(context.parent["config"]))
            if key not in self.signatures:
                self.signatures[key] = fresh_format(context, path, function, length, **options)
            return self.signatures[key]

        filters |= {"highlight": highlight, "format_signature": format_signature}
