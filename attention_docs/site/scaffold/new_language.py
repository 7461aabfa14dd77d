"""Begin a language, or list what one that has begun still lacks.

python -m attention_docs.site.scaffold.new_language fr
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from babel import Locale
from babel.core import get_global
from mkdocs.utils import get_theme_dir

from attention_docs.site.read.missing import find_missing
from attention_docs.site.read.settings import is_partial, read_settings
from attention_docs.site.scaffold.new_chapter import ScaffoldError

CODE = re.compile(r"[a-z]{2}(-[A-Z][a-z]{3})?(-[A-Z]{2})?")
THEME = Path(get_theme_dir("material"), "partials", "languages")
ENTRY = re.compile(r"^(?P<indent> +)- locale: .*\n(?:(?P=indent) .*\n)*", re.M)
OFFERED = ("terms", "formulas", "colours")
"""Tables that English does not have, whose entries are offered as another language has them."""

HEAD = """\
# The words that pages do not hold. Take the “# ” from a line and translate it. While a line is
# missing, English words stand in its place. When nothing is missing, remove the next line.
partial = true
name = {name}
"""


def begin_language(root: Path, code: str) -> list[Path]:
    """Write the files of a new language, and return what was written."""
    words = root / "attention_docs" / "locales"
    path = words / f"{code}.toml"
    if path.exists():
        found = path.relative_to(root).as_posix()
        raise ScaffoldError(f"mkdocs.yml must list {code}, of which there is {found} already")
    config = root / "mkdocs.yml"
    text = config.read_text(encoding="utf-8")
    entries = list(ENTRY.finditer(text))
    if not entries:
        raise ScaffoldError("mkdocs.yml must list languages under i18n, each with - locale: code")
    name = _name_language(code)
    indent, end = entries[-1]["indent"], entries[-1].end()
    entry = f"{indent}- locale: {code}\n{indent}  name: {name}\n{indent}  build: true\n"
    other = next(iter(read_settings(root).source_languages[1:]), "en")
    path.write_text(_write_words(words, code, name, other), encoding="utf-8")
    config.write_text(text[:end] + entry + text[end:], encoding="utf-8")
    return [path, config]


def check_code(root: Path, code: str) -> None:
    """Refuse what is no language that somebody can translate into."""
    known = read_settings(root)
    if code in known.converted:
        raise ScaffoldError(f"{code} is made from another language, by docs/{code}.toml")
    if not CODE.fullmatch(code):
        raise ScaffoldError(f"CODE must be the code of a language like fr or pt-BR, got {code!r}")
    if code == known.languages[0]:
        raise ScaffoldError(f"CODE must be another language than that of the originals, got {code}")
    if code not in known.languages and not (THEME / f"{code}.html").is_file():
        codes = ", ".join(sorted(path.stem for path in THEME.glob("*.html")))
        raise ScaffoldError(f"CODE must be a language of the theme ({codes}), got {code}")


def report_missing(root: Path, code: str) -> str:
    """Everything that a language lacks, as one list."""
    missing, path = find_missing(root, code), f"attention_docs/locales/{code}.toml"
    heads = {
        "pages": f"pages: write one, run `make translated PAGE={code}/<page>`, then `make site`",
        "words": f"words: {path}",
        "listings": "comments and strings of listings",
        "lists": "lists that pages are made from",
        "settings": "settings",
    }
    lines = [f"{code}: {missing.total - len(missing.pages)} of {missing.total} pages translated"]
    for name, entries in missing.parts.items():
        lines += ["", heads[name], *(f"  {entry}" for entry in entries)]
    has_begun = is_partial(root, code)
    if missing.parts:
        last = "English stands in place of all this." if has_begun else "No site is built without."
    else:
        last = "Nothing is missing" + (
            f": remove `partial = true` from {path}." if has_begun else "."
        )
    return "\n".join([*lines, "", last])


def _name_language(code: str) -> str:
    """What a language calls itself: Français."""
    name = Locale.parse(code, sep="-").get_display_name() or code
    return name[:1].upper() + name[1:]


def _find_locale(code: str) -> str:
    """The locale that a language is most likely used in: fr_FR."""
    known = Locale.parse(code, sep="-")
    likely = get_global("likely_subtags").get(str(known), str(known))
    return f"{known.language}_{known.territory or Locale.parse(likely).territory}"


def _write_words(folder: Path, code: str, name: str, other: str) -> str:
    """The file of words of a new language: what it must say, and all else to be translated."""
    values = {"[site] locale": _find_locale(code), "[figures.sentences] locales": [code]}
    lines = [HEAD.format(name=json.dumps(name, ensure_ascii=False))]
    table = ""
    for line in (folder / "en.toml").read_text(encoding="utf-8").splitlines():
        key = line.partition(" = ")[0]
        if line.startswith("["):
            table = line.partition("]")[0] + "]"
            lines.append(line)
        elif (place := f"{table} {key}") in values:
            lines.append(f"{key} = {json.dumps(values[place])}")
        elif table and line.startswith("#"):
            lines.append(line)
        elif table:
            lines.append(f"# {line}" if line else "")
    offered = tomllib.loads((folder / f"{other}.toml").read_text(encoding="utf-8"))
    for table in OFFERED:
        entries = (json.dumps(entry, ensure_ascii=False) for entry in offered.get(table, ()))
        lines += ["", f"[{table}]", *(f"# {entry} = {entry}" for entry in entries)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Run the command; 2 where nothing could be written."""
    root, code = Path.cwd(), " ".join(arguments)
    try:
        check_code(root, code)
        if code not in read_settings(root).languages:
            for path in begin_language(root, code):
                print(path.relative_to(root))
            print()
    except ScaffoldError as error:
        print(error, file=sys.stderr)
        return 2
    print(report_missing(root, code))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
