"""The audit of Theorem 1 confirms its verdict, and does not if a certificate fails or a construction is spoilt."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.heads_of_theorem_1.parameters import paper_heads
from constructions.heads_of_theorem_1.random import distributions
from constructions.heads_of_theorem_1.random.distributions import random_distributions_memory
from constructions.model.attention import logits
from constructions.model.construction import Construction
from constructions.model.shapes import dana_network, dana_tensors
from constructions.rational import exact_memory as rational
from constructions.rational.exact_memory import exact_memory
from constructions.tasks.task import Task
from tests.verify.conftest import Change, Spoil
from verify.theorems.capacity.divergence_floor import DivergenceFloor
from verify.theorems.claims import dana_theorem_1 as audit
from verify.theorems.claims.dana_theorem_1 import CLAIM
from verify.theorems.evidence import Theorem, exclusive_or
from verify.theorems.evidence.theorems import COLLINEAR_DIVERGENCE, ONE_HEAD_DIVERGENCE
from verify.verdict import Verdict


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_EXACT", ((2, 2, 2, 1, 0),))
    monkeypatch.setattr(audit, "_ROUNDED", ((4, 2, 4, 4, 0),))


def verdicts() -> Iterator[tuple[str, Verdict]]:
    return ((piece.statement, piece.verdict) for piece in audit.evidence(full=False))


@pytest.mark.parametrize("theorem", [ONE_HEAD_DIVERGENCE, COLLINEAR_DIVERGENCE])
@pytest.mark.parametrize("factor", [0.0, 0.99, 1.01])
def test_a_floor_that_is_empty_or_false_confirms_nothing(theorem: Theorem, factor: float, spoil: Spoil) -> None:
    honest = theorem.judge

    def scaled(**given: Any) -> DivergenceFloor:
        found = honest(**given)
        return replace(found, lower=factor * found.lower)

    spoil(theorem, scaled)
    pieces = audit._exclusive_or(Fraction(99, 100), n_ctx=3)
    if theorem is COLLINEAR_DIVERGENCE:
        pieces = audit._line(Fraction(9, 10), pieces=96)
    assert any(piece.verdict is not Verdict.PROVED for piece in pieces)


def test_distributions_that_are_not_opposed_confirm_nothing(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    contexts = exclusive_or.exclusive_or_contexts()[[0, 2, 1, 3]]
    monkeypatch.setattr(exclusive_or, "exclusive_or_contexts", lambda _=3: contexts)
    assert dict(verdicts())[next(iter(dict(verdicts())))] is not Verdict.PROVED


def test_weights_that_stay_away_from_the_floor_do_not_show_that_it_is_sharp(
    monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    optimum = exclusive_or.exclusive_or_optimum
    monkeypatch.setattr(exclusive_or, "exclusive_or_optimum", lambda logit, **_: optimum(logit, size=1000.0))
    found = [verdict for statement, verdict in verdicts() if "sharp" in statement]
    assert found == [Verdict.REFUTED, Verdict.PROVED]


def test_a_wrong_target_is_refuted(changed: Change, small: None) -> None:
    changed(audit, "exact_memory", lambda made: replace(made, targets=made.targets * 2))
    assert [verdict for statement, verdict in verdicts() if "rational network" in statement] == [Verdict.REFUTED]


def test_one_changed_weight_is_noticed(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    build = audit.build_memory

    def spoilt(*arguments: Any, **options: Any) -> Any:
        built = build(*arguments, **options)
        W_O = built.model.W_O.copy()
        W_O[0, 0, 0] += 1e-3 * np.abs(W_O).max()
        return replace(built, model=dana_network(**{**dana_tensors(built.model), "W_O": W_O}))

    monkeypatch.setattr(audit, "build_memory", spoilt)
    assert [verdict for statement, verdict in verdicts() if "XOR with" in statement] == [Verdict.UNDECIDED]


def test_more_heads_than_the_paper_counts_confirm_nothing(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    count = audit.paper_heads
    for module in (audit, distributions, rational):  # the audit counts itself
        monkeypatch.setattr(module, "paper_heads", lambda *sizes: count(*sizes) + 1)
    found = dict(verdicts())
    counted = ("rational network", "float64 weights")
    larger = [verdict for statement, verdict in found.items() if any(text in statement for text in counted)]
    assert larger == [Verdict.REFUTED] * 2
    build = audit.build_memory
    monkeypatch.setattr(audit, "build_memory", lambda task, **sizes: build(task, **{**sizes, "n_heads": 3}))
    assert audit._one_head_more().verdict is Verdict.REFUTED


def test_fewer_contexts_than_there_should_be_confirm_nothing(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    contexts, task = audit.drawn_contexts, distributions.random_distributions
    monkeypatch.setattr(rational, "drawn_contexts", lambda *_: contexts(2, 2, 3, 0))
    monkeypatch.setattr(distributions, "random_distributions", lambda *_: task(4, 2, 13, 0))
    assert audit._exact(*audit._EXACT[0]).verdict is Verdict.REFUTED
    monkeypatch.setattr(distributions, "paper_heads", lambda *_: 3)  # as many as for all contexts
    assert audit._rounded(*audit._ROUNDED[0]).verdict is Verdict.REFUTED


def test_equal_contexts_are_no_counterexample(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    contexts = exclusive_or.exclusive_or_contexts()[[0, 1, 0, 1]]
    monkeypatch.setattr(exclusive_or, "exclusive_or_contexts", lambda _=3: contexts)
    with pytest.raises(InputError, match="equal rows"):
        next(audit.evidence(full=False))


def test_printed_bounds_are_rounded_outward() -> None:
    third = 1 / 3
    assert float(audit.decimal_below(third, 10)) < third < float(audit.decimal_above(third, 10))
    assert audit.decimal_below(2 / 3, 10) == "0.6666666666" and audit.decimal_above(third, 10) == "0.3333333334"


def worst_error(made: Construction[Task]) -> float:
    assert made.task.distributions is not None
    return float(np.ptp(logits(made.model, made.task.contexts) - np.log(made.task.distributions), axis=1).max())


@given(st.integers(2, 6), st.data())
def test_all_contexts_are_memorized_by_float64_weights(tokens: int, data: st.DataObject) -> None:
    width = data.draw(st.integers(tokens - 1, tokens))
    d_head = data.draw(st.integers(1, width))
    made = CLAIM.construct(d_vocab=tokens, n_ctx=2, d_model=width, d_head=d_head, seed=data.draw(st.integers(0, 99)))
    assert made.model.n_heads == paper_heads(tokens**2, width, d_head)
    assert worst_error(made) < 1e-4


def test_some_contexts_are_memorized_if_their_rank_allows_it() -> None:
    made = CLAIM.construct(d_vocab=9, n_ctx=12, d_model=8, d_head=4, facts=100)
    assert made.task.n_contexts == 100
    assert len(np.unique(made.task.contexts, axis=0)) == 100
    assert worst_error(made) < 1e-6


def test_too_few_heads_are_refused() -> None:
    with pytest.raises(HypothesisError, match="generic rank T"):
        CLAIM.construct(d_vocab=4, n_ctx=2, d_model=4, d_head=4, n_heads=2)
    with pytest.raises(CapacityError, match="rank T"):
        random_distributions_memory(d_vocab=4, n_ctx=2, d_model=4, d_head=4, n_heads=2)
    with pytest.raises(CapacityError, match="rank T"):
        exact_memory(d_vocab=2, n_ctx=2, d_model=2, d_head=1, n_heads=1)


@pytest.mark.parametrize("changed", [{"facts": -1}, {"facts": 257}, {"d_vocab": 2, "n_ctx": 70, "facts": 3}])
def test_impossible_numbers_of_contexts_are_refused(changed: dict[str, int]) -> None:
    with pytest.raises(InputError, match="facts"):
        CLAIM.construct(**changed)
    with pytest.raises(InputError, match="expected at least 1"):
        exact_memory(d_vocab=0, n_ctx=2, d_model=1, d_head=1)
    with pytest.raises(InputError, match="d_head = 0"):
        paper_heads(4, 2, 0)


@pytest.mark.parametrize("sizes", [(5, 5, 2), (4, 4, 1), (2, 2, 1)])
def test_one_position_whose_distributions_lower_the_rank_is_refused(sizes):
    tokens, width, d_head = sizes
    with pytest.raises(HypothesisError, match="needs S >= 2, or T < d, or T < N"):
        CLAIM.construct(d_vocab=tokens, n_ctx=1, d_model=width, d_head=d_head)
    made = CLAIM.construct(d_vocab=tokens, n_ctx=1, d_model=width + 1, d_head=d_head)
    assert made.task.n_contexts == tokens
