"""The mean divergence over a text lies between ends that are proved, and one float64 beyond the truth is not."""

import tempfile
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import models, tasks
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from tests.corpus.definitions import DIGITS, figures, float_above, float_below
from tests.verify.kernel import folders
from verify.kernel.check import outcome

FACTS = {"next_tokens": np.array([1, 2, 3, 2]), "weights": np.array([7, 3, 2, 1])}
TASK = array_task(np.array([[0], [1], [2], [3]]), vocabulary=4, target="labels", facts=3, **FACTS)
MODEL = Model(blocks=(), W_U=np.roll(np.eye(4), 1, axis=1), W_E=3.0 * np.eye(4), W_pos=np.zeros((1, 4)))


def stated(folder: Path) -> Path:
    """Three labels, and a fourth context of the text, whose label comes out otherwise."""
    folder = folders.written(folder, MODEL, TASK, text_divergence=True)
    assert folders.certificate(folder)["statements"][1]["values"]["occurrences"] == 13
    return folder


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_an_end_one_float_beyond_the_truth_is_not_proved(end: str, tmp_path: Path) -> None:
    folder = stated(tmp_path)
    with mpmath.workdps(DIGITS):
        exact = figures(MODEL, TASK, 0.001).over_text
        below, above = float_below(exact), float_above(exact)
    inside, outside = (below, above) if end == "lower" else (above, below)
    for value, expected in ((inside, 0), (outside, 1)):
        ends = {"lower": (0.0).hex(), "upper": (9.0).hex(), end: value.hex()}
        assert folders.code(folders.changed(folder, 1, **ends)) == expected, outcome(folder)


@pytest.mark.parametrize("change, expected", [({"occurrences": 14}, 1), ({"contexts": 3}, 2), ({"lower": 9}, 2)])
def test_numbers_that_cannot_be_are_refused(change: dict[str, int], expected: int, tmp_path: Path) -> None:
    assert folders.code(folders.changed(stated(tmp_path), 1, **change)) == expected


def test_a_token_of_the_tail_that_the_model_does_not_know_is_bad_input(tmp_path: Path) -> None:
    folder = stated(tmp_path)
    model = Model(blocks=(), W_U=MODEL.W_U, W_E=np.asarray(MODEL.W_E)[:3], W_pos=MODEL.W_pos)
    model.save(folder / "model.safetensors")
    data = folders.certificate(folder)
    data["subject"]["model"] = model.sha256()
    data["subject"]["sizes"]["parameters"] = model.parameters
    code, text = outcome(folders.rewritten(folder, data))
    assert code == 2 and "does not know a token" in text


@given(st.data())
def test_the_kernel_agrees_with_the_prover(data: st.DataObject) -> None:
    model = data.draw(models().filter(lambda model: model.reads_tokens))
    sizes = {"d_vocab": model.d_vocab, "n_ctx": min(3, model.n_ctx), "answers": model.d_vocab_out}
    target = data.draw(st.sampled_from(("labels", "distributions")))
    task = data.draw(tasks(**sizes, target=target, max_contexts=6).filter(lambda task: task.n_all > task.n_contexts))
    with tempfile.TemporaryDirectory() as name:
        folder = folders.written(Path(name), model, task, Criterion.at_most(1000.0))
        assert folders.code(folder) in folders.expected(folder), outcome(folder)
