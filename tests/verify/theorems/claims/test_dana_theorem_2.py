"""The audit of Theorem 2 certifies what it says, and nothing that is not so."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from constructions.encoders.low_entropy_instances import (
    LowEntropyInstance,
    near_orthonormal_instance,
    random_instance,
    uniform_noise,
)
from constructions.model.attention import logits
from constructions.model.shapes import dana_network, dana_tensors
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.unembedding import best
from tests.verify.conftest import Change, Spoil
from verify.arithmetic.enclosure import Enclosure
from verify.theorems.claims import dana_theorem_2 as audit
from verify.theorems.claims.dana_theorem_2 import CLAIM
from verify.theorems.encoders.low_entropy_bound import enclose_printed_strength, paper_factor, printed_constant
from verify.theorems.evidence import Evidence
from verify.verdict import Verdict

SEEDS = range(8)


def holds(factor: Callable[[Enclosure], Enclosure], seeds: Iterable[int]) -> Evidence:
    return audit.printed_holds(CLAIM, factor, "", seeds, name="printed")


@pytest.mark.parametrize("name", ["sign_constant", "printed_constant"])
def test_another_constant_than_the_printed_one_is_not_confirmed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert audit.rows_exist(CLAIM, [(50, 600)]).verdict is Verdict.PROVED
    if name == "printed_constant":
        monkeypatch.setattr(audit, name, lambda count, d_model: printed_constant(count, d_model) * 0.5)
    else:
        monkeypatch.setattr(audit, "random_signs", lambda count, d_model: np.ones((count, d_model), dtype=np.int8))
    assert audit.rows_exist(CLAIM, [(50, 600)]).verdict is not Verdict.PROVED


@pytest.fixture(scope="module")
def instances() -> list[audit.Judged]:
    return [audit.Judged.of(random_instance(seed)) for seed in SEEDS]


def test_the_bounds_of_the_figure_are_enclosed_tightly() -> None:
    [figure] = audit.at_scale(4096, [Fraction(1, 10)], contexts=2)
    assert "d = 4096" in figure.statement and "0.1 spread" in figure.statement
    for name, value in (("slides", 5.0143), ("paper", 3.6662), ("(N2)", 1.0006), ("(N1)", 0.0413)):
        low, high = figure.data[name]
        assert low <= high and abs(low - value) < 1e-4
    assert figure.data["the encoder of (N1)"][1] < 0.1 * figure.data["(N1)"][0]


def test_a_right_hand_side_that_is_not_negative_refutes_nothing() -> None:
    piece = audit.negative_bound(CLAIM, lambda constant: 1.0 + 0.0 * constant, "1", "the infimum")
    assert piece.verdict is not Verdict.PROVED
    unknown = audit.negative_bound(CLAIM, lambda constant: Enclosure(0.0, np.inf), "anything", "the infimum")
    assert unknown.verdict is not Verdict.PROVED


def test_a_smaller_factor_than_the_repaired_one_is_not_certified() -> None:
    seeds = range(12)
    assert holds(paper_factor, seeds).verdict is Verdict.PROVED
    assert holds(lambda c: 1.0 - 0.0 * c, seeds).verdict is not Verdict.PROVED
    assert holds(paper_factor, []).verdict is not Verdict.PROVED


def test_a_constant_of_a_half_or_more_counts_for_nothing(spoil: Spoil) -> None:
    spoil(audit.REPAIRED_THEOREM_2, lambda vectors, scale: Enclosure(0.4999, 0.001))
    assert holds(paper_factor, range(2)).verdict is not Verdict.PROVED


def test_a_strength_that_does_not_solve_equation_6_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "printed_strength", lambda leads, entropies: np.full(len(leads), 0.7))
    assert holds(paper_factor, range(2)).verdict is not Verdict.PROVED


def test_a_smaller_kappa_is_not_certified(changed: Change, instances: list[audit.Judged]) -> None:
    assert audit.by_context(instances).verdict is audit.by_mean(instances).verdict is Verdict.PROVED
    changed(audit, "kappa_of_leads", lambda found: found * 0.8)
    assert audit.by_context(instances).verdict is audit.by_mean(instances).verdict is not Verdict.PROVED


def test_another_strength_is_not_certified(changed: Change, instances: list[audit.Judged]) -> None:
    changed(audit, "strength", lambda found: 1.1 * found + 0.1)
    assert audit.by_context(instances).verdict is audit.by_mean(instances).verdict is not Verdict.PROVED


def test_no_instances_are_no_evidence() -> None:
    assert audit.by_context([]).verdict is audit.by_mean([]).verdict is not Verdict.PROVED
    assert audit.limit([]).verdict is not Verdict.PROVED


def test_bounds_in_another_order_are_not_certified() -> None:
    family, tokens = best(100, 64), np.array([0, 99])
    judged = audit.Judged.of(uniform_noise(family, tokens, 0.1))
    assert audit.side_by_side(judged, Enclosure(0.2))[0] is Verdict.PROVED
    assert audit.side_by_side(judged, printed_constant(100, 64))[0] is Verdict.PROVED  # C > 1/2, both negative
    assert audit.side_by_side(judged, Enclosure(0.0))[0] is Verdict.UNDECIDED  # below the coherence, 1/8
    assert audit.side_by_side(judged, Enclosure(0.5, 0.1))[0] is Verdict.UNDECIDED


def test_a_limit_that_is_undercut_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "reaches_limit", lambda kappa, count, d_model: kappa > Fraction(3))
    assert audit.limit([(30, 16)]).verdict is Verdict.REFUTED


def test_weights_that_forget_are_not_certified() -> None:
    built = CLAIM.construct(contexts=8)
    assert audit.memorized(built).verdict is Verdict.PROVED
    silent = dana_network(**{**dana_tensors(built.model), "W_O": np.zeros_like(built.model.W_O)})
    assert audit.memorized(replace(built, model=silent)).verdict is not Verdict.PROVED


def test_the_strength_of_the_paper_is_enclosed_tightly() -> None:
    judged = audit.Judged.of(near_orthonormal_instance(3))
    guess = audit.printed_strength(judged.leads.midpoint, judged.distributions.entropy.midpoint)
    found = enclose_printed_strength(judged.distributions, judged.leads, guess)
    assert (found.radius <= 1e-9 * (found.midpoint + 1)).all()


def test_encoders_that_are_not_the_vectors_are_not_those_of_the_theorem(changed: Change) -> None:
    changed(audit, "near_orthonormal_instance", lambda instance: replace(instance, encoders=instance.encoders * 2))
    assert holds(paper_factor, range(3)).verdict is not Verdict.PROVED


def test_vectors_of_another_width_are_not_those_of_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    original = audit.best

    def wider(count: int, d_model: int) -> Unembedding:
        found = original(count, d_model)
        vectors, encoders = (np.hstack([x, np.zeros_like(x)]) for x in (found.vectors, found.encoders))
        return replace(found, vectors=vectors, encoders=encoders)

    assert audit.limit([(30, 16)]).verdict is Verdict.PROVED
    monkeypatch.setattr(audit, "best", wider)
    assert audit.limit([(30, 16)]).verdict is Verdict.REFUTED


def test_other_distributions_than_those_of_the_statement_are_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_TOKENS", 100)
    share, original = Fraction(1, 10), audit.uniform_noise
    assert [piece.verdict for piece in audit.at_scale(64, [share], contexts=3)] == [Verdict.PROVED]
    for wrong in (lambda x: np.where(x < 0.5, x / 2, x), lambda x: np.where(np.arange(100) == 7, 1.5 * x, x)):

        def changed(family: Unembedding, tokens: np.ndarray, missing: float, wrong=wrong) -> LowEntropyInstance:
            instance = original(family, tokens, missing)
            return replace(instance, distributions=wrong(instance.distributions))

        monkeypatch.setattr(audit, "uniform_noise", changed)
        assert [piece.verdict for piece in audit.at_scale(64, [share], contexts=3)] == [Verdict.UNDECIDED]


def test_the_default_has_fewer_dimensions_than_its_distributions() -> None:
    built = CLAIM.construct()
    assert built.model.d_model < built.task.d_vocab - 1
    assert (logits(built.model, built.task.contexts).argmax(axis=1) == built.task.labels).all()
    assert built.task.distributions is not None
    assert np.allclose(built.task.distributions.max(axis=1), 0.99)
