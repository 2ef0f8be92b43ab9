"""The register as tables: of comma-separated values, and of LaTeX that compiles."""

import csv
import io
import re
from pathlib import Path

import pytest

from byheart.theorems.claims_table import csv_table, latex_table, quoted
from verify.theorems.claims import REGISTER, listing

ROOT = Path(__file__).parents[3]
TEXT = {
    "&", "%", "$", "#", "_", "{", "}", "\\", "textbackslash", "textasciitilde", "textasciicircum", "textless",
    "textgreater", "textbar", "textquotedblleft", "textquotedblright", "textasciigrave", "textsubscript",
    "textsuperscript", "ensuremath", "emph", "texttt", "allowbreak", "small", "begin", "end", "caption", "toprule",
    "midrule", "bottomrule", "endhead", "endfoot", "raggedright", "arraybackslash", "linewidth",
}  # fmt: skip
MATH = {
    "{", "}", "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "eta", "theta", "kappa", "lambda", "mu", "pi",
    "rho", "sigma", "tau", "phi", "Sigma", "Phi", "leq", "le", "geq", "ge", "neq", "ne", "to", "in", "cap", "cdot",
    "surd", "sum", "infty", "frac", "sqrt", "left", "right", "lceil", "rceil", "mathbb", "mathcal", "mathit", "tilde",
    "log", "min", "max",
}  # fmt: skip


def faults(text: str) -> list[str]:
    """What LaTeX stops at, or reads as something else, token by token; math is between dollars or in \\ensuremath."""
    found = [f"{sign!r} is not ASCII" for sign in text if ord(sign) > 126]
    math, last = [False], ""
    for token in re.findall(r"\\(?:[A-Za-z]+|.)|.", text, re.DOTALL):
        if token.startswith("\\"):
            found += [f"{token} in {'math' if math[-1] else 'text'}"] * (token[1:] not in (MATH if math[-1] else TEXT))
        elif token == "$":
            math[-1] = not math[-1]
        elif token == "{":
            math.append(math[-1] or last == r"\ensuremath")
        elif token == "}":
            math.pop()
            if not math:
                return [*found, "} too many"]
        elif token in "#%~" or (token in "_^" and not math[-1]) or (token == "&" and math[-1]):
            found.append(f"{token} alone")
        last = token
    return found + ["{ or $ is open"] * (math != [False])


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line.startswith(r"\texttt")]


def test_the_table_of_the_register_is_latex_that_compiles():
    table = latex_table(listing(), "0.1.0")
    comment, _, rest = table.partition("\n")
    assert comment.startswith("% \\usepackage{")
    assert [
        fault for line in rest.replace(r"{\small", r"\small").removesuffix("}\n").splitlines() for fault in faults(line)
    ] == []
    assert len(rows(table)) == len(REGISTER)
    for row in rows(table):
        assert len(re.findall(r"(?<!\\)&", row)) == 3 and row.endswith(r"\\")
    assert table.count(r"\begin{longtable}") == table.count(r"\end{longtable}") == 1
    [title] = re.findall(r'^title: "(byheart.*)"$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert rf"\emph{{{title}}}, version 0.1.0" in table


def test_what_stops_latex_is_noticed():
    for bad in (
        "a_b",
        "a^2",
        "50 % of",
        "#1",
        "$x",
        "{x",
        "x}",
        "é",
        r"\foo",
        r"$\foo$",
        r"$a & b$",
        r"\ensuremath{\le} \le",
        "~",
    ):
        assert faults(bad), bad
    assert faults(r"a\_b $a_b^{2}$ \& \ensuremath{\leq} \textsubscript{x}") == []


@pytest.mark.parametrize(
    "sign", ["\\", "~", "^", "<", ">", "|", '"', "'", "`", "&", "%", "$", "#", "_", "{", "}", "--"]
)
def test_every_sign_of_a_text_is_printed_as_it_is(sign):
    [claim] = listing(["dana.lemma-3"])
    texts = ("title", "source", "wrong", "truth")
    table = latex_table([claim | dict.fromkeys(texts, f"a {sign} b{sign}") | {"quotation": "x"}], "0.1")
    [row] = rows(table)
    assert faults(row) == [] and len(re.findall(r"(?<!\\)&", row)) == 3
    assert faults(quoted(f"a {sign} b")) == []


def test_formulas_of_the_register_are_typeset_and_those_of_quotations_kept():
    [claim] = listing(["dana.lemma-2"])
    [row] = rows(latex_table([claim | {"truth": "pi_t <= N^S"}], "0.1"))
    assert r"\ensuremath{\pi}\textsubscript{t} \ensuremath{\leq} N\textsuperscript{S}" in row
    assert r"$\{A(t_{1:S})\}_t$" in row
    assert quoted("$$x \\le y$$ and $δ$") == r"$x \le y$ and $\delta $"


def test_the_rows_of_the_csv_are_the_claims():
    listed = listing()
    read = list(csv.DictReader(io.StringIO(csv_table(listed))))
    assert len(read) == len(listed)
    for row, claim in zip(read, listed, strict=True):
        for name, value in row.items():
            said = claim[name]
            if isinstance(said, list):
                said = "; ".join(said)
            elif isinstance(said, dict):
                said = " ".join(f"{key}={each}" for key, each in said.items())
            assert value == (said or "")
    assert set(read[0]) == set(listed[0])


def test_quotation_marks_open_and_close_and_primes_stay():
    [claim] = listing(["dana.lemma-2"])
    texts = {"wrong": "'greater' for ('at least')", "truth": "x_1' and A' of 'heads'", "quotation": "'a' of $x$'s"}
    [row] = rows(latex_table([claim | texts], "0.1"))
    assert r"\emph{`greater' for (`at least').}" in row
    assert r"x\textsubscript{1}' and A' of `heads'" in row and r"`a' of $x$'s" in row
