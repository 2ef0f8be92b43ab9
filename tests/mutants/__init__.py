"""Mutants of the certifying core: each drops a rounding term, a radius, a slack or a direction, and a test must notice.

`python -m tests.mutants.run` applies them one by one to a copy of the repository.
"""

from collections.abc import Callable
from dataclasses import dataclass

from verify.theorems.claims import REGISTER, module_of


@dataclass(frozen=True)
class Mutant:
    """One change of one source file that makes a proof false.

    Attributes:
        file: The source file, relative to the repository.
        original: A piece of its text that occurs exactly once.
        mutated: What takes its place.
        tests: Test files, separated by blanks, of which one must fail.
        why: What the change breaks, in one sentence.
    """

    file: str
    original: str
    mutated: str
    tests: str
    why: str


def of(file: str, tests: str) -> Callable[[str, str, str], Mutant]:
    """Mutants of one file that the same tests notice, each made of a text, what becomes of it, and why."""
    return lambda original, mutated, why: Mutant(file, original, mutated, tests, why)


def confirmed(module: str) -> str:
    """The test that the audit confirms the verdict on the claim in this module of `verify.theorems.claims`."""
    [id] = [id for id in REGISTER if module_of(id) == f"verify.theorems.claims.{module}"]
    return f"tests/contract/test_claims.py::test_the_verdict_is_confirmed[{id}]"


def of_claim(module: str) -> Callable[[str, str, str], Mutant]:
    """Mutants of the file of a claim, which its own audit notices."""
    return of(f"verify/theorems/claims/{module}.py", confirmed(module))
