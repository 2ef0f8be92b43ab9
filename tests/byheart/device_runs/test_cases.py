"""The cases of the record of a device: every memory, every construction, each holding what it is built for."""

import re
from pathlib import Path

import pytest

import constructions
from byheart.device_runs.cases import Case, cases
from constructions.menu import BY_NAME
from constructions.model.precision import SHORT
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask
from verify.torch.run import run

CASES = list(cases())


def test_they_are_all_memories_and_all_constructions_of_the_page() -> None:
    assert [case.name for case in CASES if case.kind == "memory"] == list(BY_NAME)
    page = (Path(__file__).parents[3] / "docs" / "constructions.md").read_text()
    first_cells = " ".join(re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE))
    named = set(re.findall(r"\w+", first_cells)) & set(constructions.__all__)
    assert named == {case.name for case in CASES if case.kind == "construction"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_holds_its_contexts_in_float64_and_there_are_more_than_the_largest_batch(case: Case) -> None:
    built = case.build("float64")
    contexts = built.task.n_examples if isinstance(built.task, VectorTask) else built.task.n_contexts
    assert contexts > 64 or case.name == "newton"
    result = run(built.model, built.task, dtype="float64", tolerance=built.criterion.tolerance)
    assert result.within_bound and result.memorized == contexts


@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "memory"], ids=lambda case: case.name)
def test_a_memory_that_is_exact_in_a_short_type_is_built_for_it(case: Case) -> None:
    for dtype in set(SHORT) & set(BY_NAME[case.name].exact):
        if (case.name, dtype) != ("packed-words", "bfloat16"):  # whose words of 8 bits have no room for ten labels
            built = case.build(dtype)
            result = run(built.model, built.task, dtype=dtype)
            assert isinstance(built.task, Task)
            assert result.memorized_proved == result.memorized == built.task.n_contexts
