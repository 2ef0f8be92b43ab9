"""The calls that users of `transformers` make first, on what is exported of every kind of memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import byheart
from byheart.hosts.export import export
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.tasks.arrays import array_task
from constructions.tasks.table import facts_task
from constructions.tasks.vocabulary import typed
from tests.exports import MODELS, installed, memory_of_bigrams, task_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of the hosts' own libraries

FACTS = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima", ("New Zealand", "capital"): "Wellington"}
VERSE = "so much depends upon a red wheel barrow glazed with rain water beside the white chickens"


def loaded(folder, **options):
    """The model and its tokenizer, which the library loads without a question where no code of ours is beside them."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

    if (folder / "modeling_byheart.py").exists():
        return (
            AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, **options),
            PreTrainedTokenizerFast.from_pretrained(folder),
        )
    return AutoModelForCausalLM.from_pretrained(folder, **options), AutoTokenizer.from_pretrained(folder)


def of_a_table(name):
    """The bigrams of a memory as rows of a table, with answers that are never read; and its weights for these."""
    contexts = np.array([(i, j) for i in range(3) for j in range(3)])
    if name in ("one-hot-distributions", "low-rank-distributions", "affine"):
        return memory_of_bigrams(name)
    labels = np.arange(9) % 4
    answers = tuple(f"answer {i}" for i in range(4))
    task = array_task(contexts, next_tokens=labels, vocabulary=3, answers=answers, target="labels")
    return task, BY_NAME[name].build(task, Limits()).model


OWN = (
    "affine",
    "low-rank-distributions",
    "one-hot-distributions",
    "probes",
)  # distributions, and attention that sees all


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("dtype", ["float32", "float16"])  # GPT-2 where it can be, and the code beside the weights
def test_every_memory_answers_generates_and_trains_in_the_library(name, dtype, tmp_path):
    installed("huggingface")
    import torch

    task, model = of_a_table(name)
    export(model, task=task, to="huggingface", dtype=dtype, out=tmp_path / "out", allow_loss=True)
    own = (tmp_path / "out" / "modeling_byheart.py").exists()
    assert own is (dtype == "float16" or name in OWN)
    host, tokenizer = loaded(tmp_path / "out", dtype=torch.float32)
    texts = [typed(task, place) for place in range(len(task.contexts))]
    given = tokenizer(texts, return_tensors="pt", padding=True)
    assert given.input_ids.tolist() == task.contexts.tolist()
    found = host(**given, output_attentions=True, output_hidden_states=True, labels=given.input_ids)
    answered = [host.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=1)[0] for text in texts]
    said = [task.answers.index(tokenizer.decode(each[2:])) for each in answered]
    assert task.modes()[range(len(said)), said].all()  # a uniform distribution has six largest
    assert [row.tolist() for row in answered] == host.generate(**given, max_new_tokens=1).tolist()
    assert len(found.attentions) >= 1 and len(found.hidden_states) > len(found.attentions)
    for looked in found.attentions:
        assert torch.allclose(looked.sum(-1)[..., -1], torch.ones(())) and looked.shape[0] == len(texts)
    assert torch.isfinite(found.loss)
    ignored = host(**given, labels=torch.cat([given.input_ids[:, :1], torch.full((len(texts), 1), -100)], dim=1)).loss
    assert ignored.isnan() or ignored == 0  # the library's own mean over no token is none
    assert ignored == 0 or not own


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", MODELS)
def test_padding_on_either_side_changes_no_logit(name, side, tmp_path):
    installed("huggingface")
    import torch

    if name in ("layer of values", "layer of classes", "stack over vectors"):
        pytest.skip("reads vectors")
    export(MODELS[name], task=task_of(name), to="huggingface", out=tmp_path / "out")
    host, tokenizer = loaded(tmp_path / "out")
    tokenizer.padding_side = side
    texts = ["abcd", "gabfe", "cabfedg", "dcba"]
    given = tokenizer(texts, return_tensors="pt", padding=True)
    assert tokenizer.pad_token_id in given.input_ids[1]
    logits = host(**given).logits
    for row, text in enumerate(texts):
        alone = host(**tokenizer(text, return_tensors="pt")).logits[0, -1]
        last = -1 if side == "left" else len(text) - given.input_ids.shape[1] - 1
        assert torch.allclose(logits[row, last], alone, rtol=1e-12, atol=1e-12)


def test_a_table_is_a_model_of_the_library_itself(tmp_path):
    installed("huggingface")
    from transformers import pipeline

    report = byheart.memorize(FACTS).export(to="huggingface", out=tmp_path / "out")
    assert (
        report["headline"].startswith("MEMORIZED, PROVED: 3 of 3") and "GPT2LMHeadModel" in report["measured"]["runs"]
    )
    say = pipeline("text-generation", model=str(tmp_path / "out"))
    assert say("New Zealand, capital, ")[0]["generated_text"] == "New Zealand, capital, Wellington"
    several = say(["Peru, capital", "New Zealand, capital, "], batch_size=2, return_full_text=False)
    assert [each[0]["generated_text"] for each in several] == ["Lima", "Wellington"]
    with pytest.raises(Exception, match="Missing"):
        say("Atlantis, capital")
    checked = byheart.certify(tmp_path / "out", tmp_path / "out" / "task.safetensors")
    assert (checked["verdict"], checked["memorized"]) == ("PROVED", 3)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "3 of 3 are right, 0 wrong" in card and "trust_remote_code" not in card
    assert "byheart certify . --task task.safetensors" in card and "float32 numbers of the file" in card


