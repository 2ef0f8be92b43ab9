"""Certificates of models of other people, checked by both readers."""

import json

import numpy as np
import pytest

from byheart import certify
from byheart.command.main import main
from byheart.hosts.certify import read_facts
from byheart.hosts.export import ANSWERS_FILE, export, host_named
from constructions.errors import FileFormatError, InputError
from constructions.memories.knots import knots_memory
from constructions.models.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.table import table_task
from constructions.tasks.task import Counts, make_task
from tests.exports import MODELS, TASKS, task_of
from verify.certificates.memorization import check_memorization
from verify.independent.checker import check_independently

NAME = "layer normalization as in GPT-2"


def spoiled(task, count):
    """The same contexts, where the first few labels are others."""
    labels = (task.labels + (np.arange(task.n_contexts) < count)) % task.vocabulary_size
    rows = [{int(label): 1} for label in labels]
    return make_task(task.contexts, Counts.from_rows(rows), vocabulary=task.vocabulary, target="labels")


def written(folder, name=NAME, to="transformer-lens"):
    folder.mkdir()
    host = host_named(to)
    host.write(host.convert(MODELS[name]), folder, "float64")
    return folder


@pytest.mark.parametrize("name", [NAME, "network of one attention", "gelu neurons"])
def test_a_model_of_transformerlens_is_certified_and_both_readers_check_it(name, tmp_path):
    task = task_of(name)
    figures = certify(written(tmp_path / "in", name), task, out=tmp_path / "out")
    assert (figures["verdict"], figures["held"], figures["wrong"]) == ("PROVED", task.n_contexts, 0)
    assert figures["margin_lower"] > 0
    for check in (check_memorization, check_independently):
        assert check(tmp_path / "out").verdict.value == "PROVED"
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == figures


def test_facts_that_are_not_held_are_proved_wrong_and_named(tmp_path):
    task = spoiled(task_of(NAME), 3)
    figures = certify(MODELS[NAME], task, out=tmp_path / "out")
    assert figures["verdict"] == "REFUTED" and figures["held"] == task.n_contexts - 3
    contexts = [task.contexts[place].tolist() for place in figures["wrong_contexts"]]
    assert sorted(contexts) == sorted(task_of(NAME).contexts[:3].tolist())
    assert figures["undecided_contexts"] == []
    at_least = certify(MODELS[NAME], task, criterion=Criterion.at_least(task.n_contexts - 3))
    assert at_least["verdict"] == "PROVED" and "files" not in at_least


def test_a_module_is_certified_by_a_mapping_of_names():
    torch = pytest.importorskip("torch")
    model, task = MODELS["stack of attention"], task_of("stack of attention")
    names = {name: f"theirs_{place}" for place, name in enumerate(model.tensors())}
    module = torch.nn.ParameterDict({names[name]: torch.tensor(tensor) for name, tensor in model.tensors().items()})
    figures = certify(module, task, config=model.options(), names=names)
    assert figures["verdict"] == "PROVED" and figures["model"] == model.sha256()
    with pytest.raises(InputError, match="names has 'nothing', which is no tensor of the"):
        certify(module, task, config=model.options(), names={"unembed.W_U": "nothing"})
    with pytest.raises(InputError, match=r"names leaves out the tensors theirs_0 \(1 in all\)"):
        certify(module, task, config=model.options(), names=dict(list(names.items())[1:]))
    with pytest.raises(InputError, match="config is missing"):
        certify(module, task)
    with pytest.raises(InputError, match="source is int"):
        certify(5, task, config={})


