"""Build the memory of Theorem 1 for a user's contexts, with random labels.

Page: docs/constructions.md
"""

from constructions.errors import require_at_least
from constructions.heads_of_theorem_1.memory import HeadsOfTheorem1, theorem_1
from constructions.named.context_rows import ContextRows
from constructions.named.labelled_contexts import as_rows, labelled

THEOREM = "Dana et al. (2024), Theorem 1"


def theorem_1_on_contexts(
    contexts: ContextRows, *, d_model: int, d_head: int, n_heads: int = 0, seed: int = 0
) -> HeadsOfTheorem1:
    r"""Memorize a random label per context with one layer of attention and a skip connection.

    Args:
        contexts: Pairwise distinct contexts, of a file or `[T, S]`.
        d_model: Width of the stream, d.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Number of heads, H; 0 for those that are certified to suffice, and a quarter more.
        seed: Seed of the labels and the weights.

    Returns:
        The weights.

    Raises:
        HypothesisError: Equal contexts.
        CapacityError: Too few heads; says how many suffice.
        InputError: A size out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired as Theorem 1'.

    Example:
        >>> from constructions.tasks.arrays import all_contexts
        >>> theorem_1_on_contexts(all_contexts(3, 2), d_model=4, d_head=2).model.n_heads
        8
    """
    require_at_least(0, n_heads=n_heads)
    require_at_least(1, d_model=d_model, d_head=d_head)
    task = labelled(as_rows(contexts), theorem=THEOREM, seed=seed, kinds=2 if d_model == 1 else None)
    return theorem_1(task, d_model=d_model, d_head=d_head, n_heads=n_heads or None, seed=seed)