def test_a_text_that_is_known_by_heart_is_recited_by_the_library(tmp_path):
    installed("huggingface")
    import torch
    from transformers import pipeline

    memory = byheart.memorize(VERSE, memory="probes")
    memory.export(to="huggingface", dtype="float32", out=tmp_path / "out")
    begins = VERSE[: memory.task.n_ctx]
    say = pipeline("text-generation", model=str(tmp_path / "out"), trust_remote_code=True)
    assert say(begins)[0]["generated_text"] == VERSE
    assert say(VERSE[:30], max_new_tokens=len(VERSE) - 30)[0]["generated_text"] == VERSE
    host, tokenizer = loaded(tmp_path / "out")
    whole = tokenizer(VERSE, return_tensors="pt")
    found = host(**whole, labels=whole.input_ids)
    n_ctx = host.config.n_ctx
    assert (found.logits[0, :-1].argmax(-1) == whole.input_ids[0, 1:]).all()  # its beginning, too
    places = whole.input_ids.masked_fill(torch.arange(len(VERSE)) < n_ctx, -100)
    assert torch.isfinite(host(**whole, labels=places).loss) and found.loss < 1e3
    half = tokenizer([VERSE[:20], VERSE[:40]], return_tensors="pt", padding=True)
    said = tokenizer.batch_decode(host.generate(**half, max_new_tokens=30), skip_special_tokens=True)
    assert said == [VERSE[:50], VERSE[:70]]
    host.save_pretrained(tmp_path / "again")
    tokenizer.save_pretrained(tmp_path / "again")
    again, _ = loaded(tmp_path / "again")
    assert torch.equal(again(**whole).logits, found.logits)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "trust_remote_code=True" in card and repr(begins) in card and "89 of 89 are right" in card


def test_what_the_card_says_runs(tmp_path):
    installed("huggingface")
    byheart.memorize(FACTS).export(to="huggingface", out=tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    code = card.split("```python\n")[1].split("```")[0]
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, text=True, check=False
    )
    assert run.stdout.strip().splitlines()[-1] == "France, capital, Paris", run.stderr


@pytest.mark.parametrize(
    ("host", "folder", "first"),
    [
        ("huggingface", "facts-huggingface", "from transformers import pipeline"),
        ("onnx", "facts-onnx", "import json, numpy, onnxruntime"),
        ("transformer-lens", ".", "from load_transformer_lens import load"),
    ],
)
def test_what_the_page_of_hosts_says_runs(host, folder, first, tmp_path):
    installed(host)
    rivers = {("France", "capital"): "Paris", ("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}
    byheart.memorize(rivers).export(to=host, out=tmp_path / "out" / folder, overwrite=True)
    page = (Path(__file__).parents[2] / "docs" / "hosts.md").read_text(encoding="utf-8")
    [code] = [block.split("```")[0] for block in page.split("```text\n") if block.startswith(first)]
    *lines, last = code.strip().splitlines()
    last, _, said = last.partition("  # ")
    run = subprocess.run(
        [sys.executable, "-c", "\n".join([*lines, f"print(ascii({last}))"])],
        cwd=tmp_path / "out", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0 and said in run.stdout.strip().splitlines()[-1], run.stderr
    assert said or "Amazon" in run.stdout


def test_tokens_that_no_embedding_has_are_read_as_zeros_and_what_does_not_fit_is_named(tmp_path):
    installed("huggingface")
    import torch

    export(MODELS["gelu neurons"], task=task_of("gelu neurons"), to="huggingface", out=tmp_path / "out")
    host, tokenizer = loaded(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["vocab_size"] == len(tokenizer) == 8
    given = tokenizer("abcd", return_tensors="pt")
    given.input_ids[0, 1] = tokenizer.pad_token_id
    logits = host(**given).logits
    assert logits.shape == (1, 4, 8) and torch.isfinite(logits[..., :7]).all() and torch.isinf(logits[..., 7:]).all()
    with pytest.raises(ValueError, match=r"input_ids has 6 positions, expected at most 4 here"):
        host(**tokenizer("abcdef", return_tensors="pt"), output_attentions=True)
    with pytest.raises(ValueError, match=r"have the shapes \(1, 4\) and \(1, 3\), expected one"):
        host(given.input_ids, attention_mask=torch.ones(1, 3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_words_whose_last_bits_count_are_not_rounded_by_the_norms_of_gpt2(dtype, tmp_path):
    installed("huggingface")
    rng = np.random.default_rng(0)
    table = facts_task([(f"s{i}", f"r{j}", f"o{rng.integers(60)}") for i in range(40) for j in range(5)])
    model = BY_NAME["object-words"].build(table, Limits()).model
    report = export(model, task=table, to="huggingface", dtype=dtype, out=tmp_path / "out")
    assert (tmp_path / "out" / "modeling_byheart.py").exists()
    assert report["facts"] == 200 and report["measured"]["runs"]
    assert all(run["memorized"] == 200 for run in report["measured"]["runs"].values())
