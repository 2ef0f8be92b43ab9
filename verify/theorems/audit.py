"""Audit the register of claims: confirm each recorded verdict by the certificates of this run, or report that it is
not.

Page: docs/audit.md
"""

import importlib.util
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from constructions.counted import counted
from constructions.progress import Progress, silent
from verify.certificates.headline import Outcome
from verify.journal import Journal, cached_map
from verify.program_text import files_sha256
from verify.theorems.claim import Claim, Judgement
from verify.theorems.claims import REGISTER, claims, module_of
from verify.theorems.evidence import Evidence, Method, Role
from verify.verdict import Verdict
from verify.workers import Workers

NEEDED: dict[Judgement, frozenset[Role]] = {
    "holds": frozenset({"claim"}),
    "slip": frozenset({"constant", "reached"}),
    "hypothesis": frozenset({"without", "with"}),
    "false": frozenset({"counterexample", "repair"}),
    "invalid-proof": frozenset({"step", "repair"}),
    "redundant": frozenset({"needless"}),
    "answered": frozenset({"answer"}),
    "measured": frozenset({"measurement"}),
    "not-judged": frozenset({"part"}),
    "not-legible": frozenset({"ours"}),
    "open": frozenset({"known"}),
}
"""The evidence without which a judgement is not confirmed."""

ALLOWED: dict[Judgement, frozenset[Role]] = {
    "holds": frozenset({"sharper", "reached", "boundary"}),
    "slip": frozenset({"claim", "repair", "sharper", "boundary"}),
    "hypothesis": frozenset({"claim", "constant", "repair", "sharper", "reached", "boundary"}),
    "false": frozenset({"claim", "step", "sharper", "reached", "boundary"}),
    "invalid-proof": frozenset({"claim", "sharper", "reached", "boundary"}),
    "redundant": frozenset({"sharper", "boundary"}),
    "answered": frozenset({"sharper", "reached", "boundary"}),
    "measured": frozenset({"sharper", "boundary"}),
    "not-judged": frozenset({"sharper", "reached", "boundary"}),
    "not-legible": frozenset({"reached", "boundary"}),
    "open": frozenset({"boundary"}),
}
"""The evidence that a judgement may rest on besides; any other contradicts it."""

DECIDING: frozenset[Role] = frozenset(
    {"claim", "constant", "reached", "without", "with", "counterexample", "repair", "step", "needless", "answer"}
)
"""The evidence that decides something of what is printed; all other is about what stands beside it."""

REFUTING: frozenset[Role] = frozenset({"counterexample", "without", "constant", "step"})
"""The evidence that refutes something that is printed."""


