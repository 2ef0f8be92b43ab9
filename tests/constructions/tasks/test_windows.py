from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import FileFormatError, InputError
from constructions.formats.tensor_file import load_tensors, save_tensors
from constructions.tasks.task import Task, windows_task
from constructions.tasks.windows import END, Windows
from tests.by_kernel import read_task_file

NAMES = ("a", "b", "c", END, "<x>", "<y>", "<z>")


def by_hand(texts: list[list[int]], titles: list[int], n_ctx: int) -> list[tuple[tuple[int, ...], int]]:
    """Every window with the token after it."""
    found = []
    for title, text in zip(titles, texts, strict=True):
        last = [title] * n_ctx
        for token in [*text, 3]:
            found.append((tuple(last), token))
            last = [*last, token][-n_ctx:]
            last[0] = title if title != 3 else last[0]
    return found


@given(st.lists(st.lists(st.integers(0, 2), max_size=9), min_size=1, max_size=3), st.integers(2, 6), st.booleans())
def test_two_readers_make_the_windows_that_are_made_by_hand(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[int]], n_ctx: int, titled: bool
) -> None:
    texts = texts if titled else texts[:1]
    titles = [4, 5, 6][: len(texts)] if titled else [3]
    text = np.array([token for each in texts for token in [*each, 3]])
    task = windows_task(Windows(text, np.array(titles), n_ctx, 3), vocabulary=NAMES)
    places = by_hand(texts, titles, n_ctx)
    expected: dict[tuple[int, ...], list[int]] = {}
    for window, token in places:
        expected.setdefault(window, []).append(token)
    assert [tuple(row) for row in task.contexts.tolist()] == list(expected)
    assert task.windows is not None and task.windows.place.tolist() == [list(expected).index(w) for w, _ in places]
    path = tmp_path_factory.mktemp("task") / "task.safetensors"
    task.save(path)
    again, plain = Task.load(path), read_task_file(path)
    assert again.sha256() == task.sha256() == plain.sha256 and again.windows is not None
    assert plain.contexts == list(expected) and plain.sizes()["context_length"] == n_ctx
    assert (
        list(plain.labels)
        == task.labels.tolist()
        == [min(set(e), key=lambda t: (-e.count(t), t)) for e in expected.values()]
    )
    assert plain.counts == [{t: e.count(t) for t in set(e)} for e in expected.values()]


@pytest.mark.parametrize(
    ("text", "titles", "n_ctx"),
    [
        ([0, 1], [3], 2),  # no end
        ([0, 3, 1], [4], 2),
        ([0, 3, 1, 3], [4], 2),
        ([0, 3, 1, 3], [4, 4], 2),
        ([0, 3, 1, 3], [4, 3], 2),
        ([0, 4, 3], [4], 2),
        ([0, 3], [4], 1),
        ([0, 3], [3], 0),
        ([0, 9, 3], [3], 2),
        ([0, -1, 3], [3], 2),
    ],
)
def test_what_are_no_windows_of_texts_is_refused_by_both_readers(
    tmp_path: Path, text: list[int], titles: list[int], n_ctx: int
) -> None:
    with pytest.raises(InputError):
        windows_task(Windows(np.array(text), np.array(titles), n_ctx, 3), vocabulary=NAMES)
    windows_task(Windows(np.array([0, 3]), np.array([3]), 2, 3), vocabulary=NAMES).save(tmp_path / "t.safetensors")
    said, _ = load_tensors(tmp_path / "t.safetensors", dtypes=("I64", "F64"))
    assert isinstance(said, dict)
    arrays = {"text": np.array(text), "titles": np.array(titles)}
    save_tensors(tmp_path / "t.safetensors", arrays, metadata={**said, "context_length": n_ctx})
    for read in (Task.load, read_task_file):
        with pytest.raises(FileFormatError):
            read(tmp_path / "t.safetensors")


def test_windows_of_a_text_without_a_title_share_one_array() -> None:
    windows = Windows(np.append(np.arange(1000) % 999, 999), np.array([999]), 400, 999)
    assert windows.contexts.shape == (1001, 400) and windows.contexts.strides == (8, 8)
    assert not windows.contexts.flags.writeable


def test_other_contexts_are_not_those_of_the_windows() -> None:
    from dataclasses import replace

    task = windows_task(Windows(np.array([0, 1, 3]), np.array([3]), 2, 3), vocabulary=NAMES)
    with pytest.raises(InputError, match="windows are not the contexts"):
        replace(task, contexts=task.contexts[::-1])
    with pytest.raises(InputError, match="windows end with"):
        windows_task(Windows(np.array([0, 1, 2]), np.array([2]), 2, 2), vocabulary=NAMES)
