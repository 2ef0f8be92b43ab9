"""The evidence on Lemma 3 is certified, and is not if a construction is corrupted."""

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention import embeddings
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.model.attention import features, last
from tests.constructions.exact_features import context_sets
from tests.verify.conftest import Spoil
from verify.linear_algebra.ball_rank import ball_outputs, ball_rank
from verify.provers.memorization import certify_memorization
from verify.theorems.capacity.exact_rank import exact_rank
from verify.theorems.claims import dana_lemma_3
from verify.theorems.claims.dana_lemma_3 import CLAIM
from verify.theorems.evidence import Evidence
from verify.verdict import Verdict

XOR = dana_lemma_3._Case(np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]), 4, 4, 2)


BIGRAMS = dana_lemma_3._Case(dana_lemma_3.all_contexts(3, 2), 3, 2, 3)


def verdicts(pieces: list[Evidence]) -> set[Verdict]:
    return {piece.verdict for piece in pieces}


def all_pieces(case: dana_lemma_3._Case) -> list[Evidence]:
    largest = case.ceiling()
    return [
        dana_lemma_3._roots(case, 2, largest),
        dana_lemma_3._kronecker(case, largest),
        *(dana_lemma_3._integers(kind, case, largest) for kind in embeddings.INTEGER_ATTENTION),
    ]


@pytest.mark.parametrize("case", [XOR, BIGRAMS], ids=str)
def test_every_choice_reaches_the_upper_bound(case: dana_lemma_3._Case) -> None:
    assert verdicts(all_pieces(case)) == {Verdict.PROVED}


def test_balls_of_the_weights_are_those_of_the_roots() -> None:
    weights = embeddings.prime_root_front_end(d_vocab=2, n_ctx=2, d_model=2, n_heads=1, d_head=2, order=3)
    with ctx.workprec(200):
        W_E, W_pos, [(W_Q, W_K, W_V)] = dana_lemma_3.root_weights(weights)
        for balls, primes in ((W_E, weights.W_E), (W_pos, weights.W_pos), (W_V, weights.W_V[0])):
            assert all(
                (ball**3).contains(prime) for ball, prime in zip(balls.entries(), primes.ravel().tolist(), strict=True)
            )
        assert (W_Q[0, 0] ** 3).contains(int(weights.multiples[0]))
        assert [W_Q[1, 0], W_K[0, 0], W_K[1, 0]] == [arb(0), arb(0), arb(1)]


def test_balls_and_float64_agree_on_the_features_of_roots() -> None:
    weights = embeddings.prime_root_front_end(d_vocab=2, n_ctx=2, d_model=2, n_heads=2, d_head=2)
    contexts = dana_lemma_3.all_contexts(2, 2)
    with ctx.workprec(200):
        balls = ball_outputs(*dana_lemma_3.root_weights(weights), contexts)
    exact = np.array([[float(entry) for entry in row] for row in balls.tolist()])
    rounded = weights.rounded()
    assert np.allclose(exact, np.hstack([last(rounded, contexts), features(rounded, contexts)]), rtol=1e-12)


@given(context_sets(), st.integers(2, 3), st.integers(1, 3), st.integers(0, 2), st.booleans())
def test_roots_of_a_high_order_reach_the_generic_rank_of_any_contexts(
    contexts: np.ndarray, d_model: int, d_head: int, n_heads: int, square: bool
) -> None:
    """Square roots are enough for two tokens; in general the order has to exceed the number of contexts."""
    case = dana_lemma_3._Case(contexts, d_model, min(d_head, d_model), n_heads)
    order = 2 if square and contexts.shape[1] == 2 else len(contexts) + 1
    weights = embeddings.prime_root_front_end(order=order, **case.shape)
    target = generic_rank(contexts, d_model=d_model, d_head=case.d_head, n_heads=n_heads)
    rank = ball_rank(lambda: ball_outputs(*dana_lemma_3.root_weights(weights), contexts), target=target)
    assert rank.lower == target


@given(context_sets(lengths=(1, 4)), st.integers(1, 2), st.integers(0, 2))
def test_kroneckers_integers_reach_the_generic_rank_of_any_contexts(
    contexts: np.ndarray, d_head: int, n_heads: int
) -> None:
    case = dana_lemma_3._Case(contexts, 2, d_head, n_heads)
    front_end = embeddings.kronecker_front_end(n_contexts=len(contexts), **case.shape)
    target = generic_rank(contexts, d_model=2, d_head=d_head, n_heads=n_heads)
    assert exact_rank(front_end, contexts).lower == target


def test_equal_primes_leave_the_evidence_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def collapsed(**shape: int) -> embeddings.PrimeRoots:
        weights = embeddings.prime_root_front_end(**shape)
        return replace(weights, W_E=np.full_like(weights.W_E, 2))

    monkeypatch.setattr(dana_lemma_3, "prime_root_front_end", collapsed)
    piece = dana_lemma_3._roots(BIGRAMS, 2, BIGRAMS.ceiling())
    assert piece.verdict is not Verdict.PROVED


def test_integers_that_are_too_small_leave_the_evidence_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(**shape: int):
        drawn = embeddings.integer_attention(**shape)
        return replace(drawn, W_Q=tuple(0 * query for query in drawn.W_Q))

    monkeypatch.setitem(embeddings.INTEGER_ATTENTION, "full", silent)
    monkeypatch.setattr(dana_lemma_3, "_DRAWS", 2)
    piece = dana_lemma_3._integers("full", BIGRAMS, BIGRAMS.ceiling())
    assert piece.verdict is not Verdict.PROVED


