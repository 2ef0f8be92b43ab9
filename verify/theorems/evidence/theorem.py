"""Name a theorem that extends a computation on one instance to all weights, or to all encoders.

Page: docs/audit.md
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from constructions.errors import InputError
from verify.theorems.evidence.quantifier import Quantifier

Gives = Literal["an upper bound", "a lower bound", "a verdict", "a value"]
"""What the number is that the judge of a theorem computes."""


@dataclass(frozen=True, eq=False)
class Theorem:
    """A theorem with its page, and the judge that checks its hypotheses and evaluates it for an instance.

    Args:
        name: How it is called, e.g. ``"U1"``.
        page: The page with its proof.
        heading: The heading there under which it is proved.
        judge: A function of `verify` that computes the bound; it raises, or returns no bound, where a hypothesis fails.
        over: Of how much the theorem speaks.
        gives: What the judge computes: a bound of what is compared, from above or from below, or a verdict.

    Raises:
        InputError: A judge that is not a named function of `verify`, so that a builder would judge itself.

    Example:
        >>> from verify.theorems.capacity.sign_patterns import heads_for_every_labelling
        >>> count = Theorem(
        ...     "Warren", "docs/claims/labels_beyond_heads.md", "Derivation", heads_for_every_labelling,
        ...     over=Quantifier.ALL_WEIGHTS, gives="a lower bound",
        ... )
        >>> count.at(d_vocab=2, n_ctx=12).value > 1
        True
    """

    name: str
    page: str
    heading: str
    judge: Callable[..., Any]
    over: Quantifier
    gives: Gives

    def __post_init__(self) -> None:
        module, name = getattr(self.judge, "__module__", ""), getattr(self.judge, "__qualname__", "")
        if module.split(".")[0] != "verify" or not name.isidentifier():
            raise InputError(f"judge of theorem {self.name}", f"is {module}.{name}", "a named function of verify")

    @property
    def named_judge(self) -> str:
        """The judge as a dotted name."""
        return f"{self.judge.__module__}.{self.judge.__qualname__}"

    def at(self, read: str = "", /, **given: Any) -> "Applied":
        """Return the conclusion of the theorem for an instance, by its judge.

        Args:
            read: The attribute of the judge's result that is meant; by default the result itself.
            given: The arguments of the judge.
        """
        return Applied(self, given, read)


@dataclass(frozen=True, eq=False)
class Applied:
    """A theorem on an instance: the only way to a value of it is to let its judge compute it.

    Args:
        theorem: The theorem.
        given: The arguments of its judge: the instance.
        read: The attribute of the judge's result that is meant; by default the result itself.

    Attributes:
        value: The result of the judge.
    """

    theorem: Theorem
    given: Mapping[str, Any]
    read: str = ""
    value: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))
        conclusion = self.theorem.judge(**self.given)
        object.__setattr__(self, "value", getattr(conclusion, self.read) if self.read else conclusion)
