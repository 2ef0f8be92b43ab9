"""Represent evidence about a claim: the promise, the certified fact, its scope and means, and the verdict.

Page: docs/audit.md
"""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from constructions.errors import InputError, require_one_of
from verify.theorems.evidence.comparison import Comparison
from verify.theorems.evidence.quantifier import UNIVERSAL, Quantifier
from verify.theorems.evidence.theorem import Applied
from verify.verdict import Verdict

Role = Literal[
    "claim",
    "counterexample",
    "without",
    "constant",
    "step",
    "repair",
    "with",
    "reached",
    "sharper",
    "boundary",
    "needless",
    "answer",
    "measurement",
    "part",
    "ours",
    "known",
    "error",
]
"""What a piece of evidence is for.

``claim``: an instance of what is printed. ``counterexample``: refutes what is printed, whatever its constants.
``without``: refutes it without the hypothesis that is not stated. ``constant``: refutes a printed constant, sign or
dimension. ``step``: refutes a step of the printed proof. ``repair``: an instance of what is true instead. ``with``: an
instance with the hypothesis that was not stated, by a named theorem. ``reached``: reaches the corrected constant, so
that no smaller one is true. ``sharper``: an instance of more than is printed. ``boundary``: what happens outside of the
hypotheses that are printed, or in another reading. ``needless``: what is printed changes nothing. ``answer``: an
instance of the answer to a question. ``measurement``: what is proved beside a measurement. ``part``: an instance of a
part of what is not judged as a whole. ``ours``: an instance of a theorem of this project, beside what is not legible.
``known``: what is known of an open question. ``error``: the evidence could not be computed.
"""


class Means(enum.Enum):
    """The arithmetic that a piece of evidence rests on."""

    EXACT = "exact integers and rationals"
    MODULAR = "a prime field"
    ENCLOSURES = "float64 with proved error bounds"
    BALLS = "balls"


@dataclass(frozen=True, init=False)
class Method:
    """The way a piece of evidence was certified, in words, and what the certificate rests on.

    Args:
        words: In words, e.g. ``"rank over GF(2^62 - 57)"``.
        means: The means that the certificate rests on.
    """

    words: str
    means: tuple[Means, ...]

    def __init__(self, words: str, *means: Means) -> None:
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "means", means)


_QUANTIFIED = re.compile(
    r"\b(all|any|every|each|no) (other )?(weights|encoders?|embeddings|networks?|transformers?)\b|\bwhatever\b", re.I
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """One certified statement about a claim.

    `verdict` is about `statement`: a refutation of the claim is a statement that is PROVED too ("the rank is at most
    3"). Of how much it speaks is said by `quantifier` alone, and never in the texts.

    Args:
        role: The role of the evidence.
        statement: The statement to certify, in words, with the sizes.
        promised: The promise of the source or of the repaired theorem, with its direction (e.g. ``"rank >= 4"``).
        certified: The statement of this run's certificate (e.g. ``"rank <= 3"``).
        method: How, and by which means.
        judged: Whether what the comparisons do not say was certified; `None` where they say all of it.
        data: The instance, as plain JSON data, small enough to read: contexts, weights or distributions.
        quantifier: Of how much it speaks. For all weights or all encoders it needs a comparison with what a theorem
            about all of them says of an instance, computed by the theorem's judge.
        compared: Relations between numbers, formulas of the claim and theorems, which the piece decides itself.

    Attributes:
        verdict: That of what was judged and of the comparisons together; UNDECIDED with neither.

    Raises:
        InputError: A role that is none; no means; a piece for all weights or encoders without a theorem about all of
            them; or a text that says of how much the piece speaks.

    Example:
        >>> counting = Method("counting", Means.EXACT)
        >>> piece = Evidence("claim", "1 + 1 = 2", "= 2", "= 2", counting, compared=(Comparison(1 + 1, "=", 2),))
        >>> piece.verdict.value, piece.quantifier.value
        ('PROVED', 'these weights')
        >>> Evidence("claim", "rank 3", "", "<= 3", counting, Verdict.PROVED, quantifier=Quantifier.ALL_WEIGHTS)
        Traceback (most recent call last):
        ...
        constructions.errors.InputError: evidence for all weights of the shape needs a comparison with a theorem
    """

    role: Role
    statement: str
    promised: str
    certified: str
    method: Method
    judged: Verdict | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    quantifier: Quantifier = Quantifier.THESE
    compared: tuple[Comparison, ...] = ()
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        require_one_of(get_args(Role), role=self.role)
        if not self.method.means and self.role != "error":
            raise InputError(f"evidence {self.statement!r}", "has no means", "what its certificate rests on")
        if self.quantifier in UNIVERSAL and not any(one.speaks_for(self.quantifier) for one in self.compared):
            raise InputError(f"evidence for {self.quantifier.value}", "needs a comparison with a theorem")
        for text in (self.statement, self.certified, self.method.words) * (self.role != "error"):
            if match := _QUANTIFIED.search(text):
                raise InputError("evidence", f"says {match.group()!r} in {text!r}", "its quantifier to say it")
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))
        parts = [one.verdict for one in self.compared]
        parts += [] if self.judged is None else [self.judged]
        object.__setattr__(self, "verdict", Verdict.all_of(parts))

    @property
    def theorems(self) -> tuple[Applied, ...]:
        """Theorems that it rests on, each for its instance."""
        return tuple(applied for one in self.compared for applied in one.theorems)

    @property
    def speaks_of(self) -> str:
        """Scope of the evidence and the theorems it uses, in words made from the data."""
        names = dict.fromkeys(f"{one.theorem.name} ({one.theorem.page})" for one in self.theorems)
        return f"for {self.quantifier.value}" + (f", by {' and '.join(names)}" if names else "")

    def summary(self) -> dict[str, Any]:
        """Return the piece as plain JSON data: the fields of docs/audit.md."""
        theorems = {one.theorem.name: one.theorem for one in self.theorems}
        return {
            "role": self.role,
            "statement": self.statement,
            "promised": self.promised,
            "certified": self.certified,
            "quantifier": self.quantifier.value,
            "speaks_of": self.speaks_of,
            "means": [means.value for means in self.method.means],
            "theorems": [
                {"name": one.name, "page": one.page, "heading": one.heading, "judge": one.named_judge}
                for one in theorems.values()
            ],
            "compared": [{"relation": str(one), "verdict": one.verdict.value} for one in self.compared],
            "verdict": self.verdict.value,
            "method": self.method.words,
            "data": dict(self.data),
        }
