"""Mutants of verify/arithmetic/blas.py: every probe and every comparison, dropped or weakened."""

from tests.mutants import Mutant

FILE = "verify/arithmetic/blas.py"
TESTS = "tests/verify/arithmetic/test_blas.py"


def mutant(original: str, mutated: str, why: str, tests: str = TESTS) -> Mutant:
    return Mutant(FILE, original, mutated, tests, why)


MUTANTS = [
    mutant(
        '    _Product("product by a vector", _by_vectors, _VECTOR_SHAPES, (700, 5, 24), (257, 5, 131)),\n',
        "",
        "no product by a vector",
    ),
    mutant(
        '    _Product("inner product", _by_inner_products, _INNER_SHAPES, (3, 2, 20011), (6, 5, 131)),\n',
        "",
        "no inner product",
    ),
    mutant(
        '    _Product("product by a sparse matrix", _by_sparse_rows, _SPARSE_SHAPES, (400, 40, 24), (257, 40, 131)),\n',
        "",
        "no product by a sparse matrix",
    ),
    mutant("return csr_array(a) @ b", "return a @ b", "the sparse product that is probed is a dense one"),
    mutant(
        "((1, 1, 1), (3, 5, 7), (1, 129, 300), (301, 1, 127), (65, 33, 1031)",
        "((3, 5, 7), (1, 129, 300), (65, 33, 1031)",
        "no product of a sparse matrix by one column",
    ),
    mutant(", (3, 3, 20011))", ")", "no inner product is long enough for threads"),
    mutant(", (700, 3, 699))", ")", "no product by a vector is large enough for threads"),
    mutant("(3, 2, 20011), (6", "(3, 2, 24), (6", "short inner products of subnormals only"),
    mutant("(700, 5, 24), (", "(70, 5, 24), (", "small products of subnormals by vectors only"),
    mutant("    for product in _PRODUCTS[1:]:", "    for product in ():", "only the matrix product is probed"),
    mutant(
        "if smallest_normal * half * 2.0 != smallest_normal:",
        "if False:",
        "a thread that flushes subnormals is accepted",
        "tests/verify/arithmetic/test_enclosure.py",
    ),
    mutant(" or -one - 1.5 * u == -one", "", "rounding upward is accepted"),
    mutant("one + 1.5 * u == one or ", "", "rounding downward is accepted"),
    mutant("            if not holds(product):", "            if holds is None:", "no probe refuses"),
    mutant('    "graded integers": _graded_integers,\n', "", "there is no probe with graded integers"),
    mutant('    "full mantissas": _full_mantissas,\n', "", "there is no probe with full mantissas"),
    mutant('    "subnormals": _subnormals,\n', "", "there is no probe with subnormals"),
    mutant('    "lost values": _lost_values,\n', "", "there is no probe with NaN and infinity"),
    mutant("    require_ieee()\n    with", "    with", "a probe runs in a thread that rounds elsewhere"),
    mutant("np.ldexp(a.astype(np.float64), row + middle)", "a.astype(np.float64)", "rows are not scaled apart"),
    mutant("rng.integers(-150, 150, inner)", "np.zeros(inner, dtype=np.int64)", "inner indices are not scaled apart"),
    mutant("np.array_equal(entries @ v, a @ (b @ v))", "True", "graded integers are not compared"),
    mutant("bool(np.all(entries == product)) and ", "", "fractions count as integers"),
    mutant("found.shape != (rows, columns) or ", "", "the shape of a product is not looked at"),
    mutant("    (700, 701, 699),\n", "", "the largest shape is left out"),
    mutant("(error * (2**53 - n) <= n *", "(error <= n * 2**13 *", "mantissas may be 13 bits too short"),
    mutant("[(-1074, 0), (-537, -537), (0, -1074)]", "[(0, 0)]", "the subnormals of the probe are normal"),
    mutant(
        "np.isfinite(product.multiply(a, b)[11]).any()",
        "np.isfinite(product.multiply(a, b)[11]).all()",
        "half of a row may lose a NaN",
    ),
    mutant(
        "        if inner > 67 and not spread:\n",
        "        if False:\n",
        "many terms excuse a coarse device",
        "tests/verify/arithmetic/test_products.py",
    ),
    mutant("for spread in (0, 8, 24, 60)]", "for spread in (0,)]", "an emulation of narrow rows passes"),
    mutant("(9, 8, 67, 0), *large]", "(9, 8, 67, 0)]", "large products are looked at in integers alone"),
    mutant("_LARGE: Shape = (257, 255, 131)", "_LARGE: Shape = (9, 9, 9)", "large products are small"),
]
