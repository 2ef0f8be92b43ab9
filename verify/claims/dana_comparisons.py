r"""Section 6 of Dana et al.: the comparison with the capacity of Mahdavi et al., and with other counts of parameters.

Page: docs/claims/conclusions.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.parabola import parabola
from constructions.memories.one_head_optimum import exclusive_or_contexts
from constructions.rational.exact_memory import exact_memory
from verify.claim import Claim
from verify.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.evidence.theorems import RANK
from verify.forward.in_rationals import exact_network_logits
from verify.saturated.kruskal_rank import kruskal_rank
from verify.verdict import decided, proved

CLAIM = Claim(
    id="dana.comparisons",
    title="Comparisons with other memories",
    source="Dana, Pydi, Chevaleyre (2024), section 6",
    printed=(
        "The capacity [[columns: H d_h + d]] is a strict improvement on [[previous: H (d_h - 1) + 1]] of Mahdavi et "
        "al., for language models. Corollary 1 takes as many as [[parameters: 2 S + 4 N + 8 T_0]] numbers. A matrix W "
        "of d^2 numbers between given embeddings memorizes d associations."
    ),
    judgement="false",
    truth=(
        "For contexts of one's choice neither number is a capacity of language models: XOR after 3 tokens is T = 4 "
        "contexts that one head with d = d_h = 4 gives rank 3, while both numbers are 4 or more. (A repeated query has "
        "Kruskal rank 1, so the assumptions of Mahdavi et al. fail there.) Where all contexts are to be held and "
        "d <= N, H d_h + d is reached: [[gain: H + d - 1]] more. The count of numbers is right, 16 fewer. A matrix "
        "of d^2 numbers stores more than d associations: any number N of labels for d = 2, W the identity."
    ),
    page="docs/claims/conclusions.md",
)

_REPAIRS = ((3, 2, 3, 2), (2, 3, 2, 2), (4, 2, 3, 3))  # N, S, d, d_h


_REPAIRS_FULL = ((3, 3, 3, 3), (5, 2, 4, 3))


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _exclusive_or()
    for tokens in (3, 10, 50, *((200,) if full else ())):
        yield _more_than_d(tokens)
    for tokens, length, width, d_head in _REPAIRS + (_REPAIRS_FULL if full else ()):
        yield _improvement(tokens=tokens, length=length, width=width, d_head=d_head)


def _exclusive_or() -> Evidence:
    contexts = exclusive_or_contexts()
    facts, width = len(contexts), 4
    sizes = {"H": 1, "d_h": width}
    rank = RANK.at("rank", contexts=contexts, d_model=width, d_head=width, n_heads=1, with_skip=True)
    # The last tokens are the queries of Mahdavi et al.: the same vector for all examples.
    queries = np.repeat(np.eye(1, width, dtype=np.int64), facts, axis=0)[contexts[:, -1] == contexts[0, -1]]
    kruskal = kruskal_rank(queries).upper
    return Evidence(
        "counterexample",
        f"XOR after 3 tokens, {facts} contexts with one last token: one head with d = d_h = {width}; equal queries "
        f"have Kruskal rank {kruskal}",
        f"{stated(CLAIM, 'columns', **sizes, d=width)} and {stated(CLAIM, 'previous', **sizes)} contexts held",
        f"rank <= {rank.value}",
        Method("exact ranks of the contexts", Means.EXACT),
        decided(len(queries) == facts and kruskal == 1),
        {"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(rank, "<", facts),
            Comparison(facts, "<=", stated(CLAIM, "previous", **sizes)),
            Comparison(facts, "<=", stated(CLAIM, "columns", **sizes, d=width)),
        ),
    )


def _more_than_d(tokens: int) -> Evidence:
    """Inputs (i, 1), W the identity of two dimensions, outputs (2 j, -j^2): every input has its own label."""
    inputs = fmpz_mat([[i, 1] for i in range(tokens)])
    outputs = fmpz_mat(parabola(tokens).astype(np.int64).tolist())
    rows = [[int(entry) for entry in row] for row in (inputs * outputs.transpose()).tolist()]
    stored = sum(all(row[i] > other for j, other in enumerate(row) if j != i) for i, row in enumerate(rows))
    return Evidence(
        "counterexample",
        f"N = {tokens} inputs (i, 1), W the identity with d^2 = {inputs.ncols() ** 2} numbers, outputs (2 j, -j^2)",
        f"{inputs.ncols()} associations",
        f"{stored} associations",
        Method("exact integers", Means.EXACT),
        proved(outputs.ncols() == inputs.ncols() == 2),
        compared=(Comparison(stored, "=", tokens), Comparison(stored, ">", inputs.ncols())),
    )


def _improvement(*, tokens: int, length: int, width: int, d_head: int) -> Evidence:
    made = exact_memory(tokens=tokens, length=length, width=width, d_head=d_head)
    heads, facts = made.model.n_heads, len(made.contexts)
    sizes = {"H": heads, "d_h": made.model.d_head}
    columns, previous = stated(CLAIM, "columns", **sizes, d=width), stated(CLAIM, "previous", **sizes)
    equal = exact_network_logits(made.model, made.contexts) == made.targets
    most, fewer = heads * sizes["d_h"] + width, heads * (sizes["d_h"] - 1) + 1
    numbers = 2 * (length + 2 * tokens + 4 * (most - width))
    printed = stated(CLAIM, "parameters", S=length, N=tokens, T_0=most)
    count = (Comparison(numbers + 16, "=", printed),) if width == 2 else ()
    return Evidence(
        "repair",
        f"the {facts} contexts of {length} tokens out of {tokens}, d = {width}, d_h = {d_head}, H = {heads}: "
        "rational weights have exactly the logits of an integer encoder",
        f"{columns} held, {stated(CLAIM, 'gain', H=heads, d=width)} more than {previous}",
        f"{'equal' if equal else 'different'} logits on {facts} contexts",
        Method("exact rationals", Means.EXACT),
        decided(equal),
        compared=(
            Comparison(most, "=", columns),
            Comparison(fewer, "=", previous),
            Comparison(most - fewer, "=", stated(CLAIM, "gain", H=heads, d=width)),
            Comparison(facts, "<=", most),
            Comparison(facts, ">", most - d_head),
            Comparison(facts, ">", previous),
            *count,
        ),
    )
