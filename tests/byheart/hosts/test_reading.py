"""Models of other people are read exactly, or refused."""

import json

import numpy as np
import pytest
import safetensors.numpy

from byheart.hosts.conversion import rounded_model
from byheart.hosts.export import export
from byheart.hosts.exported.huggingface import config_of
from byheart.hosts.host import INDEX_FILE, host_named
from byheart.hosts.number_types import DTYPES, read_tensors, write_tensors
from byheart.hosts.reading import as_float64, model_of, read_model
from constructions.errors import FileFormatError, InputError
from constructions.model.model import Model
from tests.exports import MODELS, task_of, written_for
from verify.forward.logits import enclose_logits

TOKENS = [name for name, model in MODELS.items() if model.reads_tokens]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", ["safetensors", "huggingface", "transformer-lens"])
@pytest.mark.parametrize("name", TOKENS)
def test_what_is_written_is_read_again_bit_by_bit(name, to, dtype, tmp_path):
    host = host_named(to)
    model = rounded_model(MODELS[name], dtype)
    try:
        converted = host.convert(model)
    except InputError:
        assert to == "transformer-lens"
        return
    host.write(converted, tmp_path, dtype)
    assert read_model(tmp_path).sha256() == converted.sha256()
    if to == "safetensors":
        assert converted.sha256() == model.sha256()
        assert read_model(tmp_path / "model.safetensors").sha256() == model.sha256()


def test_a_model_of_vectors_is_read_again(tmp_path):
    for to in ("safetensors", "huggingface"):
        host_named(to).write(MODELS["layer of values"], tmp_path, "float64")
        assert read_model(tmp_path).sha256() == MODELS["layer of values"].sha256()


def test_a_folder_of_ours_is_read(tmp_path):
    MODELS["gelu neurons"].save(tmp_path / "model.safetensors")
    assert read_model(tmp_path).sha256() == MODELS["gelu neurons"].sha256()


def lens(**changes):
    """Tensors and configuration of a HookedTransformer with layer normalization."""
    from byheart.hosts.exported.transformer_lens import config_of

    model = host_named("transformer-lens").convert(MODELS["layer normalization as in GPT-2"])
    return dict(model.tensors()), {**config_of(model, "float64"), **changes}


def test_the_scale_of_the_scores_is_that_of_the_configuration():
    tensors, config = lens()
    roots = {}
    for changes in ({}, {"attn_scale": -1.0}, {"use_attn_scale": False}, {"attn_scale": 5.0}, {"attn_scale": 7**0.5}):
        model = model_of(tensors, {**config, **changes})
        roots[str(changes)] = model.blocks[0].score_root
    assert list(roots.values()) == [3, 3, 1, 25, 7]
    with pytest.raises(InputError, match=r"attn_scale is 1\.3, expected the root of an integer"):
        model_of(tensors, {**config, "attn_scale": 1.3})


