r"""Compare the ranks that different theorems promise for the same heads on the same data.

Page: docs/claims/assumptions.md
"""

from dataclasses import dataclass

from constructions.errors import InputError, require_at_least


@dataclass(frozen=True)
class PromisedRanks:
    r"""The number of examples that H heads memorize, by four theorems with four hypotheses.

    Args:
        mahdavi: $\min(T, H (\min(n, d_h) - 1) + 1)$, of Mahdavi et al. as reconstructed, under Assumptions 1 and 2.
        sharp: $\min(T, H (n - 1) + 1)$, for every $d_h \ge 1$, under the block condition and Assumption 2 (Theorem Z1).
        shared_limit: What no weights exceed if all examples share their context, $\min(T, H (n - 1) + 1)$.
        generic: $\min(T, H d)$, for almost all contexts (docs/claims/context_rank.md, Theorem Q5); $\min(T, d)$ for
            n = 1.
        dana: $\min(T, H d_h + d)$, the count of Dana et al. for the features of width $d_h$ and the last token; it
            applies to contexts of tokens, and is false of some sets of contexts.
    """

    mahdavi: int
    sharp: int
    shared_limit: int
    generic: int
    dana: int


def promised_ranks(*, n_examples: int, n_ctx: int, d_model: int, n_heads: int, d_head: int) -> PromisedRanks:
    r"""Return the four counts for one set of sizes.

    Args:
        n_examples: T.
        n_ctx: Tokens in a context, n (S for Dana et al., whose query is one of them).
        d_model: d.
        n_heads: H.
        d_head: $d_h$.

    Returns:
        The counts.

    Raises:
        InputError: A number below 1.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Proposition 1 and 2; Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> promised_ranks(n_examples=1000, n_ctx=32, d_model=64, n_heads=20, d_head=8)
        PromisedRanks(mahdavi=141, sharp=621, shared_limit=621, generic=1000, dana=224)
    """
    require_at_least(1, n_examples=n_examples, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head)
    blocks = min(n_examples, n_heads * (n_ctx - 1) + 1)
    return PromisedRanks(
        mahdavi=min(n_examples, n_heads * (min(n_ctx, d_head) - 1) + 1),
        sharp=blocks,
        shared_limit=blocks,
        generic=min(n_examples, n_heads * d_model if n_ctx > 1 else d_model),
        dana=min(n_examples, n_heads * d_head + d_model),
    )


def fewest_heads(n_examples: int, size: int) -> int | None:
    r"""Return the fewest heads with $T \le H (r - 1) + 1$; `None` if no number is enough, for r = 1 < T.

    Args:
        n_examples: T.
        size: r, the number of tokens n, or what a head can fit.

    Returns:
        H, at least 1.

    Raises:
        InputError: A number below 1.

    Example:
        >>> fewest_heads(621, 32), fewest_heads(622, 32), fewest_heads(2, 1)
        (20, 21, None)
    """
    if n_examples < 1 or size < 1:
        raise InputError("n_examples", f"= {n_examples} and size = {size}", "at least 1")
    if size == 1:
        return 1 if n_examples == 1 else None
    return max(1, -(-(n_examples - 1) // (size - 1)))
