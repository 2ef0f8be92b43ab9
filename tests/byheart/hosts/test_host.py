"""What all hosts share: versions, written folders, and runs in batches."""

import sys

import numpy as np
import pytest

from byheart.hosts.host import HOSTS, host_named, last_logits, loaded_module, tokens_of, write_folder
from constructions.errors import InputError
from tests.exports import TASKS, task_of


def test_every_host_has_its_name_and_an_extra_that_exists():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in HOSTS:
        host = host_named(name)
        assert host.name == name and "float64" in host.dtypes
        wanted = [*project["dependencies"], *project["optional-dependencies"].get(host.extra, [])]
        assert set(host.packages) <= {requirement.split(">=")[0] for requirement in wanted}


def test_versions_are_those_that_are_installed():
    assert host_named("safetensors").versions() == {"safetensors": __import__("safetensors").__version__}


def test_a_written_folder_holds_weights_configuration_and_loader(tmp_path):
    loader = "load_attention_layer.py"
    write_folder(tmp_path, {"A": np.ones(2)}, dtype="float32", config={"b": 1}, loader=loader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", loader, "model.safetensors"]
    assert (tmp_path / "config.json").read_text() == '{"b":1}\n'


def test_a_loader_leaves_no_bytecode_and_no_setting_behind(tmp_path):
    (tmp_path / "load_it.py").write_text("VALUE = 5\n")
    before = sys.dont_write_bytecode
    assert loaded_module(tmp_path / "load_it.py").VALUE == 5
    assert sys.dont_write_bytecode is before
    assert [path.name for path in tmp_path.iterdir()] == ["load_it.py"]


@pytest.mark.parametrize("entries", [1, 2**22, 2**40])
def test_batches_cover_every_context_in_order(entries):
    task, sizes = task_of("embeddings alone"), []

    def forward(tokens):
        sizes.append(len(tokens))
        return tokens.astype(float)

    assert np.array_equal(last_logits(forward, task, entries=entries), task.contexts)
    assert max(sizes) == {1: 20, 2**22: 4, 2**40: 1}[entries]


def test_vectors_are_refused_where_tokens_are_read():
    with pytest.raises(InputError, match="task brings vectors"):
        tokens_of(TASKS["layer of values"])
