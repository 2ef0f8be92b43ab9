"""What the tests of the audits share: a theorem whose judge is wrong for the time of a test."""

from collections.abc import Callable, Iterator

import pytest

from verify.evidence import Theorem

Spoil = Callable[[Theorem, Callable[..., object]], None]


@pytest.fixture
def spoil() -> Iterator[Spoil]:
    """Replaces the judge of a theorem by another function of its arguments, until the test ends."""
    before = []

    def replaced(theorem: Theorem, judge: Callable[..., object]) -> None:
        before.append((theorem, theorem.judge))
        object.__setattr__(theorem, "judge", judge)

    yield replaced
    for theorem, judge in reversed(before):
        object.__setattr__(theorem, "judge", judge)
