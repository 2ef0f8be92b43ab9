"""A memory answers what its weights compute, and says what of it is proved."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byheart
from byheart.facts import memorize
from byheart.jobs.memorize import hold
from byheart.memory import CertifiedMemory, Memory, ask, load
from constructions.errors import ByheartError, FileFormatError, InputError
from constructions.model.attention import logits
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.tasks.text import text_task
from tests.by_kernel import check_by_kernel
from tests.memories import changed, random_task
from tests.memories import memory as memory_of
from verify.arithmetic.enclosure import Enclosure
from verify.certificates.certificate import ANSWERS, MODEL_FILE, WITNESS_FILE, Certificate, Statement, mask_text
from verify.provers.memorization import certify_memorization, subject_of
from verify.verdict import Verdict

PAIRS = {("France", "capital"): "Paris", ("France", "river"): "Seine", ("Peru", "capital"): "Lima"}


def test_every_fact_is_answered_and_other_contexts_are_told_apart(tmp_path: Path) -> None:
    memory = memorize(PAIRS, memory="theorem-1")
    for context, following in PAIRS.items():
        answer = memory.ask(context)
        assert answer.token == following and answer.is_fact and answer.memorized and answer.margin_lower > 0
        assert answer.runner_up not in (None, following) and 0.9 < answer.probability <= 1.0
    other = memory.ask("Peru, river")
    assert not other.is_fact and not other.memorized
    assert isinstance(memory.task, Task)
    names = memory.task.vocabulary
    tokens = np.array([[names.index("Peru"), names.index("river")]])
    assert other.token == memory.task.answers[int(logits(memory.model, tokens)[0].argmax())]
    memory.save(tmp_path / "out")
    assert load(tmp_path / "out").ask(("Peru", "capital")).token == "Lima"
    proved = {each.id for each in check_by_kernel(tmp_path / "out").checks if each.verdict is Verdict.PROVED}
    assert {"answers", "feature-rank"} <= proved


def test_a_fact_that_is_not_memorized_is_not_said_to_be(tmp_path: Path) -> None:
    memory = memorize(PAIRS, memory="theorem-1")
    assert isinstance(memory.task, Task)
    tensors = dana_tensors(memory.model)
    swapped = tensors["W_U"].copy()
    labels = memory.task.labels
    swapped[:, [labels[0], labels[1]]] = swapped[:, [labels[1], labels[0]]]
    other = dana_network(**{**tensors, "W_U": swapped})
    certificate = certify_memorization(other, memory.task).certificate
    answers = [ask(other, memory.task, certificate, context) for context in PAIRS]
    assert [answer.memorized for answer in answers] == [False, False, True]
    assert all(answer.is_fact for answer in answers)
    assert answers[0].token == "Seine" and answers[1].token == "Paris"


def test_a_certificate_that_was_edited_makes_no_wrong_answer_memorized(tmp_path: Path) -> None:
    memory = memorize(PAIRS, memory="theorem-1")
    assert isinstance(memory.task, Task)
    swapped = np.roll(memory.model.W_U, 1, axis=1)  # every fact is answered, and proved, wrong
    other = dana_network(**{**dana_tensors(memory.model), "W_U": swapped})
    memory.save(tmp_path / "out")
    honest = Certificate.load(tmp_path / "out")
    other.save(tmp_path / "out" / MODEL_FILE)
    (tmp_path / "out" / WITNESS_FILE).unlink(missing_ok=True)
    numbers = honest.statement(ANSWERS)
    assert numbers is not None and numbers.values["memorized"] == len(PAIRS)
    for statement in (
        numbers,
        Statement(ANSWERS, "", {**numbers.values, "memorized": 2}, mask_text([True, True, False])),
    ):
        edited = replace(honest, subject=subject_of(other, memory.task), statements=(statement,), witness=None)
        edited.save(tmp_path / "out")
        answers = list(map(load(tmp_path / "out").ask, PAIRS))
        assert all(answer.is_fact and answer.margin_lower > 0 for answer in answers)
        assert [answer.token == following for answer, following in zip(answers, PAIRS.values(), strict=True)] == [
            False
        ] * 3
        assert not any(answer.memorized for answer in answers)


def test_what_the_vocabulary_lacks_is_read_as_other_and_said_to_be() -> None:
    memory = hold(text_task("abcabcabcabd", vocabulary=3, context=2, target="labels"), memory="theorem-1")
    assert memory.ask("ab").read_as == ("a", "b")
    assert memory.ask("a?").read_as == ("a", "<other>")
    for context in (5, b"ab", None):
        with pytest.raises(InputError, match="expected a text or its tokens"):
            memory.ask(context)  # pyright: ignore[reportArgumentType]


def test_a_distribution_of_two_modes_is_memorized_though_neither_leads() -> None:
    task = text_task("abacabac", vocabulary=3, context=1)
    memory = hold(task, memory="knots", dtype="float64")
    assert memory.certificate.verdict is Verdict.PROVED
    assert isinstance(memory.task, Task)
    tied = [i for i, modes in enumerate(memory.task.modes(np.arange(memory.task.n_contexts))) if modes.sum() > 1]
    assert tied
    for i in tied:
        answer = memory.ask(tuple(memory.task.vocabulary[t] for t in memory.task.contexts[i]))
        assert answer.is_fact and answer.memorized


def test_a_distribution_is_memorized_by_its_divergence_and_what_a_guess_knows_is_not_memorized() -> None:
    task = random_task(target="distributions")
    model = memory_of(task)
    for factor, tolerance, memorized in (
        (1.0, 1e-3, True),
        (1.5, 1e-3, False),
        (1.5, 9.0, True),
        (2.0**-30, 9.0, False),
    ):
        scaled = changed(model, W_U=factor * model.W_U)  # every argmax stays
        asked = certify_memorization(scaled, task, Criterion(tolerance=tolerance)).certificate
        contexts = [[task.vocabulary[token] for token in context] for context in task.contexts]
        answers = [ask(scaled, task, asked, context) for context in contexts]
        likeliest = task.modes()  # of two equal ones, rounding puts one in front
        assert all(likeliest[row, task.answers.index(answer.token)] for row, answer in enumerate(answers))
        found = [answer.memorized for answer in answers]
        assert all(found) if memorized else not all(found), (factor, tolerance)


def test_the_ladder_is_climbed_until_an_answer_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memorize(PAIRS, memory="theorem-1")
    assert isinstance(memory.task, Task) and isinstance(memory.certificate, Certificate)
    middle = 0.5 * (np.arange(memory.task.n_answers) == memory.task.labels[0])
    for radii, token in (([0.5, 0.25], None), ([0.5, 0.125], "Paris"), ([0.125, 9.0], "Paris")):

        def precisions(model: object, tokens: object, is_open: np.ndarray, radii: list[float] = radii) -> Iterator[Any]:
            for radius in radii:
                if is_open[0]:
                    yield None, None, None, Enclosure(middle[None], radius)

        monkeypatch.setattr("byheart.memory.rising_precision", precisions)
        answer = ask(memory.model, memory.task, memory.certificate, ("France", "capital"))
        assert answer.token == token and answer.memorized  # whatever this ladder is
        assert answer.margin_lower <= (0.25 if token else 0.0)


def test_a_tie_is_no_answer() -> None:
    memory = memorize(PAIRS, memory="theorem-1")
    flat = dana_network(**{**dana_tensors(memory.model), "W_U": 0 * memory.model.W_U + 1.0})
    found = ask(flat, memory.task, certify_memorization(flat, memory.task).certificate, ("Peru", "capital"))
    assert found.token is None and not found.memorized and found.margin_lower <= 0


def test_a_vocabulary_of_one_has_no_runner_up() -> None:
    memory = memorize("aaaa", context=1)
    answer = memory.ask("a")
    assert answer.token == "a" and answer.runner_up is None and answer.margin_lower == np.inf


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        load(tmp_path)


def test_distributions_are_asked_for_by_characters() -> None:
    memory = memorize("to be or not to be", context=2, memory="theorem-1")
    assert memory.ask("to").token == " " and memory.ask("xx to").token == " "
    assert isinstance(memory.certificate, Certificate)
    with pytest.raises(InputError, match="expected 2 tokens"):
        memory.ask("t")
    assert text_task("to be or not to be", context=2).sha256() == memory.task.sha256()


@pytest.fixture(scope="module")
def capitals() -> CertifiedMemory:
    return byheart.memorize({("France", "capital"): "<Paris>", ("Peru", "capital"): "Lima"}, memory="newton")


def test_a_memory_is_asked_like_a_dictionary_for_what_is_proved(capitals: CertifiedMemory) -> None:
    assert capitals["Peru", "capital"] == capitals["Peru, capital"] == "Lima"
    assert ("Peru", "capital") in capitals and "Peru, capital" in capitals
    for strange in (("capital", "Peru"), ("Peru", "river"), "Peru"):
        assert strange not in capitals
    with pytest.raises(KeyError, match="is none of the facts"):
        capitals["capital", "Peru"]
    with pytest.raises(KeyError, match="no token 'river'"):
        capitals["Peru", "river"]
    with pytest.raises(TypeError, match="not iterable"):
        iter(capitals)


def test_a_fact_that_is_not_memorized_is_no_item(capitals: CertifiedMemory) -> None:
    assert isinstance(capitals.task, Task)
    spoiled = replace(capitals.model, W_U=0 * capitals.model.W_U, b_U=None)
    with pytest.raises(KeyError, match="is not proved to be memorized"):
        Memory(capitals.task, spoiled, capitals.certificate)["Peru", "capital"]


def test_several_contexts_are_asked_at_once(capitals: CertifiedMemory) -> None:
    one, other = capitals.ask(["Peru, capital", "France, capital"])
    assert (one.token, other.token) == ("Lima", "<Paris>")
    assert capitals.ask([("Peru", "capital")]) == [one] and capitals.ask([]) == []


def test_a_notebook_shows_the_answer_and_the_facts_escaped(capitals: CertifiedMemory) -> None:
    shown = capitals._repr_html_()
    assert shown.startswith(
        "<b>MEMORIZED, PROVED: 2 of 2 facts, in every float32 run (fast prover only); 33 parameters"
    )
    assert "France, capital -&gt; &lt;Paris&gt;" in shown and len(shown) < 500


def test_what_was_saved_is_loaded_and_asked(capitals: CertifiedMemory, tmp_path: Path) -> None:
    capitals.save(tmp_path / "out")
    back = byheart.load(tmp_path / "out")
    assert repr(back) == str(capitals) and back["Peru", "capital"] == "Lima"
    assert back.ask("France, capital") == capitals.ask("France, capital")
    assert back.explain("Peru, capital") == capitals.explain("Peru, capital")
    assert back.export(to="safetensors", out=tmp_path / "written")["proved"] == {"memorized": 2, "wrong": 0}
    (tmp_path / "out" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ByheartError):
        byheart.load(tmp_path / "out")
