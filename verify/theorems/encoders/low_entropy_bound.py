r"""Judge encoders for distributions close to a look-up table: their cost, and every bound of Theorem 2.

An encoder gives the context t the logits $\lambda_t \langle w_j, e_t \rangle$. With $g = g(t)$ a token of one's choice,
$\alpha_{t,j} = \langle w_g - w_j, e_t \rangle$ its leads and $p$ the distribution,

$$ C_t(\lambda) = A_t(\lambda) + \lambda \sum_{j \ne g} p_j \alpha_{t,j}, \qquad
   A_t(\lambda) = \log\Bigl(1 + \sum_{j \ne g} e^{-\lambda \alpha_{t,j}}\Bigr) $$

is the cross-entropy in nats, and $C_t - H_t$ the divergence. All bounds of this page are bounds of $C_t$, and all are
compared there: for positive leads nothing in $C_t$ cancels, so that masses of $10^{-30}$ keep their digits.

Page: docs/claims/theorem_2.md
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from constructions.numeric.products import multiply
from verify.arithmetic.blas import probe
from verify.arithmetic.elementary import exp, log, log1p
from verify.arithmetic.enclosure import Enclosure, matmul, sqrt
from verify.arithmetic.exact_inputs import as_float64, is_masked
from verify.arithmetic.rounding import UNIT
from verify.arithmetic.sums import total

SLACK = 2.0**-32
"""A strength is a float64 number and the best one is not, so a bound that is attained is met up to this share of it."""

_TINY = 2.0**-900  # likewise: certainty asks for an infinite strength
_EXACT = 2**52  # sums of integers up to here are exact in float64, in whatever order they are added
_BLOCK = 2**23  # entries of the unembedding that are widened to float64 at a time
_WIDTHS = tuple(2.0**-k for k in (46, 40, 34, 28, 22))  # of an enclosure of the strength, relatively
_SERIES = 18  # terms of the exponential series


@dataclass(frozen=True, eq=False)
class LookupDistributions:
    r"""The quantities of Theorem 2 for some distributions, enclosed.

    Args:
        d_vocab: N.
        masses: The distributions without the mass of the token g(t), `[T, N]`.
        others: Whether a token is not g(t), `[T, N]`.
        missing: $\varepsilon_t = 1 - p_t(g(t))$, `[T]`; of small relative radius.
        entropy: $H_t$ in nats, `[T]`; likewise.
        prior: $\rho_t$, `[T]`.
    """

    d_vocab: int
    masses: Enclosure
    others: BoolArray
    missing: Enclosure
    entropy: Enclosure
    prior: Enclosure

    def mean(self, values: Enclosure) -> Enclosure:
        r"""Return $\sum_t \rho_t x_t$, a scalar."""
        return total(self.prior * values, 0)


def lookup_distributions(
    distributions: ArrayLike, tokens: Int64Array, prior: ArrayLike | None = None
) -> LookupDistributions:
    r"""Enclose the missing mass and the entropy, with a small relative radius.

    With $\delta$ the mass of all tokens but the likeliest, i,

    $$ H = -(1 - \delta) \log(1 - \delta) + \sum_{j \ne i} p_j \log \frac1{p_j}, $$

    where no term is negative; $\varepsilon$ and $\delta$ are summed from the masses, never taken from 1.

    Args:
        distributions: Weights that are at least 0, `[T, N]`, N >= 2; the distribution is the row divided by its exact
            sum.
        tokens: g(t), `[T]`; any tokens.
        prior: Weights of the contexts, above 0, `[T]`; divided by their exact sum. Uniform by default.

    Returns:
        The enclosures.

    Raises:
        InputError: Arrays of other shapes or ranges.

    Example:
        >>> found = lookup_distributions([[1.0, 1e-30, 1e-30]], np.array([0]))
        >>> bool(abs(found.missing.midpoint[0] / 2e-30 - 1) < 1e-12), bool(found.entropy.radius[0] < 1e-40)
        (True, True)
    """
    weights = as_float64(distributions, "distributions")
    if weights.ndim != 2 or weights.shape[1] < 2 or 0 in weights.shape:
        raise InputError("distributions", f"has shape {weights.shape}", "[T, N] with T >= 1 and N >= 2")
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any(axis=1).all()):
        raise InputError("distributions", "has an entry that is negative or not finite, or a row of zeros")
    n_contexts, d_vocab = weights.shape
    tokens = _checked_tokens(tokens, n_contexts, d_vocab)
    shares = np.ones(n_contexts) if prior is None else as_float64(prior, "prior")
    if shares.shape != (n_contexts,) or not (np.isfinite(shares).all() and (shares > 0.0).all()):
        raise InputError("prior", f"is {shares.tolist()}", f"{n_contexts} weights above 0")
    masses, others = _masses_without(weights, tokens)
    missing = _sum_of_masses(masses)
    # Of the likeliest token, which need not be g(t), the missing mass is exact enough for a logarithm.
    rest, _ = _masses_without(weights, weights.argmax(axis=1))
    small = _sum_of_masses(rest)
    entropy = total(_surprise(rest), 1) + (small - 1.0) * log1p(-small)
    entropy = _where(small.upper() > 0.0, _nonnegative(entropy), 0.0)
    return LookupDistributions(d_vocab, masses, others, missing, entropy, Enclosure(shares) / total(shares))


def enclose_leads(vectors: NDArray, encoders: NDArray, tokens: Int64Array) -> Enclosure:
    r"""Enclose the leads $\alpha_{t,j} = \langle w_{g(t)} - w_j, e_t \rangle$; integers give them exactly.

    Integers are multiplied in float64, where all partial sums stay below $2^{52}$ and are exact in whatever order they
    are added; a block of tokens at a time, so that small integer types stay small.

    Args:
        vectors: $w_j$ as the rows, `[N, d]`; integers or float64.
        encoders: $e_t$, one for each context, `[T, d]`; likewise.
        tokens: g(t), `[T]`.

    Returns:
        The leads, `[T, N]`, exactly 0 for the token itself.

    Raises:
        InputError: Arrays of shapes that do not fit, masked arrays, or tokens out of range.
        BlasError: The BLAS fails its probe.

    Example:
        >>> W = np.array([[1, 1], [1, -1], [1, 0]])
        >>> enclose_leads(W, W[[0]], np.array([0])).midpoint.tolist()
        [[0.0, 2.0, 1.0]]
    """
    if is_masked([vectors, encoders]):
        raise InputError("vectors or encoders", "is a masked array; fill the masked entries first")
    vectors, encoders = np.asarray(vectors), np.asarray(encoders)
    if vectors.ndim != 2 or encoders.shape != (len(tokens), vectors.shape[1]):
        raise InputError(
            "vectors", f"has shape {vectors.shape}, encoders {encoders.shape}", f"[N, d] and [{len(tokens)}, d]"
        )
    tokens = _checked_tokens(tokens, len(encoders), len(vectors))
    probe()
    integers = vectors.dtype.kind in "iu" and encoders.dtype.kind in "iu"
    size = _largest_integer(vectors) * _largest_integer(encoders) * vectors.shape[1] if integers else _EXACT
    narrow = as_float64(encoders, "encoders")
    rows = max(1, _BLOCK // max(1, vectors.shape[1]))
    columns = [vectors[start : start + rows] for start in range(0, len(vectors), rows)]
    if size < _EXACT:
        product = Enclosure(np.concatenate([multiply(narrow, part.astype(np.float64).T) for part in columns], axis=1))
    else:
        parts = [matmul(narrow, as_float64(part, "vectors").T) for part in columns]
        radii = [np.broadcast_to(part.radius, part.shape) for part in parts]
        product = Enclosure(np.concatenate([part.midpoint for part in parts], axis=1), np.concatenate(radii, axis=1))
    leads = product[np.arange(len(tokens)), tokens].reshape(len(tokens), 1) - product
    others = np.arange(len(vectors)) != np.asarray(tokens)[:, np.newaxis]
    radius = np.where(others, 0.0 if size < _EXACT else leads.radius, 0.0)
    return Enclosure(np.where(others, leads.midpoint, 0.0), radius)


def largest_deviation(vectors: NDArray, *, scale: float = 1.0) -> Enclosure:
    r"""Enclose $\max_{ij} |(W W^\top - I)_{ij}|$, the number that the constant C of Theorem 2 bounds.

    Args:
        vectors: Rows $\sqrt c \, w_j$, `[N, d]`; integers or float64.
        scale: c.

    Returns:
        A scalar.

    Raises:
        InputError: No matrix, or a scale that is not positive.

    Example:
        >>> float(largest_deviation(np.array([[1, 1], [1, 0]]), scale=2.0).midpoint)
        0.5
    """
    if np.ndim(vectors) != 2 or not scale > 0.0:
        raise InputError("vectors", f"has shape {np.shape(vectors)}, scale is {scale}", "[N, d] and a number above 0")
    wide = as_float64(vectors, "vectors")
    probe()
    deviation = abs(matmul(wide, wide.T) / scale - np.eye(len(wide)))
    return Enclosure.between(deviation.lower().max(), deviation.upper().max())


def cross_entropy(distributions: LookupDistributions, leads: Enclosure, strengths: Enclosure | ArrayLike) -> Enclosure:
    r"""Enclose $C_t(\lambda_t)$, in nats, with a small relative radius where the leads are positive.

    Args:
        distributions: The distributions.
        leads: $\alpha_{t,j}$, `[T, N]`.
        strengths: $\lambda_t \ge 0$, `[T]`.

    Returns:
        Enclosure `[T]`.

    Raises:
        InputError: Leads of another shape, or strengths that float64 does not hold.

    Example:
        >>> distributions = lookup_distributions([[0.5, 0.25, 0.25]], np.array([0]))
        >>> value = cross_entropy(distributions, Enclosure([[0.0, 1.0, 1.0]]), [np.log(2.0)])
        >>> bool(abs(value.midpoint[0] - 1.5 * np.log(2.0)) < 1e-15)  # the entropy: nothing is lost
        True
    """
    _check_leads(distributions, leads)
    strengths = strengths if isinstance(strengths, Enclosure) else Enclosure(as_float64(strengths, "strengths"))
    return partition(distributions, leads, strengths) + strengths * total(distributions.masses * leads, 1)


def partition(distributions: LookupDistributions, leads: Enclosure, strengths: Enclosure) -> Enclosure:
    r"""Enclose $A_t(\lambda_t)$, `[T]`: the logarithm of the softmax denominator divided by the token's own
    exponential.
    """
    powers = exp(-(leads * strengths.reshape(len(leads), 1)))
    return log1p(total(_where(distributions.others, powers, 0.0), 1))


def enclose_printed_strength(distributions: LookupDistributions, leads: Enclosure, guess: Float64Array) -> Enclosure:
    r"""Enclose the solution $\lambda_t$ of $H_t = A_t(\lambda_t)$, the paper's equation (6).

    Where all leads of other tokens are positive, $A_t$ falls strictly, from $\log N \ge H_t$ to 0. So a number where it
    is proved to be above the entropy lies below the solution, and a number where it is below lies above; 0 always lies
    below. Around the guess ever wider brackets are tried.

    Args:
        distributions: The distributions.
        leads: $\alpha_{t,j}$, `[T, N]`.
        guess: Points to try, `[T]`; not trusted.

    Returns:
        Enclosure `[T]`; no information where a lead may not be positive or no bracket was proved.

    Raises:
        InputError: Leads of another shape.

    Source: Dana, Pydi, Chevaleyre (2024), equation (6).

    Example:
        >>> distributions = lookup_distributions([[0.5, 0.5, 0.0]], np.array([0]))
        >>> found = enclose_printed_strength(distributions, Enclosure([[0.0, 1.0, 1.0]]), np.array([0.6931471805599]))
        >>> bool(found.lower()[0] < np.log(2.0) < found.upper()[0]), bool(found.radius[0] < 1e-9)
        (True, True)
    """
    _check_leads(distributions, leads)
    least = np.where(distributions.others, leads.lower(), np.inf).min(axis=1)
    low, high = np.full(len(guess), -np.inf), np.full(len(guess), np.inf)
    step = guess + 1.0 / np.where(least > 0.0, least, 1.0)
    for width in _WIDTHS:
        below, above = np.maximum(guess - width * step, 0.0), guess + width * step
        is_below = (partition(distributions, leads, Enclosure(below)).lower() > distributions.entropy.upper()) | (
            below == 0.0
        )
        is_above = partition(distributions, leads, Enclosure(above)).upper() < distributions.entropy.lower()
        fresh = np.isinf(high) & is_below & is_above & (least > 0.0)
        low, high = np.where(fresh, below, low), np.where(fresh, above, high)
    return Enclosure.between(low, high)


def printed_cross_entropy(distributions: LookupDistributions, leads: Enclosure, strengths: Enclosure) -> Enclosure:
    r"""Enclose $C_t = H_t + \lambda_t \sum_j p_j \alpha_{t,j}$, the value at the solution of equation (6).

    Args:
        distributions: The distributions.
        leads: $\alpha_{t,j}$, `[T, N]`.
        strengths: The solutions, `[T]`, from `enclose_printed_strength`.

    Returns:
        Enclosure `[T]`, nats.

    Source: Dana, Pydi, Chevaleyre (2024), appendix A.3.

    Example:
        >>> distributions = lookup_distributions([[0.5, 0.5, 0.0]], np.array([0]))
        >>> value = printed_cross_entropy(distributions, Enclosure([[0.0, 1.0, 1.0]]), Enclosure([np.log(2.0)]))
        >>> bool(abs(value.midpoint[0] - 1.5 * np.log(2.0)) < 1e-15)
        True
    """
    _check_leads(distributions, leads)
    return distributions.entropy + strengths * total(distributions.masses * leads, 1)


def least_cross_entropy(share: Enclosure, d_vocab: int) -> Enclosure:
    r"""Enclose $\inf_{x \ge 0} \log(1 + (N - 1) e^{-x}) + s x$, in nats.

    It is $h_b(s) + s \log(N - 1)$ for $s \le (N - 1) / N$ and $\log N$ beyond, where $h_b$ is the entropy of two
    outcomes; at $s = (N - 1) / N$ the two agree.

    Args:
        share: $s = \kappa \varepsilon \ge 0$, any shape.
        d_vocab: N, at least 2.

    Returns:
        Enclosure of the same shape, of small relative radius.

    Example:
        >>> value = least_cross_entropy(Enclosure([0.5, 3.0]), 3)
        >>> np.exp(value.midpoint).round(6).tolist()  # 2 sqrt(2), and N
        [2.828427, 3.0]
    """
    largest = Enclosure(float(d_vocab - 1)) / float(d_vocab)
    s = Enclosure.between(
        np.maximum(np.minimum(share.lower(), largest.lower()), 0.0), np.minimum(share.upper(), largest.upper())
    )
    return _surprise(s) - (1.0 - s) * log1p(-s) + s * log(float(d_vocab - 1))


def lead_of_entropy(entropy: Enclosure, d_vocab: int) -> Enclosure:
    r"""Enclose $\varphi(H) = \log \frac{N - 1}{e^H - 1}$, the x for which $\log(1 + (N - 1) e^{-x}) = H$, in nats.

    Args:
        entropy: $0 < H \le \log N$, any shape.
        d_vocab: N, at least 2.

    Returns:
        Enclosure of the same shape; no information where H may be 0.

    Example:
        >>> bool(abs(lead_of_entropy(Enclosure(np.log(2.0)), 11).midpoint - np.log(10.0)) < 1e-14)
        True
    """
    return log(float(d_vocab - 1)) - log(_exp_minus_one(entropy))


def printed_constant(d_vocab: int, d_model: int) -> Enclosure:
    r"""Enclose the paper's $C = \sqrt{32 \log(N + 1) / d}$.

    Example:
        >>> bool(abs(printed_constant(2, 1).midpoint - 5.929) < 1e-3)
        True
    """
    return sqrt(log(float(d_vocab + 1)) * 32.0 / float(d_model))


def paper_factor(constant: Enclosure) -> Enclosure:
    """Return $(1 + 2C) / (1 - 2C)$, the paper's factor without the total variation, which it does not need."""
    return (1.0 + 2.0 * constant) / (1.0 - 2.0 * constant)


