"""Represent a claim of the literature as data: the printed text, what is true of it, and its constructions.

Page: docs/audit.md
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from constructions.errors import HypothesisError, InputError, require_one_of

if TYPE_CHECKING:
    from constructions.model.construction import Construction
    from constructions.tasks.task import Task
    from constructions.tasks.vectors import VectorTask

Judgement = Literal[
    "holds",
    "slip",
    "hypothesis",
    "false",
    "invalid-proof",
    "redundant",
    "answered",
    "measured",
    "not-judged",
    "not-legible",
    "open",
]
"""What a claim turned out to be, in the reading that its record names.

``holds``: true as printed. ``slip``: true after a correction of constants, signs, dimensions or a word. ``hypothesis``:
true under a hypothesis that the source does not state. ``false``: a statement that is refuted, so read.
``invalid-proof``: a step of the printed proof is refuted, the statement itself neither proved nor refuted.
``redundant``: true, and not needed. ``answered``: an open question of the source that has an answer. ``measured``: a
measurement of the source, which nothing here proves or refutes. ``not-judged``: what was not read, says too little to
be judged, or has a proof that is not followed here; a part of it may be judged. ``not-legible``: its formulas are
missing in the copy at hand; what is proved beside it is a theorem of this project. ``open``: a question, or a
statement, that nobody has decided.
"""

Kind = Literal["statement", "remark", "summary", "fit", "own"]
"""What a claim is in its source.

