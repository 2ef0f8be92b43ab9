"""What is written for TransformerLens below 4, without it; what it computes is in tests/contract/test_hosts.py."""

import json

import numpy as np
import pytest

from byheart.hosts.exported.transformer_lens import HOST, config_of
from byheart.hosts.number_types import read_tensors
from byheart.hosts.reading import model_of
from constructions.errors import InputError
from tests.exports import MODELS, installed
from verify.forward.logits import enclose_logits


def written(name, folder):
    model = HOST.convert(MODELS[name])
    HOST.write(model, folder, "float64")
    return model, json.loads((folder / "config.json").read_text()), read_tensors(folder / "model.safetensors")[0]


def test_the_state_has_the_names_and_shapes_of_the_library(tmp_path):
    _, config, tensors = written("network of one attention", tmp_path)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    assert shapes == {
        "embed.W_E": (7, 6),
        "pos_embed.W_pos": (4, 6),
        **{f"blocks.0.attn.W_{letter}": (5, 6, 3) for letter in "QKV"},
        "blocks.0.attn.W_O": (5, 3, 6),
        **{f"blocks.0.attn.b_{letter}": (5, 3) for letter in "QKV"},
        "blocks.0.attn.b_O": (6,),
        "unembed.W_U": (6, 7),
        "unembed.b_U": (7,),
    }
    assert config["attn_only"] and config["normalization_type"] is None and config["use_attn_scale"] is False
    assert np.array_equal(tensors["blocks.0.attn.W_Q"][:, :, :2], MODELS["network of one attention"].W_Q)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gelu neurons", {"act_fn": "gelu_new", "d_mlp": 8, "n_layers": 2, "attn_only": False}),
        ("layer normalization as in GPT-2", {"normalization_type": "LN", "eps": 1e-5, "use_attn_scale": True}),
        ("root mean square normalization", {"normalization_type": "RMS", "attn_only": True}),
        ("stack that sees everything", {"attention_dir": "bidirectional", "n_layers": 2}),
        ("no residual stream", {"d_model": 10}),
        ("embeddings alone", {"n_layers": 1, "n_heads": 1, "d_head": 1}),
    ],
)
def test_the_configuration_says_what_the_blocks_are(name, expected, tmp_path):
    model, config, _ = written(name, tmp_path)
    assert {key: config[key] for key in expected} == expected
    assert {**config_of(model, "float64")}.items() <= config.items()


def test_the_scale_of_the_scores_is_left_to_the_library(tmp_path):
    model, config, tensors = written("layer normalization as in GPT-2", tmp_path)
    assert config["attn_scale"] == 3**0.5
    assert np.array_equal(tensors["blocks.0.attn.W_Q"], MODELS["layer normalization as in GPT-2"].blocks[0].W_Q)
    assert model.blocks[0].score_root == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("attn_only", [False, True])
def test_a_model_of_the_library_with_all_options_of_its_configuration_is_read_as_it_computes(attn_only):
    installed("transformer-lens")
    import torch
    from transformer_lens import HookedTransformer, HookedTransformerConfig  # pyright: ignore[reportMissingImports]

    with torch.random.fork_rng():
        torch.manual_seed(0)
        given = {"n_layers": 2, "d_model": 8, "n_ctx": 6, "d_head": 4, "d_vocab": 11, "attn_only": attn_only}
        config = HookedTransformerConfig(**given, act_fn="gelu_new", dtype=torch.float64, device="cpu")
        theirs = HookedTransformer(config).eval()
    model = model_of({name: tensor.numpy() for name, tensor in theirs.state_dict().items()}, config.to_dict())
    contexts = np.array([[0, 1, 2, 3, 4, 5], [10, 9, 8, 7, 6, 5]])
    with torch.inference_mode():
        expected = theirs(torch.tensor(contexts))[:, -1].numpy()
    assert np.abs(enclose_logits(model, contexts, precision=200).midpoint - expected).max() < 1e-13


@pytest.mark.filterwarnings("ignore")
def test_every_option_of_the_library_has_a_default_that_is_read():
    installed("transformer-lens")
    from transformer_lens import HookedTransformerConfig  # pyright: ignore[reportMissingImports]

    model = HOST.convert(MODELS["network of one attention"])
    given = config_of(model, "float64")
    del given["dtype"], given["d_vocab"], given["d_vocab_out"]
    config = HookedTransformerConfig(**given, use_attn_scale=False, device="cpu")
    assert config.d_vocab == config.d_vocab_out == -1
    assert model_of(model.tensors(), config.to_dict()).sha256() == model.sha256()


def test_parallel_neurons_caps_and_norms_of_queries_are_blocks_of_ours_and_others_are_refused():
    draw = np.random.default_rng(0).standard_normal
    tensors = {"embed.W_E": draw((5, 4)), "pos_embed.W_pos": draw((3, 4)), "unembed.W_U": draw((4, 5))}
    shapes = {"W_Q": (1, 4, 2), "W_K": (1, 4, 2), "W_V": (1, 4, 2), "W_O": (1, 2, 4), "b_Q": (1, 2), "b_K": (1, 2),
              "b_V": (1, 2), "b_O": (4,), "q_norm.w": (2,), "k_norm.w": (2,)}  # fmt: skip
    tensors |= {f"blocks.0.attn.{name}": draw(shape) for name, shape in shapes.items()}
    neurons = {"W_in": (4, 3), "b_in": (3,), "W_out": (3, 4), "b_out": (4,)}
    tensors |= {f"blocks.0.mlp.{name}": draw(shape) for name, shape in neurons.items()}
    config = {"n_layers": 1, "d_model": 4, "n_ctx": 3, "d_head": 2, "act_fn": "relu", "normalization_type": None}
    config["eps"] = 0.25
    config |= {"use_qk_norm": True, "parallel_attn_mlp": True, "attn_scores_soft_cap": 2, "output_logits_soft_cap": 3.0}
    model = model_of(tensors, config)
    attention, fired = model.blocks
    assert (attention.score_cap, model.logit_cap, fired.parallel) == (2.0, 3.0, True)
    assert attention.q_norm.kind == attention.k_norm.kind == "rms" and attention.q_norm.epsilon == 0.25
    assert model_of(tensors, config | {"output_logits_soft_cap": -1.0}).logit_cap is None
    for name, value in (("attn_scores_soft_cap", "2"), ("output_logits_soft_cap", float("inf")),
                        ("use_qk_norm", 1), ("parallel_attn_mlp", "yes"), ("attn_only", True)):  # fmt: skip
        with pytest.raises(InputError, match="attn_only" if name == "attn_only" else name):
            model_of(tensors, config | {name: value})
    with pytest.raises(InputError, match=r"q_norm\.w, blocks|k_norm\.w, blocks"):
        model_of(tensors, config | {"use_qk_norm": False})