def slides_factor(constant: Enclosure) -> Enclosure:
    """Return $(1 + 4C) / (1 - 2C)$, the factor of the slides and of the paper's simpler bound."""
    return (1.0 + 4.0 * constant) / (1.0 - 2.0 * constant)


def kappa_of_leads(distributions: LookupDistributions, leads: Enclosure, *, common: bool = False) -> Enclosure:
    r"""Enclose $\kappa_t$, the largest lead of a context over its least one; with `common`, one for all contexts.

    Returns:
        Enclosure `[T]`; no information where a lead may not be positive.

    Example:
        >>> distributions = lookup_distributions(np.ones((2, 3)), np.array([0, 0]))
        >>> leads = Enclosure([[0.0, 1.0, 2.0], [0.0, 2.0, 3.0]])
        >>> each, common = kappa_of_leads(distributions, leads), kappa_of_leads(distributions, leads, common=True)
        >>> each.midpoint.tolist(), common.midpoint.tolist()
        ([2.0, 1.5], [3.0, 3.0])
    """
    _check_leads(distributions, leads)
    low, high = leads.lower(), leads.upper()
    ends = [
        (np.where(distributions.others, x, np.inf).min(axis=1), np.where(distributions.others, x, -np.inf).max(axis=1))
        for x in (low, high)
    ]
    if common:
        ends = [(np.full(len(leads), least.min()), np.full(len(leads), most.max())) for least, most in ends]
    (least_low, most_low), (least_high, most_high) = ends
    known = least_low > 0.0
    least = Enclosure.between(np.where(known, least_low, -np.inf), np.where(known, least_high, np.inf))
    return Enclosure.between(most_low, most_high) / least


