"""A memory that the package does not know: one number a first token, for tables whose first column decides.

It is read by path, as a file of somebody's own.
"""

import numpy as np

from constructions.errors import HypothesisError
from constructions.memories.memory import Memory
from constructions.model.blocks import Attention
from constructions.model.construction import Construction
from constructions.model.model import Model


class FirstToken(Memory):
    """One head reads the first token; the answers lie on a parabola."""

    name = "first-token"
    needs = "two tokens, of which the first decides; labels"
    cost = "2 N + 2 K + 12"
    attention_only = True

    def build(self, task, limits):
        del limits
        label_of = dict(zip(task.contexts[:, 0].tolist(), task.labels.tolist(), strict=True))
        if any(label_of[first] != label for (first, _), label in zip(task.contexts.tolist(), task.labels, strict=True)):
            raise HypothesisError("The first token", "a label for each first token", "some first token has two")
        # Column 0 says which answer, column 1 only that this is the first place: a hard head looks there.
        W_E = np.zeros((task.d_vocab, 2))
        W_E[list(label_of), 0] = list(label_of.values())
        answer, place = np.array([[[1.0], [0.0]]]), np.array([[[0.0], [1.0]]])
        head = Attention(
            W_Q=0.0 * place, b_Q=np.array([[128.0]]), W_K=place, W_V=answer, W_O=np.ones((1, 1, 1)), skip=False
        )
        x = np.arange(float(task.n_answers))  # the logits 2 x y - x^2 are largest at x = y
        model = Model(blocks=(head,), W_U=2.0 * x[None], b_U=-(x**2), W_E=W_E, W_pos=np.array([[0.0, 1.0], [0.0, 0.0]]))
        return Construction(task, model, f"{task.n_contexts} facts by their first tokens")


FIRST_TOKEN = FirstToken()
