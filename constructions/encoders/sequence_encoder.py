"""Find the best sequence encoder of a given rank: logits of rank d with the smallest divergence from given
distributions.

Page: docs/claims/sequence_encoder.md
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from constructions.errors import InputError, require_at_least
from constructions.numeric.arrays import BoolArray, Float64Array

Progress = Callable[[int, int, float], None]
"""Called after each start with how many are done, how many there are, and the least divergence so far in nats."""

_LEAST = 2.0**-60  # of uniform noise in the logarithm of a distribution that has zeros: costs 1e-18 nats
_EXACT = 2.0**-40  # a residual of the logits below it is no reason to search
_STARTS = 24
_WORK = 2**35  # operations that all starts together may take, at about 2^31 a second
_ITERATIONS = 1000
_SCREENING = 10  # a tenth of the iterations decides which starts are worth the others
_FINALISTS = 4  # a quarter of the starts
_LAST = 2  # times as many iterations more for the best of all
_PAIRS = 20  # of L-BFGS


@dataclass(frozen=True, eq=False)
class SequenceEncoder:
    r"""Logits $F = E W^\top$ of rank d, and how far their softmax is from the distributions. Nothing here is certified.

    Args:
        W: The unembedding vectors of the tokens, `[N, d]`; the tensor `W_U` is its transpose.
        E: The encoded contexts, `[T, d]`.
        divergence: $\sum_t \rho_t \mathrm{KL}(\pi_t \| \mathrm{softmax} F_t)$ in nats, in floating point.
        starts: How many starts were searched from; 0 where the logits are exact up to rounding.
    """

    W: Float64Array
    E: Float64Array
    divergence: float
    starts: int


class _Point(NamedTuple):
    divergence: float
    W: Float64Array
    E: Float64Array


def best_encoder(
    distributions: Float64Array,
    d_model: int,
    *,
    prior: Float64Array | None = None,
    starts: int | None = None,
    iterations: int = _ITERATIONS,
    seed: int = 0,
    progress: Progress | None = None,
) -> SequenceEncoder:
    r"""Search for the encoder of rank d with the least mean divergence from the distributions, in nats.

    $$ \inf_{E, W} \; \sum_t \rho_t \, \mathrm{KL}\bigl(\pi_t \,\|\, \mathrm{softmax}(E_t W^\top)\bigr) . $$

    For $d \ge N - 1$, and wherever the logarithms of the distributions have rank at most d up to a constant in each
    row, the infimum is 0 and the encoder exact. Otherwise L-BFGS moves E and W together: from the singular vectors of
    the centred logarithms weighted by $\sqrt{\rho_t}$, which are near the optimum for nearly uniform distributions, and
    from random W with the E nearest to the logarithms, which do better for peaked distributions. After a tenth of the
    steps the best quarter of the starts goes on, and the best of these for twice as many steps more. The problem is not
    convex: what is found is an upper bound of the infimum, and different starts may end in different minima.

    Args:
        distributions: Weights that are at least 0, `[T, N]`; the distribution of a row is the row divided by its sum.
            With zeros there may be no minimum, and the logits grow as long as the search goes on.
        d_model: The rank d, at least 0.
        prior: Weight of each context, at least 0, `[T]`; divided by their sum. Equal weights by default. Contexts of
            weight 0 are encoded as 0.
        starts: How many starts; by default 24, or fewer where these would take more than half a minute.
        iterations: Steps per start, at most.
        seed: Seed of the random starts; on one machine equal arguments give equal bits.
        progress: Called after each start.

    Returns:
        The encoder; the columns of W are orthonormal and of mean 0 where the encoder was searched for.

    Raises:
        InputError: Arrays of wrong shapes or ranges; names the argument.

    Source: Dana, Pydi, Chevaleyre (2024), Definition 1, Lemma 1, Proposition 2.

    Example:
        >>> distributions = np.array([[0.6, 0.3, 0.1], [0.6, 0.1, 0.3]])
        >>> found = best_encoder(distributions, 1)
        >>> round(found.divergence, 6), found.W.shape, found.E.shape  # 0.3 log 1.5 + 0.1 log 0.5
        (0.052325, (3, 1), (2, 1))
        >>> best_encoder(distributions, 2).starts
        0
    """
    problem = _Given.of(distributions, prior, d_model)
    exact = problem.exact()
    if exact is not None:
        return exact
    require_at_least(1, starts=starts, iterations=iterations)
    count = (
        _affordable(len(problem.distributions), problem.distributions.shape[1], d_model, iterations)
        if starts is None
        else starts
    )
    finals = math.ceil(count / _FINALISTS)
    total = count + finals + 1
    search = _Search(problem)
    show = progress or (lambda done, total, divergence: None)
    ends: list[_Point] = []
    for done, (W, E) in enumerate(problem.starts(count, seed), 1):
        ends.append(search.descend(W, E, max(1, iterations // _SCREENING)))
        show(done, total, search.best.divergence)
    for done, end in enumerate(sorted(ends, key=lambda point: point.divergence)[:finals], count + 1):
        search.descend(end.W, end.E, iterations)
        show(done, total, search.best.divergence)
    search.descend(search.best.W, search.best.E, _LAST * iterations)
    show(total, total, search.best.divergence)
    return problem.found(search.best, starts=len(ends))


@dataclass(frozen=True, eq=False)
class _Given:
    """The distributions of the contexts of positive weight, with their logarithms; the others wait for their zeros."""

    distributions: Float64Array
    logarithms: Float64Array  # centred
    prior: Float64Array
    rank: int
    present: BoolArray

    @classmethod
    def of(cls, distributions: Float64Array, prior: Float64Array | None, d_model: int) -> "_Given":
        distributions = np.asarray(distributions, dtype=np.float64)
        if distributions.ndim != 2 or 0 in distributions.shape:
            raise InputError(
                "distributions", f"has shape {distributions.shape}", "[T, N] with at least one context and one token"
            )
        if not (np.isfinite(distributions).all() and distributions.min() >= 0.0 and distributions.any(axis=1).all()):
            raise InputError(
                "distributions", "has a negative or non-finite entry, or a row of zeros", "rows of distributions"
            )
        weights = np.ones(len(distributions)) if prior is None else np.asarray(prior, dtype=np.float64)
        if weights.shape != (len(distributions),) or not (
            np.isfinite(weights).all() and weights.min() >= 0.0 < weights.max()
        ):
            raise InputError(
                "prior", f"has shape {weights.shape}", f"{len(distributions)} weights of at least 0, not all 0"
            )
        require_at_least(0, d_model=d_model)
        present = weights > 0.0
        masses = distributions[present] / distributions[present].max(axis=1, keepdims=True)  # a sum could overflow
        masses /= masses.sum(axis=1, keepdims=True)
        shares = weights[present] / weights.max()
        return cls(masses, _centred_logarithms(masses), shares / shares.sum(), d_model, present)

    def exact(self) -> SequenceEncoder | None:
        """Return the encoder whose logits are the logarithms, or None if there is none of this rank; rank 0 has a
        single one.
        """
        d_vocab = self.distributions.shape[1]
        if self.rank >= d_vocab - 1:
            W, E = np.eye(d_vocab, self.rank), np.zeros((len(self.distributions), self.rank))
            E[:, : d_vocab - 1] = self.logarithms[:, :-1] - self.logarithms[:, -1:]
        else:
            W, E = self.truncated(self.logarithms)
        if self.rank > 0 and float(np.abs(_centred(E @ W.T) - self.logarithms).max()) > _EXACT:
            return None
        return self._encoder(_Point(self.loss(E @ W.T), W, E), starts=0)

    def found(self, point: _Point, *, starts: int) -> SequenceEncoder:
        """Return the encoder with its unembedding in orthonormal columns of mean 0, which leaves the softmax as
        it is.
        """
        basis, factor = np.linalg.qr(point.W - point.W.mean(axis=0))
        return self._encoder(_Point(point.divergence, basis, point.E @ factor.T), starts=starts)

    def _encoder(self, point: _Point, *, starts: int) -> SequenceEncoder:
        E = np.zeros((len(self.present), self.rank))
        E[self.present] = point.E
        return SequenceEncoder(point.W, E, float(point.divergence), starts)

    def starts(self, count: int, seed: int) -> Iterator[tuple[Float64Array, Float64Array]]:
        """Yield the truncated logarithms; then random unembeddings."""
        yield self.truncated(self.logarithms)
        rng = np.random.default_rng(seed)
        for _ in range(1, count):
            W = rng.standard_normal((self.distributions.shape[1], self.rank))
            W -= W.mean(axis=0)
            yield W, np.linalg.lstsq(W, self.logarithms.T, rcond=None)[0].T

    def truncated(self, logits: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the factors of the best approximation of this rank, each context weighted by the root of its prior."""
        _, _, right = np.linalg.svd(np.sqrt(self.prior)[:, None] * logits, full_matrices=False)
        W = np.zeros((self.distributions.shape[1], self.rank))
        W[:, : len(right)] = right[: self.rank].T
        return W, logits @ W

    def loss(self, logits: Float64Array) -> float:
        """Return the mean divergence, from the differences of the logarithms, so that it is small where these are."""
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        gap = np.log(self.distributions, where=self.distributions > 0, out=np.zeros_like(self.distributions)) - logits
        gap += logits.max(axis=1, keepdims=True) + np.log(powers.sum(axis=1, keepdims=True))
        return max(0.0, float(self.prior @ (self.distributions * gap).sum(axis=1)))


