"""What no reader asks for is refused by a sentence that names the family and the field."""

import json

import numpy as np
import pytest

from byheart.hosts.families.checkpoint import Checkpoint
from byheart.hosts.reading import model_of
from constructions.errors import InputError
from tests.families import RECORDED, weights

CASES = {case["config"]["model_type"]: case for case in json.loads(RECORDED.read_text())}


def read(kind, *, tensors=None, **fields):
    case = CASES[kind]
    found = weights(case["shapes"], case["seed"])
    if case["tied"]:
        found["lm_head.weight"] = found[case["tied"]]
    return model_of({**found, **(tensors or {})}, {**case["config"], **fields})


@pytest.mark.parametrize("kind", sorted(CASES))
def test_fields_tensors_and_quantization_that_nobody_knows_are_refused_by_name(kind):
    read(kind)
    for name, value in (("turbo", 5), ("quantization_config", {"bits": 4}), ("pruned_heads", {"0": [1]})):
        with pytest.raises(InputError, match=f"{kind} with {name} = "):
            read(kind, **{name: value})
    for name in ("model.layers.0.self_attn.q_proj.lora_A.weight", "classifier.weight"):
        with pytest.raises(InputError, match=f"{kind}: the tensors {name} .1 in all. belong to no block"):
            read(kind, tensors={name: np.zeros((2, 2))})
    with pytest.raises(InputError, match="architectures"):
        read(kind, architectures=["A", "B"])
    with pytest.raises(InputError, match=f"{kind} with vocab_size = 12"):
        read(kind, vocab_size=12)


@pytest.mark.parametrize("kind", sorted(set(CASES) - {"opt", "gpt_neo", "mpt", "bloom", "gptj", "codegen"}))
@pytest.mark.parametrize("rope", ["dynamic", "longrope", "turbo"])
def test_frequencies_that_depend_on_the_length_are_refused(kind, rope):
    said = {"rope_type": rope, "rope_theta": 100.0, "factor": 2.0}
    said = {"full_attention": said, "sliding_attention": said} if kind == "gemma3_text" else said
    with pytest.raises(InputError, match=f"{kind} with rope_type {rope}"):
        read(kind, rope_parameters=said)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("llama", {"hidden_act": "tanh"}),
        ("llama", {"num_key_value_heads": 3}),
        ("llama", {"rms_norm_eps": 0}),
        ("llama", {"attention_bias": 1}),
        ("gemma2", {"use_bidirectional_attention": True}),
        ("gemma3_text", {"layer_types": ["full_attention"]}),
        ("smollm3", {"no_rope_layers": [2, 1]}),
        ("mpt", {"attn_config": {"qk_ln": True}}),
        ("mpt", {"attn_config": {"turbo": 1}}),
        ("mpt", {"attn_config": {"clip_qkv": 1.0, "softmax_scale": 0.5}}),
        ("mpt", {"attn_config": {"alibi_bias_max": 6}}),
        ("opt", {"word_embed_proj_dim": 12}),
        ("gpt_neo", {"attention_types": [[["global"], 1]]}),
        ("bloom", {"slow_but_exact": True, "pretraining_tp": 2}),
        ("bloom", {"n_head": 0}),
        ("falcon", {"alibi": True}),
        ("falcon", {"num_ln_in_parallel_attn": 3}),
        ("falcon", {"num_kv_heads": 2, "multi_query": False, "new_decoder_architecture": False}),
        ("gptj", {"rotary_dim": 3}),
    ],
)
def test_values_that_no_block_computes_are_refused_by_name(kind, fields):
    with pytest.raises(InputError, match=f"{kind} with {next(iter(fields))} = "):
        read(kind, **fields)


def test_gains_and_products_that_are_no_float64_numbers_are_refused():
    with pytest.raises(InputError, match=r"gemma: 1 . model.norm.weight is not a float64 number"):
        read("gemma", tensors={"model.norm.weight": np.full(24, 2.0**-60)})
    with pytest.raises(InputError, match=r"granite: .* times 0.21999.* is not a float64 number"):
        read(
            "granite",
            residual_multiplier=0.22,
            tensors={"model.layers.0.self_attn.o_proj.weight": np.full((24, 24), 0.1)},
        )


def test_numbers_are_those_of_the_type_in_which_the_host_runs():
    c = {"model_type": "gemma"}
    for said, expected in (("bfloat16", 55.5), ("torch.float32", 55.42562484741211), ("float64", 3072**0.5)):
        assert Checkpoint({}, {**c, "dtype": said}).runs_in(3072**0.5) == expected
    assert Checkpoint({}, c).runs_in(3072**0.5) == 55.42562484741211


def test_bloom_is_read_under_the_names_of_its_first_files():
    """Without the prefix of a model with a head, and with fields that the host no longer reads."""
    case = CASES["bloom"]
    found = {name.removeprefix("transformer."): x for name, x in weights(case["shapes"], case["seed"]).items()}
    config = {**case["config"], "skip_bias_add_qkv": False, "offset_alibi": 100, "unk_token_id": 0, "seq_length": 9}
    if case["tied"]:
        found["lm_head.weight"] = found[case["tied"].removeprefix("transformer.")]
    model = model_of(found, config)
    assert model.n_ctx == 9
    assert {name: x.tolist() for name, x in model.tensors().items()} == {
        name: x.tolist() for name, x in read("bloom").tensors().items()
    }


PUBLISHED = [
    ("falcon", {"apply_residual_connection_post_layernorm": False}, {"apply_residual_connection_post_layernorm": True}),
    ("gemma", {"hidden_activation": "gelu_pytorch_tanh"}, {"hidden_activation": "silu"}),
    ("gemma2", {"sliding_window_size": 4096}, {"sliding_window_size": 5}),
    ("llama", {"is_llama_config": True, "rope_interleaved": False, "transformers.js_config": {}},
     {"rope_interleaved": True}),
    ("phi3", {"attention_bias": False}, {"attention_bias": True}),
    ("qwen2", {"use_mrope": False}, {"use_mrope": True}),
    ("smollm3", {"pretraining_tp": 2}, {"pretraining_tp": 4}),
    ("starcoder2", {"activation_function": "gelu", "attention_softmax_in_fp32": True, "mlp_type": "default",
                    "norm_type": "layer_norm", "scale_attention_softmax_in_fp32": True, "scale_attn_weights": True},
     {"scale_attn_weights": False}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "harmless", "other"), PUBLISHED, ids=[kind for kind, *_ in PUBLISHED])
def test_fields_of_published_configurations_that_change_nothing_are_passed_over(kind, harmless, other):
    assert read(kind, **harmless).sha256() == read(kind).sha256()
    [name] = other
    with pytest.raises(InputError, match=name):
        read(kind, **{**harmless, **other})


def test_the_first_gemma_files_call_the_other_gelu_by_its_name():
    assert read("gemma", hidden_act="gelu").sha256() == read("gemma", hidden_act="gelu_pytorch_tanh").sha256()
