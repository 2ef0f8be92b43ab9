r"""A transformer that adds numbers of any number of digits in any base: one layer, two heads, four neurons.

Page: docs/folds.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.folds.fold import addition
from constructions.models.blocks import Attention, FeedForward
from constructions.models.model import Model

SHARPNESS = 32
"""By how much the score of what a head reads exceeds every other one: $e^{-32} < 2^{-46}$."""

MINUS_DIGIT, TARGET, PLACE, BELOW, TOTAL = range(5)
"""The coordinates of the stream."""


def adder(
    digits: int = 10,
    *,
    base: int = 10,
    first_digit: str = "least",
    plus: tuple[int, ...] = (0,),
    equals: tuple[int, ...] = (0,),
    before: tuple[int, ...] = (),
) -> Model:
    r"""Build the weights that add two numbers of so many digits, least digit of the sum first.

    At digit $j$ let $x = a_j + b_j$, and let $c_j$ be the carry into it. Two heads attend by position: the first reads
    $x$ (half of it, from two places), the second $a_{j-1} + b_{j-1}$, of which the stream subtracts the digit
    $s_{j-1}$ that was said last. With $t_{j-1} = a_{j-1} + b_{j-1} + c_{j-1}$ and $s_{j-1} = t_{j-1} \bmod B$,

    $$ w = a_{j-1} + b_{j-1} - s_{j-1} = B c_j - c_{j-1} \quad\text{is at least } B - 1 \ge 1 \text{ if } c_j = 1,
       \text{ and at most } 0 \text{ if } c_j = 0, $$

    so that $c_j = [w]_+ - [w - 1]_+$ for integers. Likewise $Bx + w \ge B^2 - 1$ if $x + c_j \ge B$, and $Bx + w \le
    B(B - 1)$ otherwise, so that two more neurons say whether the sum is $B$ or more. The digit is $y = x + c_j - B
    [x + c_j \ge B]$, and the logit of $m$ is $2my - m^2 = y^2 - (y - m)^2$: it leads by 1.

    This is Theorem FD2, of heads that read exactly. What attention reads beside is left to Theorem FD1, size by size.

    Args:
        digits: Of each number, n.
        base: B, at least 2; the tokens below are digits.
        first_digit: ``"least"`` or ``"most"``: the digit of a number that comes first.
        plus: The tokens between the numbers, at least one; each is 0 or no digit.
        equals: The tokens after the second number, likewise.
        before: The tokens before the first number.

    Returns:
        A model whose greedy decoding says n + 1 digits.

    Raises:
        InputError: A size that is too small, or a separator that is missing or is a digit other than 0.

    Example:
        >>> model = adder(3, base=2)
        >>> model.d_model, model.n_ctx, model.parameters
        (5, 11, 185)
    """
    for name, tokens in (("plus", plus), ("equals", equals)):
        wrong = [token for token in tokens if 0 < token < base]
        if not tokens or wrong:
            raise InputError(name, f"= {tokens}", "at least one token, each 0 or no digit")
    fold = addition(digits, base=base, first_digit=first_digit, plus=plus, equals=equals, before=before)
    tokens = max(base, fold.largest_token + 1)
    numbers = np.arange(tokens)

    W_E = np.zeros((tokens, 5))
    W_E[:base, MINUS_DIGIT] = -np.arange(base)
    W_pos = np.zeros((fold.longest, 5))
    W_pos[:, BELOW] = -1.0  # what is never read: a score of -SHARPNESS
    for digit, stage in enumerate(fold.stages[:digits]):
        for position in stage.positions:
            W_pos[position, [PLACE, BELOW]] = digit, -float(digit**2)
    first = len(before) + digits
    # Before the first digit and behind the last one stands 0: the separators.
    for start, length, place in ((first, len(plus), -1), (first + len(plus) + digits, len(equals), digits)):
        W_pos[start : start + length, PLACE] = place
        W_pos[start : start + length, BELOW] = -float(place**2)
    W_pos[fold.length - 1 :, TARGET] = np.arange(digits + 1)

    # The score of place d for target j is SHARPNESS (2jd - d^2): largest at d = j, by SHARPNESS at least.
    query, key = np.zeros((2, 5, 2)), np.zeros((2, 5, 2))
    query[:, TARGET, 0] = 1.0
    shifts = np.array([[0.0, 1.0], [-1.0, 1.0]])  # the second head looks one digit back
    key[:, PLACE, 0], key[:, BELOW, 1] = 2.0 * SHARPNESS, float(SHARPNESS)
    value, output = np.zeros((2, 5, 1)), np.zeros((2, 1, 5))
    value[:, MINUS_DIGIT, 0] = -1.0
    output[0, 0, TOTAL] = output[1, 0, MINUS_DIGIT] = 2.0  # twice a mean of two digits
    attention = Attention(query, key, value, output, b_Q=shifts, attends="causal")

    W_in, b_in = np.zeros((5, 4)), np.zeros(4)
    W_in[MINUS_DIGIT] = 1.0
    W_in[TOTAL, 2:] = base
    b_in[:] = 0.0, -1.0, -base * (base - 1.0), -base * (base - 1.0) - 1.0
    W_out = np.zeros((4, 5))
    W_out[:, TOTAL] = 1.0, -1.0, -base, base
    neurons = FeedForward(W_in, W_out, b_in=b_in, activation="relu")

    W_U = np.zeros((5, tokens))
    W_U[TOTAL] = 2.0 * numbers
    return Model((attention, neurons), W_U, b_U=-(numbers**2.0), W_E=W_E, W_pos=W_pos)
