"""`byheart export`: write the weights for another program, load them there, and compare."""

import byheart
from byheart.cli.main import main
from tests.exports import task_of, written_for
from tests.memories import memory, random_task, write_memory

NAME = "layer normalization as in GPT-2"


def test_the_command_exports(tmp_path, capsys):
    task_of(NAME).save(tmp_path / "task.safetensors")
    words = [
        "certify",
        str(written_for("transformer-lens", tmp_path / "in", NAME)),
        "--task",
        str(tmp_path / "task.safetensors"),
    ]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    assert main(["export", str(tmp_path / "a"), "--to", "safetensors", "--dtype", "float32"]) == 0
    shown = capsys.readouterr().out
    assert "MEMORIZED, PROVED: 20 of 20 contexts," in shown and "as written for safetensors in float32" in shown
    assert (tmp_path / "a-safetensors" / "parity.json").is_file()
    assert main(["export", str(tmp_path / "a"), "--to", "safetensors"]) == 2


def test_what_loses_facts_is_said_and_not_written(tmp_path, capsys):
    task = random_task(target="distributions")
    write_memory(tmp_path / "in", memory(task), task)
    words = ["export", str(tmp_path / "in"), "--to", "safetensors", "--dtype", "bfloat16"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("NOT MEMORIZED: ") and "(--allow-loss) writes it all the same" in shown.err
    assert not (tmp_path / "out").exists()
    same = str(tmp_path / "out" / ".." / "in")
    assert main([*words, "--out", same, "--overwrite", "--allow-loss"]) == 2
    assert "is the folder that is exported" in capsys.readouterr().err
    assert (tmp_path / "in" / "certificate.json").is_file()
    assert main([*words, "--out", str(tmp_path / "out"), "--allow-loss"]) == 1
    assert capsys.readouterr().out.startswith("NOT MEMORIZED: ") and (tmp_path / "out").is_dir()


def test_the_library_of_hugging_face_may_be_called_as_its_package_is(tmp_path, capsys, monkeypatch):
    found = []
    monkeypatch.setattr("byheart.hosts.export.export", lambda folder, *, to, **_: found.append(to) or 1 / 0)
    memory = tmp_path / "memory"
    byheart.memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True).save(memory)
    assert main(["export", str(memory), "--to", "transformers"]) == 70
    assert found == ["huggingface"]
    capsys.readouterr()
