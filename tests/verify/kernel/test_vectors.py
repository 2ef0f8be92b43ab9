"""Tasks of vectors are read as they were written, and what models make of them is what the other readers say."""

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import inputs, models
from constructions.model.blocks import FeedForward
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.vectors import VectorTask
from tests import task_files
from tests.balls import contains
from tests.corpus.definitions import DIGITS, exact, outputs
from tests.verify.kernel import folders
from tests.verify.kernel.test_walk import kernel_model
from verify.forward.logits import enclose_logits
from verify.kernel import balls
from verify.kernel.check import outcome
from verify.kernel.task import read_task
from verify.kernel.verdicts import BadInputError

VECTOR_MODELS = models().filter(lambda model: not model.reads_tokens)


def labelled(data: st.DataObject, model: Model) -> VectorTask:
    """A task that the model reads, with numbers near its outputs or far from them, or classes."""
    task = data.draw(inputs(model=model))
    assert isinstance(task, VectorTask)
    labels = enclose_logits(model, task).midpoint.astype(np.float64)
    labels = np.where(np.isfinite(labels) & (np.abs(labels) < 1e9), labels, 1.0)
    labels = labels + data.draw(st.sampled_from((0.0, 2.0**-20, 1.0)))
    kind = "regression"
    if data.draw(st.booleans()) and model.d_vocab_out > 1:
        classes = data.draw(st.lists(st.integers(0, model.d_vocab_out - 1), min_size=len(labels), max_size=len(labels)))
        kind, labels = "classification", np.eye(model.d_vocab_out)[classes]
    return VectorTask(task.contexts, task.queries, labels, kind)


@given(st.data())
def test_the_kernel_agrees_with_the_prover(data: st.DataObject) -> None:
    model = data.draw(VECTOR_MODELS)
    task = labelled(data, model)
    asked = data.draw(st.sampled_from((Criterion(), Criterion.at_least(1), Criterion.at_most(0.5))))
    with tempfile.TemporaryDirectory() as name:
        folder = folders.written(Path(name), model, task, asked)
        assert folders.code(folder) in folders.expected(folder), outcome(folder)


@given(st.data())
def test_balls_hold_what_the_definitions_give(data: st.DataObject) -> None:
    model = data.draw(VECTOR_MODELS)
    task = labelled(data, model)
    with tempfile.TemporaryDirectory() as name:
        task.save(Path(name) / "task.safetensors")
        read = read_task(Path(name))
        found = balls.logits(kernel_model(model), read.contexts, 256, read.vectors)
        with mpmath.workdps(DIGITS):
            for example, row in enumerate(found):
                rows = [exact(vector) for vector in task.context(example)]
                wanted = outputs(model, rows, exact(task.queries[example]))
                assert all(contains(x, y) for x, y in zip(row, wanted, strict=True))
        assert (read.sha256, read.target) == (task.sha256(), task.target)
        assert read.sizes() == {
            "contexts": task.n_contexts,
            "context_length": task.n_ctx,
            "all_contexts": task.n_contexts,
        }


def doubling(folder: Path, criterion: Criterion | None = None) -> Path:
    """Four numbers that are doubled by neurons; the distances from the values are 0, 0, 0 and 1/4."""
    contexts = np.array([[[1.0], [2.0]], [[0.0], [-0.5]], [[5.0], [0.5]], [[3.0], [8.0]]])
    task = VectorTask(contexts, np.zeros((4, 1)), np.array([[4.0], [-1.0], [1.0], [16.25]]))
    return folders.written(folder, doubling_model(1), task, criterion)


def doubling_model(width: int) -> Model:
    neurons = FeedForward(np.array([[2.0, -2.0]] * width), np.eye(2), activation="relu", skip=False)
    return Model(blocks=(neurons,), W_U=np.array([[1.0], [-1.0]]))


