"""The transformer of Theorem LR1 has the encoder's logits, exactly, on the contexts that it holds."""

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.encoders.approximating_sequences import FIRST, SECOND, within_range
from constructions.errors import InputError
from constructions.heads_of_theorem_1.bounded_range import (
    KEPT,
    bounded_transformer,
    distributions_of_contexts,
    ordered_contexts,
)
from verify.forward.in_rationals import exact_network_logits


@given(st.integers(2, 1000), st.integers(1, 10**6))
def test_kept_contexts_have_the_logits_of_the_encoder(largest: int, occurrences: int) -> None:
    memorized = bounded_transformer(Fraction(largest), occurrences=occurrences)
    assert memorized.model.is_rational
    weights, embeddings = within_range(Fraction(largest))
    reached = exact_network_logits(memorized.model, memorized.contexts[:KEPT]).tolist()
    for context, row in zip(memorized.contexts.tolist(), reached, strict=False):
        e = embeddings[sum(context) % 2]
        assert row == [fmpq((e * w).numerator, (e * w).denominator) for w in weights]


def test_loops_come_last_and_distributions_follow_the_parity() -> None:
    contexts = ordered_contexts().tolist()
    assert contexts[KEPT:] == [[0, 0], [1, 1], [2, 2]]
    assert distributions_of_contexts() == [SECOND if (a + b) % 2 else FIRST for a, b in contexts]


def test_no_occurrence_is_refused() -> None:
    with pytest.raises(InputError, match="occurrences = 0"):
        bounded_transformer(Fraction(10), occurrences=0)
