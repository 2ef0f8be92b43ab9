"""The four contexts of XOR, and what one head writes for them: two segments that cross.

    python docs/figures/exclusive_or.py

writes the drawing beside this file. Its points are what a head with given exponentials of scores and given values
writes, and the crossing is the average with the denominators as weights.
"""

from fractions import Fraction

import figure_program

from byheart.report import drawing as draw

EVEN, ODD = ((0, 0), (1, 1)), ((0, 1), (1, 0))
# A score has a part of the token and one of the position, and so has a vector. Of scores these are the exponentials.
TOKEN_SCORE, POSITION_SCORE = {0: 1, 1: 4}, {1: 3, 2: 3, 3: 1}
TOKEN_VECTOR, POSITION_VECTOR = {0: (0, 0), 1: (9, 0)}, {1: (1, 9), 2: (2, 0), 3: (10, 5)}
PLACES = ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0))
SCORE = {(position, token): POSITION_SCORE[position] * TOKEN_SCORE[token] for position, token in PLACES}
VALUE = {
    (position, token): tuple(a + b for a, b in zip(POSITION_VECTOR[position], TOKEN_VECTOR[token], strict=True))
    for position, token in PLACES
}


def denominator(context: tuple[int, int]) -> int:
    return SCORE[1, context[0]] + SCORE[2, context[1]] + SCORE[3, 0]


def written(context: tuple[int, int]) -> tuple[Fraction, Fraction]:
    """Return the average of the values with the attention of the context."""
    places = [(1, context[0]), (2, context[1]), (3, 0)]
    x, y = (sum(SCORE[place] * VALUE[place][axis] for place in places) for axis in (0, 1))
    return Fraction(x, denominator(context)), Fraction(y, denominator(context))


def meeting(pair: tuple[tuple[int, int], tuple[int, int]]) -> tuple[Fraction, Fraction]:
    """Return the average of the two outputs whose weights are the denominators."""
    one, other = pair
    share = Fraction(denominator(one), denominator(one) + denominator(other))
    (x, y), (u, v) = written(one), written(other)
    return share * x + (1 - share) * u, share * y + (1 - share) * v


def drawing() -> str:
    if meeting(EVEN) != meeting(ODD):
        raise ArithmeticError("the segments do not meet")
    parts = [draw.words(150, 24, "the contexts", "faint"), draw.words(500, 24, "what one head writes", "faint")]
    square = {(a, b): (75 + 150 * a, 220 - 150 * b) for a in (0, 1) for b in (0, 1)}

    def plane(point: tuple[Fraction, Fraction]) -> tuple[float, float]:
        """Where a point of the rectangle that contains all values is drawn."""
        return 375 + 240 * float(point[0] / 11), 220 - 150 * float(point[1] / 9)

    for pair, name, label in ((EVEN, "first", 0), (ODD, "second", 1)):
        parts.append(draw.line(*[square[context] for context in pair], kind=name))
        parts.append(draw.line(*[plane(written(context)) for context in pair], kind=name))
        for context in pair:
            text = f"{context[0]} {context[1]} 0"
            for x, y in (square[context], plane(written(context))):
                parts.append(draw.dot(x, y, f"on-{name}", 7))
                parts.append(draw.words(x, y + (26 if y > 145 else -16), f"{text} → {label}"))
    x, y = plane(meeting(EVEN))
    parts += [draw.dot(x, y, "ink", 9), draw.words(x - 14, y + 22, "a point of both", anchor="end")]
    title = (
        "Left, the contexts 000, 110, 010, 100 as the corners of a square; a blue diagonal joins the two with label 0, "
        "an orange one the two with label 1. Right, what one head writes for them: the blue and the orange segment "
        "cross in a point."
    )
    return draw.figure(title, 680, 275, parts)


if __name__ == "__main__":
    figure_program.run(__file__, drawing)
