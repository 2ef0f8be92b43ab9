"""Verify weights: rigorous arithmetic, certificates, and runs in torch.

The names below are loaded when they are first used, so that `import verify` imports neither torch nor anything slow. A
function that is named like its module (`verify.divergence.kullback_leibler.divergence`, `verify.torch.run.run`) is
imported from there.
"""

import importlib
from typing import Any

_HOME = {
    "verdict": ("Verdict",),
    "arithmetic.enclosure": ("Enclosure", "sqrt", "rsqrt", "matmul"),
    "arithmetic.elementary": ("exp", "log", "log1p"),
    "arithmetic.sums": ("total", "upper_sum", "lower_sum"),
    "linear_algebra.nonsingularity": ("certify_nonsingular",),
    "linear_algebra.row_rank": ("certify_full_row_rank",),
    "linear_algebra.rank": ("rank_bracket",),
    "linear_algebra.singular_values": ("enclose_singular_values", "enclose_spectral_norm"),
    "linear_algebra.condition": ("enclose_condition",),
    "linear_algebra.linear_systems": ("enclose_solution",),
    "forward.logits": ("enclose_logits", "logit_chunks"),
    "forward.ladder": ("bits_needed", "decide_argmax"),
    "forward.heads": (
        "enclose_last",
        "enclose_attention",
        "enclose_features",
        "last_in_balls",
        "attention_in_balls",
        "mixed_inputs_in_balls",
        "features_in_balls",
    ),
    "forward.in_balls": ("logits_in_balls", "rounded_outwards"),
    "forward.in_rationals": ("exact_outputs", "exact_network_logits"),
    "theorems.capacity.attention_rank": ("attention_rank",),
    "theorems.capacity.exact_rank": ("exact_rank",),
    "theorems.encoders.lookup_divergence": ("lookup_divergence",),
    "theorems.memories.skip_connection_error": ("enclose_skip_error", "largest_skip_error"),
    "theorems.unembeddings.coherence": ("certify_margins",),
    "divergence.kullback_leibler": (
        "enclose_softmax",
        "entropy",
        "label_divergence",
        "empirical_divergence",
        "quadratic_divergence_bound",
    ),
    "quantities": (
        "Bounds",
        "Margin",
        "Proof",
        "argmax_margin",
        "full_row_rank",
        "kl",
        "nonsingular",
        "rank",
        "spectral_norm",
    ),
    "certificates.certificate": ("Certificate", "CheckReport", "Statement"),
    "provers.memorization": ("certify_memorization", "check_memorization"),
    "kernel.check": ("check_folder",),
    "torch.module": ("Replica",),
    "runs.rounding": ("rounding_bound",),
    "torch.run": ("run_all", "RunResult"),
    "theorems.claim": ("Claim", "Hypothesis"),
    "theorems.claims": ("REGISTER",),
    "theorems.evidence": ("Evidence",),
    "theorems.audit": ("Audit", "audit_claims"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'verify' has no attribute {name!r}")
    return getattr(importlib.import_module(f"verify.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
