"""Certificates of models of other people, checked by both readers."""

import json

import numpy as np
import pytest

from byheart import certify
from byheart.cli.main import main
from byheart.hosts.certify import certify_rule
from byheart.hosts.export import export
from byheart.hosts.exported import gpt2, huggingface
from byheart.hosts.facts.numbered_facts import read_facts
from byheart.hosts.host import host_named
from byheart.hosts.reading import read_model
from byheart.hosts.tokenizer import ANSWERS_FILE, TOKENIZER_FILE, tokenizer_json
from constructions.errors import FileFormatError, InputError
from constructions.memories.knots import knots_memory
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.table import table_task
from tests.by_kernel import check_by_kernel
from tests.domains import max_of_four
from tests.exports import MODELS, TASKS, spoiled, task_of, written_for
from verify.provers.memorization import check_memorization
from verify.verdict import Verdict

NAME = "layer normalization as in GPT-2"


@pytest.mark.parametrize("name", [NAME, "network of one attention", "gelu neurons"])
def test_a_model_of_transformerlens_is_certified_and_both_readers_check_it(name, tmp_path):
    task = task_of(name)
    figures = certify(written_for("transformer-lens", tmp_path / "in", name), task, out=tmp_path / "out")
    assert (figures["verdict"], figures["memorized"], figures["wrong"]) == ("PROVED", task.n_contexts, 0)
    assert figures["margin_lower"] > 0
    for check in (check_memorization, check_by_kernel):
        assert check(tmp_path / "out").verdict.value == "PROVED"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    said = {**summary, **summary["measured"], "files": figures["files"]}
    assert {name: said[name] for name in figures} == figures


def test_facts_that_are_not_memorized_are_proved_wrong_and_named(tmp_path):
    task = spoiled(task_of(NAME), 3)
    figures = certify(MODELS[NAME], task, out=tmp_path / "out")
    assert figures["verdict"] == "REFUTED" and figures["memorized"] == task.n_contexts - 3
    contexts = [task.contexts[place].tolist() for place in figures["wrong_contexts"]]
    assert sorted(contexts) == sorted(task_of(NAME).contexts[:3].tolist())
    names = [[task.vocabulary[token] for token in context] for context in contexts]
    labels = [task.answers[task.labels[place]] for place in figures["wrong_contexts"]]
    assert figures["wrong_facts"] == [[*context, label] for context, label in zip(names, labels, strict=True)]
    assert figures["undecided_contexts"] == figures["undecided_facts"] == []
    at_least = certify(MODELS[NAME], task, criterion=Criterion.at_least(task.n_contexts - 3))
    # The model says one token nearly everywhere, so a guess holds as many.
    assert at_least["headline"].startswith("NO BETTER THAN A GUESS: 17 of 20") and "files" not in at_least


def test_a_module_is_certified_by_a_mapping_of_names():
    torch = pytest.importorskip("torch")
    model, task = MODELS["stack of attention"], task_of("stack of attention")
    names = {name: f"theirs_{place}" for place, name in enumerate(model.tensors())}
    module = torch.nn.ParameterDict({names[name]: torch.tensor(tensor) for name, tensor in model.tensors().items()})
    figures = certify(module, task, config=model.options(), names=names)
    assert figures["verdict"] == "PROVED" and figures["model"] == model.sha256()
    with pytest.raises(InputError, match="names has 'nothing', which is not a tensor of the"):
        certify(module, task, config=model.options(), names={"unembed.W_U": "nothing"})
    with pytest.raises(InputError, match=r"names leaves out the tensors theirs_0 \(1 in all\)"):
        certify(module, task, config=model.options(), names=dict(list(names.items())[1:]))
    with pytest.raises(InputError, match="config is missing"):
        certify(module, task)
    with pytest.raises(InputError, match="source is int"):
        certify(5, task, config={})


