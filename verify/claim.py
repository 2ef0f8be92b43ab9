"""A claim of the literature as data: what is printed, what is true of it, and what is built for it.

Page: docs/audit.md
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from constructions.errors import HypothesisError, InputError, require_one_of

if TYPE_CHECKING:
    from constructions.models.construction import Construction
    from constructions.tasks.task import Task
    from constructions.tasks.vectors import VectorTask

Judgement = Literal[
    "holds", "slip", "hypothesis", "false", "invalid-proof", "redundant", "answered", "measured", "not-judged", "open"
]
"""What a printed claim turned out to be.

``holds``: true as printed. ``slip``: true after a correction of constants, signs or dimensions. ``hypothesis``: true
under a hypothesis that the source does not state. ``false``: refuted as printed. ``invalid-proof``: a step of the
printed proof is refuted, the statement itself neither proved nor refuted. ``redundant``: true, and not needed.
``answered``: an open question of the source that has an answer. ``measured``: an observation, which weights that were
built here show, and nothing proves. ``not-judged``: a theorem of its source whose proof is not followed here; a part of
it is judged. ``open``: a question, or a statement, that nobody has decided.
"""

_FORMULA = re.compile(r"\[\[([a-z][a-z0-9_]*): ([^\[\]]+)\]\]")


@dataclass(frozen=True)
class Hypothesis:
    """A condition under which a claim is proved, as code.

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
        judgement: What it turned out to be.
        truth: What is true instead or more sharply, in the same notation.
        page: The page with the proofs.
        hypotheses: The conditions of `truth`.
        parameters: The parameters of `build` with their default values.
        build: Makes the weights that `truth` promises; `None` where the claim is about no weights.
        reconstructed: What of the printed statement had to be reconstructed from a damaged copy, so that the judgement
            is about the reconstruction; empty where the source is legible.

    Attributes:
        formulas: The formulas in `printed` and `truth`, by name: the audit compares each with what it computes.

    Raises:
        InputError: A judgement that is none, an id that is no source and place, or two formulas of one name.

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
    reconstructed: str = ""
    formulas: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        require_one_of(get_args(Judgement), judgement=self.judgement)
        source, _, place = self.id.partition(".")
        if not source or not place or not self.module.isidentifier():
            raise InputError("id", f"is {self.id!r}", "a source and a place such as 'dana.lemma-2'")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        formulas: dict[str, str] = {}
        for name, formula in _FORMULA.findall(self.printed + self.truth):
            if formulas.setdefault(name, formula) != formula:
                raise InputError(self.id, f"has two formulas {name}: {formulas[name]!r} and {formula!r}")
        object.__setattr__(self, "formulas", MappingProxyType(formulas))
        for text in ("printed", "truth"):
            object.__setattr__(self, text, _FORMULA.sub(r"\2", getattr(self, text)))

    @property
    def module(self) -> str:
        """The name of the modules that belong to this claim."""
        return self.id.replace(".", "_").replace("-", "_")

    def listed(self) -> dict[str, Any]:
        """What a list of claims says of this one, as plain JSON data: the fields of `byheart claims --json`."""
        return {
            "id": self.id,
            "title": self.title,
            "verdict": self.judgement,
            "reconstructed": self.reconstructed or None,
            "source": self.source,
            "printed": self.printed,
            "truth": self.truth,
            "hypotheses": [hypothesis.statement for hypothesis in self.hypotheses],
            "parameters": dict(self.parameters) if self.build else None,
            "page": self.page,
        }

    def require(self, **values: object) -> None:
        """Refuse values for which a hypothesis of the claim does not hold.

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
                raise HypothesisError(self.source, hypothesis.statement, shown)

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
