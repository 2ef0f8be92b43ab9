"""Load the model beside this file into TransformerLens below 4.

    from load_transformer_lens import load
    model = load()                      # a HookedTransformer
    logits, cache = model.run_with_cache(tokens)

It needs transformer-lens and safetensors, nothing else.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformer_lens import HookedTransformer, HookedTransformerConfig

FOLDER = Path(__file__).parent
BUFFERS = {"mask", "IGNORE"}  # made by the library itself, of shapes that depend on its version


def load(folder=FOLDER):
    """The model, on the CPU, in the type of the file, its weights untouched by any processing."""
    options = json.loads((Path(folder) / "config.json").read_text())
    config = HookedTransformerConfig(**{**options, "dtype": getattr(torch, options["dtype"])})
    model = HookedTransformer(config)
    found = model.load_state_dict(load_file(Path(folder) / "model.safetensors"), strict=False)
    missing = [name for name in found.missing_keys if name.rpartition(".")[2] not in BUFFERS]
    if missing or found.unexpected_keys:
        raise ValueError(f"the weights do not fit: missing {missing}, unexpected {found.unexpected_keys}")
    return model.eval()
