"""Mutants of products on a device: probes that do not ask it, blocks that are lost, sums that are too long."""

from tests.mutants import of

memorization = of("verify/certificates/memorization.py", "tests/contract/test_devices.py")
products = of("verify/arithmetic/products.py", "tests/verify/arithmetic/test_products.py")
products_by_products = of("constructions/products.py", "tests/constructions/test_products.py")
device_products = of("verify/replica/device_products.py", "tests/verify/replica/test_device_products.py")
cholesky = of("constructions/cholesky.py", "tests/constructions/test_cholesky.py")
gram = of("verify/linear_algebra/gram.py", "tests/verify/linear_algebra/test_gram.py")
minimum_norm = of("constructions/features/minimum_norm.py", "tests/constructions/features/test_minimum_norm.py")
job = of("byheart/job.py", "tests/byheart/test_device.py")

MUTANTS = [
    memorization(
        "np.fmax(2.0 * lower - upper, 0.5 * lower)",
        "lower",
        "a margin is stored that another order of summation does not prove",
    ),
    products("    _probe(multiplier)\n", "", "a device is not probed"),
    products("    blas.probe(multiplier, name=name, large=_LARGE)\n", "", "whole sums of a device are not probed"),
    products(
        'blas.probe(lambda a, b: multiplier(a, b, _TERMS), name=f"{name}, in blocks of terms,")',
        "pass",
        "blocks of terms of a device are not probed",
    ),
    products("_LARGE = (1100, 1000, 900)", "_LARGE = (9, 9, 9)", "large products of a device are not probed"),
    products_by_products("        _CHOSEN.reset(token)\n", "        pass\n", "a device stays behind its block"),
    products_by_products("a.ndim == b.ndim == 2 and", "a.ndim == 2 and", "a device is given batches"),
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
    device_products('    if asked != "0":\n', '    if asked == "1":\n', "emulation is not refused by all of its names"),
    device_products('    os.environ[_EMULATION] = "0"\n', "", "emulation is not switched off"),
    device_products(
        "            os.environ.pop(_EMULATION, None)\n", "            pass\n", "the environment stays changed"
    ),
    device_products("        require_arithmetic(device, FLOAT64)\n", "", "a device with coarse functions is taken"),
    device_products(
        "max(depth, side // depth * depth)", "side", "blocks of terms are cut, sums go through more additions"
    ),
    device_products("max(1, min(side, entries // (4 * depth)))", "side", "blocks of terms do not fit into the memory"),
    device_products("math.isqrt(entries // 4)", "math.isqrt(entries // 2)", "four blocks do not fit into the memory"),
    device_products("else total.add_(part)", "else part", "only the last block of a sum counts"),
    cholesky(" and len(lower) <= LARGEST_SYMMETRIC", "", "LAPACK is given what it crashes on"),
    cholesky("    a[:half, half:] = 0.0\n", "", "what lies above the diagonal stays in the factor"),
    cholesky("rest -= multiply(below, below.T)", "pass", "a factor by halves forgets the first half"),
    cholesky("b[:, half:] -= multiply(b[:, :half], factor[half:, :half].T)", "pass", "a division forgets a half"),
    gram("block_rows = len(factor), k.block", "block_rows = len(factor), _BLOCK", "what was never written is read"),
    minimum_norm("cholesky(multiply(matrix, matrix.T))", "cholesky(matrix @ matrix.T)", "the Gram matrix stays here"),
    minimum_norm("return multiply(matrix.T, core(right))", "return matrix.T @ core(right)", "solutions stay here"),
    minimum_norm("left = right - multiply(", "left = right - np.matmul(", "what is left of a solution stays here"),
    job(
        "        with on_device(request.device), self.clock.stage(stage):\n",
        "        with self.clock.stage(stage):\n",
        "the weights of a memory are solved for on the CPU",
    ),
    job(
        '    with on_device(device), clock.stage("weights"):\n        made = construct()',
        '    with clock.stage("weights"):\n        made = construct()',
        "the weights of a claim are solved for on the CPU",
    ),
]
