"""Goes through the register of claims and confirms each recorded verdict by certificates of this run, or does not.

Page: docs/audit.md
"""

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from constructions.claims import REGISTER, claims
from constructions.claims.claim import Claim, Judgement
from verify.claims.evidence import Evidence, Role
from verify.verdict import Verdict

Progress = Callable[[str, float | None, str], None]
"""Called with a claim's id, the finished share of its audit or `None`, and what was just certified."""

NEEDED: dict[Judgement, frozenset[Role]] = {
    "holds": frozenset({"claim"}),
    "slip": frozenset({"counterexample", "repair"}),
    "hypothesis": frozenset({"counterexample", "repair"}),
    "false": frozenset({"counterexample", "repair"}),
    "redundant": frozenset({"claim"}),
    "answered": frozenset({"claim"}),
}
"""The evidence without which a judgement is not confirmed."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What this run has certified about a claim.

    Args:
        claim: The claim, with the recorded judgement.
        evidence: Every piece of evidence, in order.
        seconds: Time taken.

    Page: docs/audit.md
    """

    claim: Claim
    evidence: tuple[Evidence, ...]
    seconds: float

    @property
    def confirmed(self) -> bool:
        """Whether all evidence was PROVED, and there is some of every kind that the judgement needs."""
        return NEEDED[self.claim.judgement] <= {piece.role for piece in self.evidence} and all(
            piece.verdict is Verdict.PROVED for piece in self.evidence
        )

    def summary(self) -> dict[str, Any]:
        """The audit as plain JSON data: the fields of docs/audit.md."""
        counterexamples = [piece for piece in self.evidence if piece.role == "counterexample"]
        return {
            "id": self.claim.id,
            "title": self.claim.title,
            "source": self.claim.source,
            "page": self.claim.page,
            "verdict": self.claim.judgement,
            "confirmed": self.confirmed,
            "printed": self.claim.printed,
            "truth": self.claim.truth,
            "promised": [piece.promised for piece in self.evidence],
            "certified": [piece.certified for piece in self.evidence],
            "counterexample": [
                {"statement": piece.statement, "certified": piece.certified, **piece.data} for piece in counterexamples
            ]
            or None,
            "evidence": [
                {
                    "role": piece.role,
                    "statement": piece.statement,
                    "promised": piece.promised,
                    "certified": piece.certified,
                    "verdict": piece.verdict.value,
                    "method": piece.method,
                    "data": dict(piece.data),
                }
                for piece in self.evidence
            ],
            "seconds": round(self.seconds, 3),
        }


def audit_claims(
    ids: Iterable[str] = REGISTER, *, full: bool = False, progress: Progress | None = None
) -> Iterator[Audit]:
    """Certify the verdict on each claim again, from nothing but its constructions and counterexamples.

    Args:
        ids: Which claims; by default all of the register.
        full: Whether to certify larger and more instances, for minutes instead of seconds.
        progress: Called for every piece of evidence.

    Yields:
        An audit for each claim, in the order of the register.

    Raises:
        InputError: There is no such claim.

    Page: docs/audit.md

    Example:
        >>> [audit] = audit_claims(["dana.lemma-2"])
        >>> audit.claim.judgement, audit.confirmed
        ('false', True)
    """
    report = progress or _silent
    for claim in claims(ids):
        start = time.perf_counter()
        report(claim.id, None, claim.title)
        found = []
        for piece in importlib.import_module(f"verify.claims.{claim.module}").evidence(full=full):
            found.append(piece)
            report(claim.id, None, f"{piece.verdict.value}: {piece.certified}")
        report(claim.id, 1.0, "")
        yield Audit(claim=claim, evidence=tuple(found), seconds=time.perf_counter() - start)


def _silent(claim: str, share: float | None, detail: str) -> None:
    pass
