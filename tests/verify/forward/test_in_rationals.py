"""The judge of rational networks: exact outputs, and ranks over prime fields that are never too high."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.embeddings import integer_attention
from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.model.blocks import Attention
from constructions.model.exact_attention import exact_features, exact_last, exact_logits
from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network, rounded
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.vectors import VectorTask
from tests.constructions.rational_front_ends import fractions, networks_with_contexts, plain_logits, plain_outputs
from verify.forward.heads import enclose_features, enclose_last
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.forward.logits import enclose_logits
from verify.theorems.capacity.exact_rank import PRIME, ExactRank, exact_rank, order_of_two

ONE = as_rationals([[1]])
LINE = as_rationals([[0], [1]])
MERSENNE = 2**61 - 1


def line(*, query: int | float = 1, value: Fraction | int = 1) -> ExactFrontEnd:
    """Tokens 0 and 1 at positions 0 and 1, one head."""
    return ExactFrontEnd(LINE, LINE, (as_rationals([[query]]),), (ONE,), (as_rationals([[value]]),))


@given(networks_with_contexts())
def test_outputs_are_those_of_the_definition_and_of_the_builder(case) -> None:
    network, contexts = case
    front_end = network.front_end
    outputs = fractions(exact_outputs(front_end, contexts))
    assert outputs == plain_outputs(front_end, contexts)
    built = zip(fractions(exact_last(front_end, contexts)), fractions(exact_features(front_end, contexts)), strict=True)
    assert outputs == [last + features for last, features in built]


@given(networks_with_contexts())
def test_logits_are_those_of_the_definition_and_of_the_builder(case) -> None:
    network, contexts = case
    logits = exact_network_logits(network.model, contexts)
    assert fractions(logits) == plain_logits(network, contexts)
    assert logits == exact_logits(network.model, contexts)


@given(networks_with_contexts())
def test_the_float64_enclosure_of_the_rounded_network_nearly_agrees(case) -> None:
    network, contexts = case
    floats, width = rounded(network.model), network.front_end.d_model
    outputs = np.array([[float(x) for x in row] for row in fractions(exact_outputs(network.front_end, contexts))])
    logits = np.array([[float(x) for x in row] for row in fractions(exact_network_logits(network.model, contexts))])
    pairs = [(enclose_last(floats, contexts), outputs[:, :width]), (enclose_logits(floats, contexts), logits)]
    if network.front_end.n_heads:
        pairs.append((enclose_features(floats, contexts), outputs[:, width:]))
    for enclosure, exact in pairs:
        # The weights are rounded to float64; a score of size 10^4 then errs by 10^-12 or so.
        slack = 1e-9 * (1 + np.abs(exact))
        assert (enclosure.lower() - slack <= exact).all()
        assert (exact <= enclosure.upper() + slack).all()
        assert (enclosure.upper() - enclosure.lower() <= 2 * slack).all()


@given(networks_with_contexts(), st.booleans(), st.sampled_from([PRIME, MERSENNE, 2**31 - 1, 101]))
def test_the_rank_over_a_prime_field_is_never_above_the_rank(case, with_skip: bool, prime: int) -> None:
    network, contexts = case
    front_end = network.front_end
    outputs = fractions(exact_outputs(front_end, contexts))
    columns = [row if with_skip else row[front_end.d_model :] for row in outputs]
    matrix = fmpq_mat(len(columns), len(columns[0]), [fmpq(x.numerator, x.denominator) for row in columns for x in row])
    try:
        rank = exact_rank(front_end, contexts, with_skip=with_skip, prime=prime)
    except HypothesisError:
        assert prime == 101
        return
    assert rank.lower <= matrix.rank()
    assert (rank.rows, rank.prime) == (len(contexts), prime)
    if prime == PRIME:
        assert rank.lower == matrix.rank()


def test_a_rank_is_full_if_it_is_the_number_of_rows() -> None:
    assert ExactRank(lower=2, rows=2, prime=7).full
    assert not ExactRank(lower=1, rows=2, prime=7).full


@given(st.sampled_from([3, 5, 7, 101, 127, 257, 2**31 - 1]))
def test_the_order_of_two_is_the_least_exponent(prime: int) -> None:
    order = order_of_two(prime)
    assert pow(2, order, prime) == 1
    smaller = [k for k in range(1, min(order, 2000)) if pow(2, k, prime) == 1]
    assert smaller == []


def test_the_order_of_two_is_large_for_the_default_prime_and_61_for_a_mersenne_prime() -> None:
    assert order_of_two(PRIME) == (PRIME - 1) // 2
    assert order_of_two(MERSENNE) == 61


def test_a_prime_with_few_powers_of_two_gives_a_rank_that_is_too_low_not_too_high() -> None:
    """Two heads whose scores differ by 61 ln 2 are the same head modulo 2^61 - 1."""
    tokens = as_rationals([[0], [1]])
    heads = (as_rationals([[1]]), as_rationals([[62]]))
    front_end = ExactFrontEnd(tokens, as_rationals([[0], [1]]), heads, (ONE, ONE), (ONE, ONE))
    contexts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    exact = exact_outputs(front_end, contexts).rank()
    assert exact == 3
    assert exact_rank(front_end, contexts).lower == exact
    assert exact_rank(front_end, contexts, prime=MERSENNE).lower == 2


def test_the_rank_is_found_for_scores_too_large_for_exact_outputs() -> None:
    contexts = np.array([[0, 0], [0, 1]])
    assert exact_rank(line(query=2**60), contexts).lower == 2
    with pytest.raises(ResourceError, match="too long"):
        exact_outputs(line(query=2**60), contexts)


@pytest.mark.parametrize("prime", [PRIME, 10007])
def test_scores_larger_than_the_prime_are_powers_of_two_all_the_same(prime: int) -> None:
    """No weights give these contexts rank 4; residues of the exponents modulo the prime itself would."""
    contexts = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    for seed in range(5):
        drawn = integer_attention(d_vocab=2, n_ctx=3, d_model=4, n_heads=1, d_head=4, seed=seed)
        front_end = replace(drawn, W_Q=(drawn.W_Q[0] * (2**70 + 1),))
        assert exact_rank(front_end, contexts, prime=prime).lower <= 3


def test_without_heads_and_without_the_skip_connection_the_rank_is_zero() -> None:
    front_end = ExactFrontEnd(ONE, ONE, (), (), ())
    assert exact_rank(front_end, np.array([[0]]), with_skip=False).lower == 0
    assert exact_rank(front_end, np.array([[0]])).lower == 1


def test_a_prime_that_divides_a_row_sum_is_refused() -> None:
    # Scores 0 and 1: the row sum is 1 + 2.
    front_end = ExactFrontEnd(ONE, as_rationals([[0], [1]]), (as_rationals([[fmpq(1, 2)]]),), (ONE,), (ONE,))
    with pytest.raises(HypothesisError, match="row sums of the attention of head 0"):
        exact_rank(front_end, np.array([[0, 0]]), prime=3)


def test_a_prime_that_divides_a_denominator_is_refused() -> None:
    contexts = np.array([[0, 1]])
    with pytest.raises(HypothesisError, match="denominators of W_V"):
        exact_rank(line(value=Fraction(1, 7)), contexts, prime=7)
    third = ExactFrontEnd(LINE / 3, LINE / 3, (ONE * 9,), (ONE,), (ONE,))
    with pytest.raises(HypothesisError, match="denominators of the embeddings"):
        exact_rank(third, contexts, prime=3)


@pytest.mark.parametrize("prime", [2, 1, 0, -7, 9, 2**62 - 56, 2**63 + 29, 7.0])
def test_a_modulus_that_is_no_odd_prime_of_63_bits_is_refused(prime) -> None:
    with pytest.raises(InputError, match="prime"):
        exact_rank(line(), np.array([[0, 1]]), prime=prime)
    with pytest.raises(InputError, match="prime"):
        order_of_two(prime)


def test_scores_that_are_no_integers_are_refused() -> None:
    for compute in (exact_outputs, exact_rank):
        with pytest.raises(HypothesisError, match="integer multiples of ln 2"):
            compute(line(query=0.5), np.array([[0, 0]]))


@pytest.mark.parametrize(
    "contexts",
    [[[0]], [[0, 2]], [[-1, 0]], [0, 1], np.empty((0, 2), dtype=np.int64), [[0.0, 1.0]], [[True, False]]],
)
def test_contexts_that_are_no_tokens_are_refused(contexts) -> None:
    for compute in (exact_outputs, exact_rank):
        with pytest.raises(InputError, match="contexts"):
            compute(line(), np.asarray(contexts))


def test_masked_contexts_are_refused() -> None:
    for compute in (exact_outputs, exact_rank):
        with pytest.raises(InputError, match="masked"):
            compute(line(), np.ma.masked_array([[0, 1]], mask=[[True, False]]))


# ---------------------------------------------------------------------------------------------------------------------
# Models of blocks: what they compute is judged in tests/contract/test_blocks.py.


def attending(**options: Any) -> Model:
    """Tokens 0 and 1, one attention of all ones, no positions."""
    one = np.array([[[fmpq(1)]]])
    embeddings = np.array([[fmpq(0)], [fmpq(1)]])
    return Model((Attention(one, one, one, one, **options),), one[0], W_E=embeddings, W_pos=0 * embeddings)


@given(networks_with_contexts())
def test_a_network_and_the_model_of_its_matrices_have_the_same_logits(case) -> None:
    network, contexts = case
    front_end = network.front_end
    heads = {name: getattr(front_end, name) for name in ("W_Q", "W_K", "W_V")} | {"W_O": network.W_O}
    if not front_end.n_heads:
        return
    stacked = {name: np.array([head.tolist() for head in matrices], dtype=object) for name, matrices in heads.items()}
    plain = {name: np.array(getattr(front_end, name).tolist(), dtype=object) for name in ("W_E", "W_pos")}
    model = dana_network(**stacked, **plain, W_U=np.array(network.W_U.tolist(), dtype=object))
    assert exact_network_logits(model, contexts) == exact_network_logits(network.model, contexts)


def test_scores_that_the_root_leaves_no_integers_are_refused_and_others_are_not() -> None:
    contexts = np.array([[0, 1]])
    assert exact_network_logits(attending(), contexts).entries() == [fmpq(5, 3)]
    with pytest.raises(HypothesisError, match=r"multiples of ln 2, but one is 1 / sqrt\(2\) ln 2"):
        exact_network_logits(attending(score_root=2), contexts)
    # 2 / sqrt(4) is an integer, and so is 0 / sqrt(2).
    doubled = attending(score_root=4, b_Q=np.array([[fmpq(1)]]))
    assert exact_network_logits(doubled, contexts).entries() == [fmpq(5, 3)]
    assert exact_network_logits(attending(score_root=2), np.array([[0, 0]])).entries() == [0]


def test_a_model_of_floats_or_other_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="float64 tensors, expected rationals"):
        exact_network_logits(rounded(attending()), np.array([[0, 1]]))
    vectors = VectorTask(np.ones((1, 2, 1)), np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(InputError, match="the model reads tokens"):
        exact_network_logits(attending(), vectors)
    with pytest.raises(InputError, match="tokens from 0 to 2"):
        exact_network_logits(attending(), np.array([[0, 2]]))
    with pytest.raises(InputError, match="the model reads tokens"):
        exact_network_logits(exact_network(line(), (ONE,), ONE), vectors)


def test_scores_of_a_model_that_are_too_far_apart_are_refused() -> None:
    far = replace(attending().attention, W_K=np.array([[[fmpq(2**30)]]]))
    with pytest.raises(ResourceError, match="too long"):
        exact_network_logits(replace(attending(), blocks=(far,)), np.array([[0, 1]]))
