"""Kernel and prover on random folders of every kind: neither contradicts the other, and none proves what is false."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_folders import (
    CHECKERS,
    PROVED,
    REFUSED,
    REFUTED,
    UNDECIDED,
    NothingDrawnError,
    faults,
    write_random,
)


def answers(seed: int, folder: Path) -> tuple[str, str, dict[str, int]]:
    """What the folder of a seed is about, what is forged in it, and the exit codes of the checkers."""
    drawn = write_random(seed, folder)
    return drawn.kind, drawn.claim, {name: checker(folder)[0] for name, checker in CHECKERS.items()}


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_no_two_checkers_contradict_each_other_and_none_proves_what_is_false(seed: int) -> None:
    with TemporaryDirectory() as top:
        folder = Path(top) / "drawn"
        try:
            kind, claim, codes = answers(seed, folder)
        except NothingDrawnError:
            return
        assert faults(folder, codes) == [], (kind, claim, codes)


def test_every_kind_is_drawn_true_and_forged_and_most_is_decided(tmp_path: Path) -> None:
    """So that the comparison is one: of a hundred folders each kind is there, proved and refuted ones among them."""
    kinds, kernel = set[tuple[str, bool]](), list[int]()
    for seed in range(100):
        try:
            kind, claim, codes = answers(seed, tmp_path / str(seed))
        except NothingDrawnError:
            continue
        kinds.add((kind, bool(claim)))
        kernel.append(codes["kernel"])
    drawn = {"labels", "distributions", "values", "classes", "prompts", "domain", "sample", "text", "edit"}
    assert {kind for kind, _ in kinds} == drawn and len({kind for kind, forged in kinds if forged}) >= 7
    assert min(kernel.count(PROVED), kernel.count(REFUTED)) >= 15 and kernel.count(UNDECIDED) < len(kernel) / 2


@pytest.mark.parametrize("accepted", [PROVED, REFUTED, REFUSED])
def test_whoever_says_the_same_of_all_folders_is_found_out(accepted: int, tmp_path: Path) -> None:
    found = []
    for seed in range(30):
        try:
            _, _, codes = answers(seed, tmp_path / str(seed))
        except NothingDrawnError:
            continue
        found.append(faults(tmp_path / str(seed), {**codes, "another": accepted}))
    assert sum(map(bool, found)) >= 5
