"""What judges: rigorous arithmetic, certificates of what weights do, and runs of them in torch.

The names below are loaded when they are first used, so that `import verify` imports neither torch nor anything slow. A
function that is named like its module (`verify.divergence.divergence`, `verify.run.run`) is imported from there.
"""

import importlib
from typing import Any

_HOME = {
    "verdict": ("Verdict",),
    "arithmetic": ("Enclosure", "exp", "log", "log1p", "sqrt", "total", "matmul", "residual", "upper_sum", "lower_sum"),
    "linear_algebra": (
        "certify_nonsingular",
        "certify_full_row_rank",
        "rank_bracket",
        "enclose_singular_values",
        "enclose_spectral_norm",
        "enclose_condition",
        "enclose_solution",
    ),
    "forward": ("enclose_last", "enclose_attention", "enclose_features", "enclose_logits", "logit_chunks"),
    "forward_balls": (
        "last_in_balls",
        "attention_in_balls",
        "features_in_balls",
        "logits_in_balls",
        "rounded_outwards",
    ),
    "exact_forward": ("exact_outputs", "exact_network_logits", "exact_rank"),
    "divergence": (
        "enclose_softmax",
        "entropy",
        "label_divergence",
        "empirical_divergence",
        "mean_empirical_divergence",
        "quadratic_divergence_bound",
        "argmax_margin",
        "total_variation",
    ),
    "certificate": ("Certificate", "CheckReport", "Claim"),
    "memorization": ("certify_memorization", "check_memorization"),
    "checker": ("check_independently",),
    "replica": ("Replica",),
    "rounding": ("rounding_bound",),
    "run": ("run_all", "RunResult"),
    "report": ("report_html", "write_report"),
    "job": ("memorize", "capacity_summary", "build_claim"),
    "evidence": ("Evidence",),
    "audit": ("Audit", "audit_claims"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'verify' has no attribute {name!r}")
    return getattr(importlib.import_module(f"verify.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