def bound_by_missing(distributions: LookupDistributions, kappa: Enclosure) -> Enclosure:
    r"""Return the bound (N1), $C_t \le \Phi(\kappa_t \varepsilon_t)$, `[T]`; see `least_cross_entropy`."""
    return least_cross_entropy(kappa * distributions.missing, distributions.d_vocab)


def bound_by_entropy(distributions: LookupDistributions, factor: Enclosure) -> Enclosure:
    r"""Return the bound (N2), and with another factor the printed bounds: $C_t \le H_t + \kappa_t \varepsilon_t
    \varphi(H_t)$, `[T]`.
    """
    certain = distributions.missing.upper() == 0.0  # 0 times infinity is 0
    phi = lead_of_entropy(_where(~certain, distributions.entropy, 1.0), distributions.d_vocab)
    return distributions.entropy + factor * distributions.missing * phi


def mean_bound_by_missing(distributions: LookupDistributions, kappa: Enclosure) -> Enclosure:
    r"""Return the bound (N3), $\sum_t \rho_t C_t \le \Phi(\kappa \sum_t \rho_t \varepsilon_t)$, a scalar."""
    return least_cross_entropy(kappa * distributions.mean(distributions.missing), distributions.d_vocab)


def mean_bound_by_entropy(distributions: LookupDistributions, factor: Enclosure) -> Enclosure:
    r"""Return the simple bound: $\sum_t \rho_t C_t \le \bar H + \kappa \bar\varepsilon \varphi(\bar H)$, a scalar."""
    entropy = distributions.mean(distributions.entropy)
    return entropy + factor * distributions.mean(distributions.missing) * lead_of_entropy(
        entropy, distributions.d_vocab
    )


