"""Formulas as MathML, made when the site is built: the pages load no script and no font for them."""

import html
import itertools
import re
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

LIMITS = {"max", "min", "sup", "inf", "lim", "liminf", "limsup", "⋃", "⋂", "⨁", "⨂"}
LETTERS = {"lbrace": "\\{", "rbrace": "\\}", "thinspace": "\\,"}  # macros of letters, as latex2mathml draws them best
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


def mathml(latex: str, display: str) -> str:
    r"""MathML Core of a formula.

    Raises:
        ValueError: latex2mathml does not know something in it and would print garbage.
    """
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
        if element.tag == "mo" and element.text in ("|", "‖"):
            element.attrib.setdefault("stretchy", "false")  # a bar grows only between \left and \right
        for child, following in itertools.zip_longest(element, element[1:]):
            if child.tag == "mi" and len(child.text or "") > 1:  # the name of a function, as in `p \log p`
                child.tag = "mo"
                child.set("lspace", "0.167em")
                child.set("rspace", "0" if following is not None and following.text == "(" else "0.167em")
    return ElementTree.tostring(root, encoding="unicode")


def rendered(node: nodes.math | nodes.math_block, latex: str, display: str) -> str:
    try:
        return mathml(latex, display)
    except ValueError as error:
        logger.warning("%s", error, location=node)
        return f"<code>{html.escape(latex)}</code>"


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(rendered(node, node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    tag = r"\\tag\{([^}]*)\}"
    number = "".join(f'<span class="eqno">({html.escape(text)})</span>' for text in re.findall(tag, node.astext()))
    latex = re.sub(tag, "", node.astext())
    translator.body.append(f'<div class="math">{number}{rendered(node, latex, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
