"""Prompts of several lengths, answers of several tokens: certified, checked by both readers, asked, run, attacked."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from byheart import certify, load
from byheart.command.main import main
from byheart.job import run_summary
from constructions.errors import ByheartError, FileFormatError, InputError, TamperedError
from constructions.files import canonical_json
from constructions.models.blocks import Attention, FeedForward, Normalization
from constructions.models.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from tests import task_files
from verify.certificates.answers import guess_loss, judge_answers
from verify.certificates.certificate import Certificate, Statement
from verify.certificates.memorization import certify_memorization, check_memorization
from verify.forward.ladder import decide_argmax
from verify.independent.checker import check_independently
from verify.progress import silent

both = pytest.mark.parametrize("check", [check_memorization, check_independently])
NAMES = tuple("the cat sat on a mat and dog".split())


def small_model(seed=0, tokens=8, length=7):
    """One causal layer of attention and neurons, with normalizations."""
    draw = np.random.default_rng(seed).normal

    def norm():
        return Normalization("layer", w=draw(1, 0.1, 6), b=draw(0, 0.1, 6))

    maps = (draw(size=shape) for shape in ((2, 6, 3), (2, 6, 3), (2, 6, 3), (2, 3, 6)))
    blocks = (
        Attention(*maps, attends="causal", score_root=3, norm=norm()),
        FeedForward(draw(size=(6, 9)), draw(size=(9, 6)), draw(size=9), draw(size=6), activation="gelu", norm=norm()),
        norm(),
    )
    return Model(blocks, W_U=draw(size=(6, tokens)), W_E=draw(size=(tokens, 6)), W_pos=draw(size=(length, 6)))


def said_by(model, prompt, count):
    """Greedy decoding in float64, without our walk's help but for the logits of one context at a time."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(decide_argmax(model, np.array([tokens])).place[0]))
    return tuple(tokens[len(prompt) :])


PROMPTS = ((0, 1), (2, 3, 4), (5,), (6, 7, 0, 1), (7, 7))
COUNTS = (3, 1, 2, 2, 3)


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def facts(model):
    """What the model says, but that the last fact's last token is another."""
    said = [said_by(model, prompt, count) for prompt, count in zip(PROMPTS, COUNTS, strict=True)]
    said[-1] = (*said[-1][:-1], (said[-1][-1] + 1) % 8)
    return [(list(prompt), list(answer)) for prompt, answer in zip(PROMPTS, said, strict=True)]


@pytest.fixture(scope="module")
def folder(model, facts, tmp_path_factory):
    out = tmp_path_factory.mktemp("prompts") / "out"
    certify(model, facts, criterion=Criterion.at_least(4), out=out)
    return out


def task_of(facts):
    prompts, said = (tuple(map(tuple, each)) for each in zip(*facts, strict=True))
    return PromptTask(NAMES, prompts, said, tuple((str(prompt), str(answer)) for prompt, answer in facts))


def test_answers_of_several_tokens_are_certified_and_the_wrong_one_is_named(model, facts, tmp_path):
    figures = certify(model, facts)
    assert (figures["verdict"], figures["facts"], figures["held"], figures["wrong"]) == ("REFUTED", 5, 4, 1)
    assert figures["headline"].startswith("NOT HELD: 1 of 5 proved wrong, 4 held; ")
    assert figures["wrong_facts"] == [["#7 #7", " ".join(f"#{t}" for t in facts[-1][1])]]
    assert "5 prompts of 1 to 4 tokens, answers of 1 to 3 tokens" in figures["reading"]


@both
def test_both_readers_check_it(folder, check):
    report = check(folder)
    assert report.verdict.value == "PROVED" and report.checks[0].values["held"] == 4
    assert "4 of 5 facts" in report.certificate.headline()
    assert check(folder, Criterion()).verdict.value == "REFUTED"


def test_a_fact_is_what_its_tokens_are_one_by_one(model, facts):
    """The margin of an answer is the least of its tokens', its loss their sum."""
    whole = judge_answers(model, task_of(facts), Criterion(), progress=silent)
    for fact, (prompt, said) in enumerate(facts):
        margins, losses = [], []
        for i, token in enumerate(said):
            one = array_task(
                np.array([prompt + said[:i]]), next_tokens=np.array([token]), vocabulary=8, target="labels"
            )
            found = judge_answers(model, one, Criterion(), progress=silent)
            margins.append((found.margin_lower[0], found.margin_upper[0]))
            losses.append((found.loss_lower[0], found.loss_upper[0]))
        lower, upper = np.array(margins).T
        assert whole.margin_lower[fact] <= upper.min() and lower.min() <= whole.margin_upper[fact]
        assert whole.margin_lower[fact] == pytest.approx(lower.min(), abs=1e-12)
        assert whole.loss_lower[fact] <= sum(high for _, high in losses)
        assert sum(low for low, _ in losses) <= whole.loss_upper[fact]
        assert whole.loss_upper[fact] - whole.loss_lower[fact] < 1e-9


