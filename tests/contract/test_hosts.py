"""What every host has to do with every model that it can hold: compute it, and say in one sentence which it cannot.

A host that is not installed is skipped, with the line that installs it.
"""

import json
from importlib.metadata import PackageNotFoundError

import pytest

from byheart.cli.main import main
from byheart.hosts.export import export
from byheart.hosts.host import HOSTS, host_named
from byheart.hosts.parity import PARITY_FILE
from byheart.hosts.reading import read_model
from byheart.hosts.tokenizer import ANSWERS_FILE, TOKENIZER_FILE
from constructions.errors import ByheartError, InputError
from constructions.formats.files import canonical_json
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.menu import BY_NAME
from constructions.model.model import Model
from constructions.tasks.table import facts_task
from constructions.tasks.vectors import VectorTask
from tests.exports import MODELS, TASKS, installed, memory_of_bigrams, neurons, of_tokens, task_of
from verify.certificates.certificate import file_sha256
from verify.provers.memorization import judge

pytestmark = pytest.mark.filterwarnings("ignore")  # of the hosts' own libraries

LENSES = {"transformer-lens", "transformer-bridge"}
VECTORS = {"layer of values", "layer of classes", "stack over vectors"}
NEURONS = {name for name in MODELS if "neurons" in name or name == "two activations"}
NORMS = {"layer normalization as in GPT-2", "root mean square normalization", "a normalization here and there"}
REFUSED = (
    {(host, name): "vectors" for host in LENSES for name in VECTORS}
    | {("onnx", "exact gelu neurons"): "Erf onnxruntime lacks in float64"}
    | {(host, "two activations"): "activations" for host in LENSES}
    | {(host, "a normalization here and there"): "normalizations" for host in LENSES}
    | {("transformer-bridge", "root mean square normalization"): "in float32"}
    | {("gpt2", name): "has normalizations, expected none" for name in NORMS}
    | {("gpt2", name): "expected 'labels'|vectors" for name in VECTORS}
    | {("gpt2", "two activations"): "activations", ("gpt2", "stack that sees everything"): "expected 'causal'"}
    | {("attention-layer", "stack over vectors"): "only attention blocks without normalization"}
    | {("attention-layer", name): "only attention blocks without normalization" for name in NEURONS | NORMS}
)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("to", HOSTS)
def test_a_host_computes_what_it_holds_and_refuses_the_rest_in_one_sentence(to, name, tmp_path):
    installed(to)
    task = task_of(name)
    if (to, name) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[to, name]) as refusal:
            export(MODELS[name], task=task, to=to, out=tmp_path / "out")
        assert "\n" not in str(refusal.value)
        assert not (tmp_path / "out").exists()
        return
    report = export(MODELS[name], task=task, to=to, out=tmp_path / "out")
    assert report["agrees"] is True
    for run in report["measured"]["runs"].values():
        assert run["relative_difference"] <= 1e-12
        assert run["memorized"] == report["facts"]
    if name not in VECTORS:
        assert report["proved"] == {"memorized": report["facts"], "wrong": 0}


@pytest.mark.parametrize("to", ["safetensors", "huggingface", "transformer-lens"])
@pytest.mark.parametrize("name", BY_NAME)
def test_every_memory_comes_back_from_a_host_bit_by_bit_and_holds_its_facts(name, to, tmp_path):
    """Without the host: what is written for it is read again. The other hosts' files are not read by byheart."""
    task, model = memory_of_bigrams(name)
    host = host_named(to)
    converted = host.convert(model)
    host.write(converted, tmp_path, "float64")
    back = read_model(tmp_path)
    assert back.options() == converted.options()
    assert {key: tensor.tobytes() for key, tensor in back.tensors().items()} == {
        key: tensor.tobytes() for key, tensor in converted.tensors().items()
    }
    if to == "safetensors":
        assert back.sha256() == model.sha256()
    assert judge(back, task).values["memorized"] == len(task.contexts) >= 9


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ["network of one attention", "stack of attention", "layer of values"])
@pytest.mark.parametrize("to", HOSTS)
def test_a_host_computes_in_smaller_types(to, name, dtype, tmp_path):
    host = installed(to)
    if (to, name) in REFUSED:
        return
    if dtype not in host.dtypes:
        with pytest.raises(InputError, match=f"dtype = '{dtype}', expected one of"):
            export(MODELS[name], task=task_of(name), to=to, out=tmp_path / "out", dtype=dtype)
        return
    report = export(MODELS[name], task=task_of(name), to=to, out=tmp_path / "out", dtype=dtype)
    judged = dtype == "float32" and name != "stack of attention" and report["measured"]["exact_conversion"]
    assert report["agrees"] is (True if judged else None)
    # The unit roundoff, times some hundreds of roundings.
    unit = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype]
    for run in report["measured"]["runs"].values():
        assert 0 < run["relative_difference"] < 500 * unit


@pytest.mark.parametrize("to", HOSTS)
def test_the_report_names_the_files_and_is_kept_beside_them(to, tmp_path):
    installed(to)
    name = "network of one attention"
    report = export(MODELS[name], task=task_of(name), to=to, out=tmp_path / "out")
    assert (tmp_path / "out" / PARITY_FILE).read_text() == canonical_json(report) + "\n"
    made = tmp_path / "out"
    found = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert found == {*report["files"], PARITY_FILE}
    assert all(file_sha256(tmp_path / "out" / file) == digest for file, digest in report["files"].items())
    assert report["measured"]["original"] == MODELS[name].sha256()


