r"""Proposition 1 of Mahdavi et al.: how many mixed inputs can be linearly independent, and Theorem Z1 for every width.

Page: docs/claims/saturated_heads.md
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.model.exact_network import as_rationals
from constructions.model.shapes import mahdavi_layer
from constructions.saturated_layers.saturated_heads import SaturatedHeads, combinations, saturated_heads
from constructions.saturated_layers.single_direction_heads import single_direction_heads
from constructions.saturated_layers.uniform_examples import uniform_examples
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import Enclosure, matmul
from verify.forward.heads import AttendedVectors, enclose_attention, enclose_layer, mixed_inputs_in_balls
from verify.linear_algebra.ball_rank import ball_rank
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import MIXED_RANK
from verify.theorems.evidence.unread_heads import heads_as_layer, unlabelled
from verify.theorems.saturated_layers.saturation import (
    certify_saturation,
    largest_norm,
    one_hot_bound,
    one_hot_distance,
    perturbed_separation,
    separation,
    smallest,
)
from verify.verdict import Verdict, decided, proved

CLAIM = Claim(
    id="mahdavi.proposition-1",
    title="H (min(n, d_h) - 1) + 1 independent mixed inputs",
    source="Mahdavi, Liao, Thrampoulidis (2024), Proposition 1",
    kind="statement",
    quotation="Proposition 1. Under the conditions of Theorem 1, there exists [lost] parameters such that [lost]",
    printed=(
        "Under Assumptions 1 and 2, with r := min(n, d_h), there are W_Q and W_K for which Z has rank at least min(T, "
        "[[printed: H (r - 1) + 1]])."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true, and more. For every [[widths: d_h >= 1]] there are weights of "
        "rank at least min(T, [[sharper: H (n - 1) + 1]]), on any examples with the block condition (Theorem Z1); a "
        "context that all examples share allows no more."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
)

_SATURATED = 0.99


_LOST = 0.5  # share of the separation that freezing may cost


_MARGIN = 0.49  # what the heads are built with: leaves room for the rounding of kappa


_BALLS_UP_TO = 100  # examples


_BITS = 2048


_SURE = 0.6  # share of saturated pairs below which the statistic is not what the paper describes


@dataclass(frozen=True)
class Sizes:
    """An instance: H heads of width d_h, n tokens of d dimensions, T examples."""

    n_heads: int
    n_ctx: int
    d_model: int
    d_head: int
    examples: int
    shared: bool

    def __str__(self) -> str:
        where = "a shared context" if self.shared else "contexts that differ"
        sizes = f"H = {self.n_heads}, n = {self.n_ctx}, d = {self.d_model}, d_h = {self.d_head}"
        return f"{sizes}, T = {self.examples}, {where}"


_PRINTED = (
    Sizes(1, 1, 1, 1, 1, True),
    Sizes(3, 2, 3, 2, 4, True),
    Sizes(4, 4, 6, 3, 9, False),
    Sizes(8, 8, 16, 8, 57, True),
    Sizes(16, 8, 16, 8, 113, False),
    Sizes(20, 32, 64, 32, 621, True),
)


_PRINTED_FULL = (
    Sizes(40, 32, 64, 32, 1241, True),
    Sizes(60, 32, 64, 32, 1861, True),
    Sizes(20, 32, 64, 32, 621, False),
)


_SINGLE = (
    Sizes(3, 1, 2, 1, 1, False),
    Sizes(5, 2, 3, 1, 6, True),
    Sizes(4, 4, 8, 1, 12, False),  # the last block is not full
    Sizes(4, 8, 16, 1, 29, True),
    Sizes(16, 8, 16, 1, 113, False),
    Sizes(4, 16, 24, 1, 61, True),
)


_SINGLE_FULL = (Sizes(3, 32, 64, 1, 94, True), Sizes(20, 32, 64, 1, 621, False))


_LIMIT = (Sizes(3, 2, 3, 2, 4, True), Sizes(8, 8, 16, 8, 57, True), Sizes(6, 5, 8, 4, 19, False))


_LIMIT_FULL = (Sizes(20, 32, 64, 32, 621, True), Sizes(16, 8, 16, 8, 113, False))

_Builder = Callable[..., SaturatedHeads]


_Built = tuple[VectorTask, SaturatedHeads, AttendedVectors]


def evidence(*, full: bool) -> Iterator[Evidence]:
    printed = partial(saturated_heads, targets="printed", margin=_MARGIN)
    near = partial(saturated_heads, margin=_MARGIN)
    for sizes in _PRINTED + (_PRINTED_FULL if full else ()):
        yield _rank("Proposition 1", "printed targets", sizes, _built(sizes, printed, 1))
    for sizes in _PRINTED[3:] + (_PRINTED_FULL if full else ()):
        built = _built(sizes, near, 1)
        yield _rank("Proposition 1", "near-one-hot targets", sizes, built)
        if sizes.examples > _BALLS_UP_TO and sizes.shared:
            yield _saturation(sizes, built)
    for sizes in _SINGLE + (_SINGLE_FULL if full else ()):
        built = _built(sizes, partial(single_direction_heads, margin=_MARGIN), 1)
        yield _rank("Theorem Z1", "heads of width 1", sizes, built)
    for sizes in _LIMIT + (_LIMIT_FULL if full else ()):
        yield _finite_strength(sizes, near)
    yield _no_more_on_a_shared_context(n_heads=3, n_ctx=4, d_model=5)
    yield _more_on_other_contexts()


def _built(sizes: Sizes, build: _Builder, seed: int) -> _Built:
    contexts, queries = uniform_examples(
        examples=sizes.examples, n_ctx=sizes.n_ctx, d_model=sizes.d_model, shared=sizes.shared, seed=seed
    )
    heads = build(contexts, queries, n_heads=sizes.n_heads, d_head=sizes.d_head)
    task = unlabelled(contexts, queries)
    return task, heads, enclose_layer(heads_as_layer(heads), task)


def _rank(name: str, recipe: str, sizes: Sizes, built: _Built) -> Evidence:
    task, heads, forward = built
    proof = certify_full_row_rank(forward.mixed)
    rank, method = sizes.examples * (proof.verdict is Verdict.PROVED), proof.method
    if rank < sizes.examples <= _BALLS_UP_TO:
        layer = heads_as_layer(heads)
        rank_bound = ball_rank(
            lambda: mixed_inputs_in_balls(layer, task, _BITS), target=sizes.examples, fewest_bits=_BITS, most_bits=_BITS
        )
        rank, method = rank_bound.lower, f"balls of {rank_bound.bits} bits"
    fitted = min(sizes.n_ctx, sizes.d_head) if name == "Proposition 1" else sizes.n_ctx
    most = sizes.n_heads * (fitted - 1) + 1
    promised = min(sizes.examples, most)
    formula = stated(CLAIM, "printed" if name == "Proposition 1" else "sharper", H=sizes.n_heads, r=fitted, n=fitted)
    as_said = heads.W_Q.shape == heads.W_K.shape == (sizes.n_heads, sizes.d_model, sizes.d_head)
    return Evidence(
        "ours",
        f"{name}, {recipe}: {sizes}",
        f"rank Z >= {promised}",
        f"rank Z {'= T =' if rank == sizes.examples else '>='} {rank}, largest kappa {heads.strengths.max():.3g}",
        Method(method, Means.ENCLOSURES),
        proved(as_said and rank >= promised),
        # A rank that is not proved is not refuted either.
        compared=(
            *((Comparison(rank if rank >= promised else math.nan, "=", formula),) if sizes.examples == most else ()),
            *(met(CLAIM, "widths", d_h=heads.W_Q.shape[2]) if name == "Theorem Z1" else ()),
        ),
    )


def _finite_strength(sizes: Sizes, build: _Builder) -> Evidence:
    """Equation (19) in every head: distances to one token, then the separation, against what the formula allows."""
    task, heads, forward = _built(sizes, build, 2)
    mixed = forward.mixed.reshape(sizes.examples, sizes.n_heads, sizes.d_model)
    norm = largest_norm(task.contexts)
    good = total = 0
    least = np.inf
    for head, block in enumerate(heads.blocks):
        if not block.start or not len(block):
            continue
        total += 1
        steep, base = _scores(task, heads, head, block)
        bound = one_hot_bound(steep, base)
        direct = one_hot_distance(enclose_attention(heads_as_layer(heads), task, head)[: block.start], bound.winners)
        rows = np.arange(block.start)
        tokens = task.contexts[np.zeros_like(rows) if task.shared else rows, bound.winners]
        # C is any matrix: it need not be exact for the inequality.
        earlier = mixed.midpoint[:, :head].reshape(sizes.examples, -1)
        C = combinations(earlier[: block.start], earlier[block.start : block.stop])
        fitted = mixed[block.start : block.stop, head]
        limit = fitted - matmul(C, tokens)
        ideal = float(enclose_singular_values(limit).upper().min())
        kept = perturbed_separation(limit, C, bound.distances, largest_token=norm)
        actual = separation(fitted, C, mixed[: block.start, head])
        # Both bounds hold: an enclosure above the other bound would be a mistake in one of them.
        near = bool((direct.lower() <= bound.distances).all()) and bool((bound.distances < 2.0).all())
        good += near and smallest(limit) > 0 and kept >= (1 - _LOST) * ideal and actual >= (1 - _LOST) * ideal
        least = min(least, actual / ideal if ideal > 0 else 0.0)
    return Evidence(
        "ours",
        f"Equation (19) with the explicit kappa: {sizes}",
        f"sigma_min(D - C B) >= {1 - _LOST} of its limit in every head",
        f"by the rate and Weyl's inequality in {good} of {total} heads; enclosed directly, at least {least:.6f} of it",
        Method("enclosed scores and singular values", Means.ENCLOSURES),
        proved(good == total > 0),
    )


def _scores(task: VectorTask, heads: SaturatedHeads, head: int, block: range) -> tuple[Enclosure, Enclosure]:
    """Return the scores of the freezing column and of the others, on the earlier examples, `[T_0, n]`."""
    earlier = slice(block.start)
    projected_queries = matmul(task.queries[earlier], heads.W_Q[head])
    keys = matmul(task.contexts if task.shared else task.contexts[earlier], heads.W_K[head])
    last, others = len(block), np.arange(heads.W_Q.shape[2]) != len(block)
    steep = projected_queries[:, last].reshape(-1, 1) * keys[:, :, last]
    if task.shared:
        return steep, matmul(projected_queries[:, others], keys[0][:, others].T)
    base = matmul(keys[:, :, others], projected_queries[:, others].reshape(block.start, -1, 1))
    return steep, base.reshape(block.start, -1)


def _saturation(sizes: Sizes, built: _Built) -> Evidence:
    _, heads, forward = built
    saturation = certify_saturation(forward.top, threshold=_SATURATED)
    share = float(saturation.saturated.mean())
    open_heads = int(saturation.unsaturated.any(axis=1).sum())
    before = np.array([block.start if len(block) else sizes.examples for block in heads.blocks])
    frozen = np.arange(sizes.examples)[:, None] < before
    return Evidence(
        "ours",
        f"Saturation (a largest attention weight of at least {_SATURATED}): {sizes}",
        "most heads are saturated on most examples, and all examples have a head that is not",
        f"{share:.1%} of the pairs of example and head saturated, {saturation.saturated[frozen].mean():.1%} of the "
        f"frozen ones; {open_heads} of {sizes.examples} examples have a head below it",
        Method("enclosed attention weights", Means.ENCLOSURES),
        proved(share >= _SURE and open_heads == sizes.examples),
    )


def _no_more_on_a_shared_context(*, n_heads: int, n_ctx: int, d_model: int) -> Evidence:
    """Two examples more than the bound: no weights have a larger rank, and rational attention weights have it."""
    rng = np.random.default_rng(5)
    bound = n_heads * (n_ctx - 1) + 1
    keys = rng.integers(-5, 6, (n_ctx, d_model))
    context = as_rationals(keys)
    rows = []
    for _ in range(bound + 2):
        row = []
        for _ in range(n_heads):
            powers = [1 << int(k) for k in rng.integers(0, 12, n_ctx)]  # scores in units of log 2
            row += (fmpq_mat(1, n_ctx, [fmpq(p, sum(powers)) for p in powers]) * context).entries()
        rows.append(row)
    rank = fmpq_mat(len(rows), n_heads * d_model, [entry for row in rows for entry in row]).rank()
    ceiling = MIXED_RANK.at(contexts=keys[None], n_heads=n_heads, n_examples=len(rows))
    return Evidence(
        "ours",
        f"One context of rank {context.rank()}: {len(rows)} examples with random rational attention weights, H = "
        f"{n_heads}, n = {n_ctx}, d = {d_model}",
        f"rank Z <= H (n - 1) + 1 = {bound}, and no more for other attention",
        f"rank Z = {rank} <= {ceiling.value}",
        Method("exact rationals", Means.EXACT),
        decided(context.rank() == n_ctx),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(ceiling, "=", stated(CLAIM, "sharper", H=n_heads, n=n_ctx)),
            Comparison(rank, "=", ceiling),
        ),
    )


def _more_on_other_contexts() -> Evidence:
    """n = 1, T = 2: Z holds the tokens themselves, of rank 2, where the formula gives 1."""
    contexts = np.eye(2)[:, None]
    task, zeros = unlabelled(contexts, np.ones((2, 2))), np.zeros((1, 2, 1))
    proof = certify_full_row_rank(
        enclose_layer(mahdavi_layer(zeros, zeros, zeros, np.zeros((1, 1)), np.zeros((1, 1))), task).mixed
    )
    bound = min(2, 1 * (task.n_ctx - 1) + 1)
    return Evidence(
        "ours",
        "The bound is one from below: n = 1, two examples with independent tokens, one head with weights 0",
        f"rank Z >= {bound}",
        f"rank Z = {task.n_examples}" if proof.verdict is Verdict.PROVED else "nothing",
        Method(proof.method, Means.ENCLOSURES),
        proved(proof.verdict is Verdict.PROVED and bound == 1),
        {"contexts": contexts.tolist()},
    )
