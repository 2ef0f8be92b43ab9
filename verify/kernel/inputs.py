"""Judge the inputs of the domain of a rule one by one, in batches of some thousands.

Page: docs/rigour/domains.md
"""

import time
from collections.abc import Sequence

from flint import arb, ctx

from verify.kernel.balls import PRECISIONS
from verify.kernel.evaluation import Evaluation
from verify.kernel.rule import Rule, some_at_a_time

_PRECISIONS = PRECISIONS[:4]


def count_inputs(evaluation: Evaluation, rule: Rule, numbers: Sequence[int]) -> tuple[int, int]:
    """Return how many of these inputs are proved right, and how many wrong; balls of 1024 bits may leave some open."""
    right = wrong = 0
    begun = time.process_time()
    for some in some_at_a_time(len(numbers)):
        judged = _judged(Evaluation(evaluation.model, rule.part(numbers[some.start : some.stop]), []))
        right += judged.count(True)
        wrong += judged.count(False)
        if some.start == 0:
            evaluation.announce((time.process_time() - begun) * (len(numbers) / len(some) - 1))
    return right, wrong


def _judged(part: Evaluation) -> list[bool | None]:
    """Tell whether each input has its label as the strictly largest logit; None where open."""
    judged = [None if evaluated is None else evaluated.is_memorized("labels", arb(0)) for evaluated in part.in_reals]
    for bits in _PRECISIONS:
        left = [i for i, memorized in enumerate(judged) if memorized is None]
        with ctx.workprec(bits):
            for i, evaluated in part.in_balls(left, bits):
                judged[i] = evaluated.is_memorized("labels", arb(0))
    return judged
