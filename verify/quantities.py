"""Compute proved bounds of a rank, a norm, a divergence or a margin for the caller's matrices, in one call each.

Entries are floats, which count as the numbers they are (0.1 is $3602879701896397 / 2^{55}$), integers of any size,
`Fraction` or `flint.fmpq`. With `radius` an entry stands for an interval, and the answer holds for every choice of
numbers in the intervals. What comes back is either proved, or says why it is not.

Page: docs/quantities.md
"""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike

from constructions.errors import HypothesisError, InputError
from verify.arithmetic.enclosure import Enclosure
from verify.linear_algebra.balls import matrix_of_balls
from verify.linear_algebra.given_matrix import GivenMatrix, given_matrix
from verify.linear_algebra.nonsingularity import certify_nonsingular
from verify.linear_algebra.norms import float_above, float_below, radius_norm
from verify.linear_algebra.rank import rank_bracket
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.linear_algebra.singular_values import enclose_spectral_norm
from verify.verdict import Verdict, as_condition, either

__all__ = ["Bounds", "Margin", "Proof", "argmax_margin", "full_row_rank", "kl", "nonsingular", "rank", "spectral_norm"]

_PRECISIONS = (128, 256, 512, 1024)  # bits
_UNIT = 2.0**-52
_SCALAR_BITS = 64

Number = int | float | Fraction


@dataclass(frozen=True, eq=False)
class Bounds:
    """A real number between two ends that are proved.

    A comparison with a number is true if it is proved, so `not (x < 1)` proves nothing; ask `x >= 1`.

    Args:
        lower: It is at least this.
        upper: It is at most this; infinite where nothing is known.
        method: How the ends were proved, in words.

    Example:
        >>> third = Bounds(0.33, 0.34, "by hand")
        >>> third > 0.3, third > 0.335, third <= 0.335, third == 0.33
        (True, False, False, False)
    """

    lower: Number
    upper: Number
    method: str

    @property
    def exact(self) -> bool:
        """Whether the two ends are equal."""
        return self.lower == self.upper

    def __lt__(self, other: "Number | Bounds") -> bool:
        lower, upper = _ends(other)
        return self._condition(self.upper < lower, self.lower >= upper, "<", other)

    def __le__(self, other: "Number | Bounds") -> bool:
        lower, upper = _ends(other)
        return self._condition(self.upper <= lower, self.lower > upper, "<=", other)

    def __gt__(self, other: "Number | Bounds") -> bool:
        lower, upper = _ends(other)
        return self._condition(self.lower > upper, self.upper <= lower, ">", other)

    def __ge__(self, other: "Number | Bounds") -> bool:
        lower, upper = _ends(other)
        return self._condition(self.lower >= upper, self.upper < lower, ">=", other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bounds | numbers.Real | fmpq):
            return NotImplemented
        return self._condition(self._is(other), self._differs_from(other), "==", other)

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, Bounds | numbers.Real | fmpq):
            return NotImplemented
        return self._condition(self._differs_from(other), self._is(other), "!=", other)

    def _is(self, other: object) -> bool:
        lower, upper = _ends(other)
        return self.exact and self.lower == lower == upper

    def _differs_from(self, other: object) -> bool:
        lower, upper = _ends(other)
        return self.upper < lower or self.lower > upper

    def _condition(self, holds: bool, fails: bool, sign: str, other: object) -> bool:
        shown = f"{other.lower} .. {other.upper}" if isinstance(other, Bounds) else other
        return as_condition(either(holds, fails), f"{self.lower} .. {self.upper} {sign} {shown}")

    __hash__ = None  # pyright: ignore[reportAssignmentType]


@dataclass(frozen=True, eq=False)
class Proof:
    """Whether a property of a matrix, or of all matrices of a set, is proved; in a condition it is true only if proved.

    Args:
        verdict: PROVED, REFUTED (no matrix of the set has the property), or UNDECIDED.
        reason: What decided; where nothing did, what stood in the way.
        smallest_singular_value: If PROVED, a lower bound of the smallest singular value of every matrix of the set, in
            the unit of the entries; 0 where the deciding method gives none.
    """

    verdict: Verdict
    reason: str
    smallest_singular_value: float = 0.0

    def __bool__(self) -> bool:
        return as_condition(self.verdict, self.reason)


@dataclass(frozen=True)
class Margin:
    """The difference between one logit and the largest other one.

    Args:
        label: Its number: the one asked for, or the largest.
        lead: How far above the largest of the others, in the unit of the logits: proved bounds, negative if below.
    """

    label: int
    lead: Bounds


