"""Sets that hold an exactly singular matrix, and witnesses that lie: none may ever be proved regular.

Each family makes sets together with the singular member, as exact numbers. A part runs by default; `-m slow` runs more
than 10^5 sets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat, fmpz_mat
from numpy.random import Generator

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array, Int64Array, ObjectArray
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra import gram
from verify.linear_algebra.approximate_inverse import Residual, exact_residual, float_residual
from verify.linear_algebra.condition import enclose_condition
from verify.linear_algebra.linear_systems import enclose_solution
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.linear_algebra.prime_field import Minor
from verify.linear_algebra.rank import Compression, Dependency, rank_bracket
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.linear_algebra.singular_values import enclose_singular_values, enclose_spectral_norm
from verify.verdict import Verdict

PART = 40  # sets of each family by default
FULL = 5000  # and with -m slow


@dataclass(frozen=True)
class Attack:
    """A set of matrices, and a singular one in it.

    Args:
        midpoint: What is handed over: an array, nested lists, whatever.
        radius: Likewise; 0.0 where the matrix is given exactly.
        member: The singular member, exact, in an object array.
    """

    midpoint: Any
    radius: Any
    member: ObjectArray

    @property
    def exact(self) -> bool:
        return not np.any(self.radius)


def exactly(x: Any) -> ObjectArray:
    """The entries as fractions."""
    table = np.asarray(x, dtype=object)
    entries = [Fraction(entry if isinstance(entry, Fraction) else Fraction(entry)) for entry in table.ravel().tolist()]
    out = np.empty(table.size, dtype=object)
    out[:] = entries
    return out.reshape(table.shape)


def rank_of(member: ObjectArray) -> int:
    entries = [fmpq(x.numerator, x.denominator) for x in member.ravel()]
    return fmpq_mat(*member.shape, entries).rank()


def low_rank(rng: Generator, size: int, largest: int = 9) -> Int64Array:
    """An integer matrix of rank below `size`."""
    rank = int(rng.integers(max(0, size - 3), size))
    left = rng.integers(-largest, largest, (size, rank), endpoint=True)
    return left @ rng.integers(-largest, largest, (rank, size), endpoint=True)


def some_size(rng: Generator) -> int:
    return int(rng.choice([1, 2, 3, 4, 5, 6, 8, 12]))


def integer_low_rank(rng: Generator) -> Attack:
    s = low_rank(rng, some_size(rng))
    return Attack(s.astype(rng.choice([np.int64, np.float64])), 0.0, exactly(s))


def small_integer_types(rng: Generator) -> Attack:
    s = low_rank(rng, int(rng.integers(2, 5)), largest=1)
    kind = rng.choice(["i1", "i2", "i4", "f2", "f4", ">f8", ">i4"])
    return Attack(s.astype(kind), 0.0, exactly(s))


def repeated_rows(rng: Generator) -> Attack:
    size = int(rng.integers(2, 9))
    s = rng.standard_normal((size, size))
    i, j = rng.choice(size, 2, replace=False)
    s[i] = s[j] * rng.choice([1.0, -1.0, 2.0**-30, 2.0**40])
    s = s.T if rng.integers(2) else s
    return Attack(s, 0.0, exactly(s))


def dependent_rows(rng: Generator) -> Attack:
    """One row is a large integer combination of the others."""
    size = int(rng.integers(2, 8))
    s = rng.integers(-(2**20), 2**20, (size, size))
    s[-1] = rng.integers(-(2**20), 2**20, size - 1) @ s[:-1]
    s = s[rng.permutation(size)]
    return Attack(s.astype(np.float64), 0.0, exactly(s))


def zero_row(rng: Generator) -> Attack:
    size = some_size(rng)
    s = rng.standard_normal((size, size))
    s[rng.integers(size)] = 0.0 if rng.integers(2) else -0.0
    s = s.T if rng.integers(2) else s
    return Attack(s, 0.0, exactly(s))


def scaled_low_rank(rng: Generator) -> Attack:
    """Rows and columns times powers of two, subnormals and numbers near the overflow threshold included."""
    size = int(rng.integers(2, 8))
    s = low_rank(rng, size, largest=3)
    spread = int(rng.choice([10, 60, 300, 480]))
    rows, columns = (rng.integers(-spread, spread, size, endpoint=True) for _ in range(2))
    scaled = np.ldexp(s.astype(np.float64), rows[:, None] + columns)
    return Attack(scaled, 0.0, exactly(scaled))


def near_the_ends(rng: Generator) -> Attack:
    """All entries subnormal, or all so large that products overflow, or so small that products underflow."""
    s = low_rank(rng, int(rng.integers(1, 6)), largest=4).astype(np.float64)
    scaled = np.ldexp(s, int(rng.choice([-1074, -1070, -1030, -560, -520, 500, 540, 1000, 1015])))
    return Attack(scaled, 0.0, exactly(scaled))


def mixed_ends(rng: Generator) -> Attack:
    """Rows near both ends of the range in one matrix."""
    size = int(rng.integers(2, 6))
    s = low_rank(rng, size, largest=3).astype(np.float64)
    scaled = np.ldexp(s, rng.choice([-1074, -1000, -540, 0, 540, 1000], size)[:, None])
    return Attack(scaled, 0.0, exactly(scaled))


def graded(rng: Generator) -> Attack:
    size = int(rng.integers(3, 10))
    s = low_rank(rng, size).astype(np.float64)
    step = int(rng.choice([-30, -12, -5, 9, 25]))
    scaled = np.ldexp(s, step * np.arange(size)[:, None])
    return Attack(scaled, 0.0, exactly(scaled))


def nearly_defective(rng: Generator) -> Attack:
    """A Jordan block of eigenvalue zero, or one with a tiny corner, seen from a unimodular basis."""
    size = int(rng.integers(2, 7))
    jordan = np.eye(size, k=1, dtype=object) + np.diag([0, *rng.integers(0, 2, size - 1).tolist()]).astype(object)
    lower = np.tril(rng.integers(-3, 4, (size, size)), -1).astype(object) + np.eye(size, dtype=object)
    inverse = fmpz_mat(size, size, lower.ravel().tolist()).inv()
    back = np.array([int(x.p) for x in fmpq_mat(inverse).entries()], dtype=object).reshape(size, size)
    s = lower @ jordan @ back
    if rank_of(exactly(s)) == size:  # the diagonal may have made the block regular
        s[0] = s[1] * 0
    return Attack(s.astype(np.float64), 0.0, exactly(s))


def vandermonde(rng: Generator) -> Attack:
    size = int(rng.integers(2, 8))
    nodes = rng.integers(-6, 7, size)
    nodes[-1] = nodes[0]
    s = np.vander(nodes.astype(object), size)
    return Attack(s.astype(np.float64), 0.0, exactly(s))


def huge_integers(rng: Generator) -> Attack:
    """Low rank in integers of 54 to 64 bits; in float64 most of them are regular."""
    size = int(rng.integers(2, 6))
    column = rng.integers(2**30, 2**31, (size, 1))
    row = rng.integers(2**30, 2**31, (1, size))
    s = column * row
    kind = rng.choice([np.int64, np.uint64, object])
    return Attack(s.astype(kind), 0.0, exactly(s))


def unbounded_integers(rng: Generator) -> Attack:
    size = int(rng.integers(2, 6))
    s = low_rank(rng, size).astype(object) * 3 ** int(rng.integers(40, 900))
    return Attack(s.tolist(), 0.0, exactly(s))


def fractions(rng: Generator) -> Attack:
    size = int(rng.integers(2, 6))
    rows = [Fraction(int(n), int(d)) for n, d in rng.integers(1, 99, (size, 2))]
    s = exactly(low_rank(rng, size)) * np.array(rows, dtype=object)[:, None] / 7
    return Attack(s, 0.0, s)


def layouts(rng: Generator) -> Attack:
    """The same numbers in other places of memory."""
    size = int(rng.integers(2, 8))
    s = low_rank(rng, size).astype(np.float64)
    wide = np.repeat(np.repeat(s, 2, axis=0), 3, axis=1)
    view = [np.asfortranarray(s), wide[::2, ::3], s[::-1, ::-1], s.T][int(rng.integers(4))]
    return Attack(view, 0.0, exactly(view))


def boundary(rng: Generator) -> Attack:
    """The radius reaches the singular member exactly, and no farther."""
    size = int(rng.integers(2, 8))
    s = low_rank(rng, size, largest=int(rng.choice([3, 50, 2**12])))
    e = rng.integers(-1, 2, (size, size))
    scale = float(rng.choice([1.0, 2.0**-300, 2.0**400]))
    radius: Any = np.abs(e) * scale
    radius = float(radius.max()) if rng.integers(2) else radius
    return Attack((s + e) * scale, radius, exactly(s * scale))


def boundary_of_the_identity(rng: Generator) -> Attack:
    """I - J / n is singular, and n is a power of two, so that 1 / n is the exact distance in the maximum norm."""
    size = int(rng.choice([1, 2, 4, 8, 16, 32]))
    scale = 2.0 ** int(rng.integers(-1000, 1000))
    member = (np.eye(size) - 1.0 / size) * scale
    return Attack(np.eye(size) * scale, scale / size, exactly(member))


def boundary_of_a_diagonal(rng: Generator) -> Attack:
    size = some_size(rng)
    diagonal = rng.standard_normal(size)
    radius = np.zeros((size, size))
    k = int(rng.integers(size))
    radius[k, k] = abs(diagonal[k])
    member = np.diag(diagonal)
    member[k, k] = 0.0
    return Attack(np.diag(diagonal), radius, exactly(member))


def boundary_of_one_row(rng: Generator) -> Attack:
    """Only one row is uncertain, and by just enough."""
    size = int(rng.integers(2, 9))
    s = rng.integers(-(2**15), 2**15, (size, size))
    s[0] = rng.integers(-2, 3, size - 1) @ s[1:]
    e = rng.integers(-(2**5), 2**5, size)
    radius, midpoint = np.zeros((size, size)), s.astype(np.float64)
    radius[0], midpoint[0] = np.abs(e), s[0] + e
    return Attack(midpoint, radius, exactly(s))


def rounded_low_rank(rng: Generator) -> Attack:
    """A low-rank matrix of rationals, and its nearest float64 matrix with the rounding errors for radii."""
    size = int(rng.integers(2, 7))
    rows = [Fraction(1, int(d)) for d in rng.integers(3, 1000, size)]
    s = exactly(low_rank(rng, size)) * np.array(rows, dtype=object)[:, None]
    midpoint = s.astype(np.float64)
    radius = np.nextafter(np.abs(s - exactly(midpoint)).astype(np.float64), np.inf)
    return Attack(midpoint, np.where(s == exactly(midpoint), 0.0, radius), s)


def unit_roundoff(rng: Generator) -> Attack:
    """Random outer products in float64; the rounding of each entry covers the exact product."""
    size = int(rng.integers(2, 9))
    a, b = rng.standard_normal(size), rng.standard_normal(size)
    midpoint = np.outer(a, b)
    radius: Any = np.abs(midpoint) * 2.0**-53 * (1.0 + 2.0**-50)
    radius = float(radius.max()) if rng.integers(2) else radius
    return Attack(midpoint, radius, exactly(a)[:, None] * exactly(b))


def wide_radius(rng: Generator) -> Attack:
    size = some_size(rng)
    midpoint = rng.standard_normal((size, size))
    radius = np.abs(midpoint)
    shape = int(rng.integers(3))
    broadcast = [radius, radius.max(axis=1, keepdims=True), radius.max(axis=0, keepdims=True)][shape]
    return Attack(midpoint, broadcast, exactly(np.zeros((size, size))))


def larger(rng: Generator) -> Attack:
    """Sizes at which BLAS takes other kernels."""
    size = int(rng.integers(24, 70))
    s = low_rank(rng, size, largest=3)
    radius = float(rng.choice([0.0, 2.0**-40, 0.5]))
    shift = rng.integers(-1, 2, (size, size)) * radius
    return Attack(s + shift, radius, exactly(s))


FAMILIES: list[Callable[[Generator], Attack]] = [
    integer_low_rank,
    small_integer_types,
    repeated_rows,
    dependent_rows,
    zero_row,
    scaled_low_rank,
    near_the_ends,
    mixed_ends,
    graded,
    nearly_defective,
    vandermonde,
    huge_integers,
    unbounded_integers,
    fractions,
    layouts,
    boundary,
    boundary_of_the_identity,
    boundary_of_a_diagonal,
    boundary_of_one_row,
    rounded_low_rank,
    unit_roundoff,
    wide_radius,
    larger,
]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)


def attacks(family: Callable[[Generator], Attack], count: int, seed: int) -> list[Attack]:
    if family is larger:
        count //= 20
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    return [family(rng) for _ in range(count)]


def resist(attack: Attack) -> None:
    """No function may say anything of the set that is false of its singular member."""
    proof = certify_nonsingular(attack.midpoint, attack.radius)
    assert proof.verdict is not Verdict.PROVED
    if attack.exact:
        assert proof.verdict is Verdict.REFUTED
        assert proof.kernel is not None and any(proof.kernel)
        assert not (attack.member @ np.array(proof.kernel, dtype=object)).any()
    given = attack.midpoint if attack.exact else Enclosure(attack.midpoint, attack.radius)
    bracket = rank_bracket(given)
    assert bracket.lower <= rank_of(attack.member) <= bracket.upper < len(attack.member) + (not attack.exact)
    assert bracket.lower == bracket.upper or not attack.exact


def resist_in_floats(attack: Attack) -> None:
    """The same for the functions that answer with floats."""
    given: Any = attack.midpoint if attack.exact else Enclosure(attack.midpoint, attack.radius)
    assert enclose_singular_values(given).lower()[-1] <= 0.0
    assert enclose_condition(given).radius == np.inf
    assert np.isinf(enclose_solution(given, np.ones(len(attack.member))).radius).all()
    norm = enclose_spectral_norm(given)
    with np.errstate(over="ignore"):
        assert np.max(np.abs(attack.member)) <= Fraction(float(norm.upper())) if np.isfinite(norm.upper()) else True


def resist_when_wide(attack: Attack, rng: Generator) -> None:
    """Repeated columns keep the rows dependent."""
    size = len(attack.member)
    columns = np.concatenate([np.arange(size), rng.integers(size, size=int(rng.integers(1, 5)))])
    columns = rng.permutation(columns)
    midpoint: Any = np.asarray(attack.midpoint)[:, columns]
    if attack.exact:
        assert certify_full_row_rank(midpoint).verdict is Verdict.REFUTED
    else:
        radius = np.broadcast_to(attack.radius, (size, size))[:, columns]
        assert certify_full_row_rank(Enclosure(midpoint, radius)).verdict is Verdict.UNDECIDED


@every_family
def test_every_attack_holds_what_it_says(family: Callable[[Generator], Attack]) -> None:
    for attack in attacks(family, 40, seed=0):
        size = len(attack.member)
        assert attack.member.shape == (size, size)
        assert rank_of(attack.member) < size
        distance = np.abs(attack.member - exactly(attack.midpoint))
        assert (distance <= exactly(np.broadcast_to(attack.radius, (size, size)))).all()


@every_family
def test_no_set_with_a_singular_member_is_proved_regular(family: Callable[[Generator], Attack]) -> None:
    for attack in attacks(family, PART, seed=1):
        resist(attack)


@every_family
def test_no_set_with_a_singular_member_gets_finite_bounds(family: Callable[[Generator], Attack]) -> None:
    for attack in attacks(family, PART, seed=2):
        resist_in_floats(attack)


@every_family
def test_no_set_with_dependent_rows_is_proved_to_have_full_row_rank(family: Callable[[Generator], Attack]) -> None:
    rng = np.random.default_rng(3)
    for attack in attacks(family, PART, seed=3):
        resist_when_wide(attack, rng)


@pytest.mark.slow
@every_family
def test_none_of_very_many_sets_is_proved_regular(family: Callable[[Generator], Attack]) -> None:
    for attack in attacks(family, FULL, seed=4):
        resist(attack)


@pytest.mark.slow
@every_family
def test_none_of_very_many_sets_gets_a_false_bound(family: Callable[[Generator], Attack]) -> None:
    rng = np.random.default_rng(7)
    for attack in attacks(family, FULL // 5, seed=7):
        resist_when_wide(attack, rng)
        resist_in_floats(attack)


# Witnesses that lie.


def hostile_matrices(rng: Generator, shape: tuple[int, int], honest: Float64Array) -> list[Float64Array]:
    """Matrices of one shape that a cheat might hand over."""
    spoiled = honest.copy()
    spoiled[0, 0] = np.nan
    infinite = honest.copy()
    infinite[-1, -1] = -np.inf
    return [
        honest,
        -honest,
        honest * 2.0**60,
        honest * 2.0**-60,
        np.zeros(shape),
        np.full(shape, np.nan),
        np.full(shape, np.inf),
        np.full(shape, 1e308),
        np.full(shape, -1e308),
        np.full(shape, 5e-324),
        rng.standard_normal(shape) * 2.0 ** rng.integers(-900, 900, shape).astype(np.float64),
        rng.integers(-(2**53), 2**53, shape).astype(np.float64),
        spoiled,
        infinite,
    ]


FLOATABLE = [family for family in FAMILIES if family not in (huge_integers, unbounded_integers, fractions)]


def resist_hostile_inverses(attack: Attack, rng: Generator) -> None:
    given = Enclosure(np.asarray(attack.midpoint, dtype=np.float64), attack.radius)
    with np.errstate(all="ignore"):
        honest = np.linalg.pinv(np.nan_to_num(given.midpoint / (np.abs(given.midpoint).max() or 1.0)))
    for w in hostile_matrices(rng, given.shape, honest):
        residual = float_residual(given, w)
        assert not residual.proves_rank
        with ctx.workprec(64):
            exact = exact_residual(given, w) if np.abs(given.midpoint).max() <= 2.0 else None
        assert exact is None or not exact.proves_rank


@pytest.mark.parametrize("family", FLOATABLE, ids=lambda family: family.__name__)
def test_no_approximate_inverse_proves_a_singular_set_regular(family: Callable[[Generator], Attack]) -> None:
    rng = np.random.default_rng(5)
    for attack in attacks(family, 20, seed=5):
        resist_hostile_inverses(attack, rng)


@pytest.mark.slow
@pytest.mark.parametrize("family", FLOATABLE, ids=lambda family: family.__name__)
def test_none_of_very_many_inverses_proves_a_singular_set_regular(family: Callable[[Generator], Attack]) -> None:
    rng = np.random.default_rng(6)
    for attack in attacks(family, FULL // 10, seed=6):
        resist_hostile_inverses(attack, rng)


def test_the_numerical_inverses_of_singular_integer_matrices_prove_nothing() -> None:
    """Their residuals as computed are often small: only the rounding term stands between them and a false proof."""
    rng = np.random.default_rng(7)
    tempting = 0
    for _ in range(4000):
        s = low_rank(rng, int(rng.integers(2, 7)), largest=99).astype(np.float64)
        try:
            w = np.linalg.inv(s)
        except np.linalg.LinAlgError:
            continue
        residual = float_residual(Enclosure.exact(s), w)
        tempting += bool(residual.computed_norm < 1)
        assert not residual.proves_rank
    assert tempting > 0, "the attack has lost its teeth"


def test_an_overflow_inside_the_check_proves_nothing() -> None:
    """inf - inf is NaN, and a NaN satisfies no inequality, whichever way it is turned."""
    big = np.array([[1e300, 1e300], [1e300, 1e300]])
    w = np.array([[1e300, -1e300], [-1e300, 1e300]])
    residual = float_residual(Enclosure.exact(big), w)
    assert not np.isfinite(residual.computed).all()
    assert not residual.proves_rank
    assert not residual.contraction[0] < 1
    for value in (np.nan, np.inf, -np.inf):
        forged = Residual(Enclosure.exact(np.eye(2)), np.eye(2), np.full((2, 2), value), exact=False)
        assert not forged.proves_rank


@pytest.mark.parametrize("shift", [1.0, 1e-3, 0.0, -1.0, 1e308, 1e-320, np.nan, np.inf, -np.inf])
def test_no_factor_proves_a_singular_gram_matrix_definite(shift: float) -> None:
    rng = np.random.default_rng(8)
    for size in (1, 2, 3, 5, 9):
        s = low_rank(rng, size).astype(np.float64)
        k = gram.gram(s)
        with np.errstate(all="ignore"):
            honest = np.tril(np.linalg.qr(np.hstack([s, np.eye(size) * np.sqrt(abs(shift))]).T, mode="r").T)[:, :size]
        for factor in hostile_matrices(rng, (size, size), honest if np.isfinite(honest).all() else np.eye(size)):
            assert not shift - gram.distance(k, shift, np.tril(factor)) > 0


def test_no_forged_minor_is_accepted() -> None:
    matrix = fmpz_mat(3, 3, [1, 2, 3, 2, 4, 6, 1, 0, 1])
    honest = Minor(8388593, (0, 2), (0, 1))
    assert honest.proves_rank_of(matrix)
    forged = [
        Minor(8388593, (0, 1), (0, 1)),
        Minor(8388593, (0, 1, 2), (0, 1, 2)),
        Minor(8388593, (0, 0), (0, 1)),
        Minor(8388593, (2, 0), (0, 1)),
        Minor(8388593, (0, 3), (0, 1)),
        Minor(8388593, (-1, 0), (0, 1)),
        Minor(8388593, (0, 2), (0,)),
        Minor(8388593 * 3, (0, 2), (0, 1)),
        Minor(2, (0, 2), (0, 1)),
        Minor(1, (0, 2), (0, 1)),
        Minor(0, (0, 2), (0, 1)),
        Minor(-7, (0, 2), (0, 1)),
        Minor(2**64 + 13, (0, 2), (0, 1)),
    ]
    assert [witness.proves_rank_of(matrix) for witness in forged] == [False] * len(forged)


def test_no_forged_dependency_is_accepted() -> None:
    matrix = fmpz_mat(3, 3, [1, 2, 3, 2, 4, 6, 1, 0, 1])
    honest = Dependency("columns", (0, 1), 1, ((1,), (1,)))
    assert honest.proves_rank_of(matrix)
    forged = [
        Dependency("columns", (0, 1), 0, ((0,), (0,))),
        Dependency("columns", (0, 1), 2, ((1,), (1,))),
        Dependency("columns", (0, 1), 1, ((1,), (2,))),
        Dependency("columns", (0,), 1, ((1, 1),)),
        Dependency("columns", (), 1, ()),
        Dependency("columns", (0, 1), 1, ((1,),)),
        Dependency("columns", (0, 1), 1, ((1, 0), (1, 0))),
        Dependency("columns", (0, 0), 1, ((1,), (1,))),
        Dependency("columns", (0, 3), 1, ((1,), (1,))),
        Dependency("columns", (-1, 0), 1, ((1,), (1,))),
        Dependency("rows", (0, 1), 1, ((1,), (1,))),
        Dependency("diagonals", (0, 1), 1, ((1,), (1,))),
    ]
    assert [witness.proves_rank_of(matrix) for witness in forged] == [False] * len(forged)


def test_no_forged_compression_is_accepted() -> None:
    rng = np.random.default_rng(9)
    for size in (1, 2, 4, 7):
        given = Enclosure(low_rank(rng, size).astype(np.float64), 2.0**-30)
        with np.errstate(all="ignore"):
            honest = np.linalg.pinv(given.midpoint)
        matrices = hostile_matrices(rng, (size, size), honest)
        assert not any(Compression(u, v).proves_rank_of(given) for u in matrices for v in matrices)
        assert not Compression(np.eye(size + 1), np.eye(size)).proves_rank_of(given)
        assert not Compression(np.eye(size), np.eye(size + 1)).proves_rank_of(given)


# What is no matrix at all.

NOT_MATRICES = [
    np.ones(3),
    np.ones((2, 2, 2)),
    3.0,
    [[1.0, 2.0], [3.0]],
    [["a", "b"], ["c", "d"]],
    [[None, 1.0], [1.0, 2.0]],
    np.ones((2, 2), dtype=complex),
    np.array([[np.nan, 1.0], [1.0, 2.0]]),
    np.array([[1.0, np.inf], [1.0, 2.0]]),
    np.array([[1.0, 2.0], [-np.inf, 2.0]]),
    np.array([[np.inf, -np.inf], [1.0, 2.0]]),
    [[Fraction(1, 2), float("nan")], [1, 2]],
    np.ma.masked_array(np.eye(2), mask=[[1, 0], [0, 0]]),
    np.array([["2020-01-01"]], dtype="datetime64[D]"),
    np.ones((2, 2), dtype=np.longdouble),
]


@pytest.mark.parametrize("values", NOT_MATRICES, ids=range(len(NOT_MATRICES)))
def test_what_is_no_finite_real_matrix_is_refused(values: Any) -> None:
    for function in (
        certify_nonsingular,
        certify_full_row_rank,
        rank_bracket,
        enclose_singular_values,
        enclose_spectral_norm,
        enclose_condition,
    ):
        with pytest.raises(InputError):
            function(values)


@pytest.mark.parametrize("radius", [-1.0, np.nan, np.inf, [0.1, 0.1, 0.1], np.ones((3, 2)), "wide", 1j])
def test_a_bad_radius_is_refused(radius: Any) -> None:
    with pytest.raises(InputError, match="radius"):
        certify_nonsingular(np.eye(2), radius)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (0, 1), (1, 0)])
def test_only_square_matrices_are_regular(shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="square"):
        certify_nonsingular(np.ones(shape))


def test_an_entry_without_information_leaves_everything_undecided() -> None:
    unknown = Enclosure([[1.0, 0.0], [0.0, np.nan]])
    assert certify_nonsingular(unknown).verdict is Verdict.UNDECIDED
    assert certify_full_row_rank(unknown).verdict is Verdict.UNDECIDED
    assert rank_bracket(unknown).lower == 0
    assert np.isinf(enclose_singular_values(unknown).radius).all()
    assert np.isinf(enclose_spectral_norm(unknown).radius)
    assert np.isinf(enclose_condition(unknown).radius)
    assert np.isinf(enclose_solution(unknown, [1.0, 1.0]).radius).all()
    assert np.isinf(enclose_solution(np.eye(2), Enclosure([1.0, np.inf])).radius[1])


def test_a_scalar_ball_that_knows_nothing_compares_with_nothing() -> None:
    unknown = arb("nan")
    assert not unknown < 1 and not unknown > 0 and not unknown >= 0 and not unknown <= 1
