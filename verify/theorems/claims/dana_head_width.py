r"""Section 2 of Dana et al.: heads wider than the stream compute nothing more, and store more numbers.

Page: docs/claims/parameters.md
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from flint import fmpq_mat

from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network
from constructions.model.model import Model
from constructions.tasks.arrays import all_contexts
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.verdict import decided

CLAIM = Claim(
    id="dana.head-width",
    title="Heads wider than the stream",
    source="Dana, Pydi, Chevaleyre (2024), section 2",
    kind="remark",
    quotation=(
        r"Since matrices W_O , W_V and W_Q , W_V are multiplied together, taking $d_h \leq d$ will decrease their "
        r"rank to d_h , but taking $d_h > d$ will simply have them full rank, which is suboptimal compared to taking "
        r"$d = d_h$."
    ),
    printed=(
        "Since W_O, W_V and W_Q, W_V (read: W_Q, W_K) are multiplied together, [[narrow: d_h <= d]] lowers their "
        "rank to d_h; [[wide: d_h > d]] leaves them of full rank, and is suboptimal compared to [[square: d = d_h]]."
    ),
    reading="The second pair is W_Q, W_K, a misprint: these are what section 2 combines to W_QK.",
    judgement="holds",
    truth=(
        "The products have rank [[rank: min(d, d_h)]] at most, and reach it. A head with [[wide: d_h > d]] is as one "
        "with [[square: d = d_h]] that has the products for its W_Q and W_V and the identity for W_K and W_O: the "
        "logits are the same, and [[saved: 4 d (d_h - d)]] numbers fewer are stored for each head."
    ),
    page="docs/claims/parameters.md",
)


def folded(network: Model) -> Model:
    """Return the same network with heads as wide as the stream; each holds its two products and identities.

    Args:
        network: A rational network of one attention, with heads of any widths.

    Returns:
        A network with $d_h = d_{qk} = d$ and the same logits.

    Example:
        >>> from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network
        >>> two, wide = as_rationals([[1], [2]]), as_rationals([[1, 2, 3]])
        >>> front_end = ExactFrontEnd(two, two, (wide,), (wide,), (wide,))
        >>> found = folded(exact_network(front_end, (wide.transpose(),), two.transpose()))
        >>> front_end.d_head, found.d_head, found.W_V.tolist()
        (3, 1, [[[14]]])
    """
    block = network.attention
    same = np.stack([np.eye(block.d_model, dtype=np.int64).astype(object)] * block.n_heads)
    W_Q, W_V = block.W_Q @ block.W_K.transpose(0, 2, 1), block.W_V @ block.W_O
    return replace(network, blocks=(replace(block, W_Q=W_Q, W_K=same, W_V=W_V, W_O=same),))


_SIZES = ((3, 2, 2, 5, 2), (2, 3, 3, 4, 1), (4, 2, 1, 3, 3))  # N, S, d, d_h, H


_SIZES_FULL = ((4, 3, 3, 8, 4), (5, 2, 4, 9, 2))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, d_model, d_head, n_heads in _SIZES + (_SIZES_FULL if full else ()):
        wide = _network(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, n_heads=n_heads)
        yield _same(wide, folded(wide))
        narrow = _network(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_head, d_head=d_model, n_heads=n_heads)
        yield _rank_of_narrow(narrow)


def _network(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int) -> Model:
    generator = np.random.default_rng([d_vocab, n_ctx, d_model, d_head])

    def draw(rows: int, columns: int) -> fmpq_mat:
        return as_rationals(generator.integers(-2, 3, (rows, columns)) + np.eye(rows, columns, dtype=np.int64) * 4)

    front_end = ExactFrontEnd(
        W_E=draw(d_vocab, d_model),
        W_pos=draw(n_ctx, d_model),
        W_Q=tuple(draw(d_model, d_head) for _ in range(n_heads)),
        W_K=tuple(draw(d_model, d_head) for _ in range(n_heads)),
        W_V=tuple(draw(d_model, d_head) for _ in range(n_heads)),
    )
    return exact_network(front_end, [draw(d_head, d_model) for _ in range(n_heads)], draw(d_model, d_vocab))


def _stored(network: Model) -> int:
    """Return the number of entries of a head in W_Q, W_K, W_V and W_O."""
    return network.attention.parameters // network.n_heads


def _ranks(network: Model) -> list[int]:
    """Return the ranks of the products W_Q W_K and W_V W_O of all heads, without repetition."""
    products = [*(network.W_Q @ network.W_K.transpose(0, 2, 1)), *(network.W_V @ network.W_O)]
    return sorted({as_rationals(product).rank() for product in products})


def _same(wide: Model, made: Model) -> Evidence:
    contexts = all_contexts(wide.d_vocab, wide.n_ctx)
    sizes = {"d": wide.d_model, "d_h": wide.d_head}
    equal = exact_network_logits(wide, contexts) == exact_network_logits(made, contexts)
    ranks = _ranks(wide)
    narrower = made.d_head == wide.d_model and made.n_heads == wide.n_heads
    return Evidence(
        "claim",
        f"integer weights with d = {sizes['d']}, d_h = {sizes['d_h']} and H = {wide.n_heads} heads, and heads "
        "with d_h = d that hold their products, on each context of "
        f"{wide.n_ctx} tokens out of {wide.d_vocab}",
        "equal logits, with fewer numbers; products of full rank",
        f"{'equal' if equal else 'different'} logits, {_stored(wide)} and {_stored(made)} numbers for each head; "
        f"products of rank {', '.join(map(str, ranks))}",
        Method("exact rationals", Means.EXACT),
        decided(equal and narrower and len(ranks) == 1),
        compared=(
            Comparison(_stored(wide) - _stored(made), "=", stated(CLAIM, "saved", **sizes)),
            Comparison(_stored(wide) - _stored(made), ">", 0),
            Comparison(max(ranks), "=", stated(CLAIM, "rank", **sizes)),
            *met(CLAIM, "wide", **sizes),
            *met(CLAIM, "square", d=made.d_model, d_h=made.d_head),
        ),
    )


def _rank_of_narrow(narrow: Model) -> Evidence:
    sizes = {"d": narrow.d_model, "d_h": narrow.d_head}
    ranks = _ranks(narrow)
    return Evidence(
        "claim",
        f"integer weights with d = {sizes['d']}, d_h = {sizes['d_h']}, H = {narrow.n_heads}: the products "
        "W_Q W_K and W_V W_O",
        "rank d_h",
        f"rank {', '.join(map(str, ranks))}",
        Method("exact rationals", Means.EXACT),
        decided(len(ranks) == 1 and sizes["d_h"] < sizes["d"]),
        compared=(Comparison(max(ranks), "=", stated(CLAIM, "rank", **sizes)), *met(CLAIM, "narrow", **sizes)),
    )
