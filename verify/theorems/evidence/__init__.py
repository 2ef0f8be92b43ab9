"""Evidence for a verdict: comparisons of numbers, formulas of a claim, and theorems on instances.

Page: docs/audit.md
"""

from verify.theorems.evidence.comparison import Comparison, failed, met
from verify.theorems.evidence.evidence import Evidence, Means, Method, Role
from verify.theorems.evidence.formula import Number, Stated, evaluated, shown_number, stated
from verify.theorems.evidence.quantifier import UNIVERSAL, Quantifier
from verify.theorems.evidence.theorem import Applied, Theorem

__all__ = [
    "UNIVERSAL", "Applied", "Comparison", "Evidence", "Means", "Method", "Number", "Quantifier", "Role", "Stated",
    "Theorem", "evaluated", "failed", "met", "shown_number", "stated",
]  # fmt: skip
