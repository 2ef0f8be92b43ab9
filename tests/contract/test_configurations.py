"""What docs/hosts.md promises of a configuration, tried on every family, GPT-2 and TransformerLens among them."""

import json

import numpy as np
import pytest

from byheart.hosts.families import FAMILIES
from byheart.hosts.reading import model_of
from constructions.errors import InputError
from tests.families import RECORDED, weights

CASES = json.loads(RECORDED.read_text())
KINDS = ["gpt2", *sorted(FAMILIES), "transformer-lens"]


def lens():
    heads, d, e, n = 2, 4, 2, 7
    shapes = {"embed.W_E": (n, d), "pos_embed.W_pos": (5, d), "unembed.W_U": (d, n), "unembed.b_U": (n,)}
    shapes |= {f"blocks.0.attn.{x}": (heads, d, e) for x in ("W_Q", "W_K", "W_V")}
    shapes |= {f"blocks.0.attn.{x}": (heads, e) for x in ("b_Q", "b_K", "b_V")}
    shapes |= {"blocks.0.attn.W_O": (heads, e, d), "blocks.0.attn.b_O": (d,)}
    shapes |= {"blocks.0.mlp.W_in": (d, 8), "blocks.0.mlp.b_in": (8,), "blocks.0.mlp.W_out": (8, d)}
    shapes |= {"blocks.0.mlp.b_out": (d,)}
    shapes |= {f"{place}.{x}": (d,) for place in ("blocks.0.ln1", "blocks.0.ln2", "ln_final") for x in "wb"}
    config = {
        "n_layers": 1, "d_model": d, "n_ctx": 5, "d_head": e, "n_heads": heads, "d_mlp": 8, "d_vocab": n,
        "d_vocab_out": n, "act_fn": "gelu", "normalization_type": "LN", "eps": 1e-5, "attn_only": False,
        "use_attn_scale": True, "attn_scale": 2.0**0.5, "positional_embedding_type": "standard", "gated_mlp": False,
        "attention_dir": "causal", "original_architecture": None, "rotary_dim": None, "rotary_base": 10000,
        "n_key_value_heads": None, "rotary_adjacent_pairs": False, "use_local_attn": False,
    }  # fmt: skip
    return weights(shapes, 0), config


def gpt2():
    d, n = 4, 7
    shapes = {"wte.weight": (n, d), "wpe.weight": (5, d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
    for norm in ("ln_1", "ln_2"):
        shapes |= {f"h.0.{norm}.weight": (d,), f"h.0.{norm}.bias": (d,)}
    maps = {"attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "mlp.c_fc": (d, 16), "mlp.c_proj": (16, d)}
    for name, shape in maps.items():
        shapes |= {f"h.0.{name}.weight": shape, f"h.0.{name}.bias": shape[1:]}
    config = {
        "model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": d, "n_positions": 5, "n_ctx": 5, "n_inner": 16,
        "vocab_size": n, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True,
        "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "architectures": ["GPT2LMHeadModel"],
    }  # fmt: skip
    return {f"transformer.{name}": x for name, x in weights(shapes, 0).items()}, config


def read(kind):
    """Tensors and configurations of a kind."""
    if kind in ("gpt2", "transformer-lens"):
        return [gpt2() if kind == "gpt2" else lens()]
    found = []
    for case in CASES:
        if case["config"]["model_type"] == kind:
            tensors = weights(case["shapes"], case["seed"])
            if case["tied"]:
                tensors["lm_head.weight"] = tensors[case["tied"]]
            found.append((tensors, case["config"]))
    assert found
    return found


def hash_or_refusal(tensors, config):
    """The hash of the model, or the message of an `InputError`; every other exception is a fault."""
    try:
        return model_of(tensors, config).sha256(), ""
    except InputError as error:
        return "", str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_options_that_nobody_knows_are_refused_all_in_one_message(kind):
    for tensors, config in read(kind):
        given = {**config, "turbo": 1, "a_second": None, "is_my_scale": 2.5}
        with pytest.raises(InputError, match=r"a_second = None, is_my_scale = 2\.5, turbo = 1: options that are not"):
            model_of(tensors, given)
        ignored = model_of(tensors, given, ignored=["turbo", "a_second", "is_my_scale"])
        assert ignored.sha256() == model_of(tensors, config).sha256()
        with pytest.raises(InputError, match="turbo = 1: an option that is not known"):
            model_of(tensors, {**config, "turbo": 1}, ignored=[])
        known = next(iter(config))
        for left in (["turbo", known], ["turbo", "nothing"]):
            with pytest.raises(
                InputError, match=f"ignore_field = '{left[1]}', expected a field that is not known here"
            ):
                model_of(tensors, {**config, "turbo": 1}, ignored=left)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "transformer-lens"])
def test_a_readout_that_is_not_the_embeddings_is_refused_where_they_are_tied(kind):
    for tensors, config in read(kind):
        embeddings = next(name for name in tensors if name.endswith(("embed_tokens.weight", "wte.weight",
                          "word_embeddings.weight", "embed_in.weight")))  # fmt: skip
        own = "embed_out.weight" if "embed_out.weight" in tensors else "lm_head.weight"
        other = {**tensors, own: tensors[embeddings] + 1.0}
        said = hash_or_refusal(other, {**config, "tie_word_embeddings": True})
        assert "tie_word_embeddings is true" in said[1] and f"{own} is stored and is not the embeddings" in said[1]
        same = {**tensors, own: tensors[embeddings].copy()}
        tied = hash_or_refusal(same, {**config, "tie_word_embeddings": True})[0]
        without = {name: x for name, x in same.items() if name != own}
        assert tied and tied == hash_or_refusal(without, {**config, "tie_word_embeddings": True})[0]
        assert tied == hash_or_refusal(same, {**config, "tie_word_embeddings": False})[0]
        assert not hash_or_refusal(without, {**config, "tie_word_embeddings": False})[0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "transformer-lens"])
