"""Tests of verify/folds/least_leads.py: the least lead of each token, against every input by itself."""

import itertools

import numpy as np
import pytest

from constructions.folds.fold import addition, modular_sum
from constructions.memories.heads.adder import adder
from constructions.memories.heads.whole_input import sum_of_tokens
from tests.verify.folds.test_fold_answers import LENGTH, TOKENS, logits_of, random_model, said_by
from verify.folds.fold_answers import judge_fold
from verify.folds.least_leads import least_leads


def every_lead(model, fold, logits):
    """The least lead of each token of the answer over all inputs, and the prompts where it is reached."""
    choices = np.array(list(itertools.product(*(range(len(stage.choices)) for stage in fold.stages))))
    prompts, answers = fold.prompts(choices), fold.answers(choices)
    found = []
    for place in range(answers.shape[1]):
        z = logits(model, np.concatenate([prompts, answers[:, :place]], axis=1))
        own = z[np.arange(len(z)), answers[:, place]].copy()
        z[np.arange(len(z)), answers[:, place]] = -np.inf
        leads = own - z.max(axis=1)
        found.append((leads.min(), dict(zip(map(tuple, prompts.tolist()), leads.tolist(), strict=True))))
    return found


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_bounds_hold_the_least_lead_of_all_inputs(seed, n_heads):
    model = random_model(seed, n_heads=n_heads, d_head=1)
    fold = said_by(model)
    assert len(fold.stages) == LENGTH + 2 and fold.inputs == TOKENS**LENGTH
    if judge_fold(model, fold).left:
        pytest.skip("an input that no arithmetic here decides")
    for found, (least, of_prompts) in zip(least_leads(model, fold), every_lead(model, fold, logits_of), strict=True):
        assert 0.0 <= found.lower <= least + 1e-9 and least - 1e-9 <= found.found
        assert abs(found.found - of_prompts[found.prompt]) < 1e-9


def test_an_adder_leads_by_1_and_nearly_so_much_is_proved():
    for model, fold in (
        (adder(2, base=3), addition(2, base=3)),
        (sum_of_tokens(5, below=2, modulus=2), modular_sum(5, below=2, modulus=2)),
    ):
        for found in least_leads(model, fold):
            assert 0.85 < found.lower <= found.found < 1.01 and len(found.prompt) == fold.length


def test_what_is_not_proved_is_no_bound():
    """Of one cell nothing is concluded about the others; the input that was found is one all the same."""
    for found in least_leads(adder(1, base=3), addition(1, base=3), most_cells=1):
        assert found.lower == -np.inf and 0.9 < found.found < 1.01
