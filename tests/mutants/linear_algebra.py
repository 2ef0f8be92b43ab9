"""Mutants of the certified linear algebra: every term of every bound, dropped or turned around."""

from tests.mutants import Mutant


def each_of(file: str, tests: str, *changes: tuple[str, str, str]) -> list[Mutant]:
    paths = " ".join(f"tests/{name}.py" for name in tests.split())
    return [Mutant(f"verify/{file}.py", original, mutated, paths, why) for original, mutated, why in changes]


NORMS = each_of(
    "linear_algebra/norms",
    "verify/linear_algebra/test_norms",
    ("(arb(squares) + flat.size * _flushed(1))", "arb(squares)", "squares that underflow vanish from a norm"),
    (" / (1 - arb(gamma(flat.size)))", "", "the roundings of a sum of squares are forgotten"),
    ("(1 - arb(gamma(flat.size)))", "(1 + arb(gamma(flat.size)))", "a sum of squares is corrected the wrong way"),
    ("(arb(squares) - flat.size * _flushed(1))", "(arb(squares) + flat.size * _flushed(1))", "a lower bound has slack"),
    (" / (1 + arb(gamma(flat.size)))", "", "a lower bound ignores the roundings of the sum"),
    ("frobenius(x.radius) * arb(repeats).sqrt()", "frobenius(x.radius)", "a broadcast radius is counted once"),
    ("gamma(min(inner, _INNER) + max(inner - 1, 0) // _INNER)", "0.0", "products are taken for exact"),
    ("min(inner, _INNER) + max(inner - 1, 0) // _INNER", "min(inner, _INNER)", "additions of blocks are not counted"),
    ("roundings(inner) * norms + ", "", "the error of a product is only what underflows"),
    (" + arb(shape[0] * shape[1]).sqrt() * _flushed(inner)", "", "underflow in products is forgotten"),
    ("(matrix @ vector + inner * 8.0 * TINY)", "(matrix @ vector)", "underflow in sums of products is forgotten"),
    (" * (1.0 + 2.0 * gamma(inner + 8))", "", "sums of products are not raised"),
    ("2.0 * gamma(inner + 8)", "gamma(inner)", "sums of products are not raised enough for what follows"),
    (
        "float(up(image / weights).max(initial=0.0))",
        "float((image / weights).max(initial=0.0))",
        "a quotient is rounded",
    ),
    ("up(image / weights).max(initial=0.0)", "up(image / weights).min(initial=1e300)", "the best row speaks for all"),
    ("            best, best_weights = alpha, weights\n", "            best = alpha\n", "weights of an earlier sweep"),
    ("below = math.nextafter(float(x.lower()), -math.inf)", "below = float(x)", "lower bounds are rounded to nearest"),
    ("math.nextafter(float(x.lower()), -math.inf)", "float(x.upper())", "the wrong end of a ball is taken"),
    ("below > 0.0 and arb(below) <= x else", "below > 0.0 else", "the conversion of a ball to a float is believed"),
    ("above = math.nextafter(float(x.upper()), math.inf)", "above = float(x)", "upper bounds are rounded to nearest"),
    ("return above if arb(above) >= x else math.inf", "return above", "any upper bound passes, NaN too"),
    ("* _LARGEST_WEIGHT), _LEAST_WEIGHT)", "* _LARGEST_WEIGHT), 0.0)", "weights may be zero"),
    ("np.rint(image / image.max(initial=TINY) * _LARGEST_WEIGHT)", "image", "weights are no integers"),
    ("np.maximum(np.frexp(x)[1], -1000)", "np.maximum(np.frexp(x)[1] - 1, -1000)", "exponents are too small by one"),
)

FIXED_POINT = each_of(
    "arithmetic/fixed_point",
    "verify/linear_algebra/test_norms",
    ("    if not np.abs(x).max(initial=0.0) <= _LARGEST:", "    if False:", "integers overflow in silence"),
    ("return integers, bits, not rest.any()", "return integers, bits, True", "what was rounded passes as exact"),
    ("limb = np.rint(rest)", "limb = np.floor(rest)", "half units become whole ones"),
)