def test_facts_are_read_from_tables_and_arrays(tmp_path):
    model, task = MODELS[NAME], task_of(NAME)
    task.save(tmp_path / "task.safetensors")
    np.savez(tmp_path / "arrays.npz", contexts=task.contexts, next_tokens=task.labels)
    rows = [",".join(map(str, [*tokens, label])) for tokens, label in zip(task.contexts, task.labels, strict=True)]
    (tmp_path / "numbers.csv").write_text("\n".join(rows) + "\n")
    named = ["\t".join("abcdefg"[int(number)] for number in row.split(",")) for row in rows]
    (tmp_path / "names.tsv").write_text("\n".join(named) + "\n")
    folder = tmp_path / "out"
    export(model, task=task, to="safetensors", out=folder)
    expected = {(tuple(tokens), label) for tokens, label in zip(task.contexts.tolist(), task.labels, strict=True)}
    for file in ("task.safetensors", "arrays.npz", "numbers.csv", "names.tsv"):
        found = read_facts(tmp_path / file, model, folder)[0]
        facts = {(tuple(tokens), label) for tokens, label in zip(found.contexts.tolist(), found.labels, strict=True)}
        assert facts == expected and found.target == "labels" and found.d_vocab == model.d_vocab_out
    assert read_facts(tmp_path / "names.tsv", model, folder)[0].vocabulary == tuple("abcdefg")
    with pytest.raises(InputError, match=r"names\.tsv has the cell '.', expected the number of a token"):
        read_facts(tmp_path / "names.tsv", model)
    with pytest.raises(FileFormatError, match="nothing"):
        read_facts(tmp_path / "nothing.npz", model)


def test_facts_of_vectors_are_certified(tmp_path):
    figures = certify(MODELS["layer of classes"], TASKS["layer of classes"], out=tmp_path / "out")
    assert figures["verdict"] == "PROVED" and check_by_kernel(tmp_path / "out").verdict.value == "PROVED"


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
    assert certify(module, task, config=config, names=names)["memorized"] == 6
    del names["unembed.b_U"]
    with pytest.raises(InputError, match=r"names leaves out the tensors out\.bias"):
        certify(module, task, config=config, names=names)


TABLE = "subject 0,colour,answer 2\nsubject 1,colour,answer 0\nsubject 2,colour,answer 2\n"


@pytest.fixture
def exported(tmp_path):
    """A memory of a table whose answers are never read, exported; and the table in a file."""
    (tmp_path / "facts.csv").write_text(TABLE)
    task = table_task(TABLE)
    export(knots_memory(task).model, task=task, to="safetensors", out=tmp_path / "out")
    knots_memory(task).model.save(tmp_path / "out" / "model.safetensors")
    return tmp_path / "out"


def test_a_table_is_read_in_the_vocabularies_beside_the_model(exported, tmp_path):
    task = read_facts(tmp_path / "facts.csv", Model.load(exported / "model.safetensors"), exported)[0]
    assert task.vocabulary == ("subject 0", "colour", "subject 1", "subject 2")
    assert task.answers == ("answer 2", "answer 0") and task.labels.tolist() == [0, 1, 0]
    figures = certify(Model.load(exported / "model.safetensors"), task)
    assert (figures["verdict"], figures["memorized"]) == ("PROVED", 3)
    assert certify(exported, tmp_path / "facts.csv", out=tmp_path / "proved")["memorized"] == 3
    assert check_by_kernel(tmp_path / "proved").verdict.value == "PROVED"


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        (
            {"answers": [5, 4]},
            "answers.json calls column 0 'answer 2', but config.json gives it to token 5, expected 4",
        ),
        ({"answers": [4, 4]}, r"answers is \[4, 4\], expected a token for each of the 2 columns"),
        ({"answers": [4]}, "expected a token for each of the 2 columns"),
        ({"answers": [4, 9]}, "expected tokens below vocab_size = 6"),
        ({"answers": [4, True]}, "expected a token for each"),
        ({"answers": "45"}, "expected a token for each"),
        ({"vocab_size": 3}, "vocab_size is 3, expected at least 4, the size of the embeddings"),
        ({"answers": None}, "vocab_size is 6, expected 4"),
    ],
)
def test_answers_that_a_configuration_gives_to_tokens_are_those_of_the_names(exported, tmp_path, changes, message):
    task = table_task(TABLE)
    names, model = task.names(), knots_memory(task).model
    folder = tmp_path / "huggingface"
    folder.mkdir()
    huggingface.HOST.write(model, folder, "float64")
    config = json.loads((folder / "config.json").read_text())
    config |= {"vocab_size": len(names), "answers": [names.index(name) for name in task.answers]}
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {name: i for i, name in enumerate(names)}}}))
    (folder / ANSWERS_FILE).write_text(json.dumps(task.answers))
    if message is None:
        assert read_model(folder).sha256() == model.sha256()
        assert certify(folder, tmp_path / "facts.csv")["memorized"] == 3
        return
    with pytest.raises(InputError, match=message):
        certify(folder, tmp_path / "facts.csv")


