"""Build what the theorems describe: tasks, capacities and weights.

The names below are loaded when they are first used, so that `import constructions` is quick. A function that is named
like its module (`constructions.attention.capacity.head_counts.capacity`) is imported from there.
"""

import importlib
from typing import Any

_HOME = {
    "errors": (
        "ByheartError",
        "InputError",
        "HypothesisError",
        "CapacityError",
        "FileFormatError",
        "TamperedError",
        "ResourceError",
    ),
    "tasks.task": ("Counts", "Task", "make_task", "smoothed_distributions"),
    "tasks.text": ("text_task", "read_text", "default_text"),
    "tasks.table": ("table_task", "read_table"),
    "tasks.arrays": ("array_task", "read_arrays", "enumerated_task", "all_contexts"),
    "model.blocks": ("Attention", "FeedForward", "Normalization"),
    "model.model": ("Model",),
    "model.shapes": ("dana_network", "mahdavi_layer"),
    "model.exact_network": ("ExactFrontEnd", "exact_network", "exact_front_end", "rounded"),
    "model.exact_attention": ("exact_last", "exact_features", "exact_logits"),
    "model.construction": ("Construction",),
    "attention.capacity.generic_rank": ("generic_ranks",),
    "attention.capacity.sub_alphabet": ("UpperBound", "upper_bound", "verify_upper_bound"),
    "attention.capacity.head_counts": ("Capacity", "HeadCount", "fewest_heads"),
    "model.front_end": ("FrontEnd",),
    "attention.families": (
        "base_two_attention",
        "fitting_attention",
        "random_attention",
        "rank_one_attention",
        "shared_rank_one_attention",
        "table_attention",
    ),
    "attention.full_rank": ("full_rank_attention",),
    "attention.skip_connection_head": ("skip_connection_head", "two_head_skip_connection"),
    "saturated_layers.saturated_heads": ("saturated_heads",),
    "unembeddings.unembedding": ("distribution_unembedding", "label_unembedding"),
    "unembeddings.johnson_lindenstrauss": ("johnson_lindenstrauss_unembedding", "gaussian_unembedding"),
    "encoders.low_entropy_encoder": ("lookup_encoder",),
    "heads_of_theorem_1.memory": ("BuiltMemory", "build_memory", "default_heads", "estimate_bytes", "theorem_1"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'constructions' has no attribute {name!r}")
    return getattr(importlib.import_module(f"constructions.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
