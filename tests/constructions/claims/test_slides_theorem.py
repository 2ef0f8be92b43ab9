"""The weights of the repaired theorem of the slides, with as many modules as the slides have."""

import pytest

from constructions.claims import claim
from constructions.errors import HypothesisError
from verify.certificates.memorization import certify_memorization
from verify.verdict import Verdict

SLIDES = claim("slides.theorem")


@pytest.mark.parametrize(
    "parameters",
    [{}, {"kept": 4}, {"tokens": 3, "kept": 8}, {"tokens": 2, "length": 3, "kept": 7}, {"tokens": 3, "length": 3}],
)
def test_so_many_modules_hold_so_many_contexts(parameters: dict[str, int]) -> None:
    made = SLIDES.construct(**parameters)
    tokens, kept = (parameters.get(name, SLIDES.parameters[name]) for name in ("tokens", "kept"))
    assert made.model.n_heads == -(-kept // tokens) and made.model.d_head == made.model.d_model == tokens
    assert made.task.n_contexts == kept
    assert certify_memorization(made.model, made.task).certificate.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("parameters", "hypothesis"),
    [
        ({"tokens": 1}, "N >= 2"),
        ({"kept": 3}, "d <= T < N"),
        ({"kept": 16}, "d <= T < N"),
        ({"seed": -1}, "seed >= 0"),
    ],
)
def test_a_hypothesis_that_fails_is_named(parameters: dict[str, int], hypothesis: str) -> None:
    with pytest.raises(HypothesisError, match=hypothesis):
        SLIDES.construct(**parameters)