def test_where_nothing_is_said_of_ties_it_is_as_the_library_has_it(kind):
    transformers = pytest.importorskip("transformers")
    tied = transformers.CONFIG_MAPPING[kind]().tie_word_embeddings
    for tensors, config in read(kind):
        silent = {name: value for name, value in config.items() if name != "tie_word_embeddings"}
        assert hash_or_refusal(tensors, silent) == hash_or_refusal(tensors, {**silent, "tie_word_embeddings": tied})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strange", ["x", [1], {"a": 1}, True, float("nan"), None])
def test_a_value_of_another_kind_is_refused_by_the_name_of_its_field_or_changes_nothing(kind, strange):
    for tensors, config in read(kind):
        unchanged = model_of(tensors, config).sha256()
        for name, value in config.items():
            if name in ("model_type", "d_head") or (type(value) is type(strange) and value == strange):
                continue
            found, said = hash_or_refusal(tensors, {**config, name: strange})
            if type(strange) is type(value) or strange is None or isinstance(value, dict):
                continue  # another value of its kind: another model, or a refusal
            numbers = isinstance(value, int | float) and not isinstance(value, bool)
            if numbers and isinstance(strange, int | float) and not isinstance(strange, bool):
                continue
            assert found == unchanged or name in said or value is None, (name, value, strange, said)
            assert "not supported" not in said and "argument" not in said, (name, said)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_in_the_place_of_truth_values_are_refused(kind):
    for tensors, config in read(kind):
        unchanged = model_of(tensors, config).sha256()
        for name in [name for name, value in config.items() if type(value) is bool]:
            flipped, _ = hash_or_refusal(tensors, {**config, name: not config[name]})
            found, said = hash_or_refusal(tensors, {**config, name: int(config[name])})
            if flipped != unchanged:  # it is read
                assert not found and name in said, name


SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "n_embd", "n_layer", "n_inner", "d_model",
    "n_layers", "ffn_dim", "num_layers", "d_vocab", "d_mlp", "d_vocab_out", "ffn_hidden_size", "n_heads_of_keys",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_are_not_those_of_the_tensors_are_refused(kind):
    for tensors, config in read(kind):
        named = [name for name in SIZES if type(config.get(name)) is int]
        assert named
        for name in named:
            for size in (config[name] + 1, config[name] - 1):
                found, said = hash_or_refusal(tensors, {**config, name: size})
                assert not found and said, (name, size)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_too_many_or_missing_or_behind_a_prefix_is_refused_by_name(kind):
    for tensors, config in read(kind):
        assert "extra.weight" in hash_or_refusal({**tensors, "extra.weight": np.ones(3)}, config)[1]
        own = next(name for name in tensors if ".0." in name)
        tail = own.removeprefix("transformer.") if kind == "gpt2" else own
        less = {name: x for name, x in tensors.items() if name != own}
        assert f"has no tensor {tail!r}" in hash_or_refusal(less, config)[1]
        compiled = {f"_orig_mod.{name}": x for name, x in tensors.items()}
        found, said = hash_or_refusal(compiled, config)
        assert not found and "_orig_mod." in said and "torch.compile" in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "value"), [("is_causal", False), ("quantization_config", {"bits": 4})])
def test_what_no_block_computes_is_refused(kind, name, value):
    for tensors, config in read(kind):
        found, said = hash_or_refusal(tensors, {**config, name: value})
        assert not found and name in said
