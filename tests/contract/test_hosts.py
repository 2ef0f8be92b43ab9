"""What every host has to do with every model that it can hold: compute it, and say in one sentence which it cannot.

A host that is not installed is skipped, with the line that installs it.
"""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from byheart.hosts.export import HOSTS, PARITY_FILE, export, host_named
from constructions.errors import ByheartError, InputError
from constructions.files import canonical_json
from constructions.models.blocks import Attention, FeedForward, Normalization
from constructions.models.model import Model
from constructions.models.shapes import dana_network
from constructions.tasks.task import Counts, make_task
from constructions.tasks.vectors import VectorTask
from tests.layers import memory_layer, random_layer_task
from verify.certificates.certificate import file_sha256
from verify.forward.logits import decide_argmax

pytestmark = pytest.mark.filterwarnings("ignore")  # of the hosts' own libraries

VOCABULARY, POSITIONS = 7, 4
RNG = np.random.default_rng(20261122)


def draw(*shape):
    return RNG.standard_normal(shape) / 2


def attention(d_model=6, heads=5, d_qk=2, d_head=3, d_out=None, *, shifts=False, norm=None, **options):
    d_out = d_out or d_model
    shift = {"b_Q": draw(heads, d_qk), "b_K": draw(heads, d_qk), "b_V": draw(heads, d_head), "b_O": draw(d_out)}
    return Attention(
        W_Q=3 * draw(heads, d_model, d_qk),
        W_K=draw(heads, d_model, d_qk),
        W_V=draw(heads, d_model, d_head),
        W_O=draw(heads, d_head, d_out),
        norm=norm,
        **(shift if shifts else {}),
        **options,
    )


def neurons(d_model=6, d_mlp=8, d_out=None, *, shifts=True, **options):
    d_out = d_out or d_model
    shift = {"b_in": draw(d_mlp), "b_out": draw(d_out)} if shifts else {}
    return FeedForward(W_in=draw(d_model, d_mlp), W_out=draw(d_mlp, d_out), **shift, **options)


def norm(kind="layer", d_model=6):
    return Normalization(kind, w=1 + draw(d_model), b=draw(d_model) if kind == "layer" else None, epsilon=1e-5)


def of_tokens(*blocks, d_model=6, d_out=6, shift=False):
    return Model(
        blocks=blocks,
        W_U=draw(d_out, VOCABULARY),
        b_U=draw(VOCABULARY) if shift else None,
        W_E=draw(VOCABULARY, d_model),
        W_pos=draw(POSITIONS, d_model),
    )


MODELS = {
    "network of one attention": dana_network(
        W_E=draw(VOCABULARY, 6),
        W_pos=draw(POSITIONS, 6),
        W_Q=3 * draw(5, 6, 2),
        W_K=draw(5, 6, 2),
        W_V=draw(5, 6, 3),
        W_O=draw(5, 3, 6),
        W_U=draw(6, VOCABULARY),
    ),
    "wide queries": of_tokens(attention(d_qk=5, d_head=2)),
    "no residual stream": of_tokens(attention(d_out=4, skip=False), d_out=4),
    "causal attention with shifts": of_tokens(attention(shifts=True, attends="causal", score_root=3), shift=True),
    "stack of attention": of_tokens(
        attention(attends="causal", heads=2, shifts=True),
        attention(attends="causal", heads=3, d_qk=4),
        attention(heads=1),
    ),
    "stack that sees everything": of_tokens(attention(attends="all"), attention(attends="all")),
    "stack without residual streams": of_tokens(
        attention(attends="causal", skip=False, d_out=3), attention(d_model=3, d_out=2, skip=False), d_out=2
    ),
    "gelu neurons": of_tokens(attention(attends="causal"), neurons(activation="gelu-tanh"), attention(), shift=True),
    "exact gelu neurons": of_tokens(attention(), neurons(activation="gelu")),
    "silu neurons alone": of_tokens(neurons(activation="silu"), neurons(activation="silu", d_mlp=3)),
    "neurons without residual streams": of_tokens(attention(), neurons(skip=False, d_out=4, shifts=False), d_out=4),
    "layer normalization as in GPT-2": of_tokens(
        *(
            block
            for _ in range(2)
            for block in (
                attention(attends="causal", heads=2, d_qk=3, shifts=True, norm=norm(), score_root=3),
                neurons(activation="gelu-tanh", norm=norm()),
            )
        ),
        norm(),
    ),
    "root mean square normalization": of_tokens(attention(attends="causal", norm=norm("rms")), norm("rms")),
    "two activations": of_tokens(attention(), neurons(activation="relu"), neurons(activation="silu")),
    "a normalization here and there": of_tokens(attention(attends="causal", norm=norm()), attention()),
    "embeddings alone": of_tokens(),
    "layer of values": None,
    "layer of classes": None,
}
TASKS: dict[str, object] = {}
for NAME, KIND in (("layer of values", "regression"), ("layer of classes", "classification")):
    TASKS[NAME] = random_layer_task(kind=KIND)
    MODELS[NAME] = memory_layer(TASKS[NAME], heads=3)

