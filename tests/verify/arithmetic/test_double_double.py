"""Operations on double-double numbers are off by no more than their units, against exact rationals and balls."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from constructions.errors import InputError
from verify.arithmetic import double_double as dd
from verify.arithmetic.double_double import DoubleDouble

U = Fraction(1, 2**53)


def random_pairs(rng: np.random.Generator, size: int, *, spread: int = 20) -> DoubleDouble:
    """Words as far apart as they can be: the low one half a last place of the high one, or less."""
    high = np.ldexp(rng.uniform(1.0, 2.0, size), rng.integers(-spread, spread, size)) * rng.choice([-1.0, 1.0], size)
    low = np.spacing(high) * rng.choice([0.5, 0.4999, 1e-5, 0.0], size) * rng.choice([-1.0, 1.0], size)
    return DoubleDouble(*dd.two_sum(high, low))


def near_cancellation(rng: np.random.Generator, x: DoubleDouble) -> DoubleDouble:
    """Numbers whose sums with those given cancel nearly altogether."""
    return DoubleDouble(*dd.two_sum(-x.high * (1.0 + rng.integers(-2, 3, len(x)) * 2.0**-52), x.low))


def exact(x: DoubleDouble) -> list[Fraction]:
    return [Fraction(h) + Fraction(low) for h, low in zip(x.high.ravel().tolist(), x.low.ravel().tolist(), strict=True)]


def worst(found: DoubleDouble, expected: list[Fraction]) -> Fraction:
    """The largest relative error, in units of u^2."""
    errors = zip(exact(found), expected, strict=True)
    return max(abs(x - y) / abs(y) if y else Fraction(x != 0) for x, y in errors) / U**2


@pytest.mark.parametrize(
    ("name", "most"), [("added", 3.01), ("multiplied", 7.0), ("divided", 16.0), ("added_float", 2.0)]
)
def test_an_operation_is_as_exact_as_its_proof_says(name: str, most: float) -> None:
    rng = np.random.default_rng(1)
    x, y = random_pairs(rng, 20000), random_pairs(rng, 20000)
    near = near_cancellation(rng, x)
    if name == "added":
        for other in (y, near):
            found = worst(dd.added(x, other), [a + b for a, b in zip(exact(x), exact(other), strict=True)])
            assert found <= most
    elif name == "added_float":
        for other in (y.high, near.high):
            sums = [a + Fraction(b) for a, b in zip(exact(x), other.tolist(), strict=True)]
            assert worst(dd.added_float(x, other), sums) <= most
    elif name == "multiplied":
        products = [a * b for a, b in zip(exact(x), exact(y), strict=True)]
        assert 1 < worst(dd.multiplied(x, y), products) <= most
    else:
        assert 1 < worst(dd.divided(x, y), [a / b for a, b in zip(exact(x), exact(y), strict=True)]) <= most


def test_a_root_is_as_exact_as_its_proof_says() -> None:
    x = random_pairs(np.random.default_rng(2), 20000)
    x = DoubleDouble(np.abs(x.high), np.where(x.high < 0, -x.low, x.low))
    found = dd.root(x)
    with ctx.workprec(300):
        for h, low, r, s in zip(x.high.tolist(), x.low.tolist(), found.high.tolist(), found.low.tolist(), strict=True):
            value = (arb(h) + arb(low)).sqrt()
            assert abs((arb(r) + arb(s)) / value - 1) <= 8 * arb(2) ** -106


def test_an_exponential_is_off_by_at_most_two_units() -> None:
    rng = np.random.default_rng(3)
    high = np.concatenate(
        [rng.uniform(-600, 700, 3000), rng.uniform(-1, 1, 3000), np.arange(-1700, 1700) * np.log(2.0) / 2]
    )
    x = DoubleDouble(*dd.two_sum(high, np.spacing(high) * rng.uniform(-0.5, 0.5, high.shape)))
    found = dd.exponential(x)
    with ctx.workprec(300):
        errors = [
            abs((arb(r) + arb(s)) / (arb(h) + arb(low)).exp() - 1)
            for h, low, r, s in zip(
                x.high.tolist(), x.low.tolist(), found.high.tolist(), found.low.tolist(), strict=True
            )
        ]
        assert all(error <= dd.EXPONENTIAL_UNITS * arb(2) ** -100 for error in errors)
        assert max(float(error.mid()) for error in errors) > 2.0**-106
    assert np.isnan(dd.exponential(DoubleDouble.exact(np.array([np.nan]))).high[0])


@pytest.mark.parametrize("length", [0, 1, 2, 7, 64, 100])
def test_a_sum_of_pairs_is_nearly_exact(length: int) -> None:
    x = random_pairs(np.random.default_rng(4), 5 * length)
    found = dd.total(x.reshape(5, length))
    terms = np.array(exact(x), dtype=object).reshape(5, length)
    for i, sum_found in enumerate(exact(found)):
        size = sum((abs(t) for t in terms[i]), Fraction(0))
        assert abs(sum_found - sum(terms[i], Fraction(0))) <= 4 * (length + 1) * U**2 * size


def share_of_bound(x: DoubleDouble, y: DoubleDouble, slices: int) -> float:
    """How much of its bound the worst entry of a product takes."""
    found = np.array(exact(dd.product(x, y, slices=slices)), dtype=object).reshape(len(x), y.shape[1])
    left, right = (np.array(exact(z), dtype=object).reshape(z.shape) for z in (x, y))
    errors = np.abs(found - left @ right).astype(float)
    sizes = np.linalg.norm(x.high, axis=1)[:, None] * np.linalg.norm(y.high, axis=0)
    return float((errors / (dd.inner_error(x.shape[1], slices) * sizes)).max())


@pytest.mark.parametrize("terms", [1, 5, 64, 300])
@pytest.mark.parametrize("spread", [0, 30])
@pytest.mark.parametrize("slices", [2, 3, 5])
def test_a_product_of_pairs_is_within_its_bound(terms: int, spread: int, slices: int) -> None:
    rng = np.random.default_rng(terms)
    x = random_pairs(rng, 3 * terms, spread=spread + 1).reshape(3, terms)
    y = random_pairs(rng, terms * 4, spread=spread + 1).reshape(terms, 4)
    assert share_of_bound(x, y, slices) <= 1.0


@pytest.mark.parametrize("slices", [2, 3, 4, 5])
def test_weights_of_few_bits_of_which_some_are_tiny(slices: int) -> None:
    """Their third slices are nearly all 0; what is large cancels, so that they count."""
    rng = np.random.default_rng(10)
    weights = rng.normal(size=(40, 9)).astype(np.float32).astype(np.float64)
    weights[20:] = weights[:20]
    weights[3, 4] *= 2.0**-30
    weights[23, 4] = 0.0
    x = random_pairs(rng, 2 * 40, spread=1).reshape(2, 40)
    x.high[:, 20:], x.low[:, 20:] = -x.high[:, :20], -x.low[:, :20]
    assert share_of_bound(x, DoubleDouble.exact(weights), slices) <= 1.0
    assert 0 < abs(dd.product(x, DoubleDouble.exact(weights), slices=slices).high[0, 4]) < 1e-7


def test_slices_are_integers_and_leave_little() -> None:
    x = random_pairs(np.random.default_rng(11), 4 * 50, spread=2).reshape(4, 50)
    cut, bits = dd._slices(x, -1, 21, 5), 21
    exponent = np.frexp(np.abs(x.high).max(axis=1, keepdims=True))[1]
    for i, (head, rest) in enumerate(zip(cut.heads, cut.rests[1:], strict=True), start=1):
        assert (np.abs(rest) <= np.ldexp(17 / 32, exponent - bits * i)).all()
        units = np.ldexp(head, bits * i - exponent)
        assert (units == np.rint(units)).all() and (np.abs(units) <= 2.0**bits).all()


def test_products_in_batches_and_in_blocks_are_those_of_the_matrices() -> None:
    rng = np.random.default_rng(8)
    x, y = random_pairs(rng, 2 * 3 * 5).reshape(2, 3, 5), random_pairs(rng, 2 * 5 * 4).reshape(2, 5, 4)
    together = dd.product(x, y)
    for i in range(2):
        one = dd.product(x[i], y[i])
        assert np.array_equal(one.high, together.high[i]) and np.array_equal(one.low, together.low[i])
    tall = random_pairs(rng, 200 * 3).reshape(200, 3)
    wide = DoubleDouble.exact(rng.normal(size=(3, 5000)))
    assert np.array_equal(dd.product(tall, wide).high[150:], dd.product(tall[150:], wide).high)


def test_fewer_slices_leave_a_larger_error_and_a_larger_bound() -> None:
    rng = np.random.default_rng(9)
    x, y = random_pairs(rng, 64).reshape(1, 64), random_pairs(rng, 64).reshape(64, 1)
    values = [exact(dd.product(x, y, slices=k))[0] for k in (3, 6)]
    size = float(np.linalg.norm(x.high) * np.linalg.norm(y.high))
    assert dd.inner_error(64, 6) * size < float(abs(values[0] - values[1])) <= 2 * dd.inner_error(64, 3) * size


def test_more_terms_than_the_slices_allow_are_refused() -> None:
    with pytest.raises(InputError, match="2\\*\\*20"):
        dd.inner_error(2**20 + 1)


def test_overflow_and_nan_stay_visible() -> None:
    huge, one = DoubleDouble.exact(np.full(1, 1e300)), DoubleDouble.exact(np.ones(1))
    with np.errstate(all="ignore"):
        assert not np.isfinite(dd.multiplied(huge, huge).high[0])
        for bad in (np.nan, np.inf):
            spoiled = DoubleDouble.exact(np.array([[bad, 1.0]]))
            product = dd.product(spoiled, DoubleDouble.exact(np.ones((2, 1))))
            assert not (np.isfinite(product.high[0, 0]) and np.isfinite(product.low[0, 0]))
            assert not np.isfinite(dd.added(DoubleDouble.exact(np.array([bad])), one).high[0])
