"""Tiny random decoders of every family, and what their host has answered once, for the tests of the readers."""

import json
from pathlib import Path

import numpy as np
import pytest

from byheart.hosts.handshake import _with_slopes
from byheart.hosts.reading import model_of
from verify.forward.rows.row_balls import logit_balls

RECORDED = Path(__file__).with_name("families.json")
CONTEXTS, LENGTH = 4, 6


def random_fields(kind, rng):
    """Fields of a tiny configuration, every one of them off its default as often as on it."""

    def flag():
        return bool(rng.integers(2))

    def one(*options):
        return options[int(rng.integers(len(options)))]

    heads = 4
    sizes = {"vocab_size": 11, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": heads, "num_key_value_heads": one(1, 2, 4), "max_position_embeddings": one(16, 32)}
    act, tied = {"hidden_act": one("silu", "gelu", "gelu_new", "relu")}, {"tie_word_embeddings": flag()}
    rms, layer = {"rms_norm_eps": one(1e-6, 1e-2)}, {"layer_norm_eps": one(1e-5, 1e-2)}
    bias, base = {"attention_bias": flag()}, {"rope_type": "default", "rope_theta": one(50.0, 10000.0)}
    rope = one(
        base,
        {**base, "rope_type": "linear", "factor": 3.0},
        {**base, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 16},
    )  # fmt: skip
    wide, share = {"head_dim": one(6, 10)}, {"rope_parameters": {**base, "partial_rotary_factor": one(0.34, 1.0)}}
    rope = {"rope_parameters": rope}
    window = {"sliding_window": one(None, 3)}
    types = {"layer_types": [one("sliding_attention", "full_attention") for _ in range(2)]}
    gpt = {"vocab_size": 11, "n_positions": 16, "n_embd": 24, "n_layer": 2, "n_head": heads, "n_inner": one(None, 20)}
    gpt |= {
        "rotary_dim": one(2, 4, 6),
        "layer_norm_epsilon": one(1e-5, 1e-2),
        "activation_function": one("gelu_new", "silu"),
    }
    gemma = {**sizes, **rms, **wide, **bias, "hidden_activation": one("gelu_pytorch_tanh", "silu")}
    slide = {"query_pre_attn_scalar": one(5, 24), "sliding_window": one(3, 8), **types}
    caps = {"attn_logit_softcapping": one(None, 2.0), "final_logit_softcapping": one(None, 5.0)}
    partial = {name: value for name, value in sizes.items() if name != "num_key_value_heads"}
    return {
        "llama": {**sizes, **act, **tied, **rms, **bias, **wide, **rope, "mlp_bias": flag()},
        "mistral": {**sizes, **act, **tied, **rms, **wide, **rope, **window},
        "qwen2": {**sizes, **act, **tied, **rms, **rope, "use_sliding_window": flag(), "sliding_window": 3,
                  "max_window_layers": one(1, 2)},
        "qwen3": {**sizes, **act, **tied, **rms, **bias, **wide, **rope},
        "smollm3": {**sizes, **act, **tied, **rms, **bias, **rope, "mlp_bias": flag(),
                    "no_rope_layers": [int(flag()), int(flag())]},
        "granite": {**sizes, **act, **tied, **rms, **bias, **rope, "mlp_bias": flag(),
                "embedding_multiplier": one(1.0, 12.1),
                    "attention_multiplier": one(0.25, 0.22), "residual_multiplier": one(1.0, 0.22),
                    "logits_scaling": one(1.0, 7.0)},
        "olmo": {**sizes, **act, **tied, **bias, **rope, "clip_qkv": one(None, 0.5)},
        "olmo2": {**sizes, **act, **tied, **rms, **bias, **rope},
        "gemma": {**{n: x for n, x in gemma.items() if n != "hidden_activation"},
                "hidden_act": "gelu_pytorch_tanh", **rope},
        "gemma2": {**gemma, **slide, **caps, **rope},
        "gemma3_text": {**gemma, **slide},
        "phi": {**sizes, **act, **layer, **share, "qk_layernorm": flag()},
        "phi3": {**sizes, **act, **tied, **rms, **window, "rope_parameters": {**base, "partial_rotary_factor": 1.0}},
        "gpt_neox": {**partial, **act, **tied, **layer, **share, **bias, "use_parallel_residual": flag()},
        "gptj": gpt,
        "codegen": gpt,
        "stablelm": {**sizes, **act, **tied, **layer, **share, "use_qkv_bias": flag(), "qk_layernorm": flag(),
                     "use_parallel_residual": flag()},
        "cohere": {**sizes, **act, **layer, **bias, **rope, "use_qk_norm": flag(), "logit_scale": one(0.0625, 0.3)},
        "starcoder2": {**sizes, **act, **tied, **rope, **window, "norm_epsilon": one(1e-5, 1e-2), "use_bias": flag()},
        "gpt_neo": {"vocab_size": 11, "max_position_embeddings": 16, "hidden_size": 24, "num_layers": 2,
                "num_heads": heads,
                    "attention_types": [[[one("global", "local"), "global"], 1]], "window_size": 3, **tied,
                    "intermediate_size": one(None, 20), "activation_function": one("gelu_new", "relu")},
        "opt": {"vocab_size": 11, "hidden_size": 24, "num_hidden_layers": 2, "ffn_dim": 20,
                "max_position_embeddings": 16,
                "num_attention_heads": heads, "word_embed_proj_dim": 24, "activation_function": one("relu",
                "gelu"), **tied,
                "do_layer_norm_before": flag(), "enable_bias": flag(), "layer_norm_elementwise_affine": flag()},
        "mpt": {"d_model": 24, "n_heads": one(3, 4, 12), "n_layers": 2, "max_seq_len": 16, "vocab_size": 11, **tied,
                "attn_config": one({"clip_qkv": 0.5}, {"softmax_scale": 0.3}, {})},
        "bloom": {"vocab_size": 11, "hidden_size": 24, "n_layer": 2, "n_head": one(2, 3, 12), **tied,
                "layer_norm_epsilon": one(1e-5, 1e-2), "apply_residual_connection_post_layernorm": flag(),
                **one({"slow_but_exact": True}, {"pretraining_tp": 2}, {})},
        "falcon": {"vocab_size": 11, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": heads,
                **rope, **tied,
                   "max_position_embeddings": 16, "num_kv_heads": 2, "bias": flag(), "ffn_hidden_size": 20,
                   **one({"new_decoder_architecture": True, "num_ln_in_parallel_attn": one(1, 2)},
                         {"multi_query": True, "parallel_attn": flag()},
                         {"multi_query": False, "num_kv_heads": heads, "parallel_attn": flag()})},
    }[kind]  # fmt: skip


def weights(shapes, seed):
    """Random float32 numbers for tensors of these names and shapes, of float64 type."""
    rng = np.random.default_rng(seed)
    draws = {
        name: rng.standard_normal(shape) * (0.3 if len(shape) > 1 else 0.5) for name, shape in sorted(shapes.items())
    }
    gains = {name: x + 1.0 if x.ndim == 1 and name.endswith("weight") else x for name, x in draws.items()}
    return {name: x.astype(np.float32).astype(np.float64) for name, x in gains.items()}


def contexts(vocabulary, n_ctx, seed):
    return np.random.default_rng(seed + 1).integers(vocabulary, size=(CONTEXTS, n_ctx))


def answers(model, n_ctx, seed):
    """What our model says of the contexts, in float64."""
    read = contexts(model.d_vocab, min(n_ctx, model.n_ctx), seed)
    return read, np.concatenate([logits for _, logits, _ in logit_balls(model, read)])


def require_recorded(kind):
    """The reader's model of each recorded configuration says what the host has said."""
    cases = [case for case in json.loads(RECORDED.read_text()) if case["config"]["model_type"] == kind]
    assert cases
    for case in cases:
        tensors = weights(case["shapes"], case["seed"])
        if case["tied"]:
            tensors["lm_head.weight"] = tensors[case["tied"]]
        model = model_of(tensors, case["config"])
        _, found = answers(model, LENGTH, case["seed"])
        expected = np.array([[float.fromhex(x) for x in row] for row in case["logits"]])
        assert model.n_ctx == case["n_ctx"]
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


class Host:
    """A tiny decoder of the library itself."""

    def __init__(self, kind, seed):
        torch = pytest.importorskip("torch")
        transformers = pytest.importorskip("transformers", reason="needs `pip install 'byheart[huggingface]'`")
        torch.manual_seed(seed)
        fields = random_fields(kind, np.random.default_rng(seed))
        config = transformers.CONFIG_MAPPING[kind](**fields, bos_token_id=0, eos_token_id=0, pad_token_id=0)
        self.seed, self.torch = seed, torch
        self.module = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
        state = {name: x for name, x in self.module.state_dict().items() if x.is_floating_point()}
        self.given_scale = kind == "granite" or "softmax_scale" in (fields.get("attn_config") or {})
        own = dict(self.module.named_parameters())  # each once, where some are tied
        both = [name for name in state if name not in own]
        tied = [name for name in own if both and own[name].data_ptr() == state[both[0]].data_ptr()]
        self.tied = tied[0] if tied else None
        self.shapes = {name: list(state[name].shape) for name in own}
        for name, x in weights(self.shapes, seed).items():
            own[name].data = torch.tensor(x, dtype=torch.float32)

    @property
    def config(self):
        return json.loads(json.dumps(self.module.config.to_dict(), default=str))

    @property
    def tensors(self):
        state = self.module.state_dict()
        return {name: x.double().numpy() for name, x in state.items() if x.is_floating_point()}

    def logits(self, model, read):
        """What the module computes where every operation is one of float64, on the numbers that the model records."""
        from torch.overrides import TorchFunctionMode

        torch, low = self.torch, (self.torch.float32, self.torch.float16, self.torch.bfloat16)
        casts = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)

        class TrueFloat64(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                if func in casts:
                    return args[0].double()
                longer = lambda a: torch.float64 if isinstance(a, torch.dtype) and a in low else a  # noqa: E731
                return func(*map(longer, args), **{k: longer(v) for k, v in (kwargs or {}).items()})

        slopes = next((b.slopes for b in model.blocks if getattr(b, "slopes", None) is not None), None)
        replaced = [] if slopes is None else _with_slopes(self.module, slopes)
        with TrueFloat64(), torch.no_grad():
            self.module.double()
            self._put_in(model)
            found = self.module(torch.as_tensor(read), use_cache=False).logits[:, -1]
        for home, name, own in replaced:
            setattr(home, name, own)
        return found.numpy()

    def _put_in(self, model):
        """The frequencies and factors that the library computes in float32, as the model records them."""
        torch = self.torch
        turns = {len(b.frequencies): b.frequencies for b in model.blocks if getattr(b, "frequencies", None) is not None}
        each = [b.frequencies for b in model.blocks if getattr(b, "frequencies", None) is not None]
        kinds = getattr(self.module.config, "layer_types", None)
        for part in self.module.modules():
            for name, buffer in list(part.named_buffers(recurse=False)):
                if name.endswith("inv_freq") and not name.startswith("original") and len(buffer) in turns:
                    found = turns[len(buffer)]
                    if kinds and name.removesuffix("_inv_freq") in kinds:
                        found = each[kinds.index(name.removesuffix("_inv_freq"))]
                    buffer.data = torch.tensor(found)
                if name == "embed_positions":
                    angles = np.arange(len(buffer))[:, None] * each[0]
                    part.embed_positions = torch.tensor(np.concatenate([np.sin(angles), np.cos(angles)], axis=1))
                if name == "embed_scale":
                    buffer.data = torch.tensor(float(np.float32(model.d_model**0.5)), dtype=torch.float64)
            names = _FACTORS + (("scaling", "softmax_scale") if self.given_scale else ())
            for name in names:
                if isinstance(getattr(part, name, None), float):
                    setattr(part, name, float(np.float32(getattr(part, name))))


_FACTORS = ("residual_multiplier", "embedding_multiplier", "logits_scaling", "logit_scale", "scalar_embed_scale")


def require_as_the_host(kind, seeds):
    """Reader and host agree on random tiny decoders, or the reader refuses them by name."""
    for seed in seeds:
        host = Host(kind, seed)
        model = model_of(host.tensors, host.config)
        read, found = answers(model, LENGTH, seed)
        expected = host.logits(model, read)
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max(), (seed, host.config)


def record(cases):
    """Ask the host for what `require_recorded` compares; `python -m tests.families` writes it."""
    found = []
    for kind, seed in cases:
        host = Host(kind, seed)
        shapes, tied, config, model = host.shapes, host.tied, host.config, model_of(host.tensors, host.config)
        read, _ = answers(model, LENGTH, seed)
        logits = [[float(x).hex() for x in row] for row in host.logits(model, read)]
        config = {name: value for name, value in config.items() if name not in ("id2label", "label2id")}
        found.append(
            {"config": config, "seed": seed, "shapes": shapes, "tied": tied, "n_ctx": model.n_ctx, "logits": logits}
        )
    return found


if __name__ == "__main__":
    from byheart.hosts.families import FAMILIES

    cases = [(kind, seed) for kind in sorted(FAMILIES) for seed in range(2)]
    RECORDED.write_text("[\n" + ",\n".join(json.dumps(case, sort_keys=True) for case in record(cases)) + "\n]\n")
