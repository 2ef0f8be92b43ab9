"""Lemma 3 of Dana, Pydi and Chevaleyre: embeddings in general position exist. They can be written down.

Page: docs/claims/generic_embeddings.md
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat, fmpz, fmpz_poly

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.attention.capacity.head_counts import capacity
from constructions.attention.embeddings import (
    INTEGER_ATTENTION,
    PrimeRoots,
    integer_attention,
    kronecker_front_end,
    prime_root_front_end,
)
from constructions.attention.families import random_attention
from constructions.model.exact_network import ExactFrontEnd
from constructions.numeric.arrays import Int64Array
from constructions.rational.integer_memory import integer_memory, rounded_integer_memory
from constructions.tasks.arrays import all_contexts
from verify.forward.heads import enclose_features
from verify.forward.in_rationals import exact_network_logits
from verify.linear_algebra.ball_rank import ball_outputs, ball_rank
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.theorems.capacity.exact_rank import PRIME, exact_rank, order_of_two
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import Applied, Comparison, Evidence, Means, Method, Quantifier, met
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import INDEPENDENT_EXPONENTIALS, RANK
from verify.verdict import Verdict, decided, proved


def _full_rank(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, **_: object) -> bool:
    """Tell whether almost all weights give the features of all contexts full rank, without the skip connection."""
    contexts = all_contexts(d_vocab, n_ctx)
    rank = generic_rank(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=False)
    return rank == len(contexts)


CLAIM = Claim(
    id="dana.lemma-3",
    title="Embeddings in general position",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 3",
    kind="statement",
    quotation=(
        r"Lemma 3. For any $n \in \mathbb{N}^*$, there exists $x_1,...,x_n > 0$ such that for any $P \in "
        r"\mathbb{Z}[X_1,...,X_n]^*$, $P(x_1,...,x_n) \neq 0$."
    ),
    printed=(
        "For any n there are positive x_1, ..., x_n such that P(x_1, ..., x_n) does not vanish for any nonzero "
        "polynomial P with integer coefficients."
    ),
    judgement="holds",
    truth=(
        "x_i := exp(sqrt(p_i)) with distinct primes p_i. For the rank of the features of T contexts less is enough, "
        "and explicit: all entries of e, pos, W_V and lambda_h are m-th roots of distinct primes, [[order: m > T]] "
        "([[square: m = 2]] for [[bigrams: S = 2]]), and W_QK^h := lambda_h E_12, [[plane: d >= 2]]: the rank is the "
        "largest one that any weights reach. Integers do with scores in units of ln 2, so that all attention weights "
        "are rational: Kronecker's, or small random ones with a certificate over a prime field."
    ),
    page="docs/claims/generic_embeddings.md",
    hypotheses=(
        *conditions("N >= 1 and S >= 1", "d >= 2", "1 <= d_h <= d", "N^S <= H d_h"),
        Hypothesis("features of all contexts of generic rank N^S without the skip connection", _full_rank),
    ),
    parameters={"d_vocab": 4, "n_ctx": 2, "d_model": 4, "d_head": 2, "n_heads": 10, "seed": 0},
    build=rounded_integer_memory,
)

_MERSENNE = 2**61 - 1


_XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


_BITS = 256


_DRAWS = 20  # of small integers, before the rank that was reached is reported as it is


_MOST_ROOTS = 16  # contexts, for which roots of an order above their number are tried


class _Case(NamedTuple):
    """Contexts, and the sizes of the heads that look at them."""

    contexts: Int64Array
    d_model: int
    d_head: int
    n_heads: int

    @property
    def shape(self) -> dict[str, int]:
        """The arguments of a front end."""
        d_vocab, n_ctx = int(self.contexts.max()) + 1, self.contexts.shape[1]
        heads = {"d_model": self.d_model, "n_heads": self.n_heads, "d_head": self.d_head}
        return {"d_vocab": d_vocab, "n_ctx": n_ctx, **heads}

    def __str__(self) -> str:
        d_vocab, n_ctx = self.shape["d_vocab"], self.shape["n_ctx"]
        every = "all " if len(self.contexts) == d_vocab**n_ctx else ""
        sizes = f"N = {d_vocab}, S = {n_ctx}, d = {self.d_model}, d_h = {self.d_head}, H = {self.n_heads}"
        return f"{every}{len(self.contexts)} contexts ({sizes})"

    def ceiling(self, *, with_skip: bool = True) -> Applied:
        """Return an upper bound of the rank, by the theorem; an untrusted witness proposes where to look."""
        bounds = capacity(self.contexts, d_model=self.d_model, d_head=self.d_head, n_heads=self.n_heads)
        bound = bounds.upper_witness
        proposed = bound.rows.tolist() if bound.with_skip and len(bound.rows) else None
        heads = {"d_model": self.d_model, "d_head": self.d_head, "n_heads": self.n_heads, "with_skip": with_skip}
        return RANK.at("rank", contexts=self.contexts, subset=proposed if with_skip else None, **heads)


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _exponentials_of_roots()
    yield _roots_are_algebraic()
    for case in _cases(full=full):
        largest = case.ceiling()
        for order in (2, len(case.contexts) + 1) if 1 < len(case.contexts) <= _MOST_ROOTS else (2,):
            yield _roots(case, order, largest)
        yield _kronecker(case, largest)
        for kind in INTEGER_ATTENTION:
            yield _integers(kind, case, largest)
    yield _large_prime()
    yield _mersenne_prime()
    yield _random(_Case(all_contexts(16, 2), 16, 16, 18))
    for kind, case in _large_cases(full=full):
        yield _integers(kind, case, case.ceiling(with_skip=False), with_skip=False)
    yield _memory(d_vocab=4, n_ctx=2, d_model=4, d_head=2, n_heads=10)
    if full:
        yield _memory(d_vocab=8, n_ctx=2, d_model=8, d_head=4, n_heads=20)


def root_weights(front_end: PrimeRoots) -> tuple[arb_mat, arb_mat, list[tuple[arb_mat, arb_mat, arb_mat]]]:
    """Return the roots of the primes as balls at the precision of the context: W_E, W_pos, and W_Q, W_K, W_V of each
    head.
    """

    def roots(primes: Int64Array) -> arb_mat:
        return arb_mat([[arb(prime).root(front_end.order) for prime in row] for row in primes.tolist()])

    d_model = front_end.W_E.shape[1]
    second = arb_mat([[int(i == 1)] for i in range(d_model)])
    heads = []
    for multiple, values in zip(front_end.multiples.tolist(), front_end.W_V, strict=True):
        first = arb_mat([[arb(multiple).root(front_end.order) if i == 0 else 0] for i in range(d_model)])
        heads.append((first, second, roots(values)))
    return roots(front_end.W_E), roots(front_end.W_pos), heads


def _exponentials_of_roots(largest: int = 2) -> Evidence:
    """Every small polynomial at the witness, and the hypothesis of the theorem that speaks of all polynomials."""
    primes = [2, 3]
    independent = INDEPENDENT_EXPONENTIALS.at(primes=primes)
    powers = [(i, j) for i in range(3) for j in range(3 - i)]  # the monomials of degree 2 or less
    apart = count = 0
    with ctx.workprec(_BITS):
        x, y = (arb(prime).sqrt().exp() for prime in primes)
        monomials = [x**i * y**j for i, j in powers]
        for chosen in product(range(-largest, largest + 1), repeat=len(powers)):
            if any(chosen):
                value = sum((c * m for c, m in zip(chosen, monomials, strict=True)), arb(0))
                apart += bool(value < 0) or bool(value > 0)
                count += 1
        positive = bool(x > 0) and bool(y > 0)
    return Evidence(
        "claim",
        f"x = (exp(sqrt 2), exp(sqrt 3)), and the {count} polynomials of degree 2 or less with coefficients "
        f"from -{largest} to {largest} that are not 0",
        "x > 0, and P(x) != 0",
        f"P(x) != 0 for {apart} of {count}",
        Method(f"balls of {_BITS} bits; for polynomials of all degrees the theorem", Means.BALLS),
        decided(positive and apart == count == (2 * largest + 1) ** len(powers) - 1),
        quantifier=Quantifier.EVERY,
        compared=(Comparison(independent, "=", Verdict.PROVED),),
    )


def _roots_are_algebraic() -> Evidence:
    """Roots of primes are no witness of the printed lemma: what they are enough for is the rank alone."""
    remainders = []
    for prime, order in ((2, 2), (3, 2), (5, 3), (7, 17)):
        minimal = fmpz_poly([-prime] + [0] * (order - 1) + [1])
        # Eisenstein at the prime: irreducible, so that minimal is what its name says, and not 0.
        remainders.append(minimal % fmpz_poly([-prime] + [0] * (order - 1) + [1]) == 0 and minimal != 0)
        with ctx.workprec(_BITS):
            remainders.append(bool(minimal(arb(prime).root(order)).contains(0)))
    return Evidence(
        "boundary",
        "roots of primes themselves: x^m - p vanishes at the m-th root of p, for (p, m) = (2, 2), (3, 2), "
        "(5, 3), (7, 17)",
        "no witness of the lemma, which the rank does not need",
        f"{sum(remainders)} of {len(remainders)} checks",
        Method("polynomials over the integers; balls", Means.EXACT, Means.BALLS),
        decided(all(remainders)),
    )


def _roots(case: _Case, order: int, largest: Applied) -> Evidence:
    front_end = prime_root_front_end(order=order, **case.shape)
    rank = ball_rank(lambda: ball_outputs(*root_weights(front_end), case.contexts), target=largest.value)
    written = front_end.order == order and _distinct_primes(front_end)
    roots = "square roots" if order == 2 else f"roots of order {order}"
    return _reaches(
        f"{roots} of distinct primes give the features of {case} the largest rank, {largest.value}",
        rank.lower,
        largest,
        Method(f"elimination in balls of {rank.bits} bits; bound by counting", Means.EXACT, Means.BALLS),
        {"order": order, "contexts": case.contexts.tolist(), "rows": [*rank.rows], "columns": [*rank.columns]},
        written,
        _order(front_end, case),
    )


def _order(front_end: PrimeRoots, case: _Case) -> tuple[Comparison, ...]:
    """Return the order of roots required for these contexts: above their number, or 2 for bigrams."""
    facts, n_ctx = case.contexts.shape
    conditions = met(CLAIM, "plane", d=front_end.W_E.shape[1])
    if front_end.order > facts:
        return (*conditions, *met(CLAIM, "order", m=front_end.order, T=facts))
    return (*conditions, *met(CLAIM, "square", "bigrams", m=front_end.order, S=n_ctx)) if n_ctx == 2 else conditions


def _reaches(
    statement: str,
    rank: int,
    largest: Applied,
    method: Method,
    data: dict[str, Any],
    written: bool = True,
    compared: tuple[Comparison, ...] = (),
) -> Evidence:
    """That weights which are written as they are called reach the largest rank of all weights."""
    return Evidence(
        "claim",
        statement,
        f"rank >= {largest.value}",
        f"rank >= {rank}",
        method,
        proved(written),
        data,
        Quantifier.ALL_WEIGHTS,
        (Comparison(rank, "=", largest), *compared),
    )


def _kronecker(case: _Case, largest: Applied) -> Evidence:
    front_end = kronecker_front_end(n_contexts=len(case.contexts), **case.shape)
    rank = exact_rank(front_end, case.contexts)
    written = kroneckers_integers(front_end, len(case.contexts))
    bits = max((int(query[0, 0].p).bit_length() for query in front_end.W_Q), default=0)
    return _reaches(
        f"Kronecker's integers, queries of up to {bits} bits, give the features of {case} the largest "
        f"rank, {largest.value}",
        rank.lower,
        largest,
        Method("rank over GF(2^62 - 57); bound by counting", Means.EXACT, Means.MODULAR),
        {"contexts": case.contexts.tolist()},
        written,
    )


def _distinct_primes(front_end: PrimeRoots) -> bool:
    parts = (front_end.W_E, front_end.W_pos, front_end.W_V, front_end.multiples)
    numbers = [number for part in parts for number in part.ravel().tolist()]
    return len(set(numbers)) == len(numbers) and all(number > 1 and fmpz(number).is_prime() for number in numbers)


def kroneckers_integers(front_end: ExactFrontEnd, contexts: int) -> bool:
    """Tell whether (1) and (2) of the page hold, for this many contexts."""
    d_vocab, n_ctx, n_heads = front_end.d_vocab, front_end.n_ctx, front_end.n_heads
    matrices = (front_end.W_E, front_end.W_pos, *front_end.W_V)
    if front_end.d_model < 2 or any(entry.q != 1 for matrix in matrices for entry in matrix.entries()):
        return False
    base, step = contexts + 1, d_vocab + n_ctx
    last = front_end.W_pos.tolist()[-1]
    inputs = [[a + b for a, b in zip(token, last, strict=True)] for token in front_end.W_E.tolist()]
    written = (
        [row[0] for row in inputs] == [base ** (step * c) for c in range(d_vocab)]
        and [row[1] for row in front_end.W_E.tolist()] == [base**n for n in range(d_vocab)]
        and [row[1] for row in front_end.W_pos.tolist()] == [base ** (d_vocab + s) for s in range(n_ctx)]
    )
    if n_heads == 0 or not written:
        return written
    forms = [query * key.transpose() for query, key in zip(front_end.W_Q, front_end.W_K, strict=True)]
    spacing = forms[0][0, 1]
    for head, form in enumerate(forms):
        expected = fmpq_mat(form.nrows(), form.ncols())
        expected[0, 1] = spacing * base ** (step * d_vocab * head)
        if form != expected:
            return False
    sums = [a + b for x in front_end.W_E.tolist() for y in front_end.W_pos.tolist() for a, b in zip(x, y, strict=True)]
    table = fmpq_mat(d_vocab * n_ctx, front_end.d_model, sums)
    read = [entry for row in inputs for entry in row]
    read += [entry for value in front_end.W_V for entry in (table * value).entries()]
    largest = max(1, *(abs(int(entry.p)) for entry in read))
    coefficients = math.factorial(contexts) * (n_ctx**n_heads * largest) ** contexts
    return spacing.q == 1 and int(spacing.p) >= (coefficients - 1).bit_length()  # 2^L >= coefficients


def _integers(kind: str, case: _Case, largest: Applied, *, with_skip: bool = True) -> Evidence:
    target = largest.value
    ranks: list[int] = []
    while len(ranks) < _DRAWS and max(ranks, default=-1) < target:
        front_end = INTEGER_ATTENTION[kind](seed=len(ranks), **case.shape)
        rank = exact_rank(front_end, case.contexts, with_skip=with_skip).lower
        ranks.append(rank if _is_of_kind(kind, front_end) else 0)
    features = "last embeddings and features" if with_skip else "features alone"
    counted = "; bound by counting" if target < len(case.contexts) else ""
    return _reaches(
        f"integer weights of the kind {kind}, with scores in units of ln 2, give the {features} of {case} "
        f"the largest rank, {largest.value}",
        max(ranks),
        largest,
        Method(f"rank over GF(2^62 - 57){counted}", Means.EXACT, Means.MODULAR),
        {"kind": kind, "seed": int(np.argmax(ranks)), "with_skip": with_skip},
    )


def _is_of_kind(kind: str, front_end: ExactFrontEnd) -> bool:
    """Tell whether the weights are integers and the products W_Q W_K^T have the ranks of the kind."""
    parts = (front_end.W_E, front_end.W_pos, *front_end.W_Q, *front_end.W_K, *front_end.W_V)
    if any(entry.q != 1 for part in parts for entry in part.entries()):
        return False
    forms = [query * key.transpose() for query, key in zip(front_end.W_Q, front_end.W_K, strict=True)]
    if not all(form.rank() == (front_end.d_model if kind == "full" else 1) for form in forms):
        return False
    return kind != "shared-rank-one" or not forms or fmpq_mat([form.entries() for form in forms]).rank() == 1


def _large_prime() -> Evidence:
    order = order_of_two(PRIME)
    return Evidence(
        "claim",
        "2^62 - 57 is a prime modulo which 2 has more than 2^60 different powers",
        "order of 2 > 2^60",
        f"order of 2 = {order}",
        Method("primality test and factorization of 2^62 - 58", Means.EXACT),
        decided(order > 2**60),
    )


def _mersenne_prime() -> Evidence:
    """Why the prime matters: with scores that are multiples of 61 every attention weight is 1/S modulo 2^61 - 1."""
    case = _Case(all_contexts(4, 2), 4, 4, 4)
    drawn = integer_attention(seed=0, **case.shape)
    front_end = ExactFrontEnd(drawn.W_E, drawn.W_pos, tuple(61 * query for query in drawn.W_Q), drawn.W_K, drawn.W_V)
    poor = exact_rank(front_end, case.contexts, prime=_MERSENNE).lower
    good = exact_rank(front_end, case.contexts).lower
    return Evidence(
        "claim",
        f"modulo 2^61 - 1, where 2 has the order {order_of_two(_MERSENNE)}, the rank of the features of "
        f"{case} is found too low",
        f"rank over GF(2^61 - 1) < {good}",
        f"rank over GF(2^61 - 1) = {poor}, rank >= {good}",
        Method("rank over GF(2^61 - 1) and over GF(2^62 - 57)", Means.MODULAR),
        decided(poor < good),
    )


def _random(case: _Case) -> Evidence:
    """Random float64 weights: a null set excepted, all are in general position."""
    drawn = random_attention(seed=0, **case.shape)
    network = drawn.network(np.zeros((case.n_heads * case.d_head, case.d_model)), np.zeros((case.d_model, 1)))
    rank = certify_full_row_rank(enclose_features(network, case.contexts))
    return Evidence(
        "claim",
        f"random float64 weights give the features alone of {case} full rank",
        f"rank = {len(case.contexts)}",
        f"smallest singular value >= {rank.smallest_singular_value:.3g}",
        Method(f"enclosure of the features; {rank.method}", Means.ENCLOSURES),
        rank.verdict,
    )


def _memory(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int) -> Evidence:
    task, network = integer_memory(
        d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=0
    )
    rows = exact_network_logits(network, task.contexts).tolist()
    sizes = (network.d_vocab, network.n_ctx, network.d_model, network.d_head, network.n_heads)
    margin = min(
        row[label] - max(entry for i, entry in enumerate(row) if i != label)
        for row, label in zip(rows, task.labels.tolist(), strict=True)
    )
    return Evidence(
        "claim",
        "a network of rational weights holds a random label of each of "
        f"{_Case(task.contexts, d_model, d_head, n_heads)}",
        "margin > 0",
        f"margin = {margin}",
        Method("rational arithmetic", Means.EXACT),
        decided(margin > fmpq(0) and sizes == (d_vocab, n_ctx, d_model, d_head, n_heads)),
        data={"labels": task.labels.tolist()},
    )


def _cases(*, full: bool) -> Iterator[_Case]:
    """Contexts and sizes for which the largest rank is known: counts from above and below meet."""
    yield _Case(_XOR, 4, 4, 1)
    yield _Case(all_contexts(2, 3), 2, 2, 3)
    yield _Case(all_contexts(3, 2), 3, 1, 5)
    yield _Case(all_contexts(4, 2), 3, 2, 5)
    yield _Case(all_contexts(3, 1), 2, 2, 1)
    rng = np.random.default_rng(0)
    for _ in range(20 if full else 2):
        contexts = all_contexts(3, 3)[np.sort(rng.choice(27, 12, replace=False))]
        n_heads, d_head = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        bounds = capacity(contexts, d_model=3, d_head=d_head, n_heads=n_heads)
        if bounds.rank_lower == bounds.rank_upper:
            yield _Case(contexts, 3, d_head, n_heads)
    if full:
        yield _Case(all_contexts(3, 3), 3, 3, 8)
        yield _Case(all_contexts(2, 5), 2, 2, 15)
        yield _Case(all_contexts(6, 2), 4, 2, 16)


def _large_cases(*, full: bool) -> Iterator[tuple[str, _Case]]:
    """More than a thousand contexts, as many as there are features."""
    bigrams = _Case(all_contexts(32, 2), 16, 16, 64)
    yield "rank-one", bigrams
    if full:
        yield "full", bigrams
        yield "shared-rank-one", bigrams
        yield "rank-one", _Case(all_contexts(4, 5), 8, 6, 176)
        yield "full", _Case(all_contexts(12, 3), 16, 12, 144)
