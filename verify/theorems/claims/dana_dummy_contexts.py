r"""Appendix A.1 of Dana et al.: contexts that are added until there are as many as the heads have columns.

Page: docs/claims/lemma_2_steps.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.attention.embeddings import rank_one_integer_attention
from constructions.tasks.arrays import all_contexts
from verify.theorems.capacity.exact_rank import exact_rank
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.theorems import RANK
from verify.verdict import decided

CLAIM = Claim(
    id="dana.dummy-contexts",
    title="Contexts that are added",
    source="Dana, Pydi, Chevaleyre (2024), section 4.1, and the same in appendix A.1",
    kind="statement",
    quotation=(
        r"First, one can see that it is sufficient to prove the Lemma when $T_0 \geq Hd$, since otherwise one can add "
        r"dummy examples to have $T_0 = Hd$."
    ),
    printed=(
        "It is sufficient to prove Lemma 2 for [[enough: T_0 >= H d]], since otherwise dummy contexts can be added to "
        "have [[added: T_0 = H d]]."
    ),
    reading=(
        "Dummy examples may have tokens of their own, in a dictionary that is enlarged for them and cut back "
        "afterwards: 'dummy' says no more. As a step, whatever Lemma 2 is."
    ),
    judgement="holds",
    truth=(
        "It holds: where the contexts with those that are added have independent outputs, they have them themselves. "
        "Without new tokens there are [[contexts: N^S]] contexts, and not always enough: that needs "
        "[[room: N^S >= H d]], as a context that is there again adds no rank."
    ),
    page="docs/claims/lemma_2_steps.md",
)

_SHORT = ((2, 2, 3, 2), (3, 1, 2, 2), (2, 2, 5, 1))  # N, S, d, H
_ROOM = ((3, 2, 3, 3), (2, 3, 2, 4), (4, 2, 4, 2))
_NEW_TOKENS = ((2, 4, 2, 3, 2), (3, 5, 2, 3, 4))  # N, N with the new tokens, S, d, H: N^S < H d


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, d_model, n_heads in _SHORT:
        yield _no_room(d_vocab, n_ctx, d_model, n_heads)
    for d_vocab, n_ctx, d_model, n_heads in _ROOM + (((3, 3, 3, 9),) if full else ()):
        yield _room(d_vocab, n_ctx, d_model, n_heads)
    for sizes in _NEW_TOKENS:
        yield _new_tokens(*sizes)


def _no_room(d_vocab: int, n_ctx: int, d_model: int, n_heads: int) -> Evidence:
    contexts = all_contexts(d_vocab, n_ctx)
    wanted = n_heads * d_model
    added = np.concatenate([contexts, contexts])[:wanted]
    sizes = {"H": n_heads, "d": d_model}
    distinct = len(np.unique(added, axis=0))
    return Evidence(
        "boundary",
        f"N = {d_vocab}, S = {n_ctx}, d = {d_model}, H = {n_heads}: all {len(contexts)} contexts, and some of them "
        "again",
        f"{stated(CLAIM, 'added', T_0=wanted, **sizes)} contexts with outputs of rank {wanted}",
        f"{distinct} distinct rows, rank <= {distinct}",
        Method("counting", Means.EXACT),
        decided(len(added) > len(contexts)),
        compared=(
            Comparison(distinct, "<", wanted),
            Comparison(distinct, "=", stated(CLAIM, "contexts", N=d_vocab, S=n_ctx)),
            *failed(CLAIM, "room", N=d_vocab, S=n_ctx, **sizes),
            *failed(CLAIM, "enough", "added", T_0=len(contexts), **sizes),
        ),
    )


def _room(d_vocab: int, n_ctx: int, d_model: int, n_heads: int) -> Evidence:
    every, wanted = all_contexts(d_vocab, n_ctx), n_heads * d_model
    sizes = {"d_model": d_model, "d_head": d_model, "n_heads": n_heads}
    half = every[: wanted // 2]
    front_end = rank_one_integer_attention(d_vocab=d_vocab, n_ctx=n_ctx, seed=0, largest=9, **sizes)
    whole = exact_rank(front_end, every[:wanted], with_skip=False).lower
    part = exact_rank(front_end, half, with_skip=False).lower
    ceiling = RANK.at("rank", contexts=every[:wanted], **sizes, with_skip=False)
    facts = {"T_0": wanted, "H": n_heads, "d": d_model}
    return Evidence(
        "claim",
        f"N = {d_vocab}, S = {n_ctx}, d = {d_model}, H = {n_heads}: {len(half)} contexts, and {wanted} with those "
        "that "
        "are added, integer weights",
        f"rank {len(half)} where all have rank {wanted}",
        f"rank {part} and {whole}",
        Method("rank over a prime field; integer ranks of formal vectors", Means.EXACT, Means.MODULAR),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(whole, "=", ceiling),
            Comparison(whole, "=", wanted),
            Comparison(part, "=", len(half)),
            *met(CLAIM, "enough", "added", **facts),
            *met(CLAIM, "room", N=d_vocab, S=n_ctx, **facts),
        ),
    )


def _new_tokens(d_vocab: int, enlarged: int, n_ctx: int, d_model: int, n_heads: int) -> Evidence:
    """All contexts of N tokens, fewer than H d; those that are added have new tokens, and all are independent."""
    everything, wanted = all_contexts(enlarged, n_ctx), n_heads * d_model
    old = (everything < d_vocab).all(axis=1)
    old_contexts = everything[old]
    whole = np.concatenate([old_contexts, np.random.default_rng(0).permutation(everything[~old])])[:wanted]
    sizes = {"d_model": d_model, "d_head": d_model, "n_heads": n_heads}
    front_end = rank_one_integer_attention(d_vocab=enlarged, n_ctx=n_ctx, seed=0, largest=9, **sizes)
    rank = exact_rank(front_end, whole, with_skip=False).lower
    part = exact_rank(front_end, old_contexts, with_skip=False).lower
    facts = {"T_0": wanted, "H": n_heads, "d": d_model}
    return Evidence(
        "claim",
        f"N = {d_vocab}, S = {n_ctx}, d = {d_model}, H = {n_heads}: all {len(old_contexts)} contexts, and "
        f"{wanted - len(old_contexts)} with {enlarged - d_vocab} new tokens, integer weights",
        f"rank {len(old_contexts)} where all have rank {wanted}",
        f"rank {part} and {rank}",
        Method("rank over a prime field", Means.MODULAR),
        decided(len(np.unique(whole, axis=0)) == wanted),
        compared=(
            Comparison(rank, "=", wanted),
            Comparison(part, "=", len(old_contexts)),
            Comparison(len(old_contexts), "=", stated(CLAIM, "contexts", N=d_vocab, S=n_ctx)),
            *met(CLAIM, "enough", "added", **facts),
            *failed(CLAIM, "room", N=d_vocab, S=n_ctx, **facts),
        ),
    )
