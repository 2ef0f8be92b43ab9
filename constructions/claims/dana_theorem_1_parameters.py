r"""Theorem 1 of Dana et al., the number of parameters, and the networks that do with half of it.

Page: docs/claims/parameters.md
"""

from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.parameters import matched_memories, paper_heads, parameter_count, shared_count
from constructions.models.construction import Construction
from constructions.tasks.task import Task


def build(*, tokens: int, length: int, width: int, head_width: int, seed: int) -> Construction[Task]:
    r"""Hold laws on all $N^S$ contexts with attention of rank one that all heads share up to a factor.

    Args:
        tokens: N.
        length: S.
        width: d, N - 1 or N.
        head_width: $d_h \le d$.
        seed: Of the laws and the weights.

    Returns:
        The weights, with $W_Q^h = \lambda_h u^\top$ and $W_K^h = v^\top$, and the laws as the task.

    Raises:
        CapacityError: The features are too badly conditioned for float64, in every draw.
        HypothesisError: A hypothesis fails.

    Source: improves Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> build(tokens=4, length=2, width=4, head_width=2, seed=0).summary
        '16 contexts of 2 tokens held by 6 heads of the same u, v: 184 numbers stored, 150 chosen; the paper has 232'
    """
    task, _, shared = matched_memories(tokens=tokens, length=length, width=width, head_width=head_width, seed=seed)
    sizes = {"tokens": tokens, "length": length, "width": width, "head_width": head_width, "heads": shared.n_heads}
    summary = (
        f"{task.n_contexts} contexts of {length} tokens held by {shared.n_heads} heads of the same u, v: "
        f"{shared.parameters} numbers stored, {shared_count(**sizes)} chosen; the paper has {parameter_count(**sizes)}"
    )
    return Construction(task=task, model=shared, summary=summary)


def _reachable(*, tokens: int, length: int, width: int, head_width: int, **_: object) -> bool:
    """Theorem F: all contexts have generic rank min(N^S, d + H d_h)."""
    facts = tokens**length
    return facts <= width + paper_heads(facts, width, head_width) * head_width


CLAIM = Claim(
    id="dana.theorem-1-parameters",
    title="The number of parameters",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 1 and Remarks 1",
    printed=(
        "The transformer has [[entries: d (S + 2 N + 4 d_h H)]] parameters; for epsilon = 0, [[printed: d (S + 2 N + "
        "4 (T_0 - d))]]."
    ),
    judgement="slip",
    truth=(
        "d (S + 2 N + 4 d_h H) is the number of entries of the seven tensors with d_qk = d_h. For epsilon = 0 these "
        "are [[corrected: d (S + 2 N + 4 d_h ceil((T_0 - d) / d_h))]], the second form if d_h divides T_0 - d, and "
        "more if not. W_Q^h W_K^h = lambda_h u v with the same u and v in all heads has the same largest rank: "
        "[[enough: d (S + 2 N + 2 d_h H) + 2 d + H]] numbers are enough, with half of the leading term."
    ),
    page="docs/claims/parameters.md",
    hypotheses=(
        Hypothesis("N >= 2, S >= 2", lambda tokens, length, **_: tokens >= 2 and length >= 2),
        Hypothesis("1 <= d_h <= d", lambda width, head_width, **_: 1 <= head_width <= width),
        Hypothesis("N - 1 <= d <= N", lambda tokens, width, **_: tokens - 1 <= width <= tokens),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
        Hypothesis("N^S <= d + H d_h", _reachable),
    ),
    parameters={"tokens": 4, "length": 2, "width": 4, "head_width": 2, "seed": 0},
    build=build,
)
