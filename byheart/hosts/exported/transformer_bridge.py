"""Write a `TransformerBridge` of TransformerLens 4 around its own small transformer.

Its scores are always divided by the root of the width of a head, so the width is one for which that can be undone
exactly; and its readout has no shift.

Page: docs/hosts.md
"""

from pathlib import Path

import numpy as np

from byheart.hosts.conversion import (
    FEW_ENTRIES,
    exact_head_width,
    in_equal_layers,
    norms_of,
    with_residual_stream,
    with_score_root,
    without_output_shift,
)
from byheart.hosts.exported.transformer_lens import config_of, host_of
from byheart.hosts.host import write_folder
from constructions.errors import InputError
from constructions.model.blocks import Attention, Tensor
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array

_LOADER = "load_transformer_bridge.py"
_LINEAR = {"b": "bias", "w": "weight", "W": "weight"}


def _convert(model: Model) -> Model:
    if any(norm.kind == "rms" for norm in norms_of(model)):
        raise InputError(
            "the model", "has normalizations of the kind 'rms', which transformer-bridge computes in float32"
        )
    model = without_output_shift(with_residual_stream(model))
    attentions = [block for block in model.blocks if isinstance(block, Attention)]
    least = max([1, *(max(block.d_qk, block.d_head) for block in attentions)])
    entries = 4 * len(attentions) * max([1, *(block.n_heads for block in attentions)]) * model.d_model
    width = exact_head_width(model, least, most=FEW_ENTRIES // max(1, entries))
    return with_score_root(in_equal_layers(model, d_head=width), width)


def _write(model: Model, folder: Path, dtype: str) -> None:
    tensors = dict(_renamed(name, tensor) for name, tensor in model.tensors().items())
    write_folder(folder, tensors, dtype=dtype, config=config_of(model, dtype), loader=_LOADER)


def _renamed(name: str, tensor: Tensor) -> tuple[str, Float64Array]:
    """Return a tensor under its name and layout in that library: maps as (out, in), heads concatenated."""
    place, _, last = name.rpartition(".")
    kind, _, part = last.partition("_")
    weight = _LINEAR[kind]
    if place in ("embed", "pos_embed"):
        return f"{place}.weight", tensor
    if not part or place == "unembed":
        return f"{place}.{weight}", tensor.T if tensor.ndim == 2 else tensor
    if weight == "weight":
        if part == "O":
            tensor = tensor.reshape(-1, tensor.shape[2]).T
        elif tensor.ndim == 3:
            tensor = np.moveaxis(tensor, 1, 2).reshape(-1, tensor.shape[1])
        else:
            tensor = tensor.T
    return f"{place}.{part.lower()}.{weight}", tensor.ravel() if weight == "bias" else tensor


HOST = host_of("transformer-bridge", "TransformerBridge", _LOADER, convert=_convert, write=_write, at_least=4)
