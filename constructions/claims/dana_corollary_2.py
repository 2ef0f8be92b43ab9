"""Corollary 2 of Dana et al.: the accuracy that heads reach when they hold only a part of the associations.

Page: docs/claims/corollary_2.md
"""

from fractions import Fraction

import numpy as np

from constructions.capacity.expected_accuracy import expected_accuracy, partial_task, solvable_contexts
from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.memory import build_memory
from constructions.memories.one_head_optimum import exclusive_or_contexts
from constructions.models.construction import Construction
from constructions.models.shapes import dana_network
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task


def build(*, tokens: int, length: int, d_model: int, d_head: int, n_heads: int, seed: int) -> Construction[Task]:
    """As many of all contexts as the heads are proved to hold, with random labels; the others are not looked at.

    Args:
        tokens: Size of the vocabulary N.
        length: Length of the contexts S.
        d_model: Width d, at least 2.
        d_head: Width of a head.
        n_heads: Number of heads H, at least 1.
        seed: Seed of the labels and of the weights.

    Returns:
        The network; its task memorizes K contexts and has the others for its tail.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Corollary 2.

    Example:
        >>> build(tokens=2, length=2, d_model=2, d_head=1, n_heads=1, seed=0).summary
        '3 of 4 contexts in 1 heads of dimension 1, d = 2: accuracy 7/8 on average over the labels of the others'
    """
    contexts = all_contexts(tokens, length)
    labels = np.random.default_rng(seed).integers(0, tokens, len(contexts))
    solved = solvable_contexts(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    task = partial_task(contexts, labels, solved, n_tokens=tokens)
    network = build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads, seed=seed).model
    accuracy = expected_accuracy(tokens, Fraction(len(solved), len(contexts)))
    summary = (
        f"{len(solved)} of {len(contexts)} contexts in {n_heads} heads of dimension {d_head}, d = {d_model}: "
        f"accuracy {accuracy} on average over the labels of the others"
    )
    return Construction(task, network, summary)


def best_on_xor() -> Construction[Task]:
    """Weights of one head that hold three of the four contexts of XOR, the most that one head can.

    Attention is uniform, and the label is 1 wherever the token 1 occurs.

    Returns:
        The network, with d = 2, d_h = 1; its task is all of XOR.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Corollary 2.

    Example:
        >>> best_on_xor().model.W_U.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    nothing = np.zeros((1, 2, 1))
    network = dana_network(
        W_E=np.array([[0.0, 1.0], [1.0, 1.0]]),
        W_pos=np.zeros((3, 2)),
        W_Q=nothing,
        W_K=nothing,
        W_V=np.array([[[1.0], [0.0]]]),
        W_O=np.array([[[6.0, 0.0]]]),
        W_U=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )
    task = array_task(exclusive_or_contexts(), next_tokens=np.array([0, 0, 1, 1]), vocabulary=2, target="labels")
    return Construction(task, network, "3 of the 4 contexts of XOR in one head of dimension 1, d = 2")


CLAIM = Claim(
    id="dana.corollary-2",
    title="The accuracy of a memory that is too small",
    source="Dana, Pydi, Chevaleyre (2024), Corollary 2",
    printed=(
        "For any T contexts with one next token each, some attention-only transformer has the accuracy "
        "[[printed: 1/N + (1 - 1/N) (H d_h + d) / T]] or more."
    ),
    judgement="false",
    truth=(
        "If the K most likely contexts can be held, their probability m >= K/T is a lower bound of the accuracy; "
        "[[mean: 1/N + (1 - 1/N) m]] is its mean over independent uniform labels of the other contexts, for weights "
        "that do not depend on them. For fixed labels it can be out of reach of all weights: [[best: 3/4]] instead of "
        "[[promised: 7/8]] for XOR."
    ),
    page="docs/claims/corollary_2.md",
    hypotheses=(
        Hypothesis("N >= 1 and S >= 1", lambda tokens, length, **_: tokens >= 1 and length >= 1),
        Hypothesis("d >= 2", lambda d_model, **_: d_model >= 2),
        Hypothesis("1 <= d_h <= d", lambda d_model, d_head, **_: 1 <= d_head <= d_model),
        Hypothesis("H >= 1", lambda n_heads, **_: n_heads >= 1),
    ),
    parameters={"tokens": 4, "length": 2, "d_model": 4, "d_head": 2, "n_heads": 4, "seed": 0},
    build=build,
)
