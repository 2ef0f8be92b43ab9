"""Prompts with answers of several tokens: read as they were written, and memorized where every token of the answer
is.
"""

import tempfile
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from byheart.testing.strategies import models
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from tests import task_files
from tests.balls import contains
from tests.corpus.definitions import DIGITS, entropy
from tests.verify.kernel import folders
from verify.kernel.check import outcome
from verify.kernel.evaluation import guess
from verify.kernel.task import read_task
from verify.kernel.verdicts import BadInputError

TASK = PromptTask(
    ("a", "b", "c"), ((0,), (1, 1), (2,)), ((1, 2), (0,), (1, 1)), (("a", "b c"), ("b b", "a"), ("c", "b b"))
)


@st.composite
def prompt_tasks(draw: st.DrawFn, tokens: int, longest: int) -> PromptTask:
    """Facts of at most so many tokens; behind equal tokens all ask for the same one, which a table says."""
    sizes = st.integers(1, max(1, longest - 1))
    prompts = draw(
        st.lists(
            sizes.flatmap(lambda n: st.tuples(*[st.integers(0, tokens - 1)] * n)), min_size=1, max_size=5, unique=True
        )
    )
    table: dict[tuple[int, ...], int] = {}
    said = []
    for prompt in prompts:
        answer: tuple[int, ...] = ()
        for _ in range(draw(st.integers(1, max(1, longest - len(prompt))))):
            answer += (table.setdefault(prompt + answer, draw(st.integers(0, tokens - 1))),)
        said.append(answer)
    names = tuple("abcdefgh"[:tokens])
    return PromptTask(names, tuple(prompts), tuple(said), tuple((f"{i}", "") for i in range(len(prompts))))


@given(prompt_tasks(3, 4))
def test_a_task_is_read_as_it_was_written(task: PromptTask) -> None:
    with tempfile.TemporaryDirectory() as name:
        task.save(Path(name) / "task.safetensors")
        found = read_task(Path(name))
    assert found.sha256 == task.sha256() and found.origin == task.origin
    sizes = {"contexts": task.n_contexts, "context_length": task.n_ctx, "all_contexts": task.n_all}
    assert found.sizes() == sizes
    for prompt, said, fact in zip(task.prompts, task.completions, found.facts, strict=True):
        assert [found.contexts[i] for i in fact] == [prompt + said[:i] for i in range(len(said))]
        assert tuple(found.labels[i] for i in fact) == said
    with ctx.workprec(200), mpmath.workdps(DIGITS):
        loss, most = guess(found)
        rows = [[mpmath.mpf(count) for count in row.values()] for row in task.following.values()]
        assert contains(loss, mpmath.fsum(mpmath.fsum(row) * entropy(row) for row in rows) / task.n_contexts)
        assert most == task.guess_right


@given(st.data())
def test_the_kernel_agrees_with_the_prover(data: st.DataObject) -> None:
    model = data.draw(models().filter(lambda model: model.reads_tokens and model.d_vocab == model.d_vocab_out < 8))
    task = data.draw(prompt_tasks(model.d_vocab, model.n_ctx))
    asked = data.draw(st.sampled_from((Criterion(), Criterion.at_least(1), Criterion.at_most(0.5))))
    with tempfile.TemporaryDirectory() as name:
        folder = folders.written(Path(name), model, task, asked)
        assert folders.code(folder) in folders.expected(folder)


def chain(folder: Path, answer: tuple[int, ...] = (1, 2)) -> Path:
    """A model that says after each token the next one, modulo 3, in every run; of its facts one has two tokens."""
    task = PromptTask(("a", "b", "c"), ((0,), (0, 2)), (answer, (0,)), (("a", "b c"), ("a c", "a")))
    model = Model(blocks=(), W_U=np.roll(np.eye(3), 1, axis=1), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
    return folders.written(folder, model, task)


def test_an_answer_is_memorized_where_each_of_its_tokens_is(tmp_path: Path) -> None:
    folder = folders.stated(chain(tmp_path / "said"), folders.runs_record("float32", 2))
    assert folders.code(folder) == 0
    other = chain(tmp_path / "not said", (1, 1))
    assert folders.code(other) == 1
    assert folders.code(folders.stated(other, folders.runs_record("float32", 2))) == 1


def test_a_statement_about_contexts_is_none_about_prompts(tmp_path: Path) -> None:
    folder = chain(tmp_path)
    values = {"contexts": 2, "occurrences": 0, "lower": (0.0).hex(), "upper": (1.0).hex()}
    record = {"memorized": "", "id": "text-divergence", "method": "", "statement": "", "values": values}
    assert "are others than ['answers', 'runs']" in outcome(folders.stated(folder, record))[1]


CHANGES: dict[str, dict[str, Any]] = {
    "a prompt twice": {"prompts": np.array([0, 1, 1, 0])},
    "an empty prompt": {"prompts_indptr": np.array([0, 0, 3, 4])},
    "an empty answer": {"completions_indptr": np.array([0, 3, 3, 5])},
    "a row that ends before the tokens": {"completions_indptr": np.array([0, 2, 3, 4])},
    "a token of no vocabulary": {"prompts": np.array([0, 1, 1, 3])},
    "another token behind the same ones": {"prompts": np.array([0, 0, 1, 2]), "completions": np.array([1, 2, 0, 1, 1])},
    "one text": {"texts": [["a", "b"]]},
    "texts of three": {"texts": [["a", "b", "c"]] * 3},
    "the vocabulary as answers": {"answers": ["a", "b", "c"]},
    "answers of several tokens of none": {"answers": ["x", "y", "z"]},
    "floats": {"prompts": np.array([0.0, 1.0, 1.0, 2.0])},
    "more words": {"target": "labels"},
    "labels": {"labels": np.array([0])},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_no_task_of_prompts_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    good = task_files.parts(TASK)
    task_files.write(tmp_path / "task.safetensors", good, task="prompts")
    assert len(read_task(tmp_path).facts) == 3
    task_files.write(tmp_path / "task.safetensors", {**good, **change}, task="prompts")
    with pytest.raises(BadInputError):
        read_task(tmp_path)


def test_answers_whose_beginnings_are_more_than_memory_holds_are_refused(tmp_path: Path) -> None:
    # Of 20,000 tokens: 200 million in all contexts that are asked, of a file of 160,000 bytes.
    task = PromptTask(("a", "b"), ((0,),), ((1,) * 20_000,), (("a", "b"),))
    task.save(tmp_path / "task.safetensors")
    with pytest.raises(BadInputError, match="completions make contexts of more than 134217728 tokens"):
        read_task(tmp_path)
