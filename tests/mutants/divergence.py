"""Mutants of the forward passes and of the divergence: wrong networks, and every term of every bound left out."""

from tests.mutants import Mutant


def forward(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/float64.py", original, mutated, "tests/verify/forward/test_float64.py", why)


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
    forward("2.0 * worst / (1.0 - worst) * _SLACK", "1.0 * worst / (1.0 - worst) * _SLACK", "odds move by one error"),
    forward("2.0 * worst / (1.0 - worst) * _SLACK", "2.0 * worst * (1.0 - worst)", "large errors are small ones"),
    forward("np.where(worst <= 0.25,", "np.where(worst <= 2.0,", "an error as large as the number is small"),
    forward(
        "worst = np.maximum.reduceat(relative, starts)", "worst = np.minimum.reduceat(relative, starts)", "the least"
    ),
    forward("np.where(size + radius <= 2.0**-891, 0.0, np.inf)", "0.0", "small powers of any radius are negligible"),
    forward("rest[part] = ~(whole >= 2.0**-400).all(axis=1)", "rest[part] = False", "nobody is left out"),
    forward("rest |= low", "rest = low", "who is left out by some heads is not"),
    forward(
        "np.fmin(uncertain * spread[query[part]], 2.0)", "np.fmin(uncertain * spread[query[part]], 1.0)", "at most 1"
    ),
    forward("spread[query[part]]", "spread[query[part] * 0]", "the error of another last token"),
    forward("        radius += loss @ size\n", "", "weights are exact"),
    forward("uncertain += block[s] * (1.0 - block[s])", "pass", "only the first position is uncertain"),
    forward("+ _FLOOR) * size + error)", "+ _FLOOR) * size)", "what the heads make of a token is exact"),
    forward("(3.0 * gamma(length) + rounding + _FLOOR)", "_FLOOR", "weights and sums do not round"),
    forward("np.abs(part.midpoint).max(axis=0, initial=0.0)", "np.abs(part.midpoint).min(axis=0)", "the least is read"),
    forward("midpoint[rest], radius[rest] = others.midpoint, others.radius", "pass", "who is left out stays so"),
    # Idle heads.
    forward("(x.midpoint != 0.0) | (x.radius != 0.0)", "x.midpoint != 0.0", "what overflows counts as 0"),
    idle("(W_Q != 0.0).any(axis=2)", "(W_Q != 0.0).all(axis=2)", "one column of 0 is enough"),
    idle("(W_Q != 0.0).any(axis=2)", "(abs(W_Q) > 1e-9).any(axis=2)", "small queries count as 0"),
    idle("pattern.reshape(-1)[row_of]", "0 * pattern.reshape(-1)[row_of]", "all contexts are alike"),
    idle("np.split(order, starts)[1:]", "np.split(order, starts)[:-1]", "members of the key before"),
    forward(
        "at_rest = written - _multiplied(", "at_rest = written + 0.0 * _multiplied(", "busy heads are idle as well"
    ),
    forward(
        "stream = enclose_last(network, part) + matmul(_mean_input(network, part), at_rest)",
        "stream = matmul(_mean_input(network, part), at_rest)",
        "contexts of one group have no skip connection",
    ),
    forward(
        "matmul(_mean_input(network, part), at_rest)",
        "matmul(_mean_input(network, part), at_rest.midpoint)",
        "what idle heads write is exact",
    ),
    forward("return total(whole, 1) / float(length)", "return total(whole, 1)", "the sum for the mean"),
    forward("whole = Enclosure(np.stack([x.midpoint", "whole = Enclosure(np.stack([0.5 * x.midpoint", "half the mean"),
    forward(
        "np.unique(contexts[:, -1], return_inverse=True)\n    for rows",
        "np.unique(contexts[:, 0], return_inverse=True)\n    for rows",
        "groups by the first token",
    ),
    forward("_with_heads(network, ~idle[", "_with_heads(network, idle[", "idle heads and busy ones exchanged"),
    # Saturated heads.
    forward("(2.0 * (length - 1)) * Enclosure", "2.0 * Enclosure", "one position leaks"),
    forward("(2.0 * (length - 1)) * Enclosure", "(1.0 * (length - 1)) * Enclosure", "values are never opposite"),
    forward("pairs, axis=0).max(axis=0)", "pairs, axis=0).min(axis=0)", "the lowest score elsewhere counts"),
    forward("values.magnitude().max(axis=(0, 2))", "values.magnitude().min(axis=(0, 2))", "the smallest value leaks"),
    forward("below.upper() <= -_SATURATION", "below.upper() <= _SATURATION", "heads that are not saturated count"),
    forward("_with_heads(busy, ~saturated", "_with_heads(busy, saturated", "saturated heads and others exchanged"),
    forward("stream = stream + settled[row_of[within]]", "pass", "saturated heads write nothing"),
    forward("np.unique(lookup.pair[:, -2]", "np.unique(lookup.pair[:, 0]", "saturated at the first position"),
    forward("leak[:, :, None])", "0.0 * leak[:, :, None])", "nothing leaks"),
    forward(
        "return weights[:1] if (weights == weights[:1]).all()", "return weights[:1] if True", "all heads read alike"
    ),
    # Another network than the convention says.
    forward(
        "_projected(lookup.queries, network.W_Q[heads])",
        "_projected(lookup.queries, network.W_K[heads])",
        "queries are made by W_K",
    ),
    forward(
        "_projected(lookup.keys, network.W_K[heads])",
        "_projected(lookup.keys, network.W_Q[heads])",
        "keys are made by W_Q",
    ),
    forward(
        "    return _inner_products(query, key, lookup.pair_query, lookup.pair_key)",
        "    scores = _inner_products(query, key, lookup.pair_query, lookup.pair_key)\n"
        "    return scores * (1.0 / np.sqrt(max(network.d_qk, 1)))",
        "scores are divided by the square root of d_qk",
    ),
    forward(
        "network.W_E[tokens], network.W_pos[position]",
        "network.W_E[tokens], 0.0 * network.W_pos[position]",
        "positions are forgotten",
    ),
    forward(
        "parts.append(_embedded(network, tokens, s))",
        "parts.append(_embedded(network, tokens, contexts.shape[1] - 1 - s))",
        "positions are counted from the end",
    ),
    forward("(key[:, -1:] - (n_keys - n_queries))", "(key[:, -1:] * 0)", "the query is that of the first token of all"),
    forward("for s in range(key.shape[1]):", "for s in range(key.shape[1] - 1):", "the last position is not read"),
    forward(
        "    values = _projected(lookup.keys, network.W_V[heads])\n    parts",
        "    values = _projected(lookup.keys, np.flip(network.W_V[heads], 1))\n    parts",
        "W_V of tokens taken together",
    ),
    forward("_distinct(network.W_V[heads])", "_distinct(np.flip(network.W_V[heads], 1))", "W_V"),
    forward(
        "output = network.W_O.reshape(columns, network.d_model)",
        "output = network.W_O.transpose(1, 0, 2).reshape(columns, network.d_model)",
        "W_O is stacked with heads and coordinates exchanged",
    ),
    forward(
        "output = network.W_O.reshape(columns, network.d_model)",
        "output = network.W_O.transpose(0, 2, 1).reshape(columns, network.d_model)",
        "W_O is transposed",
    ),
    forward(
        "residual = enclose_last(network, part) + added",
        "residual = added",
        "there is no skip connection",
    ),
    forward(
        "pattern = enclose_softmax(scores[lookup.pair[rows]], axis=1)", "pattern = scores[lookup.pair[rows]]", "linear"
    ),
    forward(
        "scores[lookup.pair[rows]], axis=1)", "scores[lookup.pair[rows]], axis=2)", "attention is shared over heads"
    ),
    forward("features[start : start + many]", "features[:many]", "later contexts get the features of the first"),
    forward(
        "yield start + first, _multiplied(residual[first : first + rows]",
        "yield start + first, _multiplied(residual[:rows]",
        "chunks repeat",
    ),
    # Embeddings and projections.
    forward(
        "return Enclosure(x, np.abs((a - (x - b_part)) + (b - b_part)))",
        "return Enclosure(x, 0.0 * x)",
        "F2 is left out",
    ),
    forward(
        "np.abs((a - (x - b_part)) + (b - b_part))",
        "np.abs(a - (x - b_part))",
        "half of the error of a sum is left out",
    ),
    forward("    radius *= gamma(x.terms)\n", "    radius *= 0.0\n", "projections do not round"),
    forward(
        "        radius += multiply(x.radius, np.abs(columns))\n",
        "        pass\n",
        "the error of an embedding is not carried on",
    ),
    forward("    if x.radius.any():\n", "    if False:\n", "the error of an embedding is not carried on"),
    forward(
        "np.count_nonzero(vectors, axis=-1).max(initial=1)",
        "np.count_nonzero(vectors, axis=-1).min(initial=1)",
        "too few terms are counted",
    ),
    forward("    radius += _FLOOR\n", "", "underflow in projections is forgotten"),
    # Norms.
    forward(
        "pairs = list(zip(left, reversed(right), strict=True))",
        "pairs = list(zip(left, right, strict=True))",
        "norms are paired wrongly",
    ),
    forward(
        "np.argmin([a.sum() * b.sum() for a, b in pairs])",
        "np.argmax([a.sum() * b.sum() for a, b in pairs])",
        "the loosest bound",
    ),
    forward(
        "two = np.sqrt((values * values).sum(axis=axis)) * slack",
        "two = np.sqrt((values * values).max(axis=axis)) * slack",
        "the norm is too small",
    ),
    forward(
        "values.max(axis=axis, initial=0.0) + _FLOOR))",
        "values.min(axis=axis, initial=0.0) + _FLOOR))",
        "the norm is too small",
    ),
    forward("_FLOOR = 2.0**-400", "_FLOOR = 0.0", "underflow in norms is forgotten"),
    # Scores.
    forward(
        "_Norms.of(rounding * query_size + query.radius, -1)",
        "_Norms.of(query.radius, -1)",
        "inner products do not round",
    ),
    forward(
        "_Norms.of(rounding * query_size + query.radius, -1)",
        "_Norms.of(rounding * query_size, -1)",
        "queries are exact",
    ),
    forward("(error[q] * whole[k] + size[q] * key_error[k])", "(error[q] * whole[k])", "keys are exact"),
    forward("_Norms.of(key_size + key.radius, -1)", "_Norms.of(key_size, -1)", "the second-order term is left out"),
    forward(
        "    return Enclosure(midpoint, radius)\n\n\ndef _features",
        "    return Enclosure(midpoint)\n\n\ndef _features",
        "scores are exact",
    ),
    # Softmax.
    forward(
        "np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))",
        "np.minimum(shares.radius, midpoint)",
        "half of (b)",
    ),
    forward(
        "np.minimum(shares.radius, np.maximum(midpoint, (1.0 - midpoint) * _SLACK))",
        "np.minimum(shares.radius, (1.0 - midpoint) * _SLACK)",
        "half of (b)",
    ),
    forward(
        "(Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()", "others.radius", "the midpoints need not sum to 1"
    ),
    forward(
        "(Enclosure.exact(top_midpoint) - 1.0 + others).magnitude()",
        "np.abs(top_midpoint - 1.0 + others.midpoint)",
        "the others are exact",
    ),
    forward("np.minimum(top_radius, complement)", "0.0 * complement", "the largest probability is exact"),
    forward("np.minimum(top_radius, complement)", "top_radius", "saturation does not help"),
    forward(
        "        powers = exp(logits - logits.midpoint.max(axis=axis, keepdims=True))",
        "        powers = exp(logits)",
        "large scores overflow",
    ),
    # Features.
    forward("(share_error + rounding * share) * size[read]", "(rounding * share) * size[read]", "attention is exact"),
    forward("(share_error + rounding * share) * size[read]", "share_error * size[read]", "mixing does not round"),
    forward("(share + share_error) * error[read]", "share_error * error[read]", "values are exact"),
    forward("(share + share_error) * error[read]", "share * error[read]", "the second-order term is left out"),
    forward(
        "np.abs(values.midpoint).max(axis=-1, initial=_FLOOR), values.radius.max(axis=-1, initial=0.0)",
        "np.abs(values.midpoint).min(axis=-1), values.radius.max(axis=-1, initial=0.0)",
        "the smallest entry",
    ),
    forward(
        "radius.max(axis=1, keepdims=True, initial=0.0)",
        "radius.mean(axis=1, keepdims=True)",
        "the mean radius for all heads",
    ),
    forward("np.repeat(radius, n, axis=1)", "np.tile(radius, (1, n))", "radii go to the wrong heads"),
    forward("largest if alike else", "largest if True else", "heads that differ share a radius"),
    # Products by blocks.
    forward("            error *= rounding\n", "            error *= 0.0\n", "products do not round"),
    forward("            error += radii[:, part] * scales\n", "", "features are exact"),
    forward(
        "            error += radii[:, part] * scales\n",
        "            error += radii[:, part]\n",
        "radii are not scaled",
    ),
    forward(
        "radius += np.multiply.outer(left * slack, right)",
        "radius = np.multiply.outer(left * slack, right)",
        "only the last block rounds",
    ),
    forward("rounding = gamma(min(len(b), _BLOCK_TERMS) + len(sizes))", "rounding = gamma(1)", "one rounding in all"),
    forward(
        "            error *= scales\n            error *= rounding\n",
        "            error *= rounding\n            error *= scales\n",
        "an underflow is scaled up",
    ),
    forward("np.frexp(block.max(axis=1))[1] - 1", "0 * np.frexp(block.max(axis=1))[1]", "rows are not scaled"),
    # Input.
    balls("or contexts.max() >= network.d_vocab", "or False", "tokens beyond the vocabulary"),
    balls("contexts.min() < 0", "False", "negative tokens are counted from the end"),
    # The forward pass in balls.
    balls("(score - top).exp() for score", "(score - score.mid()).exp() for score", "each score has its own shift"),
    balls("_SHARE = arb(0.5, 0.5)", "_SHARE = arb(0.5, 0.25)", "an unknown share is not close to 0 or 1"),
    balls("<= unknown.rad() else unknown", "<= unknown.rad() else unknown.mid()", "an unknown share is one half"),
    balls("    return int(precision)\n", "    return 53\n", "more bits change nothing"),
    balls("_float_above(abs(x - m)) for", "_float_above(x.rad()) for", "the rounding of midpoints is left out"),
    balls("_float_above(abs(x - m)) for", "_float_above(abs(x.mid() - m)) for", "the radii of the balls are left out"),
    balls("        if arb(bound) >= x:\n", "        if bound >= 0.0:\n", "radii are rounded to nearest"),
    balls(
        "            return bound\n    return math.inf", "            return bound\n    return nearest", "huge is zero"
    ),
    forward(
        'matrix_of_balls(given_matrix(features, name="features"))',
        "matrix_of_balls(given_matrix(features.midpoint))",
        "given features are exact in balls",
    ),
    forward(
        "logits_in_balls(network, contexts, precision, features=given)",
        "logits_in_balls(network, contexts, precision)",
        "given features are not used in balls",
    ),
    forward(
        "rounded_outwards(features_in_balls(network, contexts, precision))",
        "rounded_outwards(features_in_balls(network, contexts, 53))",
        "features have 53 bits whatever the precision",
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
