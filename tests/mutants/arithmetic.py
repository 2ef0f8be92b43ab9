"""Mutants of the enclosures in verify/arithmetic: every term of every bound, dropped or turned around."""

from tests.mutants import of

enclosure = of("verify/arithmetic/enclosure.py", "tests/verify/arithmetic/test_enclosure.py")
enclosure_by_elementary = of("verify/arithmetic/enclosure.py", "tests/verify/arithmetic/test_elementary.py")
rounding_by_enclosure = of("verify/arithmetic/rounding.py", "tests/verify/arithmetic/test_enclosure.py")
rounding = of("verify/arithmetic/rounding.py", "tests/verify/arithmetic/test_rounding.py")
elementary = of("verify/arithmetic/elementary.py", "tests/verify/arithmetic/test_elementary.py")
sums = of("verify/arithmetic/sums.py", "tests/verify/arithmetic/test_sums.py")
enclosure_by_products = of("verify/arithmetic/enclosure.py", "tests/verify/arithmetic/test_products.py")
products = of("verify/arithmetic/products.py", "tests/verify/arithmetic/test_products.py")
exact_inputs = of("verify/arithmetic/exact_inputs.py", "tests/verify/arithmetic/test_exact_inputs.py")

MUTANTS = [
    # The sets.
    enclosure("        blas.require_ieee()\n        m, r", "        m, r", "the thread's arithmetic is not checked"),
    enclosure("r = np.where(r >= 0.0, r, np.inf)\n        if", "pass\n        if", "a radius that is NaN stays NaN"),
    enclosure(
        "np.where(known, r, np.inf)\n        self._keep", "r\n        self._keep", "a lost midpoint keeps its radius"
    ),
    enclosure_by_elementary(
        "if not known.all():\n                m, r",
        "if True:\n                m, r",
        "a harmless overflow costs memory",
    ),
    enclosure(
        "np.where(single, low, 0.5 * low + 0.5 * high)", "0.5 * low + 0.5 * high", "halves of subnormals are rounded"
    ),
    enclosure("np.maximum(high - m, m - low)", "(m - low)", "the distance to the upper end is not looked at"),
    enclosure("down(self.midpoint - self.radius)", "up(self.midpoint - self.radius)", "lower ends are rounded up"),
    enclosure("return abs(self).upper()", "return np.abs(self.midpoint)", "magnitudes leave out the radius"),
    enclosure(
        "r = _without_repeats(np.broadcast_to(r, self.shape)[key])", "r = r.max()", "entries get the radius of others"
    ),
    # Outward rounding.
    rounding_by_enclosure("    step *= UNIT * RAISE\n", "    step *= 0.5 * UNIT\n", "a step is half as long"),
    rounding("    step *= UNIT * RAISE\n", "    step *= 4.0 * UNIT\n", "a step is four times as long"),
    rounding("    step += TINY\n", "", "there is no step from subnormal numbers"),
    rounding_by_enclosure(
        "    blas.require_ieee()\n    step", "    step", "outward rounding does not check the thread's arithmetic"
    ),
    rounding_by_enclosure("    return x - _step(x)", "    return x + _step(x)", "down goes up"),
    rounding("math.nextafter(n * UNIT / (1.0 - n * UNIT), math.inf)", "n * UNIT", "gamma is the first-order bound"),
    rounding_by_enclosure("RAISE = 1.0 + 16.0 * UNIT", "RAISE = 1.0 - 16.0 * UNIT", "radii are lowered"),
    rounding_by_enclosure("    value += TINY\n", "", "underflow in radii is forgotten"),
    rounding(
        "return 1.0 + 2.0 * gamma(roundings + 8)",
        "return 1.0 + gamma(roundings)",
        "the room for more roundings is gone",
    ),
    # + - * / and the root.
    enclosure("    r *= UNIT * RAISE\n    return", "    r *= 0.0\n    return", "the rounding of a sum is forgotten"),
    enclosure(
        "    r *= UNIT * RAISE\n    return",
        "    r *= 0.5 * UNIT\n    return",
        "half of the rounding of a sum is forgotten",
    ),
    enclosure(
        "r = np.abs(m)\n    r *= UNIT\n",
        "r = np.abs(m)\n    r *= 0.5 * UNIT\n",
        "half of the rounding of a product is forgotten",
    ),
    enclosure("r = r + np.abs(a.midpoint) * b.radius", "pass", "|a| rb is forgotten"),
    enclosure("r = size * UNIT\n", "r = size * (0.5 * UNIT)\n", "half of the rounding of a quotient is forgotten"),
    enclosure(
        "raised(a.radius + (size + TINY) * b.radius)",
        "raised(size * b.radius)",
        "the radius of the dividend is forgotten",
    ),
    enclosure(
        "least = abs(b).lower()\n", "least = np.abs(b.midpoint)\n", "the least divisor is taken for the middle one"
    ),
    enclosure(
        "np.where(least > 0.0, share, np.inf)", "np.abs(share)", "division by a set that holds 0 counts as known"
    ),
    enclosure(
        "r = np.abs(m) * UNIT\n", "r = np.abs(m) * (0.5 * UNIT)\n", "half of the rounding of a root is forgotten"
    ),
    enclosure(
        "x.radius / (m + np.sqrt(x.lower()))", "x.radius / (m + m)", "the slope of the root is taken at the midpoint"
    ),
    enclosure(
        "m + np.sqrt(x.lower())", "m + np.sqrt(np.abs(x.lower()))", "the root of what may be negative counts as known"
    ),
    # exp.
    elementary('_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")', "_LN2_LOW = 0.0", "ln 2 has 42 bits"),
    elementary("0x1.62e42fefa3800p-1", "0x1.62e42fefa39efp-1", "k times the high part of ln 2 is rounded"),
    elementary("EXP_ERROR = 4.0 * UNIT", "EXP_ERROR = 0.0", "exp has no rounding errors"),
    elementary("EXP_ERROR = 4.0 * UNIT", "EXP_ERROR = 1.0 * UNIT", "exp is correctly rounded"),
    elementary("EXP_ERROR = 4.0 * UNIT", "EXP_ERROR = 40.0 * UNIT", "the radius of exp is ten times too large"),
    elementary("EXP_LOWEST = -708.0", "EXP_LOWEST = -745.0", "subnormal results count as normal"),
    elementary("_EXP_HIGHEST = 710.0", "_EXP_HIGHEST = 709.0", "what overflows is cut down"),
    elementary("np.multiply(r, _EXP[-1], out=y)", "y.fill(0.0)", "the last term of exp is missing"),
    elementary("0x1.af38a0d2d9620p-26", "0x1.ae64567f544e4p-26", "the last coefficient of exp is Taylor's"),
    elementary("np.multiply(y, EXP_ERROR, out", "np.multiply(y, 0.5 * UNIT, out", "half a unit for floats"),
    elementary(
        "raised(rho / (1.0 - 0.5 * rho))", "raised(0.5 * rho)", "half of the radius of the exponent is forgotten"
    ),
    elementary("relative = relative + (x.midpoint < EXP_LOWEST)", "pass", "results below the range are trusted"),
    elementary("r = y * raised(relative)", "r = y * (0.25 * relative)", "a quarter of the radius of exp is taken"),
    elementary("wide = x.radius > 0.5\n", "wide = x.radius > 1e9\n", "wide exponents are cut down to radius 1/2"),
    elementary(
        "np.where(low < EXP_LOWEST, 0.0, exp_floats(low)",
        "np.where(low < -1e9, 0.0, exp_floats(low)",
        "lower ends below the range are trusted",
    ),
    elementary(
        "exp_floats(low) * (1.0 - 8.0 * UNIT)", "exp_floats(low) * (1.0 + 8.0 * UNIT)", "lower ends of exp are raised"
    ),
    elementary(
        "exp_floats(high) * (1.0 + 8.0 * UNIT)",
        "exp_floats(high) * (1.0 - 8.0 * UNIT)",
        "upper ends of exp are lowered",
    ),
    # log and log1p.
    elementary("LOG_ERROR = 5.0 * UNIT", "LOG_ERROR = 0.0", "log has no rounding errors"),
    elementary("LOG_ERROR = 5.0 * UNIT", "LOG_ERROR = 1.0 * UNIT", "log is correctly rounded"),
    elementary("LOG_ERROR = 5.0 * UNIT", "LOG_ERROR = 50.0 * UNIT", "the radius of log is ten times too large"),
    elementary("_LOG1P_ERROR = 8.0 * UNIT", "_LOG1P_ERROR = 1.0 * UNIT", "log1p is correctly rounded"),
    elementary("_LOG1P_ERROR = 8.0 * UNIT", "_LOG1P_ERROR = 80.0 * UNIT", "the radius of log1p is ten times too large"),
    elementary("k -= (54.0 * 2.0**52)", "k -= (53.0 * 2.0**52)", "the scaling of subnormals is not undone"),
    elementary(
        "np.copyto(f, fraction_flat[start : start + _CHUNK], where=k == 0.0)",
        "pass",
        "log1p forgets what rounding 1 + x loses",
    ),
    elementary("np.multiply(w, _ATANH[-1], out=y)", "y.fill(0.0)", "the last term of artanh is missing"),
    elementary("0x1.2b5b5fb2eac92p-3", "0x1.1111111111111p-3", "the last coefficient of artanh is Taylor's"),
    elementary("r[~(flat[start : start + _CHUNK] > 0.0)] = np.inf", "pass", "log of the float 0 is known"),
    elementary("r[~(flat[start : start + _CHUNK] > 0.0)]", "r[~(flat[: y.size] > 0.0)]", "the first block's"),
    elementary("None if z.min() >= TINY", "None if z.min() >= 0.0", "subnormals count as normal"),
    elementary("None if z.min() >= TINY", "None if not z.min() < TINY", "a NaN hides subnormals"),
    elementary(
        "np.abs(y, out=result[1, start : start + _CHUNK])",
        "np.abs(y, out=result[1, : y.size])",
        "the radii of all blocks of log are in the first",
    ),
    elementary(
        "np.multiply(y, EXP_ERROR, out=result[1, start : start + _CHUNK])",
        "np.multiply(y, EXP_ERROR, out=result[1, : y.size])",
        "the radii of all blocks of exp are in the first",
    ),
    elementary("        y -= w\n", "", "the low part of ln 2 is missing in log"),
    elementary(
        "    r += x.radius / least\n    r = raised(r)\n    if",
        "    r = raised(r)\n    if",
        "the radius of x is forgotten in log",
    ),
    elementary(
        "    r += x.radius / least\n    r = raised(r)\n    if",
        "    r += x.radius / x.midpoint\n    r = raised(r)\n    if",
        "the slope of log is taken at the midpoint",
    ),
    elementary(
        "    if not known.all():\n        r = np.where(known, r, np.inf)",
        "    if False:\n        pass",
        "log of 0 counts as known",
    ),
    elementary(
        "np.where(greatest < np.inf, log_floats(greatest), np.inf)",
        "log_floats(greatest)",
        "an upper end beyond the range is trusted",
    ),
    elementary("low - np.abs(low) * (8.0 * UNIT)", "low + np.abs(low) * (8.0 * UNIT)", "lower ends of log are raised"),
    elementary(
        "high + np.abs(high) * (8.0 * UNIT)", "high - np.abs(high) * (8.0 * UNIT)", "upper ends of log are lowered"
    ),
    elementary("down(down(one_plus) - x.radius)", "down(one_plus)", "the least 1 + x leaves out the radius"),
    elementary(
        "        r += x.radius / least\n    r = raised(r)",
        "        r += 0.0\n    r = raised(r)",
        "the radius of x is forgotten in log1p",
    ),
    # Sums.
    sums("        depth += _BLOCK - 1\n", "", "only the last level of the tree is counted"),
    sums("depth + max(x.shape[-1] - 1, 0)", "20 * depth + x.shape[-1]", "the depth is counted twenty times"),
    sums("tree_sum(np.abs(x.midpoint), axis)[0]", "np.abs(m)", "the error is taken relative to the sum"),
    sums("share = share * float(x.shape[axis])", "pass", "a repeated radius counts once"),
    # Products.
    enclosure_by_products(
        "    weight *= gamma(n)\n", "    weight *= 0.0\n", "the rounding of the product is forgotten"
    ),
    enclosure_by_products("    weight *= gamma(n)\n", "    weight *= gamma(2)\n", "only two roundings are counted"),
    enclosure_by_products("    weight += y.radius + TINY\n", "    weight += TINY\n", "|A| rB is forgotten"),
    enclosure_by_products(
        "    weight += y.radius + TINY\n", "    weight = weight + y.radius\n", "underflow before a product is forgotten"
    ),
    enclosure_by_products("        size += y.radius\n", "", "rA rB is forgotten"),
    enclosure_by_products(
        "size.sum(axis=-2, keepdims=True)", "size.max(axis=-2, keepdims=True)", "one entry stands for a column"
    ),
    enclosure_by_products(
        "if rx.shape[-1] == 1 else product(rx, size)", "if True else r", "a radius counts as constant along rows"
    ),
    enclosure_by_products("x.midpoint, y.midpoint, gamma(n))", "x.midpoint, y.midpoint, 0.0)", "BLAS is exact"),
    enclosure_by_products("if not tight and is_zero(y.radius):", "if not tight:", "norms forget the radius of B"),
    products("    column_norms *= factor\n", "", "norms are not multiplied"),
    products("    r *= outweighing(n)\n", "", "sums of radii in products are not raised"),
    products("    r += n * 2.0**-1018\n", "", "underflow in products is forgotten"),
    products(
        'np.einsum("...mn,...mn->...m", a, a)', "np.square(a).max(axis=-1)", "the norm of a row is its largest entry"
    ),
    products(
        'np.einsum("...np,...np->...p", b, b)', "np.square(b).max(axis=-2)", "the norm of a column is its largest entry"
    ),
    # What a caller gives.
    exact_inputs(
        "isinstance(values, Sequence) and not",
        "isinstance(values, list | tuple) and not",
        "a deque may hold masked arrays",
    ),
    exact_inputs(
        "array = array if all(map(_surely_memorized, entries.flat)) else entries",
        "pass",
        "integers beside floats are rounded in silence",
    ),
    exact_inputs(
        "return -_LARGEST <= int(entry) <= _LARGEST",
        "return int(entry) <= _LARGEST",
        "negative integers beside floats are rounded in silence",
    ),
    exact_inputs(
        "return -_LARGEST <= int(entry) <= _LARGEST",
        "return -_LARGEST <= int(entry) <= _LARGEST + 1",
        "the first integer that float64 lacks is rounded in silence",
    ),
    exact_inputs("max(int(array.max()), -int(array.min()))", "-int(array.min())", "large integers are rounded"),
    exact_inputs("max(int(array.max()), -int(array.min()))", "int(array.max())", "large negative integers are rounded"),
    exact_inputs(
        "or type(entry) in (np.float16, np.float32)",
        "or isinstance(entry, np.floating)",
        "extended precision in a list is rounded in silence",
    ),
    exact_inputs(
        "rounding[index] = math.nextafter(float(distance), math.inf)",
        "rounding[index] = 0.9 * float(distance)",
        "the distance to a rounded number is too small",
    ),
    exact_inputs(
        "            rounding[index] = np.inf\n",
        "            rounding[index] = 0.0\n",
        "what is beyond the range counts as 0",
    ),
    # The reciprocal root.
    enclosure("    r = y * (3.0 * UNIT)\n", "    r = y * (1.0 * UNIT)\n", "a reciprocal root has one rounding"),
    enclosure("        least = np.sqrt(x.lower())\n", "        least = root\n", "the slope is taken at the midpoint"),
    enclosure("share = raised(x.radius / least) / root / (least + root)", "share = 0.0", "no radius is kept"),
    enclosure(
        "np.where(least > 0.0, np.where(x.radius > 0.0, share, 0.0), np.inf)",
        "np.where(x.radius > 0.0, np.nan_to_num(share), 0.0)",
        "the reciprocal root of what may be 0 counts as known",
    ),
]
