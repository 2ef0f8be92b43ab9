r"""Enclose the cost of the contexts that a transformer leaves out, and both sides of the bounds of that cost.

Page: docs/claims/theorem_1_tail.md
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, ctx, fmpq_mat
from numpy.typing import ArrayLike

from constructions.errors import InputError, require_at_least
from constructions.model.exact_network import as_rationals, exact_front_end
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.contexts import checked_contexts
from verify.arithmetic.elementary import exp, log
from verify.arithmetic.enclosure import Enclosure, enclosure, largest, matmul, maximum, sqrt
from verify.arithmetic.exact_inputs import as_float64, is_masked
from verify.arithmetic.softmax import enclose_softmax
from verify.arithmetic.sums import total
from verify.forward.heads import enclose_features, enclose_last, features_in_balls, last_in_balls
from verify.forward.in_balls import rounded_outwards
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.forward.logits import enclose_logits
from verify.linear_algebra.given_matrix import given_matrix
from verify.linear_algebra.linear_systems import enclose_solution
from verify.linear_algebra.singular_values import enclose_spectral_norm


@dataclass(frozen=True, eq=False)
class LeftOutBound:
    r"""The cost of the dropped contexts, and its bounds; all scalars are enclosures.

    Args:
        kept: Number of kept contexts, T.
        left_out: Number of the others.
        columns: Columns of the features $[x_S \mid Y]$.
        probability: $\Pr(S_2)$, of the contexts that are omitted.
        change: $|d_{KL}(\pi, \mathcal{T}) - d_{KL}(\pi, f)|$, in nats.
        total_change: $\sum_{t \in S_2} \rho_t |d_{KL}(\pi_t, \mathcal{T}_t) - d_{KL}(\pi_t, f_t)|$, in nats, at least
            the change.
        row: $\max_t \sqrt{1 + |z_t|^2}$ over the left-out contexts that were looked at.
        inverse: $\lVert (I; Z) \rVert_2$ with the rows $z_t$ of the same contexts; of all of them, and for as many
            columns as kept contexts, this is the $\lVert V_{11}^{-1} \rVert_2$ of the paper.
        norm: $\lVert E W \rVert_2$ over all contexts.
        excess: Upper bound of the $\gamma$ of the theorem, in nats: 0 for as many columns as kept contexts; infinite if
            not all $z_t$ were looked at.
        complete: Whether all $z_t$ were looked at. If not, `row` and `inverse` are bounded from below only.
    """

    kept: int
    left_out: int
    columns: int
    probability: Enclosure
    change: Enclosure
    total_change: Enclosure
    row: Enclosure
    inverse: Enclosure
    norm: Enclosure
    excess: float
    complete: bool

    @property
    def by_rows(self) -> Enclosure:
        r"""$\sqrt 2 \Pr(S_2) \max_t \sqrt{1 + |z_t|^2} \lVert E W \rVert_2$, in nats."""
        return sqrt(2.0) * self.probability * self.row * self.norm

    def printed(self, epsilon: Fraction) -> Enclosure:
        r"""Return the last line of the paper's equation (15), in nats.

        $$ \varepsilon \sqrt{1 + \lVert V_{11}^{-1} \rVert_2^2} \, \lVert E W \rVert_2 $$

        Args:
            epsilon: The paper's epsilon, more than the probability of the contexts that are omitted.

        Returns:
            A scalar.

        Raises:
            InputError: Features with another number of columns than there are kept contexts: V_11 is no square matrix;
                or contexts that were not looked at.
        """
        if self.columns != self.kept or not self.complete:
            raise InputError(
                "V_11",
                f"is square for {self.columns} kept contexts, all others looked at; {self.kept} are kept"
                + ("" if self.complete else ", and some were not looked at"),
            )
        bound_of_probability = given_matrix(np.array([[epsilon]], dtype=object)).enclosure[0, 0]
        return bound_of_probability * sqrt(1.0 + self.inverse * self.inverse) * self.norm

    def corrected_holds(self) -> bool:
        """Tell whether the cost is proved to be within the corrected bound by rows."""
        return bool(self.total_change.upper() <= self.by_rows.lower())

    def printed_fails(self, epsilon: Fraction) -> bool:
        """Tell whether the cost is proved to exceed the printed bound, which applies only if epsilon exceeds
        Pr(S_2).
        """
        printed = self.printed(epsilon)
        return bool(epsilon > float(self.probability.upper()) and self.change.lower() > printed.upper())


def left_out_bound(
    network: Model,
    contexts: Int64Array,
    *,
    kept: int,
    stream: Float64Array | fmpq_mat,
    occurrences: Int64Array,
    distributions: Float64Array | None = None,
    witnesses: int | None = None,
    precision: int | None = None,
) -> LeftOutBound:
    r"""Enclose the cost of the dropped contexts, and both sides of its bounds.

    The encoder $f$ has the logits of the network on the kept contexts, and $E_t W_U$ on the others. With
    $\mathrm{lse}(u) = \log \sum_i e^{u_i}$,

    $$ d_{KL}(\pi_t, \mathcal{T}_t) - d_{KL}(\pi_t, f_t)
       = \mathrm{lse}(\mathcal{T}_t) - \mathrm{lse}(f_t) + \langle \pi_t, f_t - \mathcal{T}_t \rangle , $$

    which is 0 for the kept ones. $z_t = G_t G_1^+$ is the solution, or the least-squares solution, of
    $G_1^\top z^\top = G_t^\top$.

    Why it is rigorous: features, logits, solutions and norms are enclosures of the exact ones for the given weights;
    of a rational network they are exact before they are rounded outwards. If G_1 has as many columns as rows, every
    network is the one that the theorem constructs, for its own logits on the kept contexts; otherwise the difference
    is in `excess`. Where fewer z are looked at, the maximum over them and the norm of the rows bound the true ones from
    below. Where the rank of G_1 is not proved, all of `row` and `inverse` is unknown; so they are if it has fewer
    columns than rows.

    Args:
        network: The transformer.
        contexts: All contexts, pairwise distinct, the kept ones first, `[M, S]`.
        kept: How many are kept, T, at least one and not all.
        stream: The encoder's E on the others, in the coordinates that W_U reads, `[M - T, d]`; rational for a rational
            network.
        occurrences: Number of times that each context occurs, `[M]`, at least 1.
        distributions: Distributions after the contexts that are omitted, `[M - T, N]`, each divided by its exact sum;
            by default those of the encoder, the softmax of its logits.
        witnesses: Look at so many of the z_t only, those that seem to be the longest; at all by default.
        precision: Bits of the balls for features, logits and z of a float64 network; by default float64. More bits help
            where G_1 is badly conditioned.

    Returns:
        The enclosures.

    Raises:
        InputError: Shapes that do not fit, occurrences or distributions that are none, or no witnesses.
        HypothesisError: A rational network with scores that are not integer multiples of ln 2.

    Source: Dana, Pydi, Chevaleyre (2024), equations (14) and (15), corrected.

    Example:
        >>> from constructions.heads_of_theorem_1.left_out import sharp_instance, violating_front_end
        >>> given = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
        >>> bound = left_out_bound(given.model, given.contexts, kept=3, stream=given.stream,
        ...                        occurrences=given.occurrences)
        >>> bound.corrected_holds(), bound.printed_fails(Fraction(1, 99))
        (True, True)
    """
    if is_masked([contexts, occurrences]):
        raise InputError("contexts or occurrences", "is a masked array; fill the masked entries first")
    contexts, occurrences = np.asarray(contexts), np.asarray(occurrences)
    _check(contexts, kept, occurrences)
    require_at_least(1, witnesses=witnesses)
    if network.is_rational:
        instance = _Rationals(network, contexts, kept, stream)
    else:
        instance = _Floats(network, contexts, stream, precision)
    left, right = instance.reached[kept:], instance.wanted
    if left.shape != right.shape:
        raise InputError("stream", f"has {len(right)} rows", f"{len(left)}, the contexts that are left out")
    with np.errstate(all="ignore"):
        distribution = (
            enclose_softmax(right, axis=1) if distributions is None else _normalized(distributions, right.shape)
        )
        differences = _lse(left) - _lse(right) + total(distribution * (right - left), 1)
        shares = Enclosure.exact(occurrences[kept:].astype(np.float64)) / float(occurrences.sum())
        if instance.columns < kept:  # no least-squares solution would notice: dependent rows have one too
            z, complete = _unknown(len(left), kept), True
        else:
            z, complete = instance.combinations(kept, witnesses)
        missed = np.zeros(left.shape)
        if instance.columns != kept:
            missed = instance.missed(kept, z).magnitude() if complete else np.full(left.shape, np.inf)
        return LeftOutBound(
            kept=kept,
            left_out=len(left),
            columns=instance.columns,
            probability=Enclosure.exact(float(occurrences[kept:].sum())) / float(occurrences.sum()),
            change=_absolute(total(shares * differences, 0)),
            total_change=total(shares * _absolute(differences), 0),
            row=largest(sqrt(1.0 + total(z * z, 1)), 0),
            inverse=_norm(_joined(Enclosure.exact(np.eye(kept)), z, axis=0)),
            norm=_norm(_joined(instance.reached[:kept], right, axis=0)),
            excess=_excess(missed, shares),
            complete=complete,
        )


class _Floats:
    """A float64 network on all contexts: features, logits, and the encoder's logits on the dropped ones."""

    def __init__(self, network: Model, contexts: Int64Array, stream: object, precision: int | None) -> None:
        if not isinstance(stream, np.ndarray) or stream.ndim != 2 or stream.shape[1] != network.d_model:
            raise InputError("stream", f"must be a float64 array with {network.d_model} columns")
        read = enclose_features(network, contexts, precision=precision)
        self.outputs = _joined(enclose_last(network, contexts, precision=precision), read, axis=1)
        self.reached = enclose_logits(network, contexts, precision=precision)
        self.wanted = matmul(stream, network.W_U)
        self.columns = self.outputs.shape[1]
        self._balls = None
        if precision is not None:
            embedded = last_in_balls(network, contexts, precision).tolist()
            features = features_in_balls(network, contexts, precision).tolist()
            self._balls = [[*a, *b] for a, b in zip(embedded, features, strict=True)]
        self._precision = precision

    def combinations(self, kept: int, witnesses: int | None) -> tuple[Enclosure, bool]:
        """Return the z of the dropped contexts, or of those with the longest ones by estimate; and whether that is
        all.
        """
        chosen = np.arange(kept, len(self.outputs))
        if witnesses is not None and witnesses < len(chosen):
            middle = self.outputs.midpoint
            z = np.linalg.lstsq(middle[:kept].T, middle[kept:].T, rcond=None)[0]  # decides where to look only
            chosen = kept + np.argsort(-np.linalg.norm(z, axis=0), kind="stable")[:witnesses]
        complete = len(chosen) == len(self.outputs) - kept
        if self._balls is not None and self._precision is not None:
            return _in_balls(self._balls[:kept], [self._balls[t] for t in chosen], self._precision), complete
        return enclose_solution(self.outputs[:kept].T, self.outputs[chosen].T).T, complete

    def missed(self, kept: int, z: Enclosure) -> Enclosure:
        """Return how far the logits of the dropped contexts are from those that follow from z."""
        return self.reached[kept:] - matmul(z, self.reached[:kept])


