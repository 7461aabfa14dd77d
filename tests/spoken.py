"""How formulas are heard: from their MathML and intents, in English and Chinese.

Speech Rule Engine (npm) reads English and no intents; MathCAT, which NVDA and JAWS use, reads both
and cannot be installed here. So this module follows MathCAT's rules for intents (a name it has
words for, else the name itself, then what it is of), and says the rest in its words. The Chinese
words are ours: MathCAT has few. `python -m tests.spoken SITE` writes tests/spoken.toml anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
from lxml import etree

from tests.conftest import ROOT

TABLE = ROOT / "tests" / "spoken.toml"
READER = ROOT / "tests" / "spoken.mjs"
IN_TABLE = 150

INTENTS = {
    "en": {
        "transpose": "{0} transpose",
        "norm": "norm of {0}",
        "absolute-value": "absolute value of {0}",
        "set": "set {0}",
        "dot-product": "{0} dot product {1}",
        "indexed-by": " sub ",
        "": "{name} of {0}",
    },
    "zh": {
        "transpose": "{0} 的转置",
        "norm": "{0} 的模",
        "absolute-value": "{0} 的绝对值",
        "set": "集合 {0}",
        "dot-product": "{0} 点乘 {1}",
        "indexed-by": " 下标 ",
        "cardinality": "{0} 的元素个数",
        "expectation": "{0} 的期望",
        "variance": "{0} 的方差",
        "probability": "{0} 的概率",
        "given": "给定",
        "from": "相对于",
        "K-L-divergence": "{0} 的 KL 散度",
        "": "{name} 作用于 {0}",
    },
}
ENDED = {
    "en": {"norm": "{0} end norm", "absolute-value": "{0} end absolute value"},
    "zh": {"norm": "左括号 {0} 右括号", "absolute-value": "左括号 {0} 右括号"},
}
SIGNS = {
    "en": {
        "=": "equals", "−": "minus", "+": "plus", "⋅": "times", "×": "times", "/": "over",
        "≤": "is less than or equal to", "≥": "is greater than or equal to", "<": "is less than",
        ">": "is greater than", "≠": "is not equal to", "≈": "is approximately", "∈": "is in",
        "∞": "infinity", "…": "dot dot dot", "→": "goes to", "∑": "sum", "∏": "product",
        "ˆ": "hat", "˜": "tilde", "¯": "bar", "′": "prime", "∗": "star", "%": "percent",
        "(": "open paren", ")": "close paren", "[": "open bracket", "]": "close bracket",
        "±": "plus or minus", "ln": "natural log",
    },
    "zh": {
        "=": "等于", "−": "减", "+": "加", "⋅": "乘", "×": "乘", "/": "除以",
        "≤": "小于等于", "≥": "大于等于", "<": "小于", ">": "大于", "≠": "不等于", "≈": "约等于",
        "∈": "属于", "∞": "无穷", "…": "省略号", "→": "趋于", "∑": "求和", "∏": "求积",
        "ˆ": "帽", "˜": "波浪号", "¯": "横线", "′": "撇", "∗": "星", "%": "百分号",
        "(": "左括号", ")": "右括号", "[": "左方括号", "]": "右方括号",
        "±": "正负", "ln": "自然对数",
    },
}  # fmt: skip
PHRASES = {
    "en": {
        "negative": "negative {0}", "sub": "{0} sub {1}", "power": "{0} to the {1}",
        "squared": "{0} squared", "cubed": "{0} cubed", "root": "square root of {0}",
        "fraction": "fraction {0} over {1} end fraction", "over": "{0} over {1}",
    },
    "zh": {
        "negative": "负 {0}", "sub": "{0} 下标 {1}", "power": "{0} 的 {1} 次方",
        "squared": "{0} 的平方", "cubed": "{0} 的立方", "root": "根号 {0}",
        "fraction": "分数 {1} 分之 {0}", "over": "{0} 在 {1} 上",
    },
}  # fmt: skip


def speak(element: Any, lang: str) -> str:
    """What a reader hears of an element."""
    if intent := element.get("intent"):
        said, rest = _speak_intent(intent, element, lang)
        assert not rest, f"not an intent: {intent}"
        return said
    parts, phrases = list(element), PHRASES[lang]
    match element.tag:
        case "mi" | "mn" | "mtext" | "mo":
            text = (element.text or "").strip()
            if text == "−" and element.get("form") == "prefix":
                return phrases["negative"].format("").strip()
            return SIGNS[lang].get(text, text)
        case "msub" | "munder":
            return phrases["sub"].format(*(speak(one, lang) for one in parts))
        case "msup":
            return _speak_power(speak(parts[0], lang), parts[1], lang)
        case "msubsup" | "munderover":
            below = phrases["sub"].format(speak(parts[0], lang), speak(parts[1], lang))
            return _speak_power(below, parts[2], lang)
        case "mover":
            return " ".join(speak(one, lang) for one in parts)
        case "mfrac":
            return phrases["fraction"].format(*(speak(one, lang) for one in parts))
        case "msqrt":
            return phrases["root"].format(" ".join(_speak_row(parts, lang)))
        case "mspace":
            return ""
        case _:
            return " ".join(_speak_row(parts, lang))


def _speak_row(parts: list[Any], lang: str) -> Iterator[str]:
    yield from filter(None, (speak(one, lang) for one in parts))


def _speak_power(base: str, script: Any, lang: str) -> str:
    kind = {"2": "squared", "3": "cubed"}.get("".join(script.itertext()), "power")
    if kind == "power" and script.text in {"′", "∗"}:
        return f"{base} {speak(script, lang)}"
    return PHRASES[lang][kind].format(base, speak(script, lang))


def _speak_intent(intent: str, element: Any, lang: str) -> tuple[str, str]:
    """What is said of the first term of an intent, and what of the intent is left."""
    if found := re.match(r"\$([\w-]+)", intent):
        (child,) = [one for one in element if one.get("arg") == found[1]]
        return speak(child, lang), intent[found.end() :]
    found = re.match(r"[^\W\d_][\w-]*", intent)
    assert found, intent
    name, rest, said = found[0], intent[found.end() :], []
    while rest[:1] in {"(", ","} and (rest[0] == "(" or said):
        one, rest = _speak_intent(rest[1:], element, lang)
        said.append(one)
    words, heard = INTENTS[lang], name.replace("-", " ")
    if not said:
        return words.get(name, heard), rest
    assert rest[:1] == ")", intent
    if name == "indexed-by":
        return words[name].join(said), rest[1:]
    if name in ENDED[lang] and element.xpath("./mrow[@arg]"):  # of more than one thing
        said = [ENDED[lang][name].format(*said)]
    return words.get(name, words[""]).format(*said, name=heard), rest[1:]


# --- the formulas of a site


def list_formulas(site: Path) -> tuple[Counter[str], dict[str, str]]:
    """How often each formula stands on the pages of all languages, and its MathML, by its TeX."""
    counts: Counter[str] = Counter()
    formulas: dict[str, str] = {}
    for page in sorted(site.rglob("index.html")):
        for element in lxml.html.parse(str(page)).getroot().iter("math"):
            if tex := element.get("data-tex"):
                counts[tex] += 1
                formulas.setdefault(
                    tex, etree.tostring(element, encoding="unicode", with_tail=False)
                )
    return counts, formulas


def parse(formula: str) -> Any:
    """A formula of a page as a tree."""
    return lxml.html.fragment_fromstring(formula)


def speak_with_engine(formulas: list[str]) -> list[str]:
    """What Speech Rule Engine says in English, in ClearSpeak."""
    done = subprocess.run(
        ["node", str(READER)],
        cwd=ROOT,
        input=json.dumps(formulas),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def main(site: Path) -> None:
    """Write the table anew; read what has changed before you commit it."""
    counts, formulas = list_formulas(site)
    frequent = [tex for tex, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    frequent = frequent[:IN_TABLE]
    engine = speak_with_engine([formulas[tex] for tex in frequent])
    lines = ["# What is heard of the most frequent formulas; written by tests/spoken.py.", ""]
    for tex, said in zip(frequent, engine, strict=True):
        tree = parse(formulas[tex])
        spoken = [speak(tree, lang) for lang in INTENTS]
        pairs = zip(("en", "zh", "engine"), (*spoken, said), strict=True)
        texts = ", ".join(f"{name} = {_quote(text)}" for name, text in pairs)
        lines.append(f"{_quote(tex)} = {{ {texts} }}")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