def test_the_table_of_a_memory_in_the_form_of_gpt2_is_read_in_its_one_vocabulary(tmp_path, capsys):
    """`answers.json` beside it names the answers, and the outputs are those of all tokens."""
    (tmp_path / "facts.csv").write_text("entity,property,object\n" + TABLE)
    task, host = table_task(TABLE), host_named("gpt2")
    model, _ = gpt2.in_one_vocabulary(knots_memory(task).model, task)
    (tmp_path / "hf").mkdir()
    host.write(host.convert(model), tmp_path / "hf", "float64")
    (tmp_path / "hf" / TOKENIZER_FILE).write_text(json.dumps(tokenizer_json(task)))
    (tmp_path / "hf" / ANSWERS_FILE).write_text(json.dumps(task.answers))
    command = ["certify", str(tmp_path / "hf"), "--task", str(tmp_path / "facts.csv"), "--no-handshake"]
    assert main(command) == 0
    assert "the first row names the columns: entity, property, object (--no-header" in capsys.readouterr().out
    (tmp_path / "hf" / ANSWERS_FILE).write_text(json.dumps(["answer 2", "nobody"]))
    with pytest.raises(InputError, match=r"'answer 0', expected a token of answers\.json"):
        certify(tmp_path / "hf", tmp_path / "facts.csv", handshake=False)


@pytest.mark.parametrize("stored", ["{", "5", '{"answers": [4]}', '{"answers": 5}'])
def test_a_configuration_beside_the_answers_that_is_spoiled_is_named(exported, tmp_path, stored):
    (exported / "config.json").write_text(stored)
    with pytest.raises((FileFormatError, InputError), match=r"config\.json"):
        read_facts(tmp_path / "facts.csv", Model.load(exported / "model.safetensors"), exported)


def test_a_tokenizer_with_gaps_or_a_number_twice_names_no_tokens(exported, tmp_path):
    path = exported / TOKENIZER_FILE
    whole = json.loads(path.read_text())
    model = Model.load(exported / "model.safetensors")
    for name, number in (("subject 2", 1), ("subject 2", -1), ("more", 2)):
        vocabulary = {**whole["model"]["vocab"], name: number}
        path.write_text(json.dumps({**whole, "model": {**whole["model"], "vocab": vocabulary}}))
        if number == -1:
            with pytest.raises(InputError, match="contexts has entries in"):
                read_facts(tmp_path / "facts.csv", model, exported)
            continue
        task = read_facts(tmp_path / "facts.csv", model, exported)[0]
        assert task.vocabulary == tuple("0123")  # no name is guessed


def test_numbers_of_a_model_that_reads_more_than_it_answers_are_told_apart(tmp_path):
    model = Model(blocks=(), W_U=np.eye(3)[:, :2], W_E=np.eye(3), W_pos=np.zeros((1, 3)))
    np.savez(tmp_path / "arrays.npz", contexts=[[0], [1]], next_tokens=[0, 1])
    task = read_facts(tmp_path / "arrays.npz", model)[0]
    assert (task.d_vocab, task.n_answers) == (3, 2)
    assert certify(model, task)["memorized"] == 2
    (tmp_path / "facts.csv").write_text("0,0\n1,1\n")
    assert certify(model, tmp_path / "facts.csv")["memorized"] == 2
    (tmp_path / "facts.csv").write_text("0,0\n1,2\n")
    with pytest.raises(InputError, match="the answer 2 occurs"):
        certify(model, tmp_path / "facts.csv")


