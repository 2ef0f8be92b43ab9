"""Prompts and answers of several tokens: what contradicts itself is refused, and what is stored is read again."""

import numpy as np
import pytest

from constructions.errors import FileFormatError, InputError
from constructions.tasks.prompts import PromptTask
from tests import task_files
from tests.prompts import NAMES, facts, task_of
from verify.provers.answer_bounds import guess_loss


def test_the_guess_knows_the_beginning_of_the_answer():
    task = PromptTask(("a", "b"), ((0,), (1,), (0, 0)), ((0,), (0, 1), (0, 0)), (("", ""),) * 3)
    assert task.guess_right == 2  # "a b" begins with "a"
    expected = 2 / 3 * np.log(2)  # after "a" both follow once
    found = guess_loss(task)
    assert float(found.lower()) <= expected <= float(found.upper())


@pytest.mark.parametrize(
    ("prompts", "said", "message"),
    [
        (((0,), (0, 1)), ((1, 2), (3,)), "no decoding can give both"),
        (((0,), (0,)), ((1,), (2,)), "expected one answer to each"),
        (((),), ((1,),), "fact 0 has the tokens"),
        (((0,),), ((),), "completions: fact 0"),
        (((8,),), ((1,),), r"expected some of 0 \.\. 7"),
        (((0,),), ((1,), (2,)), "as many of each"),
    ],
)
def test_prompts_that_contradict_themselves_are_refused(prompts, said, message):
    with pytest.raises(InputError, match=message):
        PromptTask(NAMES, prompts, said, (("", ""),) * len(prompts))


def test_a_task_is_stored_and_read_again(tmp_path):
    task = task_of(facts())
    task.save(tmp_path / "task.safetensors")
    again = PromptTask.load(tmp_path / "task.safetensors")
    assert again.sha256() == task.sha256() and again.prompts == task.prompts and again.texts == task.texts


def test_answers_that_are_the_vocabulary_once_more_are_refused(tmp_path):
    parts = task_files.parts(task_of(facts()))
    task_files.write(tmp_path / "task.safetensors", {**parts, "answers": parts["vocabulary"]}, task="prompts")
    with pytest.raises(FileFormatError, match="the vocabulary once more"):
        PromptTask.load(tmp_path / "task.safetensors")


def test_words_are_no_tokens_where_a_tokenizer_has_cut_the_texts():
    """ "The Lima" would be the tokens of "TheLima"."""
    names = ("The", " capital", "Lima", "capital")
    task = PromptTask(names, ((0, 1),), ((2,),), (("The capital", "Lima"),))
    assert task.typed("The capital ") == ((0, 1), 0) and task.typed("#0 #2") == ((0, 2), None)
    assert task.typed(["The", "Lima"]) == ((0, 2), None)
    with pytest.raises(InputError, match="is 'The Lima', expected one of the 1 facts"):
        task.typed("The Lima")
    spoken = PromptTask(names, ((0, 3),), ((2,),), (("The capital", "Lima"),))
    assert spoken.typed("The Lima") == ((0, 2), None)
