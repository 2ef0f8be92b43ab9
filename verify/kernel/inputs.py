"""Inputs of the domain of a rule, judged one by one, some thousands of them together.

Page: docs/rigour/domains.md
"""

import time
from collections.abc import Sequence

from flint import arb, ctx

from verify.kernel.balls import PRECISIONS
from verify.kernel.evaluation import Evaluation
from verify.kernel.rule import TOGETHER, Rule

_PRECISIONS = PRECISIONS[:4]
_FEW = 64  # inputs that are looked at first, to know how long the others take


def count_inputs(evaluation: Evaluation, rule: Rule, numbers: Sequence[int]) -> tuple[int, int]:
    """How many inputs of these numbers are proved to be right, and how many wrong; balls of 1024 bits leave some."""
    right = wrong = 0
    begun, starts = time.process_time(), [0, *range(min(_FEW, len(numbers)), len(numbers), TOGETHER)]
    for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
        if start == _FEW:
            evaluation.announce((time.process_time() - begun) * (len(numbers) / _FEW - 1))
        judged = _judged(Evaluation(evaluation.model, rule.part(numbers[start:end]), []))
        right += judged.count(True)
        wrong += judged.count(False)
    return right, wrong


def _judged(part: Evaluation) -> list[bool | None]:
    """Whether each input has its label as the strictly largest logit; none where that stays open."""
    judged = [None if found is None else found.is_held("labels", arb(0)) for found in part.in_reals]
    for bits in _PRECISIONS:
        left = [i for i, held in enumerate(judged) if held is None]
        with ctx.workprec(bits):
            for i, found in part.in_balls(left, bits):
                judged[i] = found.is_held("labels", arb(0))
    return judged
