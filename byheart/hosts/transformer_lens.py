"""TransformerLens below 4: a `HookedTransformer`.

Page: docs/hosts.md
"""

from pathlib import Path
from typing import Any

from byheart.hosts.conversion import direction, in_equal_layers, norms_of, with_residual_stream, with_score_root
from byheart.hosts.host import Float64Array, Host, loaded_module, tokens_of, torch_logits, write_folder
from constructions.models.blocks import Attention, FeedForward
from constructions.models.model import Model
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "silu": "silu"}
NORMALIZATIONS = {"layer": "LN", "rms": "RMS"}

_LOADER = "load_transformer_lens.py"


def config_of(model: Model, dtype: str) -> dict[str, Any]:
    """The configuration that both generations of TransformerLens share, for a model of equal layers.

    Args:
        model: What `in_equal_layers` returned.
        dtype: The type of the weights.

    Page: docs/hosts.md
    """
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    neurons = [block for block in model.blocks if isinstance(block, FeedForward)]
    norms = norms_of(model)
    return {
        "n_layers": len(attentions),
        "d_model": model.d_model,
        "n_ctx": model.n_ctx,
        "d_head": attentions[0].d_head,
        "n_heads": attentions[0].n_heads,
        "d_vocab": model.d_vocab,
        "d_vocab_out": model.d_vocab_out,
        "attn_only": not neurons,
        **({"d_mlp": neurons[0].d_mlp, "act_fn": ACTIVATIONS[neurons[0].activation]} if neurons else {}),
        "normalization_type": NORMALIZATIONS[norms[0].kind] if norms else None,
        **({"eps": norms[0].epsilon} if norms else {}),
        "attention_dir": {"causal": "causal", "all": "bidirectional"}[direction(model)],
        "init_weights": False,
        "dtype": dtype,
    }


def entries_of(config: Any) -> int:
    """The largest number of entries that TransformerLens makes of one context, by its configuration."""
    per_position = config.n_heads * (4 * config.d_head + config.n_ctx) + 4 * config.d_model + config.d_vocab_out
    return config.n_ctx * (per_position + (0 if config.attn_only else 2 * config.d_mlp))


def _convert(model: Model) -> Model:
    model = in_equal_layers(with_residual_stream(model))
    return with_score_root(model, next(block.score_root for block in model.blocks if isinstance(block, Attention)))


def _write(model: Model, folder: Path, dtype: str) -> None:
    root = next(block.score_root for block in model.blocks if isinstance(block, Attention))
    scale = {"use_attn_scale": False} if root == 1 else {"use_attn_scale": True, "attn_scale": root**0.5}
    write_folder(folder, model.tensors(), dtype=dtype, config={**config_of(model, dtype), **scale}, loader=_LOADER)


def _run(folder: Path, task: Task | VectorTask, dtype: str) -> dict[str, Float64Array]:
    model = loaded_module(folder / _LOADER).load()
    return {"HookedTransformer": torch_logits(model, tokens_of(task), entries=entries_of(model.cfg))}


HOST = Host(
    name="transformer-lens",
    packages=("transformer-lens", "torch"),
    extra="transformer-lens",
    dtypes=("float64", "float32", "bfloat16", "float16"),
    convert=_convert,
    write=_write,
    run=_run,
    below=4,
)
