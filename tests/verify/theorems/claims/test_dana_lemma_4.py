"""The audit of Lemma 4 refutes it and repairs it, and does not confirm other constants."""

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

from constructions.encoders.approximating_sequences import ApproximatingSequence, bound_to_diverge, undecided_token
from tests.verify.conftest import Change, Spoil
from verify.theorems.claims import dana_lemma_4 as audit
from verify.verdict import Verdict

DELTAS = [Fraction(1, 64), Fraction(1, 128)]


def test_a_larger_constant_is_not_confirmed() -> None:
    assert audit._admissible(bound_to_diverge(), DELTAS).verdict is Verdict.PROVED
    assert audit._admissible(replace(bound_to_diverge(), constant=Fraction(1, 10)), DELTAS).verdict is Verdict.REFUTED


def test_a_sequence_in_two_dimensions_is_not_confirmed() -> None:
    def widened(honest: ApproximatingSequence) -> ApproximatingSequence:
        def encoder(delta: Fraction) -> tuple:
            weights, embeddings = honest.encoder(delta)
            return [[w, arb(0)] for (w,) in weights], [[e, arb(1)] for (e,) in embeddings]

        return replace(honest, encoder=encoder)

    assert audit._admissible(widened(bound_to_diverge()), DELTAS).verdict is Verdict.REFUTED
    assert audit.exponential(widened(undecided_token()), DELTAS, "").verdict is Verdict.REFUTED


def test_a_distribution_that_is_not_the_limit_is_not_confirmed() -> None:
    other = replace(undecided_token(), distributions=((Fraction(2, 5), Fraction(3, 5), Fraction(0)),))
    assert audit.exponential(other, DELTAS, "").verdict is Verdict.REFUTED


def test_a_sequence_of_smaller_range_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = undecided_token()

    def shorter(delta: Fraction) -> tuple:
        weights, embeddings = honest.encoder(delta)
        return [weights[0], weights[1], [weights[2][0] / 2]], embeddings

    assert audit.exponential(replace(honest, encoder=shorter), DELTAS, "").verdict is not Verdict.PROVED


@pytest.mark.parametrize("factor", [4, 2, 0.5])
def test_a_range_that_is_not_the_least_one_is_noticed(spoil: Spoil, factor: float) -> None:
    honest = audit.RANGE.judge
    spoil(audit.RANGE, lambda **given: honest(**given) * factor)
    assert audit._all_diverge(DELTAS).verdict is not Verdict.PROVED
    assert audit._least_range_is_met().verdict is not Verdict.PROVED


def test_a_smaller_repaired_bound_is_not_confirmed(changed: Change) -> None:
    changed(audit, "logit_range", lambda found: found + 1)
    assert audit._repaired((1, 2), DELTAS).verdict is not Verdict.PROVED
