"""The associative memory on the slides: a sum of outer products is said to store d associations.

Page: docs/claims/outer_product_memory.md
"""

import numpy as np

from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.bottleneck import bottleneck
from constructions.memories.outer_product_memory import random_associations
from constructions.models.construction import Construction
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task


def build(*, width: int, count: int, seed: int) -> Construction[Task]:
    r"""One head of width d with the output matrix $\sum_i e_i u_{g(i)}^\top$, for the associations of a permutation.

    Args:
        width: d.
        count: N.
        seed: Of the sign vectors and of the permutation.

    Returns:
        The network, and the labels g(i) of the single tokens i as the task.

    Raises:
        InputError: Sizes below 1.

    Source: slides of Dana (2024), "Associative memory"; Bietti et al. (2023).

    Example:
        >>> build(width=64, count=72, seed=0).summary
        '72 associations in one 64 x 64 matrix, a sum of outer products of sign vectors'
    """
    made = random_associations(width, count, seed=seed)
    task = enumerated_task(count, 1, labels=made.labels)
    network = bottleneck(
        made.inputs.astype(np.float64), made.memory.T.astype(np.float64), made.outputs.astype(np.float64)
    )
    summary = f"{count} associations in one {width} x {width} matrix, a sum of outer products of sign vectors"
    return Construction(task, network, summary)


def _all_stored(*, width: int, count: int, seed: int, **_: object) -> bool:
    """Whether the draw stores all of its associations, in integers."""
    made = random_associations(width, count, seed=seed)
    logits = made.inputs @ made.memory.T @ made.outputs.T
    at = np.arange(count), made.labels
    right = logits[at]
    logits[at] = np.iinfo(np.int64).min
    return bool((right > logits.max(axis=1)).all())


CLAIM = Claim(
    id="slides.associative-memory",
    title="How many associations a sum of outer products stores",
    source="Dana, slides of 13 June 2024, Associative memory, after Bietti et al. (2023)",
    printed=(
        "With random embeddings w_U, w_E in R^d and W = sum_i w_U(g(i))^T w_E(i), the argmax of W_U W W_E can remember "
        "the associations i -> g(i), but only d of them."
    ),
    judgement="false",
    truth=(
        "For a permutation g and w_U from N / d Hadamard bases, |<w_U(a), w_U(b)>| <= mu d, some sign vectors as "
        "inputs store all N whenever [[needed: 8 N log N]] < [[room: (1 - mu) d^2]]. With random w_U too, certified: "
        "256 with d = 128, 1000 with d = 256. With embeddings of one's own choice rank 2 stores any number. For two "
        "output tokens, or if every labelling must be stored, d is the limit of every W, and it is reached."
    ),
    page="docs/claims/outer_product_memory.md",
    hypotheses=(
        Hypothesis("d >= 1, N >= 1", lambda width, count, **_: width >= 1 and count >= 1),
        Hypothesis("d <= 1024, N <= 4096", lambda width, count, **_: width <= 1024 and count <= 4096),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
        Hypothesis("a draw that stores all of its associations", _all_stored),
    ),
    parameters={"width": 128, "count": 256, "seed": 0},
    build=build,
)
