r"""Section 6 of Dana et al.: how wide heads have to be that simulate neurons and learn their masks.

Page: docs/claims/gated_heads.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.model.blocks import Attention
from constructions.rational.two_layers import behind_null, two_layers
from constructions.tasks.random_facts import random_facts
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, failed, met, stated
from verify.verdict import decided

CLAIM = Claim(
    id="dana.simulated-neurons",
    title="How wide heads are that simulate neurons",
    source="Dana, Pydi, Chevaleyre (2024), section 6, of Huben, Morris (2023)",
    kind="summary",
    quotation=(
        r"If the head has to learn the mask, then the construction still uses one attention per neuron, but each head "
        r"needs to satisfy $d_h \geq 1+S$ and $d \geq 2+S$. This makes this architecture memorize exactly T_0 "
        r"associations using $O((d+S)(S+N+T_0))$ parameters."
    ),
    printed=(
        "In the construction of Huben and Morris, if the head has to learn the mask, each head needs "
        "[[head: d_h >= 1 + S]] and [[stream: d >= 2 + S]]. So it memorizes T associations exactly with a number of "
        "parameters of the order of [[order: (d + S) (S + N + T)]]."
    ),
    reading=(
        "It is about that construction, of which the abstract alone was at hand, and not about every way to simulate "
        "neurons."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the construction was not read. Beside it: behind a null token [[layers: two]] causal layers "
        "with [[width: d = 3]], queries of [[queries: two]] dimensions and values of [[values: one]], whatever the "
        "length, memorize any labels of any T distinct contexts, with [[entries: 6 N + 3 S + 18 T + 3]] entries, of "
        "the order that is printed at most."
    ),
    page="docs/claims/gated_heads.md",
)

_SIZES, _SIZES_FULL = ((2, 4, 9), (6, 5, 20)), ((2, 18, 64),)  # N, S, T


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, facts in _SIZES + (_SIZES_FULL if full else ()):
        yield _narrow(d_vocab, n_ctx, facts)


def _narrow(d_vocab: int, n_ctx: int, facts: int) -> Evidence:
    task = random_facts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=0)
    model = two_layers(task.contexts, task.labels, d_vocab=d_vocab)
    rows = exact_network_logits(model, behind_null(task.contexts, d_vocab)).tolist()
    memorized = sum(
        all(row[label] > x for j, x in enumerate(row) if j != label)
        for row, label in zip(rows, task.labels.tolist(), strict=True)
    )
    head = model.blocks[-1]
    assert isinstance(head, Attention)
    sizes = {"d": model.d_model, "d_h": head.d_head, "S": n_ctx}
    entries = sum(tensor.size for tensor in model.tensors().values())
    numbers = {"N": d_vocab, "S": n_ctx, "T": facts}
    distinct = len(np.unique(task.contexts, axis=0)) == facts
    return Evidence(
        "part",
        f"another construction: {facts} contexts of {n_ctx} tokens out of {d_vocab} behind a null token, two layers of "
        f"attention with d = {model.d_model}, heads of queries of {head.d_qk} dimensions and values of {head.d_head}",
        f"{facts} labels in front, without {stated(CLAIM, 'head', **sizes)} and {stated(CLAIM, 'stream', **sizes)}",
        f"{memorized} of {facts} labels in front, {entries} entries",
        Method("exact rationals", Means.EXACT),
        decided(distinct and model.n_ctx == n_ctx + 1),
        compared=(
            Comparison(memorized, "=", facts),
            *failed(CLAIM, "head", "stream", **sizes),
            *failed(CLAIM, "head", **{**sizes, "d_h": head.d_qk}),
            *met(CLAIM, "width", **sizes),
            Comparison(len(model.blocks), "=", stated(CLAIM, "layers")),
            Comparison(head.d_qk, "=", stated(CLAIM, "queries")),
            Comparison(head.d_head, "=", stated(CLAIM, "values")),
            Comparison(entries, "=", stated(CLAIM, "entries", **numbers)),
            Comparison(entries, "<", 6 * stated(CLAIM, "order", **numbers, d=model.d_model).value),
            Comparison((model.d_model + n_ctx) * (n_ctx + d_vocab + facts), "=",
                       stated(CLAIM, "order", **numbers, d=model.d_model)),
        ),
    )  # fmt: skip
