"""The lines of every model card run and say what `ask` says; what is shorter than a context is filled up or refused."""

import json
import subprocess
import sys

import numpy as np
import pytest

import byheart
from byheart.hosts.export import export
from byheart.hosts.host import HOSTS
from constructions.errors import InputError
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.tasks.table import table_task
from constructions.tasks.vocabulary import echoed, typed
from tests.exports import MODELS, installed, task_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of the hosts' own libraries

TABLE = "0,0,0,0\n0,0,1,1\n0,1,0,1\n0,1,1,0\n1,0,0,1\n1,1,1,1\n2,0,1,3\n3,0,2,1\n"
WORDS = "France,capital,Paris\nPeru,capital,Lima\nPeru,river,Amazon\n"
TABLES = {
    "several words": "New Zealand,capital,Wellington City\nPeru,longest river,the Amazon\nPeru,capital,Lima\n",
    "commas in cells": '"Smith, John",job,"baker, cook"\n"Doe, Jane",job,smith\n',
    "prompts": "prompt,answer\nThe capital of Peru is,Lima\nThe capital of France is,Paris\nTwinkle,little star\n",
    "bits": "0,0,0\n0,1,1\n1,0,1\n1,1,0\n",
    "sums": "1,9,10\n2,9,11\n10,1,11\n",
    "other scripts": "Österreich,Hauptstadt,Wien\n日本,首都,東京\n",
}
VERSE = "so much depends upon a red wheel barrow"
TEXTS = {"red": "so much depends upon", "red man": "no man is an island"}


