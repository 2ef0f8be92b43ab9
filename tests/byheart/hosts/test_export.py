"""Exports of folders, of models, and what is refused; the battery of all hosts is in tests/contract/test_hosts.py."""

import json
from dataclasses import replace

import numpy as np
import pytest

from byheart import export, memorize
from byheart.hosts.certify import certify
from byheart.hosts.exported_folder import require_export_made_again
from byheart.hosts.host import host_named
from constructions.errors import FileFormatError, InputError, LossError, TamperedError
from constructions.named.registry import named
from constructions.tasks.criterion import Criterion
from tests.exports import MODELS, TASKS, attention, of_tokens, task_of
from tests.memories import memory, random_task, write_memory


def test_a_folder_is_exported_with_its_task(tmp_path):
    task = random_task(target="distributions")
    network = memory(task)
    write_memory(tmp_path / "in", network, task)
    report = export(tmp_path / "in", to="safetensors", out=tmp_path / "out")
    assert report["measured"]["original"] == network.sha256() and report["task"] == task.sha256()
    assert report["proved"] == {"memorized": task.n_contexts, "wrong": 0}
    assert report["headline"].startswith("MEMORIZED, PROVED: 12 of 12 contexts,") and report["verdict"] == "PROVED"
    assert "as written for safetensors in float64" in report["headline"]
    (run,) = report["measured"]["runs"].values()
    assert run["memorized"] == task.n_contexts and run["mean_loss"] < 1e-20


@pytest.mark.parametrize("target", ["distributions", "values"])
def test_where_a_mean_is_asked_the_first_line_says_the_mean_of_the_host(target, tmp_path):
    name = {"distributions": "johnson-lindenstrauss-unembedding", "values": "saturated-heads"}[target]
    built = named(name).construct().built
    report = export(
        built.model, to="safetensors", task=built.task, criterion=Criterion.at_most(1.0), out=tmp_path / "out"
    )
    (run,) = report["measured"]["runs"].values()
    mean = {"distributions": "mean KL {:.3g} nats", "values": "mean distance {:.3g}"}[target].format(run["mean_loss"])
    assert f": {mean} measured, largest difference" in report["headline"] and " of " not in report["headline"]


def test_smaller_types_lose_facts_and_the_report_says_which_number_is_left(tmp_path):
    task = random_task(target="distributions", facts=12)
    network = memory(task)
    write_memory(tmp_path / "in", network, task)
    given = {"to": "safetensors", "dtype": "bfloat16", "out": tmp_path / "out"}
    with pytest.raises(
        LossError, match=r"^NOT MEMORIZED: \d+ of 12 contexts proved wrong.*as written for safetensors in bfloat16"
    ):
        export(tmp_path / "in", **given)
    assert not (tmp_path / "out").exists()
    report = export(tmp_path / "in", **given, allow_loss=True)
    (run,) = report["measured"]["runs"].values()
    # By the criterion of the folder: an argmax that is right does not make a distribution memorized.
    proved = certify(tmp_path / "out", task)
    assert report["verdict"] == proved["verdict"] == "REFUTED" and report["headline"].startswith("NOT MEMORIZED")
    assert (report["proved"]["memorized"], report["proved"]["wrong"]) == (proved["memorized"], proved["wrong"])
    assert proved["wrong"] > 0 and run["memorized"] == proved["memorized"] and run["mean_loss"] > 1e-8


