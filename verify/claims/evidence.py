"""A piece of evidence about a claim: what was promised, what was certified, and whether it was.

Page: docs/audit.md
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from verify.verdict import Verdict

Role = Literal["claim", "counterexample", "repair"]
"""What a piece of evidence is for: an instance of what is printed, a refutation of it, or an instance of the truth."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """One certified statement about a claim.

    `verdict` is about `statement`: a refutation of the claim is a statement that is PROVED too ("no weights reach rank
    4 on these contexts").

    Args:
        role: What the evidence is for.
        statement: What was to be certified, in words, with the sizes.
        promised: What the source or the repaired theorem promises, with its direction (e.g. ``"rank >= 4"``).
        certified: What the certificate of this run says (e.g. ``"rank <= 3 for all weights"``).
        verdict: Whether the statement was certified.
        method: How, e.g. ``"rank over GF(2^62 - 57)"``.
        data: The instance, as plain JSON data, small enough to read: contexts, weights or laws.

    Page: docs/audit.md

    Example:
        >>> Evidence("claim", "1 + 1 = 2", "= 2", "= 2", Verdict.PROVED, "counting").verdict.value
        'PROVED'
    """

    role: Role
    statement: str
    promised: str
    certified: str
    verdict: Verdict
    method: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))
