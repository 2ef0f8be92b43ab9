"""Memorize facts of subjects and relations with one head that adds two suggestions.

Page: docs/claims/factual_recall.md
"""

from typing import Any

import numpy as np

from constructions.model.construction import Construction
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task


def random_answers(*, subjects: int, relations: int, answers: int, seed: int) -> Int64Array:
    """Return answers drawn from disjoint sets, `[subjects, relations]`.

    Args:
        subjects: Their number.
        relations: R.
        answers: Of each relation; relation r has those from r * answers on.
        seed: Seed of the draw.

    Example:
        >>> random_answers(subjects=2, relations=2, answers=1, seed=0).tolist()
        [[0, 1], [0, 1]]
    """
    drawn = np.random.default_rng(seed).integers(0, answers, (subjects, relations))
    return drawn + answers * np.arange(relations)


def additive_recall(table: Int64Array, answers: int) -> tuple[Task, Any]:
    r"""Return one head with equal weights whose logits are $[a \in A_s] + [a \in A_r]$, and the facts as a task.

    $A_s$ are the answers of the subject over all relations, $A_r$ those of the relation over all subjects.

    Args:
        table: Answers $a^*(s, r)$, `[subjects, relations]`.
        answers: Number of answers.

    Returns:
        The task of all contexts (s, r), with tokens for subjects, relations and answers in this order; the model.

    Example:
        >>> task, model = additive_recall(np.array([[0, 1], [0, 2]]), 3)
        >>> model.blocks[0].W_V[0, :4].sum(axis=1).tolist()
        [2.0, 2.0, 1.0, 2.0]
    """
    subjects, relations = table.shape
    sources = subjects + relations
    suggests = np.zeros((sources, answers))
    for s in range(subjects):
        for r in range(relations):
            suggests[[s, subjects + r], table[s, r]] = 1.0
    contexts = np.array([[s, subjects + r] for s in range(subjects) for r in range(relations)], dtype=np.int64)
    size = sources + answers
    task = array_task(contexts, next_tokens=sources + table.ravel(), vocabulary=size, target="labels")
    # The stream has one coordinate for each subject and relation, and one for each answer.
    W_V = np.vstack([suggests, np.zeros((answers, answers))])
    W_E = np.vstack([np.eye(sources, size), np.zeros((answers, size))])
    model = dana_network(
        W_E=W_E,
        W_pos=np.zeros((2, size)),
        W_Q=np.zeros((1, size, 1)),
        W_K=np.zeros((1, size, 1)),
        W_V=W_V[None],
        W_O=np.hstack([np.zeros((answers, sources)), 2.0 * np.eye(answers)])[None],
        W_U=np.vstack([np.zeros((sources, size)), np.eye(answers, size, k=sources)]),
    )
    return task, model


def random_recall(*, subjects: int, relations: int, answers: int, seed: int) -> Construction[Task]:
    """Memorize a random answer per subject and relation; different relations have different answers.

    Args:
        subjects: Their number.
        relations: R.
        answers: How many answers each relation has.
        seed: Seed of the answers.

    Returns:
        The weights and the facts; contexts are a subject and a relation.

    Raises:
        InputError: Sizes below 1.

    Source: Nichani, Lee, Bietti (2025), recalled.

    Example:
        >>> random_recall(subjects=3, relations=2, answers=2, seed=0).task.n_contexts
        6
    """
    table = random_answers(subjects=subjects, relations=relations, answers=answers, seed=seed)
    task, model = additive_recall(table, relations * answers)
    summary = (
        f"{task.n_contexts} facts of {subjects} subjects and {relations} relations in one head with equal weights, "
        f"{model.parameters} parameters"
    )
    return Construction(task, model, summary)