@pytest.mark.parametrize("to", HOSTS)
def test_no_file_of_an_export_can_be_changed_left_out_or_added(to, tmp_path, capsys):
    """One bit in the middle of each file, all else as it was: what is checked is what another program would run."""
    installed(to)
    out = tmp_path / "out"
    export(MODELS["network of one attention"], task=task_of("network of one attention"), to=to, out=out)
    assert main(["check", "--quiet", str(out)]) == 0
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        before = path.read_bytes()
        place = len(before) // 2
        for after in (before[:place] + bytes([before[place] ^ 1]) + before[place + 1 :], None):
            path.unlink() if after is None else path.write_bytes(after)
            assert main(["check", "--quiet", str(out)]) in (1, 2), (path.name, after is None)
            path.write_bytes(before)
    (out / "more.txt").write_text("")
    assert main(["check", "--quiet", str(out)]) == 2
    assert "more.txt" in capsys.readouterr().err


def test_a_person_types_a_context_and_reads_the_fact(tmp_path):
    installed("huggingface")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from byheart import memorize

    facts = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima", ("New Zealand", "capital"): "Wellington"}
    report = memorize(facts).export(to="huggingface", out=tmp_path / "out")
    assert report["measured"]["typed"] == 3
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    asked = tokenizer("New Zealand, capital", return_tensors="pt")
    assert tokenizer.decode(model(asked.input_ids).logits[0, -1].argmax()) == "Wellington"
    written = model.generate(asked.input_ids, max_new_tokens=1, do_sample=False)
    assert tokenizer.decode(written[0, -1]) == "Wellington"


@pytest.mark.parametrize("to", HOSTS)
@pytest.mark.parametrize("answers", [1, 3, 9])
def test_answers_that_are_never_read_are_named_beside_the_weights(to, answers, tmp_path):
    installed(to)
    rows = [(f"subject {i}", f"relation {j}", f"answer {(2 * i + j) % answers}") for i in range(6) for j in range(2)]
    task = facts_task(rows)
    model = build_memory(task, d_model=10, d_head=2, n_heads=8).model
    report = export(model, task=task, to=to, out=tmp_path / "out")
    assert report["agrees"] is True and report["proved"] == {"memorized": 12, "wrong": 0}
    assert all(run["memorized"] == 12 for run in report["measured"]["runs"].values())
    assert json.loads((tmp_path / "out" / ANSWERS_FILE).read_text()) == list(task.answers)
    assert ANSWERS_FILE in report["files"] and report["measured"]["typed"] in (12, None)
    numbers = json.loads((tmp_path / "out" / TOKENIZER_FILE).read_text())["model"]["vocab"]
    names = [name for name, _ in sorted(numbers.items(), key=lambda each: each[1])]
    assert names == [*task.names(), "[PAD]"]


@pytest.mark.parametrize("to", HOSTS)
def test_a_host_that_is_missing_is_one_sentence_with_the_line_that_installs_it(to, tmp_path, monkeypatch):
    def nothing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("byheart.hosts.host.version", nothing)
    name = "network of one attention"
    with pytest.raises(InputError, match=r"is not installed; `pip install '?byheart.*` brings it$"):
        export(MODELS[name], task=task_of(name), to=to, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("version", "to"), [("4.3.0", "transformer-lens"), ("3.9.0", "transformer-bridge")])
def test_the_other_generation_of_transformerlens_is_refused(version, to, monkeypatch):
    monkeypatch.setattr("byheart.hosts.host.version", lambda name: version)
    with pytest.raises(InputError, match=f"transformer-lens {version} is installed, {to} "):
        host_named(to).versions()


def test_an_unknown_host_and_an_unknown_type_are_refused(tmp_path):
    name = "network of one attention"
    with pytest.raises(InputError, match="to = 'jax', expected one of transformer-lens"):
        export(MODELS[name], task=task_of(name), to="jax", out=tmp_path / "out")
    with pytest.raises(InputError, match="dtype = 'int8', expected one of float64"):
        export(MODELS[name], task=task_of(name), to="safetensors", out=tmp_path / "out", dtype="int8")


def test_a_weight_beyond_the_range_of_the_type_is_refused(tmp_path):
    large = of_tokens(neurons(shifts=False))
    large = Model(large.blocks, W_U=large.W_U * 1e6, W_E=large.W_E, W_pos=large.W_pos)
    with pytest.raises(ByheartError, match=r"unembed\.W_U has the entry .* beyond the range of float16"):
        export(large, task=task_of("embeddings alone"), to="safetensors", out=tmp_path / "out", dtype="float16")


def test_vectors_are_compared_on_the_examples_of_their_task(tmp_path):
    name = "layer of values"
    task = TASKS[name]
    assert isinstance(task, VectorTask)
    report = export(MODELS[name], task=task, to="safetensors", out=tmp_path / "out")
    proved = {"memorized": task.n_examples, "wrong": 0}
    assert (report["facts"], report["proved"], report["measured"]["typed"]) == (task.n_examples, proved, None)
