"""Integer layers whose mixed inputs have the largest rank that a theorem allows: evidence from both sides.

Page: docs/claims/context_rank.md
"""

from constructions.saturated_layers.generic_contexts import IntegerLayer
from verify.theorems.capacity.exact_rank import exact_mixed_rank
from verify.theorems.evidence.comparison import Comparison
from verify.theorems.evidence.evidence import Evidence, Means, Method, Role
from verify.theorems.evidence.formula import Stated
from verify.theorems.evidence.quantifier import Quantifier
from verify.theorems.evidence.theorems import MIXED_RANK
from verify.verdict import proved


def largest_rank(
    role: Role, statement: str, promised: str, certified: str, *, layer: IntegerLayer, largest: Stated, as_said: bool
) -> Evidence:
    """Certify that the rank of a layer's mixed inputs is as stated, and that no weights have a larger one.

    Args:
        role: The role of the evidence.
        statement: The layer in words.
        promised: The promise on its rank.
        certified: The certificate's statement, with ``{reached}`` and ``{ceiling}`` for the two bounds.
        layer: The layer.
        largest: The rank that is stated.
        as_said: Whether the layer is what the statement says.
    """
    ceiling = MIXED_RANK.at(contexts=layer.contexts, n_heads=len(layer.W_Q), n_examples=len(layer.queries))
    rank = exact_mixed_rank(layer.contexts, layer.queries, layer.W_Q, layer.W_K)
    return Evidence(
        role,
        statement,
        promised,
        certified.format(reached=rank.lower, ceiling=ceiling.value),
        Method(f"exact rank of the tokens, and rank over GF({rank.prime})", Means.EXACT, Means.MODULAR),
        proved(as_said),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(Comparison(ceiling, "=", largest), Comparison(rank.lower, "=", largest)),
    )
