"""Prompts of several lengths, answers of several tokens: certified, asked, explained, run, and said by the command."""

import json

import numpy as np
import pytest

from byheart import certify, load
from byheart.cli.main import main
from byheart.hosts.facts.numbered_facts import Reading, read_facts
from byheart.jobs.run import run_summary
from constructions.errors import ByheartError, InputError
from constructions.progress import silent
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from tests.prompts import NAMES, PROMPTS, certified, facts, model, said_by, task_of
from verify.provers.answer_bounds import judge_answers
from verify.provers.memorization import certify_memorization


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return certified(tmp_path_factory.mktemp("prompts") / "out")


def test_answers_of_several_tokens_are_certified_and_the_wrong_one_is_named(tmp_path):
    figures = certify(model(), facts())
    assert (figures["verdict"], figures["facts"], figures["memorized"], figures["wrong"]) == ("REFUTED", 5, 4, 1)
    assert figures["headline"].startswith("NOT MEMORIZED: 1 of 5 facts proved wrong, 4 memorized")
    assert figures["wrong_facts"] == [["#7 #7", " ".join(f"#{t}" for t in facts()[-1][1])]]
    assert "5 prompts of 1 to 4 tokens, answers of 1 to 3 tokens" in figures["reading"]


def test_a_fact_is_what_its_tokens_are_one_by_one():
    """The margin of an answer is the least of its tokens', its loss their sum."""
    whole = judge_answers(model(), task_of(facts()), Criterion(), progress=silent)
    for fact, (prompt, said) in enumerate(facts()):
        margins, losses = [], []
        for i, token in enumerate(said):
            one = array_task(
                np.array([prompt + said[:i]]), next_tokens=np.array([token]), vocabulary=8, target="labels"
            )
            found = judge_answers(model(), one, Criterion(), progress=silent)
            margins.append((found.margin_lower[0], found.margin_upper[0]))
            losses.append((found.loss_lower[0], found.loss_upper[0]))
        lower, upper = np.array(margins).T
        assert whole.margin_lower[fact] <= upper.min() and lower.min() <= whole.margin_upper[fact]
        assert whole.margin_lower[fact] == pytest.approx(lower.min(), abs=1e-12)
        assert whole.loss_lower[fact] <= sum(high for _, high in losses)
        assert sum(low for low, _ in losses) <= whole.loss_upper[fact]
        assert whole.loss_upper[fact] - whole.loss_lower[fact] < 1e-9


def test_it_is_asked_explained_and_run(folder):
    memory = load(folder)
    answer = memory.ask("#0 #1")
    assert (answer.token, answer.is_fact, answer.memorized) == (" ".join(f"#{t}" for t in facts()[0][1]), True, True)
    wrong = memory.ask(("#7", "#7"))
    assert wrong.refuted and not wrong.memorized and wrong.token is not None
    assert memory.ask("1 2 3").is_fact is False
    with pytest.raises(InputError, match="expected one of the 5 facts"):
        memory.ask("nobody")
    found = memory.explain("#5")
    assert found.fate == "memorized" and len(found.ablations) == 2 + 9 and found.context == ("#5",)
    pytest.importorskip("torch")
    summary = run_summary(folder, device="cpu", dtype="float64")
    assert summary["memorized"] == 4 and summary["within_bound"] and "4 of 5 facts" in summary["headline"]