def within(cost: Enclosure, bound: Enclosure) -> BoolArray:
    """Tell for each entry whether the cost is proved to be at most $(1 + 2^{-32})$ times its bound, up to $2^{-900}$.

    Example:
        >>> bool(within(Enclosure(1.0), Enclosure(1.0))), bool(within(Enclosure(1.001), Enclosure(1.0)))
        (True, False)
    """
    return cost.upper() <= (bound * (1.0 + SLACK)).lower() + _TINY


def beyond(cost: Enclosure, bound: Enclosure) -> BoolArray:
    """Tell for each entry whether the cost is proved to exceed its bound.

    Example:
        >>> bool(beyond(Enclosure(1.001), Enclosure(1.0))), bool(beyond(Enclosure(1.0), Enclosure(1.0, 0.1)))
        (True, False)
    """
    return cost.lower() > bound.upper()


def reaches_limit(kappa: Fraction, d_vocab: int, d_model: int) -> bool:
    r"""Tell whether $\kappa$ is at least the limit for N tokens in d dimensions, in rational arithmetic.

    $$ \Bigl(\frac{\kappa - 1}{\kappa + 1}\Bigr)^2 \ge \frac{N - d - 1}{(d + 1)(N - 1)} . $$

    Any vectors with any encoders fulfil it, whose leads lie between 1 and $\kappa$ times a number for each token.

    Raises:
        InputError: $\kappa < 1$, which no leads have, fewer than two tokens, or d < 0.

    Example:
        >>> reaches_limit(Fraction(33, 31), 50257, 1024), reaches_limit(Fraction(17, 16), 50257, 1024)
        (True, False)
    """
    if not (kappa >= 1 and d_vocab >= 2 and d_model >= 0):
        raise InputError("kappa", f"= {kappa}, d_vocab = {d_vocab}, d_model = {d_model}", "at least 1, 2 and 0")
    return ((kappa - 1) / (kappa + 1)) ** 2 >= Fraction(d_vocab - d_model - 1, (d_model + 1) * (d_vocab - 1))


