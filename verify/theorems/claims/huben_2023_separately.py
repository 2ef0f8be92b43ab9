r"""Huben and Morris: heads that do the linear maps of an MLP, and its activations, separately.

Page: docs/claims/gated_heads.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.rational.interpolating_network import exact
from constructions.rational.neurons_as_heads import neurons_as_heads
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.claims.huben_2023_head_is_neuron import gated_units
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.verdict import decided

CLAIM = Claim(
    id="huben-2023.separately",
    title="Linear maps and activations by heads of their own",
    source="Huben, Morris (2023), abstract",
    kind="statement",
    printed="Attention heads can perform the linear maps and the activations of an MLP separately.",
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: behind a null token [[heads: d]] heads of inner dimension "
        "[[inner: one]] apply SiLU to each of d coordinates, exactly, and another [[twice: 2 d]] compute any linear "
        "map of them, as SiLU of a number less SiLU of its negative is the number."
    ),
    reconstructed="the weights: the paper was at hand in its abstract only",
    page="docs/claims/gated_heads.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for count, d_model in ((3, 1), (8, 3), *(((30, 8),) if full else ())):
        yield _activations(count, d_model)
        yield _linear(count, d_model)


def _activations(count: int, d_model: int) -> Evidence:
    x = np.random.default_rng([count, d_model]).integers(-4, 5, (count, d_model)).tolist()
    identity = np.eye(d_model, dtype=np.int64).tolist()
    model = neurons_as_heads(exact(x), exact(identity), exact(identity), exact(identity))
    outputs = exact_network_logits(model, _behind_null(count)).tolist()
    wanted = [[gated_units(row, [one], [one], [1]) for one in identity] for row in x]
    return Evidence(
        "part",
        f"{count} vectors of R^{d_model} beside a null token: heads that read and write a coordinate each, in units of "
        "ln 2",
        "SiLU of each coordinate",
        "exactly these values" if outputs == wanted else "other values",
        Method("exact rationals", Means.EXACT),
        decided(outputs == wanted and not model.attention.skip),
        quantifier=Quantifier.SAMPLED,
        compared=(
            Comparison(model.n_heads, "=", stated(CLAIM, "heads", d=d_model)),
            Comparison(max(model.attention.d_qk, model.d_head), "=", stated(CLAIM, "inner")),
        ),
    )


def _linear(count: int, d_model: int) -> Evidence:
    rng = np.random.default_rng([d_model, count])
    x, matrix = rng.integers(-4, 5, (count, d_model)), rng.integers(-3, 4, (d_model, 2))
    both = np.concatenate([np.eye(d_model, dtype=np.int64), -np.eye(d_model, dtype=np.int64)])
    written = np.concatenate([matrix, -matrix])
    model = neurons_as_heads(*(exact(floats.tolist()) for floats in (x, both, both, written)))
    outputs = exact_network_logits(model, _behind_null(count)).tolist()
    return Evidence(
        "part",
        f"{count} vectors of R^{d_model} beside a null token, a map of integers to R^2: heads for each coordinate and "
        "its negative",
        "the map",
        "exactly the map" if outputs == (x @ matrix).tolist() else "another map",
        Method("exact rationals", Means.EXACT),
        decided(outputs == (x @ matrix).tolist() and not model.attention.skip),
        quantifier=Quantifier.SAMPLED,
        compared=(Comparison(model.n_heads, "=", stated(CLAIM, "twice", d=d_model)),),
    )


def _behind_null(count: int) -> np.ndarray:
    """Return contexts of the null token followed by each vector."""
    return np.stack([np.zeros(count, dtype=np.int64), np.arange(1, count + 1)], axis=1)
