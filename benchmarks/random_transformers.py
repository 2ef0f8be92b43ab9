r"""What a randomly initialized ViT, BERT or GPT-2 makes of images or texts before its second layer.

The architectures are those of the package ``transformers``, from their configurations; no weights are downloaded.

Page: docs/claims/assumptions.md
"""

import importlib
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.numeric.arrays import Float64Array

Family = Literal["vit", "bert", "gpt2"]

_PATCH = 16
_DEVIATION = 0.02  # initializer_range of all three configurations
_MLP_OUTPUTS = ("mlp.fc2", "mlp.c_proj", "layers.0.output.dense", "layer.0.output.dense")


def transformer_examples(
    family: Family,
    inputs: NDArray[Any],
    *,
    attention: bool,
    width: int = 768,
    heads: int = 12,
    seed: int = 0,
) -> tuple[Float64Array, Float64Array]:
    r"""Return the tokens before or after the first attention layer as contexts, and one of them as the query.

    The query is the first token, [CLS], of ViT and BERT (of BERT: the first byte's place is preceded by the token 256),
    and the last of GPT-2. Weights are drawn from the normal distribution of deviation 0.02 that all three
    configurations name, in float64, in which the forward pass runs. The map behind the attention of the layer, its MLP,
    is set to zero.

    Args:
        family: ``"vit"``, ``"bert"`` or ``"gpt2"``.
        inputs: For ViT pixels 0 .. 255, `[T, side, side, 3]`, with a side divisible by 16; else bytes, `[T, length]`.
        attention: Whether to apply the first attention layer, with its normalizations and its skip connection; without,
            what the embedding layer gives.
        width: d.
        heads: Of the attention; divides the width.
        seed: Of the weights.

    Returns:
        Contexts `[T, n, d]` and queries `[T, d]`.

    Raises:
        InputError: ``transformers`` is not installed, or inputs that the family does not take.

    Page: docs/claims/assumptions.md
    """
    if family not in get_args(Family):
        raise InputError("family", f"is {family!r}", f"one of {', '.join(get_args(Family))}")
    dimensions = 4 if family == "vit" else 2
    if inputs.ndim != dimensions or 0 in inputs.shape:
        raise InputError("inputs", f"has shape {inputs.shape}", f"{dimensions} dimensions for {family}")
    try:
        library = importlib.import_module("transformers")
    except ImportError as error:
        raise InputError(family, f"comes with the package transformers, which cannot be imported: {error}") from error
    if family == "vit":
        sizes = {"image_size": inputs.shape[1], "patch_size": _PATCH, "num_hidden_layers": 1, "hidden_size": width}
        config = library.ViTConfig(**sizes, num_attention_heads=heads, intermediate_size=4 * width)
        model = library.ViTModel(config, add_pooling_layer=False)
        # The usual normalization of pixels to [-1, 1].
        given = {"pixel_values": np.moveaxis(inputs.astype(np.float64) / 127.5 - 1.0, 3, 1)}
    elif family == "bert":
        sizes = {"vocab_size": 257, "num_hidden_layers": 1, "hidden_size": width, "intermediate_size": 4 * width}
        length = inputs.shape[1] + 1
        config = library.BertConfig(**sizes, num_attention_heads=heads, max_position_embeddings=length)
        model = library.BertModel(config, add_pooling_layer=False)
        given = {"input_ids": np.pad(inputs, ((0, 0), (1, 0)), constant_values=256)}
    else:
        sizes = {"vocab_size": 256, "n_layer": 1, "n_embd": width, "n_head": heads}
        config = library.GPT2Config(**sizes, n_positions=inputs.shape[1], bos_token_id=None, eos_token_id=None)
        model = library.GPT2Model(config)
        given = {"input_ids": inputs}
    model.eval()
    model.requires_grad_(False)
    model.double()
    _draw(model, seed)
    chunks = []
    step = max(1, 2**21 // int(np.prod(next(iter(given.values())).shape[1:]) * width // _PATCH))
    for start in range(0, len(inputs), step):
        part = {name: values[start : start + step] for name, values in given.items()}
        states = model(**library.BatchFeature(part, tensor_type="pt"), output_hidden_states=True).hidden_states
        chunks.append(states[int(attention)].numpy())
    contexts = np.concatenate(chunks).astype(np.float64)
    return contexts, np.ascontiguousarray(contexts[:, -1 if family == "gpt2" else 0])


def _draw(model: Any, seed: int) -> None:
    """Overwrite all weights: the same ones for the same seed, whatever else has drawn random numbers."""
    rng = np.random.default_rng([seed, 10])
    for name, parameter in model.named_parameters():
        values = parameter.numpy()
        if any(f"{place}." in name for place in _MLP_OUTPUTS):
            values[...] = 0.0
        elif values.ndim > 1:
            values[...] = _DEVIATION * rng.standard_normal(values.shape)
