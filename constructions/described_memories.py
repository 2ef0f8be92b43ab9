"""The memories that there are: what each needs and what it costs, in words, without anything that computes.

Page: docs/memories.md
"""

from typing import NamedTuple


class Described(NamedTuple):
    """A way to build weights that hold a task, in words.

    Args:
        name: What it is asked for by.
        needs: What it asks of the task.
        cost: Its parameters, roughly.
        attention_only: Whether its model has no neurons.
        page: The page that proves it.
    """

    name: str
    needs: str
    cost: str
    attention_only: bool
    page: str


DESCRIBED = (
    Described(
        "affine",
        "2 to 8 tokens; labels that are sums of a number for each token, modulo something or in an abelian group",
        "3 N + 12, and S + 4 for each exception; every run in float32 is exact",
        False,
        "docs/claims/affine.md",
    ),
    Described(
        "packed-words",
        "bigrams with labels",
        "0.7 a fact for all of 50 tokens in float64, 1 in float32, every run exact up to the readout; tens of layers",
        False,
        "docs/claims/bits.md",
    ),
    Described(
        "probes",
        "any distinct contexts of up to 1182 tokens; labels",
        "0.4 to 1.8 a fact, less the more there are, beyond 4 N + 2 K and some 800; every run in float32 is exact",
        False,
        "docs/claims/probes.md",
    ),
    Described(
        "bit-table",
        "any distinct contexts of up to 127 tokens in float16 and 58 in bfloat16; labels or laws",
        "2 to 25 a fact, the less the fuller the table; every run in either is exact",
        False,
        "docs/claims/one_hot_laws.md",
    ),
    Described(
        "one-hot-laws",
        "any distinct contexts of up to 2000 tokens; laws",
        "N + S + 1 a law; every run in float32 has the stored logits",
        False,
        "docs/claims/one_hot_laws.md",
    ),
    Described(
        "low-rank-laws",
        "any distinct contexts of up to 2000 tokens; laws, which may be off by a tolerance",
        "S + 2 and the rank a law, and N entries for each rank, found by a search of seconds",
        False,
        "docs/claims/one_hot_laws.md",
    ),
    Described(
        "knots",
        "any distinct contexts, labels or laws",
        "3 a fact for labels; N + 1 a law",
        False,
        "docs/claims/knots.md",
    ),
    Described(
        "one-head",
        "bigrams with labels",
        "3 N^2 + (4 + K) N whatever the facts: 4 a fact for all bigrams, by a formula",
        True,
        "docs/claims/corollary_1.md",
    ),
    Described(
        "rank-one-heads",
        "contexts in general position, of two tokens or more; labels",
        "4 a fact and 4 (S + N + K), by one linear system",
        True,
        "docs/claims/rank_one_heads.md",
    ),
    Described(
        "newton",
        "labels; up to 2^14 contexts",
        "0.7 to 1.7 a fact, found by a search of seconds to minutes",
        True,
        "docs/claims/newton_memory.md",
    ),
    Described(
        "theorem-1",
        "any contexts that features of attention tell apart; labels or laws",
        "2 d + 2 d / d_h a fact and a quarter more, d = N + S for laws",
        True,
        "docs/claims/theorem_1.md",
    ),
    Described(
        "last-token-heads",
        "any distinct contexts of two tokens or more; labels or laws",
        "2 d + 2 d / d_h a fact and a quarter more, d = N + S; found in nearly linear time",
        True,
        "docs/claims/last_token_heads.md",
    ),
)
"""All memories, in the order in which they are tried: first those whose runs are exact, then the fastest."""