def _checked_tokens(values: ArrayLike, n_contexts: int, d_vocab: int) -> Int64Array:
    tokens = np.asarray(values)
    if (
        is_masked(values)
        or tokens.shape != (n_contexts,)
        or tokens.dtype.kind not in "iu"
        or not ((tokens >= 0) & (tokens < d_vocab)).all()
    ):
        raise InputError("tokens", f"is {tokens.tolist()}", f"{n_contexts} tokens 0 .. {d_vocab - 1}, none masked")
    return tokens


def _check_leads(distributions: LookupDistributions, leads: Enclosure) -> None:
    if leads.shape != distributions.masses.shape:
        raise InputError(
            "leads", f"has shape {leads.shape}", f"{distributions.masses.shape}, that of the distributions"
        )


def _largest_integer(values: NDArray) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def _masses_without(weights: Float64Array, tokens: Int64Array) -> tuple[Enclosure, BoolArray]:
    """Return the masses without some tokens, `[T, N]`, 0 where they are 0; and where other tokens are."""
    others = np.arange(weights.shape[1]) != tokens[:, np.newaxis]
    rest = np.where(others, weights, 0.0)
    return _where(rest > 0.0, Enclosure(rest) / total(weights, 1).reshape(len(weights), 1), 0.0), others


def _sum_of_masses(masses: Enclosure) -> Enclosure:
    """Return the sums of the rows, which are probabilities; 0 where all masses are."""
    sums = total(masses, 1)
    high = np.where(masses.upper().any(axis=1), np.minimum(sums.upper(), 1.0), 0.0)
    return Enclosure.between(np.minimum(np.maximum(sums.lower(), 0.0), high), high)


