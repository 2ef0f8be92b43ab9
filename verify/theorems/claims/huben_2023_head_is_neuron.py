r"""Huben and Morris: a neuron of an MLP is an attention head of inner dimension one that sees a null token and itself.

Page: docs/claims/gated_heads.md
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from flint import arb, ctx, fmpq

from constructions.counted import counted
from constructions.model.model import Model
from constructions.rational.interpolating_network import exact
from constructions.rational.neurons_as_heads import masked_neuron, neurons_as_heads, silu_neurons
from verify.forward.in_balls import logits_in_balls
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.verdict import decided, proved

CLAIM = Claim(
    id="huben-2023.head-is-neuron",
    title="A neuron is a head of inner dimension one",
    source="Huben, Morris (2023), abstract",
    kind="statement",
    printed=(
        "A neuron of an MLP can be written as a masked attention head with inner dimension [[inner: 1]], for "
        "activations of a class that holds SiLU and close approximations of ReLU and GELU. Masks can be written into "
        "the weights with arbitrarily small error."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: with a null token whose embedding vanishes, a head is the "
        "gated unit sigma(<x, w>) <x, v> o exactly, SiLU where v is w. A mask takes [[mask: one]] dimension of "
        "queries and keys more, whatever the length: of S tokens the others weigh [[leak: (S - 1) 2^(-M)]] at most "
        "together. At integers g SiLU is near ReLU: g sigma(b g) is off by [[near: exp(-b)]] at most for "
        "[[sharp: b >= 1]]."
    ),
    reconstructed="the weights: the paper was at hand in its abstract only",
    page="docs/claims/gated_heads.md",
)

_BITS = 320


_NEAR = 2.0**-200


def evidence(*, full: bool) -> Iterator[Evidence]:
    for same in (True, False):
        for count, d_model, units in ((1, 1, 1), (12, 3, 6), *(((60, 8, 32),) if full else ())):
            yield _exact_unit(count, d_model, units, same=same)
    for count, d_model, units in ((5, 2, 3), (20, 6, 12), *(((50, 16, 64),) if full else ())):
        yield _silu(count, d_model, units)
    for n_ctx in (1, 2, 5, *((40,) if full else ())):
        yield _mask(n_ctx, (4, 12, 40))
    for sharpness in (1, 4, 12):
        yield _rectified(sharpness)


def _exact_unit(count: int, d_model: int, units: int, *, same: bool) -> Evidence:
    rng = np.random.default_rng([count, d_model, units])
    x, w, v = (rng.integers(-3, 4, (rows, d_model)).tolist() for rows in (count, units, units))
    v = w if same else v
    outputs = rng.integers(-5, 6, (units, 2)).tolist()
    model = neurons_as_heads(exact(x), exact(w), exact(v), exact(outputs))
    computed = exact_network_logits(model, np.stack([np.zeros(count, dtype=np.int64), np.arange(1, count + 1)], axis=1))
    wanted = [[gated_units(row, w, v, [o[j] for o in outputs]) for j in range(2)] for row in x]
    head = model.attention
    inner = {head.d_qk, head.d_head}
    return Evidence(
        "part" if same else "sharper",
        f"{counted(units, 'head')} on {counted(count, 'vector')} of R^{d_model} beside a null token, "
        f"integer weights in units of ln 2: "
        f"{'SiLU neurons' if same else 'gated units'}",
        "sums of sigma(<x, w>) <x, v> o, heads of inner dimension 1",
        f"{'exactly these' if computed.tolist() == wanted else 'other'} values, inner dimension {max(inner)}",
        Method("exact rationals", Means.EXACT),
        decided(computed.tolist() == wanted and head.n_heads == units and not head.skip),
        quantifier=Quantifier.SAMPLED,
        compared=tuple(Comparison(size, "=", stated(CLAIM, "inner")) for size in sorted(inner)),
    )


def gated_units(x: list[int], gates: list[list[int]], values: list[list[int]], outputs: list[int]) -> fmpq:
    """Return the gated units in integers, without any attention: sigma(k ln 2) = 2^k / (1 + 2^k)."""
    total = fmpq(0)
    for w, v, o in zip(gates, values, outputs, strict=True):
        k = sum(a * b for a, b in zip(x, w, strict=True))
        share = fmpq(2**k, 1 + 2**k) if k >= 0 else fmpq(1, 1 + 2**-k)
        total += share * sum(a * b for a, b in zip(x, v, strict=True)) * o
    return total


def _largest_difference(one: Model, other: Model, count: int) -> arb:
    """Between heads on [null, t] and neurons on t, for float64 weights in real arithmetic."""
    tokens = np.arange(1, count + 1)
    heads = logits_in_balls(one, np.stack([0 * tokens, tokens], axis=1), _BITS)
    neurons = logits_in_balls(other, tokens[:, None] - 1, _BITS)
    with ctx.workprec(_BITS):
        differences = [abs(a - b) for a, b in zip(heads.entries(), neurons.entries(), strict=True)]
        return max(differences, key=lambda difference: float(difference.upper()))


def _silu(count: int, d_model: int, units: int) -> Evidence:
    rng = np.random.default_rng([d_model, units])
    x, w, outputs = (rng.standard_normal(shape) for shape in ((count, d_model), (units, d_model), (units, 4)))
    heads, neurons = neurons_as_heads(x, w, w, outputs), silu_neurons(x, w, outputs)
    largest = float(_largest_difference(heads, neurons, count).upper())
    return Evidence(
        "part",
        f"{units} SiLU neurons and {units} heads with the same float64 weights, {count} vectors of R^{d_model}: "
        "outputs",
        f"equal to {_NEAR:.0e}",
        f"they differ by {largest:.0e} at most",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        proved(largest <= _NEAR),
        quantifier=Quantifier.SAMPLED,
    )


def _mask(n_ctx: int, masks: tuple[int, ...]) -> Evidence:
    rng = np.random.default_rng(n_ctx)
    x, gate = rng.integers(-3, 4, (6, 2)).tolist(), [2, -1]
    contexts = rng.integers(1, 7, (30, n_ctx))
    before = np.zeros((30, 1), dtype=np.int64)
    largest = max(abs(sum(a * b for a, b in zip(row, gate, strict=True))) for row in x)
    compared, errors, dimensions, fits = [], [], set(), []
    for mask in masks:
        model = masked_neuron(x, gate, n_ctx=n_ctx, mask=mask)
        outputs = exact_network_logits(model, np.hstack([before, contexts])).entries()
        wanted = [gated_units(x[t - 1], [gate], [gate], [1]) for t in contexts[:, -1].tolist()]
        error = max(abs(a - b) for a, b in zip(outputs, wanted, strict=True))
        weight = max(exact_network_logits(_weighing(model, mask), np.hstack([before, contexts])).entries())
        compared.append(Comparison(weight, "<=", stated(CLAIM, "leak", S=n_ctx, M=mask)))
        if n_ctx > 1:
            compared.append(Comparison(weight, ">", stated(CLAIM, "leak", S=n_ctx, M=mask + 1)))
        # The output is a mean: what the others weigh moves it by twice the largest value at most.
        compared.append(Comparison(error, "<=", 2 * largest * weight))
        errors.append(error)
        dimensions.add(model.d_qk)
        compared.append(Comparison(model.d_qk - model.d_head, "=", stated(CLAIM, "mask")))
        fits.append(model.d_head == 1 and model.n_heads == 1 and model.n_ctx == n_ctx + 1)
    return Evidence(
        "part",
        f"a SiLU neuron on the last of {n_ctx} tokens behind a null token, as one head with the masks "
        f"{', '.join(f'{mask} ln 2' for mask in masks)}, {max(dimensions)} dimensions of queries, on 30 contexts",
        f"errors of twice the largest value, {largest}, times (S - 1) 2^(-M) at most, and smaller for each mask",
        f"errors {', '.join(f'{float(error.p) / float(error.q):.1e}' for error in errors)}",
        Method("exact rationals", Means.EXACT),
        decided(
            dimensions == {2}
            and all(fits)
            and (all(a > b for a, b in pairwise(errors)) or not any(errors))
            and (n_ctx == 1 or errors[0] > 0)
        ),
        quantifier=Quantifier.SAMPLED,
        compared=tuple(compared),
    )


def _weighing(model: Model, mask: int) -> Model:
    """Return the head with value 1 at the masked tokens and 0 elsewhere: its output is their total weight."""
    head = model.attention
    values = exact([[0]] * (head.d_model - 2) + [[fmpq(-1, mask)], [0]])
    return replace(model, blocks=(replace(head, W_V=values[None]),))


def _rectified(sharpness: int) -> Evidence:
    """|g sigma(b g) - max(g, 0)| = |g| / (1 + exp(b |g|)) at the integers from 1 to 64, of both signs."""
    with ctx.workprec(_BITS):
        errors = []
        for g in (*range(-64, 0), *range(1, 65)):
            gated = arb(g) / (1 + (arb(-sharpness * g)).exp())
            errors.append(abs(gated - max(g, 0)))
        largest = max(errors, key=lambda error: float(error.upper()))
    return Evidence(
        "part",
        f"the gated unit g sigma(b g), b = {sharpness}, at the integers up to 64: distance from max(g, 0)",
        f"at most {stated(CLAIM, 'near', b=sharpness)}",
        f"at most {float(largest.upper()):.1e}",
        Method(f"balls of {_BITS} bits", Means.BALLS),
        quantifier=Quantifier.EVERY,
        compared=(
            Comparison(largest, "<=", stated(CLAIM, "near", b=sharpness)),
            Comparison(largest, ">", stated(CLAIM, "near", b=sharpness + 1)),
            *met(CLAIM, "sharp", b=sharpness),
        ),
    )
