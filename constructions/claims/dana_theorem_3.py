"""Theorem 3 of Dana et al.: transformers for all laws, with a loss of epsilon log(1 / epsilon).

Page: docs/claims/logit_range.md
"""

from fractions import Fraction

import numpy as np

from constructions.claims.claim import Claim, Hypothesis
from constructions.encoders.approximating_sequences import within_range
from constructions.memories.bounded_range import bounded_transformer
from constructions.models.construction import Construction
from constructions.models.exact_network import rounded
from constructions.tasks.task import Counts, Task, make_task


def build(*, largest_range: int, occurrences: int) -> Construction[Task]:
    r"""The transformer of Theorem E: the laws of an encoder of range R, held on six of nine contexts.

    Args:
        largest_range: R.
        occurrences: How often each of the six contexts occurs; the other three occur once each.

    Returns:
        The weights, and the encoder's laws on the six contexts as the task.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Theorem 3.

    Example:
        >>> build(largest_range=20, occurrences=50).summary
        '6 of 9 contexts held, those of probability 1/101 left out: N = 3, S = 2, d = d_h = 1, H = 5, range 20'
    """
    held = bounded_transformer(Fraction(largest_range), occurrences=occurrences)
    weights, embeddings = (np.array(part, dtype=float) for part in within_range(Fraction(largest_range)))
    logits = np.outer(embeddings[held.contexts.sum(axis=1) % 2], weights)
    powers = np.exp(logits)
    laws = powers / powers.sum(axis=1, keepdims=True)
    rows = [{int(law.argmax()): int(count)} for law, count in zip(laws, held.occurrences, strict=True)]
    task = make_task(
        held.contexts, Counts.from_rows(rows), vocabulary=("0", "1", "2"), facts=held.kept, laws=laws, target="laws"
    )
    summary = (
        f"{held.kept} of {len(held.contexts)} contexts held, those of probability {Fraction(1, 2 * occurrences + 1)} "
        f"left out: N = 3, S = 2, d = d_h = 1, H = 5, range {largest_range}"
    )
    return Construction(task, rounded(held.model), summary)


CLAIM = Claim(
    id="dana.theorem-3",
    title="Every law, up to epsilon log(1 / epsilon)",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 3 and its proof, equations (18) to (20)",
    printed=(
        "For every epsilon > 0 some transformer with d_h H + d >= T_epsilon has d_KL(pi, T) <= d_KL(pi, M(N, S, d)) + "
        "O(epsilon log(1 / epsilon))."
    ),
    judgement="invalid-proof",
    truth=(
        "For given d, d_h and H it is false as Theorem 1 is: exclusive or. If H may be chosen freely, no context is "
        "left out for epsilon < min rho, and the O() says nothing. The proof uses Lemma 4, and (19) treats |x|_inf <= "
        "1 as if it were |x|_1 <= 1; for the laws of Lemma 4 its argument gives no less than [[rate: 2 epsilon^(2/3) "
        "/ 5]], epsilon times a constant for epsilon. True (Theorem E): if the features of the kept contexts are "
        "independent, then for every R and gamma > 0 some transformer has d_KL(pi, T) <= inf {d_KL(pi, f): f in L of "
        "range <= R} + [[tail: P C_1 R]] + gamma, P = Pr(left out), C_1 = max (1 + |z_t|_1). Whether transformers do "
        "better on those laws is open."
    ),
    page="docs/claims/logit_range.md",
    hypotheses=(
        Hypothesis("2 <= R <= 500: full support in float64 too", lambda largest_range, **_: 2 <= largest_range <= 500),
        Hypothesis(
            "2 <= occurrences <= 10^9: the kept contexts are the most likely ones",
            lambda occurrences, **_: 2 <= occurrences <= 10**9,
        ),
    ),
    parameters={"largest_range": 20, "occurrences": 50},
    build=build,
)
