r"""Build attention of full rank for given contexts: the family of Lemma 2 of Dana et al., where it works.

Outside a null set of weights the features of contexts have the largest rank that any weights give them, the generic
rank (Theorem G1). Lemma 2 promises $\min(T, H d_h)$ for every set of T contexts; what limits the rank is told by a set
of contexts, which the judge takes up.

Page: docs/claims/full_rank_attention.md
"""

from dataclasses import dataclass

import numpy as np

from constructions.attention.capacity.generic_rank import relations
from constructions.attention.capacity.sub_alphabet import peel, upper_bound
from constructions.attention.families import fitting_attention
from constructions.errors import InputError, require_at_least
from constructions.model.blocks import Attention
from constructions.model.front_end import FrontEnd
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts

_SEARCHED = 1024  # contexts, up to which a set that limits the rank is looked for among linear relations, too


@dataclass(frozen=True, eq=False)
class FullRankAttention:
    r"""Heads for some contexts, the rank that Lemma 2 promises, and the contexts that limit it.

    Args:
        front_end: Embeddings, queries, keys and values.
        contexts: Pairwise distinct, `[T, S]`.
        limiting: Row numbers of a set U of contexts: no weights of these sizes have a rank above
            $|T \setminus U|$ and a bound for U (`verify/theorems/capacity/attention_rank.py`). Empty where T is no
            limit found.
        limiting_with_skip: The same for the features with $x_S$ next to them.
    """

    front_end: FrontEnd
    contexts: Int64Array
    limiting: Int64Array
    limiting_with_skip: Int64Array

    def promised(self, *, with_skip: bool = False) -> int:
        r"""Return the printed rank: $\min(T, H d_h)$ of Lemma 2, or $\min(T, H d_h + d)$ of Theorem 1."""
        n_heads, d_model, d_head = self.front_end.W_V.shape
        return min(len(self.contexts), n_heads * d_head + with_skip * d_model)

    @property
    def model(self) -> Model:
        """A model without a skip connection whose outputs are the features of the heads, `[T, H d_h]`."""
        n_heads, _, d_head = self.front_end.W_V.shape
        columns = n_heads * d_head
        heads = Attention(
            W_Q=self.front_end.W_Q,
            W_K=self.front_end.W_K,
            W_V=self.front_end.W_V,
            W_O=np.eye(columns).reshape(n_heads, d_head, columns),
            skip=False,
            attends="last",
        )
        return Model(blocks=(heads,), W_U=np.eye(columns), W_E=self.front_end.W_E, W_pos=self.front_end.W_pos)


def full_rank_attention(
    contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, d_vocab: int | None = None, seed: int = 0
) -> FullRankAttention:
    r"""Draw heads whose features of the given contexts have the largest rank that any weights reach.

    One-hot embeddings and tables of signs where $d \ge N + S$, else uniform embeddings and Gaussian queries and keys.
    With probability 1 the rank is the generic one (Theorem G1); the judge certifies the rank of the weights drawn.

    Args:
        contexts: Pairwise distinct contexts, `[T, S]`.
        d_model: Width of the stream, d.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, H.
        d_vocab: Number of tokens, N; by default as many as occur.
        seed: Seed of the draw.

    Returns:
        The heads, beside what is promised and what limits the rank.

    Raises:
        InputError: Contexts that are equal or no tokens, or sizes out of range; names them.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 2, repaired: Theorem G1.

    Example:
        >>> xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
        >>> found = full_rank_attention(xor, d_model=4, d_head=4, n_heads=1)
        >>> found.promised(), found.limiting.tolist()  # all four contexts limit the rank, to 3
        (4, [0, 1, 2, 3])
    """
    tokens = checked_contexts(contexts, d_vocab=d_vocab, distinct=True)
    require_at_least(1, d_model=d_model, d_head=d_head, n_heads=n_heads)
    require_at_least(0, seed=seed)
    if d_head > d_model:
        raise InputError("d_head", f"= {d_head}", f"at most d_model = {d_model}")
    count = int(tokens.max()) + 1 if d_vocab is None else d_vocab
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    drawn = fitting_attention(d_vocab=count, n_ctx=tokens.shape[1], seed=seed, **sizes)
    limits = (_limiting(tokens, with_skip=with_skip, **sizes) for with_skip in (False, True))
    return FullRankAttention(drawn, tokens, *limits)


def _limiting(contexts: Int64Array, *, d_model: int, d_head: int, n_heads: int, with_skip: bool) -> Int64Array:
    """Return the rows of the set with the lowest rank bound found that holds for all weights."""
    sizes = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads, "with_skip": with_skip}
    candidates = [np.arange(len(contexts)), peel(contexts).upper_bound(**sizes).rows]
    if len(contexts) <= _SEARCHED:
        candidates.append(relations(contexts, **sizes).rows)
    best = min((upper_bound(contexts, rows, **sizes) for rows in candidates), key=lambda bound: bound.rank)
    return best.rows if best.rank < len(contexts) else np.zeros(0, dtype=np.int64)
