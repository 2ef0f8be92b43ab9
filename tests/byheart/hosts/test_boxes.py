"""State dictionaries as people save them: in boxes, behind prefixes, in parts, as archives."""

import json
import pickle

import numpy as np
import pytest

from byheart.hosts.boxes import of_archive, of_graph, shortened, unpickled, without_wrappers
from byheart.hosts.certify import certify
from byheart.hosts.reading import model_of, read_model, read_weights
from constructions.errors import FileFormatError, InputError
from tests.byheart.hosts.test_reading import lens

torch = pytest.importorskip("torch")


def state(prefix=""):
    tensors, config = lens()
    return {prefix + name: torch.tensor(tensor) for name, tensor in tensors.items()}, config


def the_hash():
    return model_of(*lens()).sha256()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".ckpt"])
def test_a_key_says_where_in_a_file_the_tensors_are(tmp_path, suffix):
    tensors, config = state()
    path = tmp_path / f"m{suffix}"
    torch.save({"model": tensors, "optimizer": {"state": {}, "lr": 0.1}, "step": 7}, path)
    assert read_model(path, config=config, key="model").sha256() == the_hash()
    with pytest.raises(FileFormatError, match=r"'model' holds tensors by name \(--key model\)"):
        read_model(path, config=config)
    torch.save({"trainer": {"model": tensors, "lr": 0.1}, "step": 7}, tmp_path / "deep.pt")
    with pytest.raises(FileFormatError, match=r"'trainer\.model' holds tensors by name \(--key trainer\.model\)"):
        read_model(tmp_path / "deep.pt", config=config)
    assert read_model(tmp_path / "deep.pt", config=config, key="trainer.model").sha256() == the_hash()
    for key in ("optimizer", "step", "no", "model.no", "step.no"):
        with pytest.raises(InputError, match=rf"key = '{key}' holds no tensors by name; .*'model'"):
            read_model(path, config=config, key=key)
    for other in (tmp_path / "m.safetensors", tmp_path / "m.npz"):
        other.write_bytes(b"")
        with pytest.raises(InputError, match="holds no dictionary of torch"):
            read_model(other, config=config, key="model")
    with pytest.raises(InputError, match="key = 'model' is given, but no file"):
        certify(lens()[0], "facts.csv", config=config, key="model")


@pytest.mark.parametrize(
    ("prefix", "word"),
    [
        ("_orig_mod.", "names without '_orig_mod.', as torch.compile put there"),
        ("module.", "names without 'module.', as DataParallel put there"),
        ("module._orig_mod.", "names without 'module._orig_mod.', as DataParallel and torch.compile put there"),
        ("net.", "names without 'net.', with which all of them begin"),
        ("net.model.", "names without 'net.model.', with which all of them begin"),
        ("module.net.", "names without 'module.', as DataParallel put there; names without 'net.', with which"),
        ("", ""),
    ],
)
def test_a_prefix_of_all_names_is_left_out_and_said(tmp_path, prefix, word):
    tensors, config = state(prefix)
    torch.save({"state_dict": tensors, "epoch": 3}, tmp_path / "m.ckpt")
    found = read_weights(tmp_path / "m.ckpt", config=config, key="state_dict")
    assert found.model.sha256() == the_hash() and found.said.startswith(word) and bool(found.said) == bool(word)
    assert set(found.tensors or ()) == set(lens()[0])


def test_a_prefix_of_some_names_is_none_and_the_first_error_is_said(tmp_path):
    tensors, config = state()
    name = "unembed.W_U"
    torch.save({**tensors, f"module.{name}": tensors.pop(name)}, tmp_path / "m.pt")
    with pytest.raises(InputError, match=name):
        read_model(tmp_path / "m.pt", config=config)
    tensors, _ = state("net.")
    tensors.pop("net.unembed.W_U")
    torch.save(tensors, tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"with 'net.' before it"):
        read_model(tmp_path / "m.pt", config=config)


def test_a_boxed_file_is_certified_and_its_word_printed(tmp_path):
    tensors, config = state("module.")
    torch.save({"model": tensors}, tmp_path / "m.pt")
    np.savez(tmp_path / "facts.npz", contexts=np.zeros((1, 2), dtype=np.int64), next_tokens=[0])
    figures = certify(tmp_path / "m.pt", tmp_path / "facts.npz", config=config, key="model")
    assert figures["model"] == the_hash() and "without 'module.'" in figures["reading"]