def test_a_task_of_two_vocabularies_is_asked_of_a_model_of_one_in_one():
    task = table_task(TABLE)
    one = knots_memory(task.in_one_vocabulary()).model
    with pytest.raises(InputError, match=r"2 answers, the model 6 logits; task\.in_one_vocabulary\(\)"):
        certify(one, task)
    assert certify(one, task.in_one_vocabulary())["memorized"] == 3


def test_a_rule_is_certified_on_all_inputs_and_both_readers_check_it(tmp_path, capsys):
    model = max_of_four(sharpness=0.8)
    figures = certify_rule(model, "max", out=tmp_path / "out")
    assert figures["inputs"] == 8**4 == figures["right"] + figures["wrong"] and figures["undecided"] == 0
    assert figures["verdict"] == "REFUTED" and len(figures["wrong_inputs"]) == min(100, figures["wrong"]) > 0
    for check in (check_memorization, check_by_kernel):
        assert check(tmp_path / "out").checks[0].verdict.value == "PROVED"
    model.save(tmp_path / "model.safetensors")
    shorter = certify_rule(tmp_path / "model.safetensors", lambda inputs: inputs.max(axis=1), length=2, after=[0])
    assert (shorter["rule"], shorter["inputs"]) == ("own", 64)
    assert main(["certify", str(tmp_path / "model.safetensors"), "--rule", "max", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {name: value for name, value in figures.items() if name != "files"}
    count = str(figures["right"])
    assert main(["certify", str(tmp_path / "model.safetensors"), "--rule", "max", "--at-least", count]) == 0
    printed = capsys.readouterr().out
    assert (
        printed.startswith(f"AS ASKED, PROVED: {int(count):,} of 4,096 inputs")
        and f"{figures['wrong']} proved wrong" in printed
    )
    assert main(["check", str(tmp_path / "out"), "--fast"]) == 1
    assert "NOT MEMORIZED: " in capsys.readouterr().out


def test_no_rule_is_asked_of_a_model_that_reads_vectors():
    with pytest.raises(InputError, match="reads vectors"):
        certify_rule(MODELS["layer of classes"], "max")


def test_an_edited_piece_makes_no_false_proof(tmp_path, capsys, monkeypatch):
    """The worst that can be: counts of a model that is wrong, made right in the file that is kept."""
    from byheart.hosts import certify as module

    def interrupted(stage, share, detail):
        if share is not None and share >= 0.5:
            raise KeyboardInterrupt

    model, out = max_of_four(sharpness=0.8), tmp_path / "out"
    begun = module.certify_rule(model, "max", out=out, progress=interrupted)
    assert begun["interrupted"] and begun["wrong"] > 0
    records = [json.loads(line) for line in (tmp_path / "out.pieces").read_text().splitlines()]
    for record in records:
        record.update(right=8**3, wrong=0, examples=[])
    (tmp_path / "out.pieces").write_text("".join(json.dumps(record) + "\n" for record in records))
    figures = module.certify_rule(model, "max", out=out, overwrite=True)
    honest = module.certify_rule(model, "max")
    assert figures["verdict"] == "REFUTED" and figures["earlier"] == 0
    assert (figures["right"], figures["wrong"]) == (honest["right"], honest["wrong"])


def test_where_no_key_can_be_made_the_domain_is_certified_and_nothing_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    shown = []
    figures = certify_rule(
        max_of_four(), "max", length=2, out=tmp_path / "out", progress=lambda *given: shown.append(given[2])
    )
    assert figures["verdict"] == "PROVED" and not (tmp_path / "out.pieces").exists()
    assert any("nothing is kept for a later run" in detail for detail in shown)


def folder_of_facts(tmp_path, rows, names=("Paris", "France", "Rome", "Italy")):
    one = np.eye(len(names))
    Model((), W_U=np.roll(one, 1, axis=1), W_E=one, W_pos=np.zeros((1, len(names)))).save(
        tmp_path / "model.safetensors"
    )
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {n: i for i, n in enumerate(names)}}}))
    (tmp_path / "facts.csv").write_text(rows)
    return certify(tmp_path / "model.safetensors", tmp_path / "facts.csv", header=False)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("Paris,0\n", "the cell '0', expected a token of tokenizer.json beside the model; #0 is the token"),
        ("Paris,France\nRome,3\n", "the cell '3'"),
        ("Paris,#x\n", "the cell '#x'"),
        ("0,1\n2,Italy\n", "the cell '0'"),
    ],
)
def test_a_cell_that_only_looks_like_a_number_is_no_token(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        folder_of_facts(tmp_path, rows)


@pytest.mark.parametrize("rows", ["Paris,France\nRome,Italy\n", "0,1\n2,3\n", "Paris,#1\n#2,Italy\n", "#0,#1\n"])
def test_names_or_numbers_are_read_and_echoed(tmp_path, rows):
    figures = folder_of_facts(tmp_path, rows)
    assert figures["memorized"] == len(rows.split()) and figures["reading"].startswith("Paris -> France")


def test_spaces_around_a_token_do_not_make_it_another(tmp_path):
    figures = folder_of_facts(tmp_path, "New York, USA\nRome , Italy\n", names=("New York", "USA", "Rome", "Italy"))
    assert figures["memorized"] == 2 and figures["reading"].startswith("New York -> USA")


def test_a_table_of_numbers_that_are_names_has_no_numbers_of_tokens(tmp_path):
    figures = folder_of_facts(tmp_path, "3,2\n", names=("3", "2", "1", "0"))
    assert figures["reading"] == "3 -> 2" and figures["memorized"] == 1
    with pytest.raises(InputError, match="the cell '7'"):
        folder_of_facts(tmp_path, "3,7\n", names=("3", "2", "1", "0"))


def test_a_record_in_the_header_and_another_configuration_beside_it_are_refused(tmp_path):
    model, task = MODELS[NAME], task_of(NAME)
    model.save(tmp_path / "model.safetensors")
    record = {"format": "byheart-model", **model.options()}
    (tmp_path / "config.json").write_text(json.dumps({**record, "model_type": "gpt2"}))
    with pytest.raises(InputError, match=r"model.safetensors and .*config.json differ"):
        certify(tmp_path, task)
    assert certify(MODELS[NAME], task)["memorized"] == task.n_contexts


def test_rows_and_data_frames_are_facts():
    model = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
    rows = [(0, 1, 1), (2, 0, 0), (1, 2, 0)]

    class Index(list):
        names = (None,)

    class Frame:  # as pandas has it
        index = Index(range(3))

        def itertuples(self, *, index, name):
            return iter(rows)

    for given in (rows, Frame()):
        figures = certify(model, given)
        assert (figures["memorized"], figures["wrong_facts"]) == (2, [["1", "2", "0"]])
    with pytest.raises(InputError, match="facts is int"):
        certify(model, 5)
    with pytest.raises(InputError, match="the cell 'a', expected the number of a token"):
        certify(model, {"a": 1})


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e300])
def test_weights_at_the_ends_of_float64_have_an_answer(tmp_path, scale):
    near = np.array([[1.0, 0.5], [0.5, 1.0]])
    model = Model(blocks=(), W_U=scale * np.eye(2), W_E=near, W_pos=np.zeros((1, 2)))
    proved = certify(model, [([0], [0]), ([1], [1])], out=tmp_path / "facts")
    rule = certify_rule(model, "max", out=tmp_path / "rule")
    assert {proved["wrong"], rule["wrong"]} == {0}
    if abs(np.log2(scale)) < 1000:
        assert (proved["memorized"], rule["right"]) == (2, 2)
    for folder in (tmp_path / "facts", tmp_path / "rule"):
        for check in (check_memorization, check_by_kernel):
            assert check(folder).verdict is not Verdict.REFUTED
