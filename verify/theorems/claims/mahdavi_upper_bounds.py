r"""Section 6 of Mahdavi et al.: upper bounds of what attention memorizes, for all inputs.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

import numpy as np

from verify.linear_algebra.rank import rank_bracket
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.theorems import MIXED_RANK, OUTPUT_RANK
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.upper-bounds",
    title="Upper bounds of what attention memorizes",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 6",
    kind="remark",
    quotation=(
        "while we studied some specific cases of interest, establishing general upper bounds on the memorization "
        "capacity of MHA remains an important open question."
    ),
    printed=(
        "While some specific cases were studied, establishing general upper bounds on the memorization capacity of "
        "multi-head attention remains an important open question."
    ),
    judgement="open",
    truth=(
        "Open for labels in general. Known: for any contexts rank Z is at most [[mixed: H a + 1]], a the dimension of "
        "the affine hull of their tokens; outputs have rank [[outputs: min(H d_v, d_o)]] at most; and no more real "
        "numbers than parameters are memorized (`madden-2024.upper`)."
    ),
    page="docs/claims/context_rank.md",
)

_SIZES = ((3, 2, 4, 2), (5, 3, 6, 2), (6, 4, 5, 3))  # T, n, d, H


def evidence(*, full: bool) -> Iterator[Evidence]:
    for examples, n_ctx, d_model, n_heads in _SIZES + (((20, 4, 12, 5),) if full else ()):
        yield _mixed(examples, n_ctx, d_model, n_heads, shared=True)
        yield _mixed(examples, n_ctx, d_model, n_heads, shared=False)
    for n_heads, d_value, inner in ((1, 1, 2), (2, 1, 3), (3, 2, 4)):
        yield _outputs(n_heads, d_value, inner)


def _mixed(examples: int, n_ctx: int, d_model: int, n_heads: int, *, shared: bool) -> Evidence:
    contexts = np.random.default_rng([examples, n_ctx]).integers(-5, 6, (1 if shared else examples, n_ctx, d_model))
    ceiling = MIXED_RANK.at(contexts=contexts, n_heads=n_heads, n_examples=10**6)
    flat = contexts.reshape(-1, d_model)
    hull = rank_bracket(flat[1:] - flat[0])
    return Evidence(
        "known",
        f"{'one context' if shared else f'{examples} contexts'} of n = {n_ctx} integer tokens in R^{d_model}, H = "
        f"{n_heads}, "
        "a million examples or fewer",
        "a bound of rank Z whatever the weights are",
        f"rank Z <= {ceiling.value}",
        Method("exact ranks of the tokens", Means.EXACT),
        proved(hull.lower == hull.upper),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(ceiling, "<=", stated(CLAIM, "mixed", H=n_heads, a=hull.lower)),
            *((Comparison(ceiling, "=", stated(CLAIM, "mixed", H=n_heads, a=hull.lower)),) if shared else ()),
        ),
    )


def _outputs(n_heads: int, d_value: int, inner: int) -> Evidence:
    ceiling = OUTPUT_RANK.at(n_heads=n_heads, d_value=d_value, d_inner=inner)
    return Evidence(
        "known",
        f"H = {n_heads}, d_v = {d_value}, d_o = {inner}: outputs on any examples",
        "a bound of their rank whatever the weights are",
        f"rank <= {ceiling.value}",
        Method("shapes of the matrices", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(ceiling, "=", stated(CLAIM, "outputs", H=n_heads, d_v=d_value, d_o=inner)),),
    )
