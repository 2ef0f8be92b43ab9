r"""Huben and Morris: attention and neurons become attention alone, here two layers that hold any distinct contexts.

Page: docs/claims/gated_heads.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.model.blocks import Attention, tensor_fields
from constructions.model.model import Model
from constructions.rational.two_layers import behind_null, random_two_layers, two_layers
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_network_logits
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.conditions import conditions
from verify.verdict import Verdict, decided

CLAIM = Claim(
    id="huben-2023.two-layers",
    title="Attention alone in place of attention and neurons",
    source="Huben, Morris (2023), abstract",
    kind="statement",
    printed=(
        "A transformer with neurons can be converted into one of attention alone, at the cost of many more heads."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: attention by position and ReLU neurons that hold any T "
        "distinct contexts become [[layers: two]] causal layers behind a null token: a head, and a head for each of "
        "the [[neurons: T - 1]] neurons, with [[width: 3]] coordinates of the stream and [[heads: 18]] entries for "
        "each. At integers the gates are as near to ReLU as is asked for."
    ),
    reconstructed="the weights: the paper was at hand in its abstract only",
    page="docs/claims/gated_heads.md",
    hypotheses=conditions("N >= 2, S >= 1", "1 <= T <= N^S <= 2^20", "seed >= 0"),
    parameters={"d_vocab": 8, "n_ctx": 4, "facts": 32, "seed": 0},
    build=random_two_layers,
)

_TASKS = {
    "XOR of two tokens": (2, 2, [0, 1, 1, 0]),
    "one token in two positions": (1, 2, [0]),
    "single tokens": (5, 1, [4, 0, 3, 3, 1]),
    "equal labels": (2, 2, [1, 1, 1, 1]),
    "parity of three tokens": (2, 3, [0, 1, 1, 0, 1, 0, 0, 1]),
}


def evidence(*, full: bool) -> Iterator[Evidence]:
    for name, (d_vocab, n_ctx, labels) in _TASKS.items():
        contexts, wanted = all_contexts(d_vocab, n_ctx), np.array(labels)
        yield _exactly(name, two_layers(contexts, wanted, d_vocab=d_vocab), contexts, wanted)
    yield _rounded(facts=32)
    if full:
        yield _rounded(facts=256)


def _is_attention(model: Model) -> bool:
    return all(isinstance(block, Attention) and block.attends == "causal" for block in model.blocks)


def _heads(model: Model) -> int:
    """Return the number of heads of the last layer."""
    block = model.blocks[-1]
    return block.n_heads if isinstance(block, Attention) else 0


def _entries_of_a_head(model: Model) -> int:
    """Return the number of entries of a head of the last layer."""
    return sum(int(tensor.size) for _, tensor in tensor_fields(model.blocks[-1])) // max(1, _heads(model))


def _sizes(model: Model) -> tuple[Comparison, ...]:
    return (
        Comparison(model.d_model, "=", stated(CLAIM, "width")),
        Comparison(len(model.blocks), "=", stated(CLAIM, "layers")),
        Comparison(_entries_of_a_head(model), "=", stated(CLAIM, "heads")),
    )


def _exactly(name: str, model: Model, contexts: np.ndarray, labels: np.ndarray) -> Evidence:
    d_vocab = model.d_vocab - 1
    outputs = exact_network_logits(model, behind_null(contexts, d_vocab)).tolist()
    margins = [
        min((row[label] - x for j, x in enumerate(row) if j != label), default=None)
        for row, label in zip(outputs, labels.tolist(), strict=True)
    ]
    memorized = sum(margin is not None and margin > 0 for margin in margins)
    distinct = len(np.unique(contexts, axis=0)) == len(contexts)
    return Evidence(
        "part",
        f"{name}: {len(contexts)} contexts of {contexts.shape[1]} tokens out of {d_vocab} behind a null token, two "
        f"layers of attention with 1 and {_heads(model)} heads, rational weights",
        "all labels in front",
        f"{memorized} of {len(contexts)} in front",
        Method("exact rationals", Means.EXACT),
        decided(memorized == len(contexts) and distinct and _is_attention(model) and len(model.blocks) == 2),
        {"contexts": contexts.tolist(), "labels": labels.tolist()},
        compared=(*_sizes(model), Comparison(_heads(model), "<=", max(1, len(contexts) - 1))),
    )


def _rounded(*, facts: int) -> Evidence:
    construction = CLAIM.construct(facts=facts)
    certificate = certify_memorization(construction.model, construction.task).certificate
    return Evidence(
        "part",
        f"{facts} random contexts of {construction.task.n_ctx - 1} tokens behind a null token, random labels, "
        "weights rounded to float64",
        "all labels in front",
        f"{certificate.answers.values['memorized']} of {facts} in front",
        Method(certificate.answers.method, Means.ENCLOSURES, Means.BALLS),
        Verdict.all_of(
            [certificate.verdict, decided(_is_attention(construction.model) and construction.task.n_contexts == facts)]
        ),
        {"sha256": construction.model.sha256()},
        quantifier=Quantifier.SAMPLED,
        compared=(
            *_sizes(construction.model),
            Comparison(_heads(construction.model), "=", stated(CLAIM, "neurons", T=facts)),
        ),
    )