def test_folded_normalizations_have_no_parameters():
    tensors, config = lens(normalization_type="LNPre")
    plain = {name: tensor for name, tensor in tensors.items() if "ln" not in name}
    model = model_of(plain, config)
    assert model.blocks[0].norm.b is None and (model.blocks[0].norm.w == 1.0).all() and model.blocks[-1].kind == "layer"
    with pytest.raises(InputError, match=r"the tensors blocks\.0\.ln1\.b, .* belong to no block"):
        model_of(tensors, config)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"positional_embedding_type": "shortformer"},
            "positional_embedding_type = 'shortformer', expected one of stan",
        ),
        ({"positional_embedding_type": "rotary"}, "rotary_dim is 3, expected an even number up to d_head = 3"),
        ({"positional_embedding_type": "rotary", "rotary_dim": 4}, "rotary_dim is 4, expected an even number"),
        (
            {"positional_embedding_type": "rotary", "rotary_dim": 2},
            r"the tensors pos_embed\.W_pos .* belong to no block",
        ),
        ({"positional_embedding_type": "rotary", "rotary_dim": 2, "rotary_base": 0}, "rotary_base is 0"),
        ({"rotary_scaling_factor": 8.0}, r"rotary_scaling_factor is 8\.0, expected 1\.0"),
        ({"use_NTK_by_parts_rope": True}, "use_NTK_by_parts_rope is True, expected False"),
        ({"rotary_adjacent_pairs": 1}, "rotary_adjacent_pairs is 1, expected true or false"),
        ({"n_key_value_heads": 2}, r"HookedTransformer has no tensor 'blocks\.0\.attn\._W_K'"),
        ({"gated_mlp": True}, r"HookedTransformer has no tensor 'blocks\.0\.mlp\.W_gate'"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
        ({"attn_scores_soft_cap": "30"}, "attn_scores_soft_cap is '30'"),
        ({"act_fn": "solu_ln"}, "act_fn is 'solu_ln', expected one of relu"),
        ({"normalization_type": "BN"}, "normalization_type = 'BN', expected one of None, LN"),
        ({"attn_only": True}, r"the tensors blocks\.0\.ln2\.b, .* belong to no block"),
        ({"turbo": None}, "turbo = None: an option that is not known here and may change the logits"),
        ({"original_architecture": "Olmo2ForCausalLM"}, "original_architecture is 'Olmo2ForCausalLM', expected None"),
        ({"use_attention_sinks": True}, "use_attention_sinks is True, expected False: no block computes that"),
        ({"clip_qkv": 8.0}, r"clip_qkv is 8\.0, expected None"),
        ({"gated_mlp": 1}, "gated_mlp is 1, expected true or false"),
        ({"attn_scale": 0}, "attn_scale is 0, expected the root of an integer, or -1"),
        ({"attn_scale": -2}, "attn_scale is -2, expected the root of an integer, or -1"),
        ({"attn_scale": float("nan")}, "attn_scale is nan, expected the root of an integer, or -1"),
        ({"use_attn_scale": 0}, "use_attn_scale is 0, expected true or false"),
        ({"use_attn_scale": None}, "use_attn_scale is None, expected true or false"),
        ({"attn_only": 0}, "attn_only is 0, expected true or false"),
        ({"d_head": 4}, r"d_head is 4, but blocks\.0\.attn\.W_Q has 3"),
        ({"d_head": True}, "d_head is True, expected an integer"),
        ({"n_heads": 3}, r"n_heads is 3, but blocks\.0\.attn\.W_Q has 2"),
        ({"d_mlp": 4}, r"d_mlp is 4, but blocks\.0\.mlp\.W_in has 8"),
        ({"d_model": 4}, r"d_model is 4, but embed\.W_E has 6"),
        ({"d_vocab": 4}, r"d_vocab is 4, but embed\.W_E has 7"),
        ({"n_ctx": 5}, r"n_ctx is 5, but pos_embed\.W_pos has 4"),
        ({"d_vocab_out": 4}, r"d_vocab_out is 4, but unembed\.W_U has 7"),
        ({"n_layers": 2.0}, r"n_layers is 2\.0, expected an integer"),
        ({"eps": "1e-5"}, "eps is '1e-5', expected a number"),
        ({"n_layers": 3}, r"HookedTransformer has no tensor 'blocks\.2\.attn\.W_Q', which its configuration asks for"),
    ],
)
def test_another_configuration_is_refused(changes, message):
    tensors, config = lens()
    with pytest.raises(InputError, match=message):
        model_of(tensors, {**config, **changes})


def rotary(**changes):
    """The same with grouped heads that are turned, and gates."""
    tensors, config = lens(positional_embedding_type="rotary", rotary_dim=2, n_key_value_heads=1, gated_mlp=True)
    del tensors["pos_embed.W_pos"]
    for place in ("blocks.0", "blocks.1"):
        for name in ("W_K", "W_V", "b_K", "b_V"):
            tensors[f"{place}.attn._{name}"] = tensors.pop(f"{place}.attn.{name}")[:1]
        tensors[f"{place}.attn.rotary_sin"] = np.ones((4, 2))
        tensors[f"{place}.mlp.W_gate"] = tensors[f"{place}.mlp.W_in"] + 1.0
        tensors[f"{place}.mlp.b_in"] = np.zeros_like(tensors[f"{place}.mlp.b_in"])
    return tensors, {**config, **changes}