def test_a_wrong_kronecker_base_leaves_the_evidence_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def merged(**shape: int):
        drawn = embeddings.kronecker_front_end(**shape)
        return replace(drawn, W_Q=(drawn.W_Q[0],) * drawn.n_heads, W_V=(drawn.W_V[0],) * drawn.n_heads)

    monkeypatch.setattr(dana_lemma_3, "kronecker_front_end", merged)
    assert dana_lemma_3._kronecker(BIGRAMS, BIGRAMS.ceiling()).verdict is not Verdict.PROVED


def test_a_rank_beyond_what_was_counted_is_a_refutation(spoil: Spoil) -> None:
    for piece in all_pieces(BIGRAMS):
        assert piece.verdict is Verdict.PROVED
    honest = dana_lemma_3.RANK.judge
    spoil(dana_lemma_3.RANK, lambda **given: replace(honest(**given), rank=honest(**given).rank - 1))
    assert dana_lemma_3._kronecker(BIGRAMS, BIGRAMS.ceiling()).verdict is Verdict.REFUTED


def test_a_larger_rank_than_the_weights_have_is_not_confirmed(spoil: Spoil) -> None:
    honest = dana_lemma_3.RANK.judge
    spoil(dana_lemma_3.RANK, lambda **given: replace(honest(**given), rank=honest(**given).rank + 1))
    assert Verdict.PROVED not in verdicts(all_pieces(BIGRAMS))


def test_exponentials_that_are_no_exponentials_of_roots_of_primes_are_no_witness(spoil: Spoil) -> None:
    assert dana_lemma_3._exponentials_of_roots(1).verdict is Verdict.PROVED
    spoil(dana_lemma_3.INDEPENDENT_EXPONENTIALS, lambda primes: Verdict.UNDECIDED)
    assert dana_lemma_3._exponentials_of_roots(1).verdict is Verdict.UNDECIDED


def test_labels_that_the_weights_do_not_hold_are_a_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(**parameters: int):
        task, network = dana_lemma_3_memory(**parameters)
        return task, replace(network, blocks=(replace(network.attention, W_O=0 * network.W_O),))

    dana_lemma_3_memory = dana_lemma_3.integer_memory
    monkeypatch.setattr(dana_lemma_3, "integer_memory", spoiled)
    piece = dana_lemma_3._memory(d_vocab=3, n_ctx=2, d_model=3, d_head=3, n_heads=4)
    assert piece.verdict is Verdict.REFUTED


def test_a_prime_with_few_powers_of_two_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dana_lemma_3, "PRIME", 2**61 - 1)
    assert dana_lemma_3._large_prime().verdict is Verdict.REFUTED


def test_numbers_that_are_not_distinct_primes_prove_nothing_about_roots_of_primes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for factor in (4, 0):  # composite numbers; and equal primes that reach the rank all the same

        def others(factor: int = factor, **shape: int) -> embeddings.PrimeRoots:
            weights = embeddings.prime_root_front_end(**shape)
            return replace(weights, W_pos=factor * weights.W_pos if factor else weights.W_E[: len(weights.W_pos)])

        monkeypatch.setattr(dana_lemma_3, "prime_root_front_end", others)
        piece = dana_lemma_3._roots(BIGRAMS, 2, BIGRAMS.ceiling())
        assert piece.certified == piece.promised and piece.verdict is not Verdict.PROVED


def test_other_integers_of_full_rank_are_not_those_of_kronecker(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_bit_less(**shape: int):
        drawn = embeddings.kronecker_front_end(**shape)
        spacing = drawn.W_Q[0][0, 0]
        return replace(drawn, W_Q=tuple(query * (1 - 1 / spacing) for query in drawn.W_Q))

    def drawn_at_random(*, n_contexts: int, **shape: int):
        return embeddings.integer_attention(seed=1, **shape)

    for spoilt in (one_bit_less, drawn_at_random):
        monkeypatch.setattr(dana_lemma_3, "kronecker_front_end", spoilt)
        piece = dana_lemma_3._kronecker(BIGRAMS, BIGRAMS.ceiling())
        assert piece.certified == piece.promised and piece.verdict is not Verdict.PROVED


@pytest.mark.parametrize(("asked", "given"), [("full", "rank-one"), ("rank-one", "full"), ("shared-rank-one", "full")])
def test_integers_of_another_kind_prove_nothing(monkeypatch: pytest.MonkeyPatch, asked: str, given: str) -> None:
    monkeypatch.setitem(embeddings.INTEGER_ATTENTION, asked, embeddings.INTEGER_ATTENTION[given])
    monkeypatch.setattr(dana_lemma_3, "_DRAWS", 2)
    assert dana_lemma_3._integers(asked, BIGRAMS, BIGRAMS.ceiling()).verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    "parameters", [{}, {"seed": 3}, {"d_vocab": 3, "n_ctx": 3, "d_model": 4, "d_head": 4, "n_heads": 8}]
)
def test_the_rounded_weights_are_certified(parameters: dict[str, int]) -> None:
    built = CLAIM.construct(**parameters)
    certificate = certify_memorization(built.model, built.task, rank=True).certificate
    assert certificate.verdict is Verdict.PROVED
    assert [statement.id for statement in certificate.statements] == ["answers", "feature-rank"]
    assert str(built.task.n_contexts) in built.summary
