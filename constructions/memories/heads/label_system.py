"""Common parts of memories with one linear system: a number y per context that is the point of its label on a line.

The stream's coordinate 0 is 1 at the last position, -1 before it and 0 at tokens, for the shifts of the label code;
y is read through a vector `along`, and what heads write along `output` moves it by itself.

Page: docs/claims/rank_one_heads.md
"""

import math
from collections.abc import Iterable

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.codes.scalar_label_code import scalar_label_code
from constructions.model.attention import logits
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.numeric.minimum_norm import RightInverse, right_inverse
from constructions.tasks.task import Task

_ENOUGH = 0.1  # margin, in float64 arithmetic, of weights that count; a half is what exact ones have
_WORST = 1e9  # condition of the system; beyond it the solution means little
_AWAY = 2.0**-7  # by which the number y may miss, where the skip connection would otherwise carry nothing of it


def require_labels_after_two(task: Task, claim: str) -> None:
    """Refuse distributions and contexts of one token, in the name of a claim.

    Raises:
        HypothesisError: A task of distributions, or contexts of one token.
    """
    if task.target != "labels":
        raise HypothesisError(claim, "labels", f"the target is {task.target!r}")
    if task.n_ctx < 2:
        raise HypothesisError(claim, "contexts of two tokens or more", f"they have {task.n_ctx}")


def embeddings(task: Task, d_model: int, rng: np.random.Generator) -> tuple[Float64Array, Float64Array]:
    """Draw random `W_E` and `W_pos`; coordinate 0 is fixed."""
    W_E, W_pos = rng.standard_normal((task.d_vocab, d_model)), rng.standard_normal((task.n_ctx, d_model))
    W_E[:, 0], W_pos[:, 0], W_pos[-1, 0] = 0.0, -1.0, 1.0
    return W_E, W_pos


def points(task: Task) -> Float64Array:
    """Return the point of each context's label on the line, `[T]`."""
    answers, labels = np.unique(task.labels, return_inverse=True)
    return scalar_label_code(len(answers)).points[labels]


def inverted(matrix: Float64Array) -> RightInverse | None:
    """Return a solver for systems of this matrix with least norm; None unless its rows are safely independent."""
    if matrix.shape[1] < len(matrix):
        return None
    try:
        inverse = right_inverse(matrix)
    except HypothesisError:
        return None
    return inverse if inverse.condition <= _WORST else None


def readout(task: Task, along: Float64Array, reach: float) -> tuple[Float64Array, Float64Array]:
    """Return the output direction of the heads, and `W_U`; `reach` is the largest input entry outside coordinate 0."""
    along, output = along.copy(), np.zeros(len(along))
    if np.linalg.norm(along[1:]) * reach < _AWAY:  # then y would not be seen through the skip connection
        along[1] += _AWAY / max(1.0, reach)
    output[1:] = along[1:] / (along[1:] @ along[1:])
    answers = np.unique(task.labels)
    code = scalar_label_code(len(answers))
    W_U = np.zeros((len(along), task.n_answers))
    W_U[0] = -1.0  # tokens that are never answers; a label that y is within a half of has the logit -1/8 or more
    W_U[:, answers] = np.outer(along, code.points)
    W_U[0, answers] += code.columns[0]
    return output, W_U


def first_that_holds(task: Task, claim: str, needed: str, tried: Iterable[tuple[Model | None, str]]) -> Construction:
    """Return the first draw that leaves a margin of `_ENOUGH`, each with its shape in words; None is a draw without
    `needed`.

    Raises:
        CapacityError: There is none.
    """
    best, named = -math.inf, ""
    for model, named in tried:
        if model is not None:
            best = max(best, _least_lead(model, task))
            if best >= _ENOUGH:
                return Construction(
                    task, model, f"{counted(task.n_contexts, 'context')} by {named}, {model.parameters} parameters"
                )
    reached = "no draw has" if best == -math.inf else f"the best draw leaves a margin of {best:.2g} with"
    raise CapacityError(claim, f"{needed} of rank T = {task.n_contexts}", f"{reached} them; {named}")


def _least_lead(model: Model, task: Task) -> float:
    """Return the smallest margin of the labels in float64 arithmetic, in nats."""
    outputs = logits(model, task.contexts)
    at_label = np.arange(task.n_contexts), task.labels
    right = outputs[at_label]
    outputs[at_label] = -np.inf
    return float((right - outputs.max(axis=1)).min())
