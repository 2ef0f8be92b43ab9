"""Mutants of large products, of factors by blocks, and of a margin that other sums prove."""

from tests.mutants import of

memorization = of("verify/provers/memorization.py", "tests/verify/provers/test_memorization.py")
products_by_products = of("constructions/numeric/products.py", "tests/constructions/numeric/test_products.py")
cholesky = of("constructions/numeric/cholesky.py", "tests/constructions/numeric/test_cholesky.py")
gram = of("verify/linear_algebra/gram.py", "tests/verify/linear_algebra/test_gram.py")
answers = of("verify/provers/answers.py", "tests/verify/provers/test_memorization.py")

MUTANTS = [
    answers(
        "np.fmax(2.0 * lower - upper, 0.5 * lower)",
        "lower",
        "a margin is stored that another order of summation does not prove",
    ),
    products_by_products(
        "range(first, inner, first or 1)", "range(first, inner - 1, first or 1)", "a last term is lost"
    ),
    products_by_products("y[..., rows, :] += np", "y[..., rows, :] -= np", "a block of a product is subtracted"),
    products_by_products("_ROWS)\n            y[", "_ROWS - 1)\n            y[", "a row of a product is lost"),
    products_by_products(
        "if len(a) > LARGEST_SYMMETRIC and _are", "if False and _are", "the BLAS is given what it crashes on"
    ),
    products_by_products("a[rows], a[:top].T", "a[rows], a[top:].T", "a block below the diagonal is another's"),
    products_by_products(
        "y[:top, rows] = y[rows, :top].T", "y[:top, rows] = 0.0", "the part above the diagonal is lost"
    ),
    cholesky("if len(lower) <= LARGEST_SYMMETRIC", "if True", "LAPACK is given what it crashes on"),
    cholesky("    a[:half, half:] = 0.0\n", "", "what lies above the diagonal stays in the factor"),
    cholesky("rest -= multiply(below, below.T)", "pass", "a factor by halves forgets the first half"),
    cholesky("b[:, half:] -= multiply(b[:, :half], factor[half:, :half].T)", "pass", "a division forgets a half"),
    gram("block_rows = len(factor), k.block", "block_rows = len(factor), _BLOCK", "what was never written is read"),
]
