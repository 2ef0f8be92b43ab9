"""The skip connection as one more head: what is printed, what is true, and a network at the exact capacity.

Page: docs/claims/skip_connection.md
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from flint import arb, fmpq, fmpq_mat

from constructions.attention.exact_skip_connection import exact_change_of_basis, without_shifts
from constructions.attention.integer_front_end import integer_front_end
from constructions.attention.skip_head import SkipHead, identity_skip_head, long_last_position, rank_one_skip_head
from constructions.errors import HypothesisError
from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_front_end, exact_network
from constructions.numeric.arrays import Int64Array
from constructions.rational.full_capacity import full_capacity_memory
from constructions.tasks.arrays import all_contexts
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.certificates.certificate import FEATURE_RANK
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.provers.memorization import certify_memorization
from verify.theorems.capacity.exact_rank import exact_rank
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import RANK
from verify.theorems.memories.sharp_attention import SharpAttention, enclose_sharp_attention
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="dana.skip-head",
    title="The skip connection as one more head",
    source="Dana, Pydi, Chevaleyre (2024), Section 4.1 and Appendix A.2 (proof of Theorem 1)",
    kind="statement",
    quotation=(
        r"for any matrices $W_{OV} \in \mathbb{R}^{d,d}$ with full rank, and we define the new embeddings as $e'(t_s) "
        r"= W_{OV}^{-1}e(t_s)$ and $pos'_s = W_{OV}^{-1}pos_s$. Now, if we let $W_{QK}^{\lambda} = \lambda I_d$, we "
        r"obtain in the limit that $x(t,i) = W_{OV} \sum_{s=1}^S a(t)_s x'(t,i) + o(e^{-\lambda \alpha})$ as in (1), "
        r"with some $\alpha > 0$."
    ),
    printed=(
        "For every invertible W_OV, with x' := W_OV^-1 x and a further head with W_QK := lambda I, x_S is W_OV sum_s "
        "a_s x'_s up to o(exp(-lambda alpha)) for some positive alpha, as lambda grows. So the skip connection is a "
        "head of inner dimension d: by Lemma 2 the augmented features A' have rank T_0, and solving for all outputs "
        "reaches E up to any positive slack gamma."
    ),
    reading=(
        'x(t, i) is x(t, S), as section 4.1 says it: "the attention head with matrices W_{QK}^0, W_V^0, W_O^0 '
        'becomes arbitrarily close to $e(t_S) + pos_S$". It is said of any embeddings and any W_OV. For some choices '
        "it is true, as for a long last position; but whatever the embeddings are, some W_OV break it, as soon as a "
        "context has a vector that is no multiple of its last one."
    ),
    judgement="false",
    truth=(
        "The head converges to the mean of the x_s with the largest <x'_S, x'_s>: to x_S if [[wins: g > 0]] for the "
        "least g of the <x'_S, x'_S - x'_s> of other vectors, which a long last position (or W_QK := lambda u u^T of "
        "rank [[rank: one]]) forces; never where g is negative. It is not needed: an invertible change of basis, x' "
        "times M, with [E, free columns] equal to X' M + Y' W_O, without any slack, exists if and only if [X', E, Y'] "
        "has the rank r of [X', Y'] and [[room: r <= e + d - k]], e the rank of [E, Y'] and k that of E. If [X', Y'] "
        "has independent rows and E independent columns: if and only if [E, Y'] has independent rows; and then, for "
        "[[full: T_0 = d + H d_h]], det M is det [E, Y'] / det [X', Y']. On all [[facts: N^2]] contexts of "
        "[[bigrams: S = 2]], with [[widths: d_h <= d <= N]] and [[columns: N^2 <= d + H d_h]], the distributions of "
        "every E are reached without any slack."
    ),
    wrong=(
        "for d = 1, x_1 = 2.7, x_S = 1.3 the head tends to x_1, which has a larger product with x_S than x_S itself; "
        "true if x_S has the largest product with itself, which a long last position forces"
    ),
    page="docs/claims/skip_connection.md",
    hypotheses=(
        Hypothesis(
            "sizes of at least 1, and heads and a seed of at least 0",
            lambda d_vocab, n_ctx, d_model, d_head, n_heads, seed, **_: (
                min(d_vocab, n_ctx, d_model, d_head) >= 1 and min(n_heads, seed) >= 0
            ),
        ),
        *conditions("d_h <= d <= N", "S >= 2 or H = 0", "d + H d_h <= N^S", "d >= 2 or N <= 2"),
    ),
    parameters={"d_vocab": 5, "n_ctx": 2, "d_model": 4, "d_head": 2, "n_heads": 5, "seed": 0},
    build=full_capacity_memory,
)

_SEEDS = 200  # random front ends to look through for one of full rank


_OBSTRUCTED = {"d_vocab": 4, "d_model": 2, "d_head": 2, "n_heads": 2}  # sizes, of the contexts of `_obstruction`


_RATIONAL = "exact rational arithmetic"


_SLACK = fmpq(1, 2**40)  # relative; for comparing balls whose numbers differ by less than their radii


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _wrong_position((1, 10, 100, 1000) if full else (1, 10, 100))
    yield _too_few_last_tokens()
    yield _singular_change()
    yield _embeddings_not_carried_along()
    small, large = [(2, 2, 1), (3, 3, 2)], [(4, 4, 3), (5, 4, 2)]
    yield _attends_to_last(long_last_position, rank_one=False, sizes=small + large * full)
    yield _attends_to_last(rank_one_skip_head, rank_one=True, sizes=small + large * full)
    yield _exact_at_capacity(
        [(3, 2, 2, 1, 3), (4, 2, 3, 2, 5), (3, 3, 2, 2, 6), (6, 2, 4, 4, 7)] + [(12, 2, 6, 6, 15)] * full
    )
    yield _condition_is_exact(1500 if full else 150)
    yield _singular_change_avoided()
    yield _singular_change_approached()
    yield _shifts_are_free()
    yield _every_distribution_on_all_bigrams(
        [(2, 2, 2, 1), (3, 3, 3, 2), (3, 2, 1, 7)] + [(4, 4, 4, 3), (4, 3, 2, 7)] * full
    )
    yield _built()


def _wrong_position(sharpnesses: tuple[int, ...]) -> Evidence:
    tokens, positions = fmpq_mat(2, 1, [1, 2]), fmpq_mat(2, 1, [fmpq(7, 10), fmpq(3, 10)])
    head = identity_skip_head(tokens, positions)
    printed = head.form == as_rationals(np.eye(1)) and (head.W_E, head.W_pos) == (tokens, positions)
    judgements = [_judged(head, np.array([[1, 0]]), sharpness) for sharpness in sharpnesses]
    verdicts = [decided(printed)]
    for one in judgements:
        # One position beside the last, with a negative gap g: a_S = 1 / (1 + exp(-lambda g)) < 1/2 for all lambda > 0.
        away = abs(one.limit[0, 0] - one.last[0, 0])
        verdicts.append(decided(one.gaps.ncols() == 2 and one.gaps[0, 0] < 0 and away != 0))
        near = one.distance_to_limit[0] < one.bound[0] * (1 + _SLACK)
        verdicts.append(proved(one.share_of_last[0] < 0.5 and one.distance_to_last[0] > away / 2 and near))
    shares = ", ".join(decimal_above(_largest([one.share_of_last[0]]), 2) for one in judgements)
    one = judgements[0]
    return Evidence(
        "counterexample",
        "d = 1, N = S = 2, embeddings 1, 2, positions 0.7, 0.3, the context (2, 1): with W_QK = lambda I the head "
        f"tends to x_1 = {one.limit[0, 0]}, not to x_S = {one.last[0, 0]}; <x_S, x_S - x_1> = {one.gaps[0, 0]} < 0, so "
        "for every lambda > 0, and in every basis (d = 1: a positive factor), x_1 gets more than half of the attention",
        "A -> x_S",
        f"A -> x_1 != x_S; attention to the last position <= {shares} at lambda = {_listed(sharpnesses)}, always < 1/2",
        Method(
            f"exact gaps and limits; balls of 128 bits for lambda = {_listed(sharpnesses)}", Means.EXACT, Means.BALLS
        ),
        Verdict.all_of(verdicts),
        {"tokens": ["1", "2"], "positions": ["7/10", "3/10"], "context": [1, 0]},
        compared=failed(CLAIM, "wins", g=one.gaps[0, 0]),
    )


def _too_few_last_tokens() -> Evidence:
    contexts = np.array([[0, 0], [1, 0], [2, 0]])
    sizes, facts = {"d_vocab": 3, "n_ctx": 2, "d_model": 2, "d_head": 1, "n_heads": 1}, len(contexts)
    ceiling = RANK.at("rank", contexts=contexts, d_model=2, d_head=1, n_heads=1, with_skip=True)
    reached = max(exact_rank(integer_front_end(**sizes, seed=seed), contexts).lower for seed in range(10))
    return Evidence(
        "counterexample",
        f"S = 2, d = 2, d_h = 1, H = 1, T_0 = {facts} = d + H d_h contexts with one last token: the features, "
        f"augmented by x_S, have rank <= {ceiling.value}, since x_S adds only as many dimensions "
        f" as there are last tokens (rank {reached} is reached)",
        f"rank A' = {facts}",
        f"rank A' <= {ceiling.value}, and {reached} is reached",
        Method("rank of formal differences over the integers (U1)", Means.EXACT),
        data={"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(ceiling, "<", facts), Comparison(ceiling, "=", reached)),
    )


def _singular_change() -> Evidence:
    contexts, targets = _obstruction()
    loops = contexts[:4]
    facts, away = len(contexts), len(contexts) - len(loops)
    allowed = RANK.at("rank", contexts=loops, d_model=2, d_head=2, n_heads=2, with_skip=False)
    ceiling = allowed.value + away
    silent = all(entry == 0 for row in targets.tolist()[: len(loops)] for entry in row)
    front_end = _full_rank(contexts, **_OBSTRUCTED)
    outputs = exact_outputs(front_end, contexts)
    change = _block(outputs.solve(targets), rows=slice(2))
    return Evidence(
        "counterexample",
        "S = 2, N = 4, d = d_h = H = 2, four loops with E = 0 and (1, 2), (2, 1) with unit vectors: features [X, Y] of "
        f"full rank {facts} exist, but rank [E, Y] <= {ceiling}, so the solved W_O^0 is singular "
        f"wherever they have full rank (for the one drawn here det M = {change.det()} exactly)",
        "W_O^0 is invertible",
        f"rank [X, Y] >= {exact_rank(front_end, contexts).lower}, rank [E, Y] <= {ceiling} < {facts}, "
        f"det M = {change.det()}",
        Method(
            f"rank over GF(2^62 - 57); rank of formal differences over the integers (U1'); {_RATIONAL}",
            Means.EXACT,
            Means.MODULAR,
        ),
        decided(exact_rank(front_end, contexts).full and silent and change.det() == 0),
        {"contexts": contexts.tolist(), "targets": _plain(targets)},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(allowed, "<", facts - away),),
    )


def _embeddings_not_carried_along() -> Evidence:
    one, line = fmpq_mat(1, 1, [1]), fmpq_mat(2, 1, [0, 1])
    front_end = ExactFrontEnd(line, line, (one,), (one,), (one,))
    contexts = np.array([[0, 0], [1, 0]])
    outputs = exact_outputs(front_end, contexts)
    targets = outputs * fmpq_mat(2, 1, [2, 3])
    changed = exact_change_of_basis(front_end, contexts, targets, one)
    factor = changed.change[0, 0]
    left = ExactFrontEnd(line * factor, line * factor, (one,), (one,), (one,))
    right = exact_network_logits(changed.model, contexts) - targets
    W_O, W_U = as_rationals(changed.model.W_O[0]), as_rationals(changed.model.W_U)
    wrong = exact_network_logits(exact_network(left, (W_O,), W_U), contexts) - targets
    return Evidence(
        "counterexample",
        f"d = d_h = H = 1, two contexts, x = {factor} x': W_O is solved on the features of e' and used with e and the "
        "same W_QK, W_V; the attention is another one. Carried to the new basis, W_QK and W_V reach E",
        "logits E W_U",
        f"off by {_plain(wrong)} as printed, by {_plain(right)} after the change of basis",
        Method(_RATIONAL, Means.EXACT),
        decided(any(wrong.entries()) and not any(right.entries())),
        {"contexts": contexts.tolist(), "factor": str(factor)},
    )


def _attends_to_last(
    make: Callable[..., SkipHead], *, rank_one: bool, sizes: Sequence[tuple[int, int, int]]
) -> Evidence:
    name = "rank one" if rank_one else "a long last position"
    verdicts, gaps, distances = [], [], {1: 0.0, 10: 0.0}
    ranks = list[Comparison]()
    count = 0
    for d_vocab, n_ctx, d_model in sizes:
        drawn = integer_front_end(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=1, n_heads=0, seed=d_model)
        direction = fmpq_mat(1, d_model, [1] * d_model)
        head = make(drawn.W_E, drawn.W_pos, direction=direction)
        before = slice(n_ctx - 1)
        form = head.form.rank() == 1 if rank_one else head.form == as_rationals(np.eye(d_model))
        others = head.W_E == drawn.W_E and _block(head.W_pos, rows=before) == _block(drawn.W_pos, rows=before)
        verdicts.append(decided(form and others))
        if rank_one:
            ranks.append(Comparison(head.form.rank(), "=", stated(CLAIM, "rank")))
        contexts = all_contexts(d_vocab, n_ctx)
        count += len(contexts)
        for sharpness in distances:
            attention = _judged(head, contexts, sharpness)
            least = attention.smallest_gap
            verdicts.append(decided(least is not None and least > 0 and attention.converges_to_last))
            pairs = zip(attention.distance_to_last, attention.bound, strict=True)
            verdicts.append(proved(all(to_last <= bound * (1 + _SLACK) for to_last, bound in pairs)))
            distances[sharpness] = max(distances[sharpness], _largest(attention.distance_to_last))
            gaps.append(least)
    return Evidence(
        "repair",
        f"W_QK = lambda I with a long last position, or of rank one; here {name}: in all {count} contexts of "
        f"(N, S, d) = {_listed(sizes)} the score of the last position exceeds all others, by lambda times {min(gaps)} "
        "or more, and the head converges to x_S, with an error of at most sum_s exp(-lambda g_s) |x_s - x_S|",
        "A -> x_S for all contexts",
        ", ".join(
            f"|A - x_S| <= {decimal_above(bound, 2)} at lambda = {sharpness}" for sharpness, bound in distances.items()
        )
        + f", gaps >= {min(gaps)}",
        Method("exact gaps and limits; balls of 128 bits", Means.EXACT, Means.BALLS),
        Verdict.all_of(verdicts),
        compared=(*(one for gap in gaps if gap is not None for one in met(CLAIM, "wins", g=gap)), *ranks),
    )


def _exact_at_capacity(sizes: Sequence[tuple[int, int, int, int, int]]) -> Evidence:
    verdicts, counts = [], []
    for d_vocab, n_ctx, d_model, d_head, n_heads in sizes:
        facts = d_model + n_heads * d_head
        everything = all_contexts(d_vocab, n_ctx)
        rng = np.random.default_rng(facts)
        contexts = everything[np.sort(rng.permutation(len(everything))[:facts])]
        targets = fmpq_mat(facts, d_model, rng.integers(-9, 10, facts * d_model).tolist())
        W_U = fmpq_mat(d_model, d_vocab, rng.integers(-3, 4, d_model * d_vocab).tolist())
        front_end = _full_rank(contexts, d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads)
        changed = exact_change_of_basis(front_end, contexts, targets, W_U)
        outputs = exact_outputs(front_end, contexts)
        features = _block(outputs, columns=slice(d_model, None))
        stream = exact_outputs(exact_front_end(changed.model), contexts)
        written = _block(stream, columns=slice(d_model, None)) * as_rationals(changed.model.W_O.reshape(-1, d_model))
        moved = _block(stream, columns=slice(d_model)) + written
        verdicts.append(decided(exact_network_logits(changed.model, contexts) == targets * W_U))
        carried = _block(outputs, columns=slice(d_model)) * changed.change == _block(stream, columns=slice(d_model))
        verdicts.append(decided(changed.change.det() != 0 and carried))
        verdicts.append(decided(changed.change.det() * outputs.det() == _beside(moved, features).det()))
        counts.append(facts)
    return Evidence(
        "repair",
        f"T_0 = d + H d_h = {_listed(counts)} contexts with random targets E and W_U, (N, S, d, d_h, H) = "
        f"{_listed(sizes)}: an invertible change of basis makes the logits E W_U with residual 0, and "
        "det M = det [E, Y] / det [X, Y]",
        "logits = E W_U + O(gamma)",
        "logits = E W_U, gamma = 0, det M != 0, determinant identity",
        Method(_RATIONAL, Means.EXACT),
        Verdict.all_of(verdicts),
    )


def _condition_is_exact(instances: int) -> Evidence:
    """On square nonsingular [X, Y] the change is unique: solve for it, and compare with the ranks and the builder."""
    agree, invertible, seen, compared = True, 0, 0, list[Comparison]()
    rng = np.random.default_rng(0)
    everything = all_contexts(2, 2)
    while seen < instances:
        d_model, n_heads = int(rng.integers(1, 3)), int(rng.integers(0, 3))
        facts = d_model + n_heads
        contexts = everything[rng.permutation(4)[:facts]]
        front_end = integer_front_end(
            d_vocab=2, n_ctx=2, d_model=d_model, d_head=1, n_heads=n_heads, seed=int(rng.integers(2**40))
        )
        outputs = exact_outputs(front_end, contexts)
        targets = outputs * fmpq_mat(facts, d_model, rng.integers(-1, 2, facts * d_model).tolist())
        if outputs.nrows() != outputs.ncols() or outputs.det() == 0 or targets.rank() < d_model:
            continue
        seen += 1
        change = _block(outputs.solve(targets), rows=slice(d_model))
        full_rank = _beside(targets, _block(outputs, columns=slice(d_model, None))).rank() == facts
        try:
            changed = exact_change_of_basis(front_end, contexts, targets, as_rationals(np.eye(d_model)))
            built = changed.change == change and exact_network_logits(changed.model, contexts) == targets
        except HypothesisError:
            built = False
        agree = agree and full_rank == (change.det() != 0) == built
        invertible += built
        ranks = {"r": outputs.rank(), "e": _beside(targets, _block(outputs, columns=slice(d_model, None))).rank()}
        compared += (met if built else failed)(CLAIM, "room", **ranks, d=d_model, k=targets.rank())
    return Evidence(
        "repair",
        f"rank [E, Y] = T_0 decides: in {seen} random instances with nonsingular [X, Y] the only possible M is "
        f"invertible, and the network built from it exact, where the rank is T_0 ({invertible} times), and singular "
        f"elsewhere ({seen - invertible} times)",
        "an exact network if and only if rank [E, Y] = T_0",
        f"{seen} of {seen} instances" if agree else "an instance disagrees",
        Method(_RATIONAL, Means.EXACT),
        Verdict.all_of([decided(agree), proved(0 < invertible < seen)]),
        compared=tuple(compared),
    )


def _singular_change_avoided() -> Evidence:
    contexts, targets = _obstruction()
    for seed in range(_SEEDS):
        front_end = integer_front_end(n_ctx=2, **_OBSTRUCTED, seed=seed)
        rows = front_end.W_E.tolist()
        special = fmpq_mat(4, 2, [entry for token in (0, 1, 0, 0) for entry in rows[token]])
        front_end = ExactFrontEnd(special, front_end.W_pos, front_end.W_Q, front_end.W_K, front_end.W_V)
        try:
            changed = exact_change_of_basis(front_end, contexts, targets, as_rationals(np.eye(2)))
        except HypothesisError:
            continue
        exact = exact_network_logits(changed.model, contexts) == targets
        rank = exact_outputs(front_end, contexts).rank()
        return Evidence(
            "repair",
            "the six contexts for which M is singular whenever [X, Y] has rank 6, with three equal token embeddings: "
            f"[X, Y] has rank {rank}, and an invertible change of basis reaches the same E exactly",
            "logits = E W_U",
            f"logits = E W_U with residual 0, det M = {changed.change.det()}" if exact else "another residual",
            Method(_RATIONAL, Means.EXACT),
            decided(exact and changed.change.det() != 0),
            {"W_E": _plain(front_end.W_E), "W_pos": _plain(front_end.W_pos)},
        )
    raise HypothesisError("This audit", "three equal token embeddings with an invertible M", f"{_SEEDS} have none")


def _singular_change_approached() -> Evidence:
    contexts, targets = _obstruction()
    front_end = _full_rank(contexts, **_OBSTRUCTED)
    last = _block(exact_outputs(front_end, contexts), columns=slice(2))
    verdicts, sizes = [], []
    distances = (fmpq(1, 10**3), fmpq(1, 10**6))
    for distance in distances:
        near = targets + last * distance
        changed = exact_change_of_basis(front_end, contexts, near, as_rationals(np.eye(2)))
        verdicts.append(decided(exact_network_logits(changed.model, contexts) == near))
        determinant = changed.change.det()
        sizes.append(f"{float(determinant.p) / float(determinant.q):.2g}")
    return Evidence(
        "repair",
        f"the same six contexts: E + tau X is reached exactly for tau = {_listed(distances)}, so the slack gamma > 0 "
        "needs no limit of lambda, only targets beside the exceptional ones",
        "logits within gamma of E W_U",
        f"logits = (E + tau X) W_U with residual 0, det M about {_listed(sizes)}",
        Method(_RATIONAL, Means.EXACT),
        Verdict.all_of(verdicts),
    )


def _shifts_are_free() -> Evidence:
    contexts, targets = _obstruction()
    front_end = _full_rank(contexts, **_OBSTRUCTED)
    W_U = fmpq_mat(2, 4, [1, 0, 1, 0, 0, 1, 0, 1])
    outputs = exact_outputs(front_end, contexts)
    # By the converse of Theorem E3: E and W_U have rank d, so no W_O and W_U reach the logits if rank [E, Y] is short.
    short = _beside(targets, _block(outputs, columns=slice(2, None))).rank()
    refused = targets.rank() == W_U.rank() == 2 and short < outputs.rank()
    changed = exact_change_of_basis(front_end, contexts, targets, without_shifts(W_U))
    difference = exact_network_logits(changed.model, contexts) - targets * W_U
    return Evidence(
        "repair",
        "the same six contexts with an unembedding whose rows add up to the constant 1: the logits E W_U are out of "
        f"reach of this front end (rank [E, Y] = {short}, rank [X, Y] = {outputs.rank()}), the same distributions are "
        "not: without the shifts one coordinate of the stream is free",
        "the distributions softmax(E W_U)",
        "logits = E W_U up to one constant for each context, exactly",
        Method(_RATIONAL, Means.EXACT),
        decided(refused and _is_constant_in_rows(difference)),
    )


def _every_distribution_on_all_bigrams(sizes: Sequence[tuple[int, int, int, int]]) -> Evidence:
    verdicts, count, compared = [], 0, list[Comparison]()
    for d_vocab, d_model, d_head, n_heads in sizes:
        contexts = all_contexts(d_vocab, 2)
        shape = {"N": d_vocab, "d": d_model, "d_h": d_head, "H": n_heads, "S": contexts.shape[1]}
        verdicts.append(decided(len(contexts) <= d_model + n_heads * d_head and d_head <= d_model <= d_vocab))
        compared += met(CLAIM, "bigrams", "widths", "columns", **shape)
        compared.append(Comparison(len(contexts), "=", stated(CLAIM, "facts", **shape)))
        W_U = fmpq_mat(d_model, d_vocab, np.random.default_rng(d_model).integers(-3, 4, d_model * d_vocab).tolist())
        for targets in _special_targets(contexts, d_model):
            count += 1
            verdict = Verdict.UNDECIDED
            for seed in range(_SEEDS):
                front_end = integer_front_end(
                    d_vocab=d_vocab, n_ctx=2, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed
                )
                try:
                    changed = exact_change_of_basis(front_end, contexts, targets, without_shifts(W_U))
                except HypothesisError:
                    continue
                difference = exact_network_logits(changed.model, contexts) - targets * W_U
                fits = (front_end.d_model, front_end.d_head, front_end.n_heads) == (d_model, d_head, n_heads)
                verdict = decided(fits and _is_constant_in_rows(difference))
                break
            verdicts.append(verdict)
    return Evidence(
        "repair",
        f"all N^2 contexts of S = 2 with N^2 <= d + H d_h, (N, d, d_h, H) = {_listed(sizes)}, and targets in special "
        "position (zero, one column, loops only, one class of contexts for each last or first token, labels): all of "
        f"the {count} distributions are reached exactly",
        "gamma = 0 for every E",
        f"{sum(verdict is Verdict.PROVED for verdict in verdicts) - len(sizes)} of {count} distributions with gamma = "
        "0",
        Method(_RATIONAL, Means.EXACT),
        Verdict.all_of(verdicts),
        compared=tuple(compared),
    )


def _special_targets(contexts: Int64Array, d_model: int) -> list[fmpq_mat]:
    """Streams with many equal rows: those for which a change of basis is most likely to be singular."""
    first, last = contexts.T
    loops = (first == last).astype(np.int64)
    units = np.eye(max(d_model, int(contexts.max()) + 1), dtype=np.int64)[:, :d_model]
    streams = [
        np.zeros((len(contexts), d_model), dtype=np.int64),
        np.outer(np.arange(len(contexts)) % 3, units[0]),
        loops[:, None] * units[last],
        (1 - loops)[:, None] * units[first],
        units[last],
        units[first],
        units[(first + last) % len(units)],
    ]
    return [fmpq_mat(len(contexts), d_model, stream.ravel().tolist()) for stream in streams]


def _built() -> Evidence:
    construction = CLAIM.construct()
    certified = certify_memorization(construction.model, construction.task, rank=True)
    rank = construction.model.n_heads * construction.model.d_head
    ranked = proved(certified.certificate.statement(FEATURE_RANK) is not None)
    at_capacity = construction.task.n_contexts == construction.model.d_model + rank
    lead = decimal_below(float(certified.answers.margin_lower.min()), 3)
    return Evidence(
        "repair",
        f"rounded to float64: {construction.summary}; every label wins",
        f"{construction.task.n_contexts} labels with T_0 = d + H d_h",
        f"rank [X, Y] = {construction.task.n_contexts} > {rank}, every label ahead by {lead} or more",
        Method("rounding-rigorous float64 (verify.provers.memorization)", Means.ENCLOSURES),
        Verdict.all_of([certified.certificate.verdict, ranked, decided(at_capacity)]),
        {"parameters": dict(CLAIM.parameters)},
        compared=met(
            CLAIM,
            "full",
            T_0=construction.task.n_contexts,
            d=construction.model.d_model,
            H=construction.model.n_heads,
            d_h=construction.model.d_head,
        ),
    )


def _obstruction() -> tuple[Int64Array, fmpq_mat]:
    contexts = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [0, 1], [1, 0]])
    return contexts, fmpq_mat(6, 2, [0] * 8 + [1, 0, 0, 1])


def _full_rank(contexts: Int64Array, *, n_ctx: int = 2, **sizes: int) -> ExactFrontEnd:
    """Return a random integer front end with independent features [X, Y]."""
    for seed in range(_SEEDS):
        front_end = integer_front_end(n_ctx=n_ctx, **sizes, seed=seed)
        if exact_rank(front_end, contexts).full:
            return front_end
    raise HypothesisError("This audit", "a random front end with independent features", f"{_SEEDS} have none")


def _judged(head: SkipHead, contexts: Int64Array, sharpness: int) -> SharpAttention:
    return enclose_sharp_attention(head.W_E, head.W_pos, head.form, contexts, sharpness=sharpness)


def _largest(balls: Sequence[arb]) -> float:
    """Return a float64 that no ball exceeds."""
    return max(float(np.nextafter(float(ball.upper()), np.inf)) for ball in balls)


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _plain(matrix: fmpq_mat) -> list[list[str]]:
    return [[str(entry) for entry in row] for row in matrix.tolist()]


def _block(matrix: fmpq_mat, *, rows: slice = slice(None), columns: slice = slice(None)) -> fmpq_mat:
    return as_rationals(np.array(matrix.tolist(), dtype=object)[rows, columns])


def _beside(left: fmpq_mat, right: fmpq_mat) -> fmpq_mat:
    return as_rationals([[*a, *b] for a, b in zip(left.tolist(), right.tolist(), strict=True)])


def _is_constant_in_rows(matrix: fmpq_mat) -> bool:
    return all(entry == row[0] for row in matrix.tolist() for entry in row)
