"""Theorem LR1 holds on every rational transformer, and a smaller constant or other logits are not confirmed."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import HypothesisError, InputError
from constructions.heads_of_theorem_1.bounded_range import bounded_transformer, distributions_of_contexts
from constructions.heads_of_theorem_1.left_out import PartialMemory, loop_instance, random_instance
from verify.theorems.encoders.range_bound import RangeBound, range_bound
from verify.theorems.memories.left_out_bound import left_out_bound
from verify.verdict import Verdict


def judged(instance: PartialMemory, distributions: list | None = None) -> RangeBound:
    assert instance.model.is_rational
    assert isinstance(instance.stream, fmpq_mat)
    return range_bound(
        instance.model,
        instance.contexts,
        kept=instance.kept,
        stream=instance.stream,
        occurrences=instance.occurrences,
        distributions=distributions,
    )


@given(st.integers(0, 300))
def test_the_bound_holds(seed: int) -> None:
    found = judged(random_instance(seed))
    assert found.verdict is Verdict.PROVED
    assert found.encoder.contains(0)


@given(st.integers(0, 300))
def test_the_change_is_that_of_the_other_judge(seed: int) -> None:
    instance = random_instance(seed)
    other = left_out_bound(
        instance.model,
        instance.contexts,
        kept=instance.kept,
        stream=instance.stream,
        occurrences=instance.occurrences,
        distributions=None,
    )
    found = judged(instance)
    assert other.change.lower() - 1e-9 <= float(found.transformer - found.encoder) <= other.change.upper() + 1e-9


@given(st.integers(2, 60), st.integers(1, 50))
def test_by_hand_the_factor_is_one_more_than_the_ratio(ratio: int, size: int) -> None:
    found = judged(loop_instance(ratio, size=size, occurrences=33))
    assert found.factor == ratio + 1
    assert found.largest_range == 2 * size * ratio
    assert found.probability == fmpq(1, 100)
    assert found.verdict is Verdict.PROVED


@given(st.integers(2, 40), st.integers(1, 1000))
def test_given_distributions_are_used(largest: int, occurrences: int) -> None:
    memorized = bounded_transformer(Fraction(largest), occurrences=occurrences)
    found = judged(memorized, distributions_of_contexts())
    assert found.verdict is Verdict.PROVED
    assert found.encoder > 0
    assert found.factor == fmpq(5, 2)


def test_a_smaller_constant_is_not_confirmed() -> None:
    found = judged(loop_instance(30, size=50, occurrences=33))
    assert replace(found, factor=found.factor / 3).verdict is Verdict.REFUTED
    assert replace(found, transformer=arb("nan")).verdict is Verdict.UNDECIDED
    assert replace(found, linear=False).verdict is Verdict.UNDECIDED


def test_logits_that_are_not_those_of_z_are_noticed() -> None:
    instance = loop_instance(4, size=5, occurrences=33)
    assert judged(instance).linear
    # With one kept context fewer there are more columns than rows, and W_O was not made for the least z.
    fewer = replace(instance, kept=2, stream=fmpq_mat([[0], [0]]))
    assert not judged(fewer).linear
    assert judged(fewer).verdict is not Verdict.PROVED


def test_what_does_not_fit_is_refused() -> None:
    instance = loop_instance(4, size=5, occurrences=33)
    with pytest.raises(InputError, match="kept = 4"):
        judged(replace(instance, kept=4))
    with pytest.raises(InputError, match="2 rows of stream"):
        judged(replace(instance, stream=fmpq_mat([[0], [0]])))
    with pytest.raises(HypothesisError, match="independent features"):
        judged(replace(instance, contexts=np.array([[0, 0], [1, 1], [0, 1], [1, 0]])))


def test_occurrences_that_are_no_numbers_of_occurrences_are_refused() -> None:
    instance = loop_instance(4, size=5, occurrences=33)
    for wrong in ([33, 33, 33, -1], [33, 33, 33, 0], [0.3, 33.0, 33.0, 1.5], [np.nan, 1.0, 1.0, 1.0]):
        with pytest.raises(InputError, match="occurrences are"):
            judged(replace(instance, occurrences=np.array(wrong)))
    with pytest.raises(InputError, match="masked"):
        judged(
            replace(
                instance, occurrences=np.ma.masked_array([33, 33, 33, 1], mask=np.array([True, False, False, False]))
            )
        )
