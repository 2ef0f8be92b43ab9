"""What people load is what is proved: types, boxes, readouts and fields that are not known, in folders of the host."""

import json

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify
from byheart.hosts.handshake import HandshakeResult
from byheart.hosts.number_types import DTYPES, read_tensors, write_tensors
from byheart.hosts.reading import read_model
from constructions.errors import FileFormatError, InputError
from tests.edited_hosts import gpt2, recorded
from tests.families import RECORDED

KINDS = sorted({case["config"]["model_type"] for case in json.loads(RECORDED.read_text())})
FACTS = [([1, 2], [3]), ([2, 3], [4])]


def changed(folder, **fields):
    """The folder with other fields in its configuration; None removes one."""
    config = json.loads((folder / "config.json").read_text()) | fields
    kept = {name: value for name, value in config.items() if fields.get(name, 0) is not None}
    (folder / "config.json").write_text(json.dumps(kept))
    return folder


@pytest.mark.parametrize("kind", ["gpt2", *KINDS])
@pytest.mark.parametrize("handshake", [True, False])
def test_a_configuration_that_names_a_shorter_type_is_refused_by_its_field(kind, handshake, tmp_path):
    folder = gpt2(tmp_path / "m") if kind == "gpt2" else recorded(tmp_path / "m", kind, 0)
    for field in ("dtype", "torch_dtype"):
        for said in ("float16", "torch.bfloat16"):
            changed(folder, **{"dtype": None, "torch_dtype": None, field: said})
            with pytest.raises(
                InputError, match=f"^{field} of the configuration is {said.removeprefix('torch.')}, .* rounds"
            ):
                certify(folder, FACTS, handshake=handshake)
    assert main(["certify", str(folder), "--rule", "last", "--length", "2"]) == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_type_that_holds_the_numbers_is_no_reason_to_refuse(dtype, tmp_path):
    folder = gpt2(tmp_path / "m", dtype=dtype)
    assert "facts" in certify(changed(folder, dtype="float64"), FACTS, handshake=False)
    assert "facts" in certify(changed(folder, dtype=dtype), FACTS, handshake=False)


@pytest.mark.parametrize("dtype", ["int8", "auto", "float8_e4m3fn", ["float16"], 16])
def test_a_type_that_nobody_knows_is_refused(dtype, tmp_path):
    with pytest.raises(InputError, match=r"^dtype of the configuration is .*, expected one of float64, float32"):
        certify(changed(gpt2(tmp_path / "m"), dtype=dtype), FACTS, handshake=False)


def test_a_number_beyond_the_range_of_the_type_is_refused_too(tmp_path):
    folder = gpt2(tmp_path / "m")
    tensors, _ = read_tensors(folder / "model.safetensors")
    tensors = {name: np.rint(np.asarray(x, dtype=np.float64)) for name, x in tensors.items()}
    tensors["transformer.wte.weight"][0, 0] = 2.0**20
    write_tensors(folder / "model.safetensors", tensors, dtype="float32", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"dtype of the configuration is float16, .*wte\.weight that it rounds"):
        certify(changed(folder, dtype="float16"), FACTS, handshake=False)


def test_weights_of_two_types_without_a_field_are_refused_as_the_library_loads_them(tmp_path):
    pytest.importorskip("transformers")
    safetensors, torch = pytest.importorskip("safetensors.torch"), pytest.importorskip("torch")
    folder = changed(gpt2(tmp_path / "m"), dtype=None)
    tensors, _ = read_tensors(folder / "model.safetensors")
    types = [torch.bfloat16, *[torch.float32] * len(tensors)]
    pairs = zip(types, sorted(tensors.items()), strict=False)
    both = {name: torch.tensor(np.asarray(x)).to(of) for of, (name, x) in pairs}
    safetensors.save_file(both, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"that transformers loads the weights in, .* is bfloat16, .* that it rounds"):
        certify(folder, FACTS)


@pytest.mark.parametrize("kind", ["gpt2", *KINDS])
def test_a_readout_beside_tied_embeddings_is_refused_with_and_without_the_library(kind, tmp_path):
    folder = gpt2(tmp_path / "m") if kind == "gpt2" else recorded(tmp_path / "m", kind, 0)
    tensors, _ = read_tensors(folder / "model.safetensors")
    embeddings = next(x for name, x in tensors.items() if name.endswith(("embed_tokens.weight", "wte.weight",
                      "word_embeddings.weight", "embed_in.weight")))  # fmt: skip
    own = "embed_out.weight" if "embed_out.weight" in tensors else "lm_head.weight"
    tensors[own] = np.asarray(embeddings, dtype=np.float64) + 1.0
    write_tensors(folder / "model.safetensors", tensors, dtype="float64", metadata={"format": "pt"})
    changed(folder, tie_word_embeddings=True, dtype="float64")
    for handshake in (True, False):
        with pytest.raises(InputError, match="tie_word_embeddings is true"):
            certify(folder, FACTS, handshake=handshake)


def test_a_box_names_the_key_that_holds_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    tensors, _ = read_tensors(gpt2(tmp_path / "m") / "model.safetensors")
    state = {name: torch.tensor(np.asarray(x)) for name, x in tensors.items()}
    path = tmp_path / "m" / "box.pt"
    for box, said in (
        (
            {"model": state, "optimizer": {"lr": 1e-3}, "step": 5},
            r"'model', 'optimizer', 'step', of which 'model' holds",
        ),
        ({"a": state, "b": state}, "of which 'a' and 'b' hold tensors by name"),
        ({**state, "step": 5}, "of which 'step' is int"),
        ({}, "the keys of nothing"),
        ([state], "box.pt holds list"),
    ):
        torch.save(box, path)
        with pytest.raises(FileFormatError, match=said):
            read_model(path)
    torch.save({f"_orig_mod.{name}": x for name, x in state.items()}, path)
    assert read_model(path).sha256() == read_model(path.parent).sha256()