def test_the_command_says_it(tmp_path, capsys):
    model().save(tmp_path / "model.safetensors")
    rows = [[" ".join(map(str, prompt)), " ".join(map(str, said))] for prompt, said in facts()]
    (tmp_path / "facts.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    command = ["certify", str(tmp_path / "model.safetensors"), "--task", str(tmp_path / "facts.csv")]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("NOT MEMORIZED: 1 of 5 facts proved wrong") and "answers of 1 to 3 tokens" in printed
    assert (tmp_path / "out" / "wrong.csv").read_text() == ",".join(rows[-1]) + "\n"
    assert main(["check", str(tmp_path / "out"), "--fast"]) == 1
    assert main(["ask", str(tmp_path / "out"), rows[0][0]]) == 0
    assert rows[0][1] in capsys.readouterr().out
    assert main([*command, "--json", "--at-least", "4"]) == 0


def test_rows_of_several_lengths_and_one_token_answers(tmp_path):
    said = [said_by(model(), prompt, 1)[0] for prompt in PROMPTS]
    rows = [[*map(str, prompt), str(one)] for prompt, one in zip(PROMPTS, said, strict=True)]
    (tmp_path / "facts.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    model().save(tmp_path / "model.safetensors")
    assert certify(tmp_path / "model.safetensors", tmp_path / "facts.csv")["memorized"] == 5
    assert certify(model(), rows)["memorized"] == 5
    mapping = {tuple(prompt): one for prompt, one in zip(PROMPTS, said, strict=True)}
    assert certify(model(), mapping)["memorized"] == 5


def test_a_prompt_too_long_for_the_model_is_refused():
    with pytest.raises(InputError, match="contexts of 8 tokens, the model reads 7"):
        certify(model(), [([0] * 6, [1, 2, 3])])


def test_a_rank_of_prompts_is_not_stated():
    with pytest.raises(ByheartError, match="contexts of one length"):
        certify_memorization(model(), task_of(facts()), rank=True)


def test_cells_are_tokens_where_that_is_said_whatever_the_tokenizer_does(tmp_path):
    """As for edits, and where the library of tokenizers is missing."""
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({"model": {"type": "BPE", "vocab": {name: i for i, name in enumerate(NAMES)}}})
    )
    (tmp_path / "facts.csv").write_text("the,cat\n")
    task, _, _ = read_facts(tmp_path / "facts.csv", model(), tmp_path, Reading(cells="tokens", header=False))
    assert isinstance(task, Task) and task.contexts.tolist() == [[0]] and task.labels.tolist() == [1]
    with pytest.raises(InputError, match="cells = 'words'"):
        Reading(cells="words")


@pytest.mark.parametrize(
    "given",
    [
        [([1, 2], [3]), ([1, 2], [3]), ([1, 2], [4])],
        [([1, 2], [3, 5]), ([1, 2], [3, 6])],
        [(1, 3), (1, 3), (1, 4)],
        {"1": 3, 1: 4},
    ],
)
def test_an_answer_is_not_left_out_because_another_stands_there_more_often(given):
    with pytest.raises(InputError, match="contradict each other, expected one answer to each prompt"):
        certify(model(), given)


def test_a_table_in_which_answers_contradict_each_other_is_refused_but_for_weights(tmp_path):
    (tmp_path / "facts.csv").write_text("1,2\n1,2\n1,3\n")
    with pytest.raises(InputError, match="has 1 -> 2 and 1 -> 3, which contradict each other"):
        read_facts(tmp_path / "facts.csv", model())
    (tmp_path / "facts.csv").write_text("asked,said,weight\n1,2,2\n1,3,1\n")
    with pytest.raises(InputError, match="--weights or --no-weights"):
        read_facts(tmp_path / "facts.csv", model())
    task, said, _ = read_facts(tmp_path / "facts.csv", model(), None, Reading(weights=True))
    assert isinstance(task, Task) and task.labels.tolist() == [2]
    assert "1 answer left out, outweighed by another to the same prompt" in said


@pytest.mark.parametrize("wrong", [2.7, True, None, [1]])
def test_a_token_in_a_list_is_a_whole_number_or_a_name(wrong):
    with pytest.raises(InputError, match="have the token"):
        certify(model(), [([1, wrong], [3])])


def test_rows_and_records_are_read_from_json(tmp_path):
    """A fact a line, or one value."""
    pairs = [{"prompt": prompt, "answer": said} for prompt, said in facts()]
    (tmp_path / "facts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pairs))
    (tmp_path / "facts.json").write_text(json.dumps([list(each.values()) for each in pairs]))
    for name in ("facts.jsonl", "facts.json"):
        assert certify(model(), tmp_path / name)["memorized"] == 4
    with pytest.raises(InputError, match="header = True is given, but only a table in a file"):
        read_facts(tmp_path / "facts.json", model(), None, Reading(header=True))
    (tmp_path / "facts.jsonl").write_text('{"prompt": ')
    with pytest.raises(ByheartError, match="is not readable JSON"):
        read_facts(tmp_path / "facts.jsonl", model())
    (tmp_path / "facts.json").write_text('{"1": 3, "1": 4}')
    with pytest.raises(ByheartError, match="'1' stands there twice"):
        read_facts(tmp_path / "facts.json", model())
    (tmp_path / "facts.jsonl").write_text("\n5\n")
    with pytest.raises(InputError, match="row 0 is 5"):
        read_facts(tmp_path / "facts.jsonl", model())


def test_a_cell_that_is_no_token_says_what_may_be_missing(tmp_path):
    """The files of a tokenizer that is not read."""
    (tmp_path / "texts.csv").write_text("the capital of Peru is,Lima\nthe river,Seine\n")
    for old in ("vocab.json", "merges.txt", "tokenizer.model"):
        (tmp_path / old).write_text("")
        with pytest.raises(InputError, match=r"a tokenizer\.json beside the model instead of"):
            read_facts(tmp_path / "texts.csv", model(), tmp_path, Reading(header=False))
        (tmp_path / old).unlink()