def test_an_archive_of_numpy_is_read_and_runs_nothing(tmp_path):
    tensors, config = lens()
    np.savez(tmp_path / "m.npz", **tensors)
    assert read_model(tmp_path / "m.npz", config=config).sha256() == the_hash()
    np.savez(tmp_path / "o.npz", a=np.array([{}], dtype=object))
    (tmp_path / "b.npz").write_bytes(b"PK")
    for name in ("o", "b", "no"):
        with pytest.raises(FileFormatError, match="is not a readable archive of numbers") as raised:
            of_archive(tmp_path / f"{name}.npz")
        assert str(raised.value).isprintable()


def test_a_pickle_of_anything_is_refused_in_one_sentence(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("ran").write_text, ("x",))

    (tmp_path / "m.pkl").write_bytes(pickle.dumps({"a": Trap()}))
    torch.save(torch.nn.Linear(2, 2), tmp_path / "m.pt")
    for name in ("m.pkl", "m.pt"):
        with pytest.raises(FileFormatError, match="holds more than numbers and containers") as raised:
            unpickled(tmp_path / name)
        assert str(raised.value).isprintable() and "weights_only" not in str(raised.value)
    (tmp_path / "cut.pt").write_bytes((tmp_path / "m.pt").read_bytes()[:300])
    with pytest.raises(FileFormatError, match="is not a readable state dictionary: RuntimeError"):
        unpickled(tmp_path / "cut.pt")
    assert not (tmp_path / "ran").exists()


def test_parts_that_torch_has_pickled_are_read_by_their_index(tmp_path):
    tensors, config = state()
    names = list(tensors)
    files = {name: f"pytorch_model-0000{1 + (i % 2)}-of-00002.bin" for i, name in enumerate(names)}
    for file in set(files.values()):
        torch.save({name: tensors[name] for name in names if files[name] == file}, tmp_path / file)
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": files}))
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_model(tmp_path).sha256() == the_hash()
    files[names[0]] = "pytorch_model-00002-of-00002.bin"
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": files}))
    with pytest.raises(FileFormatError, match="against its weight_map"):
        read_model(tmp_path)
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    assert read_model(tmp_path).sha256() == the_hash()


def test_prefixes_are_those_of_all_names():
    assert list(shortened([])) == [] and list(shortened(["a", "a.b"])) == [] and list(shortened(["a.b", "c.b"])) == []
    assert without_wrappers({}) == ({}, "") and without_wrappers({"module.a": 1, "b": 2})[1] == ""


def test_the_initializers_of_a_graph_are_read(tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs `pip install onnx`")
    state, config = lens()
    save = onnx.helper.make_model
    numbers = [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in state.items()]
    places = onnx.numpy_helper.from_array(np.arange(3), "shape")
    graph = onnx.helper.make_graph([], "weights", [], [], [*numbers, places])
    onnx.save(save(graph), tmp_path / "m.onnx")
    assert read_model(tmp_path / "m.onnx", config=config).sha256() == the_hash()
    onnx.save(save(onnx.helper.make_graph([], "two", [], [], [*numbers, numbers[0]])), tmp_path / "two.onnx")
    onnx.save(save(onnx.helper.make_graph([], "none", [], [], [places])), tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x07\x12")
    for name, said in (("two", "twice"), ("none", "no initializers"), ("bad", "not a readable graph")):
        with pytest.raises(FileFormatError, match=said):
            of_graph(tmp_path / f"{name}.onnx")


def test_numbers_of_a_short_type_in_a_graph_are_read_exactly(tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs `pip install onnx`")
    value = 1.0 + 2.0**-7
    tensors = [
        onnx.helper.make_tensor(kind, number, [1], [value])
        for kind, number in (("a", 1), ("b", 10), ("c", 16), ("d", 11))
    ]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "short", [], [], tensors)), tmp_path / "m.onnx")
    assert {name: float(array[0]) for name, array in of_graph(tmp_path / "m.onnx").items()} == dict.fromkeys(
        "abcd", value
    )