@pytest.mark.parametrize("name", ["model-00001.safetensors", "flax_model.msgpack"])
def test_a_folder_of_another_format_names_the_file_that_is_not_read(name, tmp_path):
    folder = gpt2(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(FileFormatError, match=rf"has no model\.safetensors, .* it has {name}, which is not read"):
        read_model(folder)


def test_a_folder_whose_weights_are_a_graph_says_to_give_that_file(tmp_path):
    folder = gpt2(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "model.onnx")
    with pytest.raises(FileFormatError, match=r"has no model\.safetensors, .* it has model\.onnx: give that file"):
        read_model(folder)


def test_fields_that_nobody_knows_are_ignored_where_the_library_agrees_and_named(tmp_path, capsys):
    pytest.importorskip("transformers")
    folder = changed(recorded(tmp_path / "m", "llama", 0), my_scale=3.0, my_note="x", dtype="float32")
    with pytest.raises(InputError, match=r"my_note = 'x', my_scale = 3\.0: options that are not known here"):
        certify(folder, FACTS)
    with pytest.raises(InputError, match="my_note = 'x': an option that is not known here"):
        certify(folder, FACTS, ignore_field=["my_scale"])
    said = certify(folder, FACTS, ignore_field=["my_scale", "my_note"])["headline"]
    assert "the configuration's my_scale, my_note ignored; agrees with LlamaForCausalLM" in said
    changed(folder, d_head=6)  # a field of another library does not make it one of that
    (folder / "generation_config.json").write_text('{"num_beams": 3}')
    with pytest.raises(InputError, match="num_beams = 3"):
        certify(folder, FACTS, ignore_field=["my_scale", "my_note", "d_head"])
    (folder / "generation_config.json").unlink()
    changed(folder, d_head=None)
    with pytest.raises(InputError, match="but without a handshake its effect is not checked"):
        certify(folder, FACTS, ignore_field=["my_scale", "my_note"], handshake=False)
    said = certify(folder / "model.safetensors", FACTS, ignore_field=["my_scale", "my_note"])["headline"]
    assert "my_scale, my_note ignored; agrees with LlamaForCausalLM" in said and "with the tensors of the file" in said
    with pytest.raises(InputError, match="ignore_field = 'rms_norm_eps', expected a field that is not known here"):
        certify(folder, FACTS, ignore_field=["my_scale", "my_note", "rms_norm_eps"])
    words = ["certify", str(folder), "--rule", "last", "--length", "2", "--quiet"]
    assert main([*words, "--ignore-field", "my_scale", "my_note"]) == 1
    assert "the configuration's my_scale, my_note ignored; agrees with" in capsys.readouterr().out


def test_the_code_of_a_folder_is_named_where_it_is_not_run(tmp_path):
    folder = changed(recorded(tmp_path / "m", "llama", 0), auto_map={"AutoModelForCausalLM": "mine.Mine"})
    assert "the code that auto_map names is not run" in certify(folder, FACTS, handshake=False)["headline"]


def test_a_folder_with_a_file_of_gguf_names_it(tmp_path):
    folder = gpt2(tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "own.gguf")
    with pytest.raises(FileFormatError, match=r"it has own\.gguf: give that file"):
        certify(folder, FACTS)


def test_what_passes_as_rounding_is_measured_by_the_least_margin():
    asked = HandshakeResult(agrees="X", gap=1e-13, allowed=0.5)
    assert asked.said() == asked.said(600.0) == "agrees with X (differs by 1e-13, at most 0.5 is rounding)"
    assert asked.said(1.0) == "agrees with X (differs by 1e-13, at most 0.001 is a thousandth of the least margin)"
    loose = HandshakeResult(agrees="X", gap=0.002, allowed=0.7)
    assert loose.said(1.0).startswith("handshake too loose to tell: X differs by 0.002, more than a thousandth")
    assert loose.tells(2.0) and loose.tells(None) and not loose.tells(1.999) and not asked.tells(0.0)
    assert HandshakeResult(why="--no-handshake").said(1.0) == "no library was asked: --no-handshake"


def test_names_turn_linear_maps_only_where_the_library_stores_them_otherwise(tmp_path):
    """A GPT-2 keeps its readout as torch does and its other maps turned round; a Llama keeps all as torch does."""
    torch = pytest.importorskip("torch")
    for folder in (gpt2(tmp_path / "g"), recorded(tmp_path / "l", "llama", 0)):
        config = json.loads((folder / "config.json").read_text())
        tensors, _ = read_tensors(folder / "model.safetensors")

        class Own(torch.nn.Module):
            """Each map as a linear one, each vector as a parameter."""

        module, names = Own(), {}
        for name, x in tensors.items():
            x, flat = torch.tensor(np.asarray(x, dtype=np.float64)), name.replace(".", "_")
            is_map = x.ndim == 2 and not name.endswith(("wte.weight", "wpe.weight", "embed_tokens.weight"))
            if is_map:
                stored = x.T if config["model_type"] == "gpt2" and "lm_head" not in name else x
                part = torch.nn.Linear(stored.shape[1], stored.shape[0], bias=False).double()
                part.weight.data = stored.contiguous()
                module.add_module(flat, part)
            else:
                module.register_parameter(flat, torch.nn.Parameter(x))
            names[name] = f"{flat}.weight" if is_map else flat
        figures = certify(module, FACTS, config=config, names=names, handshake=False)
        assert figures["model"] == read_model(folder).sha256()
