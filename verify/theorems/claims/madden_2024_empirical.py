r"""Madden et al.: next-token distributions as a text gives them, most of whose entries are zero.

Page: docs/claims/knots.md
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from constructions.memories.knots import knots_memory
from constructions.model.blocks import FeedForward
from constructions.tasks.arrays import enumerated_task
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.memories.knots import prove_knots
from verify.verdict import proved

CLAIM = Claim(
    id="madden-2024.empirical",
    title="The distributions of a text",
    source="Madden, Fox, Thrampoulidis (2024), the empirical setting",
    kind="statement",
    printed=(
        "In the empirical setting, where a text gives the distributions, the number of parameters that interpolate the "
        "distributions of T contexts is of the order of T N too, in a vocabulary of N tokens."
    ),
    judgement="not-judged",
    truth=(
        "Not judged. An empirical distribution with an entry that vanishes is the distribution of no softmax: with the "
        "mass x on the entries that vanish the divergence is at least [[cost: -log(1 - x)]], and this is reached. "
        "Distributions that are sure of a token are labels, for which [[label: one]] number each is enough, and fewer "
        "in words of bits."
    ),
    reconstructed="the statement, from memory: the paper was at hand in its abstract only",
    page="docs/claims/knots.md",
)

_BITS = 192


def evidence(*, full: bool) -> Iterator[Evidence]:
    for share in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**12)):
        yield _cost(share)
    yield _labels(6 if not full else 12)


def _cost(share: Fraction) -> Evidence:
    """Enclose the divergence of (1/3, 2/3, 0, 0) from a softmax that keeps its proportions but gives others a share."""
    distribution = (Fraction(1, 3), Fraction(2, 3))
    with ctx.workprec(_BITS):
        kept = [(1 - share) * p for p in distribution]
        divergence, worse = (
            sum((_ball(p) * (_ball(p) / _ball(q)).log() for p, q in zip(distribution, predicted, strict=True)), arb(0))
            for predicted in (kept, [Fraction(1, 2) * (1 - share)] * 2)
        )
    return Evidence(
        "part",
        f"the distribution (1/3, 2/3, 0, 0), softmax distributions with the mass {share} on the last two tokens: in "
        "the proportion of the distribution, and in another",
        f"divergence >= {stated(CLAIM, 'cost', x=share)}",
        f"{float(divergence.mid()):.3g} and {float(worse.mid()):.3g} nats",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        compared=(
            Comparison(divergence, "agrees with", stated(CLAIM, "cost", x=share)),
            Comparison(worse, ">", stated(CLAIM, "cost", x=share)),
        ),
    )  # fmt: skip


def _ball(x: Fraction) -> arb:
    return arb(x.numerator) / x.denominator


def _labels(d_vocab: int) -> Evidence:
    task = enumerated_task(d_vocab, 2, labels=np.random.default_rng(d_vocab).integers(0, d_vocab, d_vocab**2))
    model = knots_memory(task).model
    proof = prove_knots(model, task)
    neurons = model.blocks[-1]
    assert isinstance(neurons, FeedForward)
    jumps = neurons.W_out
    return Evidence(
        "part",
        f"the {task.n_contexts} bigrams of {d_vocab} tokens with a label each: one number for each neuron that is read",
        "all labels in front",
        f"{proof.right} of {task.n_contexts} in front",
        Method("integers, and balls for the attention", Means.EXACT, Means.BALLS),
        proved(proof.right == task.n_contexts and jumps.shape[0] < task.n_contexts),
        quantifier=Quantifier.SAMPLED,
        compared=(Comparison(jumps.shape[1], "=", stated(CLAIM, "label")),),
    )
