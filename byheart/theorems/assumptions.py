"""Test the assumptions of memorization on a user's data, and what they promise.

Page: docs/claims/assumptions.md
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from constructions.attention.capacity.promised_ranks import promised_ranks
from constructions.named.context_arrays import read_contexts
from constructions.progress import Progress, silent
from verify.theorems.saturated_layers.assumptions import assess_assumptions


def assumptions_summary(
    data: Path,
    *,
    n_heads: int | None = None,
    d_head: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Test the assumptions on the contexts and queries of a file, and count the examples promised under them.

    Args:
        data: Arrays ``contexts`` and ``queries``.
        n_heads: Heads of the block condition; by default the fewest.
        d_head: Dimensions of a head; by default those of the vectors.
        samples: Random subsets where nothing is proved.
        seed: Seed of every random choice.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        What is found of each assumption, with the number of heads and what is promised.

    Raises:
        FileFormatError: The file holds no such arrays.
    """
    contexts, queries = read_contexts(data)
    assessment = assess_assumptions(contexts, queries, n_heads=n_heads, samples=samples, seed=seed, progress=progress)
    promised = promised_ranks(
        n_examples=assessment.n_examples,
        n_ctx=assessment.n_ctx,
        d_model=assessment.d_model,
        n_heads=assessment.n_heads,
        d_head=assessment.d_model if d_head is None else d_head,
    )
    return {**assessment.summary(), "heads": assessment.n_heads, "promised": asdict(promised)}
