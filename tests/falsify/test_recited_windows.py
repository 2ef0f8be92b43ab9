"""What is said of a text is proved of each of its windows: of enclosures however wide, and of windows that fork."""

from collections.abc import Iterator

import numpy as np
import pytest

from byheart.reciting import recitation, whole_text
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.task import windows_task
from constructions.tasks.windows import END, Windows
from verify import enclose_logits
from verify.arithmetic.enclosure import Enclosure
from verify.forward.ladder import decide_argmax
from verify.runs import bounded_runs


def one_logit_each(task_labels: Int64Array, contexts: Int64Array, leads: np.ndarray) -> Model:
    """A model of one token at a time in which the label of each window leads by so much, in thirds of it."""
    logits = np.zeros((task_labels.max() + 1, task_labels.max() + 1))
    logits[contexts[:, -1], task_labels] = leads / 3.0
    return Model(blocks=(), W_U=np.eye(len(logits)) * 3.0, W_E=logits, W_pos=np.zeros((contexts.shape[1], len(logits))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_window_that_is_lost_is_not_proved_however_far_off_the_middle_of_its_enclosure(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wider enclosures prove less: their middles say that all is right, and their radii that nothing is known."""
    task = whole_text("abcde")
    leads = np.where(task.contexts[:, -1] == 1, -1.0, 1.0)  # what follows b is lost
    model = one_logit_each(task.labels, task.contexts, leads)
    lost = decide_argmax(model, task.contexts).place != task.labels
    assert lost.sum() == 1

    def wide(model: Model, contexts: Int64Array) -> Iterator[tuple[int, Enclosure]]:
        exact, towards = enclose_logits(model, contexts), np.zeros((len(contexts), model.d_vocab_out))
        for row, context in enumerate(contexts):
            towards[row, task.labels[(task.contexts == context).all(axis=1).argmax()]] = 2.0
        yield 0, Enclosure(exact.midpoint + towards, exact.radius + 2.0)

    monkeypatch.setattr(bounded_runs, "logit_chunks", wide)
    found = recitation(model, task, dtype=dtype)
    assert (found.proved, found.exact, found.text) == (2, 2, "ab")


def test_a_window_that_goes_on_in_two_ways_is_right_once_at_most() -> None:
    """One token before each place: after a comes a, b or the end, and a model has one answer."""
    end, text = 2, np.array([0, 0, 1, 0, 2])
    task = windows_task(Windows(text, np.array([end]), 1, end), vocabulary=("a", "b", END))
    model = probe_memory(task).model
    assert (decide_argmax(model, task.contexts).place == task.labels).all()
    found = recitation(model, task)
    assert found.headline().startswith("NOT DECIDED: ") and found.proved < 4
    said = text[:-1][: found.proved]
    before = np.concatenate([[end], text[:-1]])[: found.proved]
    answers = dict(zip(task.contexts[:, 0].tolist(), task.labels.tolist(), strict=True))
    assert [answers[each] for each in before.tolist()] == said.tolist()


@pytest.mark.parametrize("texts", ["abcab", {"first": "abc", "second": "abd"}])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_text_that_is_said_and_goes_on_is_not_by_heart(texts: str | dict[str, str], dtype: str) -> None:
    """Its last window is the one after which it ends: where that is lost the model says more than the text."""
    task = whole_text(texts)
    assert task.windows is not None
    right, end = probe_memory(task).model, task.windows.end
    spoilt = right.with_each(
        lambda name, tensor: tensor - 1e3 * (np.arange(len(tensor)) == end) if name == "unembed.b_U" else tensor
    )
    lost = decide_argmax(spoilt, task.contexts).place != task.labels
    assert (lost == (task.labels == end)).all()
    assert recitation(right, task, dtype="float64").by == "runs"
    found = recitation(spoilt, task, dtype=dtype)
    assert not found.by and found.headline().startswith("NOT DECIDED: ")
