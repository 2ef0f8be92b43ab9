r"""Section 6 of Dana et al.: the comparison with the capacity of Mahdavi et al.

Page: docs/claims/closed_forms.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.encoders.one_head_optimum import exclusive_or_contexts
from constructions.rational.exact_memory import exact_memory
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import RANK
from verify.theorems.saturated_layers.kruskal_rank import kruskal_rank
from verify.verdict import decided

CLAIM = Claim(
    id="dana.comparisons",
    title="A strict improvement on the capacity of Mahdavi et al.",
    source="Dana, Pydi, Chevaleyre (2024), section 6",
    kind="remark",
    quotation=(
        "we are able to obtain the maximal memory capacity of $Hd_h$, and even $Hd_h + d$ if we use the skip "
        "connection, which is a strict improvement on their memory capacity of $H(d_h - 1) + 1$."
    ),
    printed=(
        "The capacity [[columns: H d_h + d]] is a strict improvement on [[previous: H (d_h - 1) + 1]] of Mahdavi et "
        "al., for language models."
    ),
    reading=(
        "Of contexts for which H d_h + d is reached, as all N^S of them. Of any contexts it repeats Theorem 1 and is "
        "limited by it (`dana.theorem-1`)."
    ),
    judgement="hypothesis",
    truth=(
        "True where all contexts are to be memorized, for sequences of several tokens and [[room: d <= N]]: H d_h + d "
        "is "
        "reached, [[gain: H + d - 1]] more. For contexts of one's choice neither number is a capacity of language "
        "models: XOR is [[facts: four]] contexts with [[same: one]] last token, to which [[heads: one]] head of any "
        "width gives rank [[rank: three]] at most, and both numbers are as large as one likes. A repeated query has "
        "Kruskal rank [[kruskal: one]], so the assumptions of Mahdavi et al. fail there."
    ),
    wrong="needs contexts for which H d_h + d is reached, such as all N^S of them",
    page="docs/claims/closed_forms.md",
)

_REPAIRS = ((3, 2, 3, 2), (2, 3, 2, 2), (4, 2, 3, 3))  # N, S, d, d_h


_REPAIRS_FULL = ((3, 3, 3, 3), (5, 2, 4, 3))


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _exclusive_or()
    for d_vocab, n_ctx, d_model, d_head in _REPAIRS + (_REPAIRS_FULL if full else ()):
        yield _improvement(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head)


def _exclusive_or() -> Evidence:
    contexts = exclusive_or_contexts()
    facts, d_model = len(contexts), 4
    n_heads = 1
    sizes = {"H": n_heads, "d_h": d_model}
    rank = RANK.at("rank", contexts=contexts, d_model=d_model, d_head=d_model, n_heads=n_heads, with_skip=True)
    # The last tokens are the queries of Mahdavi et al.: the same vector for all examples.
    queries = np.repeat(np.eye(1, d_model, dtype=np.int64), facts, axis=0)[contexts[:, -1] == contexts[0, -1]]
    kruskal = kruskal_rank(queries).upper
    return Evidence(
        "without",
        f"XOR after 3 tokens, {facts} contexts with one last token: one head with d = d_h = {d_model}; equal queries "
        f"have Kruskal rank {kruskal}",
        f"{stated(CLAIM, 'columns', **sizes, d=d_model)} and {stated(CLAIM, 'previous', **sizes)} contexts memorized",
        f"rank <= {rank.value}",
        Method("exact ranks of the contexts", Means.EXACT),
        decided(len(queries) == facts),
        {"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(rank, "<", facts),
            Comparison(rank, "=", stated(CLAIM, "rank")),
            Comparison(facts, "=", stated(CLAIM, "facts")),
            Comparison(n_heads, "=", stated(CLAIM, "heads")),
            Comparison(len(set(contexts[:, -1].tolist())), "=", stated(CLAIM, "same")),
            Comparison(kruskal, "=", stated(CLAIM, "kruskal")),
            Comparison(facts, "<=", stated(CLAIM, "previous", **sizes)),
            Comparison(facts, "<=", stated(CLAIM, "columns", **sizes, d=d_model)),
        ),
    )


def _improvement(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int) -> Evidence:
    memory = exact_memory(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head)
    n_heads, facts = memory.model.n_heads, len(memory.contexts)
    sizes = {"H": n_heads, "d_h": memory.model.d_head}
    columns, previous = stated(CLAIM, "columns", **sizes, d=d_model), stated(CLAIM, "previous", **sizes)
    equal = exact_network_logits(memory.model, memory.contexts) == memory.targets
    ceiling = RANK.at("rank", contexts=memory.contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=True)
    most, fewer = n_heads * sizes["d_h"] + d_model, n_heads * (sizes["d_h"] - 1) + 1
    return Evidence(
        "with",
        f"the {facts} contexts of {n_ctx} tokens out of {d_vocab}, d = {d_model}, d_h = {d_head}, H = {n_heads}: "
        "rational weights have exactly the logits of an integer encoder",
        f"{columns} memorized, {stated(CLAIM, 'gain', H=n_heads, d=d_model)} more than {previous}",
        f"{'equal' if equal else 'different'} logits on {facts} contexts",
        Method("exact rationals", Means.EXACT),
        decided(equal),
        compared=(
            Comparison(ceiling, "=", facts),
            Comparison(most, "=", columns),
            Comparison(fewer, "=", previous),
            Comparison(most - fewer, "=", stated(CLAIM, "gain", H=n_heads, d=d_model)),
            Comparison(facts, "<=", most),
            Comparison(facts, ">", most - d_head),
            Comparison(facts, ">", previous),
            *met(CLAIM, "room", d=d_model, N=d_vocab),
        ),
    )
