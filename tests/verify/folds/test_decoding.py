"""Tests of verify/folds/decoding.py: greedy decoding beside plain numpy."""

import numpy as np
import pytest

from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.model.model import Model
from verify.folds.decoding import decoded


@pytest.mark.parametrize(("a", "b"), [(0, 0), (999, 999), (407, 593), (123, 456)])
def test_an_adder_says_the_sum(a: int, b: int) -> None:
    fold = addition(3)
    digits = [[int(digit) for digit in reversed(f"{number:03}")] for number in (a, b)]
    choices = np.array([[10 * x + y for x, y in zip(*digits, strict=True)] + [0]])
    [prompt] = fold.prompts(choices).tolist()
    said = decoded(adder(3), prompt, 4)
    assert sum(digit * 10**place for place, digit in enumerate(said)) == a + b


def test_equal_logits_and_what_follows_them_are_not_said() -> None:
    W_U = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    model = Model(blocks=(), W_U=W_U, W_E=np.eye(3), W_pos=np.zeros((5, 3)))
    assert decoded(model, [0], 4) == (1, 2)
    assert decoded(model, [2], 1) == ()
    assert decoded(model, [0], 0) == ()
