r"""Bound the cost of the contexts that a rational transformer does not memorize, by the range of the logits.

Page: docs/claims/logit_range.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat

from constructions.errors import HypothesisError, InputError
from constructions.model.exact_network import as_rationals, exact_front_end
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.exact_inputs import is_masked
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.theorems.encoders.logit_range import BITS, mean_divergence
from verify.verdict import Verdict

Distribution = Sequence[Fraction]


@dataclass(frozen=True, eq=False)
class RangeBound:
    r"""Both sides of $d_{KL}(\pi, \mathcal{T}) - d_{KL}(\pi, f) \le \Pr(S_2) \, C_1 R$, for a transformer and an encoder.

    Args:
        transformer: Ball around $d_{KL}(\pi, \mathcal{T})$, in nats.
        encoder: Ball around $d_{KL}(\pi, f)$, in nats.
        probability: $\Pr(S_2)$ of the contexts that are omitted.
        factor: $C_1 = \max_{t \in S_2} (1 + \lVert z_t \rVert_1)$.
        largest_range: R, the largest range of the logits of f over all contexts.
        linear: Whether the logits are $z_t F_1$ on all contexts that are omitted, exactly.
    """  # noqa: E501

    transformer: arb
    encoder: arb
    probability: fmpq
    factor: fmpq
    largest_range: fmpq
    linear: bool

    @property
    def bound(self) -> fmpq:
        """The right-hand side, a rational number of nats."""
        return self.probability * self.factor * self.largest_range

    @property
    def verdict(self) -> Verdict:
        """PROVED if the left-hand side is proved to be within the bound, REFUTED if it is proved not to be."""
        with ctx.workprec(BITS):
            change = self.transformer - self.encoder
            # Logits of range 0 stay so under z: all distributions are uniform, and the change is 0.
            if self.linear and (change <= self.bound or self.largest_range == 0):
                return Verdict.PROVED
            return Verdict.REFUTED if change > self.bound else Verdict.UNDECIDED


def range_bound(
    network: Model,
    contexts: Int64Array,
    *,
    kept: int,
    stream: fmpq_mat,
    occurrences: Int64Array,
    distributions: Sequence[Distribution] | None = None,
) -> RangeBound:
    r"""Enclose both sides for a transformer and the encoder f that has its logits on the contexts it holds.

    On the others, f has the logits $E_t W_U$. With $G = [x_S \mid Y]$ and $z_t = G_t G_1^+$, the logits of the
    transformer are $z_t F_1$ there, and the range of $z_t F_1 - F_t$ is at most $(1 + \lVert z_t \rVert_1) R$.

    Why it is rigorous: features, logits, z, ranges and probabilities are exact rationals; divergences are balls.

    Args:
        network: The transformer, rational.
        contexts: All contexts, the kept ones first, `[M, S]`.
        kept: Number of contexts that are kept, T.
        stream: $E_t$ of the encoder on the others, in the coordinates that W_U reads, `[M - T, d]`.
        occurrences: Number of times that each context occurs, `[M]`, at least 1.
        distributions: The distributions of the next token after all contexts, `[M, N]`; those of the encoder by
            default.

    Returns:
        Both sides.

    Raises:
        InputError: Arguments that do not fit together.
        HypothesisError: The features of the kept contexts are dependent.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Theorem 3.
    """
    total = len(contexts)
    if is_masked([contexts, occurrences]):
        raise InputError("contexts or occurrences", "is a masked array; fill the masked entries first")
    if not 1 <= kept < total or stream.nrows() != total - kept or len(occurrences) != total:
        raise InputError(
            "kept",
            f"= {kept}, {stream.nrows()} rows of stream and {len(occurrences)} occurrences for {total} contexts",
            "1 <= kept < contexts, a row for each context left out and a number for each context",
        )
    if np.asarray(occurrences).dtype.kind not in "iu" or min(occurrences) < 1:
        raise InputError("occurrences", f"are {np.asarray(occurrences).tolist()[:8]}", "integers, at least 1 each")
    outputs = exact_outputs(exact_front_end(network), contexts).tolist()
    reached = exact_network_logits(network, contexts).tolist()
    first, others = fmpq_mat(outputs[:kept]), fmpq_mat(outputs[kept:])
    gram = first * first.transpose()
    if gram.det() == 0:
        raise HypothesisError("Theorem LR1", "independent features of the kept contexts", "they are dependent")
    z = others * first.transpose() * gram.inv()
    wanted = reached[:kept] + (stream * as_rationals(network.W_U)).tolist()
    weights = [int(count) for count in occurrences]
    with ctx.workprec(BITS):
        transformer, encoder = (_divergence(rows, wanted, distributions, weights) for rows in (reached, wanted))
    return RangeBound(
        transformer=transformer,
        encoder=encoder,
        probability=fmpq(sum(weights[kept:]), sum(weights)),
        factor=1 + max(sum((abs(entry) for entry in row), fmpq(0)) for row in z.tolist()),
        largest_range=max(max(row) - min(row) for row in wanted),
        linear=z * fmpq_mat(reached[:kept]) == fmpq_mat(reached[kept:]),
    )


def _divergence(
    rows: list[list[fmpq]], wanted: list[list[fmpq]], distributions: Sequence[Distribution] | None, weights: list[int]
) -> arb:
    if distributions is not None:
        return mean_divergence(rows, distributions, weights)
    # The distributions of the encoder are no rational numbers: lse(u) - lse(f) + <p, f - u>.
    mean = arb(0)
    for row, own, weight in zip(rows, wanted, weights, strict=True):
        top = max(own)
        powers = [arb(entry - top).exp() for entry in own]
        whole = sum(powers, arb(0))
        own_top = max(row)
        reach = sum((arb(entry - own_top).exp() for entry in row), arb(0)).log() + own_top
        tilt = sum((power * (f - u) for power, f, u in zip(powers, own, row, strict=True)), arb(0)) / whole
        mean += weight * (reach - whole.log() - top + tilt)
    return mean / sum(weights)