def test_a_value_that_is_missed_is_not_memorized(tmp_path: Path) -> None:
    folder = doubling(tmp_path)
    assert folders.certificate(folder)["statements"][0]["values"]["memorized"] == 3 and folders.code(folder) == 1
    assert folders.code(doubling(tmp_path, Criterion(tolerance=0.3125))) == 0


EXACT = {"max_upper": "1/4", "mean_upper": "1/16", "guess_lower": "81/16"}
"""Of 4, -1, 1 and 16.25 a median is 1, which is 3, 2, 0 and 15.25 away."""


@pytest.mark.parametrize("name", EXACT)
def test_a_number_beyond_what_is_true_is_not_proved(name: str, tmp_path: Path) -> None:
    folder = folders.changed(doubling(tmp_path, Criterion(tolerance=1.0)), 0, **EXACT)
    assert folders.code(folder) == 0, outcome(folder)
    direction = 1 if name == "guess_lower" else -1
    beyond = str(Fraction(EXACT[name]) + Fraction(direction, 2**1000))
    assert folders.code(folders.changed(folder, 0, **{name: beyond})) == (3 if name == "guess_lower" else 1)


@pytest.mark.parametrize("values", [{"wrong": 1}, {"memorized": 5}, {"margin_lower": (1.0).hex()}, {"guess_right": 1}])
def test_counts_that_are_wrong_and_numbers_that_values_have_not(values: dict[str, Any], tmp_path: Path) -> None:
    folder = folders.changed(doubling(tmp_path, Criterion(tolerance=1.0)), 0, **values)
    assert folders.code(folder) == 2, outcome(folder)


CHANGES: dict[str, Callable[[dict], Any]] = {
    "another kind": lambda parts: parts.update(kind="ranking"),
    "a kind that is not a text": lambda parts: parts.update(kind=[1]),
    "a word more": lambda parts: parts.update(origin="own"),
    "integers": lambda parts: parts.update(queries=np.ones((3, 2), dtype=np.int64)),
    "no examples": lambda parts: parts.update(queries=np.ones((0, 2)), labels=np.ones((0, 2))),
    "contexts of no rows": lambda parts: parts.update(contexts=np.ones((3, 0, 2))),
    "two contexts of three": lambda parts: parts.update(contexts=np.ones((2, 2, 2))),
    "rows of another width": lambda parts: parts.update(contexts=np.ones((3, 2, 1))),
    "a query less": lambda parts: parts.update(queries=np.ones((2, 2))),
    "labels of one axis": lambda parts: parts.update(labels=np.ones(3)),
    "two classes": lambda parts: parts.update(labels=np.ones((3, 2))),
    "one output": lambda parts: parts.update(labels=np.ones((3, 1))),
    "an array less": lambda parts: parts.pop("queries"),
    "an array more": lambda parts: parts.update(more=np.ones(1)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_no_task_of_vectors_is_refused(change: Callable[[dict], Any], tmp_path: Path) -> None:
    labels = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    parts = task_files.parts(VectorTask(np.ones((3, 2, 2)), np.ones((3, 2)), labels, "classification"))
    task_files.write(tmp_path / "task.safetensors", parts, task="vectors")
    assert list(read_task(tmp_path).labels) == [0, 1, 0]
    change(parts)
    task_files.write(tmp_path / "task.safetensors", parts, task="vectors")
    with pytest.raises(BadInputError, match=r"^task\.safetensors: "):
        read_task(tmp_path)


def test_a_model_of_another_width_is_bad_input(tmp_path: Path) -> None:
    folder = doubling(tmp_path)
    data = folders.certificate(folder)
    for width in (1, 2):
        model = doubling_model(width)
        model.save(folder / "model.safetensors")
        data["subject"]["model"] = model.sha256()
        data["subject"]["sizes"]["parameters"] = model.parameters
        code, text = outcome(folders.rewritten(folder, data))
        assert (code == 2 and "another width" in text) == (width == 2)
