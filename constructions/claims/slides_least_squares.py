"""The least-squares bound of the slides: what the truncated logarithms of laws cost.

Page: docs/claims/least_squares.md
"""

import numpy as np

from constructions.claims.claim import Claim, Hypothesis
from constructions.encoders.truncated_laws import nearly_planar_laws, truncated_laws
from constructions.memories.bottleneck import bottleneck
from constructions.models.construction import Construction
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task

_NOISE = 0.01


def build(*, tokens: int, width: int, seed: int) -> Construction[Task]:
    """One head of width d that holds one law for each token, truncated to rank d.

    Args:
        tokens: N, from 3 to 32.
        width: d, from 2 to N.
        seed: Of the noise in the laws, which are of rank 2 without it.

    Returns:
        The network, and the laws after single tokens as the task.

    Source: slides of Dana (2024), "Almost rank d".

    Example:
        >>> build(tokens=8, width=2, seed=0).summary
        '8 laws over 8 tokens through one head of width 2'
    """
    laws = nearly_planar_laws(tokens, noise=_NOISE, seed=seed)
    found = truncated_laws(laws, width)
    return Construction(
        enumerated_task(tokens, 1, target="laws", laws=laws),
        bottleneck(found.E, np.eye(width), found.W),
        f"{tokens} laws over {tokens} tokens through one head of width {width}",
    )


CLAIM = Claim(
    id="slides.least-squares",
    title="The cost of the least-squares solution",
    source="Dana, slides of 13 June 2024, Almost rank d",
    printed=(
        "For the truncation f_ls of L = log pi to rank d, d_KL(pi, f_ls) <= [[printed: N p^2 sigma^2 + (N p)^(3/2) "
        "sigma^3]], p = |pi|_inf, sigma = sigma_(d+1)."
    ),
    judgement="hypothesis",
    truth=(
        "True, but loose, if p = |pi|_inf is the largest conditional probability; false for the largest joint or "
        "prior one. Sharp: d_KL <= [[sharp: sigma^2 / 4]] for every prior, and [[mass: (p/2) sigma^2 / (1 - sqrt 2 "
        "sigma / 3)]] for sigma < 3 / sqrt 2, with the singular values of L or, never worse, of L without its row "
        "means."
    ),
    page="docs/claims/least_squares.md",
    hypotheses=(
        Hypothesis("3 <= N <= 32", lambda tokens, **_: 3 <= tokens <= 32),
        Hypothesis("2 <= d <= N", lambda tokens, width, **_: 2 <= width <= tokens),
        Hypothesis("seed >= 0", lambda seed, **_: seed >= 0),
    ),
    parameters={"tokens": 8, "width": 2, "seed": 0},
    build=build,
)
