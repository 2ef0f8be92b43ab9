"""The theorems of the formal library: the words before each, and what it answers, read off the comments of `formal/`.

A comment `(* Answers: ... *)` before a theorem names the claims of the register and the labels of the book that it
answers; the comment of documentation before it says in words what the theorem states.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FORMAL = Path(__file__).parents[1] / "formal"

_THEOREM = re.compile(r"\(\* Answers: ((?:(?!\*\)).)*?)\. \*\)\nTheorem (\w+)", re.DOTALL)
_WORDS = re.compile(r"\(\*\* (?!\*)((?:(?!\*\)).)*)\*\)\n\Z", re.DOTALL)
_OPENING = re.compile(r"\(\*\*((?:(?!\*\)).)*)\*\)", re.DOTALL)
_CLAIM = re.compile(r"\b[a-z][\w-]*\.[a-z][\w-]*\b")


@dataclass(frozen=True)
class CoqTheorem:
    """A theorem of a file of `formal/`.

    Args:
        file: The name of its file, e.g. ``"rank.v"``.
        name: Its name in Coq.
        says: The comment of documentation right before it; empty where there is none.
        answers: The claims and labels that it answers, in words.
    """

    file: str
    name: str
    says: str
    answers: str

    @property
    def place(self) -> str:
        """Where it is, e.g. ``"formal/rank.v:dependent_rank"``."""
        return f"formal/{self.file}:{self.name}"

    @property
    def claims(self) -> list[str]:
        """The ids in its answer that look like claims, e.g. ``"dana.lemma-2"``."""
        return _CLAIM.findall(re.sub(r"\bdocs/\S+", "", self.answers))


@cache
def files() -> dict[str, str]:
    """Return what each file of the library is about, in the order in which they compile."""
    listed = re.findall(r"^\w+\.v$", (FORMAL / "_CoqProject").read_text(encoding="utf-8"), re.MULTILINE)
    return {name: _words(_OPENING, (FORMAL / name).read_text(encoding="utf-8")) for name in listed}


@cache
def library() -> tuple[CoqTheorem, ...]:
    """Return the theorems that answer something, in the order in which they compile."""
    theorems = []
    for file in files():
        source = (FORMAL / file).read_text(encoding="utf-8")
        for found in _THEOREM.finditer(source):
            says = _words(_WORDS, source[: found.start()])
            theorems.append(CoqTheorem(file, found[2], says, " ".join(found[1].split())))
    return tuple(theorems)


def _words(comment: re.Pattern[str], source: str) -> str:
    found = comment.search(source)
    return " ".join(found[1].split()) if found else ""
