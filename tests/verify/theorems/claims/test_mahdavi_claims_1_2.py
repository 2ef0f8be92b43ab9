"""The audit of Claims 1 and 2 certifies what it says, and nothing that is not so."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.rational.saturating_head import SaturatingMatrix, exact_head
from verify.theorems.claims import mahdavi_claims_1_2 as audit
from verify.theorems.evidence import Evidence
from verify.verdict import Verdict


def fits() -> Evidence:
    return audit._fits(np.random.default_rng(1), 2, n_ctx=3, d_model=4, fitted=2, earlier=4, kruskal=True)


def test_the_instance_of_the_tests_below_is_confirmed() -> None:
    assert fits().verdict is Verdict.PROVED


@pytest.mark.parametrize("piece", ["W_Q", "inverses", "query_direction", "key_direction", "strength"])
def test_a_spoiled_head_is_not_confirmed(monkeypatch, piece: str) -> None:
    def spoiled(contexts, queries, **options):
        head = exact_head(contexts, queries, **options)
        assert head.freezing is not None
        v, w = head.freezing.key_direction, head.freezing.query_direction
        changes = {
            "W_Q": {"W_Q": head.W_Q * 2},
            "inverses": {"inverses": (*head.inverses[:-1], head.inverses[-1] * 2)},
            "query_direction": {"freezing": SaturatingMatrix(v, tuple(int(x) for x in queries[0]))},
            "key_direction": {"freezing": SaturatingMatrix((0,) * len(v), w)},
        }
        return replace(head, **changes.get(piece, {}))

    monkeypatch.setattr(audit, "exact_head", spoiled)
    monkeypatch.setattr(audit, "_strength", lambda *_: -1 if piece == "strength" else 10**6)
    assert fits().verdict is Verdict.UNDECIDED


def test_a_head_that_fits_fewer_examples_is_not_confirmed(monkeypatch) -> None:
    def fewer(contexts, queries, *, fitted: int, seed: int):
        return exact_head(contexts, queries, fitted=fitted - 1, seed=seed)

    monkeypatch.setattr(audit, "exact_head", fewer)
    monkeypatch.setattr(audit, "_strength", lambda *_: 10**6)
    assert fits().verdict is Verdict.REFUTED
