"""Bound the divergence of all sequence encoders of a rank from below, for all weights.

The logits of an encoder of rank d lie in a subspace of dimension d. Moving a distribution orthogonally to that
subspace, and to the constants, does not change its cross-entropy with the encoder's softmax, so the divergence is at
least the entropy that such a move gains. A move against the residual of the logarithms gains a multiple of the square
of the residual, and the squares of the residuals of all contexts add up to at least the squares of the last singular
values.

What is searched for in floating point are weights of the tokens, step widths and blocks; any of them give a bound.

Page: docs/claims/sequence_encoder.md
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.numeric.products import multiply
from verify.arithmetic.elementary import log
from verify.arithmetic.enclosure import Enclosure, sqrt
from verify.arithmetic.rounding import down
from verify.arithmetic.sums import lower_sum, total
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.theorems.encoders.cover_floor import EncoderCover, cover_floor, encoder_cover, fewest_cones
from verify.theorems.encoders.encoder_ceiling import checked_distributions
from verify.verdict import Verdict

_TERMS = 40  # of the series of psi
_OUTWEIGHING = 1.0 + 2.0**-40  # outweighs 120 roundings, and those of the coefficients
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_COARSE, _FINE = 8, 30  # how often the interval of a step width shrinks: in the search, and at its end
_REFINED = 0.1  # share of the bound above which the weights of a block are searched for more closely
_EXPONENTS = (0.0, 0.5, 1.0)  # of the mean distribution, as weights of the tokens to begin with
_SAMPLE = 256  # contexts that the search for weights looks at
_FEW_TOKENS = 12  # up to so many, the weight of every token is searched for by itself


@dataclass(frozen=True, eq=False)
class Block:
    r"""A part of the distributions that contributes to a bound: contexts, tokens, and what was found for them.

    Args:
        contexts: Indices of the contexts, `[m]`.
        tokens: Indices of the tokens, `[n]`.
        weights: $\gamma_j > 0$, the roots of the weights of the tokens, `[n]`.
        steps: $s_t \ge 0$, the step widths of the contexts, `[m]`.
    """

    contexts: Int64Array
    tokens: Int64Array
    weights: Float64Array
    steps: Float64Array


@dataclass(frozen=True, eq=False)
class EncoderFloor:
    r"""A proved lower bound of $\inf_{E, W} \sum_t \rho_t \mathrm{KL}(\pi_t \| \mathrm{softmax}(E_t W^\top))$.

    Args:
        lower: The bound for all encoders of the rank, nats; 0 where nothing was proved.
        verdict: PROVED if the bound is positive, else UNDECIDED.
        blocks: The blocks that it is a sum over.
        cover: Instead, the cover of all directions that bounds more.
    """

    lower: float
    verdict: Verdict
    blocks: tuple[Block, ...] = ()
    cover: EncoderCover | None = None


def encoder_floor(
    distributions: ArrayLike | Enclosure,
    d_model: int,
    *,
    prior: ArrayLike | None = None,
    blocks: Sequence[Block] | None = None,
    cones: int = 0,
) -> EncoderFloor:
    r"""Bound the mean divergence of every sequence encoder of rank d from below, in nats.

    For weights $\gamma_j^2$ of the tokens and step widths $s_t$ let $u_t$ be the row
    $\gamma_j (\log \pi_{t,j} - \text{mean})$, the mean weighted by $\gamma_j^2$, and

    $$ \theta_{t,j} = \frac{s_t \gamma_j}{\pi_{t,j}} \cdot
       \max\Bigl(0, \tfrac12 u_{t,j} + \tfrac12 \sqrt{1 - \gamma_j^2 / \textstyle\sum_i \gamma_i^2} \, \|u_t\|\Bigr) ,
       \qquad a_t = s_t - s_t^2 \max_j \psi(\theta_{t,j}) \frac{\gamma_j^2}{\pi_{t,j}} . $$

    Then, over the contexts with $\theta_{t,j} \le 1$ and $a_t \ge 0$,

    $$ \inf_{E, W} \; \sum_t \rho_t \, \mathrm{KL}\bigl(\pi_t \,\|\, \mathrm{softmax}(E_t W^\top)\bigr)
       \;\ge\; \sum_{i > d} \sigma_i\bigl(\mathrm{diag}(\sqrt{\rho_t a_t}) \, U\bigr)^2 . $$

    On a subset of the tokens the same holds for the conditional distributions with the priors $\rho_t \pi_t(A)$, and
    disjoint blocks of contexts and tokens add up.

    Why it is rigorous: the theorem holds for any weights, steps and blocks; all of it, singular values included, is
    computed in enclosures, and the sums are rounded down.

    Args:
        distributions: Weights that are at least 0, `[T, N]`; the distribution is the row divided by its exact sum. A
            block takes part where the distributions are positive on it. An enclosure stands for all distributions in
            it.
        d_model: The rank d, at least 0.
        prior: Weight of each context, at least 0, `[T]`; the prior is the weights divided by their exact sum. Equal
            weights by default.
        blocks: Disjoint blocks with weights and steps; by default they are searched for.
        cones: For $1 \le d \le N - 2$ and positive distributions, how many cones of directions to look at for a better
            bound (`verify.theorems.encoders.cover_floor`), if they can cover all: for d = N - 2, 3000 take half a
            second for 6 tokens
            and 36 contexts, ten times as many bring the bound within 1 % of the infimum, 150 times as many for peaked
            distributions; more tokens take more. For smaller d a cone takes some milliseconds, and fewer do.

    Returns:
        The bound; 0 for $d \ge N - 1$, where the infimum is 0.

    Raises:
        InputError: Arguments of wrong shapes or ranges, or blocks that overlap.

    Source: sharpens the converse of Dana, Pydi, Chevaleyre (2024), Proposition 2.

    Example:
        >>> floor = encoder_floor([[6, 3, 1], [6, 1, 3]], 1)
        >>> floor.verdict.value, 0.0298 < floor.lower < 0.0524
        ('PROVED', True)
        >>> encoder_floor([[6, 3, 1], [6, 1, 3]], 2).lower
        0.0
    """
    enclosed = distributions if isinstance(distributions, Enclosure) else Enclosure(distributions)
    weights, shares = checked_distributions(enclosed.midpoint, prior, d_model)
    if blocks is None:
        blocks = tuple(_Search(weights, shares, d_model).blocks()) if d_model < weights.shape[1] - 1 else ()
    _require_disjoint(blocks, weights.shape)
    bounds = [_block_floor(enclosed, shares, d_model, block) for block in blocks]
    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0
    if (
        cones
        and 1 <= d_model <= weights.shape[1] - 2
        and fewest_cones(weights.shape[1], d_model) <= cones
        and not enclosed.radius.any()
        and (weights[shares > 0.0] > 0.0).all()
    ):
        cover = encoder_cover(weights, d_model=d_model, prior=shares, relative=0.01, most=cones)
        by_cover = cover_floor(weights, cover, d_model=d_model, prior=shares)
        if by_cover > lower:
            return EncoderFloor(by_cover, Verdict.PROVED, cover=cover)
    return EncoderFloor(lower, Verdict.PROVED if lower > 0.0 else Verdict.UNDECIDED, tuple(blocks))


def _block_floor(distributions: Enclosure, prior: Float64Array, d_model: int, block: Block) -> float:
    """Return the contribution of one block, rounded down; 0 if nothing is known."""
    weights = distributions[block.contexts]
    part = weights[:, block.tokens]
    if min(part.shape) <= d_model:
        return 0.0
    rows, roots, steps = len(part), Enclosure(block.weights), Enclosure(block.steps.reshape(-1, 1))
    squares = roots * roots
    mass = total(part, 1)
    conditional = part / mass.reshape(rows, 1)
    logarithms = log(part)
    means = total(logarithms * squares, 1) / total(squares, 0)
    residual = (logarithms - means.reshape(rows, 1)) * roots
    # Where a distribution may be 0 its logarithm is no information, and so is all that follows: the context is left
    # out.
    share = (Enclosure(reach_above(residual, squares)) * roots * steps / conditional).upper()
    curvature = (Enclosure(psi_above(share)) * squares / conditional).upper().max(axis=1, keepdims=True)
    gain = (steps - steps * steps * curvature).lower()[:, 0]
    share_of_prior = Enclosure(prior[block.contexts]) * mass / total(weights, 1) / total(prior, 0)
    scale = _root_below((Enclosure(np.maximum(gain, 0.0)) * share_of_prior).lower())
    kept = scale > 0.0
    if np.count_nonzero(kept) <= d_model:
        return 0.0
    tail = np.maximum(enclose_singular_values(residual[kept] * scale[kept][:, None]).lower()[d_model:], 0.0)
    return max(0.0, float(lower_sum((Enclosure(tail) * tail).lower())))


def reach_above(residual: Enclosure, squares: Enclosure) -> Float64Array:
    r"""Return upper bounds of the component of a residual along each token, for every subspace of an encoder.

    $$ (P u)_j \le \beta_j = \max\Bigl( 0, \tfrac12 u_j + \tfrac12 \sqrt{1 - \gamma_j^2 / \textstyle\sum_i \gamma_i^2}
       \, \|u\| \Bigr) $$

    for every orthogonal projection P with $P \gamma = 0$ and every $u \perp \gamma$.

    Why it is rigorous: $\|P u - u/2\| = \|u\|/2$ for any orthogonal projection; enclosures, rounded up.

    Args:
        residual: The rows u, `[T, N]`.
        squares: $\gamma_j^2$, `[N]`.

    Returns:
        The bounds, `[T, N]`; not finite where nothing is known.

    Example:
        >>> reach_above(Enclosure([[1.0, -1.0]]), Enclosure([1.0, 1.0])).round(9).tolist()
        [[1.0, 0.0]]
    """
    length = sqrt(total(residual * residual, 1)).reshape(len(residual), 1)
    sine = sqrt(Enclosure(np.maximum((1.0 - squares / total(squares, 0)).upper(), 0.0)))
    return np.maximum(((residual + length * sine) * 0.5).upper(), 0.0)


def psi_above(theta: Float64Array) -> Float64Array:
    r"""Return upper bounds of $\psi(\theta) = ((1 - \theta) \log(1 - \theta) + \theta) / \theta^2$; infinite where
    undefined.

    $$ \psi(\theta) = \sum_{m \ge 0} \frac{\theta^m}{(m+1)(m+2)} \le \sum_{m < 40} \frac{\theta^m}{(m+1)(m+2)}
       + \frac{\theta^{40}}{41} . $$

    Why it is rigorous: the terms left out add up to at most $\theta^{40} \sum_{m \ge 40} 1/((m+1)(m+2))$, and no
    number goes through more than 3 roundings for each term, all of them positive.

    Args:
        theta: Any shape.

    Returns:
        The bounds, of that shape.

    Example:
        >>> bounds = psi_above(np.array([0.0, 1.0, 2.0]))
        >>> bool(0.5 <= bounds[0] < 0.5000001), bool(1 <= bounds[1] < 1.0000001), float(bounds[2])
        (True, True, inf)
    """
    inside = (theta >= 0.0) & (theta <= 1.0)
    x = np.where(inside, theta, 0.0)
    value = np.full_like(x, 1.0 / (_TERMS + 1))
    for m in range(_TERMS - 1, -1, -1):
        value *= x
        value += 1.0 / ((m + 1) * (m + 2))
    return np.where(inside, value * _OUTWEIGHING, np.inf)


def _root_below(x: Float64Array) -> Float64Array:
    """Return floats whose squares are at most `x`, which is at least 0."""
    roots = np.maximum(down(down(np.sqrt(np.maximum(x, 0.0)))), 0.0)
    return np.where(np.isfinite(roots), roots, 0.0)


def _require_disjoint(blocks: Sequence[Block], shape: tuple[int, int]) -> None:
    taken = np.zeros(shape, dtype=bool)
    for block in blocks:
        cells = np.ix_(block.contexts, block.tokens)
        inside = all(
            len(set(part.tolist())) == len(part) and (0 <= part).all() and (part < size).all()
            for part, size in zip((block.contexts, block.tokens), shape, strict=True)
        )
        if not inside or taken[cells].any():
            raise InputError("blocks", f"overlap, or leave the {shape[0]} contexts and {shape[1]} tokens")
        taken[cells] = True
        if block.weights.shape != block.tokens.shape or not (
            0.0 < block.weights.min() and block.weights.max() < np.inf
        ):
            raise InputError("blocks: weights", "are not positive, finite and one for each token")
        if block.steps.shape != block.contexts.shape or not (0.0 <= block.steps.min() and block.steps.max() < np.inf):
            raise InputError("blocks: steps", "are negative, infinite or not one for each context")


@dataclass(frozen=True, eq=False)
class _Part:
    """Conditional distributions of some contexts on some tokens, in floating point, for the search."""

    contexts: Int64Array
    tokens: Int64Array
    distributions: Float64Array
    logarithms: Float64Array
    shares: Float64Array  # prior times the mass of the tokens

    @classmethod
    def of(cls, distributions: Float64Array, prior: Float64Array, contexts: Int64Array, tokens: Int64Array) -> "_Part":
        part = distributions[np.ix_(contexts, tokens)]
        full = (part > 0.0).all(axis=1) & (prior[contexts] > 0.0)
        contexts, part = contexts[full], part[full]
        mass = part.sum(axis=1)
        conditional = part / mass[:, None]
        shares = prior[contexts] * mass
        return cls(contexts, tokens, conditional, np.log(part), shares)

    def sampled(self, most: int) -> "_Part":
        """Return the contexts of largest share only."""
        if len(self.contexts) <= most:
            return self
        rows = np.sort(np.argsort(-self.shares)[:most])
        return _Part(
            self.contexts[rows], self.tokens, self.distributions[rows], self.logarithms[rows], self.shares[rows]
        )

    def weights(self, exponents: Sequence[float]) -> Float64Array:
        """Return roots of weights that are powers of the arithmetic and of the geometric mean of the distributions."""
        arithmetic = np.log(self.shares @ self.distributions / self.shares.sum())
        geometric = (self.shares @ self.logarithms) / self.shares.sum()
        return _normalized(0.5 * (exponents[0] * arithmetic + exponents[1] * geometric))

    def steps_and_gains(self, roots: Float64Array, shrinks: int) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return the best step width of each context, its gain, and the rows u."""
        squares = roots * roots
        residual = (self.logarithms - (self.logarithms @ squares / squares.sum())[:, None]) * roots
        length = np.sqrt((residual * residual).sum(axis=1, keepdims=True))
        reach = np.sqrt(np.maximum(1.0 - squares / squares.sum(), 0.0))
        slope = np.maximum(0.5 * (residual + length * reach), 0.0) * roots / self.distributions
        curvature = squares / self.distributions

        def gain(steps: Float64Array) -> Float64Array:
            return steps - steps * steps * (_psi(steps[:, None] * slope) * curvature).max(axis=1)

        # The gain is concave: no further than theta = 1, and than where even psi = 1/2 leaves nothing.
        low = np.zeros(len(residual))
        high = np.minimum(1.0 / np.maximum(slope.max(axis=1), 1e-300), 1.0 / (0.5 * curvature.max(axis=1))) * (1 - 1e-9)
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = gain(left), gain(right)
        for _ in range(shrinks):  # one of the two points inside stays, by the golden ratio
            better = at_left < at_right
            low, high = np.where(better, left, low), np.where(better, high, right)
            kept, at_kept = np.where(better, right, left), np.where(better, at_right, at_left)
            new = np.where(better, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
            at_new = gain(new)
            left, at_left = np.where(better, kept, new), np.where(better, at_kept, at_new)
            right, at_right = np.where(better, new, kept), np.where(better, at_new, at_kept)
        steps = 0.5 * (low + high)
        return steps, np.maximum(gain(steps), 0.0), residual

    def value(self, roots: Float64Array, d_model: int) -> float:
        """Return the bound that these weights give."""
        if not np.isfinite(roots).all() or min(self.distributions.shape) <= d_model:
            return 0.0
        _, gains, residual = self.steps_and_gains(roots, _COARSE)
        rows = residual * np.sqrt(self.shares * gains)[:, None]
        square = multiply(rows.T, rows) if len(rows) >= rows.shape[1] else multiply(rows, rows.T)
        if not np.isfinite(square).all():
            return 0.0
        return float(np.maximum(np.linalg.eigvalsh(square)[: len(square) - d_model], 0.0).sum())


class _Search:
    """Blocks, weights and steps for a large bound, in floating point."""

    def __init__(self, distributions: Float64Array, prior: Float64Array, d_model: int) -> None:
        scale = distributions.max(axis=1, keepdims=True)
        self.distributions = distributions / scale
        self.distributions /= self.distributions.sum(axis=1, keepdims=True)
        self.prior = prior / prior.max()
        self.d_model = d_model

    def blocks(self) -> Iterator[Block]:
        """Return one block of all contexts, or one per most likely token, whichever gives the larger bound."""
        everything = np.arange(len(self.distributions))
        together = list(self.of_contexts(everything))
        labels = self.distributions.argmax(axis=1)
        apart = [part for label in np.unique(labels) for part in self.of_contexts(everything[labels == label])]
        chosen = max((together, apart), key=lambda parts: sum(value for value, _, _ in parts))
        enough = _REFINED * sum(value for value, _, _ in chosen)
        for value, part, roots in chosen:
            better = self.refined(part, roots) if value >= enough else roots
            yield Block(part.contexts, part.tokens, better, part.steps_and_gains(better, _FINE)[0])

    def of_contexts(self, contexts: Int64Array) -> Iterator[tuple[float, _Part, Float64Array]]:
        """Yield blocks of tokens, most probable first, each of the size with the best bound."""
        rest = np.argsort(-(self.prior[contexts] @ self.distributions[contexts]), kind="stable")
        while min(len(contexts), len(rest) - 1) > self.d_model:
            candidates = [self.best_of(contexts, rest[:size]) for size in _sizes(len(rest), self.d_model + 2)]
            best = max(candidates, key=lambda candidate: candidate[0])
            if not best[0] > 0.0:
                return
            yield best
            rest = rest[len(best[1].tokens) :]

    def best_of(self, contexts: Int64Array, tokens: Int64Array) -> tuple[float, _Part, Float64Array]:
        part = _Part.of(self.distributions, self.prior, contexts, tokens)
        if min(part.distributions.shape) <= self.d_model:
            return 0.0, part, np.ones(len(tokens))
        candidates = [part.weights((exponent, 0.0)) for exponent in _EXPONENTS]
        values = [part.value(roots, self.d_model) for roots in candidates]
        best = int(np.argmax(values))
        return values[best], part, candidates[best]

    def refined(self, part: _Part, roots: Float64Array) -> Float64Array:
        """Improve the weights: the exponents of two mean distributions, then, for few tokens, each weight
        separately.
        """
        import scipy.optimize

        sample = part.sampled(max(_SAMPLE, 2 * self.d_model))
        best, value = roots, sample.value(roots, self.d_model)
        for start, weights_of in (
            (np.array([0.5, 0.0]), sample.weights),
            (None, lambda logarithms: _normalized(np.append(0.0, logarithms))),
        ):
            if start is None:
                if not 2 <= len(roots) <= _FEW_TOKENS:
                    break
                start = np.log(best[1:] / best[0])
            optimum = scipy.optimize.minimize(
                lambda point, of=weights_of: -sample.value(of(point), self.d_model),
                start,
                method="Nelder-Mead",
                options={"maxfev": 40 * len(start), "xatol": 1e-3, "fatol": 1e-4 * value},
            )
            if -optimum.fun > value:
                best, value = weights_of(optimum.x), -optimum.fun
        return best


def _psi(theta: Float64Array) -> Float64Array:
    """Return psi in floating point, within 2e-5; its closed form cancels at 0, where it is 1/2."""
    x = np.clip(theta, 1e-4, 1.0 - 1e-12)
    return ((1.0 - x) * np.log1p(-x) + x) / (x * x)


def _normalized(logarithms: Float64Array) -> Float64Array:
    return np.exp(np.clip(logarithms - logarithms.max(), -300.0, 0.0))


def _sizes(largest: int, least: int) -> list[int]:
    """Return numbers of tokens from `least` to `largest`, sparse where large."""
    sizes = {largest}
    while largest > least:
        largest = max(least, min(largest - 1, int(0.6 * largest)))
        sizes.add(largest)
    return sorted(sizes)
