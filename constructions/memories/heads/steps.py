"""Memorize with two layers of attention: one head numbers the contexts, and the others step from label to label.

Page: docs/claims/steps.md
"""

import math

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError
from constructions.memories.codes.positional_code import positional_code
from constructions.memories.codes.scalar_label_code import numbered_labels
from constructions.memories.heads.label_system import require_labels_after_two
from constructions.model.blocks import Attention
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded_model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.task import Task

_CLAIM = "The memory of steps"
_ROOM = 0.5  # by which roundings may move a number; the step nearest to it is 1 away


def steps_memory(task: Task, *, dtype: Precision = "float64", seed: int = 0) -> Construction[Task]:
    r"""Memorize any labels of any distinct contexts by two layers of attention, without neurons, ranks or a linear
    system.

    The stream has three coordinates: a number, which tokens write; a flag, 1 at the last position and 0 elsewhere; and
    $\ln (A'_s / A'_S)$ at the position s, which is 0 at the last. The head of the first layer asks with the flag, so
    that the last position gives the position s the attention $A'_s / \sum_r A'_r$; with $A'_s = 2 A_s$, $A'_S = 2 A_S -
    1$ and the skip connection its number becomes $u = 2 z(t)$, twice the code of `positional_code`.

    Sort the codes. Where the label changes between two neighbours, a head of the second layer steps: it asks with
    $\beta (u - \theta) + \ln (S - 1)$, $\theta$ the middle between the two, and keys and values are the flag. The S - 1
    other positions have the score and the value 0, so it reads $1 / (1 + e^{-\beta (u - \theta)})$, and writes that
    times the change of label to the third coordinate, which names the label.

    Roundings of the weights move the numbers and the steps against each other by less than 1/2, or the task is
    refused; so the label's point is missed by less than 1/8, and every label is ahead by more than 3/8.

    Args:
        task: Contexts of two tokens or more, and labels, at most 2^12 different ones.
        dtype: The precision that every weight is rounded to, and that the codes are short enough for.
        seed: Seed of the codes; equal arguments give equal bits.

    Returns:
        The model: `d_model` = 3, `d_qk` = `d_head` = 1, causal attention, skip connections, no shifts.

    Raises:
        InputError: A precision that is none.
        HypothesisError: A task of distributions, or contexts of one token.
        CapacityError: The codes are too long for the precision, or there are more than 2^12 labels.

    Source: attention in place of the neurons of Zhang et al. (2017); that heads replace neurons is due to Huben, Morris
    (2023).

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> steps_memory(xor).summary
        '4 contexts, 2-bit codes, 2 heads that step, 54 parameters'
    """
    require_precision(dtype)
    require_labels_after_two(task, _CLAIM)
    answers, points = numbered_labels(task.labels, _CLAIM)
    code = positional_code(task.contexts, task.d_vocab, seed=seed)
    order = np.argsort(code.codes)
    numbers, points = 2 * code.codes[order], points[order]
    shares = 2 * code.weights
    shares[-1] -= 1
    scores = np.log(shares / shares[-1])
    # How far roundings move a number and a step against each other, at most (the page, 3).
    size = float(numbers[-1]) + math.log(task.n_ctx)
    moved = 2.0 ** -SIGNIFICAND[dtype] * size * (4.0 * float(np.abs(scores).max()) + 6.0)
    if not moved <= _ROOM:
        wider = "take float64" if dtype == "float32" else "take fewer contexts"
        raise CapacityError(
            _CLAIM,
            f"codes that {dtype} tells apart",
            f"{task.n_contexts} contexts have codes of {code.bits} bits: {wider}, or other contexts",
        )
    changes = np.flatnonzero(np.diff(points))
    middles = (numbers[changes] + numbers[changes + 1]) // 2
    jumps = points[changes + 1] - points[changes]
    if not len(changes):  # one label: a head that writes nothing
        middles, jumps = numbers[:1], np.zeros(1, dtype=np.int64)
    W_E, W_pos = np.zeros((task.d_vocab, 3)), np.zeros((task.n_ctx, 3))
    W_E[:, 0], W_pos[-1, 1], W_pos[:, 2] = code.values, 1.0, scores
    W_U = np.zeros((3, task.n_answers))
    W_U[1] = -1.0  # what is never a label; a label that is named has the logit -1/8 or more
    W_U[1, answers] = -((np.arange(len(answers)) - points[0]) ** 2) / 2.0
    W_U[2, answers] = np.arange(len(answers)) - points[0]
    blocks = _numbering(float(shares.sum())), _stepping(task, middles, jumps, len(answers))
    model = rounded_model(Model(blocks=blocks, W_U=W_U, W_E=W_E, W_pos=W_pos), dtype)
    summary = f"{counted(task.n_contexts, 'context')}, {code.bits}-bit codes"
    heads = f"{counted(len(jumps), 'head')} that step{'s' * (len(jumps) == 1)}"
    return Construction(task, model, f"{summary}, {heads}, {model.parameters} parameters")


def _numbering(total: float) -> Attention:
    """Return the head that attends by position only."""
    number, flag, score = np.eye(3)[:, None, :, None]
    return Attention(W_Q=flag, W_K=score, W_V=number, W_O=total * number.transpose(0, 2, 1), attends="causal")


def _stepping(task: Task, middles: Int64Array, jumps: Int64Array, count: int) -> Attention:
    """Return the heads that step; the slope is steep enough for all steps together to miss by less than 1/8."""
    slope = float(math.ceil(2.0 * math.log(16.0 * count)))
    n_heads = len(jumps)
    # Columns of the stream: the number z of the context, a flag that is 1 at one position, and the output.
    W_Q, flag, W_O = np.zeros((n_heads, 3, 1)), np.zeros((n_heads, 3, 1)), np.zeros((n_heads, 1, 3))
    W_Q[:, 0, 0] = slope
    W_Q[:, 1, 0] = math.log(task.n_ctx - 1) - slope * middles
    flag[:, 1] = 1.0
    W_O[:, 0, 2] = jumps
    return Attention(W_Q=W_Q, W_K=flag, W_V=flag, W_O=W_O, attends="causal")
