"""Mutants of the balls of deep models and double-double: each term of an error, each guard and each order, dropped."""

from tests.mutants import of

_OF_BALLS = " ".join(
    f"tests/verify/forward/{name}.py" for name in ("rows/test_row_balls", "test_heads", "test_in_float64")
)

row_balls = of(
    "verify/forward/rows/row_balls.py",
    _OF_BALLS,
)
activations = of(
    "verify/arithmetic/activations.py",
    _OF_BALLS,
)
in_float64 = of(
    "verify/forward/in_float64.py",
    _OF_BALLS,
)
map_norms_by_map_norms = of(
    "verify/forward/map_norms.py", "tests/verify/forward/test_map_norms.py tests/verify/forward/rows/test_row_balls.py"
)
map_norms = of("verify/forward/map_norms.py", "tests/verify/forward/test_map_norms.py")
dd = of("verify/arithmetic/double_double.py", "tests/verify/arithmetic/test_double_double.py")
in_dd = of(
    "verify/forward/in_double_double.py",
    _OF_BALLS,
)
ladder = of("verify/forward/ladder.py", "tests/verify/forward/test_ladder.py")

MUTANTS = [
    row_balls(
        "spread = self.radius[..., None] * norms.plain",
        "spread = 0.0 * self.radius[..., None] * norms.plain",
        "a map forgets the radius of its rows",
    ),
    row_balls(
        "spread + self.moved[..., None] * norms.moved + ", "spread + ", "a map forgets what a normalization moved"
    ),
    row_balls(" + self.slipped[..., None] * norms.slipped\n", "\n", "a map forgets the roundings of a normalization"),
    row_balls(
        " * (self.moved + self.slipped))",
        " * self.slipped)",
        "a residual connection forgets what a normalization moved",
    ),
    row_balls(
        "raised(row_norms(errors))", "raised(0.0 * row_norms(errors))", "the sum of embeddings rounds for nothing"
    ),
    row_balls(
        'centring = centring if norm.kind == "layer" else np.zeros(size.shape)',
        "centring = np.zeros(size.shape)",
        "the mean of a row is exact",
    ),
    row_balls(
        "known = np.isfinite(root) & (relative < np.inf)",
        "known = np.full(size.shape, relative < np.inf)",
        "squares that overflow make a root",
    ),
    row_balls(
        "np.minimum(_quotient(radius, least, width), raised(2.0 * reach * np.ones(size.shape)))",
        "_quotient(radius, least, width)",
        "a normalization does not end an explosion",
    ),
    row_balls(
        "- radius / (2.0 * np.sqrt(float(width))) * (1.0 + 2.0**-40)", "+ radius", "a root grows with the radius"
    ),
    row_balls("error = (_times(weights, surplus) + lost) * apart", "error = lost * apart", "weights are exact"),
    row_balls(
        "        rest -= (weights * deficit).sum(axis=-1) * (1.0 + 2.0 * growth(2.0**-53, length + 16))\n",
        "        rest += 1e3 * mass\n",
        "the mass of a softmax is larger than it is",
    ),
    row_balls(
        "radius = np.where(quotient < hull, quotient, hull)",
        "radius = quotient",
        "attention may be farther off than its values lie apart",
    ),
    activations('"gelu-tanh": 6.0,', '"gelu-tanh": 0.5,', "activations hardly round"),
    activations("_COEFFICIENT = 0.044715", "_COEFFICIENT = 0.0447149", "another tanh form"),
    activations("exp(np.clip(t, -700.0, 700.0))", "exp(np.maximum(t, -700.0))", "far below 0 nothing is damped"),
    in_float64("np.where(scores < LOWEST_SCORE, 0.0, np.nan))", "0.0)", "a score that is no number has weight 0"),
    in_float64(
        "np.where(allowed, scores, -np.inf)\n        return", "scores\n        return", "later positions are read"
    ),
    in_float64("-(-terms // _BLOCK_TERMS))", "0) * 0.0", "products in float64 round for nothing"),
    map_norms_by_map_norms(
        "moved = _spectral_norm(gained - sums / float(len(matrix)))",
        "moved = 0.5 * _spectral_norm(gained)",
        "half a norm",
    ),
    map_norms(
        "float((moved + rest) * SLACK), plain, whole",
        "moved, plain, whole",
        "roundings of normalized rows are orthogonal to the ones vector",
    ),
    map_norms("array.shape, id(norm))", "id(norm))", "a map has the norms of another shape"),
    map_norms("id(norm))\n        if", "0)\n        if", "a map has the norms behind another normalization"),
    dd("(a - (s - t)) + (b - t)", "b - t", "the error of a sum is half of it"),
    dd(
        "_fast_two_sum(p, e + (x.high * y.low + x.low * y.high))",
        "_fast_two_sum(p, e + x.high * y.low)",
        "a low word is not multiplied",
    ),
    dd(" - q * y.low\n", "\n", "a quotient forgets a low word"),
    dd("(((x.high - p) - e) + x.low) / (2.0 * s)", "((x.high - p) - e) / (2.0 * s)", "a root forgets a low word"),
    dd(
        "    r = added_float(added_float(r, x.low), -k * _STEP_THIRD)\n",
        "    r = added_float(r, x.low)\n",
        "log 2 has 84 bits",
    ),
    dd("for n in range(8, 3, -1)", "for n in range(6, 3, -1)", "the exponential's polynomial is too short"),
    dd("for i in range(weight):", "for i in range(1, weight):", "a product leaves out what matters"),
    dd("for i, head in enumerate(left.heads):", "for i, head in enumerate([]):", "what is left of weights is left out"),
    dd("return min(24, (53 - max(terms * (slices - 1) - 1, 0).bit_length()) // 2)", "return 26", "slices are rounded"),
    dd("        rests.append(rest + low)\n", "        rests.append(rest)\n", "slices forget low words"),
    dd("            rest, low = two_sum(rest, low)\n", "            pass\n", "later slices forget low words"),
    dd("np.flatnonzero(x.any(axis=0))", "np.arange(0)", "what is hardly anywhere is nowhere"),
    in_dd("1, _PLAIN - 1, -1", "1, _PLAIN, -1", "GELU leaves out a degree"),
    in_dd("dd.inner_error(terms, self._slices)", "0.0 * dd.inner_error(terms)", "products are exact"),
    in_dd("-largest[..., 0]", "-DoubleDouble.exact(largest.high[..., 0])", "the low word of the largest score stays"),
    in_dd("np.where(inside, x.low, 0.0)", "np.zeros(x.shape)", "GELU forgets low words"),
    ladder(
        "lower, upper = logits.lower(), np.array(logits.upper())",
        "lower, upper = logits.midpoint.copy(), logits.midpoint.copy()",
        "a place is decided without a radius",
    ),
    ladder("np.where(least > others, lead, -1.0)", "np.where(least >= others, lead, -1.0)", "a tie is decided"),
    ladder(
        "np.where(value.high == high, value.low, -np.inf)",
        "value.high",
        "low words do not decide between equal high ones",
    ),
    ladder(
        "least = np.take_along_axis(lower, place, 1)",
        "least = np.take_along_axis(upper, place, 1)",
        "balls that may be equal decide",
    ),
    ladder(
        "(radius + 2.0**-51 * np.abs(value.high)) * (1.0",
        "(2.0**-51 * np.abs(value.high)) * (1.0",
        "a shifted pair has no radius",
    ),
    ladder(
        "(radius + 2.0**-51 * np.abs(value.high)) * (1.0",
        "radius * (1.0",
        "the low word of a shifted pair is forgotten",
    ),
    ladder(
        "np.abs(value.high)) * (1.0 + 2.0**-40)",
        "np.abs(value.high))",
        "the radius of a shifted pair is rounded to nearest",
    ),
    ladder("-np.inf).argmax(axis=1)", "-np.inf).argmin(axis=1)", "a pair is shifted by a wrong entry"),
    ladder(
        "for part in (value.high, value.low))",
        "for part in (value.high, 0.0 * value.low))",
        "only the high word is subtracted",
    ),
    ladder(
        "np.broadcast_to(part, value.shape) for part in top",
        "np.broadcast_to(part[:1], value.shape) for part in top",
        "the first row shifts all rows",
    ),
    ladder("        if not absolute:", "        if True:", "values of vectors are shifted"),
    ladder(
        "    if absolute:\n        return rounded",
        "    if False:\n        return rounded",
        "balls of vectors are shifted",
    ),
    ladder("[x - top for x in row]", "[x.mid() - top for x in row]", "a shifted ball has no radius"),
    ladder("top = max(finite)", "top = min(finite)", "a ball is shifted by a wrong entry"),
    ladder("row[:] = [x - top for x in row]", "row[:] = [x - x.mid() for x in row]", "every ball is shifted by itself"),
    ladder("for x in row if x.is_finite()", "for x in row", "a ball without information is the largest"),
    ladder("return two[:, 1] - two[:, 0]", "return two[:, 0] - two[:, 1]", "gaps are negative"),
    ladder(
        "left[left > 0.0].min(initial=1.0)", "left[left > 0.0].max(initial=1.0)", "the largest gap chooses the bits"
    ),
    ladder(
        "gap[each] for gap, each in zip(gaps, is_open",
        "gap for gap, each in zip(gaps, is_open",
        "the gaps of closed contexts choose the bits",
    ),
    ladder(
        "chosen = left[start : start + len(part)]", "chosen = left[: len(part)]", "another chunk of contexts is named"
    ),
    ladder("left[start : start + len(radius)]", "left[: len(radius)]", "another chunk of contexts is named"),
    ladder("for row in np.flatnonzero(each)", "for row in np.arange(len(each))", "what is closed stays in balls"),
    ladder("some = every[start : start + len(part)]", "some = every[: len(part)]", "balls name other contexts"),
    ladder("for number in numbers for row in", "for number in numbers[::-1] for row in", "lengths are mixed up"),
    ladder("start, size = end, 4 * size", "start, size = end + 1, 4 * size", "a context between two groups is lost"),
]
