import numpy as np
import pytest

from constructions.errors import InputError
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.prompts import PromptTask
from constructions.tasks.table import table_task
from verify.runs.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from verify.runs.hypotheses import ALL, OF_BOUNDS, OF_EXACT_SUMS
from verify.runs.memorized_runs import memorized_in_every_run

SWAP = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
TASK = table_task("a,b\nb,a\n", target="labels")


def smooth(scale: float) -> Model:
    """Which no sum without rounding is known of."""
    neurons = FeedForward(np.eye(2), np.eye(2) * scale, np.zeros(2), np.zeros(2), activation="gelu", skip=True)
    return Model(blocks=(neurons,), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))


@pytest.mark.parametrize("number_format", [FLOAT64, FLOAT32, BFLOAT16, FLOAT16])
def test_integers_are_memorized_in_every_format_by_sums_alone(number_format):
    found = memorized_in_every_run(SWAP, TASK, number_format, tolerance=0.0)
    assert found.memorized.all() and not found.lost.any() and found.hypotheses == OF_EXACT_SUMS


@pytest.mark.parametrize(
    ("hypotheses", "formats", "memorized"),
    [
        (OF_EXACT_SUMS, (FLOAT64, FLOAT32, FLOAT16), 0),
        (OF_BOUNDS, (FLOAT64, FLOAT32), 2),
        (ALL, (FLOAT64, FLOAT32), 2),
        (ALL, (BFLOAT16, FLOAT16), 0),
    ],
)
def test_only_what_rests_on_the_hypotheses_is_used(hypotheses, formats, memorized):
    for number_format in formats:
        found = memorized_in_every_run(smooth(0.5), TASK, number_format, tolerance=0.0, hypotheses=hypotheses)
        assert found.memorized.sum() == memorized and not found.lost.any()
        assert found.hypotheses == (OF_BOUNDS if memorized else hypotheses)


@pytest.mark.parametrize("model", [SWAP, smooth(0.5)])
def test_what_no_run_holds_is_lost(model):
    wrong = table_task("a,a\nb,a\n", target="labels").in_one_vocabulary()
    other = Model(
        blocks=model.blocks, W_U=np.eye(wrong.d_vocab)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2))
    )  # fmt: skip
    found = memorized_in_every_run(other, wrong, FLOAT32, tolerance=0.0)
    assert found.lost.tolist() == [True, False] and found.memorized.tolist() == [False, True]


def test_a_fact_of_several_tokens_is_memorized_if_each_of_its_contexts_is():
    names = ("a", "b")
    task = PromptTask(names, ((0,),), ((1, 0, 0),), (("a", "baa"),))
    model = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((3, 2)))
    found = memorized_in_every_run(model, task, FLOAT32, tolerance=0.0)
    assert found.memorized.tolist() == [False] and found.lost.tolist() == [True]
    found = memorized_in_every_run(model, PromptTask(names, ((0,),), ((1, 0),), (("a", "ba"),)), FLOAT32, tolerance=0.0)
    assert found.memorized.tolist() == [True] and found.hypotheses == OF_EXACT_SUMS


def test_only_what_is_wanted_is_answered():
    contexts = np.array([[0], [1]])
    task = array_task(contexts, next_tokens=np.array([1, 0]), target="labels", vocabulary=2)
    found = memorized_in_every_run(SWAP, task, FLOAT32, tolerance=0.0, wanted=np.array([False, True]))
    assert found.memorized.tolist() == [False, True]


def test_other_hypotheses_are_refused():
    with pytest.raises(InputError, match="hypotheses"):
        memorized_in_every_run(SWAP, TASK, FLOAT32, tolerance=0.0, hypotheses="H1 H2")


def test_without_h5_integers_are_memorized_by_bounds_of_roundings():
    found = memorized_in_every_run(SWAP, TASK, FLOAT32, tolerance=0.0, hypotheses=OF_BOUNDS)
    assert found.memorized.all() and found.hypotheses == OF_BOUNDS
    assert not memorized_in_every_run(SWAP, TASK, FLOAT16, tolerance=0.0, hypotheses=OF_BOUNDS).memorized.any()