@pytest.mark.parametrize(("adjacent", "turned"), [(False, "halves"), (True, "neighbours")])
def test_turned_and_grouped_heads_and_gates_of_transformer_lens(adjacent, turned):
    tensors, config = rotary(rotary_adjacent_pairs=adjacent)
    model = model_of(tensors, config)
    heads, neurons = model.blocks[0], model.blocks[1]
    assert (heads.turned, heads.key_heads, heads.n_heads, heads.frequencies.tolist()) == (turned, 1, 2, [1.0])
    assert (neurons.W_gate == neurons.W_in + 1.0).all() and neurons.b_in is None and neurons.b_gate is None
    assert model.n_ctx == config["n_ctx"] and model.W_pos is None
    tensors["blocks.1.mlp.b_in"] = tensors["blocks.1.mlp.b_in"] + 1.0
    with pytest.raises(InputError, match=r"blocks\.1\.mlp\.b_in is added after the gate"):
        model_of(tensors, config)
    with pytest.raises(InputError, match=r"n_key_value_heads is 2, but blocks\.0\.attn\._W_K has 1"):
        model_of(tensors, {**config, "n_key_value_heads": 2})


def test_frequencies_of_transformer_lens_are_those_of_its_number_type():
    from byheart.hosts.exported.transformer_lens import _turns

    given = {"positional_embedding_type": "rotary", "d_head": 8, "rotary_dim": 6, "rotary_base": 50}
    short, long = (_turns({**given, "dtype": dtype})["frequencies"] for dtype in ("torch.float32", "float64"))
    assert long == pytest.approx(50.0 ** (-np.arange(3) / 3), rel=2.0**-51)
    assert short == pytest.approx(long, rel=2.0**-22) and (short[1:] != long[1:]).all()


def test_heads_of_another_width_in_a_later_layer_are_refused():
    tensors, config = lens()
    for name in ("W_Q", "W_K", "b_Q", "b_K"):
        tensors[f"blocks.1.attn.{name}"] = tensors[f"blocks.1.attn.{name}"][..., :2]
    with pytest.raises(InputError, match=r"d_head is 3, but blocks\.1\.attn\.W_Q has 2"):
        model_of(tensors, config)
    tensors, config = lens()
    tensors["blocks.1.attn.W_V"] = tensors["blocks.1.attn.W_V"][..., :2]
    tensors["blocks.1.attn.b_V"] = tensors["blocks.1.attn.b_V"][..., :2]
    tensors["blocks.1.attn.W_O"] = tensors["blocks.1.attn.W_O"][:, :2]
    with pytest.raises(InputError, match=r"d_head is 3, but blocks\.1\.attn\.W_V has 2"):
        model_of(tensors, config)


def test_sizes_that_are_said_to_be_unset_are_those_of_the_tensors():
    tensors, config = lens()
    unset = {"n_heads": -1, "d_vocab": -1, "d_vocab_out": -1, "d_mlp": None}
    assert model_of(tensors, {**config, **unset}).sha256() == model_of(tensors, config).sha256()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: {"input": "vectors"}, "input is 'vectors', expected 'tokens', which follows from the blocks"),
        (lambda c: {"n_ctx": 5}, "n_ctx is 5, expected 4"),
        (lambda c: {"vocab_size": 8}, "vocab_size is 8, expected 7"),
        (lambda c: {"num_hidden_layers": 1}, "num_hidden_layers is 1, expected 3"),
        (lambda c: {"architectures": ["GPT2LMHeadModel"]}, "architectures is "),
        (lambda c: {"auto_map": {}}, "auto_map is {}, expected "),
        (lambda c: {"is_causal": False}, "is_causal is False, expected True"),
        (lambda c: {"turbo": 1}, "turbo = 1: an option that is not known here"),
        (lambda c: {"shapes": {**c["shapes"], "unembed.b_U": [8]}}, "shapes is "),
        # Without a shape the library takes no tensor, and computes without the shift.
        (lambda c: {"shapes": {n: s for n, s in c["shapes"].items() if n != "blocks.0.attn.b_O"}}, "shapes is "),
        # With each other's names, each attention would take the tensors of the other.
        (lambda c: {"blocks": [b | {"name": f"blocks.{1 - i}.attn"} for i, b in enumerate(c["blocks"][:2])]
                    + c["blocks"][2:]}, "blocks is "),
        (lambda c: {"blocks": [{k: v for k, v in b.items() if k != "name"} for b in c["blocks"]]}, "blocks is "),
    ],
)  # fmt: skip
def test_what_our_export_for_the_library_says_has_to_be_what_its_weights_are(change, message):
    model = host_named("huggingface").convert(MODELS["stack of attention"])
    config = config_of(model, "float64")
    again = {**config, "transformers_version": "5.0.0", "num_hidden_layers": 3}
    assert model_of(model.tensors(), again).sha256() == model.sha256()
    with pytest.raises(InputError, match=message):
        model_of(model.tensors(), {**config, **change(config)})