def _ends(value: object) -> tuple[Any, Any]:
    """Return proved bounds of a number; they are equal if it is known exactly."""
    if isinstance(value, Bounds):
        return value.lower, value.upper
    exact: Any = Fraction(int(value.p), int(value.q)) if isinstance(value, fmpq) else value
    return exact, exact


def rank(matrix: Enclosure | ArrayLike, *, radius: ArrayLike = 0.0) -> Bounds:
    r"""Bound the rank of a matrix; exactly, where its entries are exact.

    Exact entries: a minor that is not zero modulo a prime from below, an identity over the integers that writes the
    other columns by those of the minor from above. Intervals: from below alone, since every interval that is wider
    than a point holds matrices of full rank.

    Args:
        matrix: `[rows, columns]`, or an `Enclosure`.
        radius: Bound of the distance of each entry; broadcast to the shape.

    Returns:
        Integers. For exact entries they are equal (unless five primes of 62 bits were all unlucky). For a set, the rank
        of every matrix of it is at least the lower one.

    Raises:
        InputError: Not a matrix of finite real numbers, or a radius that is negative or does not broadcast.

    Example:
        >>> rank([[1, 2], [3, 6]]) == 1
        True
        >>> stored = [[1.0, 3.0], [0.1, 0.3]]  # 0.3 is not three times 0.1 in float64
        >>> np.linalg.matrix_rank(stored).item(), rank(stored) == 2
        (1, True)
        >>> rank([[1.0, 0.0], [0.0, 1e-3]], radius=1e-6) >= 2
        True
    """
    matrices = given_matrix(matrix, radius)
    bracket = rank_bracket(_judged(matrices))
    if matrices.exact:
        return Bounds(bracket.lower, bracket.upper, "a minor modulo a prime, and an identity over the integers")
    return Bounds(bracket.lower, bracket.upper, "the set, squeezed to a neighbourhood of the identity")


def full_row_rank(matrix: Enclosure | ArrayLike, *, radius: ArrayLike = 0.0) -> Proof:
    """Prove that the rows of a matrix, or of every matrix of a set, are linearly independent; or that they are not.

    Args:
        matrix: `[rows, columns]`, or an `Enclosure`.
        radius: Bound of the distance of each entry; broadcast to the shape.

    Returns:
        The verdict with its reason. REFUTED: more rows than columns, or the exactly given rows are dependent.

    Raises:
        InputError: Not a matrix of finite real numbers, or a radius that is negative or does not broadcast.

    Example:
        >>> full_row_rank([[1, 2, 3], [2, 4, 7]]).verdict, full_row_rank([[1, 2, 3], [2, 4, 6]]).verdict
        (<Verdict.PROVED: 'PROVED'>, <Verdict.REFUTED: 'REFUTED'>)
    """
    matrices = given_matrix(matrix, radius)
    certificate = certify_full_row_rank(_judged(matrices))
    return Proof(
        certificate.verdict,
        _reason(certificate.method, certificate.verdict, matrices),
        certificate.smallest_singular_value,
    )


def nonsingular(matrix: Enclosure | ArrayLike, *, radius: ArrayLike = 0.0) -> Proof:
    """Prove that a square matrix, or every matrix of a set, is nonsingular; or that it is singular.

    Args:
        matrix: `[n, n]`, or an `Enclosure`.
        radius: Bound of the distance of each entry; broadcast to the shape.

    Returns:
        The verdict with its reason. REFUTED: the one given matrix is singular; the reason names a vector of its kernel.

    Raises:
        InputError: Not a square matrix of finite real numbers, or a radius that is negative or does not broadcast.

    Example:
        >>> bool(nonsingular([[2.0, 1.0], [1.0, 1.0]], radius=0.125))
        True
        >>> nonsingular([[2**60, 2**61], [1, 2]]).reason
        'the matrix times (-2, 1) is 0'
        >>> nonsingular([[2.0, 1.0], [1.0, 1.0]], radius=0.5).verdict
        <Verdict.UNDECIDED: 'UNDECIDED'>
    """
    matrices = given_matrix(matrix, radius)
    certificate = certify_nonsingular(_judged(matrices))
    reason = _reason(certificate.method, certificate.verdict, matrices)
    if certificate.kernel is not None:
        reason = f"the matrix times {_shown(certificate.kernel)} is 0"
    return Proof(certificate.verdict, reason, certificate.smallest_singular_value)