class _Rationals:
    """A rational network on all contexts: everything is exact until it is rounded outwards."""

    def __init__(self, network: Model, contexts: Int64Array, kept: int, stream: object) -> None:
        if not isinstance(stream, fmpq_mat) or stream.ncols() != network.d_model:
            raise InputError("stream", f"must be rational with {network.d_model} columns, as the network")
        self._outputs = exact_outputs(exact_front_end(network), contexts)
        self._reached = exact_network_logits(network, contexts)
        self.reached = _rounded_outwards(self._reached)
        self.wanted = _rounded_outwards(stream * as_rationals(network.W_U))
        self.columns = self._outputs.ncols()
        self._z = _combinations(self._outputs, kept)

    def combinations(self, kept: int, witnesses: int | None) -> tuple[Enclosure, bool]:
        """Return all z, regardless of the requested number."""
        unknown = _unknown(self._outputs.nrows() - kept, kept)
        return unknown if self._z is None else _rounded_outwards(self._z), True

    def missed(self, kept: int, z: Enclosure) -> Enclosure:
        """Return how far the logits of the dropped contexts are from those that follow from z."""
        if self._z is None:
            return self.reached[kept:] - matmul(z, self.reached[:kept])
        first, others = _split(self._reached, kept)
        return _rounded_outwards(others - self._z * first)