def test_names_of_normalizations_are_compared_too():
    model = host_named("huggingface").convert(MODELS["layer normalization as in GPT-2"])
    config = config_of(model, "float64")
    config["blocks"][0]["norm"]["name"] = "blocks.1.ln1"
    with pytest.raises(InputError, match="blocks is "):
        model_of(model.tensors(), config)
    del config["blocks"][0]["norm"]["name"]
    with pytest.raises(InputError, match="blocks is "):
        model_of(model.tensors(), config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input": "vectors"}, "input is vectors, expected tokens, the size of the tensors"),
        ({"version": 1}, "version is 1, expected 2"),
        ({"turbo": 1}, "turbo = 1: an option that is not known here"),
    ],
)
def test_options_of_ours_have_to_be_those_of_the_tensors(change, message):
    model = MODELS["stack of attention"]
    with pytest.raises(InputError, match=message):
        model_of(model.tensors(), {**model.options(), **change})


@pytest.mark.parametrize("options", [Model.options, lambda model: config_of(model, "float64")], ids=["ours", "export"])
def test_a_tensor_that_no_block_of_ours_has_is_refused(options):
    model = MODELS["network of one attention"]
    more = {**model.tensors(), "blocks.1.attn.W_Q": np.ones((5, 6, 2))}
    with pytest.raises(InputError, match=r"the tensors blocks\.1\.attn\.W_Q \(1 in all\) belong to no block"):
        model_of(more, options(model))


@pytest.mark.parametrize(
    "change",
    [
        {"score_root": True},
        {"score_root": 1.0},
        {"attends": "sideways"},
        {"skip": 1},
        {"unknown": 1},
        {"norm": {"kind": "layer", "epsilon": "0x"}},
        {"norm": 5},
    ],
    ids=str,
)
def test_options_that_are_not_ours_are_refused(change):
    model = MODELS["stack of attention"]
    options = model.options()
    options["blocks"][0] |= change
    with pytest.raises(InputError):
        model_of(model.tensors(), options)


@pytest.mark.parametrize(("name", "value"), [("n_layers", "two"), ("d_head", None), ("eps", []), ("attn_scale", "x")])
def test_a_configuration_of_other_types_is_refused(name, value):
    tensors, config = lens(attn_scale=-1.0)
    with pytest.raises(InputError):
        model_of(tensors, {**config, name: value})


def test_masks_are_left_out_and_other_integers_refused(tmp_path):
    tensors, config = lens()
    masked = {**tensors, "blocks.0.attn.mask": np.ones((4, 4), bool), "blocks.0.attn.IGNORE": np.float64(-1e5)}
    assert model_of(masked, config).sha256() == model_of(tensors, config).sha256()
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in masked.items()}, tmp_path / "m.safetensors")
    assert read_model(tmp_path / "m.safetensors", config=config).sha256() == model_of(tensors, config).sha256()
    with pytest.raises(InputError, match=r"unembed\.W_U has the type int64"):
        model_of({**tensors, "unembed.W_U": np.ones((6, 7), dtype=np.int64)}, config)