def memories(folder):
    """By name: a memory, or weights and their task."""
    (folder / "texts").mkdir()
    for title, text in TEXTS.items():
        (folder / "texts" / f"{title}.txt").write_text(text)
    (folder / "words.csv").write_text(WORDS)
    for name, table in TABLES.items():
        (folder / f"{name}.csv").write_text(table)
    task = table_task(TABLE, target="labels")
    return {
        **{name: byheart.memorize(folder / f"{name}.csv", header=name == "prompts", quick=True) for name in TABLES},
        "table": byheart.memorize(folder / "words.csv"),
        "Theorem 1": (build_memory(task, d_model=8, d_head=2, n_heads=12).model, task),
        "distributions": byheart.memorize(
            VERSE, whole=False, context=2, target="distributions", memory="one-hot-distributions"
        ),
        "text": byheart.memorize(VERSE, memory="probes"),
        "texts": byheart.memorize(folder / "texts", memory="probes"),
        "vectors": (MODELS["layer of classes"], task_of("layer of classes")),
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return memories(tmp_path_factory.mktemp("memories"))


def exported(given, to, out):
    if isinstance(given, tuple):
        model, task = given
        return export(model, task=task, to=to, out=out), task
    return given.export(to=to, out=out), given.task


def said_by_card(folder):
    code = (folder / "README.md").read_text().split("```python\n")[1].split("```")[0]
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.rstrip("\n"), code


@pytest.mark.parametrize("name", ["table", "Theorem 1", "distributions", "text", "texts", "vectors", *TABLES])
@pytest.mark.parametrize("to", HOSTS)
def test_the_lines_of_the_card_run_and_say_the_answer(to, name, made, tmp_path):
    installed(to)
    try:
        _, task = exported(made[name], to, tmp_path / "out")
    except InputError:  # what a host does not hold is refused, as tests/contract/test_hosts.py has it
        assert to not in ("huggingface", "onnx", "safetensors")
        return
    if "tokenizers" in (tmp_path / "out" / "README.md").read_text().split("```python\n")[1]:
        pytest.importorskip("tokenizers")
    said, code = said_by_card(tmp_path / "out")
    if to == "safetensors":
        assert "unembed.W_U" in said
    elif name == "vectors":
        assert len(said) > 10
    elif name in ("text", "texts") and to == "huggingface":
        assert said in (VERSE, "red: " + TEXTS["red"])
    else:
        places = [
            place for place in range(task.n_contexts) if (text := typed(task, place)) and repr(text)[1:-1] in code
        ]
        assert any(said.endswith(task.answers[task.labels[place]]) for place in places)


@pytest.mark.parametrize("name", ["table", "Theorem 1", *TABLES])
def test_the_tokenizer_reads_what_the_screen_and_the_card_show(name, made, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    _, task = exported(made[name], "safetensors", tmp_path / "out")
    shown = echoed(task)
    assert f"\n    {shown}\n" in (tmp_path / "out" / "README.md").read_text()
    reader = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    first, _, said = shown.partition(" -> ")
    assert reader.encode(first).ids == task.contexts[0].tolist()
    assert said.startswith(task.answers[task.labels[0]])
    assert reader.encode(typed(task, 0)).ids == task.contexts[0].tolist()


def test_a_beginning_of_a_text_is_answered_as_ask_answers_it(made, tmp_path):
    installed("huggingface")
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    for name, before in (("text", ""), ("texts", "red man: ")):
        memory, text = made[name], VERSE if name == "text" else TEXTS["red man"]
        memory.export(to="huggingface", out=tmp_path / name)
        host = AutoModelForCausalLM.from_pretrained(tmp_path / name, trust_remote_code=True)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / name)
        prompts = [before + text[:size] for size in (1, 2, 3, 9)]
        for side in ("left", "right"):
            tokenizer.padding_side = side
            given = tokenizer(prompts, return_tensors="pt", padding=True)
            said = host.generate(**given, max_new_tokens=1)[:, -1].tolist()
            assert tokenizer.convert_ids_to_tokens(said) == [memory.ask(prompt).token for prompt in prompts]
            logits = host(**given).logits
            last = [(mask.nonzero()[-1, 0]).item() for mask in given.attention_mask]
            assert [logits[row, place].argmax().item() for row, place in enumerate(last)] == said
        for prompt in prompts:
            whole = host.generate(**tokenizer(prompt, return_tensors="pt"))[0]
            assert tokenizer.decode(whole, skip_special_tokens=True).endswith(text)


def test_a_context_that_is_too_short_is_refused_with_its_length(made, tmp_path):
    for to in ("onnx", "attention-layer"):
        installed(to)
    for name in ("distributions", "Theorem 1", "text"):
        if name == "distributions":
            installed("huggingface")
            from transformers import AutoModelForCausalLM

            exported(made[name], "huggingface", tmp_path / "distributions")
            host = AutoModelForCausalLM.from_pretrained(tmp_path / "distributions", trust_remote_code=True)
            for call in (host, host.generate):
                with pytest.raises(ValueError, match="a row of 1 tokens, expected at least 2"):
                    call(input_ids=host.dummy_inputs["input_ids"][:, :1].clamp(max=0))
        import onnxruntime

        _, task = exported(made[name], "onnx", tmp_path / f"{name}-onnx")
        session = onnxruntime.InferenceSession(str(tmp_path / f"{name}-onnx" / "model.onnx"))
        for size in (task.n_ctx - 1, task.n_ctx + 1):
            with pytest.raises(Exception, match=f"Got: {size} Expected: {task.n_ctx}"):
                session.run(None, {"tokens": np.zeros((1, size), dtype=np.int64)})


def test_an_export_has_the_type_its_memory_was_made_for(made, tmp_path):
    for name, dtype in (("table", "float32"), ("Theorem 1", "float64")):
        report, _ = exported(made[name], "safetensors", tmp_path / name)
        assert report["dtype"] == dtype and f"in {dtype}" in report["headline"]
    made["text"].save(tmp_path / "folder")
    options = {"to": "safetensors", "out": tmp_path / "out", "overwrite": True}
    assert export(tmp_path / "folder", **options)["dtype"] == "float32"
    assert byheart.load(tmp_path / "folder").export(**options)["dtype"] == "float32"
    (tmp_path / "folder" / "summary.json").write_text(json.dumps({"dtype": "bfloat16"}))
    assert export(tmp_path / "folder", **options)["dtype"] == "float32"  # what is no proof is not asked
