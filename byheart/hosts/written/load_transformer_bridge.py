"""Load the model beside this file into TransformerLens 4, as a TransformerBridge.

    from load_transformer_bridge import load
    model = load()
    logits, cache = model.run_with_cache(tokens)

It needs transformer-lens and safetensors, nothing else.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformer_lens import TransformerBridge, TransformerBridgeConfig

FOLDER = Path(__file__).parent


def load(folder=FOLDER):
    """The model, on the CPU, in the type of the file."""
    options = json.loads((Path(folder) / "config.json").read_text())
    dtype = getattr(torch, options["dtype"])
    config = TransformerBridgeConfig(**{**options, "dtype": dtype})
    model = TransformerBridge.boot_native(config, dtype=dtype)
    found = model.load_state_dict(load_file(Path(folder) / "model.safetensors"), strict=False)
    if found.missing_keys or found.unexpected_keys:
        raise ValueError(f"the weights do not fit: missing {found.missing_keys}, unexpected {found.unexpected_keys}")
    return model.eval()