BALANCING = each_of(
    "linear_algebra/balancing",
    "verify/linear_algebra/test_norms verify/linear_algebra/test_row_rank",
    ("+ radius.shape) * _powers(rows)[:, None]", "+ radius.shape)", "radii are not scaled with their rows"),
    (
        "                radius = radius * _powers(column_exponents)\n",
        "                pass\n",
        "nor with their columns",
    ),
    (
        "radius = up(radius + _SMALLEST * (2.0 ** (_COLUMN_LIMIT + 1) if columns else 1.0))",
        "pass",
        "underflow is forgotten",
    ),
    ("(2.0 ** (_COLUMN_LIMIT + 1) if columns else 1.0)", "1.0", "underflow that a column scales up is forgotten"),
    ("int(self.row_exponents.max())", "int(self.row_exponents.min())", "the least scaled row speaks for all"),
)

APPROXIMATE_INVERSE = each_of(
    "linear_algebra/approximate_inverse",
    "verify/linear_algebra/test_approximate_inverse verify/linear_algebra/test_row_rank falsify/test_singular_matrices",
    ("if self.norm < 1 else self.contraction[1]", "if True else self.contraction[1]", "weights of a proof are lost"),
    (
        "return 0.0 if self.exact else roundings(self.b.shape[1])",
        "return 0.0",
        "a weighted bound takes products for exact",
    ),
    ("frobenius(self.computed) * (1 + arb(UNIT))", "frobenius(self.computed)", "the subtraction of I is not rounded"),
    (
        "return self.computed_norm + spread + product_error(",
        "return self.computed_norm + 0 * spread + product_error(",
        "radii are ignored",
    ),
    (
        "self.computed_norm + spread + product_error(product_norms, (size, size), inner)",
        "self.computed_norm + spread",
        "float products are taken for exact",
    ),
    (
        "            return self.computed_norm + spread\n",
        "            return self.computed_norm\n",
        "radii are ignored",
    ),
    ("frobenius(self.b.midpoint) * self.w_norm", "frobenius(self.b.midpoint)", "the witness does not count"),
    ("            weights += self.b.radius\n", "", "a weighted bound ignores the radii"),
    ("times_positive(np.abs(self.computed), v) + ", "", "a weighted bound ignores what was computed"),
    ("np.abs(self.computed)", "self.computed", "entries of a residual cancel"),
    (" + times_positive(weights, images)", "", "a weighted bound is only what was computed"),
    (" + inner * 2.0**-1010 * (1.0 + v.sum() + images.sum())", "", "a weighted bound forgets underflow"),
    (" * arb(len(weights)).sqrt()", "", "the maximum norm is taken for the spectral norm"),
    ("(1 - alpha) / imbalance", "(1 - alpha)", "the imbalance of the weights is ignored"),
    ("bool(self.smallest_singular_value > 0)", "not self.smallest_singular_value <= 0", "NaN is not turned away"),
    ("        return nearly_one / self.w_norm", "        return nearly_one", "the size of the witness is ignored"),
    ("arb(2) ** -scaled.growth", "arb(2) ** scaled.growth", "a bound is scaled back the wrong way"),
    (" * arb(2) ** int(np.ptp(scaled.row_exponents))", "", "the spread of the rows is ignored"),
    ("    computed.flat[:: len(computed) + 1] -= 1.0\n", "", "the residual is not that of the identity"),
    ("up(b.radius + 2.0 ** (-_LIMBS * LIMB - 1))", "b.radius", "what the integers leave out is forgotten"),
    ("np.ldexp(mantissas, exponents - 53)", "w", "the witness that is kept is not the one that was used"),
    ("        row[i] -= 1 << shifts[i]\n", "        row[i] += 1 << shifts[i]\n", "the identity has the wrong sign"),
)

GRAM = each_of(
    "linear_algebra/gram",
    "verify/linear_algebra/test_row_rank verify/linear_algebra/test_singular_values falsify/test_singular_matrices",
    (
        "product_error(frobenius(b) ** 2, (size, size), inner), block)",
        "0 * frobenius(b), block)",
        "the Gram matrix is taken for exact",
    ),
    ("(1 if left == top else 2)", "1", "the upper triangle is forgotten"),
    ("squares.sqrt() * (1 + 4 * arb(UNIT))", "squares.sqrt()", "the rounding of a difference is forgotten"),
    (" + 2 * arb(UNIT) * norms\n", "\n", "the rounding of the shift is forgotten"),
    ("return rounding + k.error + ", "return rounding + ", "the error of the Gram matrix is forgotten"),
    (" + product_error(norms, (size, size), size)", "", "the factor's product is taken for exact"),
    ("block.flat[:: end - left + 1] -= sign * shift", "block.flat[:: end - left + 1] -= shift", "one sign is wrong"),
    ("factor[rows, :end]", "factor[rows, :left]", "columns of the factor are left out"),
    (
        "            return (shift - distance(k, shift, root)).sqrt(), None",
        "            return arb(shift).sqrt(), None",
        "the witness is believed",
    ),
    (
        "bound = shift - distance(k, shift, np.ldexp(mantissas, exponents[:, None], out=mantissas))",
        "bound = arb(shift)",
        "the witness is believed",
    ),
    ("np.ldexp(mantissas, exponents[:, None], out=mantissas)", "root", "another witness is judged than is written"),
)

