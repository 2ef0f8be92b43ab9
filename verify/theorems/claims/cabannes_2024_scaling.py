r"""Cabannes et al.: how the error of an associative memory falls with its width, for inputs with a Zipf law.

Page: docs/claims/outer_product_memory.md
"""

from collections.abc import Iterator
from fractions import Fraction
from math import lcm

import numpy as np
from flint import arb, ctx

from constructions.encoders.outer_product_memory import Associations, outer_products
from constructions.errors import InputError
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.memories.outer_product_capacity import exact_product, is_sum_of_outer_products
from verify.verdict import decided


def truncated_memory(*, d_model: int, count: int, outputs: int, stored: int, seed: int = 0) -> Associations:
    r"""Return the sum of the outer products of the most frequent inputs, with the labels $x \bmod M$ of all.

    Args:
        d_model: d.
        count: N, inputs in the order of their frequency.
        outputs: M, output tokens.
        stored: P, how many are added up.
        seed: Seed of the signs.

    Returns:
        All N associations, and the matrix of the first P.

    Raises:
        InputError: Sizes out of range.

    Source: Cabannes, Dohmatob, Bietti (2024), recalled.

    Example:
        >>> truncated_memory(d_model=4, count=8, outputs=2, stored=3).memory.shape
        (4, 4)
    """
    if min(d_model, count, outputs) < 1 or not 1 <= stored <= count:
        raise InputError(f"sizes {d_model}, {count}, {outputs}, stored", f"= {stored}", "1 <= P <= N")
    rng = np.random.default_rng([seed, d_model, count, outputs])
    e, u = (2 * rng.integers(0, 2, (rows, d_model)) - 1 for rows in (count, outputs))
    labels = np.arange(count) % outputs
    memory = outer_products(u, e[:stored], labels[:stored]).memory
    return Associations(u, e, labels, memory)


CLAIM = Claim(
    id="cabannes-2024.scaling",
    title="The error of an associative memory under a Zipf law",
    source="Cabannes, Dohmatob, Bietti (2024), scaling laws",
    kind="statement",
    printed=(
        "For inputs of probability proportional to x^-a, [[power: a > 1]], a matrix that stores the P most frequent "
        "has an error of the order of [[printed: P^(1 - a)]]; with random embeddings in R^d it falls like "
        "[[fall: d^(1 - a)]]."
    ),
    judgement="not-judged",
    truth=(
        "The first is the mass of the tail, below [[tail: P^(1 - a) / (a - 1)]] over the sum of all. The second is "
        "not proved here. Of sums of outer products for [[square: a = 2]] and the best P, counted exactly: from "
        "[[from: d = 16]] to [[to: d = 64]] the error falls by less than the printed factor [[factor: 4^(a - 1)]] for "
        "[[outputs: 4]] output tokens, and by more than "
        "it where each input has its own."
    ),
    reconstructed="the statement, from memory: the paper was at hand in its abstract only",
    page="docs/claims/outer_product_memory.md",
)

_INPUTS = 256


_BITS = 192


def evidence(*, full: bool) -> Iterator[Evidence]:
    for power in (Fraction(3, 2), Fraction(2), Fraction(3)):
        yield _tail(power)
    draws = 8 if full else 2
    yield _falls(few=True, outputs=4, draws=draws)
    yield _falls(few=False, outputs=_INPUTS, draws=draws)


def _tail(power: Fraction) -> Evidence:
    """Enclose the sum of x^-a over x > P by Hurwitz' zeta function, and by the integrals from P and from P + 1."""
    compared, places = [], (1, 4, 64, 1024)
    with ctx.workprec(_BITS):
        for stored in places:
            tail = (arb(power.numerator) / power.denominator).zeta(arb(stored + 1))
            scaled = (power.numerator - power.denominator) * tail / power.denominator  # a - 1 times it
            compared += [
                Comparison(tail, "<", stated(CLAIM, "tail", P=stored, a=power)),
                Comparison(tail, ">", stated(CLAIM, "tail", P=stored + 1, a=power)),
                Comparison(scaled, "<", stated(CLAIM, "printed", P=stored, a=power)),
                Comparison(scaled, ">", stated(CLAIM, "printed", P=stored + 1, a=power)),
                *met(CLAIM, "power", a=power),
            ]
    return Evidence(
        "part",
        f"a = {power}, P = {', '.join(map(str, places))}: the sum of x^-a over x > P",
        "below P^(1 - a) / (a - 1), and above the same for P + 1",
        "enclosed between the two",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        compared=tuple(compared),
    )


def missed_mass(made: Associations) -> Fraction:
    """Return the share of the inputs, of weight 1 / x^2, whose label does not have the unique largest logit."""
    logits = exact_product(made.inputs, exact_product(made.memory.T, made.outputs.T))
    at = np.arange(len(logits)), made.labels
    right = logits[at].copy()
    logits[at] = logits.min() - 1
    missed = (right <= logits.max(axis=1)).tolist()
    common = lcm(*range(1, len(missed) + 1)) ** 2
    weights = [common // (x + 1) ** 2 for x in range(len(missed))]
    return Fraction(sum(w for w, miss in zip(weights, missed, strict=True) if miss), sum(weights))


def least_error(d_model: int, *, outputs: int, seed: int) -> Fraction:
    """Return the least missed mass over P = 4, 8, ... of the sum of the first P outer products."""
    errors = []
    for stored in (4, 8, 16, 32, 64, 128):
        associations = truncated_memory(d_model=d_model, count=_INPUTS, outputs=outputs, stored=stored, seed=seed)
        fits = associations.inputs.shape == (_INPUTS, d_model) and associations.outputs.shape == (outputs, d_model)
        kept = associations.outputs, associations.inputs[:stored], associations.labels[:stored], associations.memory
        labelled = np.array_equal(associations.labels, np.arange(_INPUTS) % outputs)
        if not (fits and labelled and is_sum_of_outer_products(*kept)):
            raise ArithmeticError("the memory is no sum of the first outer products")
        errors.append(missed_mass(associations))
    return min(errors)


def _falls(*, few: bool, outputs: int, draws: int) -> Evidence:
    errors = {
        d_model: sum(least_error(d_model, outputs=outputs, seed=seed) for seed in range(draws)) / draws
        for d_model in (16, 64)
    }
    wider = Fraction(max(errors), min(errors))
    factor, printed = errors[16] / errors[64], stated(CLAIM, "factor", a=2)
    return Evidence(
        "part",
        f"a = 2, {_INPUTS} inputs, {outputs} output tokens, random signs, the best of six P, {draws} draws: by which "
        "factor the mean mass that is missed falls from d = 16 to d = 64",
        f"{'less' if few else 'more'} than {printed}",
        f"{float(factor):.2f}: {', '.join(f'd = {d_model}: {float(error):.4f}' for d_model, error in errors.items())}",
        Method("exact integer products, masses in rationals", Means.EXACT),
        decided(draws > 0),
        {"seeds": draws},
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(factor, "<" if few else ">", printed),
            Comparison(factor, ">", 1),
            Comparison(wider, "=", printed),
            *(Comparison(Fraction(1, d_model), "=", stated(CLAIM, "fall", d=d_model, a=2)) for d_model in errors),
            *met(CLAIM, "square", a=2),
            *met(CLAIM, "from", d=min(errors)),
            *met(CLAIM, "to", d=max(errors)),
            *((Comparison(outputs, "=", stated(CLAIM, "outputs")),) if few else ()),
        ),
    )
