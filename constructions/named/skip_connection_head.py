"""Replace the skip connection of a network that memorizes labels of contexts by a head.

Page: docs/constructions.md
"""

from dataclasses import dataclass
from numbers import Real

from constructions.attention.skip_connection_head import SkipConnectionHeads, skip_connection_head
from constructions.counted import counted
from constructions.errors import InputError, require_at_least
from constructions.heads_of_theorem_1.memory import theorem_1
from constructions.model.construction import Construction
from constructions.named.context_rows import ContextRows
from constructions.named.labelled_contexts import as_rows, labelled
from constructions.numeric.arrays import Int64Array
from constructions.tasks.task import Task

SECTION = "Dana et al. (2024), Section 4.1"


@dataclass(frozen=True, eq=False, kw_only=True)
class SkipConnectionMemory(Construction[Task]):
    """A model without a skip connection that memorizes the same as a network with one.

    Args:
        heads: Both, and what the copying heads write.
    """

    heads: SkipConnectionHeads


def skip_connection_memory(
    contexts: ContextRows | Int64Array,
    *,
    d_model: int,
    d_head: int,
    n_heads: int = 0,
    sharpness: float = 40,
    seed: int = 0,
) -> SkipConnectionMemory:
    r"""Memorize random labels with heads of Theorem 1', then replace the skip connection by a head.

    Args:
        contexts: Pairwise distinct contexts, of a file or `[T, S]`.
        d_model: Width of the stream, d, of the network with the skip connection.
        d_head: Width of a head, $d_h \le d$.
        n_heads: Heads of that network, H; 0 for as many as suffice.
        sharpness: $\lambda$, in nats, above 0 and at most 700.
        seed: Of all draws.

    Returns:
        The model without a skip connection, whose labels are those of the network with one.

    Raises:
        HypothesisError: Equal contexts.
        CapacityError: Too few heads for these contexts.
        InputError: A size out of range.

    Source: repairs Dana, Pydi, Chevaleyre (2024), Section 4.1: Proposition E7.
    """
    require_at_least(0, n_heads=n_heads)
    if not isinstance(sharpness, Real):
        raise InputError("sharpness", f"= {sharpness!r}", "a number above 0, in nats")
    require_at_least(1, d_model=d_model, d_head=d_head)
    task = labelled(as_rows(contexts), theorem=SECTION, seed=seed, kinds=2 if d_model == 1 else None)
    network = theorem_1(task, d_model=d_model, d_head=d_head, n_heads=n_heads or None, seed=seed).model
    heads = skip_connection_head(network, sharpness=float(sharpness))
    copying = f"{counted(heads.n_copying_heads, 'head')} of width {d_head}"
    summary = (
        f"labels at random on {counted(task.n_contexts, 'context')}, without a skip connection: {copying} copy x_S "
        f"with lambda = {float(sharpness):g}, beside {counted(network.n_heads, 'head')} of a network with one"
    )
    return SkipConnectionMemory(task=task, model=heads.model, summary=summary, heads=heads)
