"""The formulas of the register, which are plain text for a terminal, as a page shows them.

Page: docs/audit.md
"""

import re

from byheart.report.document import escaped

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "Phi": "Φ",
}  # fmt: skip
_SIGNS = {"&lt;=": "≤", "&gt;=": "≥", "!=": "≠", "-&gt;": "→", " - ": " − ", " * ": " · "}
_LETTERS = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(_GREEK)})(?![A-Za-z])")
_POWER = re.compile(r"\^(?:\(([^()]*)\)|\{([^{}]*)\}|(-?[^\W_]+(?:_[^\W_]+|\[\w+\])?|\+))")
_PLACE = r"_(\{[^{}]*\}|\([^()]*\)|-?[^\W_]+)"
_INDEX = re.compile(rf"((?<!\w)[^\W\d_]|\|){_PLACE}")
_RANGE = re.compile(r"(?<!\w)(max|min|sum)_(\{[^{}]*\}|[^\W_](?!\w))")
_SUM = re.compile(r"(?<!\w)sum(?=<sub>)")
_ROOT = re.compile(r"(?<!\w)sqrt ?(?=[\w(])")


def with_formulas(text: str) -> str:
    r"""HTML of a text of the register: `pi_t <= 2^(-x)` with a Greek letter, one sign, an index and an exponent.

    Args:
        text: What the register or the evidence says; it is escaped here.

    Returns:
        HTML, with the words as they were.

    Example:
        >>> with_formulas("sqrt(2) pi_t <= N^S")
        '√(2) π<sub>t</sub> ≤ N<sup>S</sup>'
    """
    shown = _LETTERS.sub(lambda found: _GREEK[found[1]], _ROOT.sub("√", escaped(text)))
    for plain, sign in _SIGNS.items():
        shown = shown.replace(plain, sign)
    shown = _POWER.sub(lambda found: f"<sup>{(found[1] or found[2] or found[3] or '').replace('-', '−')}</sup>", shown)
    shown = _RANGE.sub(_with_index, _INDEX.sub(_with_index, shown))
    return _SUM.sub("∑", shown)


def _with_index(found: re.Match[str]) -> str:
    return f"{found[1]}<sub>{found[2].strip('{}()').replace('inf', '∞').replace('-', '−')}</sub>"