def test_a_folder_that_was_tampered_with_is_refused(tmp_path):
    task = random_task()
    write_memory(tmp_path / "in", memory(task), task)
    memory(task, seed=1).save(tmp_path / "in" / "model.safetensors")
    with pytest.raises(TamperedError, match="hash differs"):
        export(tmp_path / "in", to="safetensors", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_model_needs_a_task_and_a_folder_has_one(tmp_path):
    name = "network of one attention"
    with pytest.raises(InputError, match="task is missing, expected the contexts"):
        export(MODELS[name], to="safetensors", out=tmp_path / "out")
    with pytest.raises(InputError, match=r"task is given, but the folder .* has its own"):
        export(tmp_path, to="safetensors", out=tmp_path / "out", task=task_of(name))
    with pytest.raises(InputError, match="task brings vectors, the model reads tokens"):
        export(MODELS[name], to="safetensors", out=tmp_path / "out", task=TASKS["layer of values"])


def test_an_existing_folder_is_replaced_only_if_asked_and_ours(tmp_path):
    name = "network of one attention"
    given = {"task": task_of(name), "to": "safetensors", "out": tmp_path / "out"}
    export(MODELS[name], **given)
    with pytest.raises(InputError, match="exists"):
        export(MODELS[name], **given)
    export(MODELS[name], **given, dtype="float32", overwrite=True)
    assert json.loads((tmp_path / "out" / "parity.json").read_text())["dtype"] == "float32"
    (tmp_path / "out" / "parity.json").unlink()
    with pytest.raises(InputError, match="was not written by byheart"):
        export(MODELS[name], **given, overwrite=True)


def test_a_scale_that_is_rounded_is_said_to_be(tmp_path):
    pytest.importorskip("torch")
    model = of_tokens(attention(attends="causal", score_root=3, n_heads=3, d_qk=2, d_head=2))
    task = task_of("network of one attention")
    exact = export(model, task=task, to="safetensors", out=tmp_path / "a")["measured"]["exact_conversion"]
    layer = host_named("attention-layer").convert(model)
    assert exact and layer.blocks[0].score_root == 3
    both = of_tokens(attention(attends="causal", score_root=2), attention(attends="causal", score_root=3))
    report = export(both, task=task, to="attention-layer", out=tmp_path / "b")
    assert not report["measured"]["exact_conversion"] and report["agrees"] is True
    assert report["proved"] is not None


def test_a_factor_that_leaves_the_range_of_a_small_type_is_refused(tmp_path):
    pytest.importorskip("torch")
    name = "network of one attention"
    model = MODELS[name]
    large = type(model)(
        blocks=(type(model.attention)(model.W_Q * 2.0**13, model.W_K * 2.0**-13, model.W_V, model.W_O),),
        W_U=model.W_U,
        W_E=model.W_E,
        W_pos=model.W_pos,
    )
    export(large, task=task_of(name), to="safetensors", dtype="float16", out=tmp_path / "a")
    with pytest.raises(InputError, match=r"attn\.W_Q has the entry .* beyond the range of float16"):
        export(large, task=task_of(name), to="attention-layer", dtype="float16", out=tmp_path / "b")


def test_a_rational_model_is_rounded_first(tmp_path):
    from flint import fmpq

    from constructions.model.exact_network import rounded
    from constructions.model.model import Model

    one = np.array([[fmpq(1, 3), fmpq(0)], [fmpq(0), fmpq(1)]], dtype=object)
    model = Model(blocks=(), W_U=one, W_E=one, W_pos=one[:1] * 0)
    task = random_task(vocabulary=2, n_ctx=1, facts=2, tail=0, target="labels")
    report = export(model, task=task, to="safetensors", out=tmp_path / "out")
    assert report["measured"]["original"] == rounded(model).sha256()


@pytest.fixture
def text_of_many_windows(tmp_path, monkeypatch):
    monkeypatch.setattr("byheart.hosts.parity.MOST_PRODUCTS", 1)
    text = "".join(f"{i} times {i + 1} is {i * (i + 1)}. " for i in range(30))
    memorize(text, quick=True, out=tmp_path / "in")
    return tmp_path


def test_of_very_much_contexts_some_are_run_and_every_file_says_of_how_many(text_of_many_windows):
    folder = text_of_many_windows
    report = export(folder / "in", to="safetensors", out=folder / "out")
    (run,) = report["measured"]["runs"].values()
    assert run["memorized"] == run["contexts"] == 256 < report["facts"] == report["proved"]["memorized"]
    said = f"256 of 256 drawn of {report['facts']} measured"
    assert said in report["headline"] and report["verdict"] == "PROVED"
    assert f": 256 of 256, drawn of {report['facts']}\n" in (folder / "out" / "README.md").read_text()
    assert "not what was measured" in require_export_made_again(folder / "out")
    every = export(folder / "in", to="safetensors", out=folder / "every", all_contexts=True)
    (run,) = every["measured"]["runs"].values()
    assert run["memorized"] == run["contexts"] == every["facts"] and "drawn" not in every["headline"]


def test_a_drawn_context_that_the_host_loses_is_in_the_first_line(text_of_many_windows, monkeypatch):
    folder, host = text_of_many_windows, host_named("safetensors")

    def wrong(folder, task, dtype):
        ((name, logits),) = host.run(folder, task, dtype).items()
        logits[7] = -logits[7]
        return {name: logits}

    monkeypatch.setattr("byheart.hosts.export.host_named", lambda name: replace(host, run=wrong))
    with pytest.raises(LossError, match=r"1 of 256"):
        export(folder / "in", to="safetensors", out=folder / "out")


def test_a_count_of_drawn_contexts_that_is_none_is_refused(text_of_many_windows):
    folder = text_of_many_windows / "out"
    export(text_of_many_windows / "in", to="safetensors", out=folder)
    path = folder / "parity.json"
    data = json.loads(path.read_text())
    for run in data["measured"]["runs"].values():
        run["contexts"] = -1
    path.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match=r"contexts is -1, expected a number of contexts"):
        require_export_made_again(folder)
