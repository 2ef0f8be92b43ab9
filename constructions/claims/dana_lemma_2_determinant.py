r"""Appendix A.1 of Dana et al.: the determinant at the end of the proof of Lemma 2.

Page: docs/claims/closed_forms.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.lemma-2-determinant",
    title="The determinant in the proof of Lemma 2",
    source="Dana, Pydi, Chevaleyre (2024), appendix A.1",
    printed=(
        "N_{n,i}, for n = 2, ..., d + 1, counts the sequences that begin with i and hold n^k - [i = k, k != m] times "
        "the index k, for k != m. The square matrix N X(t) has a nonzero determinant by the property of Lemma 3, so "
        "the only solution of v_t N X(t) = 0 is v_t = 0."
    ),
    judgement="false",
    truth=(
        "The column of m is the sum of the others, up to factors of the rows. So for S >= 2 the rank of N is "
        "[[rank: min(d, S - 1)]], and the determinant is 0 for all embeddings if S <= d. It is not 0 for S > d and "
        "algebraically independent embeddings. With the signs of (11), which the definition of N leaves out, what "
        "follows for S <= d is only that v_t is orthogonal to the x(t, i) - x(t, m)."
    ),
    page="docs/claims/closed_forms.md",
)
