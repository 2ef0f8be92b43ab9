r"""Appendix J of Mahdavi et al.: what Remark 1 makes of the Kruskal ranks that were measured for BERT.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.saturated_layers.saturated_heads import saturated_heads
from constructions.saturated_layers.shared_context import confined_queries
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.theorems.evidence.unread_heads import mixed_inputs_are_independent, of_size_one
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="mahdavi.appendix-j",
    title="Remark 1 for the queries of BERT",
    source="Mahdavi, Liao, Thrampoulidis (2024), appendix J",
    kind="fit",
    quotation=(
        "we observe that the Kruskal Rank is high enough (291 for the case of trained and 349 for the case of random "
        "BERT). Hence, the result of Remark 1 still yields an acceptable lower bound."
    ),
    printed=(
        "The queries of BERT have Kruskal ranks of '291' with trained and '349' with random weights, below the number "
        "n of tokens. The result of Remark 1 still yields an acceptable lower bound."
    ),
    reading="The ranks are measurements of the source; the number of Remark 1 is reconstructed.",
    judgement="measured",
    truth=(
        "The ranks are the source's measurements: no weights of BERT are looked at here. For whatever rank k with "
        "[[narrow: d_h <= k]] nothing is lost: Remark 1 promises rank [[remark: H (min(k, d_h) - 1) + 1]], and heads "
        "of a layer as wide as BERT's [[promise: 1009]] for both ranks and for n; layers built here keep it."
    ),
    reconstructed="the formula of Remark 1, from a copy without it",
    page="docs/claims/context_rank.md",
)

_HEADS, _HEAD_WIDTH, _TOKENS = 16, 64, 512  # of BERT, as the source uses it
_RANKS = (291, 349)  # of its queries, as the source measured them


_SMALL = ((6, 8, 4, 2, 3), (6, 8, 6, 2, 5), (8, 9, 3, 3, 4))  # n, d, H, d_h, k


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _promises()
    for n_ctx, d_model, n_heads, d_head, kruskal in _SMALL + (((10, 12, 6, 4, 7),) if full else ()):
        yield _kept(n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head, kruskal=kruskal)


def _promises() -> Evidence:
    ranks = [*_RANKS, _TOKENS]
    promises = [stated(CLAIM, "remark", H=_HEADS, d_h=_HEAD_WIDTH, k=k) for k in ranks]
    return Evidence(
        "sharper",
        f"H = {_HEADS}, d_h = {_HEAD_WIDTH}, n = {_TOKENS}, as in BERT, and k = {', '.join(map(str, ranks))}",
        "an acceptable bound by Remark 1",
        f"rank Z >= {', '.join(str(one.value) for one in promises)}",
        Method("the formula of Remark 1", Means.EXACT),
        decided(all(f"'{rank}'" in CLAIM.printed for rank in _RANKS) and max(_RANKS) < _TOKENS),
        compared=(
            *(Comparison(one, "=", stated(CLAIM, "promise")) for one in promises),
            *(one for k in ranks for one in met(CLAIM, "narrow", k=k, d_h=_HEAD_WIDTH)),
        ),
    )


def _kept(*, n_ctx: int, d_model: int, n_heads: int, d_head: int, kruskal: int) -> Evidence:
    """Queries of Kruskal rank k with d_h < k < n, and saturated heads of width d_h."""
    promised = stated(CLAIM, "remark", H=n_heads, d_h=d_head, k=kruskal)
    examples = promised.whole()
    queries = of_size_one(confined_queries(examples, d_model, kruskal))
    contexts = np.random.default_rng([n_ctx, d_model]).uniform(size=(1, n_ctx, d_model))
    heads = saturated_heads(contexts, queries, n_heads=n_heads, d_head=d_head)
    proof = mixed_inputs_are_independent(heads, contexts, queries)
    measured = kruskal_rank(queries)
    return Evidence(
        "measurement",
        f"{examples} queries of Kruskal rank {measured.lower} in R^{d_model}, one context of n = {n_ctx} tokens, "
        f"saturated heads with H = {n_heads}, d_h = {d_head}",
        f"rank Z >= {promised}, as for k = n",
        f"rank Z = {examples}" if proof.verdict is Verdict.PROVED else "nothing",
        Method(proof.method, Means.ENCLOSURES),
        proved(proof.verdict is Verdict.PROVED and heads.W_Q.shape == (n_heads, d_model, d_head)),
        compared=(
            Comparison(measured.lower, "=", kruskal),
            Comparison(promised, "=", stated(CLAIM, "remark", H=n_heads, d_h=d_head, k=n_ctx)),
            *met(CLAIM, "narrow", k=measured.lower, d_h=d_head),
        ),
    )
