"""Read decoder families of Hugging Face's `transformers` into our blocks, and check their configurations."""

from collections.abc import Mapping
from typing import Any

FAMILIES = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "smollm3", "granite"), "llama"),
    **dict.fromkeys(("olmo", "olmo2"), "olmo"),
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), "gemma"),
    **dict.fromkeys(("phi", "phi3"), "phi"),
    **dict.fromkeys(("gptj", "codegen"), "gptj"),
    **{
        kind: kind
        for kind in ("gpt_neox", "stablelm", "cohere", "starcoder2", "gpt_neo", "opt", "mpt", "bloom", "falcon")
    },
}
"""The module of this room that reads each `model_type`."""


def is_of_transformer_lens(config: Mapping[str, Any]) -> bool:
    """Tell whether a configuration is one of TransformerLens, whose `generate` reads no file."""
    return "d_head" in config and config.get("model_type") not in ("gpt2", *FAMILIES)
