"""Mutants of the balls of deep models and of pairs: each term of an error, each guard and each order, dropped."""

from tests.mutants import Mutant

BALLS = "verify/forward/row_balls.py"
ROWS = "verify/forward/in_float64.py"
ACTIVATIONS = "verify/arithmetic/activations.py"
NORMS = "verify/forward/map_norms.py"
PAIRS = "verify/arithmetic/pairs.py"
PAIR_ROWS = "verify/forward/in_pairs.py"
LOGITS = "verify/forward/logits.py"
TESTS = (
    "tests/verify/forward/test_row_balls.py tests/verify/forward/test_heads.py tests/verify/forward/test_in_float64.py"
)


def balls(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(BALLS, original, mutated, TESTS, why)


def activations(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(ACTIVATIONS, original, mutated, TESTS, why)


def pairs(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(PAIRS, original, mutated, "tests/verify/arithmetic/test_pairs.py", why)


def logits(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(LOGITS, original, mutated, "tests/verify/forward/test_ladder.py", why)


MUTANTS = [
    balls(
        "spread = self.radius[..., None] * norms.plain",
        "spread = 0.0 * self.radius[..., None] * norms.plain",
        "a map forgets the radius of its rows",
    ),
    balls("spread + self.moved[..., None] * norms.moved + ", "spread + ", "a map forgets what a normalization moved"),
    balls(" + self.slipped[..., None] * norms.slipped\n", "\n", "a map forgets the roundings of a normalization"),
    balls(
        " * (self.moved + self.slipped))",
        " * self.slipped)",
        "a residual connection forgets what a normalization moved",
    ),
    balls("raised(row_norms(errors))", "raised(0.0 * row_norms(errors))", "the sum of embeddings rounds for nothing"),
    balls(
        'centring = centring if norm.kind == "layer" else np.zeros(size.shape)',
        "centring = np.zeros(size.shape)",
        "the mean of a row is exact",
    ),
    balls(
        "known = np.isfinite(root) & (relative < np.inf)",
        "known = np.full(size.shape, relative < np.inf)",
        "squares that overflow make a root",
    ),
    balls(
        "np.minimum(_quotient(radius, least, width), raised(2.0 * reach * np.ones(size.shape)))",
        "_quotient(radius, least, width)",
        "a normalization does not end an explosion",
    ),
    balls("- radius / (2.0 * np.sqrt(float(width))) * (1.0 + 2.0**-40)", "+ radius", "a root grows with the radius"),
    balls("error = (_times(weights, surplus) + lost) * apart", "error = lost * apart", "weights are exact"),
    balls(
        "        rest -= (weights * deficit).sum(axis=-1) * (1.0 + 2.0 * growth(2.0**-53, length + 16))\n",
        "        rest += 1e3 * mass\n",
        "the mass of a softmax is larger than it is",
    ),
    balls(
        "radius = np.where(quotient < hull, quotient, hull)",
        "radius = quotient",
        "attention may be farther off than its values lie apart",
    ),
    activations('"gelu-tanh": 6.0,', '"gelu-tanh": 0.5,', "activations hardly round"),
    activations("_COEFFICIENT = 0.044715", "_COEFFICIENT = 0.0447149", "another tanh form"),
    activations("exp(np.clip(t, -700.0, 700.0))", "exp(np.maximum(t, -700.0))", "far below 0 nothing is damped"),
    Mutant(
        ROWS, "np.where(scores < LOWEST_SCORE, 0.0, np.nan))", "0.0)", TESTS, "a score that is no number has weight 0"
    ),
    Mutant(
        ROWS,
        "np.where(allowed, scores, -np.inf)\n        return",
        "scores\n        return",
        TESTS,
        "later positions are read",
    ),
    Mutant(ROWS, "-(-terms // _BLOCK_TERMS))", "0) * 0.0", TESTS, "products in float64 round for nothing"),
    Mutant(
        NORMS,
        "moved = _spectral_norm(gained - sums / float(len(matrix)))",
        "moved = 0.5 * _spectral_norm(gained)",
        "tests/verify/forward/test_map_norms.py tests/verify/forward/test_row_balls.py",
        "half a norm",
    ),
    Mutant(
        NORMS,
        "float((moved + rest) * SLACK), plain, whole",
        "moved, plain, whole",
        "tests/verify/forward/test_map_norms.py",
        "roundings of normalized rows are orthogonal to the ones vector",
    ),
    Mutant(
        NORMS,
        "array.shape, id(norm))",
        "id(norm))",
        "tests/verify/forward/test_map_norms.py",
        "a map has the norms of another shape",
    ),
    Mutant(
        NORMS,
        "id(norm))\n        if",
        "0)\n        if",
        "tests/verify/forward/test_map_norms.py",
        "a map has the norms behind another normalization",
    ),
    pairs("(a - (s - t)) + (b - t)", "b - t", "the error of a sum is half of it"),
    pairs(
        "_fast_two_sum(p, e + (x.high * y.low + x.low * y.high))",
        "_fast_two_sum(p, e + x.high * y.low)",
        "a low word is not multiplied",
    ),
    pairs(" - q * y.low\n", "\n", "a quotient forgets a low word"),
    pairs("(((x.high - p) - e) + x.low) / (2.0 * s)", "((x.high - p) - e) / (2.0 * s)", "a root forgets a low word"),
    pairs(
        "    r = added_float(added_float(r, x.low), -k * _LN2_THIRD)\n",
        "    r = added_float(r, x.low)\n",
        "log 2 has 84 bits",
    ),
    pairs("_HALVINGS, _DEGREE = 9, 9", "_HALVINGS, _DEGREE = 9, 6", "the exponential's polynomial is too short"),
    pairs("if i + j < slices]", "if i + j < slices - 1]", "a product leaves out what matters"),
    pairs("return (53 - max(terms - 1, 0).bit_length()) // 2", "return 26", "products of slices are rounded"),
    pairs("        high, low = two_sum(high - head, low)\n", "        high = high - head\n", "slices forget low words"),
    Mutant(
        PAIR_ROWS,
        "-largest[..., 0]",
        "-Pairs.exact(largest.high[..., 0])",
        TESTS,
        "the low word of the largest score stays",
    ),
    Mutant(PAIR_ROWS, "np.where(inside, x.low, 0.0)", "np.zeros(x.shape)", TESTS, "GELU forgets low words"),
    Mutant(
        "verify/forward/ladder.py",
        "lower, upper = logits.lower(), np.array(logits.upper())",
        "lower, upper = logits.midpoint.copy(), logits.midpoint.copy()",
        "tests/verify/forward/test_ladder.py",
        "a place is decided without a radius",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "np.where(least > others, lead, -1.0)",
        "np.where(least >= others, lead, -1.0)",
        "tests/verify/forward/test_ladder.py",
        "a tie is decided",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "np.where(value.high == high, value.low, -np.inf)",
        "value.high",
        "tests/verify/forward/test_ladder.py",
        "low words do not decide between equal high ones",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "least = np.take_along_axis(lower, place, 1)",
        "least = np.take_along_axis(upper, place, 1)",
        "tests/verify/forward/test_ladder.py",
        "balls that may be equal decide",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "(radius + 2.0**-51 * np.abs(value.high)) * (1.0",
        "(2.0**-51 * np.abs(value.high)) * (1.0",
        "tests/verify/forward/test_ladder.py",
        "a shifted pair has no radius",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "(radius + 2.0**-51 * np.abs(value.high)) * (1.0",
        "radius * (1.0",
        "tests/verify/forward/test_ladder.py",
        "the low word of a shifted pair is forgotten",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "np.abs(value.high)) * (1.0 + 2.0**-40)",
        "np.abs(value.high))",
        "tests/verify/forward/test_ladder.py",
        "the radius of a shifted pair is rounded to nearest",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "-np.inf).argmax(axis=1)",
        "-np.inf).argmin(axis=1)",
        "tests/verify/forward/test_ladder.py",
        "a pair is shifted by a wrong entry",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "for part in (value.high, value.low))",
        "for part in (value.high, 0.0 * value.low))",
        "tests/verify/forward/test_ladder.py",
        "only the high word is subtracted",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "np.broadcast_to(part, value.shape) for part in top",
        "np.broadcast_to(part[:1], value.shape) for part in top",
        "tests/verify/forward/test_ladder.py",
        "the first row shifts all rows",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "        if not absolute:",
        "        if True:",
        "tests/verify/forward/test_ladder.py",
        "values of vectors are shifted",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "    if absolute:\n        return rounded",
        "    if False:\n        return rounded",
        "tests/verify/forward/test_ladder.py",
        "balls of vectors are shifted",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "[x - top for x in row]",
        "[x.mid() - top for x in row]",
        "tests/verify/forward/test_ladder.py",
        "a shifted ball has no radius",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "top = max(finite)",
        "top = min(finite)",
        "tests/verify/forward/test_ladder.py",
        "a ball is shifted by a wrong entry",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "row[:] = [x - top for x in row]",
        "row[:] = [x - x.mid() for x in row]",
        "tests/verify/forward/test_ladder.py",
        "every ball is shifted by itself",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "for x in row if x.is_finite()",
        "for x in row",
        "tests/verify/forward/test_ladder.py",
        "a ball without information is the largest",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "return two[:, 1] - two[:, 0]",
        "return two[:, 0] - two[:, 1]",
        "tests/verify/forward/test_ladder.py",
        "gaps are negative",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "[gap[left] > 0.0].min(initial=1.0)",
        "[gap[left] > 0.0].max(initial=1.0)",
        "tests/verify/forward/test_ladder.py",
        "the largest gap chooses the bits",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "gap[left][gap[left] > 0.0]",
        "gap[gap > 0.0]",
        "tests/verify/forward/test_ladder.py",
        "the gaps of closed contexts choose the bits",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "chosen = left[start : start + len(part)]",
        "chosen = left[: len(part)]",
        "tests/verify/forward/test_ladder.py",
        "another chunk of contexts is named",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "left[start : start + len(radius)]",
        "left[: len(radius)]",
        "tests/verify/forward/test_ladder.py",
        "another chunk of contexts is named",
    ),
    Mutant(
        "verify/forward/ladder.py",
        "left, bits = np.flatnonzero(is_open), 2 * bits",
        "left, bits = left, 2 * bits",
        "tests/verify/forward/test_ladder.py",
        "what is closed stays in balls",
    ),
]
