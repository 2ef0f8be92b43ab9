"""Sentences that a native editor would look at, and the functions that hold most on a line.

python tests/style.py                       the pages, and the docstrings of all rooms
python tests/style.py docs/index.md verify  some of them
python tests/style.py --densest             the ten densest functions of each room

It warns and never fails: a person judges each finding. It looks for a headless sentence that begins with "What", a
reason after ", as", "alone" for "only", a fronted "Of ...", "is said", and more than 25 words.
"""

import argparse
import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = ("byheart", "constructions", "experiments", "verify")
LONGEST = 25
"""Words of a sentence, at most."""

DENSEST = 10
"""Functions that are shown of each room."""

FEWEST_LINES = 4
"""Lines of code from which a function is compared: a shorter one is dense by its signature."""

RULES = {
    "headless What": re.compile(r"^What (?!is\b|are\b|was\b|were\b|does\b|do\b|can\b|could\b|[^?]*\?$)"),
    "a reason after ', as'": re.compile(r", as (?!in\b|for\b|well\b|if\b|it is\b|they are\b|above\b|before\b)"),
    "'alone' for 'only'": re.compile(r"\balone\b"),
    "fronted 'Of'": re.compile(r"^Of (?!course\b)"),
    "'is said'": re.compile(r"\b(?:is|are|was|were) said\b"),
}
"""What a sentence is warned of, by the words of the warning."""

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1\s*$", re.MULTILINE | re.DOTALL)
NOT_PROSE = re.compile(r"^\s*(?:#|\||!\[|<|\$\$|\d+\. \[|- \[)")
"""A line of a heading, a table, an image, a tag, a formula or a list of links."""


class Finding(NamedTuple):
    """A sentence and what to look at.

    Args:
        place: The file, and the line in it where the paragraph begins.
        rule: The words of the warning.
        sentence: What is warned of.
    """

    place: str
    rule: str
    sentence: str


class Density(NamedTuple):
    """How much a function holds on a line.

    Args:
        nodes_per_line: Expressions and statements, divided by the lines that are no docstring, comment or blank.
        place: The file and the line of the function.
        name: The function.
    """

    nodes_per_line: float
    place: str
    name: str


def warnings(sentence: str) -> list[str]:
    """Return the words of each warning that a sentence deserves.

    Example:
        >>> warnings("What the heads write, as the loops need it alone.")
        ['headless What', "a reason after ', as'", "'alone' for 'only'"]
        >>> warnings("The heads write two numbers.")
        []
    """
    found = [words for words, pattern in RULES.items() if pattern.search(sentence)]
    words = len(re.findall(r"[\w$'-]+", re.sub(r"\$[^$]*\$|`[^`]*`", "x", sentence)))
    return found + [f"{words} words"] * (words > LONGEST)


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph where a sentence ends and the next begins with a capital.

    Example:
        >>> sentences("One head, e.g. of width 2. It writes $x. Y$.")
        ['One head, e.g. of width 2.', 'It writes $x. Y$.']
    """
    flat = " ".join(paragraph.split())
    hidden = re.sub(r"\$[^$]*\$|`[^`]*`", lambda formula: re.sub(r"[.?!]", "\0", formula[0]), flat)
    cuts = [0, *(match.end() for match in re.finditer(r"(?<!e\.g)(?<!i\.e)[.?!] (?=[A-Z*`$\"(])", hidden)), len(flat)]
    return [flat[start:end].strip() for start, end in pairwise(cuts) if flat[start:end].strip()]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of prose of a Markdown text, each with the line on which it begins."""
    blanked = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    lines, begin = [], 1
    for number, line in enumerate([*blanked.split("\n"), ""], start=1):
        if not line.strip() or NOT_PROSE.match(line):
            if lines:
                yield begin, re.sub(r"^\s*(?:[-*] |\d+\. |> )", "", "\n".join(lines))
            lines, begin = [], number + 1
        else:
            lines.append(line)


def documents(source: str) -> Iterator[tuple[int, str]]:
    """Yield the first paragraph of each docstring of a module, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text.split("\n\n")[0]


def findings(paths: Iterable[Path]) -> Iterator[Finding]:
    """Yield what is to be looked at in pages and modules."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        parts = paragraphs(text) if path.suffix == ".md" else documents(text)
        for line, paragraph in parts:
            for sentence in sentences(paragraph):
                for rule in warnings(sentence):
                    yield Finding(f"{path.relative_to(ROOT)}:{line}", rule, sentence)


def densities(path: Path) -> list[Density]:
    """Return how dense each function of a module is; docstrings, comments and blank lines count for nothing."""
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if not body:
            continue
        code = [line for line in lines[body[0].lineno - 1 : node.end_lineno] if line.strip() and line.strip()[0] != "#"]
        memorized = sum(isinstance(part, ast.expr | ast.stmt) for statement in body for part in ast.walk(statement))
        if len(code) >= FEWEST_LINES:
            found.append(Density(memorized / len(code), f"{path.relative_to(ROOT)}:{node.lineno}", node.name))
    return found


def files(words: Iterable[str]) -> list[Path]:
    """Return the pages and modules under some paths, by default all."""
    found: list[Path] = []
    for word in list(words) or ["docs", *ROOMS]:
        path = (ROOT / word).resolve()
        found += [path] if path.is_file() else sorted([*path.rglob("*.md"), *path.rglob("*.py")])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; by default the pages and all rooms")
    parser.add_argument("--densest", action="store_true", help="the densest functions of each room instead")
    options = parser.parse_args()
    if not options.densest:
        for finding in findings(files(options.paths)):
            print(f"{finding.place}: {finding.rule}: {finding.sentence}")
        return
    rooms: dict[str, list[Density]] = {}
    for path in files(options.paths or ROOMS):
        if path.suffix == ".py":
            rooms.setdefault(path.parent.relative_to(ROOT).as_posix(), []).extend(densities(path))
    for room, found in sorted(rooms.items()):
        print(room)
        for density in sorted(found, reverse=True)[:DENSEST]:
            print(f"  {density.nodes_per_line:5.1f}  {density.place}  {density.name}")


if __name__ == "__main__":
    main()
