"""Every claim that promises weights: what is built is certified, and both readers answer yes to what was promised."""

from pathlib import Path

import pytest

from byheart.job import build_claim
from constructions.claims import claim, claims
from verify.certificates.memorization import check_memorization
from verify.independent.checker import check_independently
from verify.verdict import Verdict

DEFAULTS = [found.id for found in claims() if found.build is not None]
SLOW = {"dana.lemma-1", "dana.theorem-1", "slides.associative-memory", "mahdavi.theorem-1"}
"""Minutes at their default sizes; each has a smaller one below, or is slow at any size."""

OTHERS = {
    "dana.proposition-2": {"tokens": 3, "length": 2, "head_width": 1, "seed": 7},
    "dana.proposition-3": {"tokens": 3, "n_heads": 9, "seed": 7},
    "dana.lemma-2": {"tokens": 3, "length": 2, "width": 3, "head_width": 3, "seed": 7},
    "dana.lemma-3": {"tokens": 3, "width": 3, "heads": 11, "seed": 7},
    "dana.skip-head": {"tokens": 5, "width": 5, "head_width": 3, "seed": 7},
    "dana.theorem-1": {"tokens": 5, "width": 5, "head_width": 3, "seed": 7},
    "dana.theorem-1-tail": {"norm": 100, "occurrences": 17, "seed": 7},
    "dana.theorem-1-parameters": {"tokens": 3, "width": 3, "head_width": 1, "seed": 7},
    "dana.corollary-1": {"tokens": 5, "gap": 9, "seed": 7},
    "dana.corollary-2": {"tokens": 3, "d_model": 3, "d_head": 1, "n_heads": 5, "seed": 7},
    "dana.theorem-2": {"tokens": 9, "contexts": 23, "d_model": 5, "d_head": 3, "seed": 7},
    "dana.theorem-3": {"largest_range": 7, "occurrences": 31},
    "slides.theorem": {"tokens": 3, "kept": 7, "seed": 7},
    "slides.least-squares": {"tokens": 5, "seed": 7},
    "slides.associative-memory": {"width": 32, "count": 17, "seed": 7},
    "mahdavi.theorem-1": {"heads": 3, "tokens": 5, "width": 7, "head_width": 5, "seed": 7},
    "mahdavi.proposition-2": {"heads": 3, "tokens": 5, "width": 7, "head_width": 5, "seed": 7},
    "mahdavi.proposition-3": {"width": 5, "tokens": 3, "seed": 7},
    "mahdavi.appendix-c": {"heads": 3, "tokens": 5, "width": 7, "head_width": 5, "outputs": 3, "seed": 7},
    "zhang-2017.theorem": {"tokens": 3, "length": 4, "facts": 17, "seed": 7},
    "madden-2024.lower": {"tokens": 3, "length": 4, "facts": 17, "seed": 7},
    "huben-2023.two-layers": {"tokens": 3, "length": 3, "facts": 9, "seed": 7},
    "nichani-2024.additive": {"subjects": 3, "relations": 5, "answers": 2, "seed": 7},
}


def require_yes(folder: Path, id: str, **parameters: int) -> None:
    """Build the claim and let both readers answer, with the same facts."""
    summary = build_claim(claim(id), out=folder, parameters=parameters)
    assert summary["verdict"] == "PROVED", summary["headline"]
    found = []
    for check in (check_memorization, check_independently):
        report = check(folder)
        assert report.verdict is Verdict.PROVED, report.summary()
        found.append([report.checks[0].values[name] for name in ("contexts", "held", "wrong")])
    assert found[0] == found[1]


@pytest.mark.parametrize("id", [pytest.param(id, marks=[pytest.mark.slow] * (id in SLOW)) for id in DEFAULTS])
def test_what_a_claim_builds_by_default_is_answered_yes_by_both_readers(tmp_path: Path, id: str) -> None:
    require_yes(tmp_path / "built", id)


@pytest.mark.parametrize("id", OTHERS)
def test_what_a_claim_builds_at_another_size_is_answered_yes_by_both_readers(tmp_path: Path, id: str) -> None:
    require_yes(tmp_path / "built", id, **OTHERS[id])