``statement``: numbered, or asserted as proved, a step of a proof among them. ``remark``: said beside the statements.
``summary``: said of the work of others. ``fit``: measured, or fitted to measurements. ``own``: a theorem of whoever
writes the record.
"""

LOST = "[lost]"
"""Stands in a quotation for a formula that the copy at hand has lost."""

LEFT_OUT = "[...]"
"""Stands in a quotation for words that are left out."""

UNREAD: frozenset[Judgement] = frozenset({"not-legible", "not-judged", "measured", "open"})
"""The judgements that are possible on what was not read as it is printed."""

_FORMULA = re.compile(r"\[\[([a-z][a-z0-9_]*): ([^\[\]]+)\]\]")


@dataclass(frozen=True)
class Hypothesis:
    """A condition of a proved claim, as code.

    Args:
        statement: The condition, in symbols or words, e.g. ``"S >= 2"``.
        holds: Whether it holds; called with the parameters of the construction by keyword, and to ignore those that it
            does not need it takes ``**_``.
    """

    statement: str
    holds: Callable[..., bool]


@dataclass(frozen=True, eq=False)
class Claim:
    """A statement of the literature, with the verdict on it.

    Args:
        id: Source and place, e.g. ``"dana.lemma-2"``.
        title: A few words.
        source: Paper and place.
        printed: What is printed, in the notation of the conventions page. Every number, formula and condition is
            written ``[[name: formula]]``, and read as the formula; the evidence computes it.
        judgement: What it turned out to be, in the reading that `reading` names.
        truth: What is true instead or more sharply, in the same notation.
        page: The page with the proofs.
        hypotheses: The conditions of what is built, which may be fewer cases than `truth` speaks of; of `truth` itself
            where nothing is built.
        parameters: The parameters of `build` with their default values.
        build: Makes the weights that `truth` promises; `None` where the claim is about no weights.
        quotation: The words of the source, verbatim, formulas in TeX between dollars; `LOST` for what the copy at hand
            has lost, `LEFT_OUT` for what is omitted.
        reading: How the quotation is read; where it can be read otherwise, what is true then, and why it is read so.
            What stands in double quotes is verbatim too.
        kind: Its kind in the source.
        wrong: What is wrong in a few words; empty where nothing is.
        reconstructed: What of the source was not at hand, so that `printed` is a reconstruction, from memory or in the
            words of others; empty where all that is judged was read.

    Attributes:
        formulas: The formulas in `printed` and `truth`, by name: the audit compares each with what it computes.

    Raises:
        InputError: A judgement or a kind that is none, an id that is no source and place, or two formulas of one name;
            no quotation, of a source that was read; a judgement on what was not read; *not-legible* of what was; or
            *false* of what is no statement.

    Example:
        >>> claim = Claim("dana.example", "An example", "Dana (2024)", "d >= 1", "holds", "d >= 1", "docs/audit.md")
        >>> claim.module
        'dana_example'
    """

    id: str
    title: str
    source: str
    printed: str
    judgement: Judgement
    truth: str
    page: str
    hypotheses: tuple[Hypothesis, ...] = ()
    parameters: Mapping[str, int] = field(default_factory=dict)
    build: "Callable[..., Construction[Task] | Construction[VectorTask]] | None" = None
    quotation: str = ""
    reading: str = ""
    kind: Kind = "own"
    wrong: str = ""
    reconstructed: str = ""
    formulas: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        require_one_of(get_args(Judgement), judgement=self.judgement)
        require_one_of(get_args(Kind), kind=self.kind)
        source, _, place = self.id.partition(".")
        if not source or not place or not self.module.isidentifier():
            raise InputError("id", f"is {self.id!r}", "a source and a place such as 'dana.lemma-2'")
        self._require_fair()
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        formulas: dict[str, str] = {}
        for name, formula in _FORMULA.findall(self.printed + self.truth):
            if formulas.setdefault(name, formula) != formula:
                raise InputError(self.id, f"has two formulas {name}: {formulas[name]!r} and {formula!r}")
        object.__setattr__(self, "formulas", MappingProxyType(formulas))
        for text in ("printed", "truth"):
            object.__setattr__(self, text, _FORMULA.sub(r"\2", getattr(self, text)))

    def _require_fair(self) -> None:
        """Require that a verdict is about words that were read, and that only statements are called *false*."""
        if self.kind != "own" and not self.quotation and not self.reconstructed:
            raise InputError(self.id, "has no quotation", "the words of its source, or what of it was not at hand")
        if self.reconstructed and self.judgement not in UNREAD:
            raise InputError(self.id, f"is reconstructed, and judged {self.judgement!r}", " or ".join(sorted(UNREAD)))
        if self.judgement == "not-legible" and not self.reconstructed:
            raise InputError(self.id, "is 'not-legible'", "what of its source was not at hand")
        if self.judgement == "false" and self.kind not in ("statement", "own"):
            raise InputError(self.id, f"is a {self.kind}, and judged 'false'", "another judgement, or a statement")

    @property
    def module(self) -> str:
        """The name of the modules that belong to this claim."""
        return self.id.replace(".", "_").replace("-", "_")

    def listed(self) -> dict[str, Any]:
        """Return the entry of this claim in a list, as plain JSON data: the fields of `byheart claims --json`."""
        return {
            "id": self.id,
            "title": self.title,
            "verdict": self.judgement,
            "kind": self.kind,
            "reconstructed": self.reconstructed or None,
            "source": self.source,
            "quotation": self.quotation or None,
            "reading": self.reading or None,
            "printed": self.printed,
            "truth": self.truth,
            "wrong": self.wrong or None,
            "hypotheses": [hypothesis.statement for hypothesis in self.hypotheses],
            "parameters": dict(self.parameters) if self.build else None,
            "page": self.page,
        }

    def require(self, **values: object) -> None:
        """Refuse values that violate a hypothesis of the claim.

        Args:
            values: What the hypotheses look at, by name.

        Raises:
            HypothesisError: Names the claim, the hypothesis and the values.

        Example:
            >>> long = Hypothesis("S >= 2", lambda S, **_: S >= 2)
            >>> claim = Claim("x.y", "", "Source, Lemma 1", "", "holds", "", "docs/audit.md", hypotheses=(long,))
            >>> claim.require(S=1)
            Traceback (most recent call last):
            ...
            constructions.errors.HypothesisError: Source, Lemma 1 needs S >= 2, but S = 1
        """
        for hypothesis in self.hypotheses:
            if not hypothesis.holds(**values):
                shown = ", ".join(f"{name} = {value}" for name, value in values.items())
                of = self.source if self.build is None else f"what is built for {self.source}"
                raise HypothesisError(of, hypothesis.statement, shown)

    def construct(self, **given: int) -> Any:
        """Build the weights that the claim promises.

        Args:
            given: Parameters by name; the others keep their default values.

        Returns:
            The weights and what they hold: what `build` returns, a `Construction` or, for a claim about a layer, a
            `Construction`.

        Raises:
            InputError: The claim is about no weights, or a parameter that it does not have.
            HypothesisError: Parameters for which a hypothesis does not hold.

        Example:
            >>> Claim("x.y", "", "Lemma 1", "", "holds", "", "docs/audit.md").construct()
            Traceback (most recent call last):
            ...
            constructions.errors.InputError: x.y builds no weights
        """
        if self.build is None:
            raise InputError(self.id, "builds no weights")
        if unknown := sorted(set(given) - set(self.parameters)):
            raise InputError(self.id, f"has no parameter {unknown[0]!r}", ", ".join(self.parameters) or "none")
        parameters = {**self.parameters, **given}
        self.require(**parameters)
        if parameters.get("seed", 0) < 0:  # where no hypothesis names it
            raise InputError(self.id, f"has seed = {parameters['seed']}", "at least 0")
        return self.build(**parameters)