def _nonnegative(x: Enclosure) -> Enclosure:
    """Return the set without negative numbers, which are known to be impossible."""
    low = x.lower()
    if (low >= 0.0).all():
        return x
    return _chosen(low < 0.0, Enclosure.between(np.maximum(low, 0.0), np.maximum(x.upper(), 0.0)), x)


def _where(condition: ArrayLike, x: Enclosure, otherwise: float) -> Enclosure:
    return _chosen(condition, x, Enclosure(np.full(x.shape, otherwise)))


def _chosen(condition: ArrayLike, x: Enclosure, y: Enclosure) -> Enclosure:
    return Enclosure(np.where(condition, x.midpoint, y.midpoint), np.where(condition, x.radius, y.radius))


def _surprise(x: Enclosure) -> Enclosure:
    r"""Enclose $x \log(1/x)$ for numbers in [0, 1], 0 at 0; increasing up to 1/e, so that an end bounds sets that
    contain 0.
    """
    positive = x.lower() > 0.0
    known = _where(positive, x, 1.0)
    high = np.where(positive, 1.0, x.upper())
    small = (high > 0.0) & (high < 0.25)
    end = np.where(small, high, 1.0)
    most = np.where(small, (log(end) * end * -1.0).upper(), np.where(high == 0.0, 0.0, np.inf))
    return _chosen(positive, log(known) * known * -1.0, Enclosure.between(0.0, most))


def _exp_minus_one(x: Enclosure) -> Enclosure:
    r"""Enclose $e^x - 1$ for $x \ge 0$ with a small relative radius.

    Up to 1/2 by the series $x (1 + \frac x2 (1 + \frac x3 ( \cdots )))$; after 18 terms the rest is less than
    $2^{-18} / 19! < 2^{-70}$ of the sum, which itself is at least x.
    """
    small = x.upper() <= 0.5
    y = _where(small, x, 0.0)
    inner = Enclosure(np.ones(x.shape))
    for k in range(_SERIES, 1, -1):
        inner = 1.0 + y / float(k) * inner
    series = y * (inner * Enclosure(1.0, UNIT))
    return _chosen(small, series, exp(x) - 1.0)
