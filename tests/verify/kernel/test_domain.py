"""Whole domains: counts that are true are proved, and larger ones are not."""

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask, rule_task
from tests.corpus.truth import falsehoods
from tests.domains import one_attention
from tests.verify.kernel import folders
from verify.kernel import domain, evaluation
from verify.kernel import rule as rules
from verify.kernel.check import outcome
from verify.provers.domain import certify_domain
from verify.verdict import Verdict

CODES = {Verdict.PROVED: 0, Verdict.REFUTED: 1, Verdict.UNDECIDED: 3}


def written(folder: Path, model: Model, task: RuleTask, criterion: Criterion | None = None, **options: Any) -> Path:
    """The folder of a certificate about a domain."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    certify_domain(model, task, criterion, **options).save(folder)
    return folder


def echo(folder: Path, rule: str = "last", **options: Any) -> Path:
    """A model that says its last token, which is the maximum of 30 of 64 inputs."""
    model = Model(blocks=(), W_U=np.eye(4), W_E=np.eye(4), W_pos=np.zeros((3, 4)))
    return written(folder, model, rule_task(rule, d_vocab=4, n_ctx=3), **options)


def changed(folder: Path, place: int = 0, **values: Any) -> Path:
    """The folder with other numbers, and the sentence that they make."""
    data = folders.certificate(folder)
    record = data["statements"][place]
    record["values"].update(values)
    if place == 0:
        numbers = (record["values"][name] for name in ("contexts", "memorized", "wrong", "guess_right"))
        record["statement"] = domain.sentence(domain.Statement(*numbers, token_by_token=False), SimpleNamespace())  # pyright: ignore
    return folders.rewritten(folder, data)


@given(st.integers(0, 2**32))
def test_the_kernel_agrees_with_the_prover_and_the_definitions(seed: int) -> None:
    model, task = one_attention(np.random.default_rng(seed), n_heads=1 + seed % 2, largest_tokens=4, largest_length=3)
    asked = Criterion() if seed % 3 else Criterion.at_least(max(1, task.n_contexts // 2))
    with tempfile.TemporaryDirectory() as name:
        folder = written(Path(name), model, task, asked)
        assert folders.code(folder) in folders.expected(folder), outcome(folder)
        if len(task.contexts_at(np.arange(task.n_contexts))) <= 16:
            assert falsehoods(folder) == [] or folders.code(folder) != 0


def test_counts_beyond_the_truth_are_not_proved(tmp_path: Path) -> None:
    folder = echo(tmp_path, "max", criterion=Criterion.at_least(30))
    values = folders.certificate(folder)["statements"][0]["values"]
    assert (values["memorized"], values["wrong"]) == (30, 34) and folders.code(folder) == 1  # the guess holds 37
    said = outcome(changed(folder, memorized=31, wrong=33))[1]
    assert said == "NOT PROVED: domain: 30 inputs are right and 34 are wrong, of 64"
    assert outcome(changed(folder, memorized=29, wrong=35))[1] == said
    assert "guess_right is 36" in outcome(changed(folder, memorized=30, wrong=34, guess_right=36))[1]
    folder = echo(tmp_path / "last")
    assert folders.code(folder) == 0
    assert (
        folders.code(changed(folder, memorized=63)) == 3 and folders.code(changed(folder, memorized=63, wrong=1)) == 1
    )
    assert folders.code(changed(folder, memorized=65, wrong=0)) == 2


@pytest.mark.parametrize("change", [{"memorized": "f"}, {"named": {}}, {"id": "answers"}, {"id": "text"}])
def test_another_form_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    data = folders.certificate(echo(tmp_path))
    data["statements"][0].update(change)
    assert folders.code(folders.rewritten(tmp_path, data)) == 2


def test_runs_of_a_rule_are_those_of_its_inputs(tmp_path: Path) -> None:
    folder = folders.stated(echo(tmp_path), folders.runs_record("float32", 64))
    assert folders.code(folder) == 0
    other = folders.stated(
        echo(tmp_path / "max", "max", criterion=Criterion.at_least(30)), folders.runs_record("float32", 64)
    )
    assert outcome(other)[1] == "NOT PROVED: runs in float32: context 4 is not memorized in any run"


def test_it_is_told_beforehand_how_long_runs_of_a_rule_take(tmp_path: Path, monkeypatch) -> None:
    folder, told = folders.stated(echo(tmp_path), folders.runs_record("float32", 64)), list[str]()
    monkeypatch.setattr(rules, "_FEW", 4)
    seconds = iter(range(0, 10**7, 100))
    monkeypatch.setattr(evaluation, "time", SimpleNamespace(process_time=lambda: next(seconds)))
    assert outcome(folder, tell=told.append)[0] == 0
    assert told == ["about 50 minutes more"]  # 4 inputs of 64 take 200 s, the other 60 fifteen times as long


def test_a_model_that_does_not_read_the_domain_is_refused(tmp_path: Path) -> None:
    folder = echo(tmp_path)
    for shape in ((3, 4), (4, 3)):
        model = Model(blocks=(), W_U=np.eye(4)[:, : shape[1]], W_E=np.eye(4)[: shape[0]], W_pos=np.zeros((3, 4)))
        model.save(folder / "model.safetensors")
        data = folders.certificate(folder)
        data["subject"]["model"] = model.sha256()
        data["subject"]["sizes"].update(outputs=shape[1], parameters=model.parameters)
        assert "model.safetensors: the model" in outcome(folders.rewritten(folder, data))[1]
