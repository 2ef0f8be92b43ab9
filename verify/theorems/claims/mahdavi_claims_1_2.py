r"""Claims 1 and 2 of Mahdavi et al.: one head fits r examples, or r - 1 while it freezes all others.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterator

import numpy as np
from flint import arb, ctx

from constructions.model.exact_network import as_rationals
from constructions.numeric.arrays import Int64Array
from constructions.rational.saturating_head import ExactHead, exact_head
from verify.linear_algebra.rank import rank_bracket
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.verdict import decided, proved

CLAIM = Claim(
    id="mahdavi.claims-1-2",
    title="One head fits r examples, or r - 1 and freezes the rest",
    source="Mahdavi, Liao, Thrampoulidis (2024), Claims 1 and 2",
    kind="statement",
    quotation=(
        "Claim 2 (Fit [lost] examples in one head, leave the rest intact). Assume that [lost] examples satisfy "
        "Assumptions 1 and 2, and define [...] Claim 2 reinforces Claim 1 by demonstrating the possibility of tuning "
        "coefficients of [lost] examples while keeping the rest of the examples approximately fixed with any "
        "precision"
    ),
    printed=(
        ""
        "Claim 1: under Assumptions 1 and 2, a head of width r gives any attention weights to r examples. Claim 2: a "
        "head of width r gives any attention weights to [[fitted: r - 1]] examples, and to all others weights within "
        "any epsilon of fixed ones."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: both, for weights in the open simplex, which softmax never leaves. Claim 1 needs independent "
        "queries among the r fitted only; Claim 2 needs that no other query is in the span of the [[fitted: r - 1]] "
        "fitted, in place of Kruskal rank n; only the fitted contexts have to be of rank n, the frozen ones just "
        "need distinct tokens."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
)

_EPSILON = 1e-12


_BITS = 128


def evidence(*, full: bool) -> Iterator[Evidence]:
    rng = np.random.default_rng(1)
    count = 40 if full else 12
    for n_ctx, d_model, earlier in ((1, 1, 0), (2, 3, 0), (4, 6, 0), *(((8, 12, 0),) if full else ())):
        yield _fits(rng, count, n_ctx=n_ctx, d_model=d_model, fitted=n_ctx, earlier=earlier, kruskal=True)
    sizes = [(2, 3, 4), (3, 5, 7), (4, 6, 12)] + ([(6, 8, 24), (8, 12, 40)] if full else [])
    for n_ctx, d_model, earlier in sizes:
        yield _fits(rng, count, n_ctx=n_ctx, d_model=d_model, fitted=n_ctx - 1, earlier=earlier, kruskal=True)
    yield _fits(rng, count, n_ctx=4, d_model=6, fitted=3, earlier=12, kruskal=False)


def _fits(
    rng: np.random.Generator, count: int, *, n_ctx: int, d_model: int, fitted: int, earlier: int, kruskal: bool
) -> Evidence:
    """Certify heads of width r that realize any logits on the block and are within epsilon of one token elsewhere."""
    good, strengths, widths = 0, [], set()
    for _ in range(count):
        contexts, queries = _examples(
            rng, n_ctx=n_ctx, d_model=d_model, fitted=fitted, earlier=earlier, kruskal=kruskal
        )
        head = exact_head(contexts, queries, fitted=fitted, seed=int(rng.integers(2**31)))
        strength = _strength(head, contexts, queries)
        strengths.append(strength)
        widths.add(head.width)
        good += (
            head.width <= n_ctx
            and head.W_Q.ncols() == len(head.inverses) == fitted
            and (head.freezing is not None) == (earlier > 0)
            and _realizes_all_logits(head, contexts, queries)
            and _freezes(head, contexts, queries, strength)
        )
    name = "Claim 2" if earlier else "Claim 1"
    which = "" if kruskal else ", on queries of Kruskal rank 1 that satisfy the block condition"
    what = f"fits {fitted} and freezes {earlier}" if earlier else f"fits {fitted}"
    return Evidence(
        "ours",
        f"{name}{which}: {count} random examples with n = {n_ctx}, d = {d_model}; a head of width {n_ctx} {what} "
        "examples. E E^+ = I and Q Q^+ = I exactly, so that the logits of the block are free for each kappa",
        f"any weights for {fitted} examples" + (f", {earlier} others within epsilon of fixed ones" if earlier else ""),
        f"{good} of {count}"
        + (f", for all logits in [0, 1] with epsilon = {_EPSILON} at kappa = {max(strengths)}" if earlier else ""),
        Method("exact rationals" + (", and balls for the rate" if earlier else ""), Means.EXACT, Means.BALLS),
        proved(good == count) if earlier else decided(good == count),
        compared=tuple(Comparison(fitted, "=", stated(CLAIM, "fitted", r=r)) for r in widths) if earlier else (),
    )


def _realizes_all_logits(head: ExactHead, contexts: Int64Array, queries: Int64Array) -> bool:
    """Tell whether E^(j) U e_i is L_j for i = j and every table of logits L, and the freezing part is 0."""
    block = len(queries) - head.W_Q.ncols()
    projected_queries = as_rationals(queries[block:]) * head.W_Q
    fits = projected_queries == as_rationals(np.eye(projected_queries.nrows())) and all(
        as_rationals(contexts[block + j]) * inverse == as_rationals(np.eye(contexts.shape[1]))
        for j, inverse in enumerate(head.inverses)
    )
    return fits and (
        head.freezing is None or all(_inner(head.freezing.query_direction, e) == 0 for e in queries[block:].tolist())
    )


def _freezes(head: ExactHead, contexts: Int64Array, queries: Int64Array, strength: int) -> bool:
    """Tell whether every other example is within epsilon of one token, for all logits of the block in [0, 1].

    The base scores of an earlier example are linear in the logits, so their range is bounded for logits in [0, 1] by
    the sum of the absolute values of its coefficients.
    """
    block = len(queries) - head.W_Q.ncols()
    # A larger kappa only brings them nearer, since the gaps are positive.
    for t in range(block):
        gap, spread = _gap_and_spread(head, contexts[t], queries[t])
        with ctx.workprec(_BITS):
            bound = 2 * (contexts.shape[1] - 1) * (arb(spread) - strength * arb(gap)).exp()
            if not (gap > 0 and bound <= arb(_EPSILON)):
                return False
    return True


def _strength(head: ExactHead, contexts: Int64Array, queries: Int64Array) -> int:
    """Return a large enough integer kappa, which is checked afterwards."""
    needed = 0.0
    for t in range(len(queries) - head.W_Q.ncols()):
        gap, spread = _gap_and_spread(head, contexts[t], queries[t])
        cost = np.log(2 * max(contexts.shape[1] - 1, 1) / _EPSILON)
        needed = max(needed, (float(spread) + cost) / float(gap))
    return int(np.ceil(needed)) + 1


def _gap_and_spread(head: ExactHead, context: Int64Array, query: Int64Array) -> tuple[int, int]:
    """Return the gap of the scores E v <w, e>, and an upper bound of the range of E U e for all logits in [0, 1]."""
    assert head.freezing is not None
    height = _inner(head.freezing.query_direction, query.tolist())
    scores = sorted(height * _inner(head.freezing.key_direction, token) for token in context.tolist())
    gap = scores[-1] - scores[-2] if len(scores) > 1 else 1
    projected_query = (as_rationals(query[None]) * head.W_Q).entries()
    total = 0
    for coefficient, inverse in zip(projected_query, head.inverses, strict=True):
        rows = (as_rationals(context) * inverse).tolist()
        total += max(sum(abs(coefficient * entry) for entry in row) for row in rows)
    return gap, int(2 * total) + 1


def _examples(
    rng: np.random.Generator, *, n_ctx: int, d_model: int, fitted: int, earlier: int, kruskal: bool
) -> tuple[Int64Array, Int64Array]:
    """Random integer examples with the block condition; without `kruskal`, with parallel queries among the earlier."""
    while True:
        contexts = rng.integers(-3, 4, (earlier + fitted, n_ctx, d_model))
        queries = rng.integers(-5, 6, (earlier + fitted, d_model))
        if not kruskal:
            queries[1::2][: earlier // 2] = 2 * queries[0::2][: earlier // 2]
        if any(_rank(context) < n_ctx for context in contexts):
            continue
        last = queries[earlier:]
        if (_rank(last) == fitted if fitted else True) and all(
            _rank(np.vstack([last, e[None]])) == fitted + 1 for e in queries[:earlier]
        ):
            return contexts, queries


def _rank(matrix: Int64Array) -> int:
    return rank_bracket(matrix).lower


def _inner(a: tuple[int, ...], b: list[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))
