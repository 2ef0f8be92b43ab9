r"""The theorem of the slides that came before the paper: Theorem 1 with sigma_1 and an unspecified constant.

Page: docs/claims/theorem_1_tail.md
"""

from constructions.capacity.generic_rank import generic_rank
from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.left_out import as_construction, modules_instance
from constructions.models.construction import Construction
from constructions.tasks.arrays import all_contexts
from constructions.tasks.task import Task


def build(*, tokens: int, length: int, kept: int, seed: int) -> Construction[Task]:
    r"""Hold random laws on T contexts with $\lceil T / d \rceil$ attention modules of width $d = N$.

    Args:
        tokens: N, and d.
        length: S.
        kept: T, of the $N^S$ contexts; each is three times as frequent as one that is left out.
        seed: Of the laws and the weights.

    Returns:
        The weights, and the laws of the kept contexts as the task.

    Raises:
        HypothesisError: The contexts do not have rank T, or another hypothesis fails.
        InputError: Sizes out of range.

    Source: slides of Dana (2024), the theorem on Attention-only Transformers.

    Example:
        >>> build(tokens=4, length=2, kept=12, seed=0).summary
        '12 of 16 contexts held by 3 modules of width d = N = 4, the others, of probability 4/40, left out'
    """
    instance = modules_instance(tokens=tokens, length=length, width=tokens, kept=kept, seed=seed)
    others = tokens**length - kept
    summary = (
        f"{kept} of {tokens**length} contexts held by {-(-kept // tokens)} modules of width d = N = {tokens}, "
        f"the others, of probability {others}/{3 * kept + others}, left out"
    )
    return as_construction(instance, summary)


def _full_rank(*, tokens: int, length: int, kept: int, **_: object) -> bool:
    """Whether almost all weights give the kept contexts rank T."""
    contexts = all_contexts(tokens, length)[:kept]
    return generic_rank(contexts, d_model=tokens, d_head=tokens, n_heads=-(-kept // tokens)) == kept


CLAIM = Claim(
    id="slides.theorem",
    title="The theorem of the slides, with sigma_1 and a constant",
    source="Dana, slides of 13 June 2024, the theorem on Attention-only Transformers",
    printed=(
        "For epsilon >= 0 there is a transformer with embedding dimension d and ceil(N_epsilon / d) attention modules "
        "such that |d_KL(pi, f) - d_KL(pi, transformer)| <= epsilon sigma_1(f) C(d, N, k, N_epsilon), for the optimal "
        "linear map f of rank d."
    ),
    judgement="slip",
    truth=(
        "With the constant that the paper gives, the bound lacks a factor sqrt(2), as Theorem 1. With [[corrected: "
        "sqrt(2) P Z n]] on the right, P = Pr(left out), Z = max_t sqrt(1 + |z_t|^2), n = norm(WE), it holds, up to "
        "any gamma > 0, for every f = WE, if so many modules give the N_epsilon kept contexts rank N_epsilon; then "
        "the constant can be chosen to depend on the sizes only. Without the rank even epsilon = 0 fails (XOR)."
    ),
    page="docs/claims/theorem_1_tail.md",
    hypotheses=(
        Hypothesis("N >= 2, S >= 1", lambda tokens, length, **_: tokens >= 2 and length >= 1),
        Hypothesis("d <= T < N^S", lambda tokens, length, kept, **_: tokens <= kept < tokens**length),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
        Hypothesis("kept contexts of generic rank T", _full_rank),
    ),
    parameters={"tokens": 4, "length": 2, "kept": 12, "seed": 0},
    build=build,
)