def test_facts_are_read_from_tables_and_arrays(tmp_path):
    model, task = MODELS[NAME], task_of(NAME)
    task.save(tmp_path / "task.npz")
    np.savez(tmp_path / "arrays.npz", contexts=task.contexts, next_tokens=task.labels)
    rows = [",".join(map(str, [*tokens, label])) for tokens, label in zip(task.contexts, task.labels, strict=True)]
    (tmp_path / "numbers.csv").write_text("\n".join(rows) + "\n")
    named = ["\t".join("abcdefg"[int(number)] for number in row.split(",")) for row in rows]
    (tmp_path / "names.tsv").write_text("\n".join(named) + "\n")
    folder = tmp_path / "out"
    export(model, task=task, to="safetensors", out=folder)
    expected = {(tuple(tokens), label) for tokens, label in zip(task.contexts.tolist(), task.labels, strict=True)}
    for file in ("task.npz", "arrays.npz", "numbers.csv", "names.tsv"):
        found = read_facts(tmp_path / file, model, folder)
        facts = {(tuple(tokens), label) for tokens, label in zip(found.contexts.tolist(), found.labels, strict=True)}
        assert facts == expected and found.target == "labels" and found.vocabulary_size == model.d_vocab_out
    assert read_facts(tmp_path / "names.tsv", model, folder).vocabulary == tuple("abcdefg")
    with pytest.raises(InputError, match=r"names\.tsv has the cell '.', expected the number of a token"):
        read_facts(tmp_path / "names.tsv", model)
    with pytest.raises(FileFormatError, match="nothing"):
        read_facts(tmp_path / "nothing.npz", model)


def test_facts_of_vectors_are_certified(tmp_path):
    figures = certify(MODELS["layer of classes"], TASKS["layer of classes"], out=tmp_path / "out")
    assert figures["verdict"] == "PROVED" and check_independently(tmp_path / "out").verdict.value == "PROVED"


def test_the_command_exits_with_the_verdict(tmp_path, capsys):
    folder, good, bad = written(tmp_path / "in"), tmp_path / "good.npz", tmp_path / "bad.npz"
    task_of(NAME).save(good)
    spoiled(task_of(NAME), 2).save(bad)
    assert main(["certify", str(folder), "--task", str(good), "--out", str(tmp_path / "out")]) == 0
    assert "HELD, PROVED: 20 of 20 contexts" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "out")]) == 0
    assert main(["certify", str(folder), "--task", str(bad), "--json"]) == 1
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (shown["held"], shown["wrong"], len(shown["wrong_contexts"])) == (18, 2, 2)
    assert main(["certify", str(folder), "--task", str(bad), "--at-least", "18"]) == 0
    assert main(["certify", str(tmp_path), "--task", str(good)]) == 1
    assert main(["certify", str(folder), "--task", str(tmp_path / "x.csv")]) == 2


def test_the_command_exports(tmp_path, capsys):
    task_of(NAME).save(tmp_path / "task.npz")
    words = ["certify", str(written(tmp_path / "in")), "--task", str(tmp_path / "task.npz")]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    assert main(["export", str(tmp_path / "a"), "--to", "safetensors", "--dtype", "float32"]) == 0
    assert "20 of 20 argmaxes right, proved of the weights as written" in capsys.readouterr().out
    assert (tmp_path / "a-safetensors" / "parity.json").is_file()
    assert main(["export", str(tmp_path / "a"), "--to", "safetensors"]) == 2


def test_linear_maps_of_torch_are_read_as_torch_applies_them():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)

    class Bigram(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(6, 6), torch.nn.Embedding(1, 6)
            self.out = torch.nn.Linear(6, 6, bias=True)
            self.double()

        def forward(self, tokens):
            return self.out(self.tokens(tokens) + self.places.weight[0])

    module = Bigram()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.tensor(rng.normal(size=tuple(parameter.shape))))
        labels = module(torch.arange(6)).argmax(dim=1).numpy()
    task = array_task(np.arange(6)[:, None], next_tokens=labels, vocabulary=6, target="labels")
    names = {
        "embed.W_E": "tokens.weight", "pos_embed.W_pos": "places.weight", "unembed.W_U": "out.weight",
        "unembed.b_U": "out.bias",
    }  # fmt: skip
    config = {"input": "tokens", "blocks": []}
    assert certify(module, task, config=config, names=names)["held"] == 6
    del names["unembed.b_U"]
    with pytest.raises(InputError, match=r"names leaves out the tensors out\.bias"):
        certify(module, task, config=config, names=names)


