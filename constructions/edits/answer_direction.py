"""Find a residual stream for which a model gives a chosen answer with the largest margin.

Page: docs/claims/editing.md
"""

import numpy as np

from constructions.errors import HypothesisError
from constructions.model.blocks import Normalization
from constructions.numeric.arrays import Float64Array

_STEPS = 4000
_GOOD = 0.5  # share of the largest lead that is enough


def answer_direction(
    answer: int, norm: Normalization, W_U: Float64Array, b_U: Float64Array | None = None
) -> tuple[Float64Array, float]:
    r"""Return a normalized row n of length $\sqrt d$ for which one answer leads all others, and its margin.

    The lead is $\min_k \langle n, a_k \rangle + \beta_k$ with $a_k = P(w \odot (U_t - U_k))$ and
    $\beta_k = \langle b, U_t - U_k \rangle + b_{U,t} - b_{U,k}$; $P$ takes the mean away for layer normalization. For
    every $\lambda$ of the simplex

    $$ \min_k \langle n, a_k \rangle + \beta_k \le
       \sqrt d \Bigl\vert \sum_k \lambda_k a_k \Bigr\vert + \sum_k \lambda_k \beta_k \quad (|n| \le \sqrt d), $$

    with equality at the best pair. The right side is made small from the uniform $\lambda$ on, by steps towards the
    answer that is most in the way (Frank and Wolfe), until $n = \sqrt d \sum \lambda a / |\sum \lambda a|$ has half of
    it, or it is 0 but for rounding: then no stream gives the answer.

    Args:
        answer: $t$.
        norm: The last normalization.
        W_U: Readout, `[d, answers]`.
        b_U: Its shift, `[answers]`, or none.

    Returns:
        The row, `[d]`, and its lead, above 0, in nats.

    Raises:
        HypothesisError: No stream gives the answer.

    Source: Frank, Wolfe (1956).

    Example:
        >>> row, lead = answer_direction(1, Normalization("rms", w=np.ones(2)), np.eye(2))
        >>> row.round(6).tolist(), round(lead, 6)
        ([-1.0, 1.0], 2.0)
    """
    d, answers = W_U.shape
    if answers == 1:
        return np.full(d, 0.0), np.inf
    other_answers = np.delete(np.arange(answers), answer)
    gained = norm.w[:, None] * W_U
    if norm.kind == "layer":
        gained = gained - gained.mean(axis=0)
    shift = np.zeros(answers) if norm.b is None else norm.b @ W_U
    shift = shift if b_U is None else shift + b_U
    leads, offset = gained[:, answer, None] - gained[:, other_answers], shift[answer] - shift[other_answers]
    # The direction does not depend on the unit of the logits; with a unit near the largest, no square leaves float64.
    exponent = int(np.frexp(max(np.abs(leads).max(), np.abs(offset).max()))[1])
    leads, offset = np.ldexp(leads, -exponent), np.ldexp(offset, -exponent)
    at, level = leads.mean(axis=1), float(offset.mean())
    scale = float(np.abs(leads).max()) * np.sqrt(d) + float(np.abs(offset).max())
    bound = np.inf
    for step in range(_STEPS):
        length = float(np.linalg.norm(at))
        bound = min(bound, np.sqrt(d) * length + level)
        if bound <= 1e-9 * scale:
            break
        if length > 0.0:
            row = at * (np.sqrt(d) / length)
            values = row @ leads + offset
            worst = int(values.argmin())
            if values[worst] >= _GOOD * bound:
                return row, float(np.ldexp(values[worst], exponent))
        else:
            worst = int(offset.argmin())
        share = 2.0 / (step + 3.0)
        at = (1.0 - share) * at + share * leads[:, worst]
        level = (1.0 - share) * level + share * float(offset[worst])
    most = float(np.ldexp(max(bound, 0.0), exponent))
    raise HypothesisError(
        "an edit",
        "an answer whose logit some stream makes the largest",
        f"answer {answer} leads all others by at most {most:.1e} nats, for every stream",
    )
