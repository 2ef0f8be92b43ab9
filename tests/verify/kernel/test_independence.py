"""What is said of singular values agrees with exact arithmetic, and balls prove only what holds of all they contain."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import hostile_matrices, near_singular
from verify.kernel import independence
from verify.kernel.independence import exceeds, has_rank

PRECISIONS = (128, 512, 4096)


def is_positive(rows: list[list[Fraction]], least: Fraction) -> bool:
    """Whether A A^T - c I is positive definite, by its leading minors."""
    gram = fmpq_mat([[sum((_q(x) * _q(y) for x, y in zip(a, b, strict=True)), fmpq(0)) for b in rows] for a in rows])
    size = len(rows)
    minors = (
        fmpq_mat([[gram[i, j] - (_q(least) if i == j else 0) for j in range(k)] for i in range(k)]).det()
        for k in range(1, size + 1)
    )
    return all(minor > 0 for minor in minors)


def _q(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


def decided(rows: list[list[arb]], least: arb) -> bool | None:
    return next((found for bits in PRECISIONS if (found := exceeds(rows, least, bits)) is not None), None)


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(st.lists(st.integers(-3, 3), min_size=width, max_size=width), min_size=1, max_size=5)
    ),
    st.sampled_from((0, 1, 2, 3, 7)),
)
def test_small_integers_are_decided_as_they_are(rows: list[list[int]], least: int) -> None:
    found = decided([list(map(arb, row)) for row in rows], arb(least))
    expected = is_positive([list(map(Fraction, row)) for row in rows], Fraction(least))
    gram = np.array(rows, dtype=object) @ np.array(rows, dtype=object).T - least * np.eye(len(rows), dtype=int)
    minors = [fmpz_mat(gram[:size, :size].tolist()).det() for size in range(1, len(rows) + 1)]
    assert found is expected or (found is None and not expected and (0 in minors or [0] * len(rows[0]) in rows))


@given(st.data())
def test_what_is_proved_of_hostile_matrices_is_true(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    matrix = data.draw(hostile_matrices(rows=size, columns=data.draw(st.integers(1, 4))))
    exact = [[Fraction(x) for x in row] for row in matrix.tolist()]
    least = data.draw(st.sampled_from((Fraction(0), Fraction(1, 2**60), Fraction(1), Fraction(2) ** 100)))
    found = decided([list(map(arb, row)) for row in matrix.tolist()], arb(least.numerator) / least.denominator)
    if found is not None:
        assert found == is_positive(exact, least)


@given(near_singular(rows=4))
def test_ranks_that_are_nearly_less(known) -> None:
    rows = [list(map(arb, row)) for row in known.matrix.tolist()]
    for claimed in range(6):
        proved = any(has_rank(rows, claimed, bits) for bits in PRECISIONS)
        assert proved == (claimed <= known.rank)


@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=6))
def test_a_rank_is_proved_exactly_where_it_is_reached(rows: list[list[int]]) -> None:
    rank, balls = fmpz_mat(rows).rank(), [list(map(arb, row)) for row in rows]
    assert [has_rank(balls, claimed, 128) for claimed in range(7)] == [claimed <= rank for claimed in range(7)]


@given(st.integers(0, 2**32), st.sampled_from((2.0**-60, 2.0**-10, 0.25)), st.integers(-3, 3))
def test_balls_prove_what_holds_of_all_that_they_contain(seed: int, radius: float, shift: int) -> None:
    rng = np.random.default_rng(seed)
    middle = rng.integers(-4, 5, (3, 4))
    gaps = np.linalg.svd(middle, compute_uv=False)[-1]
    least = Fraction(float(gaps)) ** 2 * (1 + Fraction(shift, 8))
    rows = [[arb(int(x), radius) for x in row] for row in middle]
    found = exceeds(rows, arb(least.numerator) / least.denominator, 256)
    for _ in range(4):
        corner = [[Fraction(int(x)) + Fraction(radius) * int(s) for x, s in zip(*both, strict=True)]
                  for both in zip(middle, rng.integers(-1, 2, (3, 4)), strict=True)]  # fmt: skip
        assert found is None or found == is_positive(corner, least)


@pytest.mark.parametrize("size", [48, 49, 130, 513])
def test_blocks_of_all_sizes(size: int) -> None:
    """The unit matrix twice, with a small perturbation: its singular values lie around 2."""
    rng = np.random.default_rng(size)
    matrix = 2.0 * np.eye(size, size + 3) + 2.0**-12 * rng.standard_normal((size, size + 3)) / size
    rows = [list(map(arb, row)) for row in matrix.tolist()]
    assert exceeds(rows, arb(3.99), 128) is True
    assert exceeds(rows, arb(4.01), 128) is False
    matrix[size - 1] = matrix[: size - 1].sum(0)
    assert exceeds([list(map(arb, row)) for row in matrix.tolist()], arb(0), 128) is None


def test_rows_without_bounds_prove_nothing() -> None:
    for bad in (arb("nan"), arb(0, "inf"), arb("inf")):
        assert exceeds([[bad, arb(1)], [arb(1), arb(2)]], arb(0), 128) is None
        assert not has_rank([[bad, arb(1)], [arb(1), arb(2)]], 2, 128)
        assert exceeds([[arb(1)]], bad, 128) in (None, False)
    assert exceeds([[arb(0)]], arb(0), 128) is None


def test_precision_of_whoever_asks_is_kept() -> None:
    with ctx.workprec(77):
        exceeds([[arb(1), arb(2)], [arb(3), arb(4)]], arb(0), 256)
        assert ctx.prec == 77


def test_who_waits_is_told_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three columns of blocks the first takes 12 products of 28, and ten minutes."""
    monkeypatch.setattr(independence, "_BLOCK", 2)
    clock = iter((0.0, 600.0))
    monkeypatch.setattr(independence.time, "process_time", lambda: next(clock))
    told: list[str] = []
    rows = [[arb(i == j) for j in range(6)] for i in range(6)]
    assert exceeds(rows, arb(0.5), 128, told.append) is True and told == ["about 13 minutes more"]


def test_rows_that_may_be_dependent_in_their_balls_are_not_proved_to_be_independent() -> None:
    # The second row is (1, x), x up to 2^-36: the smallest eigenvalue is about 2^-76, or 0, and an epsilon is 2^-80.
    with ctx.workprec(128):
        for radius, proved in ((2.0**-37, None), (2.0**-60, True), (0.0, True)):
            rows = [[arb(1), arb(0)], [arb(1), arb(2.0**-37, radius)]]
            assert exceeds(rows, arb(0), 128) is proved, radius
