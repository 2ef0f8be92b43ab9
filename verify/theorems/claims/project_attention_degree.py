r"""This project: the threshold degree of labels, and the number of heads of any widths that hold them.

Page: docs/claims/threshold_degree.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.attention.capacity.forbidden_labelling import most_forbidden_heads
from constructions.memories.heads.bit_table_heads import bit_table_heads
from constructions.memories.heads.counting_heads import bit_contexts
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import CYCLIC_ORDERS, HEADS_FOR_EVERY_LABELLING, MAJORITY_HEADS, ONE_HEAD_LABELS
from verify.verdict import Verdict, decided

CLAIM = Claim(
    id="project.attention-degree",
    title="The threshold degree is a floor of the heads, and not always their number",
    source="This project (2026), heads of any width",
    printed=(
        "As many heads as the threshold degree of the labels are needed, of any widths. For labels out of "
        "[[kinds: two]] of all contexts of [[few: n <= 4]] bits they are enough. They are not enough for "
        "[[contexts: seven]] contexts of [[length: 4]] tokens out of [[tokens: 3]] of degree [[seven: 1]], for some "
        "labels of [[bits: 12]] bits, where [[counted: 16]] heads are needed, and for the majority of [[ors: 25]] "
        "exclusive ors of degree [[degree: 2]], which needs [[majority: 3]] or more."
    ),
    judgement="holds",
    truth=(
        "As printed. The least number of bits with fewer than the heads that are needed is open, and so is whether "
        "some given labels need more than [[positions: S - 1]] heads."
    ),
    page="docs/claims/threshold_degree.md",
)

_SEVEN = {"0020": 1, "1020": 0, "1100": 1, "1110": 0, "1200": 0, "1220": 1, "2100": 0}
_ZERO_HEADS = np.array([[1, 0], [0, 1], *[[0, 0]] * 5])  # that the first label is 1 and the second 0


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _tables(3, 12 if full else 4)
    yield _seven_contexts()
    yield _counted()
    yield _majority()


def _tables(bits: int, count: int) -> Evidence:
    """Random labels of bits: multipliers forbid one head less than explicit weights use."""
    contexts, compared, verdicts, shown = bit_contexts(bits), [], [], []
    for seed in range(count):
        labels = np.random.default_rng(seed).integers(0, 2, len(contexts))
        forbidding = most_forbidden_heads(contexts, labels)
        construction = bit_table_heads(labels.tolist(), n_heads=forbidding.n_heads + 1, seed=seed)
        if construction is None:
            verdicts.append(Verdict.UNDECIDED)
            continue
        forbidden = ONE_HEAD_LABELS.at(
            contexts=contexts, labels=labels, multipliers=forbidding.multipliers, n_heads=forbidding.n_heads
        )
        rows = exact_network_logits(construction, contexts).tolist()
        memorized = sum(row[label] > row[1 - label] for row, label in zip(rows, labels.tolist(), strict=True))
        compared += [
            Comparison(forbidden, "=", Verdict.PROVED),
            Comparison(memorized, "=", len(contexts)),
            Comparison(len(set(labels.tolist())), "=", stated(CLAIM, "kinds")),
            *met(CLAIM, "few", n=bits),
        ]
        verdicts.append(decided(construction.n_heads == forbidding.n_heads + 1))
        shown.append(str(construction.n_heads))
    return Evidence(
        "claim",
        f"{count} random labellings of the contexts of {bits} bits: heads of any widths that are needed, and explicit "
        "ones that hold all labels",
        "as many as the threshold degree",
        f"{', '.join(shown)} heads, and no fewer",
        Method("linear relations in integers; exact rationals", Means.EXACT),
        Verdict.all_of(verdicts),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _seven_contexts() -> Evidence:
    """A sum of functions of the positions has the signs of the labels, and one head has not."""
    contexts = np.array([[int(token) for token in name] for name in _SEVEN])
    labels = np.array(list(_SEVEN.values()))
    sums = np.array([[2, 0, -2], [-2, 2, 0], [0, -2, 2]])[np.arange(3), contexts[:, :3]].sum(axis=1) - 1
    degree = int(
        ONE_HEAD_LABELS.at(contexts=contexts, labels=labels, multipliers=_ZERO_HEADS, n_heads=0).value is Verdict.PROVED
    )
    return Evidence(
        "claim",
        f"the contexts {', '.join(_SEVEN)} with the labels {', '.join(map(str, labels))}: sums of functions of the "
        "positions have the signs of the labels, and of one head they would have three cyclic orders of the tokens",
        "degree 1, and more than one head",
        "each order is forced by pairs of contexts that differ at one position",
        Method("comparisons of integers", Means.EXACT),
        decided(bool(((sums > 0) == (labels == 1)).all()) and bool((sums != 0).all())),
        {"contexts": contexts.tolist(), "labels": labels.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(CYCLIC_ORDERS.at(contexts=contexts, labels=labels), "=", Verdict.PROVED),
            Comparison(degree, "=", stated(CLAIM, "seven")),
            Comparison(len(contexts), "=", stated(CLAIM, "contexts")),
            Comparison(contexts.shape[1], "=", stated(CLAIM, "length")),
            Comparison(int(contexts.max()) + 1, "=", stated(CLAIM, "tokens")),
        ),
    )


def _counted() -> Evidence:
    n_ctx = 13
    needed = HEADS_FOR_EVERY_LABELLING.at(d_vocab=2, n_ctx=n_ctx)
    return Evidence(
        "claim",
        "labels of the 2^12 contexts of 12 bits and a last token, of threshold degree 12 at most: more labellings than "
        "fewer heads have",
        "more heads than the threshold degree, for some labels",
        f"{needed.value} heads",
        Method("Warren's count, in integers", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(needed, "=", stated(CLAIM, "counted")),
            Comparison(needed, ">", stated(CLAIM, "bits")),
            Comparison(n_ctx - 1, "=", stated(CLAIM, "bits")),
            Comparison(n_ctx - 1, "=", stated(CLAIM, "positions", S=n_ctx)),
        ),
    )


def _majority() -> Evidence:
    size = 25
    n_heads = MAJORITY_HEADS.at(size=size)
    return Evidence(
        "claim",
        "the majority of 25 exclusive ors, by the rank of a matrix with its signs",
        "more heads than 2, the degree",
        f"H >= {n_heads.value}",
        Method("the norm of a matrix of signs, as a fraction", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(n_heads, "=", stated(CLAIM, "majority")),
            Comparison(size, "=", stated(CLAIM, "ors")),
            Comparison(n_heads.value - 1, "=", stated(CLAIM, "degree")),
        ),
    )