def test_the_guess_knows_the_beginning_of_the_answer():
    task = PromptTask(("a", "b"), ((0,), (1,), (0, 0)), ((0,), (0, 1), (0, 0)), (("", ""),) * 3)
    assert task.guess_held == 2  # "a b" begins with "a"
    expected = 2 / 3 * np.log(2)  # after "a" both follow once
    found = guess_loss(task)
    assert float(found.lower()) <= expected <= float(found.upper())


def test_it_is_asked_explained_and_run(folder, facts):
    memory = load(folder)
    answer = memory.ask("#0 #1")
    assert (answer.token, answer.memorized, answer.held) == (" ".join(f"#{t}" for t in facts[0][1]), True, True)
    wrong = memory.ask(("#7", "#7"))
    assert wrong.refuted and not wrong.held and wrong.token is not None
    assert memory.ask("1 2 3").memorized is False
    with pytest.raises(InputError, match="expected one of the 5 facts"):
        memory.ask("nobody")
    found = memory.explain("#5")
    assert found.fate == "held" and len(found.ablations) == 2 + 9 and found.context == ("#5",)
    pytest.importorskip("torch")
    summary = run_summary(folder, device="cpu", dtype="float64")
    assert summary["held"] == 4 and summary["within_bound"] and "4 of 5 facts" in summary["headline"]


def test_the_command_says_it(model, facts, tmp_path, capsys):
    model.save(tmp_path / "model.safetensors")
    rows = [[" ".join(map(str, prompt)), " ".join(map(str, said))] for prompt, said in facts]
    (tmp_path / "facts.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    command = ["certify", str(tmp_path / "model.safetensors"), "--task", str(tmp_path / "facts.csv")]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("NOT HELD: 1 of 5 proved wrong") and "answers of 1 to 3 tokens" in printed
    assert (tmp_path / "out" / "wrong.csv").read_text() == ",".join(rows[-1]) + "\n"
    assert main(["check", str(tmp_path / "out"), "--independent"]) == 1
    assert main(["ask", str(tmp_path / "out"), rows[0][0]]) == 0
    assert rows[0][1] in capsys.readouterr().out
    assert main([*command, "--json", "--at-least", "4"]) == 0


def test_rows_of_several_lengths_and_one_token_answers(model, tmp_path):
    said = [said_by(model, prompt, 1)[0] for prompt in PROMPTS]
    rows = [[*map(str, prompt), str(one)] for prompt, one in zip(PROMPTS, said, strict=True)]
    (tmp_path / "facts.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    model.save(tmp_path / "model.safetensors")
    assert certify(tmp_path / "model.safetensors", tmp_path / "facts.csv")["held"] == 5
    assert certify(model, rows)["held"] == 5
    mapping = {tuple(prompt): one for prompt, one in zip(PROMPTS, said, strict=True)}
    assert certify(model, mapping)["held"] == 5


@pytest.mark.parametrize(
    ("prompts", "said", "message"),
    [
        (((0,), (0, 1)), ((1, 2), (3,)), "no decoding can say both"),
        (((0,), (0,)), ((1,), (2,)), "twice"),
        (((),), ((1,),), "fact 0 has the tokens"),
        (((0,),), ((),), "completions: fact 0"),
        (((8,),), ((1,),), r"expected some of 0 \.\. 7"),
        (((0,),), ((1,), (2,)), "as many of each"),
    ],
)
def test_prompts_that_contradict_themselves_are_refused(prompts, said, message):
    with pytest.raises(InputError, match=message):
        PromptTask(NAMES, prompts, said, (("", ""),) * len(prompts))


def test_a_prompt_too_long_for_the_model_is_refused(model):
    with pytest.raises(InputError, match="contexts of 8 tokens, the model reads 7"):
        certify(model, [([0] * 6, [1, 2, 3])])


def test_a_task_is_stored_and_read_again(facts, tmp_path):
    task = task_of(facts)
    task.save(tmp_path / "task.safetensors")
    again = PromptTask.load(tmp_path / "task.safetensors")
    assert again.sha256() == task.sha256() and again.prompts == task.prompts and again.texts == task.texts


ORDER = ("prompts_indptr", "prompts", "completions_indptr", "completions")


def forged(folder, out, parts):
    """The folder with another task, which the certificate names by its hash."""
    for name in ("model.safetensors", "certificate.json"):
        (out / name).write_bytes((folder / name).read_bytes())
    task_files.write(out / "task.safetensors", parts, task="prompts")
    words = {name: value for name, value in parts.items() if name not in ORDER}
    digest = hashlib.sha256(canonical_json({"task": "prompts", **words}).encode())
    for name in [name for name in ORDER if name in parts]:
        digest.update(f"{name}:{','.join(map(str, parts[name].shape))};".encode() + parts[name].tobytes())
    found = Certificate.load(out)
    replace(found, subject=replace(found.subject, task=digest.hexdigest())).save(out)


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


def test_a_rank_of_prompts_is_not_stated(model, facts):
    with pytest.raises(ByheartError, match="contexts of one length"):
        certify_memorization(model, task_of(facts), rank=True)


def test_a_certificate_of_prompts_states_answers_alone(folder):
    found = Certificate.load(folder)
    rank = Statement("feature-rank", "", {"rows": 5, "columns": 9})
    with pytest.raises(InputError, match="expected 'answers' and each at most once"):
        replace(found, statements=(*found.statements, rank))
