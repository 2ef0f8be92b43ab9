r"""Section 4.1 of Dana et al.: whether the value maps keep the rank of what attention gives.

Page: docs/claims/lemma_2_steps.md
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from flint import fmpq_mat

from constructions.attention.embeddings import rank_one_integer_attention
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_outputs
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import RANK
from verify.verdict import decided

CLAIM = Claim(
    id="dana.value-rank",
    title="The rank after the value maps",
    source="Dana, Pydi, Chevaleyre (2024), section 4.1",
    kind="statement",
    quotation=(
        r"the linear system $E(t_{1:S}) = W_OW_VA'(t_{1:S})$ is solvable, where the variable is W_O , if the family "
        r"$\{W_VA'(t_{1:S})\}_t$ has rank T_0 , which is equivalent to having $\{A'(t_{1:S})\}_t$ with rank T_0 since "
        r"W_V reduces the rank."
    ),
    printed=(
        "For [[room: T_0 <= H d_h + d]] contexts the family W_V A'(t) has rank T_0 if and only if the family A'(t) "
        "has, since W_V reduces the rank."
    ),
    reading=(
        "'Equivalent' for some full-rank value maps, the weaker reading, and d_h <= d, as section 2 has it: refuted "
        "for all value maps at once, with x_S for head 0, its limit, and also with what head 0 reads for a finite "
        "lambda. For d_h = d it is true."
    ),
    judgement="false",
    truth=(
        "Rank T_0 of W_V A' implies rank T_0 of A'. The converse holds if every W_V is invertible, so "
        "[[square: d_h = d]]. With [[narrow: d_h < d]] it fails for all value maps at once: on [[facts: three]] "
        "contexts with the same last token, [[plane: d = 2]] and [[heads: one]] head, A' has rank "
        "[[columns: H d_h + d]] and W_V A' rank [[lost: two]] at most."
    ),
    wrong=(
        "three contexts with one last token, d = 2, d_h = H = 1: A' has rank 3, W_V A' at most 2 for all value "
        "maps; true if every W_V is invertible, so d_h = d"
    ),
    page="docs/claims/lemma_2_steps.md",
)

_SIZES = ((2, 2, 2, 1), (3, 2, 3, 2), (2, 3, 2, 2))  # N, S, d, H


_SIZES_FULL = ((4, 2, 4, 3), (3, 3, 3, 4))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_model, n_heads in ((2, 1), (3, 1), (4, 1)):
        yield _lost(d_model=d_model, n_heads=n_heads)
    yield _lost_behind_head_0(count=7)
    for d_vocab, n_ctx, d_model, n_heads in _SIZES + (_SIZES_FULL if full else ()):
        yield _square(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads)


def _lost(*, d_model: int, n_heads: int) -> Evidence:
    """d + 1 contexts with one last token; A' = (x_S, A) has rank d + 1, and a head of width 1 gives rank 2 at most."""
    count = d_model + 1
    contexts = np.array([[n, count - 1] for n in range(count)])
    generator = np.random.default_rng(d_model)
    embeddings = generator.integers(-4, 5, (count, d_model)) + 5 * np.eye(count, d_model, dtype=np.int64)
    front_end = ExactFrontEnd(
        W_E=as_rationals(embeddings),
        W_pos=as_rationals(np.arange(2 * d_model).reshape(2, d_model) % 3),
        W_Q=(fmpq_mat(d_model, d_model),) * n_heads,
        W_K=(fmpq_mat(d_model, d_model),) * n_heads,
        W_V=(as_rationals(np.eye(d_model)),) * n_heads,
    )
    before = exact_outputs(front_end, contexts).rank()
    after = RANK.at("rank", contexts=contexts, d_model=d_model, d_head=1, n_heads=n_heads, with_skip=True)
    columns = stated(CLAIM, "columns", H=n_heads, d_h=1, d=d_model)
    smallest = (
        (
            Comparison(count, "=", stated(CLAIM, "facts")),
            Comparison(len(front_end.W_V), "=", stated(CLAIM, "heads")),
            Comparison(after, "=", stated(CLAIM, "lost")),
            *met(CLAIM, "plane", d=embeddings.shape[1]),
        )
        if d_model == 2
        else ()
    )
    return Evidence(
        "counterexample",
        f"{count} contexts of two tokens with one last token, d = {d_model}, H = {n_heads}, integer embeddings and "
        "equal "
        "attention: A' and, for d_h = 1, W_V A'",
        f"rank W_V A' = {count}, as {count} <= {columns} and rank A' = {count}",
        f"rank A' = {before}, rank W_V A' <= {after.value}",
        Method("exact ranks", Means.EXACT),
        decided(d_model >= 2),
        {"contexts": contexts.tolist(), "W_E": embeddings.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(before, "=", count),
            Comparison(count, "=", columns),
            Comparison(after, "<", count),
            *met(CLAIM, "room", "narrow", T_0=count, H=n_heads, d_h=1, d=d_model),
            *smallest,
        ),
    )