ROW_RANK = each_of(
    "linear_algebra/row_rank",
    "verify/linear_algebra/test_row_rank falsify/test_singular_matrices",
    (
        "residual.weights.astype(np.int64)",
        "np.ones(len(integers), np.int64)",
        "weights of a proof are not written down",
    ),
    ("    bound -= radius_norm(scaled.scaled)\n", "", "radii are ignored"),
    ("    bound -= radius_norm", "    bound += radius_norm", "radii help"),
    ("arb(2) ** -scaled.growth", "arb(2) ** scaled.growth", "a bound is scaled back the wrong way"),
    ("    if not bound > 0:\n", "    if bound < 0:\n", "NaN is not turned away"),
    (
        "        if exact is None or not exact.proves_rank:",
        "        if exact is None:",
        "an exact product proves without a bound",
    ),
    ("    if size > width:", "    if size > width + 1:", "a row too many is tried"),
    (
        'RankCertificate(Verdict.PROVED, 0.0, "prime field") if full else None',
        'RankCertificate(Verdict.PROVED, 0.0, "prime field")',
        "what no method proves is proved",
    ),
)

NONSINGULARITY = each_of(
    "linear_algebra/nonsingularity",
    "verify/linear_algebra/test_nonsingularity falsify/test_singular_matrices",
    ("    if not residual.proves_rank:\n", "    if False:\n", "every witness proves"),
    (
        "        if exact is None or not exact.proves_rank:",
        "        if exact is None:",
        "an exact product proves without a bound",
    ),
    ("    if decided is None:\n        return None\n", "", "matrices that no prime decides are refuted"),
    ("    if not given.exact:\n        return None\n", "", "the midpoint stands for its set"),
    (
        "    if bound is None:\n        return NonsingularCertificate(Verdict.UNDECIDED",
        "    if bound is None:\n        return NonsingularCertificate(Verdict.PROVED",
        "nothing proves",
    ),
)

PRIME_FIELD = each_of(
    "linear_algebra/prime_field",
    "verify/linear_algebra/test_rank falsify/test_singular_matrices",
    ("or not fmpz(self.prime).is_prime()", "", "composite moduli are accepted"),
    ("and list(indices) == sorted(set(indices))", "", "an index may be used twice"),
    ("and all(0 <= i < bound for i in indices)", "", "an index may be outside"),
    (", self.prime).rank() == size", ", self.prime).rank() <= size", "minors may vanish"),
    (
        "    if len(columns) == matrix.nrows():",
        "    if len(columns) >= matrix.nrows() - 1:",
        "one row too many is taken",
    ),
)

RANK = each_of(
    "linear_algebra/rank",
    "verify/linear_algebra/test_rank falsify/test_singular_matrices",
    (
        "        if not minor.proves_rank_of(matrices.integers):\n            continue\n",
        "",
        "a minor is believed without being judged",
    ),
    (" or self.denominator == 0:", ":", "a denominator of 0 proves everything"),
    ("        if not shape_fits:\n            return False\n", "", "coefficients of any shape are tried"),
    ("* x == dependent * self.denominator", "* x == dependent", "the denominator is ignored"),
    (
        "return submatrix(columns, every_row, self.pivots) * x == dependent * self.denominator",
        "return True",
        "dependencies are believed",
    ),
    (
        "        if (matrix * kernel) == fmpz_mat(matrix.nrows(), 1, [0] * matrix.nrows()):\n",
        "        if True:\n",
        "kernel vectors are believed",
    ),
    (
        'return dependency if dependency.proves_rank_of(matrix if axis == "columns" else matrix.transpose()) else None',
        "return dependency",
        "dependencies are believed",
    ),
    ("up(up(away) + compressed.radius)", "up(up(away))", "the radii of a compressed set are ignored"),
    (
        "np.abs(compressed.midpoint - np.eye(len(left)))",
        "np.abs(compressed.midpoint)",
        "near zero passes for near the identity",
    ),
    (
        "    return np.where(np.isfinite(distance), distance, np.inf)",
        "    return np.where(np.isfinite(distance), distance, 0.0)",
        "NaN passes for zero",
    ),
    (
        "            best = RankBracket(rank, smaller, minor)\n",
        "            best = RankBracket(rank, rank, minor)\n",
        "the rank modulo a prime passes for the rank",
    ),
)

