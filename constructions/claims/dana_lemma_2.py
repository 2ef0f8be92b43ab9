"""Lemma 2 of Dana, Pydi and Chevaleyre: heads add up their widths on any contexts. They do not.

Page: docs/claims/closed_forms.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat

from constructions.arrays import Int64Array
from constructions.claims.claim import Claim, Hypothesis
from constructions.errors import HypothesisError
from constructions.features.embeddings import integer_front_end
from constructions.memories.memory import build_memory
from constructions.memories.one_head_optimum import exclusive_or_contexts
from constructions.models.construction import Construction
from constructions.models.exact_network import ExactFrontEnd, as_rationals
from constructions.tasks.arrays import all_contexts, enumerated_task
from constructions.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Counterexample:
    """Contexts on which no weights reach the printed rank, for heads alone with d_h = d.

    Args:
        name: What kind of contexts they are.
        contexts: The contexts, `[T, S]`.
        width: d = d_h.
        heads: H.
    """

    name: str
    contexts: Int64Array
    width: int
    heads: int

    @property
    def printed_rank(self) -> int:
        """min(T, H d), what Lemma 2 promises."""
        return min(len(self.contexts), self.heads * self.width)


def loops(n_tokens: int) -> Int64Array:
    """The constant bigrams, whose differences are all one vector: `[n_tokens, 2]`.

    Example:
        >>> loops(2).tolist()
        [[0, 0], [1, 1]]
    """
    return np.repeat(np.arange(n_tokens)[:, None], 2, axis=1)


def counterexamples() -> tuple[Counterexample, ...]:
    """One for each way in which Lemma 2 fails, and larger ones."""
    return (
        Counterexample("XOR", exclusive_or_contexts(), 4, 1),
        Counterexample("XOR, padded and wide", exclusive_or_contexts(6), 16, 1),
        Counterexample("all binary contexts of one last token", all_contexts(2, 5)[::2], 16, 1),
        Counterexample("loops", loops(4), 2, 2),
        Counterexample("loops", loops(9), 3, 3),
        Counterexample("contexts of one token", np.arange(2)[:, None], 1, 2),
        Counterexample("contexts of one token", np.arange(6)[:, None], 3, 2),
        Counterexample("d > N + S - 1", all_contexts(2, 2), 4, 1),
        Counterexample("d > N + S - 1", all_contexts(3, 2), 5, 2),
    )


def false_step(*, length: int = 6, width: int = 4, seed: int = 0) -> tuple[Int64Array, ExactFrontEnd]:
    r"""The instance against "it is sufficient to have the image of f not contained in any hyperplane".

    Padded XOR with as many heads as $\mathbb{R}^{d \times T}$ has dimensions, $W_V = I$: the outputs of the heads,
    one matrix of $d T$ entries for each, are linearly independent, though each has rank 3 at most.

    Args:
        length: S, at least d + 1 so that every context moves in all d dimensions.
        width: d, at least 4.
        seed: Seed of the integers.

    Returns:
        The four contexts and a front end of $4 d$ heads.

    Raises:
        HypothesisError: Contexts too short or too narrow.

    Example:
        >>> contexts, front_end = false_step()
        >>> contexts.shape, front_end.n_heads, front_end.d_head
        ((4, 6), 16, 4)
    """
    if not 4 <= width < length:
        raise HypothesisError("the false step of Lemma 2", "4 <= d <= S - 1", f"d = {width}, S = {length}")
    contexts = exclusive_or_contexts(length)
    sizes = {"d_vocab": 2, "n_ctx": length, "d_model": width, "n_heads": len(contexts) * width}
    drawn = integer_front_end("full", **sizes, d_head=1, seed=seed, largest=2)
    identity = drawn.W_K[0]
    return contexts, ExactFrontEnd(drawn.W_E, drawn.W_pos, drawn.W_Q, drawn.W_K, (identity,) * drawn.n_heads)


def shared_directions(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int, largest: int, seed: int
) -> ExactFrontEnd:
    r"""Integer weights of the kind that Theorem G says is enough: $W^h = \lambda_h u^\top v$ in units of $\ln 2$.

    The directions $u, v$ have entries -1, 0, 1 and are not 0, the $\lambda_h$ are 1, 2, 3, ..., so that the powers of 2
    in the attention stay small while the embeddings are as large as they have to be. (Not both 1 and -1: for two tokens
    their attention weights add up to 1.) Whether the weights are in general position is for the exact rank to tell.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d.
        d_head: $d_h$.
        n_heads: H.
        largest: Largest absolute value of an entry of the embeddings and values.
        seed: Seed of the draw.

    Returns:
        The front end; exact.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, repaired.

    Example:
        >>> sizes = dict(d_vocab=2, n_ctx=2, d_model=1, d_head=1, n_heads=3)
        >>> drawn = shared_directions(**sizes, largest=3, seed=0)
        >>> [query.entries() for query in drawn.W_Q], drawn.W_K[0].entries()
        ([[1], [2], [3]], [1])
    """
    rng = np.random.default_rng(seed)

    def draw(rows: int, columns: int) -> fmpq_mat:
        return as_rationals(rng.integers(-largest, largest + 1, (rows, columns)))

    def direction() -> fmpq_mat:
        entries = rng.integers(-1, 2, (d_model, 1))
        entries[rng.integers(d_model)] = 1
        return as_rationals(entries)

    u, v = direction(), direction()
    return ExactFrontEnd(
        draw(d_vocab, d_model),
        draw(n_ctx, d_model),
        tuple(u * (head + 1) for head in range(n_heads)),
        (v,) * n_heads,
        tuple(draw(d_model, d_head) for _ in range(n_heads)),
    )


def fewest_heads(*, tokens: int, length: int, width: int, head_width: int) -> int:
    r"""The fewest heads with which all $N^S$ contexts have full rank, and at least 1.

    By Theorem F it is $\lceil (N^S - \min(d, N)) / d_h \rceil$; no weights do with fewer.

    Args:
        tokens: N.
        length: S, at least 2.
        width: d.
        head_width: $d_h \le \min(d, N)$.

    Returns:
        H.

    Example:
        >>> fewest_heads(tokens=4, length=3, width=4, head_width=4)
        15
    """
    return max(1, -(-(tokens**length - min(width, tokens)) // head_width))


def build(
    *, tokens: int, length: int, width: int, head_width: int, heads: int = 0, seed: int = 0
) -> Construction[Task]:
    r"""Weights that hold a random label of each of all $N^S$ contexts, with as few heads as Theorem F allows.

    Args:
        tokens: N.
        length: S, at least 2.
        width: d.
        head_width: $d_h \le \min(d, N)$.
        heads: H; 0 for the fewest.
        seed: Seed of the labels and the weights.

    Returns:
        The weights, and the labels that they hold.

    Raises:
        HypothesisError: Fewer heads than needed, or another hypothesis fails.
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, where it holds.

    Example:
        >>> build(tokens=3, length=2, width=3, head_width=2).summary
        'labels of all 9 contexts of 2 tokens, N = 3, with d = 3, d_h = 2 and H = 3, the fewest heads'
    """
    CLAIM.require(tokens=tokens, length=length, width=width, head_width=head_width, heads=heads, seed=seed)
    fewest = fewest_heads(tokens=tokens, length=length, width=width, head_width=head_width)
    count = heads or fewest
    task = enumerated_task(tokens, length, seed=seed)
    built = build_memory(task, d_model=width, d_head=head_width, n_heads=count, seed=seed, fewest_heads=fewest)
    summary = (
        f"labels of all {task.n_contexts} contexts of {length} tokens, N = {tokens}, with d = {width}, "
        f"d_h = {head_width} and H = {count}{', the fewest heads' if count == fewest else ''}"
    )
    return Construction(task=task, model=built.model, summary=summary)


CLAIM = Claim(
    id="dana.lemma-2",
    title="The rank of the outputs of H heads",
    source="Dana, Pydi, Chevaleyre (2024), Lemma 2",
    printed=(
        "For any T_0 contexts there are embeddings e, pos and W_QK of rank d_h such that the attention outputs "
        "A of H heads, before W_V, have rank at least [[printed: min(T_0, H d)]]."
    ),
    judgement="false",
    truth=(
        "The largest rank is the generic rank R* over free attention weights, reached by rank-one W_QK with shared "
        "directions (Theorem G). For S = 2 it is a minimum over sets of contexts with the rank of a lift matroid "
        "(S2); for all N^S contexts, S >= 2 and d_h <= min(d, N), it is [[all_contexts: min(N^S, min(d, N) + H d_h)]] "
        "with the skip connection (F); a partition of the contexts over the heads proves it in general (P), "
        "multiplicities of the last tokens are enough for S > d_h (D), and for S >= 2 "
        "[[universal: min(T, min(d, j) + H)]] is reached for every set with j last tokens (U). For S = 1 it is "
        "min(d, T)."
    ),
    page="docs/claims/closed_forms.md",
    hypotheses=(
        Hypothesis("N >= 1", lambda tokens, **_: tokens >= 1),
        Hypothesis("S >= 2", lambda length, **_: length >= 2),
        Hypothesis(
            "1 <= d_h <= min(d, N)", lambda tokens, width, head_width, **_: 1 <= head_width <= min(width, tokens)
        ),
        Hypothesis("d >= 2 or N <= 2", lambda tokens, width, **_: width >= 2 or tokens <= 2),
        Hypothesis(
            "d <= N + S - 1: the embeddings of tokens and positions span no more",
            lambda tokens, length, width, **_: width <= tokens + length - 1,
        ),
        Hypothesis(
            "H = 0 (for the fewest) or min(d, N) + H d_h >= N^S",
            lambda tokens, length, width, head_width, heads, **_: (
                heads == 0 or (heads > 0 and min(width, tokens) + heads * head_width >= tokens**length)
            ),
        ),
    ),
    parameters={"tokens": 4, "length": 3, "width": 4, "head_width": 4, "heads": 0, "seed": 0},
    build=build,
)
