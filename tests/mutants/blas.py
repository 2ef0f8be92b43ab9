"""Mutants of verify/arithmetic/blas.py: every probe and every comparison, dropped or weakened."""

from tests.mutants import of

blas = of("verify/arithmetic/blas.py", "tests/verify/arithmetic/test_blas.py")
blas_by_enclosure = of("verify/arithmetic/blas.py", "tests/verify/arithmetic/test_enclosure.py")
blas_by_products = of("verify/arithmetic/blas.py", "tests/verify/arithmetic/test_products.py")

MUTANTS = [
    blas(
        '    _Product("product by a vector", _by_vectors, _VECTOR_SHAPES, (700, 5, 24), (257, 5, 131)),\n',
        "",
        "no product by a vector",
    ),
    blas(
        '    _Product("inner product", _by_inner_products, _INNER_SHAPES, (3, 2, 20011), (6, 5, 131)),\n',
        "",
        "no inner product",
    ),
    blas(
        '    _Product("product by a sparse matrix", _by_sparse_rows, _SPARSE_SHAPES, (400, 40, 24), (257, 40, 131)),\n',
        "",
        "no product by a sparse matrix",
    ),
    blas("return csr_array(a) @ b", "return a @ b", "the sparse product that is probed is a dense one"),
    blas(
        "((1, 1, 1), (3, 5, 7), (1, 129, 300), (301, 1, 127), (65, 33, 1031)",
        "((3, 5, 7), (1, 129, 300), (65, 33, 1031)",
        "no product of a sparse matrix by one column",
    ),
    blas(", (3, 3, 20011))", ")", "no inner product is long enough for threads"),
    blas(", (700, 3, 699))", ")", "no product by a vector is large enough for threads"),
    blas("(3, 2, 20011), (6", "(3, 2, 24), (6", "short inner products of subnormals only"),
    blas("(700, 5, 24), (", "(70, 5, 24), (", "small products of subnormals by vectors only"),
    blas("    for product in _PRODUCTS[1:]:", "    for product in ():", "only the matrix product is probed"),
    blas_by_enclosure(
        "if smallest_normal * half * 2.0 != smallest_normal:",
        "if False:",
        "a thread that flushes subnormals is accepted",
    ),
    blas(" or -one - 1.5 * u == -one", "", "rounding upward is accepted"),
    blas("one + 1.5 * u == one or ", "", "rounding downward is accepted"),
    blas("            if not holds(product):", "            if holds is None:", "no probe refuses"),
    blas('    "graded integers": _graded_integers,\n', "", "there is no probe with graded integers"),
    blas('    "full mantissas": _full_mantissas,\n', "", "there is no probe with full mantissas"),
    blas('    "subnormals": _subnormals,\n', "", "there is no probe with subnormals"),
    blas('    "lost values": _lost_values,\n', "", "there is no probe with NaN and infinity"),
    blas("    require_ieee()\n    with", "    with", "a probe runs in a thread that rounds elsewhere"),
    blas("np.ldexp(a.astype(np.float64), row + middle)", "a.astype(np.float64)", "rows are not scaled apart"),
    blas("rng.integers(-150, 150, inner)", "np.zeros(inner, dtype=np.int64)", "inner indices are not scaled apart"),
    blas("np.array_equal(entries @ v, a @ (b @ v))", "True", "graded integers are not compared"),
    blas("bool(np.all(entries == product)) and ", "", "fractions count as integers"),
    blas("computed.shape != (rows, columns) or ", "", "the shape of a product is not looked at"),
    blas("    (700, 701, 699),\n", "", "the largest shape is left out"),
    blas("(error * (2**53 - n) <= n *", "(error <= n * 2**13 *", "mantissas may be 13 bits too short"),
    blas("[(-1074, 0), (-537, -537), (0, -1074)]", "[(0, 0)]", "the subnormals of the probe are normal"),
    blas(
        "np.isfinite(product.multiply(a, b)[11]).any()",
        "np.isfinite(product.multiply(a, b)[11]).all()",
        "half of a row may lose a NaN",
    ),
    blas_by_products(
        "        if inner > 67 and not spread:\n", "        if False:\n", "many terms excuse a coarse device"
    ),
    blas("for spread in (0, 8, 24, 60)]", "for spread in (0,)]", "an emulation of narrow rows passes"),
    blas("(9, 8, 67, 0), *large]", "(9, 8, 67, 0)]", "large products are looked at in integers alone"),
    blas("_LARGE: Shape = (257, 255, 131)", "_LARGE: Shape = (9, 9, 9)", "large products are small"),
]
