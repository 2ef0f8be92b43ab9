"""The page of a folder is made again from its files, of whichever kind it is, or it is said that nothing is drawn."""

from dataclasses import replace

import pytest

from byheart import hold
from byheart.measured import Measured
from byheart.report.pages import drawn, page, page_again
from constructions.errors import FileFormatError
from constructions.tasks.arrays import enumerated_task


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages") / "memory"
    memory = hold(enumerated_task(4, 2), memory="knots", quick=True)
    memory.save(folder)
    return folder, memory


def test_the_page_is_a_function_of_the_files(made):
    folder, memory = made
    measured = Measured.load(folder, memory.certificate)
    text = (folder / "report.html").read_text()
    assert page_again(folder, memory.certificate, measured) == text
    assert page(folder, memory.certificate, memory.model, memory.task.facts, measured) == text
    numbers = drawn(memory.model, memory.task.facts, memory.proved.answers, None)
    assert sum(count for _, count in numbers["margin_lower"]) == memory.task.n_contexts


@pytest.mark.parametrize("numbers", [None, {}, {"margin_lower": [[1.0, -3]]}])
def test_numbers_that_make_no_page_are_refused(made, numbers):
    folder, memory = made
    measured = replace(Measured.load(folder, memory.certificate), drawn=numbers)
    with pytest.raises(FileFormatError, match=r"nothing to draw|makes no page"):
        page_again(folder, memory.certificate, measured)


def test_logits_that_are_known_are_not_computed_again(made, monkeypatch):
    _, memory = made
    task, answers = memory.task.facts, memory.proved.answers
    assert answers.outputs is not None
    evaluated = drawn(memory.model, task, replace(answers, outputs=None), None)
    monkeypatch.setattr("byheart.report.page.enclose_logits", lambda *_: pytest.fail("the model is evaluated"))
    assert drawn(memory.model, task, answers, None) == evaluated
