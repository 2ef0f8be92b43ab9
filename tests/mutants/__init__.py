"""Mutants of the certifying core: each drops a rounding term, a radius, a slack or a direction, and a test must notice.

`python -m tests.mutants.run` applies them one by one to a copy of the repository.
"""

from dataclasses import dataclass


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