def spectral_norm(matrix: Enclosure | ArrayLike, *, radius: ArrayLike = 0.0) -> Bounds:
    """Bound the largest singular value of a matrix, or of every matrix of a set, in the unit of the entries.

    Args:
        matrix: `[rows, columns]`, or an `Enclosure`.
        radius: Bound of the distance of each entry; broadcast to the shape.

    Returns:
        Floats; the upper one infinite where nothing could be proved, as for entries near the ends of float64.

    Raises:
        InputError: Not a matrix of finite real numbers, or a radius that is negative or does not broadcast.

    Example:
        >>> norm = spectral_norm([[3, 4]])
        >>> norm >= 5 - 1e-9, norm <= 5 + 1e-9
        (True, True)
    """
    matrices = given_matrix(matrix, radius)
    norm = enclose_spectral_norm(matrices.enclosure)
    method = "a Cholesky factor of c I - A A^T from above, a vector from below"
    return Bounds(max(0.0, float(norm.lower())), float(norm.upper()), method)


def kl(p: ArrayLike, logits: Enclosure | ArrayLike, *, radius: ArrayLike = 0.0) -> Bounds:
    r"""Bound the divergence of a distribution from the softmax of logits, in nats.

    $$ \mathrm{KL}(p \parallel \mathrm{softmax}(z)) = \sum_i p_i (\log p_i - z_i) + \log \sum_i e^{z_i},
       \qquad 0 \log 0 = 0, $$

    in balls of 128 bits, and of more until the ends agree to float64. Never below 0 (Gibbs).

    Args:
        p: The distribution, `[N]`. Integers and fractions have to add up to 1; floats to 1 within $N 2^{-52}$, and
            stand for themselves divided by their exact sum.
        logits: `[N]`, finite; or an `Enclosure`.
        radius: Bound of the distance of each logit; broadcast to the shape.

    Returns:
        Floats, rounded outwards.

    Raises:
        HypothesisError: `p` has a negative entry or does not add up to 1.
        InputError: Other shapes, or entries that are not finite.

    Example:
        >>> from fractions import Fraction
        >>> half = kl([Fraction(1, 4), Fraction(3, 4)], [0, 0])
        >>> half > 0.1308, half < 0.1309
        (True, True)
        >>> with np.errstate(all="ignore"):  # float64 overflows; the divergence is 1000
        ...     q = np.exp([0.0, 1000.0]) / np.exp([0.0, 1000.0]).sum()
        >>> float(q[0]), 999.99 < kl([1.0, 0.0], [0.0, 1000.0]).lower <= 1000
        (0.0, True)
    """
    weights = _distribution(p)
    scores = _row(logits, radius, "logits")
    if scores.shape[1] != len(weights):
        raise InputError("logits", f"have {scores.shape[1]} entries", f"{len(weights)}, like p")
    lower, upper, bits = 0.0, math.inf, 0
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            exact = [arb(fmpq(weight.numerator, weight.denominator)) for weight in weights]
            # The largest midpoint is subtracted: both sums change by it, and the powers are at most about 1.
            top = max(scores.enclosure.midpoint[0].tolist())
            z = [score - arb(top) for score in matrix_of_balls(scores).entries()]
            crossed = sum((w * (w.log() - x) for w, x in zip(exact, z, strict=True) if w != 0), arb(0))
            value = crossed + sum((x.exp() for x in z), arb(0)).log()
            narrower = float_below(value), float_above(value)
        lower, upper = max(lower, narrower[0]), min(upper, narrower[1])
        if not scores.exact or upper - lower <= 4 * _UNIT * upper:
            break
    return Bounds(lower, upper, f"balls of {bits} bits")


def argmax_margin(logits: Enclosure | ArrayLike, label: int | None = None, *, radius: ArrayLike = 0.0) -> Margin:
    """Bound the margin of one logit over all others: the logit of a label, or the largest one.

    Args:
        logits: `[N]`, at least two, finite; or an `Enclosure`.
        label: Which logit; by default the one with the largest midpoint, of equal ones the first.
        radius: Bound of the distance of each logit; broadcast to the shape.

    Returns:
        The label and its lead. `margin.lead > 0` proves that the label is the one argmax. Exact entries give an exact
        lead, a `Fraction`.

    Raises:
        InputError: Fewer than two logits, entries that are not finite, or a label out of range.

    Example:
        >>> found = argmax_margin([0.5, 2.0, 1.0], radius=0.25)
        >>> found.label, found.lead > 0, found.lead > 0.5
        (1, True, False)
        >>> from fractions import Fraction
        >>> argmax_margin([Fraction(1, 3), Fraction(1, 2)], label=0).lead.lower
        Fraction(-1, 6)
    """
    scores = _row(logits, radius, "logits")
    values = scores.fractions[0]
    if len(values) < 2:
        raise InputError("logits", f"have {len(values)} entry", "at least two")
    chosen = values.index(max(values)) if label is None else label
    if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer) or not 0 <= chosen < len(values):
        raise InputError("label", f"= {label}", f"0 .. {len(values) - 1}")
    chosen = int(chosen)
    if scores.exact:
        lead = values[chosen] - max(value for i, value in enumerate(values) if i != chosen)
        return Margin(chosen, Bounds(lead, lead, "rational arithmetic"))
    # The sets are midpoint +- radius of the enclosure, which holds entries that float64 rounds, too.
    middle = [Fraction(value) for value in scores.enclosure.midpoint[0].tolist()]
    radii = np.broadcast_to(scores.enclosure.radius, scores.shape)[0].tolist()
    if not all(map(math.isfinite, radii)):
        return Margin(chosen, Bounds(-math.inf, math.inf, "a logit of which nothing is known"))
    wide = [Fraction(radius_entry) for radius_entry in radii]
    others = [i for i in range(len(values)) if i != chosen]
    lower = middle[chosen] - wide[chosen] - max(middle[i] + wide[i] for i in others)
    upper = middle[chosen] + wide[chosen] - max(middle[i] - wide[i] for i in others)
    return Margin(chosen, Bounds(lower, upper, "rational arithmetic on the ends of the intervals"))


