"""Test all assumptions of the memorization theorem on given contexts and queries, with a proof or refutation of each.

Page: docs/claims/assumptions.md
"""

from dataclasses import asdict, dataclass
from typing import Any

from flint import fmpz_mat

from constructions.errors import require_at_least
from constructions.numeric.arrays import Float64Array
from constructions.progress import Progress, silent
from verify.linear_algebra.exact_rows import Relation, integer_rows
from verify.linear_algebra.numerical_rank import NumericalRanks, numerical_ranks
from verify.theorems.saturated_layers.block_certificate import BlockCertificate, find_blocks
from verify.theorems.saturated_layers.context_rank import ContextRanks, certify_context_ranks
from verify.theorems.saturated_layers.general_position import shifted_queries
from verify.theorems.saturated_layers.kruskal_rank import MOST_PREFIXES, SubsetCertificate, certify_subsets
from verify.theorems.saturated_layers.sampled_subsets import SubsetSample, sample_subsets
from verify.verdict import Verdict


@dataclass(frozen=True)
class SubsetTest:
    """A test whether every `size` of some vectors are independent: a certificate, or random subsets if there is none.

    Args:
        certificate: The certificate of the proved statements.
        sample: What random subsets say; `None` where the certificate decides.
    """

    certificate: SubsetCertificate
    sample: SubsetSample | None

    @property
    def verdict(self) -> Verdict:
        """PROVED only by a certificate; REFUTED also by a dependent random subset."""
        if self.sample is not None and self.sample.verdict is Verdict.REFUTED:
            return Verdict.REFUTED
        return self.certificate.verdict

    def summary(self) -> dict[str, Any]:
        """Return the test as plain JSON data."""
        relation = self.certificate.relation or (self.sample.relation if self.sample else None)
        result = {
            "size": self.certificate.size,
            "verdict": self.verdict.value,
            "method": self.certificate.method,
            "relation": _plain(relation),
            "sample": None,
        }
        if self.sample is not None:
            fields = ("samples", "dependent", "confidence", "share_lower", "share_upper")
            result["sample"] = {name: getattr(self.sample, name) for name in fields}
        return result


@dataclass(frozen=True)
class Assumptions:
    r"""The proved properties of contexts and queries.

    Args:
        n_examples: T.
        n_ctx: n.
        d_model: d.
        shared: Whether one context is stored for all examples.
        queries: Assumption 1: every $\min(n, T)$ queries are independent.
        contexts: Assumption 2: every context has rank n.
        shifted: Assumption 3: every $\min(n, T)$ of the queries plus the mean of their context are independent.
        blocks: The block condition for the first $\min(T, H (n - 1) + 1)$ examples; `None` for n = 1 < T.
        n_heads: H of the blocks.
        query_ranks: The ranks of the first $\min(T, d)$ queries, to tell what tolerances see.
        shifted_ranks: The same for the shifted queries, rounded to float64.
    """

    n_examples: int
    n_ctx: int
    d_model: int
    shared: bool
    queries: SubsetTest
    contexts: ContextRanks
    shifted: SubsetTest
    blocks: BlockCertificate | None
    n_heads: int
    query_ranks: NumericalRanks
    shifted_ranks: NumericalRanks

    def summary(self) -> dict[str, Any]:
        """Return everything as plain JSON data."""
        first = min(self.contexts.relations, default=None)
        blocks = None
        if self.blocks is not None:
            blocks = {
                "verdict": self.blocks.verdict.value,
                "method": self.blocks.method,
                "heads": self.n_heads,
                "examples": sum(map(len, self.blocks.blocks)),
                "any_order": self.blocks.any_order,
                "relation": _plain(self.blocks.relation),
                "blocks": [list(block) for block in self.blocks.blocks],
            }
        return {
            "examples": self.n_examples,
            "tokens": self.n_ctx,
            "dim": self.d_model,
            "shared": self.shared,
            "assumption_1": self.queries.summary(),
            "assumption_2": {
                "verdict": self.contexts.verdict.value,
                "contexts": self.contexts.n_contexts,
                "full": self.contexts.full,
                "first_dependent": first,
                "relation": None if first is None else _plain(self.contexts.relations[first]),
            },
            "assumption_3": self.shifted.summary(),
            "block_condition": blocks,
            "ranks": {"queries": asdict(self.query_ranks), "shifted": asdict(self.shifted_ranks)},
        }


