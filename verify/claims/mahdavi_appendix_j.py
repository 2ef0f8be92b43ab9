r"""Appendix J of Mahdavi et al.: what Remark 1 makes of the Kruskal ranks that were measured for BERT.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.saturated.saturated_heads import saturated_heads
from constructions.saturated.shared_context import confined_queries
from verify.claim import Claim
from verify.evidence import Comparison, Evidence, Means, Method, stated
from verify.evidence.unread_heads import mixed_inputs_are_independent, of_size_one
from verify.saturated.kruskal_rank import kruskal_rank
from verify.verdict import Verdict, proved

CLAIM = Claim(
    id="mahdavi.appendix-j",
    title="Remark 1 for the queries of BERT",
    source="Mahdavi, Liao, Thrampoulidis (2024), appendix J",
    printed=(
        "The queries of BERT have Kruskal ranks of [[trained: 291]] with trained and [[random: 349]] with random "
        "weights, below n = 512. The result of Remark 1 still yields an acceptable lower bound."
    ),
    judgement="holds",
    truth=(
        "Nothing at all is lost: Remark 1 promises rank Z >= [[remark: H (min(k, d_h) - 1) + 1]], and the d_h = 64 of "
        "BERT is below both numbers, so the H = 16 heads of a layer have the promise [[promise: 1009]] with k = 291, "
        "349 and 512 alike. The two ranks are the source's: no weights of BERT are looked at here."
    ),
    reconstructed="the formula of Remark 1, from a copy without it",
    page="docs/claims/context_rank.md",
)

_HEADS, _HEAD_WIDTH, _TOKENS = 16, 64, 512  # of BERT, as the source uses it


_SMALL = ((6, 8, 4, 2, 3), (6, 8, 6, 2, 5), (8, 9, 3, 3, 4))  # n, d, H, d_h, k


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _promises()
    for tokens, width, heads, d_head, kruskal in _SMALL + (((10, 12, 6, 4, 7),) if full else ()):
        yield _kept(tokens=tokens, width=width, heads=heads, d_head=d_head, kruskal=kruskal)


def _promises() -> Evidence:
    trained, untrained = stated(CLAIM, "trained"), stated(CLAIM, "random")
    ranks = [trained.whole(), untrained.whole(), _TOKENS]
    promises = [stated(CLAIM, "remark", H=_HEADS, d_h=_HEAD_WIDTH, k=k) for k in ranks]
    return Evidence(
        "claim",
        f"H = {_HEADS}, d_h = {_HEAD_WIDTH}, n = {_TOKENS}, as in BERT, and k = {', '.join(map(str, ranks))}",
        "an acceptable bound by Remark 1",
        f"rank Z >= {', '.join(str(one.value) for one in promises)}",
        Method("the formula of Remark 1", Means.EXACT),
        proved(ranks[0] < ranks[1] < ranks[2]),
        compared=(
            *(Comparison(one, "=", stated(CLAIM, "promise")) for one in promises),
            Comparison(trained, ">=", _HEAD_WIDTH),
            Comparison(untrained, "<", _TOKENS),
        ),
    )


def _kept(*, tokens: int, width: int, heads: int, d_head: int, kruskal: int) -> Evidence:
    """Queries of Kruskal rank k with d_h < k < n, and saturated heads of width d_h."""
    promised = stated(CLAIM, "remark", H=heads, d_h=d_head, k=kruskal)
    examples = promised.whole()
    queries = of_size_one(confined_queries(examples, width, kruskal))
    contexts = np.random.default_rng([tokens, width]).uniform(size=(1, tokens, width))
    found = saturated_heads(contexts, queries, n_heads=heads, d_head=d_head)
    proof = mixed_inputs_are_independent(found, contexts, queries)
    measured = kruskal_rank(queries)
    return Evidence(
        "claim",
        f"{examples} queries of Kruskal rank {measured.lower} in R^{width}, one context of n = {tokens} tokens, "
        f"saturated heads with H = {heads}, d_h = {d_head}",
        f"rank Z >= {promised}, as for k = n",
        f"rank Z = {examples}" if proof.verdict is Verdict.PROVED else "nothing",
        Method(proof.method, Means.ENCLOSURES),
        proved(proof.verdict is Verdict.PROVED and found.W_Q.shape == (heads, width, d_head)),
        compared=(
            Comparison(measured.lower, "=", kruskal),
            Comparison(promised, "=", stated(CLAIM, "remark", H=heads, d_h=d_head, k=tokens)),
        ),
    )