class _Search:
    """L-BFGS from several starts in turn, and the best point of all their steps."""

    def __init__(self, given: _Given) -> None:
        self.given = given
        self.shape = (given.distributions.shape[1], given.rank)
        # E_t is moved in a unit that gives every context about the same curvature.
        self.units = 1.0 / np.sqrt(np.maximum(given.prior * len(given.prior), 1e-6))[:, None]
        self.entropy = -given.loss(np.zeros_like(given.distributions)) + np.log(given.distributions.shape[1])
        W, E = given.truncated(given.logarithms)
        self.best = _Point(given.loss(E @ W.T), W, E)

    def descend(self, W: Float64Array, E: Float64Array, iterations: int) -> _Point:
        """Return the point that a start reaches within a number of steps."""
        import scipy.optimize

        def seen(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            if intermediate_result.fun - self.entropy < self.best.divergence:
                self.best = _Point(intermediate_result.fun - self.entropy, *self.parts(intermediate_result.x.copy()))

        end = scipy.optimize.minimize(
            self.objective,
            np.concatenate([W.ravel(), (E / self.units).ravel()]),
            jac=True,
            method="L-BFGS-B",
            callback=seen,
            options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": _PAIRS, "ftol": 1e-13, "gtol": 1e-10},
        )
        return _Point(end.fun - self.entropy, *self.parts(end.x))

    def parts(self, point: Float64Array) -> tuple[Float64Array, Float64Array]:
        split = self.shape[0] * self.shape[1]
        return point[:split].reshape(self.shape), point[split:].reshape(-1, self.shape[1]) * self.units

    def objective(self, point: Float64Array) -> tuple[float, Float64Array]:
        """Return the mean cross-entropy and its gradient."""
        distributions, prior = self.given.distributions, self.given.prior
        W, E = self.parts(point)
        logits = E @ W.T
        logits -= logits.max(axis=1, keepdims=True)
        crossed = np.einsum("tn,tn->t", distributions, logits)
        powers = np.exp(logits, out=logits)
        sums = powers.sum(axis=1)
        value = float(prior @ (np.log(sums) - crossed))
        powers *= (prior / sums)[:, None]
        powers -= prior[:, None] * distributions
        gradient = [(powers.T @ E).ravel(), ((powers @ W) * self.units).ravel()]
        return value, np.concatenate(gradient)


def _centred(logits: Float64Array) -> Float64Array:
    return logits - logits.mean(axis=1, keepdims=True)


def _centred_logarithms(masses: Float64Array) -> Float64Array:
    """Return logarithms minus their means; distributions with zeros are first mixed with some of the uniform one."""
    noise = 0.0 if masses.all() else _LEAST / masses.shape[1]
    return _centred(np.log(masses + noise))


def _affordable(contexts: int, d_vocab: int, rank: int, iterations: int) -> int:
    """Return how many starts fit into the work: each has a short descent, and the finalists and the last have full
    ones.
    """
    steps = _WORK / (contexts * d_vocab * (6 * rank + 64) * iterations) - _LAST
    return int(np.clip(steps / (1 / _SCREENING + 1 / _FINALISTS), 2, _STARTS))