def _lost_behind_head_0(*, count: int) -> Evidence:
    """Contexts of three bits, d = count - 1: A' = (A^0, A^1), head 0 with the scores <x_S, x_s>, has rank count."""
    d_model = count - 1
    contexts = np.array([[*bits, 0] for bits in all_contexts(2, 3)][:count])
    generator = np.random.default_rng(1)
    identity, one_of = np.eye(d_model, dtype=np.int64), np.eye(d_model, d_model, 1, dtype=np.int64)
    front_end = ExactFrontEnd(
        W_E=as_rationals(generator.integers(-1, 2, (2, d_model))),
        W_pos=as_rationals(generator.integers(-1, 2, (contexts.shape[1], d_model))),
        W_Q=(as_rationals(identity), as_rationals(one_of)),
        W_K=(as_rationals(identity),) * 2,
        W_V=(as_rationals(identity),) * 2,
    )
    read = exact_outputs(front_end, contexts)
    heads = fmpq_mat(
        len(contexts), 2 * d_model, [read[t, d_model + j] for t in range(len(contexts)) for j in range(2 * d_model)]
    )
    before = heads.rank()
    wide = RANK.at("rank", contexts=contexts, d_model=d_model, d_head=d_model, n_heads=1, with_skip=False)
    columns = stated(CLAIM, "columns", H=1, d_h=1, d=d_model)
    return Evidence(
        "counterexample",
        f"{len(contexts)} of the 8 contexts of three bits before one last token, d = {d_model}, H = 1, integer "
        "weights: A' = (A^0, A^1), with W_QK = I for head 0, and, for d_h = 1, W_V A'",
        f"rank W_V A' = {len(contexts)}, as {len(contexts)} <= {columns} and rank A' = {before}",
        f"rank A' = {before}, rank A^0 <= {wide.value}, so rank W_V A' <= {wide.value} + 1",
        Method("exact ranks", Means.EXACT),
        decided(read.ncols() == 3 * d_model),
        {"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(before, "=", len(contexts)),
            Comparison(len(contexts), "=", columns),
            Comparison(wide, "<", len(contexts) - 1),
            *met(CLAIM, "room", "narrow", T_0=len(contexts), H=1, d_h=1, d=d_model),
        ),
    )


def _square(*, d_vocab: int, n_ctx: int, d_model: int, n_heads: int) -> Evidence:
    """Invertible value maps keep the rank, and no others raise it."""
    sizes = {"d_vocab": d_vocab, "n_ctx": n_ctx, "d_model": d_model, "n_heads": n_heads}
    front_end = rank_one_integer_attention(d_head=d_model, seed=3, **sizes)
    contexts = all_contexts(d_vocab, n_ctx)
    plain = exact_outputs(replace(front_end, W_V=(as_rationals(np.eye(d_model)),) * n_heads), contexts).rank()
    square = exact_outputs(front_end, contexts).rank()
    first = as_rationals(np.eye(d_model, 1, dtype=np.int64))
    narrow = exact_outputs(replace(front_end, W_V=(first,) * n_heads), contexts).rank()
    invertible = all(value.nrows() == value.ncols() and value.det() != 0 for value in front_end.W_V)
    return Evidence(
        "repair",
        f"the {len(contexts)} contexts of {n_ctx} tokens out of {d_vocab}, d = {d_model}, H = {n_heads}, "
        "integer weights: A', W_V A' with invertible W_V, and with d_h = 1",
        "the same rank with invertible value maps, and no larger one with others",
        f"rank {plain}, {square} and {narrow}",
        Method("exact ranks", Means.EXACT),
        decided(invertible),
        compared=(
            Comparison(square, "=", plain),
            Comparison(narrow, "<=", plain),
            *met(CLAIM, "square", d=d_model, d_h=front_end.W_V[0].ncols()),
        ),
    )
