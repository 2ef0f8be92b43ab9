r"""Section 4.1 of Dana et al.: whether the value maps keep the rank of what attention gives.

Page: docs/claims/closed_forms.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="dana.value-rank",
    title="The rank after the value maps",
    source="Dana, Pydi, Chevaleyre (2024), section 4.1",
    printed=(
        "For T_0 <= [[columns: H d_h + d]] contexts the family W_V A'(t) has rank T_0 if and only if the family A'(t) "
        "has, since W_V reduces the rank."
    ),
    judgement="false",
    truth=(
        "Rank T_0 of W_V A' implies rank T_0 of A'. The converse holds if every W_V is invertible, so d_h = d. With "
        "d_h < d it fails for all value maps at once: three contexts with one last token, d = 2, one head: A' has rank "
        "3 = T_0 = H d_h + d, and W_V A' has rank 2 at most."
    ),
    page="docs/claims/closed_forms.md",
)
