"""Memorize facts of subjects and relations as a sum of two suggestions: one number per fact.

Page: docs/claims/factual_recall.md
"""

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.codes.scalar_label_code import scalar_label_code
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import Precision, rounded_model
from constructions.model.shapes import dana_network
from constructions.tasks.task import Task

_CLAIM = "The memory of additive recall"
_CONSTANT, _RELATION, _FIRST = 0, 1, 2  # coordinates: what is 1, the number of the relation, and what subjects hold


def additive_recall_memory(task: Task, *, dtype: Precision = "float64") -> Construction[Task]:
    r"""Memorize facts of a subject and a relation, each relation with its own answers, by one head of equal weights.

    Relation r has the number $\rho_r = r - \lfloor R / 2 \rfloor$ and $m_r$ answers at the points
    $c_j = j - (m_r - 1) / 2$. A subject holds for each relation of two answers or more the point $y_r$ of its answer,
    in a coordinate of its own. At the last position the stream has a 1, $\rho$ of the context's relation and the y of
    its subject, and the answer j of relation r has the logit

    $$ c_j y_r - \frac{c_j^2}2 + M (2 \rho_r \rho - \rho_r^2) , \qquad
       M = \Bigl\lceil \frac12 + \max_r \frac{(m_r - 1)^2}8 \Bigr\rceil . $$

    The right answer is ahead of those of its relation by $(j - j')^2 / 2$, and of those of another, r', by
    $M (\rho_r - \rho_{r'})^2 - y_{r'}^2 / 2 + (c_j - c_{j'}')^2 / 2$ or more: by 1/2 in all. The head writes minus
    twice the mean of the two tokens: that removes what the last token has in these coordinates, and leaves minus what
    the first has. So a token may be a subject in one context and a relation in another.

    Args:
        task: Contexts of two tokens, and labels, such that no two tokens of one of the two positions share an answer.
        dtype: The precision; every entry has to be one of its numbers.

    Returns:
        The network, with $d = D + 2$ for the D relations of two answers or more, and 1 value or D.

    Raises:
        InputError: A precision that is none.
        HypothesisError: Contexts that are not bigrams, a task of distributions, or tokens of both positions that share
            an answer.
        CapacityError: Entries that are not numbers of this precision.

    Source: in fewer dimensions than Nichani, Lee, Bietti (2025), recalled.

    Example:
        >>> from constructions.tasks.table import facts_task
        >>> rows = [(f"s{i}", f"r{j}", f"r{j} is {(i * j) % 5}") for i in range(60) for j in range(1, 7)]
        >>> additive_recall_memory(facts_task(rows), dtype="float32").summary
        '360 facts of 6 relations with answers of their own, 742 parameters'
    """
    if task.n_ctx != 2:
        raise HypothesisError(_CLAIM, "contexts of two tokens", f"they have {task.n_ctx}")
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    shared = [_shared(task, position) for position in (0, 1)]
    if None not in shared:
        raise HypothesisError(
            _CLAIM,
            "tokens of the first or of the last position with answers of their own",
            f"several at the first have {shared[0]!r}, and several at the last {shared[1]!r}",
        )
    built = [_network(task, position) for position in (0, 1) if shared[position] is None]
    model, kinds = min(built, key=lambda found: found[0].parameters)
    rounded = rounded_model(model, dtype)
    if rounded.sha256() != model.sha256():
        largest = max(np.abs(tensor).max() for tensor in model.tensors().values())
        raise CapacityError(_CLAIM, f"multiples of 1/8 that {dtype} holds", f"one of them is {largest:g}")
    summary = f"{counted(task.n_contexts, 'fact')} of {counted(kinds, 'relation')} with answers of their own"
    return Construction(task, rounded, f"{summary}, {model.parameters} parameters")


def _shared(task: Task, position: int) -> str | None:
    """Return an answer that two tokens at one position share; None if each has its own answers."""
    pairs = np.unique(np.stack([task.labels, task.contexts[:, position]]), axis=1)
    twice = np.flatnonzero(pairs[0, 1:] == pairs[0, :-1])
    return task.answers[int(pairs[0, twice[0]])] if len(twice) else None


def _network(task: Task, position: int) -> tuple[Model, int]:
    """Return the network whose relations are the tokens at a position, and their number."""
    relations, of_context = np.unique(task.contexts[:, position], return_inverse=True)
    answers = [np.unique(task.labels[of_context == r]) for r in range(len(relations))]
    memorized = [r for r, relation_answers in enumerate(answers) if len(relation_answers) > 1]
    width = _FIRST + len(memorized)
    numbers = np.arange(len(relations)) - len(relations) // 2
    apart = np.ceil(0.5 + max((len(relation_answers) - 1) ** 2 / 8 for relation_answers in answers))
    # The head leaves minus what the first token holds: the subject's coordinates, or the relation's number.
    moved = [_RELATION] if position == 0 else list(range(_FIRST, width))
    sign = np.ones(width)
    sign[moved] = -1.0

    W_E = np.zeros((task.d_vocab, width))
    W_E[relations, _RELATION] = numbers
    W_U = np.zeros((width, task.n_answers))
    W_U[_CONSTANT] = -1.0  # answers that never occur; the logit of the right one is 0 or more
    for r, relation_answers in enumerate(answers):
        code = scalar_label_code(len(relation_answers))
        W_U[_CONSTANT, relation_answers] = code.columns[0] - apart * numbers[r] ** 2
        W_U[_RELATION, relation_answers] = 2 * apart * numbers[r]
        if r in memorized:
            rows = of_context == r
            subjects, place = task.contexts[rows, 1 - position], _FIRST + memorized.index(r)
            W_E[subjects, place] = code.points[np.searchsorted(relation_answers, task.labels[rows])]
            W_U[place, relation_answers] = code.points
    W_pos = np.zeros((2, width))
    W_pos[1, _CONSTANT] = 1.0
    values = np.eye(width)[:, moved] if moved else np.zeros((width, 1))
    model = dana_network(
        W_E=W_E,
        W_pos=W_pos,
        W_Q=np.zeros((1, width, 1)),
        W_K=np.zeros((1, width, 1)),
        W_V=values[None],
        W_O=-2.0 * values.T[None],
        W_U=sign[:, None] * W_U,
    )
    return model, len(relations)
