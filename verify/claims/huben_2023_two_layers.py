"""Evidence on attention alone: two layers that hold distinct contexts, exactly, and rounded to float64.

Page: docs/claims/gated_heads.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.claims.huben_2023_two_layers import CLAIM, behind_null, two_layers
from constructions.models.blocks import Attention, tensor_fields
from constructions.models.model import Model
from constructions.tasks.arrays import all_contexts
from verify.certificates.memorization import certify_memorization
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.quantifier import Quantifier
from verify.forward.in_rationals import exact_network_logits
from verify.verdict import Verdict, decided

_TASKS = {
    "XOR of two tokens": (2, 2, [0, 1, 1, 0]),
    "one token in two positions": (1, 2, [0]),
    "single tokens": (5, 1, [4, 0, 3, 3, 1]),
    "equal labels": (2, 2, [1, 1, 1, 1]),
    "parity of three tokens": (2, 3, [0, 1, 1, 0, 1, 0, 0, 1]),
}


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify small tasks in rationals, and a larger one in float64.

    Args:
        full: More facts.

    Yields:
        Evidence.
    """
    for name, (tokens, length, labels) in _TASKS.items():
        contexts, wanted = all_contexts(tokens, length), np.array(labels)
        yield _exactly(name, two_layers(contexts, wanted, tokens=tokens), contexts, wanted)
    yield _rounded(facts=32)
    if full:
        yield _rounded(facts=256)


def _is_attention(model: Model) -> bool:
    return all(isinstance(block, Attention) and block.attends == "causal" for block in model.blocks)


def _heads(model: Model) -> int:
    """Of the last layer."""
    block = model.blocks[-1]
    return block.n_heads if isinstance(block, Attention) else 0


def _entries_of_a_head(model: Model) -> int:
    """Of the last layer."""
    return sum(int(tensor.size) for _, tensor in tensor_fields(model.blocks[-1])) // max(1, _heads(model))


def _sizes(model: Model) -> tuple[Comparison, ...]:
    return (
        Comparison(model.d_model, "=", stated(CLAIM, "width")),
        Comparison(_entries_of_a_head(model), "=", stated(CLAIM, "heads")),
    )


def _exactly(name: str, model: Model, contexts: np.ndarray, labels: np.ndarray) -> Evidence:
    tokens = model.d_vocab - 1
    found = exact_network_logits(model, behind_null(contexts, tokens)).tolist()
    margins = [
        min((row[label] - x for j, x in enumerate(row) if j != label), default=None)
        for row, label in zip(found, labels.tolist(), strict=True)
    ]
    held = sum(margin is not None and margin > 0 for margin in margins)
    distinct = len(np.unique(contexts, axis=0)) == len(contexts)
    return Evidence(
        "claim",
        f"{name}: {len(contexts)} contexts of {contexts.shape[1]} tokens out of {tokens} behind a null token, two "
        f"layers of attention with 1 and {_heads(model)} heads, rational weights",
        "all labels in front",
        f"{held} of {len(contexts)} in front",
        Method("exact rationals", Means.EXACT),
        decided(held == len(contexts) and distinct and _is_attention(model) and len(model.blocks) == 2),
        {"contexts": contexts.tolist(), "labels": labels.tolist()},
        compared=(*_sizes(model), Comparison(_heads(model), "<=", max(1, len(contexts) - 1))),
    )


def _rounded(*, facts: int) -> Evidence:
    made = CLAIM.construct(facts=facts)
    found = certify_memorization(made.model, made.task).certificate
    return Evidence(
        "claim",
        f"{facts} random contexts of {made.task.context_length - 1} tokens behind a null token, random labels, "
        "weights rounded to float64",
        "all labels in front",
        f"{found.answers.values['held']} of {facts} in front",
        Method(found.answers.method, Means.ENCLOSURES, Means.BALLS),
        Verdict.all_of([found.verdict, decided(_is_attention(made.model) and made.task.n_contexts == facts)]),
        {"sha256": made.model.sha256()},
        quantifier=Quantifier.SAMPLED,
        compared=(*_sizes(made.model), Comparison(_heads(made.model), "=", facts - 1)),
    )