BALLS = each_of(
    "linear_algebra/balls",
    "verify/linear_algebra/test_nonsingularity verify/linear_algebra/test_row_rank falsify/test_singular_matrices",
    ("arb(middle, distance)", "arb(middle)", "the midpoint stands for its set"),
    ("1 / (squares.sqrt() * norm)", "1 / norm", "the size of the inverse is ignored"),
    ("if given.exact and given.entries is not None:", "if False:", "exact entries are taken for their enclosures"),
)

GIVEN_MATRIX = each_of(
    "linear_algebra/given_matrix",
    "verify/linear_algebra/test_given_matrix verify/linear_algebra/test_nonsingularity",
    ("up(rounding + radii) if radii.any() else rounding", "radii", "the rounding of exact entries is forgotten"),
    ("up(rounding + radii) if radii.any() else rounding", "rounding", "the given radius is forgotten"),
    ("up(rounding + radii) if", "(rounding + radii) if", "the sum of radii is rounded"),
    (
        "    if array.dtype != object and not np.isfinite(array).all():",
        "    if False:",
        "NaN and infinity are accepted",
    ),
    ("        if np.isinf(rounding).any():", "        if False:", "a radius beyond float64 becomes tiny"),
    ("radii = up(middle + rounding)", "radii = middle", "a radius given as a fraction is rounded to nearest"),
    ("np.where(nonzero, exponent - lowest, 0)", "0 * exponent", "exponents of integer rows are dropped"),
    (
        "Enclosure(array, radii), exact=not radii.any())",
        "Enclosure(array, radii), exact=True)",
        "a set passes for its midpoint",
    ),
    (
        "return GivenMatrix(values, exact=not values.radius.any())",
        "return GivenMatrix(values, exact=True)",
        "a set passes for its midpoint",
    ),
)

GIVEN_NUMBERS = each_of(
    "arithmetic/exact_inputs",
    "verify/arithmetic/test_exact_inputs verify/linear_algebra/test_given_matrix",
    ("math.nextafter(float(distance), math.inf)", "float(distance)", "the distance of an exact entry is rounded"),
    ("            rounding[index] = np.inf\n", "            pass\n", "what overflows becomes zero"),
    (
        "max(int(array.max()), -int(array.min())) > _LARGEST",
        "int(array.max()) > _LARGEST",
        "large negative integers are cast",
    ),
    (
        "> _LARGEST:\n        return array.astype(object)",
        "> 2**63:\n        return array.astype(object)",
        "large integers are cast",
    ),
)

SINGULAR_VALUES = each_of(
    "linear_algebra/singular_values",
    "verify/linear_algebra/test_singular_values falsify/test_singular_matrices",
    ("(shrink * arb(s) - distance)", "(shrink * arb(s))", "the distance of the factors is ignored from below"),
    ("(grow * arb(s) + distance)", "(grow * arb(s))", "the distance of the factors is ignored from above"),
    ("(shrink * arb(s) - distance)", "(grow * arb(s) - distance)", "the factors may be longer than orthogonal"),
    ("(grow * arb(s) + distance)", "(shrink * arb(s) + distance)", "the factors may be shorter than orthogonal"),
    ("((1 - alpha) * (1 - beta)).sqrt()", "(1 - beta).sqrt()", "the left vectors are taken for orthogonal"),
    ("((1 + alpha) * (1 + beta)).sqrt()", "(1 + alpha).sqrt()", "the right vectors are taken for orthogonal"),
    ("values = np.sort(np.abs(values))[::-1]", "pass", "values are taken in the order given"),
    (
        "        if not (alpha < 1 and beta < 1 and distance.is_finite()):",
        "        if False:",
        "degenerate factors are used",
    ),
    (" + error + rounding + radius_norm(a)", " + error + rounding", "radii are ignored"),
    (
        "    return frobenius(computed) * (1 + arb(UNIT)) + error\n",
        "    return frobenius(computed) * 0 + error\n",
        "departures are ignored",
    ),
    (
        "up(np.ldexp(a.radius, -exponent) + 2.0**-1073)",
        "np.ldexp(a.radius, -exponent) * (1 - 2.0**-50)",
        "radii shrink",
    ),
    (
        "(frobenius_below(image) - error) / frobenius(vector) - radius",
        "(frobenius_below(image) - error) - radius",
        "the vector need not be a unit",
    ),
    (" / frobenius(vector) - radius", " / frobenius(vector)", "a lower bound of a norm ignores the radii"),
    ("float_above(unit * (upper + radius))", "float_above(unit * upper)", "an upper bound of a norm ignores the radii"),
    (
        "bound = (arb(square * (1.0 + shift)) + gram.distance(k, square * (1.0 + shift), root, sign=-1)).sqrt()",
        "bound = arb(square * (1.0 + shift)).sqrt()",
        "the witness is believed",
    ),
)

