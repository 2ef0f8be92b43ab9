r"""A transformer that adds numbers of any number of digits in any base: one layer, two heads, four neurons.

Page: docs/folds.md
"""

import numpy as np

from constructions.errors import InputError
from constructions.folds.fold import addition
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array

SHARPNESS = 16
"""By how much the score of what a head reads exceeds every other one: $e^{-16} < 2^{-23}$."""

MINUS_DIGIT, TOTAL, FIRST = range(3)
"""The coordinates of the stream: two numbers, and from `FIRST` on the code of a place and that of what is asked for."""


def adder(
    digits: int = 10,
    *,
    base: int = 10,
    first_digit: str = "least",
    plus: tuple[int, ...] = (0,),
    equals: tuple[int, ...] = (0,),
    before: tuple[int, ...] = (),
) -> Model:
    r"""Build weights that add two numbers with a given number of digits, least significant digit first.

    At digit $j$ let $x = a_j + b_j$, and let $c_j$ be the carry into it. Two heads attend by position: the first reads
    $x$ (half of it, from two places), the second $a_{j-1} + b_{j-1}$, of which the stream subtracts the digit
    $s_{j-1}$ that was said last. With $t_{j-1} = a_{j-1} + b_{j-1} + c_{j-1}$ and $s_{j-1} = t_{j-1} \bmod B$,

    $$ w = a_{j-1} + b_{j-1} - s_{j-1} = B c_j - c_{j-1} \quad\text{is at least } B - 1 \ge 1 \text{ if } c_j = 1,
       \text{ and at most } 0 \text{ if } c_j = 0, $$

    so that $c_j = 2 [w - \frac14]_+ - 2 [w - \frac34]_+$. Let $P$ be the least power of two of at least $B$. Then
    $z = x + w / P$ is at least $B - \frac12$ if $x + c_j \ge B$, and at most $B - 1$ otherwise, so that two more
    neurons say whether the sum is $B$ or more: $4 [z - B + \frac78]_+ - 4 [z - B + \frac58]_+$. The digit is $y = x +
    c_j - B [x + c_j \ge B]$, and the logit of $m$ is $2my - m^2 = y^2 - (y - m)^2$: it leads by 1.

    This is Theorem FD2: none of it changes if what the heads read is off by 1/16, but that $y$ is off by as much. What
    attention and rounding do beside is left to Theorem FD1, size by size.

    A place is written in signs: m in succession of a sequence in which no m in succession come twice. What is asked for
    has m + 1 of them, of which the first head reads the last m, and the second head, one digit back, the first m.
    Scores are small integers then, whatever the number of digits.

    Args:
        digits: Number of digits of each number, n.
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
        (9, 11, 357)
    """
    for name, tokens in (("plus", plus), ("equals", equals)):
        wrong = [token for token in tokens if 0 < token < base]
        if not tokens or wrong:
            raise InputError(name, f"= {tokens}", "at least one token, each 0 or no digit")
    fold = addition(digits, base=base, first_digit=first_digit, plus=plus, equals=equals, before=before)
    tokens = max(base, fold.largest_token + 1)
    power = 2.0 ** (base - 1).bit_length()
    numbers = np.arange(tokens)

    signs = max(2, (digits + 1).bit_length())  # 2^signs places, of which digits + 2 are read
    sequence = _signs(signs)
    d_model = FIRST + 2 * signs + 1
    place_code, target_code = slice(FIRST, FIRST + signs), slice(FIRST + signs, d_model)

    W_E = np.zeros((tokens, d_model))
    W_E[:base, MINUS_DIGIT] = -np.arange(base)
    W_pos = np.zeros((fold.longest, d_model))
    # Before the first digit and behind the last one stands 0: the separators.
    first = len(before) + digits
    places = {-1: range(first, first + len(plus)), digits: range(fold.length - len(equals), fold.length)}
    places |= {digit: stage.positions for digit, stage in enumerate(fold.stages[:digits])}
    for place, positions in places.items():
        W_pos[list(positions), place_code] = sequence[place + 1 : place + 1 + signs]
    for target in range(digits + 1):
        W_pos[fold.length - 1 + target, target_code] = sequence[target : target + signs + 1]

    # A place that is another one differs in a sign, and what is no place has no signs: its score is less by SHARPNESS.
    query, key = np.zeros((2, d_model, signs)), np.zeros((2, d_model, signs))
    query[0, target_code][1:] = query[1, target_code][:-1] = np.eye(signs)
    key[:, place_code] = 0.5 * SHARPNESS * np.eye(signs)
    value, output = np.zeros((2, d_model, 1)), np.zeros((2, 1, d_model))
    value[:, MINUS_DIGIT, 0] = -1.0
    output[0, 0, TOTAL] = output[1, 0, MINUS_DIGIT] = 2.0  # twice a mean of two digits
    attention = Attention(query, key, value, output, attends="causal")

    W_in = np.zeros((d_model, 4))
    W_in[MINUS_DIGIT] = 1.0, 1.0, 1.0 / power, 1.0 / power
    W_in[TOTAL, 2:] = 1.0
    b_in = np.array([-0.25, -0.75, 0.875 - base, 0.625 - base])
    W_out = np.zeros((4, d_model))
    W_out[:, TOTAL] = 2.0, -2.0, -4.0 * base, 4.0 * base
    neurons = FeedForward(W_in, W_out, b_in=b_in, activation="relu")

    W_U = np.zeros((d_model, tokens))
    W_U[TOTAL] = 2.0 * numbers
    return Model((attention, neurons), W_U, b_U=-(numbers**2.0), W_E=W_E, W_pos=W_pos)


def _signs(window: int) -> Float64Array:
    """Return signs in which no `window` consecutive ones repeat: a de Bruijn sequence, cut open; `[2^window + window -
    1]`.

    Source: Martin (1934): after as many first signs, the other sign wherever what ends with it is new.

    Example:
        >>> _signs(2).tolist()
        [-1.0, -1.0, 1.0, 1.0, -1.0]
    """
    signs, seen = [-1.0] * window, {(-1.0,) * window}
    while len(signs) < 2**window + window - 1:
        begun = tuple(signs[1 - window :])
        signs.append(-1.0 if (*begun, 1.0) in seen else 1.0)
        seen.add((*begun, signs[-1]))
    return np.array(signs)
