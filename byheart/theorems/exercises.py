"""Judge the exercises of the book that a program can check, and explain what is wrong with an answer.

An exercise is called by its chapter and its number, such as ``"3.2"``. A judge takes the answer as text, returns ``""``
if it is right, and otherwise says why it is not. It accepts every right answer, not only that of the solution. Where an
exercise asks for a proof, the judge decides the number or the example that the proof turns on.

Page: docs/index.md
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate, combinations, permutations

import numpy as np

from byheart.theorems.exercise_answers import Number, agrees_in_two_digits, compared, contexts_of, numbers
from constructions.attention.capacity.bigram_rank import bigram_rank
from constructions.attention.capacity.head_counts import capacity
from constructions.errors import InputError


@dataclass(frozen=True)
class Exercise:
    """An exercise and its judge.

    Args:
        asks: What an answer is, e.g. ``"three positive numbers y_0, y_1, y_S"``.
        example: An answer of the right form, which need not be right.
        judge: Returns what is wrong with an answer, ``""`` if nothing is; raises `InputError` if it cannot be read.
    """

    asks: str
    example: str
    judge: Callable[[str], str]


EXERCISES: dict[str, Exercise] = {}
"""The exercises that are judged, by chapter and number."""


def exercise(name: str, asks: str, example: str) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
    """Register the judge of an exercise."""

    def register(judge: Callable[[str], str]) -> Callable[[str], str]:
        EXERCISES[name] = Exercise(asks, example, judge)
        return judge

    return register


def found(name: str) -> Exercise:
    """Return the exercise of a name.

    Raises:
        InputError: No exercise of this name is judged.
    """
    if name not in EXERCISES:
        raise InputError("exercise", f"is {name!r}", f"one that is judged: {', '.join(EXERCISES)}")
    return EXERCISES[name]


def judged(name: str, answer: str) -> str:
    """Return what is wrong with the answer to an exercise, ``""`` if it is right.

    Args:
        name: Chapter and number, e.g. ``"3.2"``.
        answer: The answer as text.

    Raises:
        InputError: No exercise of this name is judged, or the answer cannot be read.

    Example:
        >>> judged("3.2", "3")
        ''
        >>> judged("3.1", "1/3, 1, 1"), judged("3.1", "y = 0.2, 0.6, 0.6")
        ('', '')
    """
    return found(name).judge(answer)


def _is(names: Sequence[str], values: Callable[[], Sequence[Number]], answer: str) -> str:
    return compared(answer, list(zip(names, values(), strict=True)))


def _numbers_of(name: str, asks: Sequence[str], example: str, values: Callable[[], Sequence[Number]]) -> None:
    """Register an exercise whose answer is one list of numbers."""
    exercise(name, ", ".join(asks), example)(partial(_is, asks, values))


# Chapter 1

_numbers_of("1.1", ["the first coordinate", "the second"], "4/7, 9/14", lambda: [Fraction(10, 13), Fraction(9, 13)])


@exercise(
    "1.2",
    "the five numbers y in the order of the table, then the five vectors x",
    "1 1 1 1 1; 0 0, 1 1, 0 0, 1 1, 0 0",
)
def _three_points(answer: str) -> str:
    """Judge what one head writes for 000, 110 and 010, exactly where the numbers are rational."""
    values = [value for value, _ in numbers(answer, 15)]
    y, x = values[:5], [values[i : i + 2] for i in range(5, 15, 2)]
    if min(y) <= 0:
        return "exponentials are positive"
    if y[0] * y[3] != y[1] * y[2] and not math.isclose(y[0] * y[3], y[1] * y[2], rel_tol=1e-6):
        return "y has a factor for the token and one for the position, so y_10 y_21 and y_11 y_20 must be equal"
    if any(abs(float(x[0][axis] + x[3][axis] - x[1][axis] - x[2][axis])) > 1e-6 for axis in (0, 1)):
        return "x is a vector of the token plus one of the position, so x_10 + x_21 and x_11 + x_20 must be equal"
    points = []
    for context in ((0, 2, 4), (1, 3, 4), (0, 2 + 1, 4)):  # columns of the table: (position, token)
        total = sum(y[column] for column in context)
        points.append([sum(y[column] * x[column][axis] for column in context) / total for axis in (0, 1)])
    (a, b), (c, d), (e, f) = points
    area = (c - a) * (f - b) - (d - b) * (e - a)
    size = max(abs(float(each)) for each in (a, b, c, d, e, f))
    if area != 0 and (isinstance(area, Fraction) or abs(area) > 1e-9 * size**2):
        return ""
    shown = ", ".join(f"({first}, {second})" for first, second in points)
    return f"the points {shown} lie on one line"


_numbers_of(
    "1.3",
    ["the largest rank without a head", "that with one head", "that with two heads"],
    "2, 4, 4",
    lambda: [Fraction(_bigram_rank([[n, n] for n in range(4)], 2, 2, heads, with_skip=True)) for heads in (0, 1, 2)],
)

# Chapter 2

_numbers_of(
    "2.1",
    ["the logit of token 0", "that of token 1"],
    "3, 1",
    lambda: [3 * math.e / (math.e + 1), 1 + 3 / (math.e + 1)],
)
_numbers_of("2.2", ["the number of entries"], "40", lambda: [Fraction(2 * 4 + 2 * 4 + 2 * 4 * 1 + 2 * 4 * 2 + 4 * 2)])

_numbers_of("2.3", ["the factor of W_Q", "the factor of W_U"], "16, 64", lambda: [Fraction(4), Fraction(8)])

# Chapter 3


@exercise("3.1", "three positive numbers y_0, y_1, y_S with which the rank is 1", "1, 2, 1")
def _equal_outputs(answer: str) -> str:
    """Judge the two outputs of the head, for the inputs 0, 1 and 2."""
    (y_0, _), (y_1, _), (y_S, _) = numbers(answer, 3)
    if min(y_0, y_1, y_S) <= 0:
        return "exponentials are positive"
    first, second = 2 * y_S / (y_0 + y_S), (y_1 + 2 * y_S) / (y_1 + y_S)
    if first == second or (isinstance(first, float) and math.isclose(first, second, rel_tol=1e-9)):
        return ""
    return f"the head's outputs differ: A(00) = {first}, A(10) = {second}, so the rank is 2"


_NINE = [[a, b, 0] for a in range(3) for b in range(3)]


@exercise("3.2", "the number of heads", "9")
def _heads_of_nine(answer: str) -> str:
    """Judge a number of heads by the certified ranks of nine contexts."""
    ((heads, text),) = numbers(answer, 1)
    if heads != int(heads) or not 0 <= heads <= 16:
        return f"{text} is not a number of heads that nine contexts may need"
    ranks = [capacity(np.array(_NINE), d_model=64, d_head=64, n_heads=n) for n in (int(heads), max(int(heads) - 1, 0))]
    if ranks[0].rank_upper < 9:
        return f"{text} heads give rank {ranks[0].rank_upper} at most"
    return f"{int(heads) - 1} heads give rank 9 too" if ranks[1].rank_lower == 9 and heads > 0 else ""


@exercise("3.3", "contexts, the last one being the one more", "000 110 011 101")
def _one_more_context(answer: str) -> str:
    """Judge contexts by the certified ranks with and without the last one, for widths that do not limit them."""
    contexts = contexts_of(answer)
    count = len(contexts)
    if count != len({tuple(context) for context in contexts}):
        return "a context is given twice"
    if not 2 <= count <= 64:
        return f"{count} contexts: give 2 to 64"
    width = count + len(contexts[0])
    before, after = (
        capacity(np.array(some_contexts), d_model=width, d_head=width, n_heads=1)
        for some_contexts in (contexts[:-1], contexts)
    )
    if before.rank_lower < count - 1:
        return f"without the last context the rank is {before.rank_upper} at most, and the count says {count - 1}"
    return "" if after.rank_upper < count else f"with the last context one head reaches rank {after.rank_lower} too"


# Chapter 4

_numbers_of(
    "4.1",
    ["the rank"],
    "5",
    lambda: [Fraction(_bigram_rank([[1, 0], [2, 1], [0, 2], [0, 0], [1, 1], [2, 2]], 4, 4, 1, with_skip=True))],
)
_numbers_of(
    "4.2",
    ["the heads that Lemma 2 asks for", "the heads that are needed"],
    "3, 4",
    lambda: [
        Fraction(next(n for n in range(1, 99) if min(9, 3 * n) == 9)),
        Fraction(
            next(n for n in range(1, 99) if _bigram_rank([[t, t] for t in range(9)], 3, 3, n, with_skip=False) == 9)
        ),
    ],
)


def _bigram_rank(bigrams: list[list[int]], d_model: int, d_head: int, n_heads: int, *, with_skip: bool) -> int:
    return bigram_rank(np.array(bigrams), d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=with_skip).rank


@exercise("4.3", "d, d_h and H, then bigrams, separated by semicolons", "4 4 1; 0 1; 1 0; 2 2")
def _three_less(answer: str) -> str:
    """Judge bigrams by their exact rank, next to the printed count."""
    plain = re.sub(r"\b\w+ *= *|[(),]", " ", answer)
    sizes, *rows = [part.split() for part in re.split(r"[;\n]", plain) if part.strip()] or [[]]
    if len(sizes) != 3 or not all(len(row) == 2 for row in rows) or not rows:
        raise InputError("answer", f"is {answer!r}", "three sizes and bigrams, such as '4 4 1; 0 1; 1 0'")
    if not all(word.isdecimal() for row in (sizes, *rows) for word in row):
        raise InputError("answer", f"is {answer!r}", "integers at least 0")
    d_model, d_head, n_heads = map(int, sizes)
    bigrams = [[int(word) for word in row] for row in rows]
    if not 1 <= d_head <= d_model <= 64 or n_heads > 64 or len(bigrams) > 64:
        return "sizes: 1 <= d_h <= d <= 64, at most 64 heads and 64 bigrams"
    if len({tuple(bigram) for bigram in bigrams}) < len(bigrams):
        return "a bigram is given twice"
    count = min(len(bigrams), n_heads * d_head + d_model)
    rank = _bigram_rank(bigrams, d_model, d_head, n_heads, with_skip=True)
    return (
        "" if rank <= count - 3 else f"the rank is {rank} and the printed count {count}, a difference of {count - rank}"
    )


# Chapters 5 to 8

_numbers_of("5.1", ["lambda"], "0.5", lambda: [math.log(3) / 1.82])
_numbers_of("5.2", ["lambda"], "16", lambda: [math.log(4e7 - 4)])


@exercise("5.3", "M and B for E = (3, 5), then a stream E that cannot be reached", "3, 5, 1, 0")
def _unreached_stream(answer: str) -> str:
    """Judge the solution for one stream, and a stream for which M would be 0."""
    (M, _), (B, _), (E_1, _), (E_2, _) = numbers(answer, 4)
    if (M, M + B) != (3, 5):
        return f"X' M + Y' B is ({M}, {M + B}), not (3, 5)"
    return f"the stream ({E_1}, {E_2}) is reached with M = {E_1} and B = {E_2 - E_1}" if E_1 != 0 else ""


@exercise("6.1", "the numbers W_U and W_O", "2, 3/2")
def _two_weights(answer: str) -> str:
    """Judge the stream of the two contexts, times the unembedding."""
    (W_U, _), (W_O, _) = numbers(answer, 2)
    reached = [(1 + feature * W_O) * W_U for feature in (0, 1)]
    return "" if reached == [1, -3] else f"the contexts get {reached[0]} and {reached[1]}, not 1 and -3"


@exercise("6.2", "the two entries of W_O", "2, 4")
def _heads_alone(answer: str) -> str:
    """Judge X + Y W_O for X = (1, 1) and the rows (1, 1) and (0, 1) of Y."""
    (first, _), (second, _) = numbers(answer, 2)
    reached = [1 + first + second, 1 + second]
    return "" if reached == [3, 5] else f"X + Y W_O is ({reached[0]}, {reached[1]}), not (3, 5)"


_numbers_of("6.3", ["the number of heads"], "12", lambda: [Fraction(-(-(50 - 8) // 4))])


_numbers_of("7.1", ["the length lambda"], "1000", lambda: [math.log(1 + 2 / 1e-3) / _margin(100)])
_numbers_of("7.2", ["the divergence"], "0.25 nats", lambda: [math.log(2) / 2])
_numbers_of("7.3", ["the number of tokens"], "1000", lambda: [Fraction(math.isqrt(2**24) + 1)])
_numbers_of(
    "8.1",
    ["the margin", "the length of the stream"],
    "0.5, 100",
    lambda: [_margin(9), (math.log(9) + 34) / _margin(9)],
)
_numbers_of("8.2", ["the largest margin of five labels"], "1", lambda: [_margin(5)])
_numbers_of(
    "8.3",
    ["the product on the parabola", "the product on the circle"],
    "30, 3",
    lambda: [math.sqrt(10 * 117), 1 / _margin(7)],
)


def _margin(labels: int) -> float:
    return 1 - math.cos(2 * math.pi / labels)


# Chapters 9 to 11

_numbers_of(
    "9.1",
    ["the score of (0, 0)", "that of (1, 0)", "that of (0, 1)", "that of (1, 1)"],
    "log(1/3), 0, 0, 0",
    lambda: [math.log(a / (1 - a)) for a in (1 / 4, 7 / 12, 2 / 3, 1 / 3)],
)
_numbers_of(
    "9.2",
    ["the number of heads", "the number of contexts"],
    "41, 5",
    lambda: [Fraction(-(-(3**4 - 3) // 2)), Fraction(max(3, min(9, 1 + min(3, 3))))],
)
_numbers_of(
    "9.3", ["the bits", "the entries"], "60000, 40000", lambda: [100**2 * math.log2(100), Fraction(4 * 100**2 + 400)]
)
_numbers_of(
    "10.1",
    ["the labels of one head", "those of two", "those of three"],
    "10, 12, 14",
    lambda: [Fraction(16 - _parity_errors(4, heads)) for heads in (1, 2, 3)],
)


def _parity_errors(bits: int, heads: int) -> int:
    """Return the errors (2) of chapter 10."""
    halves = ((bits - heads - 1) // 2, (bits - heads - 2) // 2)
    return sum(math.comb(bits - 1, i) for half in halves for i in range(half + 1))


_numbers_of("10.2", ["the number of heads"], "2", lambda: [Fraction(1)])
_numbers_of("10.3", ["the number of heads"], "3", lambda: [Fraction(2)])


def _entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


_numbers_of("11.1", ["the divergence"], "0.25 nats", lambda: [(math.log(2) - _entropy(0.9)) / 2])


@exercise("11.2", "the differences of logits after 000, 110, 010 and 100", "2.2, 2.2, -2.2, -2.2")
def _attained_by_no_head(answer: str) -> str:
    """Judge four numbers by their order and by their mean divergence, for p = 0.9."""
    given = numbers(answer, 4)
    values = [float(value) for value, _ in given]
    if min(values[:2]) > max(values[2:]):
        return "both of the first two exceed both of the last two: then the segments do not cross"
    target = math.log(9)
    attained = any(
        all(
            agrees_in_two_digits(value, text, Fraction(0) if place in (i, j) else target if place < 2 else -target)
            for place, (value, text) in enumerate(given)
        )
        for i in (0, 1)
        for j in (2, 3)
    )
    if attained:
        return ""
    costs = [
        p * np.logaddexp(0, -value) + (1 - p) * np.logaddexp(0, value)
        for p, value in zip((0.9, 0.9, 0.1, 0.1), values, strict=True)
    ]
    mean = sum(costs) / 4 - _entropy(0.9)
    return f"their mean divergence is {mean:.8f}, and (2) is {(math.log(2) - _entropy(0.9)) / 2:.8f}"


_numbers_of("11.3", ["the divergence for p = 0.99"], "0.25 nats", lambda: [_weighted_floor(0.99)])


def _weighted_floor(p: float) -> float:
    return 0.5 * _entropy((0.4 * p + 0.1 * (1 - p)) / 0.5) - 0.5 * _entropy(p)


# Chapter 12


def _least_divergence() -> float:
    """Return the divergence of the distribution (.8, .1, .1) from the best prediction with the logits (x, -x, 0)."""
    # The means of (1, -1, 0) are equal: .7 = (y - 1/y) / (y + 1/y + 1) with y = e^x, or .3 y^2 - .7 y - 1.7 = 0.
    y = (0.7 + math.sqrt(0.49 + 4 * 0.3 * 1.7)) / 0.6
    total = y + 1 / y + 1
    return sum(p * math.log(p * total / q) for p, q in ((0.8, y), (0.1, 1 / y), (0.1, 1.0)))


_numbers_of(
    "12.1",
    ["the least d for two contexts and three tokens", "the least d for any contexts and ten tokens"],
    "1, 10",
    lambda: [Fraction(2), Fraction(9)],
)


@exercise("12.2", "the three entries of b, the three of w, then E_1 and E_2", "0 0 0; 0 1 -1; 1 -1")
def _encoder_with_a_bias(answer: str) -> str:
    """Judge the two predictions: a decimal may be rounded to three digits or more."""
    values = [float(value) for value, _ in numbers(answer, 8)]
    b, w = values[:3], values[3:6]
    for name, E, wanted in (("first", values[6], (0.6, 0.3, 0.1)), ("second", values[7], (0.6, 0.1, 0.3))):
        logits = [shift + E * slope for shift, slope in zip(b, w, strict=True)]
        sizes = [math.exp(logit - max(logits)) for logit in logits]
        predicted = [size / sum(sizes) for size in sizes]
        if not all(abs(found - right) <= 0.001 for found, right in zip(predicted, wanted, strict=True)):
            return f"the {name} prediction is {', '.join(f'{each:.3f}' for each in predicted)}"
    return ""


_numbers_of("12.3", ["the divergence"], "0.0523 nats", lambda: [_least_divergence()])

# Chapters 13 to 16

_numbers_of(
    "13.1",
    ["the kappa of (3)", "the kappa of the circle"],
    "2, 8",
    lambda: [Fraction(3), (1 - math.cos(8 * math.pi / 9)) / (1 - math.cos(2 * math.pi / 9))],
)
_numbers_of(
    "13.2",
    ["the coherence of signs", "its kappa", "the constant of Theorem 2", "its kappa"],
    "0.1, 1.2, 0.5, 30",
    lambda: [*_with_kappa(math.sqrt(4 * math.log(1000) / 1024), 1), *_with_kappa(math.sqrt(math.log(1001) / 32), 2)],
)


@exercise("13.3", "three unit vectors in the plane with kappa = 1", "1 0; 0 1; -1 0")
def _equal_leads(answer: str) -> str:
    """Judge lengths and inner products: a decimal may be rounded to three digits or more."""
    values = [float(value) for value, _ in numbers(answer, 6)]
    vectors = [values[i : i + 2] for i in (0, 2, 4)]
    for x, y in vectors:
        if abs(math.hypot(x, y) - 1) > 0.002:
            return f"the vector ({x:g}, {y:g}) has the length {math.hypot(x, y):.3f}"
    products = [a * c + b * d for (a, b), (c, d) in combinations(vectors, 2)]
    if max(products) > 0.99:
        return "two vectors are equal, so a lead is 0"
    if max(products) - min(products) <= 0.005:
        return ""
    return f"the inner products are {', '.join(f'{each:.3f}' for each in products)}, so the leads differ"


_numbers_of("14.1", ["the divergence"], "0.03 nats", lambda: [_cost_of_entropy(0.01)])


@exercise("14.2", "the tokens, counted from 1", "1, 2, 3")
def _ahead_on_a_line(answer: str) -> str:
    """Judge which of the tokens with w = 3, -1, 2, 0 can have the largest logit e w_j."""
    tokens = {value for value, _ in numbers(answer)}
    if not tokens <= {1, 2, 3, 4}:
        return "the four tokens are 1, 2, 3 and 4"
    if tokens - {1, 2}:
        return f"token {min(tokens - {1, 2})} has a neighbour on either side, one of which is ahead of it or equal"
    return "" if tokens == {1, 2} else "another token is ahead of all others for numbers e of the other sign"


_numbers_of("14.3", ["the number of vectors"], "3", lambda: [Fraction(2)])


def _with_kappa(coherence: float, factor: int) -> tuple[float, float]:
    return coherence, (1 + factor * coherence) / (1 - factor * coherence)


def _cost_of_entropy(epsilon: float) -> float:
    """Return the divergence of the distribution (1 - epsilon, epsilon, 0) from a prediction of cost h(epsilon)."""
    likely = math.exp(-_entropy(epsilon))
    return (1 - epsilon) * math.log((1 - epsilon) / likely) + epsilon * math.log(epsilon / ((1 - likely) / 2))


@exercise("15.1", "the two entries of w_1", "0, log(3)")
def _weights_of_a_head(answer: str) -> str:
    """Judge the attention of the three examples."""
    (first, _), (second, _) = given = numbers(answer, 2)
    if all(agrees_in_two_digits(value, text, math.log(3)) for value, text in given):
        return ""
    shares = [1 / (1 + math.exp(-float(score))) for score in (first, second, first + second)]
    return "theta is " + ", ".join(f"{share:.4f}" for share in shares) + ", not 3/4, 3/4 and 9/10"


@exercise("15.2", "four coefficients, one for each column of Z", "1 -1 0 0")
def _relation_of_columns(answer: str) -> str:
    """Judge a combination of the columns (a, 1 - a, b, 1 - b), for all a and b."""
    first, second, third, fourth = (value for value, _ in numbers(answer, 4))
    if not any((first, second, third, fourth)):
        return "all coefficients are 0"
    if first == second and third == fourth and second + fourth == 0:
        return ""
    values = {
        (a, b): first * a + second * (1 - a) + third * b + fourth * (1 - b)
        for a in (Fraction(1, 4), Fraction(1, 2))
        for b in (Fraction(1, 4), Fraction(1, 2))
    }
    (a, b), value = next((pair, value) for pair, value in values.items() if value != 0)
    return f"attention {a} and {b} of the two heads to the first token gives {value}, not 0"


_numbers_of("15.3", ["kappa"], "5", lambda: [math.log(297)])


@exercise("16.1", "four coefficients of z_1 to z_4 whose combination is 0, and the largest rank", "1 -1 1 -1 4")
def _relation_of_queries(answer: str) -> str:
    """Judge a relation of the values s(u), s(-u), s(2u), s(-2u) of the logistic function for all u."""
    *relation, rank = (value for value, _ in numbers(answer, 5))
    if not any(relation):
        return "all coefficients are 0"
    a, b, c, d = relation
    # s(-u) = 1 - s(u), so the combination is (a - b) s(u) + (c - d) s(2u) + b + d, of three independent functions.
    if not (a == b and c == d and b == -d):
        return "the combination is not 0 for all weights"
    return "" if rank == 3 else f"the largest rank is not {rank}"


_numbers_of("16.2", ["the ceiling", "the ceiling for centred rows"], "30, 27", lambda: [Fraction(28), Fraction(27)])
_numbers_of("16.3", ["the rank"], "10", lambda: [Fraction(2)])

# Chapter 17


def _integers(answer: str, count: int | None = None) -> list[int]:
    values = [value for value, _ in numbers(answer, count)]
    if not all(value == int(value) for value in values):
        raise InputError("answer", f"is {answer!r}", "integers")
    return [int(value) for value in values]


def _float32_sums(terms: Sequence[int]) -> list[float]:
    return [float(partial_sum) for partial_sum in accumulate(map(np.float32, terms))]


@exercise("17.1", "four integers", "2^24, 1, -1, 0")
def _sum_that_depends_on_the_order(answer: str) -> str:
    """Judge all orders of a float32 sum."""
    terms = _integers(answer, 4)
    if any(abs(term) > 2**24 for term in terms):
        return "an integer is larger than 2^24"
    if sum(terms) != 1:
        return f"the exact sum is {sum(terms)}"
    sums = {_float32_sums(order)[-1] for order in permutations(terms)}
    return "" if len(sums) > 1 else "the sum is the same in every order"


@exercise("17.2", "integers in an order in which nothing is rounded", "2^24, 1, -2^24")
def _large_terms_without_rounding(answer: str) -> str:
    """Judge the partial sums in the given order."""
    terms = _integers(answer)
    positive = sum(term for term in terms if term > 0)
    if positive <= 2**24:
        return f"the positive part is {positive}, which is not larger than 2^24"
    if any(int(np.float32(term)) != term for term in terms):
        return "an integer is not a float32 number"
    for place, (rounded, exact) in enumerate(zip(_float32_sums(terms), accumulate(terms), strict=True), start=1):
        if rounded != exact:
            return f"the sum of the first {place} is {exact}, and rounded to {rounded:.0f}"
    return ""


_numbers_of("17.3", ["the codes of one digit", "those of two"], "256, 65536", lambda: [Fraction(257), Fraction(257**2)])

# Chapter 18

_numbers_of(
    "18.1",
    ["the size at -20", "that at -40"],
    "1e-8, 1e-16",
    lambda: [20 / (1 + math.exp(20)), 40 / (1 + math.exp(40))],
)
_numbers_of("18.2", ["r^2 by hand", "r^2 for d = 512"], "2, 512", lambda: [Fraction(3), Fraction(768)])
_numbers_of("18.3", ["what the neuron reads in the midpoint"], "40", lambda: [Fraction(-50)])