CONDITION = each_of(
    "linear_algebra/condition",
    "verify/linear_algebra/test_condition falsify/test_singular_matrices",
    (
        "largest = float(values.upper()[0])",
        "largest = float(values.lower()[0])",
        "a condition is bounded by a lower end",
    ),
    ("max(float(values.lower()[-1])", "max(float(values.upper()[-1])", "a condition is bounded by an upper end"),
)

LINEAR_SYSTEMS = each_of(
    "linear_algebra/linear_systems",
    "verify/linear_algebra/test_linear_systems falsify/test_singular_matrices",
    (
        "    if residual is None or not residual.contraction[0] < 1:",
        "    if residual is None:",
        "no contraction is needed",
    ),
    ("up(defect + spread)", "defect", "the error of the inverse is ignored"),
    ("up(defect + spread)", "spread", "the defect is ignored"),
    ("float_above(alpha / (1 - alpha))", "0.0", "the error of the inverse is ignored"),
    ("up(distance + solution.radius)", "solution.radius", "the distance of the solution is ignored"),
    ("up(distance + solution.radius)", "distance", "the rounding of the iterate is ignored"),
    ("(np.abs(residual.w), up(", "(residual.w, up(", "the entries of the inverse cancel"),
    ("up(computed + times_positive(radius, size))", "computed", "the radii of the matrix are ignored"),
    (" + times_positive(radius, size)) + b.radius)", " + times_positive(radius, size)))", "the radii of b are ignored"),
    (
        "up(up(computed + times_positive(radius, size)) + b.radius)",
        "up(times_positive(radius, size) + b.radius)",
        "the residual is ignored",
    ),
    ("size = up(np.abs(midpoint) + missed)", "size = 0 * missed", "the size of the solution is ignored"),
    ("0.0 if exact else 2.0 ** (-bits - 1)", "0.0", "what the integers leave out is forgotten"),
    (
        "    one = np.ldexp(1.0, unit) + 2.0**-1060\n",
        "    one = 0.0\n",
        "units that are cut off and underflow are forgotten",
    ),
    (
        "    return n >> -shift if n >= 0 else -(-n >> -shift)\n",
        "    return n >> -shift\n",
        "integers are cut off downwards",
    ),
    ("radii = [float_above(abs(x - m))", "radii = [0 * float_above(abs(x - m))", "balls are taken for their midpoints"),
    ("    radius[rows:, :rows] = radius[:rows, rows:].T\n", "", "one half of an augmented system is exact"),
    ("    radius[:rows, rows:] = matrix.enclosure.radius\n", "", "an augmented system is exact"),
    (
        "    radius = np.broadcast_to(right.enclosure.radius, right.shape)\n",
        "    radius = np.zeros(right.shape)\n",
        "an augmented right-hand side is exact",
    ),
    (
        "right.exact and len(matrix.enclosure)",
        "len(matrix.enclosure)",
        "a set of right-hand sides passes for its midpoint",
    ),
    ("exact = matrix.exact and right", "exact = right", "a set of matrices passes for its midpoint"),
)

MUTANTS = [
    *NORMS,
    *FIXED_POINT,
    *BALANCING,
    *APPROXIMATE_INVERSE,
    *GRAM,
    *ROW_RANK,
    *NONSINGULARITY,
    *PRIME_FIELD,
    *RANK,
    *BALLS,
    *GIVEN_MATRIX,
    *GIVEN_NUMBERS,
    *SINGULAR_VALUES,
    *LINEAR_SYSTEMS,
]
