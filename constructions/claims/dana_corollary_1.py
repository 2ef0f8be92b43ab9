"""Corollary 1 of Dana et al.: H heads of dimension d_h with d = 2 hold H d_h + 2 associations.

Page: docs/claims/corollary_1.md
"""

from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.lookup_table import lookup_table
from constructions.models.construction import Construction
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task


def build(*, tokens: int, gap: int, seed: int) -> Construction[Task]:
    """The look-up table of all bigrams, with random labels.

    Args:
        tokens: Size of the vocabulary N, not 2.
        gap: Difference of the scores in nats, at least 1.
        seed: Seed of the labels.

    Returns:
        The network of N heads of dimension N.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> build(tokens=3, gap=8, seed=0).summary
        'all 9 bigrams over 3 tokens, in 3 heads of dimension 3 = d'
    """
    task = enumerated_task(tokens, 2, seed=seed)
    network = lookup_table(task, gap=float(gap))
    summary = (
        f"all {task.n_contexts} bigrams over {tokens} tokens, in {network.n_heads} heads of dimension "
        f"{network.d_head} = d"
    )
    return Construction(task, network, summary)


CLAIM = Claim(
    id="dana.corollary-1",
    title="Associations that heads hold in two dimensions",
    source="Dana, Pydi, Chevaleyre (2024), Corollary 1",
    printed=(
        "For any T = [[printed: H d_h + 2]] contexts with one next token each, some attention-only transformer with d "
        "= 2, H heads and head dimension d_h memorizes all of them, with [[parameters: 2 (S + 2 N + 4 (T - 2))]] "
        "parameters."
    ),
    judgement="false",
    truth=(
        "For S >= 2 some weights with d = 2 memorize [[memorized: max(j, min(T, H + min(2, j)))]] of any T contexts, "
        "j the number of distinct last tokens; all N^S contexts if N^S <= [[all_contexts: H d_h + 2]], d_h <= 2. One "
        "head of any width does not hold XOR. Rank is no upper limit: one head with d = N >= 2, d_h = 1 holds any "
        "labels of all N^2 bigrams."
    ),
    page="docs/claims/corollary_1.md",
    hypotheses=(
        Hypothesis("N >= 1 and N != 2", lambda tokens, **_: tokens >= 1 and tokens != 2),
        Hypothesis("gap >= 1", lambda gap, **_: gap >= 1),
    ),
    parameters={"tokens": 8, "gap": 8, "seed": 0},
    build=build,
)