def _in_balls(first: list[list[arb]], others: list[list[arb]], precision: int) -> Enclosure:
    """Return the rows of G_2 G_1^+, by the normal equations; unknown if the rows of G_1 are not proved to be
    independent.
    """
    with ctx.workprec(precision):
        memorized = arb_mat(first)
        gram, right = memorized * memorized.transpose(), memorized * arb_mat(others).transpose()
        try:
            return rounded_outwards(gram.solve(right).transpose())
        except ZeroDivisionError:
            return _unknown(len(others), len(first))


def _unknown(rows: int, columns: int) -> Enclosure:
    return Enclosure(np.zeros((rows, columns)), np.inf)


def _combinations(outputs: fmpq_mat, kept: int) -> fmpq_mat | None:
    """Return the rows of G_2 G_1^+, exactly; None if the rows of G_1 are dependent."""
    first, others = _split(outputs, kept)
    gram = first * first.transpose()
    if gram.det() == 0:
        return None
    return others * first.transpose() * gram.inv()


def _split(matrix: fmpq_mat, kept: int) -> tuple[fmpq_mat, fmpq_mat]:
    rows = matrix.tolist()
    return fmpq_mat(rows[:kept]), fmpq_mat(rows[kept:])


def _rounded_outwards(matrix: fmpq_mat) -> Enclosure:
    entries = [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]
    return given_matrix(np.array(entries, dtype=object).reshape(matrix.nrows(), matrix.ncols())).enclosure


