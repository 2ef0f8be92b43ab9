"""Mutants of the forward passes and of the divergence: wrong networks, and every term of every bound left out."""

from tests.mutants import Mutant


def forward(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/float64.py", original, mutated, "tests/verify/forward/test_heads.py", why)


def idle(original: str, mutated: str, why: str) -> Mutant:
    tests = "tests/verify/forward/test_idle_heads.py"
    return Mutant("verify/forward/idle_heads.py", original, mutated, tests, why)


def balls(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/in_balls.py", original, mutated, "tests/verify/forward/test_in_balls.py", why)


def divergence(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(
        "verify/divergence/kullback_leibler.py",
        original,
        mutated,
        "tests/verify/divergence/test_kullback_leibler.py",
        why,
    )


MUTANTS = [
    # Tokens taken together.
    # Idle heads.
    # Saturated heads.
    # Another network than the convention says.
    # Embeddings and projections.
    # Norms.
    # Scores.
    # Softmax.
    Mutant(
        "verify/arithmetic/softmax.py",
        "np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))",
        "np.minimum(shares.radius, midpoint)",
        "tests/verify/arithmetic/test_softmax.py",
        "half of (b)",
    ),
    Mutant(
        "verify/arithmetic/softmax.py",
        "np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))",
        "np.minimum(shares.radius, (1.0 - midpoint) * _SLACK)",
        "tests/verify/arithmetic/test_softmax.py",
        "half of (b)",
    ),
    Mutant(
        "verify/arithmetic/softmax.py",
        "(Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()",
        "others.radius",
        "tests/verify/arithmetic/test_softmax.py",
        "the midpoints need not sum to 1",
    ),
    Mutant(
        "verify/arithmetic/softmax.py",
        "(Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()",
        "np.abs(top_midpoint - 1.0 + others.midpoint)",
        "tests/verify/arithmetic/test_softmax.py",
        "the others are exact",
    ),
    Mutant(
        "verify/arithmetic/softmax.py",
        "np.minimum(top_radius, complement)",
        "0.0 * complement",
        "tests/verify/arithmetic/test_softmax.py",
        "the largest probability is exact",
    ),
    Mutant(
        "verify/arithmetic/softmax.py",
        "np.minimum(top_radius, complement)",
        "top_radius",
        "tests/verify/arithmetic/test_softmax.py",
        "saturation does not help",
    ),
    Mutant(
        "verify/arithmetic/softmax.py",
        "        powers = exp(logits - logits.midpoint.max(axis=axis, keepdims=True))",
        "        powers = exp(logits)",
        "tests/verify/arithmetic/test_softmax.py",
        "large scores overflow",
    ),
    # Features.
    Mutant(
        "verify/forward/heads.py",
        "radius.max(axis=1, keepdims=True, initial=0.0)",
        "radius.mean(axis=1, keepdims=True)",
        "tests/verify/forward/test_heads.py",
        "the mean radius for all heads",
    ),
    Mutant(
        "verify/forward/heads.py",
        "np.repeat(radius, n, axis=1)",
        "np.tile(radius, (1, n))",
        "tests/verify/forward/test_heads.py",
        "radii go to the wrong heads",
    ),
    # Products by blocks.
    # Input.
    Mutant(
        "constructions/tasks/contexts.py",
        "array.min() < 0",
        "False",
        "tests/constructions/tasks/test_contexts.py",
        "negative tokens are counted from the end",
    ),
    Mutant(
        "constructions/tasks/contexts.py",
        "int(array.max()) >=",
        "int(array.max()) >",
        "tests/constructions/tasks/test_contexts.py",
        "a token that there is not is read",
    ),
    Mutant(
        "constructions/tasks/contexts.py",
        "if any(map(np.ma.isMaskedArray, (contexts, *rows))):",
        "if False:",
        "tests/constructions/tasks/test_contexts.py",
        "the hidden entries of masked arrays are tokens",
    ),
    Mutant(
        "constructions/tasks/contexts.py",
        "(shorter and array.shape[1] < n_ctx)",
        "shorter",
        "tests/constructions/tasks/test_contexts.py",
        "contexts of any length are read",
    ),
    # The forward pass in balls.
    balls("(score - top).exp() for score", "(score - score.mid()).exp() for score", "each score has its own shift"),
    balls(
        "_SHARE, _SIGNED = arb(0.5, 0.5)", "_SHARE, _SIGNED = arb(0.5, 0.25)", "an unknown share is not close to 0 or 1"
    ),
    balls("<= unknown.rad() else unknown", "<= unknown.rad() else unknown.mid()", "an unknown share is one half"),
    balls("    return int(precision)\n", "    return 53\n", "more bits change nothing"),
    balls("_float_above(abs(x - m)) for", "_float_above(x.rad()) for", "the rounding of midpoints is left out"),
    balls("_float_above(abs(x - m)) for", "_float_above(abs(x.mid() - m)) for", "the radii of the balls are left out"),
    balls("        if arb(bound) >= x:\n", "        if bound >= 0.0:\n", "radii are rounded to nearest"),
    balls(
        "            return bound\n    return math.inf", "            return bound\n    return nearest", "huge is zero"
    ),
    # The quadratic bound.
    divergence("(0.125 * _SLACK)", "(0.1249 * _SLACK)", "less than an eighth"),
    divergence(
        "            error *= 4.0 * UNIT\n            error += logarithm.radius\n            error += radius\n",
        "            error *= 4.0 * UNIT\n            error += logarithm.radius\n",
        "logits are exact",
    ),
    divergence(
        "            error *= 4.0 * UNIT\n            error += logarithm.radius\n            error += radius\n",
        "            error *= 0.0\n            error += radius\n",
        "logarithms are exact",
    ),
    divergence("            error *= 4.0 * UNIT\n", "            error *= 0.0\n", "gaps do not round"),
    divergence("(0.125 * _SLACK) + TINY", "(0.125 * _SLACK)", "the square of a width does not underflow"),
    divergence("(gap + error).max(axis=1)", "gap.max(axis=1)", "the largest gap is exact"),
    divergence("(gap - error).min(axis=1)", "gap.min(axis=1)", "the smallest gap is exact"),
    divergence("(gap - error).min(axis=1)", "(gap + error).min(axis=1)", "both ends are upper ends"),
    divergence(
        "            if not weights.min() > 0.0:\n", "            if False:\n", "zeros of a law are let through"
    ),
    # Labels.
    divergence("others.spread(powers.mass, powers.error(at))", "others.spread(powers.mass)", "its logit is exact"),
    divergence("+ self.mass.upper() * more)", ")", "the logit of the label is exact in the first order"),
    divergence("self.radius.max(axis=1) + more)", "self.radius.max(axis=1))", "it is exact where radii are wide"),
    divergence(
        "value = log(powers.mass) - exponent", "value = log(powers.mass)", "the gap to the largest logit is forgotten"
    ),
    divergence("top = exponent == 0.0", "top = exponent <= 0.0", "the sharp form is used everywhere"),
    divergence("top = exponent == 0.0", "top = exponent > 0.0", "the sharp form is used nowhere"),
    divergence("(radius + spread) * _SLACK", "radius * _SLACK", "logits are exact"),
    divergence("power[at] = 0.0", "pass", "the label counts among the others"),
    divergence("np.abs(self.exponents[at]) * UNIT + ", "", "the exponent of the label does not round"),
    divergence("power.shape[1] * 2.0**-1020", "2.0**-1020", "one exponential below the range is open"),
    # Margins.
    divergence("np.where(chosen, midpoint - radius, np.inf)", "np.where(chosen, midpoint, np.inf)", "modes are exact"),
    divergence(
        "np.where(chosen, -np.inf, midpoint + radius)", "np.where(chosen, -np.inf, midpoint)", "the others are exact"
    ),
    divergence(
        "np.where(chosen, midpoint - radius, np.inf).min(axis=1)",
        "np.where(chosen, midpoint - radius, -np.inf).max(axis=1)",
        "one mode is enough",
    ),
    divergence(
        "            least = down(np.where(chosen, midpoint - radius, np.inf).min(axis=1))\n"
        "            largest = up(np.where(chosen, -np.inf, midpoint + radius).max(axis=1))\n"
        "            margins[rows] = np.where(chosen.all(axis=1), np.inf, down(least - largest))\n",
        "            least = np.where(chosen, midpoint - radius, np.inf).min(axis=1)\n"
        "            largest = np.where(chosen, -np.inf, midpoint + radius).max(axis=1)\n"
        "            margins[rows] = np.where(chosen.all(axis=1), np.inf, least - largest)\n",
        "margins are not rounded down",
    ),
    # Divergences of laws and counts.
    divergence("* LOG_ERROR + powers.mean_error(weights)", "* LOG_ERROR", "logits are exact under the mean"),
    divergence("np.abs(_weighted(weights, sizes)) * LOG_ERROR + ", "", "logarithms are exact under the mean"),
    divergence("terms if weights.max() <= 1.0 else np.abs(terms)", "terms", "logarithms of large weights cancel"),
    divergence(".upper() * (gamma(depth) + 2.0 * UNIT)", ".upper() * (2.0 * UNIT)", "the sum of a mean does not round"),
    divergence("return *parts, self.spread(self.mass)", "return *parts, 0.0", "logits are exact in the sum"),
    divergence("TINY), _mass(weights))", "TINY), Enclosure(np.ones(len(weights))))", "laws sum to 1"),
    divergence("+ powers.error(at)\n", "+ 0.0 * powers.error(at)\n", "logits are exact under the mean of counts"),
    divergence("mass.midpoint * EXP_ERROR + cut", "cut", "exponentials are exact"),
    divergence(
        "mass.midpoint * EXP_ERROR + cut", "mass.midpoint * EXP_ERROR", "exponentials below the range are exact"
    ),
    divergence("sums * gamma(depth) * _SLACK + TINY", "TINY", "sums of positive numbers do not round"),
    divergence(
        "mass = np.add.reduceat(counts.data[entries], starts)",
        "mass = 1 + np.add.reduceat(counts.data[entries], starts)",
        "one count too many",
    ),
    divergence(
        "starts = counts.indptr[rows] - counts.indptr[rows.start]",
        "starts = counts.indptr[rows] * 0",
        "all counts in one row",
    ),
    divergence(
        "np.abs(terms.midpoint) * gamma(longest) + terms.radius",
        "np.abs(terms.midpoint) * gamma(longest)",
        "terms are exact",
    ),
    divergence("np.abs(terms.midpoint) * gamma(longest) + terms.radius", "terms.radius", "sums of counts do not round"),
    divergence(" * UNIT + self.radius[at]", " * UNIT", "the logit of one token is exact"),
    divergence("* -UNIT + _weighted(weights, self.radius)", "* -UNIT", "logits are exact in the mean"),
    divergence("_weighted(weights, self.exponents) * -UNIT + ", "", "the shift does not round"),
    divergence("self.lowest * -UNIT + ", "", "the shift does not round where the widest error counts"),
    divergence("(1.0 + 4.0 * widest) * mean", "mean", "only the first order of a spread"),
    divergence(
        "np.where(widest <= 0.25, np.minimum(",
        "np.where(widest <= 25.0, np.minimum(",
        "the first order is used for wide radii",
    ),
    divergence(
        "np.minimum(widest, (1.0 + 4.0 * widest) * mean)",
        "(1.0 + 4.0 * widest) * mean",
        "the spread is not cut at the widest error",
    ),
    divergence(
        "np.minimum(widest, (1.0 + 4.0 * widest) * mean), widest)",
        "widest, widest)",
        "unlikely tokens widen the radius",
    ),
    divergence("/ mass.lower()", "/ (mass.lower() + 1.0)", "the weights of a spread are too small"),
    # Means and entropies.
    divergence(
        "float(up(upper_sum(bounds) / len(bounds)))",
        "float(bounds.mean())",
        "a mean that is not rounded up",
    ),
    divergence(
        "return log(mass) - _row_sums(log(weights) * weights, laws.indptr[:-1]) / mass",
        "return log(mass) - _row_sums(log(weights) * weights, laws.indptr[:-1])",
        "entropy of unnormalised counts",
    ),
    divergence("least >= 0.0", "True", "negative weights are let through"),
]
