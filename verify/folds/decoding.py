"""Decode greedily in real arithmetic, token by token.

Page: docs/folds.md
"""

from collections.abc import Sequence

import numpy as np

from constructions.model.model import Model
from verify.arithmetic.rounding import down
from verify.forward.ladder import rising_precision


def decoded(model: Model, prompt: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the greedily decoded tokens after a prompt, each proved to have the strictly largest logit.

    Args:
        model: The weights, in float64.
        prompt: The tokens that are read first.
        count: How many tokens are said at most.

    Returns:
        The tokens. There are fewer than `count` where two logits are equal, or too close to tell which is larger.

    Example:
        >>> counter = Model(blocks=(), W_U=np.roll(np.eye(5), 1, axis=1), W_E=np.eye(5), W_pos=np.zeros((4, 5)))
        >>> decoded(counter, [2], 3)
        (3, 4, 0)
    """
    tokens: list[int] = []
    while len(tokens) < count:
        token = first_token(model, (*prompt, *tokens))
        if token is None:
            break
        tokens.append(token)
    return tuple(tokens)


def first_token(model: Model, context: Sequence[int]) -> int | None:
    """Return the token proved to have the strictly largest logit; None if nothing is proved."""
    is_open = np.ones(1, dtype=bool)
    for _, _, _, logits in rising_precision(model, np.array([context], dtype=np.int64), is_open):
        best = int(logits.midpoint[0].argmax())
        others = np.delete(logits.upper()[0], best)
        if (down(logits.lower()[0, best] - others) > 0.0).all():
            return best
    return None
