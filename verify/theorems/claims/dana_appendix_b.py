r"""Appendix B of Dana et al.: what Corollary 2 says of twenty heads that are wider than the stream.

Page: docs/claims/corollary_2.md
"""

from collections.abc import Iterator
from fractions import Fraction

from constructions.attention.embeddings import rank_one_integer_attention
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts
from verify.theorems.capacity.exact_rank import exact_rank
from verify.theorems.claim import Claim
from verify.theorems.evidence import Applied, Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.theorems import RANK
from verify.verdict import proved

CLAIM = Claim(
    id="dana.appendix-b",
    title="Twenty heads of width 5 in two dimensions",
    source="Dana, Pydi, Chevaleyre (2024), appendix B",
    kind="remark",
    quotation=(
        "We train an AoT with d = 2, $d_h = 5$ and H from 1 to 20. Corollary 2 states that with H = 20, the model "
        "should be able to obtain exactly 1 accuracy."
    ),
    printed=(
        "With [[tokens: N = 10]], [[length: S = 2]], [[plane: d = 2]], [[wide: d_h = 5]] and [[heads: H = 20]], "
        "Corollary 2, with [[printed: H d_h + d]] associations for the [[contexts: N^S]] contexts, says that the "
        "accuracy is exactly [[all: 1]]."
    ),
    reading=(
        "Section 2 has d_h <= d for its heads, which this leaves. What figure 4 of a later version says, of which its "
        "caption alone was at hand, has d_h = 2."
    ),
    judgement="slip",
    truth=(
        "Heads wider than the stream count as heads of width d: the rank of the features is "
        "[[columns: H min(d_h, d) + d]] at most, [[rank: 42]] here, and this is reached. Read with this number "
        "Corollary 2 says [[accuracy: 1/N + (1 - 1/N) (H min(d_h, d) + d) / T_0]]."
    ),
    wrong="a head wider than d counts as one of width d: 42 associations, not 102",
    page="docs/claims/corollary_2.md",
)

_PAPER = {"d_vocab": 10, "d_model": 2, "d_head": 5, "n_heads": 20}


_OTHERS = (
    {"d_vocab": 6, "d_model": 2, "d_head": 3, "n_heads": 8},
    {"d_vocab": 7, "d_model": 3, "d_head": 4, "n_heads": 5},
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for sizes in (_PAPER, *(_OTHERS if full else ())):
        yield _ceiling(**sizes)
        yield _reached(**sizes)


def _ceiling(*, d_vocab: int, d_model: int, d_head: int, n_heads: int) -> Evidence:
    contexts = all_contexts(d_vocab, 2)
    sizes = {"H": n_heads, "d_h": d_head, "d": d_model}
    rank = RANK.at("rank", contexts=contexts, d_model=d_model, d_head=d_head, n_heads=n_heads, with_skip=True)
    return Evidence(
        "constant",
        f"the {len(contexts)} bigrams of {d_vocab} tokens, d = {d_model}, d_h = {d_head}, H = {n_heads}: the rank of "
        "the features is below their number",
        f"{stated(CLAIM, 'printed', **sizes)} >= {len(contexts)} associations: accuracy 1",
        f"rank <= {rank.value}",
        Method("exact ranks of the contexts", Means.EXACT),
        proved(d_head > d_model),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(rank, "<", len(contexts)),
            Comparison(rank, "<", stated(CLAIM, "printed", **sizes)),
            Comparison(rank, "<=", stated(CLAIM, "columns", **sizes)),
            Comparison(sum([d_head] * n_heads) + d_model, "=", stated(CLAIM, "printed", **sizes)),
            Comparison(len(contexts), "=", stated(CLAIM, "contexts", N=d_vocab, S=contexts.shape[1])),
            *(_of_the_paper(contexts, rank, **sizes) if d_vocab == _PAPER["d_vocab"] else ()),
        ),
    )


def _of_the_paper(contexts: Int64Array, rank: Applied, **given: int) -> tuple[Comparison, ...]:
    """State the sizes of figure 4 and the accuracy that Corollary 2 gives for them."""
    memorized = min(Fraction(1), Fraction(given["H"] * given["d_h"] + given["d"], len(contexts)))
    d_vocab = int(contexts.max()) + 1
    sizes = {"N": d_vocab, "S": contexts.shape[1], **given}
    return (
        *met(CLAIM, "tokens", "length", "plane", "wide", "heads", **sizes),
        Comparison(1 - _missed(d_vocab, len(contexts), int(memorized * len(contexts))), "=", stated(CLAIM, "all")),
        Comparison(rank, "=", stated(CLAIM, "rank")),
    )


def _reached(*, d_vocab: int, d_model: int, d_head: int, n_heads: int) -> Evidence:
    contexts = all_contexts(d_vocab, 2)
    sizes = {"H": n_heads, "d_h": d_head, "d": d_model}
    # A head that is wider than the stream is one of its width: what is reached there is reached by both.
    front_end = rank_one_integer_attention(
        d_vocab=d_vocab, n_ctx=2, d_model=d_model, n_heads=n_heads, d_head=d_model, seed=1, largest=9
    )
    rank = exact_rank(front_end, contexts)
    facts = len(contexts)
    share = stated(CLAIM, "accuracy", N=d_vocab, T_0=facts, **sizes)
    return Evidence(
        "reached",
        f"the {facts} bigrams of {d_vocab} tokens, integer weights with d = {d_model} and "
        f"H = {n_heads} heads of that width",
        f"rank {stated(CLAIM, 'columns', **sizes)}, so an accuracy of {share} on average over the labels",
        f"rank {rank.lower}",
        Method(f"rank over GF({rank.prime})", Means.MODULAR),
        proved(front_end.n_heads == n_heads and front_end.d_model == d_model),
        compared=(
            Comparison(rank.lower, "=", stated(CLAIM, "columns", **sizes)),
            Comparison(share, "<", 1),
            Comparison(1 - _missed(d_vocab, facts, rank.lower), "=", share),
        ),
    )


def _missed(d_vocab: int, facts: int, memorized: int) -> Fraction:
    """Return the share of contexts beyond the rank of which a guess misses all but one label in N."""
    return Fraction(facts - memorized, facts) * Fraction(d_vocab - 1, d_vocab)