LENSES = {"transformer-lens", "transformer-bridge"}
VECTORS = {"layer of values", "layer of classes"}
NEURONS = {name for name in MODELS if "neurons" in name or name == "two activations"}
NORMS = {"layer normalization as in GPT-2", "root mean square normalization", "a normalization here and there"}
REFUSED = (
    {(host, name): "vectors" for host in LENSES for name in VECTORS}
    | {("onnx", "exact gelu neurons"): "Erf onnxruntime lacks in float64"}
    | {(host, "two activations"): "activations" for host in LENSES}
    | {(host, "a normalization here and there"): "normalizations" for host in LENSES}
    | {("transformer-bridge", "root mean square normalization"): "in float32"}
    | {("attention-layer", name): "attention blocks without normalization alone" for name in NEURONS | NORMS}
)


def task_of(name):
    """Contexts of all lengths' longest, each with the token that the exact logits say."""
    if name in TASKS:
        return TASKS[name]
    contexts = np.random.default_rng(1).permutation(VOCABULARY**POSITIONS)[:20]
    contexts = np.stack(np.unravel_index(contexts, (VOCABULARY,) * POSITIONS), axis=1)
    labels = decide_argmax(MODELS[name], contexts).place
    assert (labels >= 0).all()
    counts = Counts.from_rows([{int(label): 1} for label in labels])
    return make_task(contexts, counts, vocabulary=tuple("abcdefg"), target="labels")


def installed(name):
    host = host_named(name)
    try:
        host.versions()
    except InputError as error:
        pytest.skip(str(error))
    return host


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
    for run in report["runs"].values():
        assert run["relative_difference"] <= 1e-12
        assert run["held"] == (None if name == "layer of values" else report["facts"])
    if report["proved"] is not None and name not in VECTORS:
        assert report["proved"] == {"right": report["facts"], "wrong": 0}


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
    judged = dtype == "float32" and name != "stack of attention" and report["exact_conversion"]
    assert report["agrees"] is (True if judged else None)
    # The unit roundoff, times some hundreds of roundings.
    unit = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype]
    for run in report["runs"].values():
        assert 0 < run["relative_difference"] < 500 * unit


@pytest.mark.parametrize("to", HOSTS)
def test_the_report_names_the_files_and_is_kept_beside_them(to, tmp_path):
    installed(to)
    name = "network of one attention"
    report = export(MODELS[name], task=task_of(name), to=to, out=tmp_path / "out")
    assert (tmp_path / "out" / PARITY_FILE).read_text() == canonical_json(report) + "\n"
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {*report["files"], PARITY_FILE}
    assert all(file_sha256(tmp_path / "out" / file) == digest for file, digest in report["files"].items())
    assert report["model"] == MODELS[name].sha256()


@pytest.mark.parametrize("to", ["transformer-lens", "transformer-bridge", "attention-layer", "huggingface"])
def test_what_is_written_loads_where_byheart_is_not(to, tmp_path):
    installed(to)
    name = "network of one attention"
    task = task_of(name)
    export(MODELS[name], task=task, to=to, out=tmp_path / "out")
    loader = {
        "huggingface": "from transformers import AutoModelForCausalLM\n"
        "model = AutoModelForCausalLM.from_pretrained('.', trust_remote_code=True)\n"
        "read = lambda tokens: model(tokens).logits"
    }.get(to, f"from load_{to.replace('-', '_')} import load\nmodel = read = load()")
    code = f"""
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, ".")
{loader}
import torch
logits = read(torch.tensor({task.contexts.tolist()}))
assert not any(name.split(".")[0] in ("byheart", "constructions", "verify") for name in sys.modules)
print("ARGMAX", logits[:, -1].argmax(dim=1).tolist())
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    (shown,) = (line for line in run.stdout.splitlines() if line.startswith("ARGMAX "))
    assert json.loads(shown.removeprefix("ARGMAX ")) == task.labels.tolist()


def test_a_person_types_a_context_and_reads_the_fact(tmp_path):
    installed("huggingface")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from byheart.job import memorize
    from constructions.tasks.table import table_task

    task = table_task("France,capital,Paris\nPeru,capital,Lima\nNew Zealand,capital,Wellington\n", target="labels")
    memorize(task, out=tmp_path / "facts")
    report = export(tmp_path / "facts", to="huggingface", out=tmp_path / "out")
    assert report["typed"] == 3
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out", trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    asked = tokenizer("New Zealand, capital", return_tensors="pt")
    assert tokenizer.decode(model(asked.input_ids).logits[0, -1].argmax()) == "Wellington"
    written = model.generate(asked.input_ids, max_new_tokens=1, do_sample=False)
    assert tokenizer.decode(written[0, -1]) == "Wellington"


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
    with pytest.raises(ByheartError, match="unembed.W_U has the entry .* beyond the range of float16"):
        export(large, task=task_of("embeddings alone"), to="safetensors", out=tmp_path / "out", dtype="float16")


def test_vectors_are_compared_on_the_examples_of_their_task(tmp_path):
    name = "layer of values"
    task = TASKS[name]
    assert isinstance(task, VectorTask)
    report = export(MODELS[name], task=task, to="safetensors", out=tmp_path / "out")
    assert (report["facts"], report["proved"], report["typed"]) == (task.n_examples, None, None)
