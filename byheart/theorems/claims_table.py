"""The register of claims as a table for other people's papers: of LaTeX, or of comma-separated values.

Page: docs/audit.md
"""

import csv
import html
import io
import re
from collections.abc import Iterable
from typing import Any

from byheart.report.formulas import with_formulas

COLUMNS = (
    "id", "title", "verdict", "kind", "source", "quotation", "truth", "wrong", "printed", "reading", "reconstructed",
    "hypotheses", "parameters", "page",
)  # fmt: skip

_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedblright{}", "`": r"\textasciigrave{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
_OPENING = re.compile(r"(?<=[\s(])('|\\textquotedblright\{\})(?=\S)")
_OPENED = {"'": "`", r"\textquotedblright{}": r"\textquotedblleft{}"}
_GREEK = (
    "alpha beta gamma delta varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega "
    "Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega"
).split()
_MATH = {
    **dict(zip("αβγδεζηθκλμνξπρστφχψωΓΔΘΛΠΣΦΨΩ", (f"\\{name}" for name in _GREEK), strict=True)),
    "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "→": r"\to", "−": "-", "·": r"\cdot", "√": r"\surd", "∑": r"\sum",
    "∞": r"\infty",
}  # fmt: skip
_TAG = re.compile(r"(</?su[bp]>)")
_TAGS = {"<sub>": r"\textsubscript{", "<sup>": r"\textsuperscript{", "</sub>": "}", "</sup>": "}"}
_TEX = re.compile(r"(\$\$.+?\$\$|\$[^$]+\$)", re.DOTALL)


def verdict(claim: dict[str, Any]) -> str:
    """Return the verdict, the type of the claim if it is not a statement, and whether it was read.

    Args:
        claim: Its entry from `verify.theorems.claims.listing`.
    """
    kind = f", {claim['kind']}" * (claim["kind"] not in ("statement", "own"))
    return claim["verdict"] + kind + ", not read in full" * bool(claim["reconstructed"])


def parameters(values: dict[str, int] | None) -> str:
    """Format parameters for the command line."""
    return " ".join(f"{name}={value}" for name, value in (values or {}).items())


def csv_table(listed: Iterable[dict[str, Any]]) -> str:
    """Return one row per claim, with the columns above.

    Args:
        listed: The listing from `verify.theorems.claims.listing`.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for claim in listed:
        cells = claim | {"hypotheses": "; ".join(claim["hypotheses"]), "parameters": parameters(claim["parameters"])}
        rows.writerow(cells[column] or "" for column in COLUMNS)
    return text.getvalue()


def latex_table(listed: Iterable[dict[str, Any]], version: str) -> str:
    r"""Return a `longtable` for `\input`: the claim, the verdict, what is wrong and what is true, and the words of the
    source.

    What the register says is text, with indices and exponents; between the dollars of a quotation stands the TeX of
    the source. Of signs that are not ASCII the Greek and mathematical ones become macros.

    Args:
        listed: The listing from `verify.theorems.claims.listing`.
        version: Of byheart, for the line that says where the verdicts are from.
    """
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{.{share}\linewidth}}" for share in (17, 11, 37, 23))
    lines = [
        r"% \usepackage{amsmath, amssymb, array, booktabs, longtable, textcomp}",
        r"{\small",
        rf"\begin{{longtable}}{{{columns}}}",
        r"\caption{Claims and the verdicts on them. From: byheart contributors, \emph{byheart: memorization in "
        rf"transformers, built by hand and proved}}, version {_text(version)}, where \texttt{{byheart audit}} "
        r"certifies each verdict again.}\\",
        r"\toprule",
        r"claim & verdict & what is wrong; what is true & in its words\\",
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    for claim in listed:
        wrong = rf"\emph{{{_formulas(claim['wrong'])}.}} " if claim["wrong"] else ""
        id = re.sub(r"([.-])", r"\1\\allowbreak{}", _text(claim["id"]))
        cells = (
            rf"\texttt{{{id}}}: {_formulas(claim['title'])} ({_formulas(claim['source'])})",
            _text(verdict(claim)),
            wrong + _formulas(claim["truth"]),
            quoted(claim["quotation"] or ""),
        )
        lines.append(" & ".join(cells) + r"\\")
    return "\n".join([*lines, r"\end{longtable}}", ""])


def quoted(words: str) -> str:
    r"""Return the LaTeX of a quotation, whose formulas are TeX between dollars.

    Example:
        >>> quoted("for d_h of $d_h \\leq d$ & all δ")
        'for d\\_h of $d_h \\leq d$ \\& all \\ensuremath{\\delta}'
    """
    parts = _TEX.split(f" {words}")
    parts[::2] = map(_text, parts[::2])
    parts[1::2] = [f"${_symbols(formula.strip('$').strip(), '{} ')}$" for formula in parts[1::2]]
    return "".join(parts).lstrip()


def _formulas(text: str) -> str:
    """Return the LaTeX of a text of the register, with the indices and signs that a page shows."""
    parts = _TAG.split(with_formulas(f" {text}"))
    parts[::2] = [_text(html.unescape(part)) for part in parts[::2]]
    parts[1::2] = [_TAGS[tag] for tag in parts[1::2]]
    return "".join(parts).lstrip()


def _text(text: str) -> str:
    escaped = "".join(_SPECIAL.get(sign, sign) for sign in text).replace("--", "-{}-")
    return _symbols(_OPENING.sub(lambda found: _OPENED[found[1]], escaped), r"\ensuremath{{{}}}")


def _symbols(text: str, form: str) -> str:
    return "".join(form.format(_MATH[sign]) if sign in _MATH else sign for sign in text)