def is_verdict(judgement: Judgement) -> bool:
    """Tell whether a judgement decides the printed claim, rather than leaving it open.

    Example:
        >>> is_verdict("false"), is_verdict("not-judged"), is_verdict("open"), is_verdict("measured")
        (True, False, False, False)
    """
    return bool(NEEDED[judgement] & DECIDING)


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of this run for one claim.

    Args:
        claim: The claim, with the recorded judgement.
        evidence: Every piece of evidence, in order.
        seconds: Time taken.
    """

    claim: Claim
    evidence: tuple[Evidence, ...]
    seconds: float

    @property
    def confirmed(self) -> bool:
        """Whether all evidence is PROVED, and the judgement and the statements need nothing more."""
        return not self.missing and all(piece.verdict is Verdict.PROVED for piece in self.evidence)

    @property
    def missing(self) -> tuple[str, ...]:
        """Reasons why fully PROVED evidence would still not confirm the judgement, one sentence each."""
        word, roles = self.claim.judgement, {piece.role for piece in self.evidence}
        compared = {formula for piece in self.evidence for one in piece.compared for formula in one.formulas}
        reasons = [f"'{word}' needs evidence of the kind '{role}'" for role in sorted(NEEDED[word] - roles)]
        reasons += [
            f"'{word}' allows no evidence of the kind '{role}'" for role in sorted(roles - NEEDED[word] - ALLOWED[word])
        ]
        if word == "hypothesis" and not any(piece.role == "with" and piece.theorems for piece in self.evidence):
            reasons.append("'hypothesis' needs evidence of the kind 'with' that rests on a theorem")
        reasons += [
            f"no evidence computes {self.claim.formulas[name]} ({name})"
            for name in self.claim.formulas
            if (self.claim.id, name) not in compared
        ]
        return tuple(reasons)

    def summary(self) -> dict[str, Any]:
        """Return the audit as plain JSON data: the fields of docs/audit.md."""
        refuting = [piece for piece in self.evidence if piece.role in REFUTING]
        return {
            "id": self.claim.id,
            "title": self.claim.title,
            "source": self.claim.source,
            "page": self.claim.page,
            "verdict": self.claim.judgement,
            "kind": self.claim.kind,
            "reconstructed": self.claim.reconstructed or None,
            "confirmed": self.confirmed if is_verdict(self.claim.judgement) else None,
            "proved_again": self.confirmed,
            "missing": list(self.missing),
            "quotation": self.claim.quotation or None,
            "reading": self.claim.reading or None,
            "printed": self.claim.printed,
            "truth": self.claim.truth,
            "wrong": self.claim.wrong or None,
            "promised": [piece.promised for piece in self.evidence],
            "certified": [f"{piece.certified}, {piece.speaks_of}" for piece in self.evidence],
            "counterexample": [
                {
                    "statement": piece.statement,
                    "certified": piece.certified,
                    "quantifier": piece.quantifier.value,
                    **piece.data,
                }
                for piece in refuting
            ]
            or None,
            "earlier": False,
            "evidence": [piece.summary() for piece in self.evidence],
            "seconds": round(self.seconds, 3),
        }


def audit_outcome(summaries: Sequence[Mapping[str, Any]], asked: Sequence[Claim]) -> Outcome:
    """Return the outcome of an audit: yes only if there are verdicts, each is confirmed, and all evidence is proved.

    A claim that nobody judges has no verdict that could be confirmed; it is counted by its own word.

    Args:
        summaries: The objects of ``byheart audit --json``.
        asked: The claims that were to be audited; more than there are summaries where the audit was interrupted.

    Example:
        >>> asked = claims(["mahdavi.one-token", "cabannes-2024.scaling"])
        >>> found = [audit.summary() for audit in audit_claims([claim.id for claim in asked])]
        >>> str(audit_outcome(found, asked))
        'CONFIRMED: 1 of 1 verdict (1 holds); 1 not judged (what is said beside it was proved again)'
        >>> audit_outcome(found[1:], asked[1:]).word
        'NO VERDICT'
    """
    verdicts = [summary for summary in summaries if is_verdict(summary["verdict"])]
    others = [summary for summary in summaries if not is_verdict(summary["verdict"])]
    expected = sum(is_verdict(claim.judgement) for claim in asked)
    if not summaries or not all(summary["proved_again"] for summary in summaries):
        refuted = any(piece["verdict"] == "REFUTED" for summary in summaries for piece in summary["evidence"])
        verdict, word = Verdict.REFUTED if refuted else Verdict.UNDECIDED, "NOT CONFIRMED"
    elif not verdicts:
        verdict, word = Verdict.UNDECIDED, "NO VERDICT"
    elif len(summaries) < len(asked):
        verdict, word = Verdict.UNDECIDED, "NOT FINISHED, CONFIRMED"
    else:
        verdict, word = Verdict.PROVED, "CONFIRMED"
    parts = []
    if expected or not others:
        confirmed = [summary for summary in verdicts if summary["confirmed"]]
        earlier = sum(summary["earlier"] for summary in confirmed)
        taken = f", {earlier} of them by an earlier run and not again" if earlier else ""
        of_each = (
            f" ({_by_word(confirmed)})" if confirmed else ""
        )  # what is confirmed of a claim may be that it is false
        parts.append(f"{len(confirmed)} of {counted(expected, 'verdict')}{taken}{of_each}")
    return Outcome(verdict, word, (*parts, *([_beside(others)] if others else [])))


def _beside(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Describe how many claims are not judged, by their words, and the evidence about related statements."""
    lost = sum(not summary["proved_again"] for summary in summaries)
    earlier = sum(summary["earlier"] for summary in summaries)
    if lost:
        ending = f"{lost} of them was not proved again" if len(summaries) > 1 else "it was not proved again"
    else:
        ending = f"{'them' if len(summaries) > 1 else 'it'} was proved"
        ending += f", of {earlier} by an earlier run and not again" if earlier else " again"
    return f"{_by_word(summaries)} (what is said beside {ending})"


