"""Mutants of the forward passes and of the divergence: wrong networks, and every term of every bound left out."""

from tests.mutants import of

softmax = of("verify/arithmetic/softmax.py", "tests/verify/arithmetic/test_softmax.py")
heads = of("verify/forward/heads.py", "tests/verify/forward/test_heads.py")
contexts = of("constructions/tasks/contexts.py", "tests/constructions/tasks/test_contexts.py")
in_balls = of("verify/forward/in_balls.py", "tests/verify/forward/test_in_balls.py")
digits = of("verify/arithmetic/ball_products.py", "tests/verify/arithmetic/test_ball_products.py")
kullback_leibler = of("verify/divergence/kullback_leibler.py", "tests/verify/divergence/test_kullback_leibler.py")

MUTANTS = [
    # Tokens taken together.
    # Idle heads.
    # Saturated heads.
    # Another network than the convention says.
    # Embeddings and projections.
    # Norms.
    # Scores.
    # Softmax.
    softmax(
        "np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))",
        "np.minimum(shares.radius, midpoint)",
        "half of (b)",
    ),
    softmax(
        "np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))",
        "np.minimum(shares.radius, (1.0 - midpoint) * _SLACK)",
        "half of (b)",
    ),
    softmax(
        "(Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()", "others.radius", "the midpoints need not sum to 1"
    ),
    softmax(
        "(Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()",
        "np.abs(top_midpoint - 1.0 + others.midpoint)",
        "the others are exact",
    ),
    softmax("np.minimum(top_radius, complement)", "0.0 * complement", "the largest probability is exact"),
    softmax("np.minimum(top_radius, complement)", "top_radius", "saturation does not help"),
    softmax(
        "        powers = exp(logits - logits.midpoint.max(axis=axis, keepdims=True))",
        "        powers = exp(logits)",
        "large scores overflow",
    ),
    # Features.
    heads(
        "radius.max(axis=1, keepdims=True, initial=0.0)",
        "radius.mean(axis=1, keepdims=True)",
        "the mean radius for all heads",
    ),
    heads("np.repeat(radius, n, axis=1)", "np.tile(radius, (1, n))", "radii go to the wrong heads"),
    # Products by blocks.
    # Input.
    contexts("array.min() < 0", "False", "negative tokens are counted from the end"),
    contexts("int(array.max()) >=", "int(array.max()) >", "a token that there is not is read"),
    contexts(
        "if any(map(np.ma.isMaskedArray, (contexts, *rows))):",
        "if False:",
        "the hidden entries of masked arrays are tokens",
    ),
    contexts("(shorter and array.shape[1] < n_ctx)", "shorter", "contexts of any length are read"),
    # The forward pass in balls.
    in_balls("(score - top).exp() for score", "(score - score.mid()).exp() for score", "each score has its own shift"),
    in_balls(
        "_SHARE, _SIGNED = arb(0.5, 0.5)", "_SHARE, _SIGNED = arb(0.5, 0.25)", "an unknown share is not close to 0 or 1"
    ),
    in_balls("<= unknown.rad() else unknown", "<= unknown.rad() else unknown.mid()", "an unknown share is one half"),
    in_balls("    return int(precision)\n", "    return 53\n", "more bits change nothing"),
    in_balls("_float_above(abs(x - m)) for", "_float_above(x.rad()) for", "the rounding of midpoints is left out"),
    in_balls(
        "_float_above(abs(x - m)) for", "_float_above(abs(x.mid() - m)) for", "the radii of the balls are left out"
    ),
    in_balls("        if arb(bound) >= x:\n", "        if bound >= 0.0:\n", "radii are rounded to nearest"),
    in_balls(
        "            return bound\n    return math.inf", "            return bound\n    return nearest", "huge is zero"
    ),
    # Products by digits.
    digits("_EXACT - _DIGIT - max(1,", "_EXACT - _DIGIT + 8 - max(1,", "sums of products are rounded"),
    digits(
        "digits[..., -1] -= digits[..., -1] >>", "digits[..., -1] -= 0 * digits[..., -1] >>", "no integer is negative"
    ),
    digits(
        "(1.0 + 2.0**-50) + (np.array(shifts) < 0)",
        "(1.0 + 2.0**-50) + 0.0 * (np.array(shifts) < 0)",
        "what is rounded down is left out",
    ),
    digits("multiply(self.radius, sizes) *", "0.0 * multiply(self.radius, sizes) *", "the radii are left out"),
    digits("(self.coarse + unit)", "(self.exponent + unit)", "long radii are counted in short units"),
    digits("spread[~self.radius.any(axis=1)] =", "spread[:] =", "every product is exact"),
    digits("rest = rest - np.ldexp(slices[-1], -scale)", "rest = rest * 0.0", "a matrix has one slice"),
    digits("digits[:, :, count] = carry", "digits[:, :, count] = 0 * carry", "negative sums are positive"),
    # The quadratic bound.
    kullback_leibler("(0.125 * _SLACK)", "(0.1249 * _SLACK)", "less than an eighth"),
    kullback_leibler(
        "            error *= 4.0 * UNIT\n            error += logarithm.radius\n            error += radius\n",
        "            error *= 4.0 * UNIT\n            error += logarithm.radius\n",
        "logits are exact",
    ),
    kullback_leibler(
        "            error *= 4.0 * UNIT\n            error += logarithm.radius\n            error += radius\n",
        "            error *= 0.0\n            error += radius\n",
        "logarithms are exact",
    ),
    kullback_leibler("            error *= 4.0 * UNIT\n", "            error *= 0.0\n", "gaps do not round"),
    kullback_leibler("(0.125 * _SLACK) + TINY", "(0.125 * _SLACK)", "the square of a width does not underflow"),
    kullback_leibler("(gap + error).max(axis=1)", "gap.max(axis=1)", "the largest gap is exact"),
    kullback_leibler("(gap - error).min(axis=1)", "gap.min(axis=1)", "the smallest gap is exact"),
    kullback_leibler("(gap - error).min(axis=1)", "(gap + error).min(axis=1)", "both ends are upper ends"),
    kullback_leibler(
        "            if not weights.min() > 0.0:\n",
        "            if False:\n",
        "zeros of a distribution are let through",
    ),
    # Labels.
    kullback_leibler(
        "others.spread(powers.mass, powers.error(at))", "others.spread(powers.mass)", "its logit is exact"
    ),
    kullback_leibler("+ self.mass.upper() * more)", ")", "the logit of the label is exact in the first order"),
    kullback_leibler("self.radius.max(axis=1) + more)", "self.radius.max(axis=1))", "it is exact where radii are wide"),
    kullback_leibler(
        "value = log(powers.mass) - exponent", "value = log(powers.mass)", "the gap to the largest logit is forgotten"
    ),
    kullback_leibler("top = exponent == 0.0", "top = exponent <= 0.0", "the sharp form is used everywhere"),
    kullback_leibler("top = exponent == 0.0", "top = exponent > 0.0", "the sharp form is used nowhere"),
    kullback_leibler("(radius + spread) * _SLACK", "radius * _SLACK", "logits are exact"),
    kullback_leibler("power[at] = 0.0", "pass", "the label counts among the others"),
    kullback_leibler("np.abs(self.exponents[at]) * UNIT + ", "", "the exponent of the label does not round"),
    kullback_leibler("power.shape[1] * 2.0**-1020", "2.0**-1020", "one exponential below the range is open"),
    # Margins.
    kullback_leibler(
        "np.where(chosen, midpoint - radius, np.inf)", "np.where(chosen, midpoint, np.inf)", "modes are exact"
    ),
    kullback_leibler(
        "np.where(chosen, -np.inf, midpoint + radius)", "np.where(chosen, -np.inf, midpoint)", "the others are exact"
    ),
    kullback_leibler(
        "np.where(chosen, midpoint - radius, np.inf).min(axis=1)",
        "np.where(chosen, midpoint - radius, -np.inf).max(axis=1)",
        "one mode is enough",
    ),
    kullback_leibler(
        "            least = down(np.where(chosen, midpoint - radius, np.inf).min(axis=1))\n"
        "            largest = up(np.where(chosen, -np.inf, midpoint + radius).max(axis=1))\n"
        "            margins[rows] = np.where(chosen.all(axis=1), np.inf, down(least - largest))\n",
        "            least = np.where(chosen, midpoint - radius, np.inf).min(axis=1)\n"
        "            largest = np.where(chosen, -np.inf, midpoint + radius).max(axis=1)\n"
        "            margins[rows] = np.where(chosen.all(axis=1), np.inf, least - largest)\n",
        "margins are not rounded down",
    ),
    # Divergences of distributions and counts.
    kullback_leibler("* LOG_ERROR + powers.mean_error(weights)", "* LOG_ERROR", "logits are exact under the mean"),
    kullback_leibler("np.abs(_weighted(weights, sizes)) * LOG_ERROR + ", "", "logarithms are exact under the mean"),
    kullback_leibler("terms if weights.max() <= 1.0 else np.abs(terms)", "terms", "logarithms of large weights cancel"),
    kullback_leibler(
        ".upper() * (gamma(depth) + 2.0 * UNIT)", ".upper() * (2.0 * UNIT)", "the sum of a mean does not round"
    ),
    kullback_leibler("return *parts, self.spread(self.mass)", "return *parts, 0.0", "logits are exact in the sum"),
    kullback_leibler("TINY), _mass(weights))", "TINY), Enclosure(np.ones(len(weights))))", "distributions sum to 1"),
    kullback_leibler("+ powers.error(at)\n", "+ 0.0 * powers.error(at)\n", "logits are exact under the mean of counts"),
    kullback_leibler("mass.midpoint * EXP_ERROR + cut", "cut", "exponentials are exact"),
    kullback_leibler(
        "mass.midpoint * EXP_ERROR + cut", "mass.midpoint * EXP_ERROR", "exponentials below the range are exact"
    ),
    kullback_leibler("sums * gamma(depth) * _SLACK + TINY", "TINY", "sums of positive numbers do not round"),
    kullback_leibler(
        "mass = np.add.reduceat(counts.data[entries], starts)",
        "mass = 1 + np.add.reduceat(counts.data[entries], starts)",
        "one count too many",
    ),
    kullback_leibler(
        "starts = counts.indptr[rows] - counts.indptr[rows.start]",
        "starts = counts.indptr[rows] * 0",
        "all counts in one row",
    ),
    kullback_leibler(
        "np.abs(terms.midpoint) * gamma(longest) + terms.radius",
        "np.abs(terms.midpoint) * gamma(longest)",
        "terms are exact",
    ),
    kullback_leibler(
        "np.abs(terms.midpoint) * gamma(longest) + terms.radius", "terms.radius", "sums of counts do not round"
    ),
    kullback_leibler(" * UNIT + self.radius[at]", " * UNIT", "the logit of one token is exact"),
    kullback_leibler("* -UNIT + _weighted(weights, self.radius)", "* -UNIT", "logits are exact in the mean"),
    kullback_leibler("_weighted(weights, self.exponents) * -UNIT + ", "", "the shift does not round"),
    kullback_leibler("self.lowest * -UNIT + ", "", "the shift does not round where the widest error counts"),
    kullback_leibler("(1.0 + 4.0 * widest) * mean", "mean", "only the first order of a spread"),
    kullback_leibler(
        "np.where(widest <= 0.25, np.minimum(",
        "np.where(widest <= 25.0, np.minimum(",
        "the first order is used for wide radii",
    ),
    kullback_leibler(
        "np.minimum(widest, (1.0 + 4.0 * widest) * mean)",
        "(1.0 + 4.0 * widest) * mean",
        "the spread is not cut at the widest error",
    ),
    kullback_leibler(
        "np.minimum(widest, (1.0 + 4.0 * widest) * mean), widest)",
        "widest, widest)",
        "unlikely tokens widen the radius",
    ),
    kullback_leibler("/ mass.lower()", "/ (mass.lower() + 1.0)", "the weights of a spread are too small"),
    # Means and entropies.
    kullback_leibler(
        "float(up(upper_sum(bounds) / len(bounds)))", "float(bounds.mean())", "a mean that is not rounded up"
    ),
    kullback_leibler(
        "return log(mass) - _row_sums(log(weights) * weights, distributions.indptr[:-1]) / mass",
        "return log(mass) - _row_sums(log(weights) * weights, distributions.indptr[:-1])",
        "entropy of unnormalised counts",
    ),
    kullback_leibler("least >= 0.0", "True", "negative weights are let through"),
]