def _judged(given: GivenMatrix) -> Any:
    """Return the argument of the judges: the exact entries of a single matrix, or the set."""
    if not given.exact:
        return given.enclosure
    return given.enclosure.midpoint if given.entries is None else given.entries


def _reason(method: str, verdict: Verdict, given: GivenMatrix) -> str:
    """Describe the deciding method or, if undecided, how large the radii are compared to the smallest singular
    value.
    """
    if verdict is not Verdict.UNDECIDED:
        return _DECIDED.get(method, method)
    with ctx.workprec(_SCALAR_BITS), np.errstate(all="ignore"):
        spread = float_above(radius_norm(given.enclosure))
        try:
            smallest = float(np.linalg.svd(given.enclosure.midpoint, compute_uv=False).min())
        except np.linalg.LinAlgError:
            smallest = math.nan
    if given.exact:
        return f"too large for the exact methods, and the smallest singular value is about {smallest:.2g}"
    return (
        f"the radii have the Frobenius norm {spread:.2g}, and the smallest singular value of the midpoint is about "
        f"{smallest:.2g}: the set may hold a singular matrix"
    )


_DECIDED = {
    "empty": "there are no rows",
    "shape": "there are more rows than columns",
    "gram": "a Cholesky factor of A A^T - c I",
    "inverse": "an approximate inverse in float64",
    "float64": "an approximate inverse in float64",
    "exact product": "an approximate inverse, its product in integers",
    "prime field": "a minor that is not zero modulo a prime",
    "exact rational": "a dependency of the rows, checked in integers",
}


def _distribution(p: ArrayLike) -> list[Fraction]:
    """Return the probabilities as fractions that add up to 1."""
    row = given_matrix(_as_row(p, "p"), name="p")
    entries = row.fractions[0]
    if any(entry < 0 for entry in entries):
        at = next(i for i, entry in enumerate(entries) if entry < 0)
        raise HypothesisError("A divergence", "probabilities >= 0", f"p[{at}] = {float(entries[at]):.4g}")
    mass = sum(entries, Fraction(0))
    rounded = any(isinstance(entry, float | np.floating) for entry in np.asarray(p, dtype=object).ravel().tolist())
    allowed = Fraction(len(entries), 2**52) if rounded else Fraction(0)
    if not abs(mass - 1) <= allowed:
        raise HypothesisError("A divergence", "probabilities that add up to 1", f"p adds up to {float(mass):.17g}")
    return [entry / mass for entry in entries]


def _row(values: Enclosure | ArrayLike, radius: ArrayLike, name: str) -> GivenMatrix:
    """Return numbers with radii as a set of matrices of one row."""
    if isinstance(values, Enclosure):
        if values.ndim != 1:
            raise InputError(name, f"has the shape {values.shape}", "[N]")
        return given_matrix(Enclosure(values.midpoint[None], np.broadcast_to(values.radius, values.shape)[None]))
    return given_matrix(_as_row(values, name), radius, name=name)


def _as_row(values: ArrayLike, name: str) -> Sequence[Any]:
    row = np.asarray(values, dtype=object)
    if row.ndim != 1 or not len(row):
        raise InputError(name, f"has the shape {row.shape}", "[N] with N at least 1")
    return [list(row)]


def _shown(vector: Sequence[int]) -> str:
    """Return a vector of integers, cut where it would fill the screen."""
    text = f"({', '.join(map(str, vector[:8]))}{', ...' if len(vector) > 8 else ''})"
    return text if len(text) <= 200 else f"an integer vector of {len(vector)} entries"