def _joined(a: Enclosure, b: Enclosure, *, axis: int) -> Enclosure:
    radii = [np.broadcast_to(part.radius, part.shape) for part in (a, b)]
    return Enclosure(np.concatenate([a.midpoint, b.midpoint], axis=axis), np.concatenate(radii, axis=axis))


def _excess(missed: Float64Array, shares: Enclosure) -> float:
    """Return an upper bound of sqrt(2) times the mean length of rows at most as long as those of `missed`."""
    if not missed.any():
        return 0.0
    squares = total(Enclosure.exact(missed) * missed, 1).upper()
    return float((sqrt(2.0) * total(shares * sqrt(squares), 0)).upper())


def _lse(x: Enclosure) -> Enclosure:
    """Enclose log sum exp of each row: that of the midpoints, computed stably, moves by at most the largest radius."""
    top = x.midpoint.max(axis=1)
    middle = log(total(exp(Enclosure.exact(x.midpoint) - top[:, None]), 1)) + top
    return middle + Enclosure(np.zeros(len(top)), np.broadcast_to(x.radius, x.shape).max(axis=1))


def _normalized(distributions: ArrayLike, shape: tuple[int, ...]) -> Enclosure:
    weights = as_float64(distributions, "distributions")
    if weights.shape != shape:
        raise InputError("distributions", f"has shape {weights.shape}", shape)
    if not (np.isfinite(weights).all() and weights.min() >= 0.0 and weights.any(axis=1).all()):
        raise InputError(
            "distributions", "has a row that is not a distribution", "finite weights >= 0, not all of them 0"
        )
    return Enclosure.exact(weights) / total(weights, 1).reshape(len(weights), 1)


def _absolute(x: Enclosure) -> Enclosure:
    """Enclose |x|, using |x| >= 0."""
    return maximum(abs(enclosure(x)), 0.0)


def _norm(matrix: Enclosure) -> Enclosure:
    """Return the spectral norm; unknown where an entry is."""
    return enclose_spectral_norm(matrix) if np.isfinite(matrix.radius).all() else Enclosure(0.0, np.inf)


def _check(contexts: Int64Array, kept: int, occurrences: Int64Array) -> None:
    if contexts.ndim != 2 or not 1 <= kept < len(contexts):
        raise InputError("kept", f"= {kept}", f"1 .. {len(contexts) - 1}: some of {len(contexts)} contexts, not all")
    checked_contexts(contexts, distinct=True)
    if occurrences.shape != (len(contexts),) or occurrences.dtype.kind not in "iu":
        raise InputError("occurrences", f"is {occurrences.dtype} of shape {occurrences.shape}", "integers, one each")
    if occurrences.min() < 1 or int(occurrences.max()) * len(occurrences) > 2**53:
        raise InputError("occurrences", f"are {occurrences.min()} .. {occurrences.max()}", "1 or more, 2^53 in all")