def assess_assumptions(
    contexts: Float64Array,
    queries: Float64Array,
    *,
    n_heads: int | None = None,
    most_prefixes: int = MOST_PREFIXES,
    samples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Assumptions:
    r"""Test Assumptions 1 to 3 and the block condition on exactly the given floats.

    Assumption 1 for fewer examples than tokens is read as "all T queries are independent", as the proofs use it.

    Args:
        contexts: $E^{(t)}$, `[T, n, d]`, or `[1, n, d]` if all examples share one.
        queries: $e^{(t)}$, `[T, d]`.
        n_heads: H of the block condition; by default the fewest with $T \le H (n - 1) + 1$.
        most_prefixes: How much an exhaustive search may cost, see
            `verify.theorems.saturated_layers.kruskal_rank.certify_subsets`.
        samples: Random subsets where no certificate decides, see
            `verify.theorems.saturated_layers.sampled_subsets.sample_subsets`.
        confidence: Of what they say.
        seed: Of all draws.
        progress: Told which test is being done.

    Returns:
        The outcome.

    Raises:
        InputError: Arrays that do not fit each other, numbers that are not finite, or an argument out of range.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Assumptions 1 to 3.

    Example:
        >>> import numpy as np
        >>> found = assess_assumptions(np.eye(2, 3)[None], np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]]))
        >>> found.queries.verdict.value, found.contexts.verdict.value, found.blocks.verdict.value, found.n_heads
        ('PROVED', 'PROVED', 'PROVED', 2)
    """
    report = progress or silent
    require_at_least(1, n_heads=n_heads)
    report("assumption 3", None, "")
    shifted = shifted_queries(contexts, queries)  # checks the shapes
    count, width = queries.shape
    tokens = contexts.shape[1]
    size = min(tokens, count)

    def tested(vectors: fmpz_mat) -> SubsetTest:
        certificate = certify_subsets(vectors, size, most_prefixes=most_prefixes, seed=seed)
        if certificate.verdict is not Verdict.UNDECIDED:
            return SubsetTest(certificate, None)
        return SubsetTest(certificate, sample_subsets(vectors, size, samples=samples, confidence=confidence, seed=seed))

    shifted_test = tested(shifted)
    report("assumption 1", None, "")
    matrix = integer_rows(queries, name="queries")
    query_test = tested(matrix)
    report("assumption 2", None, "")
    context_ranks = certify_context_ranks(contexts)
    report("blocks", None, "")
    heads, blocks = n_heads or 1, None
    if tokens > 1 or count == 1:
        heads = n_heads or max(1, -(-(count - 1) // max(1, tokens - 1)))
        memorized = min(count, heads * (tokens - 1) + 1)
        blocks = find_blocks(queries[:memorized], n_heads=heads, size=tokens, seed=seed)
    report("tolerances", None, "")
    first = min(count, width)
    means = queries[:first] + contexts.mean(axis=1)[: first if len(contexts) > 1 else 1]
    return Assumptions(
        n_examples=count,
        n_ctx=tokens,
        d_model=width,
        shared=len(contexts) == 1,
        queries=query_test,
        contexts=context_ranks,
        shifted=shifted_test,
        blocks=blocks,
        n_heads=heads,
        query_ranks=numerical_ranks(queries[:first]),
        shifted_ranks=numerical_ranks(means),
    )


def _plain(relation: Relation | None) -> dict[str, list[Any]] | None:
    """Return coefficients as decimal strings, because JSON readers may not represent long integers."""
    if relation is None:
        return None
    return {"rows": list(relation.rows), "coefficients": list(map(str, relation.coefficients))}
