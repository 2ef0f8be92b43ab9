"""Formulas as MathML, made when the site is built: the pages load no script for them, and a font of their own."""

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

LIMITS = {"max", "min", "sup", "inf", "lim", "liminf", "limsup", "⋃", "⋂", "⨁", "⨂"}
LETTERS = {"lbrace": "\\{", "rbrace": "\\}", "thinspace": "\\,"}  # macros of letters, as latex2mathml draws them best
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
SHAPES = {"⧵": "∖", "◻": "□"}  # \setminus and \square as mathematical fonts have them
LETTER_LIKE = {"∞", "∅", "∂", "…", "⋯"}
OPENING, CLOSING, BARS = set("([{⟨⌊⌈"), set(")]}⟩⌋⌉"), set("|‖")
SIGNS = set("+−±∓")
BREAKS = SIGNS | set(",;:=<>≤≥≠≈≡∼∝∈∉⊆⊂→↦↔⟺")  # a line may end after them, outside of brackets


def mathml(latex: str, display: str) -> str:
    r"""MathML Core of a formula.

    Raises:
        ValueError: latex2mathml does not know something in it and would print garbage.
    """
    return ElementTree.tostring(_tree(latex, display), encoding="unicode")


@cache
def pieces(latex: str, display: str = "inline") -> tuple[str, ...]:
    r"""MathML Core of a formula, cut where the line may end: browsers do not break formulas.

    Args:
        latex: The formula.
        display: ``"inline"`` in a line of text, ``"block"`` on lines of its own.

    Raises:
        ValueError: latex2mathml does not know something in it and would print garbage.
    """
    root = _tree(latex, display)
    row = root[0] if len(root) == 1 and root[0].tag == "mrow" else root
    found, depth, open_bars = [[]], 0, 0
    for place, element in enumerate(row, start=1):
        found[-1].append(element)
        text = _core(element).text or ""
        depth += (text in OPENING) - (text in CLOSING)
        open_bars ^= text in BARS
        ends = element.tag == "mo" and text in BREAKS and element.get("form") != "prefix"  # a sign is no sum
        if place < len(row) and depth == open_bars == 0 and ends:
            found.append([])
    return tuple(_line(elements, display) for elements in found)


def _line(elements: list[ElementTree.Element], display: str) -> str:
    if len(elements) > 1 and elements[-1].text in BREAKS:
        elements[-1].set("form", "infix")  # it would lose its spaces at the end of a row
    root = ElementTree.Element("math", {"display": "inline"})
    if display == "block":
        root.set("displaystyle", "true")
    ElementTree.SubElement(root, "mrow").extend(elements)
    return ElementTree.tostring(root, encoding="unicode")


def _tree(latex: str, display: str) -> ElementTree.Element:
    source = re.sub(r"(\\(?:begin|end)\{)aligned\}", r"\1split}", latex)  # the name under which latex2mathml knows it
    for name, known in LETTERS.items():
        source = re.sub(rf"\\{name}(?![A-Za-z])", lambda _, known=known: known, source)
    try:
        root = ElementTree.fromstring(convert(source, xmlns="", display=display))
    except Exception as error:
        raise ValueError(f"latex2mathml cannot read {latex!r}: {error}") from error
    for element in root.iter():
        if unknown := re.search(r"\\\w*", element.text or ""):
            raise ValueError(f"latex2mathml does not know {unknown.group()!r} in {latex!r}")
        if len(element) != CHILDREN.get(element.tag, len(element)) or element.tag == "mpadded":
            raise ValueError(f"latex2mathml misreads {latex!r}: put braces around what carries the index, avoid \\not")
        if element.tag in ("msub", "msubsup") and (element[0].text in LIMITS or element[0].get("movablelimits")):
            element.tag = element.tag.replace("sup", "over").replace("sub", "under")
            element[0].set("movablelimits", "true")
        element.text = SHAPES.get(element.text or "", element.text)
        if element.text in LETTER_LIKE:
            element.tag = "mi"
        if element.text in (":", "⟺"):  # relations, in TeX
            element.tag = "mo"
            element.attrib.update(lspace="0.278em", rspace="0.278em")
        _set_fence(element)
    for element in list(root.iter()):
        _group_large_brackets(element)
    for element in root.iter():
        for before, child, after in zip([None, *element], element, [*element[1:], None], strict=False):
            _set_function(before, _core(child), after)
            if child.text in SIGNS and (before is None or _is_operator(before)):
                child.set("form", "prefix")
    row = root[0] if len(root) == 1 and root[0].tag == "mrow" else root
    if len(row) and row[0].text in BREAKS:
        row[0].set("lspace", "0")
    if len(row) and row[-1].text in BREAKS:
        row[-1].set("rspace", "0")
    return root