def test_a_configuration_is_needed_and_has_to_be_one(tmp_path):
    tensors, config = lens()
    path = tmp_path / "weights.safetensors"
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, path)
    with pytest.raises(InputError, match=r"config\.json is not a file, expected the configuration that says what"):
        read_model(path)
    with pytest.raises(InputError, match=r"the configuration has the fields \['a'\], expected one of TransformerLens"):
        read_model(path, config={"a": 1})
    (tmp_path / "config.json").write_text("[1")
    with pytest.raises(FileFormatError, match="is not readable JSON"):
        read_model(path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(FileFormatError, match="holds list, expected an object"):
        read_model(path)
    (tmp_path / "other.json").write_text(json.dumps(config))
    assert read_model(path, config=tmp_path / "other.json").sha256() == model_of(tensors, config).sha256()


def test_a_state_dictionary_is_read_without_running_it(tmp_path):
    torch = pytest.importorskip("torch")
    tensors, config = lens()
    state = {name: torch.tensor(tensor) for name, tensor in tensors.items()}
    torch.save(state, tmp_path / "m.pt")
    assert read_model(tmp_path / "m.pt", config=config).sha256() == model_of(tensors, config).sha256()
    half = {name: tensor.to(torch.bfloat16) for name, tensor in state.items()}
    torch.save(half, tmp_path / "h.pt")
    found = read_model(tmp_path / "h.pt", config=config)
    assert np.array_equal(found.W_U, half["unembed.W_U"].double().numpy())
    torch.save([1, 2], tmp_path / "l.pt")
    with pytest.raises(FileFormatError, match="holds list, expected a dictionary of tensors"):
        read_model(tmp_path / "l.pt", config=config)
    import pathlib

    torch.save({"a": pathlib.Path("x")}, tmp_path / "p.pt")
    with pytest.raises(FileFormatError, match="holds more than numbers and containers, pathlib") as raised:
        read_model(tmp_path / "p.pt", config=config)
    assert str(raised.value).isprintable()  # one line, whatever torch says in how many
    for name, strange in (("stored as torch.sparse_coo", half["unembed.W_U"].to_sparse()),
                          ("no numbers", torch.ones(2, 2, device="meta"))):  # fmt: skip
        torch.save({**state, "unembed.W_U": strange}, tmp_path / "s.pt")
        with pytest.raises(InputError, match=name):
            read_model(tmp_path / "s.pt", config=config)


@pytest.mark.parametrize("dtype", [np.int64, np.complex128, np.longdouble])
def test_numbers_that_float64_does_not_hold_are_refused(dtype):
    if dtype is np.longdouble and np.dtype(dtype).itemsize == 8:
        pytest.skip("extended precision is float64 here")
    with pytest.raises(InputError, match=f"A has the type {np.dtype(dtype)}, expected a floating-point type"):
        as_float64("A", np.ones(2, dtype=dtype))


@pytest.mark.filterwarnings("ignore")
def test_out_to_a_host_and_in_again_computes_the_same(tmp_path):
    name = "network of one attention"
    task = task_of(name)
    export(MODELS[name], task=task, to="safetensors", out=tmp_path / "out")
    models = (read_model(tmp_path / "out"), MODELS[name])
    found, exact = (enclose_logits(model, task.contexts, precision=200) for model in models)
    assert np.array_equal(found.midpoint, exact.midpoint)


def in_shards(folder, tensors, **changes):
    """Tensors in two files, and the index that names the file of each."""
    folder.mkdir(exist_ok=True)
    files = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(tensors)}
    for file in set(files.values()):
        part = {name: tensor for name, tensor in tensors.items() if files[name] == file}
        write_tensors(folder / file, part, dtype="float64", metadata={"format": "pt"})
    (folder / INDEX_FILE).write_text(json.dumps({"weight_map": {**files, **changes}}))


def test_weights_in_several_files_are_read_by_their_index(tmp_path):
    written = written_for("transformer-lens", tmp_path / "one", "layer normalization as in GPT-2")
    tensors, _ = read_tensors(written / "model.safetensors")
    in_shards(tmp_path / "parts", tensors)
    (tmp_path / "parts" / "config.json").write_bytes((written / "config.json").read_bytes())
    assert read_model(tmp_path / "parts").sha256() == read_model(written).sha256()
    assert read_model(tmp_path / "parts" / INDEX_FILE).parameters == read_model(written).parameters
    name = next(iter(tensors))
    for changes, message in (
        ({name: "model-00002-of-00002.safetensors"}, f"{name} is "),
        ({"more": "model-00002-of-00002.safetensors"}, "more is not in"),
        ({name: "../one/model.safetensors"}, "not in its folder"),
        ({name: "model-00003-of-00003.safetensors"}, "is only in"),
        ({name: 5}, "not in its folder"),
    ):
        in_shards(tmp_path / "parts", tensors, **changes)
        with pytest.raises(FileFormatError, match=message):
            read_model(tmp_path / "parts")
    (tmp_path / "parts" / INDEX_FILE).write_text("[]")
    with pytest.raises(FileFormatError, match="no weight_map"):
        read_model(tmp_path / "parts")


def test_a_folder_without_safetensors_or_with_an_adapter_is_refused_by_a_sentence(tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"has no model.safetensors, .* it has weights.pt: save_pretrained"):
        read_model(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match=r"has an adapter .*, which changes its weights"):
        read_model(tmp_path)
