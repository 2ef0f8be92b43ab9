r"""One head that reads the whole input: a maximum of tokens, and a sum of tokens modulo a number.

Page: docs/folds.md (Theorem FD3)
"""

import numpy as np

from constructions.errors import require_at_least
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array

SHARPNESS = 16
"""By how much the score of a token exceeds that of the next smaller one: $e^{-16} < 2^{-23}$."""


def largest_token(count: int, *, below: int) -> Model:
    r"""Build weights that answer with the largest of a number of tokens: a stream of one number, one head.

    Token v has the score 16 v and the value v, so that the head reads $y = \max v$ up to what smaller tokens weigh; the
    logit of m is $2my - m^2 = y^2 - (y - m)^2$.

    Args:
        count: Number of tokens.
        below: They are below this.

    Example:
        >>> largest_token(10, below=100).parameters
        315
    """
    require_at_least(1, count=count, below=below)
    one = np.ones((1, 1, 1))
    attention = Attention(
        0.0 * one, SHARPNESS * one, one, one, b_Q=np.ones((1, 1)), attends="causal", skip=False
    )  # fmt: skip
    return _read_out((attention,), count, below, below)


def sum_of_tokens(terms: int, *, below: int, modulus: int) -> Model:
    r"""Build weights that answer with the sum of a number of tokens modulo M; for bits modulo 2 this is parity.

    The head reads the mean, its output map makes the sum T of it, and for each multiple kM that T may reach two neurons
    say whether it does: $2 \max(T - kM + \frac34, 0) - 2 \max(T - kM + \frac14, 0)$ is 1 if $T \ge kM$, and 0 if
    $T \le kM - 1$. So many times M is taken off, which leaves $y = T \bmod M$; the logits are those of
    `largest_token`.

    Args:
        terms: Number of tokens.
        below: They are below this.
        modulus: M.

    Example:
        >>> parity = sum_of_tokens(64, below=2, modulus=2)
        >>> parity.blocks[1].d_mlp, parity.parameters
        (64, 266)
    """
    require_at_least(1, terms=terms, below=below, modulus=modulus)
    one = np.ones((1, 1, 1))
    attention = Attention(0.0 * one, 0.0 * one, one, terms * one, attends="causal", skip=False)
    multiples = modulus * np.arange(1.0, terms * (below - 1) // modulus + 1)
    blocks: tuple[Attention | FeedForward, ...] = (attention,)
    if len(multiples):
        b_in = np.concatenate([0.75 - multiples, 0.25 - multiples])
        W_out = 2.0 * modulus * np.repeat([[-1.0], [1.0]], len(multiples), axis=0)
        blocks += (FeedForward(np.ones((1, len(b_in))), W_out, b_in=b_in, activation="relu"),)
    return _read_out(blocks, terms, below, modulus)


def _read_out(blocks: tuple[Attention | FeedForward, ...], length: int, below: int, answers: int) -> Model:
    """Return a model with a stream of one number that answers with the token next to it."""
    tokens: Float64Array = np.arange(float(below))[:, None]
    answer_values: Float64Array = np.arange(float(answers))
    return Model(blocks, 2.0 * answer_values[None], b_U=-(answer_values**2), W_E=tokens, W_pos=np.zeros((length, 1)))
