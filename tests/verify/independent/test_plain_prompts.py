"""Both readers of prompts: what they check again, and what was forged."""

from dataclasses import replace

import numpy as np
import pytest
from flint import arb

from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.tasks.criterion import Criterion
from tests import task_files
from tests.prompts import certified, forged
from verify.certificates.certificate import Certificate, Statement
from verify.independent.ball_answers import Answer
from verify.independent.checker import check_independently
from verify.independent.plain_prompts import PlainPromptTask, read_task, whole
from verify.provers.memorization import check_memorization

both = pytest.mark.parametrize("check", [check_memorization, check_independently])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return certified(tmp_path_factory.mktemp("prompts") / "out")


@both
def test_both_readers_check_it(folder, check):
    report = check(folder)
    assert report.verdict.value == "PROVED" and report.checks[0].values["held"] == 4
    assert "4 of 5 facts" in report.certificate.headline()
    assert check(folder, Criterion()).verdict.value == "REFUTED"


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("completions", lambda old: np.array([9, *old[1:]])),
        ("completions", lambda old: np.array([-1, *old[1:]])),
        ("prompts", lambda old: np.array([8, *old[1:]])),
        ("prompts", lambda old: np.append(old, 0)),
        ("prompts_indptr", lambda old: np.array([0, 0, *old[2:]])),
        ("prompts_indptr", lambda old: old[1:]),
        ("prompts", lambda old: old.astype(float)),
        ("prompts", lambda old: old[:, None]),
        ("prompts", None),
        ("texts", lambda old: old[1:]),
        ("texts", lambda old: [["", 0], *old[1:]]),
        ("texts", lambda old: [["", "", ""], *old[1:]]),
        ("texts", None),
        ("answers", lambda old: list("01234567")),
        ("answers", lambda old: list("abcdefgh")),
        ("vocabulary", lambda old: list("aacdefgh")),
        ("vocabulary", lambda old: 8),
        ("more", lambda old: 1),
    ],
)
def test_forged_tasks_are_refused(folder, tmp_path, check, name, value):
    parts = task_files.read(folder / "task.safetensors")
    if value is None:
        del parts[name]
    else:
        parts[name] = value(parts.get(name))
    forged(folder, tmp_path, parts)
    with pytest.raises((TamperedError, FileFormatError)):
        check(tmp_path)


@both
def test_another_answer_under_a_new_hash_is_not_proved(folder, tmp_path, check):
    parts = task_files.read(folder / "task.safetensors")
    parts["completions"] = np.array([(parts["completions"][0] + 1) % 8, *parts["completions"][1:]])
    forged(folder, tmp_path, parts)
    assert check(tmp_path).verdict.value == "REFUTED"
    forged(folder, tmp_path, task_files.read(folder / "task.safetensors"))
    assert check(tmp_path).verdict.value == "PROVED"


@both
def test_a_certificate_that_claims_more_is_not_proved(folder, tmp_path, check):
    for name in ("model.safetensors", "task.safetensors", "certificate.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    found = Certificate.load(tmp_path)
    values = {**found.answers.values, "held": 5, "wrong": 0}
    statement = replace(found.answers, values=values, held="")
    replace(found, statements=(statement,), criterion=Criterion()).save(tmp_path)
    assert check(tmp_path).verdict.value == "REFUTED"
    assert check(tmp_path).checks[0].verdict.value == "REFUTED"


def test_a_certificate_of_prompts_states_answers_alone(folder):
    found = Certificate.load(folder)
    rank = Statement("feature-rank", "", {"rows": 5, "columns": 9})
    with pytest.raises(InputError, match="expected 'answers' and each at most once"):
        replace(found, statements=(*found.statements, rank))


def test_facts_that_contradict_each_other_behind_equal_tokens_are_refused_by_the_second_reader(tmp_path):
    parts = {"vocabulary": list("ab"), "texts": [["", ""], ["", ""]]}
    for name, rows in (("prompts", [[0], [0, 1]]), ("completions", [[1, 0], [1]])):
        parts[f"{name}_indptr"] = np.cumsum([0, *map(len, rows)])
        parts[name] = np.concatenate(rows)
    task_files.write(tmp_path / "task.safetensors", parts, task="prompts")
    with pytest.raises(FileFormatError, match="ask for different tokens after the same ones"):
        read_task(tmp_path / "task.safetensors")
    parts["completions"][2] = 0
    task_files.write(tmp_path / "task.safetensors", parts, task="prompts")
    task = read_task(tmp_path / "task.safetensors")
    assert isinstance(task, PlainPromptTask) and task.most_frequent() == 1


def test_the_least_gap_of_an_answer_counts_and_the_sum_of_its_losses():
    for gaps in ((1, 2, 3), (3, 2, 1), (2, 1, 3)):
        found = whole([Answer(arb(gap), arb(gap)) for gap in gaps])
        assert found.margin == 1 and found.loss == 6
    assert whole([Answer(None, arb(1)), Answer(arb(5), arb(1))]).margin == 5
