"""A task of a file is read as it was written; windows are those of the text; what no task has is refused."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.reciting import whole_text
from byheart.testing.strategies import tasks
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Counts
from constructions.tasks.task import Task as Written
from tests import task_files
from verify.kernel.task import Task, read_task, windows
from verify.kernel.verdicts import BadInputError, UndecidedError


def read(task: Written) -> Task:
    with tempfile.TemporaryDirectory() as name:
        task.save(Path(name) / "task.safetensors")
        return read_task(Path(name))


def rows_of(counts: Counts) -> list[dict[int, int]]:
    """How often each answer occurs in each row."""
    rows = (counts.row(i) for i in range(len(counts)))
    return [dict(zip(answers.tolist(), of.tolist(), strict=True)) for answers, of in rows]


@given(st.sampled_from(("labels", "distributions")).flatmap(lambda target: tasks(d_vocab=3, n_ctx=2, target=target)))
def test_a_task_is_read_as_it_was_written(task: Written) -> None:
    found = read(task)
    assert (found.sha256, found.target, found.origin) == (task.sha256(), task.target, task.origin)
    assert (found.contexts, list(found.labels)) == (list(map(tuple, task.contexts.tolist())), task.labels.tolist())
    assert found.tail == list(map(tuple, task.tail_contexts.tolist()))
    assert found.counts == [*rows_of(task.counts), *rows_of(task.tail_counts)]
    if task.distributions is not None:
        assert found.distributions is not None and np.array_equal(np.array(found.distributions), task.distributions)
    modes = np.zeros((task.n_contexts, found.width), dtype=bool)
    for i in range(task.n_contexts):
        modes[i, found.modes(i)] = True
    assert np.array_equal(modes, task.modes(slice(None)))


@pytest.mark.parametrize("texts", ["abracadabra", {"one": "aab", "two": "aba"}])
def test_a_text_is_read_with_all_of_its_windows(texts: Any) -> None:
    task = whole_text(texts)
    found = read(task)
    assert found.text is not None and found.sha256 == task.sha256()
    assert found.contexts == list(map(tuple, task.contexts.tolist())) and list(found.labels) == task.labels.tolist()
    assert len(list(windows(found.text))) == len(found.text.tokens)


CHANGES: dict[str, Callable[[dict], Any]] = {
    "a context twice": lambda parts: parts["contexts"].__setitem__(1, parts["contexts"][0]),
    "a token that there is not": lambda parts: parts["contexts"].__setitem__((0, 0), 3),
    "a token below 0": lambda parts: parts["contexts"].__setitem__((0, 0), -1),
    "no contexts": lambda parts: parts.update(contexts=np.zeros((0, 2), dtype=np.int64)),
    "contexts of no tokens": lambda parts: parts.update(contexts=np.zeros((3, 0), dtype=np.int64)),
    "counts of 0": lambda parts: parts["counts_data"].__setitem__(0, 0),
    "too many counts": lambda parts: parts["counts_data"].__setitem__(0, 2**60),
    "an answer that there is not": lambda parts: parts["counts_indices"].__setitem__(0, 3),
    "a row that begins elsewhere": lambda parts: parts["counts_indptr"].__setitem__(0, 1),
    "a name twice": lambda parts: parts.update(vocabulary=["a", "a", "b"]),
    "an empty name": lambda parts: parts.update(vocabulary=["a", "", "b"]),
    "half a character": lambda parts: parts.update(vocabulary=["a", "\ud800", "b"]),
    "names that are none": lambda parts: parts.update(vocabulary=[1, 2, 3]),
    "no names": lambda parts: parts.update(vocabulary=[]),
    "the vocabulary as answers": lambda parts: parts.update(answers=parts["vocabulary"]),
    "another target": lambda parts: parts.update(target="values"),
    "another origin": lambda parts: parts.update(origin="a dream"),
    "an array more": lambda parts: parts.update(more=np.zeros(1)),
    "an array less": lambda parts: parts.pop("tail_contexts"),
    "floats": lambda parts: parts.update(contexts=parts["contexts"].astype(float)),
    "labels that there are not": lambda parts: parts.update(origin="own", labels=np.array([0, 1, 3])),
    "too few labels": lambda parts: parts.update(origin="own", labels=np.array([0, 1])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_no_task_is_refused(change: Callable[[dict], Any], tmp_path: Path) -> None:
    tokens = np.array([[0, 1], [1, 1], [2, 0]])
    parts = task_files.parts(array_task(tokens, next_tokens=np.array([0, 1, 1]), vocabulary=3, target="labels"))
    task_files.write(tmp_path / "task.safetensors", parts)
    read_task(tmp_path)
    change(parts)
    task_files.write(tmp_path / "task.safetensors", parts)
    with pytest.raises(BadInputError, match=r"^task\.safetensors: "):
        read_task(tmp_path)


@pytest.mark.parametrize(
    "distribution", [[0.5, 0.5 + 1.001e-9], [0.5, 0.5 - 1.001e-9], [1.0, 0.0], [1.5, -0.5], [0.25, 0.25]]
)
def test_distributions_of_full_support_sum_to_1(distribution: list[float], tmp_path: Path) -> None:
    own = task_files.parts(array_task(np.array([[0], [1]]), distributions=np.full((2, 2), 0.5), vocabulary=2))
    task_files.write(tmp_path / "task.safetensors", own)
    assert read_task(tmp_path).modes(0) == [0, 1]
    own["distributions"] = np.array([[0.5, 0.5 + 0.999e-9], [0.5, 0.5 - 0.999e-9]])
    task_files.write(tmp_path / "task.safetensors", own)
    assert [read_task(tmp_path).modes(i) for i in (0, 1)] == [[1], [0]]
    own["distributions"] = np.array([[0.5, 0.5], distribution])
    task_files.write(tmp_path / "task.safetensors", own)
    with pytest.raises(BadInputError, match="distributions"):
        read_task(tmp_path)


TEXTS: dict[str, dict[str, Any]] = {
    "no end": {"text": np.array([0, 1, 0])},
    "nothing": {"text": np.zeros(0, dtype=np.int64), "titles": np.zeros(0, dtype=np.int64)},
    "a title more": {"titles": np.array([2, 2])},
    "a title that occurs in the text": {"titles": np.array([0])},
    "windows of nothing": {"context_length": 0},
    "windows of more than is read": {"context_length": 2**40},
    "windows of many times the text": {"context_length": 2**12 + 1},
    "a length that is true": {"context_length": True},
    "a token that there is not": {"text": np.array([0, 7, 2])},
    "distributions": {"target": "distributions"},
}


@pytest.mark.parametrize("change", TEXTS.values(), ids=TEXTS)
def test_what_is_no_text_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    words = {"target": "labels", "origin": "most frequent", "vocabulary": ["a", "b", "<|end|>"], "context_length": 2}
    parts = {**words, "text": np.array([0, 1, 2]), "titles": np.array([2])}
    task_files.write(tmp_path / "task.safetensors", parts)
    assert read_task(tmp_path).contexts == [(2, 2), (2, 0), (0, 1)]
    task_files.write(tmp_path / "task.safetensors", {**parts, **change})
    with pytest.raises(BadInputError, match=r"^task\.safetensors: "):
        read_task(tmp_path)


def test_tasks_of_other_kinds_are_not_read_yet(tmp_path: Path) -> None:
    task_files.write(tmp_path / "task.safetensors", {"vocabulary": ["a"], "labels": np.ones(1)}, task="fold")
    with pytest.raises(UndecidedError, match="fold"):
        read_task(tmp_path)
    task_files.write(tmp_path / "task.safetensors", {"labels": np.ones(1)}, task="dreams")
    with pytest.raises(BadInputError, match="dreams"):
        read_task(tmp_path)