def _by_word(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Count the claims by the word of their judgement."""
    words = Counter(summary["verdict"].replace("-", " ") for summary in summaries)
    return ", ".join(f"{count} {word}" for word, count in words.most_common())


def audit_claims(
    ids: Iterable[str] | None = None, *, full: bool = False, progress: Progress | None = None
) -> Iterator[Audit]:
    """Certify the verdict on each claim again, using only its constructions and counterexamples.

    Args:
        ids: Ids of the claims; by default all of the register.
        full: Whether to certify larger and more instances, for minutes instead of seconds.
        progress: Called for every piece of evidence.

    Yields:
        An audit for each claim, in the order of the register.

    What raises is an undecided piece of evidence, with the error as its text; the other claims go on.

    Raises:
        InputError: There is no such claim.

    Example:
        >>> [audit] = audit_claims(["dana.lemma-2"])
        >>> audit.claim.judgement, audit.confirmed
        ('false', True)
    """
    report = progress or silent
    for claim in claims(ids):
        start = time.perf_counter()
        report(claim.id, None, claim.title)
        pieces: list[Evidence] = []
        try:
            for piece in importlib.import_module(module_of(claim.id)).evidence(full=full):
                pieces.append(piece)
                report(claim.id, None, f"{piece.verdict.value}: {piece.certified}")
        except Exception as error:
            pieces.append(_not_computed(error, after=len(pieces)))
            report(claim.id, None, f"{pieces[-1].verdict.value}: {pieces[-1].certified}")
        report(claim.id, 1.0, "")
        yield Audit(claim=claim, evidence=tuple(pieces), seconds=time.perf_counter() - start)


def audit_summaries(
    ids: Iterable[str] | None = None,
    *,
    full: bool = False,
    progress: Progress | None = None,
    workers: Workers | None = None,
    journal: Journal | None = None,
) -> Iterator[dict[str, Any]]:
    """Audit like `audit_claims`, and return each audit as plain JSON data, which may come from another process.

    Args:
        ids: Ids of the claims; by default all of the register.
        full: Whether to certify larger and more instances.
        progress: Called for every piece of evidence; with workers, for every claim.
        workers: Makes the executor that audits several claims at a time; by default one after the other, here.
        journal: About `verify/certificates/provenance.py:all_that_judges`: what earlier runs have found of a claim is
            taken over as it is, and what this run finds is kept. Whatever could not be computed is computed again.

    Yields:
        The fields of docs/audit.md, for each claim in the order of the register, those that are taken over first; with
        workers, as they are done. A worker that dies is an undecided piece of evidence for its claim.

    Raises:
        InputError: There is no such claim.
    """
    report = progress or silent
    selected = {claim.id: claim for claim in claims(ids)}
    work = partial(_summary, full=full, progress=report if workers is None else None)
    for id, result, earlier in cached_map(
        work, selected, workers, journal=journal, named=partial(_named, full=full), keep_if=_is_computed
    ):
        if isinstance(result, Exception):
            result = Audit(selected[id], (_not_computed(result, after=0),), seconds=0.0).summary()
        if earlier or workers is not None:
            report(id, 1.0, ("" if result["proved_again"] else "not ") + "proved" + (", taken over" if earlier else ""))
        yield {**result, "earlier": earlier}


def _summary(id: str, *, full: bool, progress: Progress | None) -> dict[str, Any]:
    return next(audit_claims([id], full=full, progress=progress)).summary()


def _named(id: str, *, full: bool) -> list[Any]:
    """Return everything besides the program that an audit depends on: claim, sizes, files of the package that defines
    it.
    """
    if id in REGISTER:
        return ["audit", id, full]
    spec = importlib.util.find_spec(module_of(id).partition(".")[0])
    places = [] if spec is None else spec.submodule_search_locations or [str(spec.origin)]
    return ["audit", id, full, files_sha256(*map(Path, places or ["nowhere"]))]


def _is_computed(summary: Mapping[str, Any]) -> bool:
    return all(piece["role"] != "error" for piece in summary["evidence"])


def _not_computed(error: Exception, *, after: int) -> Evidence:
    """Return a placeholder for the evidence that was not computed because of an error: undecided, with the error and
    its place.
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "nowhere"
    return Evidence(
        "error",
        f"The evidence after piece {after} was not computed.",
        "evidence",
        f"{type(error).__name__}: {error}",
        Method(f"raised in {place}"),
        Verdict.UNDECIDED,
    )
