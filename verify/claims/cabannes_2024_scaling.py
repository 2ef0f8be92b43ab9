"""What is known of the error under Zipf laws: tails in balls, and the exact masses that sums of outer products miss.

Page: docs/claims/outer_product_memory.md
"""

from collections.abc import Iterator
from fractions import Fraction
from math import lcm

import numpy as np
from flint import arb, ctx

from constructions.claims.cabannes_2024_scaling import CLAIM, truncated_memory
from constructions.memories.outer_product_memory import Associations
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.quantifier import Quantifier
from verify.memories.outer_product_capacity import exact_product, is_sum_of_outer_products
from verify.verdict import decided

_INPUTS = 256
_BITS = 192


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify tails and errors.

    Args:
        full: More draws.

    Yields:
        Evidence.
    """
    for power in (Fraction(3, 2), Fraction(2), Fraction(3)):
        yield _tail(power)
    draws = 8 if full else 2
    yield _falls(few=True, outputs=4, draws=draws)
    yield _falls(few=False, outputs=_INPUTS, draws=draws)


def _tail(power: Fraction) -> Evidence:
    """The sum of x^-a over x > P, as a value of Hurwitz' zeta function, beside the integrals from P and from P + 1."""
    compared, places = [], (1, 4, 64, 1024)
    with ctx.workprec(_BITS):
        for stored in places:
            tail = (arb(power.numerator) / power.denominator).zeta(arb(stored + 1))
            compared += [
                Comparison(tail, "<", stated(CLAIM, "tail", P=stored, a=power)),
                Comparison(tail, ">", stated(CLAIM, "tail", P=stored + 1, a=power)),
            ]
    return Evidence(
        "known",
        f"a = {power}, P = {', '.join(map(str, places))}: the sum of x^-a over x > P",
        "below P^(1 - a) / (a - 1), and above the same for P + 1",
        "enclosed between the two",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        compared=tuple(compared),
    )


def missed_mass(made: Associations) -> Fraction:
    """The share of the inputs, of weight 1 / x^2, whose label has not the largest logit alone.

    Args:
        made: The associations, in the order of their frequency.
    """
    logits = exact_product(made.inputs, exact_product(made.memory.T, made.outputs.T))
    at = np.arange(len(logits)), made.labels
    right = logits[at].copy()
    logits[at] = logits.min() - 1
    missed = (right <= logits.max(axis=1)).tolist()
    common = lcm(*range(1, len(missed) + 1)) ** 2
    weights = [common // (x + 1) ** 2 for x in range(len(missed))]
    return Fraction(sum(w for w, miss in zip(weights, missed, strict=True) if miss), sum(weights))


def least_error(width: int, *, outputs: int, seed: int) -> Fraction:
    """The least mass that is missed, over P = 4, 8, .., of the sum of the first P outer products.

    Args:
        width: d.
        outputs: M.
        seed: Of the draw.
    """
    found = []
    for stored in (4, 8, 16, 32, 64, 128):
        made = truncated_memory(width=width, count=_INPUTS, outputs=outputs, stored=stored, seed=seed)
        fits = made.inputs.shape == (_INPUTS, width) and made.outputs.shape == (outputs, width)
        kept = made.outputs, made.inputs[:stored], made.labels[:stored], made.memory
        labelled = np.array_equal(made.labels, np.arange(_INPUTS) % outputs)
        if not (fits and labelled and is_sum_of_outer_products(*kept)):
            raise ArithmeticError("the memory is no sum of the first outer products")
        found.append(missed_mass(made))
    return min(found)


def _falls(*, few: bool, outputs: int, draws: int) -> Evidence:
    errors = {
        width: sum(least_error(width, outputs=outputs, seed=seed) for seed in range(draws)) / draws
        for width in (16, 64)
    }
    factor, printed = errors[16] / errors[64], stated(CLAIM, "factor", a=2)
    return Evidence(
        "known",
        f"a = 2, {_INPUTS} inputs, {outputs} output tokens, random signs, the best of six P, {draws} draws: by which "
        "factor the mean mass that is missed falls from d = 16 to d = 64",
        f"{'less' if few else 'more'} than {printed}",
        f"{float(factor):.2f}: {', '.join(f'd = {width}: {float(error):.4f}' for width, error in errors.items())}",
        Method("exact integer products, masses in rationals", Means.EXACT),
        decided(draws > 0),
        {"seeds": draws},
        quantifier=Quantifier.SAMPLED,
        compared=(Comparison(factor, "<" if few else ">", printed), Comparison(factor, ">", 1)),
    )
