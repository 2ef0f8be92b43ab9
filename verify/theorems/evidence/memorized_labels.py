"""Certify that a layer that reads vectors memorizes the labels of its task, and that its mixed inputs have full rank.

Page: docs/claims/context_rank.md
"""

from typing import NamedTuple

import numpy as np

from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure
from verify.forward.heads import enclose_layer
from verify.forward.logits import enclose_logits
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.verdict import Verdict

_ERROR = 1e-6  # of a label; what roundings leave


class HeldLabels(NamedTuple):
    """The certified labels.

    Args:
        memorized: Whether every label is memorized and Z has rank T.
        certified: How near the labels are, or how far in front.
        method: How that was certified.
    """

    memorized: bool
    certified: str
    method: str


def memorized_labels(
    layer: Model, task: VectorTask, *, added: Enclosure | None = None, labels: Float64Array | None = None
) -> HeldLabels:
    """Enclose the outputs of a layer, compare them with labels, and certify the rank of the mixed inputs.

    Args:
        layer: The weights.
        task: Contexts, queries and labels: numbers, which are held to 1e-6, or classes, whose outputs must be in front.
        added: Terms to add to the outputs, `[T, d_out]`.
        labels: The numbers, where they are not those of the task, `[T, d_out]`.
    """
    forward = enclose_layer(layer, task)
    outputs = enclose_logits(layer, task)
    outputs = outputs if added is None else outputs + added
    proof = certify_full_row_rank(forward.mixed)
    if task.kind == "regression":
        error = float(abs(outputs - (task.labels if labels is None else labels)).upper().max())
        memorized, certified = error <= _ERROR, f"every label within {error:.1e}"
    else:
        rows, right = np.arange(task.n_examples), task.classes
        others = outputs.upper()
        others[rows, right] = -np.inf
        margin = float((outputs.lower()[rows, right] - others.max(axis=1)).min())
        memorized, certified = margin > 0, f"every class in front, by {margin:.2g} or more"
    return HeldLabels(
        memorized and proof.verdict is Verdict.PROVED, certified, f"enclosed outputs, and rank by {proof.method}"
    )