def _core(element: ElementTree.Element) -> ElementTree.Element:
    """Return what carries the indices of an element, and decides about its spaces."""
    while element.tag in ("msub", "msup", "msubsup", "munder", "mover", "munderover"):
        element = element[0]
    return element


def _set_fence(element: ElementTree.Element) -> None:
    """Brackets, bars and slashes as TeX sets them: no space, and of their own size but between \\left and \\right."""
    if element.tag not in ("mo", "mi") or element.text not in OPENING | CLOSING | BARS | {"/"}:
        return
    if element.text in OPENING | CLOSING:
        element.set("form", "prefix" if element.text in OPENING else "postfix")
    else:
        element.set("lspace", "0")
        element.set("rspace", "0")
    if element.get("minsize") is None and (element.tag == "mi" or element.text not in OPENING | CLOSING):
        element.attrib.setdefault("stretchy", "false")
    element.tag = "mo"


def _group_large_brackets(row: ElementTree.Element) -> None:
    r"""Hangs the index of `\Bigr)_i` on all that is bracketed: a bracket with an index of its own would not grow."""
    opened: list[int] = []
    place = 0
    while place < len(row):
        element = row[place]
        bracket = _core(element)
        if bracket.get("minsize") and bracket.text in OPENING:
            opened.append(place)
        elif bracket.get("minsize") and bracket.text in CLOSING and opened:
            start = opened.pop()
            if bracket is not element and element[0] is bracket:
                group = ElementTree.Element("mrow")
                group.extend([*row[start:place], bracket])
                element[0] = group
                for inside in row[start:place]:
                    row.remove(inside)
                place = start
        place += 1


def _set_function(
    before: ElementTree.Element | None, name: ElementTree.Element, after: ElementTree.Element | None
) -> None:
    r"""Set the name of a function, as in `p \log p`, as an operator with a space to letters and none to brackets."""
    if name.tag not in ("mi", "mo") or not (name.text or "").isalpha() or len(name.text or "") < 2:
        return
    name.tag = "mo"
    after_operator = before is None or _is_operator(before)
    before_bracket = after is None or _core(after).text in OPENING
    name.set("lspace", "0" if after_operator else "0.167em")
    name.set("rspace", "0" if before_bracket else "0.167em")


def _is_operator(element: ElementTree.Element) -> bool:
    """Whether what follows begins anew: after an opening bracket, a relation, a comma; not after a closing bracket."""
    return element.tag == "mo" and element.text not in CLOSING | BARS | {"!"}


class KeepPunctuation(SphinxPostTransform):
    """Gives a formula the punctuation that touches it, so that no line begins with a comma or ends with a bracket."""

    default_priority = 500

    def run(self, **_: Any) -> None:
        for formula in self.document.findall(nodes.math):
            siblings, place = formula.parent, formula.parent.index(formula)
            if place + 1 < len(siblings) and isinstance(siblings[place + 1], nodes.Text):
                formula["after"], rest = _parted(r"[^\s\w]*", siblings[place + 1].astext())
                siblings[place + 1] = nodes.Text(rest)
            if place > 0 and isinstance(siblings[place - 1], nodes.Text):
                text = siblings[place - 1].astext()
                rest = text.rstrip("([“‘\"'")
                formula["before"] = text[len(rest) :]
                siblings[place - 1] = nodes.Text(rest)


def _parted(pattern: str, text: str) -> tuple[str, str]:
    matched = re.match(pattern, text)
    length = matched.end() if matched else 0
    return text[:length], text[length:]


def rendered(node: nodes.math | nodes.math_block, latex: str) -> Iterator[str]:
    try:
        yield from pieces(latex, "inline" if isinstance(node, nodes.math) else "block")
    except ValueError as error:
        logger.warning("%s", error, location=node)
        yield f"<code>{html.escape(latex)}</code>"


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    found = list(rendered(node, node.astext()))
    found[0] = html.escape(node.get("before", ""), quote=False) + found[0]
    found[-1] += html.escape(node.get("after", ""), quote=False)
    translator.body.append("".join(f'<span class="math">{piece}</span>' for piece in found))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    tag = r"\\tag\{([^}]*)\}"
    number = "".join(f'<span class="eqno">({html.escape(text)})</span>' for text in re.findall(tag, node.astext()))
    latex = re.sub(tag, "", node.astext())
    formula = "".join(f'<span class="math">{piece}</span>' for piece in rendered(node, latex))
    translator.body.append(f'<div class="math"><div class="formula">{formula}</div>{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.add_post_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