TABLE = "subject 0,relation,answer 2\nsubject 1,relation,answer 0\nsubject 2,relation,answer 2\n"


@pytest.fixture
def exported(tmp_path):
    """A memory of a table whose answers are never read, exported; and the table in a file."""
    (tmp_path / "facts.csv").write_text(TABLE)
    task = table_task(TABLE)
    export(knots_memory(task).model, task=task, to="safetensors", out=tmp_path / "out")
    knots_memory(task).model.save(tmp_path / "out" / "model.safetensors")
    return tmp_path / "out"


def test_a_table_is_read_in_the_vocabularies_beside_the_model(exported, tmp_path):
    task = read_facts(tmp_path / "facts.csv", Model.load(exported / "model.safetensors"), exported)
    assert task.vocabulary == ("subject 0", "relation", "subject 1", "subject 2")
    assert task.answers == ("answer 2", "answer 0") and task.labels.tolist() == [0, 1, 0]
    figures = certify(Model.load(exported / "model.safetensors"), task)
    assert (figures["verdict"], figures["held"]) == ("PROVED", 3)
    assert certify(exported, tmp_path / "facts.csv", out=tmp_path / "proved")["held"] == 3
    assert check_independently(tmp_path / "proved").verdict.value == "PROVED"


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        (["answer 0", "answer 2"], None, ""),  # swapped: proved to be wrong
        (["answer 2"], InputError, "'answer 0', expected a token of answers.json"),
        (["answer 2", "answer 0", "more"], InputError, "3 answers, the model 2 logits"),
        (["answer 2", "answer 2"], FileFormatError, "expected texts, each once"),
        ([], FileFormatError, "expected texts, each once"),
        (["answer 2", 0], FileFormatError, "expected texts, each once"),
        ({"answer 2": 0, "answer 0": 1}, FileFormatError, "expected texts, each once"),
        (5, FileFormatError, "no vocabulary"),
    ],
)
def test_answers_beside_the_model_that_are_spoiled_prove_nothing(exported, tmp_path, answers, error, message):
    (exported / ANSWERS_FILE).write_text(json.dumps(answers))
    if error is None:
        assert certify(exported, tmp_path / "facts.csv")["wrong"] == 3
        return
    with pytest.raises(error, match=message):
        certify(exported, tmp_path / "facts.csv")


def test_numbers_of_a_model_that_reads_more_than_it_answers_are_told_apart(tmp_path):
    model = Model(blocks=(), W_U=np.eye(3)[:, :2], W_E=np.eye(3), W_pos=np.zeros((1, 3)))
    np.savez(tmp_path / "arrays.npz", contexts=[[0], [1]], next_tokens=[0, 1])
    task = read_facts(tmp_path / "arrays.npz", model)
    assert (task.vocabulary_size, task.n_answers) == (3, 2)
    assert certify(model, task)["held"] == 2
    (tmp_path / "facts.csv").write_text("0,0\n1,1\n")
    assert certify(model, tmp_path / "facts.csv")["held"] == 2
    (tmp_path / "facts.csv").write_text("0,0\n1,2\n")
    with pytest.raises(InputError, match="the answer 2 occurs"):
        certify(model, tmp_path / "facts.csv")


def test_a_task_of_two_vocabularies_is_asked_of_a_model_of_one_in_one():
    task = table_task(TABLE)
    one = knots_memory(task.in_one_vocabulary()).model
    with pytest.raises(InputError, match=r"2 answers, the model 6 logits; task\.in_one_vocabulary\(\)"):
        certify(one, task)
    assert certify(one, task.in_one_vocabulary())["held"] == 3
