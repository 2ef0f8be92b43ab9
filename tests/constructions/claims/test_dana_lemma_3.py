"""The network that Lemma 3 builds, made rational: exact before rounding, certified after it."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from constructions.claims import claim
from constructions.claims.dana_lemma_3 import CLAIM, integer_memory
from constructions.errors import HypothesisError, InputError
from constructions.models.exact_attention import exact_logits
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict


def test_the_claim_is_in_the_register() -> None:
    assert claim("dana.lemma-3") is CLAIM
    assert CLAIM.judgement == "holds"


@given(st.integers(1, 3), st.integers(1, 2), st.integers(2, 3), st.integers(0, 3))
def test_rational_weights_hold_every_label_by_four(tokens: int, length: int, width: int, seed: int) -> None:
    contexts = tokens**length
    if length == 1 and tokens > width:
        return
    heads = -(-contexts // width) + 2
    task, network = integer_memory(tokens=tokens, length=length, width=width, head_width=width, heads=heads, seed=seed)
    assert task.n_contexts == contexts
    for row, label in zip(exact_logits(network, task.contexts).tolist(), task.labels.tolist(), strict=True):
        gaps = [row[label] - entry for i, entry in enumerate(row) if i != label]
        assert all(gap >= fmpq(4) for gap in gaps)


@pytest.mark.parametrize(
    "parameters", [{}, {"seed": 3}, {"tokens": 3, "length": 3, "width": 4, "head_width": 4, "heads": 8}]
)
def test_the_rounded_weights_are_certified(parameters: dict[str, int]) -> None:
    built = CLAIM.construct(**parameters)
    certificate = certify_memorization(built.model, built.task, rank=True, witness=False).certificate
    assert certificate.verdict is Verdict.PROVED
    assert [statement.id for statement in certificate.statements] == ["answers", "feature-rank"]
    assert str(built.task.n_contexts) in built.summary


def test_embeddings_queries_keys_and_values_are_integers() -> None:
    _, network = integer_memory(tokens=3, length=2, width=3, head_width=2, heads=6, seed=0)
    for tensor in (network.W_E, network.W_pos, network.W_Q, network.W_K, network.W_V):
        assert all(entry.q == 1 for entry in tensor.flat)
        assert np.abs(tensor).max() <= 3


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"width": 1, "head_width": 1, "heads": 16}, "d >= 2"),
        ({"head_width": 5}, "d_h <= d"),
        ({"head_width": 0}, "d_h <= d"),
        ({"heads": 7}, r"N\^S <= H d_h"),
        ({"tokens": 0}, "N >= 1"),
        ({"tokens": 0, "length": -1}, "N >= 1"),
    ],
)
def test_parameters_outside_the_hypotheses_are_refused(parameters: dict[str, int], named: str) -> None:
    with pytest.raises(HypothesisError, match=named):
        CLAIM.construct(**parameters)


def test_heads_that_cannot_reach_the_rank_are_refused() -> None:
    # One token in a context: features of two heads are those of one, and three tokens need three dimensions.
    with pytest.raises(HypothesisError, match="features of rank 3"):
        integer_memory(tokens=3, length=1, width=2, head_width=2, heads=2, seed=0)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="seed"):
        CLAIM.construct(seed=-1)


@pytest.mark.parametrize(
    "sizes", [(7, 1, 3, 2, 4), (2, 2, 5, 5, 1), (2, 3, 6, 6, 2), (3, 1, 2, 2, 2)], ids=lambda sizes: str(sizes)
)
def test_sizes_without_the_rank_are_refused_by_a_hypothesis(sizes):
    names = ("tokens", "length", "width", "head_width", "heads")
    with pytest.raises(HypothesisError, match=r"needs features of all contexts of generic rank N\^S"):
        CLAIM.construct(**dict(zip(names, sizes, strict=True)))
