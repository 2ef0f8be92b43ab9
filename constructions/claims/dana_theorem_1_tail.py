r"""Theorem 1 of Dana et al. with epsilon > 0: what the contexts cost that are left out.

Page: docs/claims/theorem_1_tail.md
"""

import numpy as np

from constructions.claims.claim import Claim, Hypothesis
from constructions.memories.left_out import as_construction, random_front_end, sharp_instance, violating_front_end
from constructions.models.attention import features, last
from constructions.models.construction import Construction
from constructions.models.front_end import FrontEnd
from constructions.tasks.task import Task


def build(*, norm: int, occurrences: int, seed: int) -> Construction[Task]:
    r"""Hold three of the four contexts of two tokens, for the encoder that makes the fourth as costly as possible.

    Args:
        norm: $\lVert W \rVert_2$ of the encoder; its E has norm 1.
        occurrences: How often each kept context occurs; the fourth occurs once.
        seed: 0 for the front end that refutes the printed constant by a factor of 1.4, others for random ones.

    Returns:
        The weights, and the encoder's laws on the three contexts as the task.

    Raises:
        HypothesisError: Another hypothesis of the theorem fails.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> build(norm=200, occurrences=33, seed=0).summary
        '3 of 4 contexts held, one of probability 1/100 left out: N = S = 2, d = d_h = 1, H = 2, norm(EW) = 200'
    """
    instance = sharp_instance(_front_end(seed), norm=float(norm), occurrences=occurrences)
    summary = (
        f"3 of 4 contexts held, one of probability 1/{3 * occurrences + 1} left out: "
        f"N = S = 2, d = d_h = 1, H = 2, norm(EW) = {norm}"
    )
    return as_construction(instance, summary)


def _front_end(seed: int) -> FrontEnd:
    return random_front_end(np.random.default_rng((12, seed))) if seed else violating_front_end()


def _independent(*, seed: int, **_: object) -> bool:
    """Whether the features of the kept contexts are independent, in floating point."""
    front_end = _front_end(seed)
    kept = np.array([[0, 1], [1, 0], [1, 1]])
    return int(np.linalg.matrix_rank(np.hstack([last(front_end, kept), features(front_end, kept)]))) == len(kept)


CLAIM = Claim(
    id="dana.theorem-1-tail",
    title="What the contexts cost that are left out",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 1 with epsilon > 0, and its equations (14) and (15)",
    printed=(
        "|d_KL(pi, f) - d_KL(pi, transformer)| <= [[printed: epsilon sqrt(1 + v^2) n]] + o(1), v = norm(V11^-1), n = "
        "norm(WE), for the transformer that has the logits of f = WE on the T_epsilon most likely contexts, T_epsilon "
        "<= d + H d_h; the others have probability less than epsilon."
    ),
    judgement="slip",
    truth=(
        "Let G_1 = [x_S, Y] have rank T on the kept contexts, and z_t = G_t G_1^+. Then the difference is at most "
        "[[corrected: sqrt(2) P Z n]], P = Pr(left out), Z = max_t sqrt(1 + |z_t|^2), plus any gamma > 0 where the "
        "change of basis is singular; for T = d + H d_h at most sqrt(2) P v n. sqrt(2) cannot be lowered. The printed "
        "constant, without it, is exceeded by up to [[excess: 1.39]] times."
    ),
    page="docs/claims/theorem_1_tail.md",
    hypotheses=(
        Hypothesis("1 <= norm(W) <= 500: full support in float64 too", lambda norm, **_: 1 <= norm <= 500),
        Hypothesis(
            "2 <= occurrences <= 10^9: the kept contexts are the most likely ones",
            lambda occurrences, **_: 2 <= occurrences <= 10**9,
        ),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
        Hypothesis("features [x_S, Y] of rank T on the kept contexts", _independent),
    ),
    parameters={"norm": 200, "occurrences": 33, "seed": 0},
    build=build,
)
