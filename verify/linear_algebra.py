"""Certified linear algebra: the public names, each from the file of its idea.

Page: docs/rigour/linear_algebra.md
"""

from verify.gram import GramWitness
from verify.linear_systems import enclose_solution
from verify.nonsingularity import NonsingularCertificate, certify_nonsingular
from verify.prime_field import Minor
from verify.rank import Compression, Dependency, RankBracket, rank_bracket
from verify.row_rank import InverseWitness, RankCertificate, certify_full_row_rank
from verify.singular_values import enclose_condition, enclose_singular_values, enclose_spectral_norm

__all__ = [
    "Compression",
    "Dependency",
    "GramWitness",
    "InverseWitness",
    "Minor",
    "NonsingularCertificate",
    "RankBracket",
    "RankCertificate",
    "certify_full_row_rank",
    "certify_nonsingular",
    "enclose_condition",
    "enclose_singular_values",
    "enclose_solution",
    "enclose_spectral_norm",
    "rank_bracket",
]
