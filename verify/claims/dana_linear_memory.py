r"""Section 6 of Dana et al.: how many associations a matrix between given embeddings memorizes.

Page: docs/claims/conclusions.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.parabola import parabola
from verify.claim import Claim
from verify.evidence import Comparison, Evidence, Means, Method, Role, stated

CLAIM = Claim(
    id="dana.linear-memory",
    title="Associations of a matrix between embeddings",
    source="Dana, Pydi, Chevaleyre (2024), section 6, of Bietti et al. and Cabannes et al.",
    printed="A matrix W of [[numbers: d^2]] numbers between given embeddings memorizes [[printed: d]] associations.",
    judgement="false",
    truth=(
        "With embeddings of one's own choice it memorizes any number N of them, in [[width: two]] dimensions, W the "
        "identity; for random embeddings see `slides.associative-memory`."
    ),
    page="docs/claims/conclusions.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab in (3, 10, 50, *((200,) if full else ())):
        yield _more_than_d(d_vocab, "counterexample")
    yield _more_than_d(7, "repair")


def _more_than_d(d_vocab: int, role: Role) -> Evidence:
    """Inputs (i, 1), W the identity of two dimensions, outputs (2 j, -j^2): every input has its own label."""
    inputs = fmpz_mat([[i, 1] for i in range(d_vocab)])
    outputs = fmpz_mat(parabola(d_vocab).astype(np.int64).tolist())
    d_model = inputs.ncols()
    matrix = fmpz_mat(np.eye(d_model, dtype=np.int64).tolist())
    rows = [[int(entry) for entry in row] for row in (inputs * matrix * outputs.transpose()).tolist()]
    stored = sum(all(row[i] > other for j, other in enumerate(row) if j != i) for i, row in enumerate(rows))
    return Evidence(
        role,
        f"N = {d_vocab} inputs (i, 1), W the identity with {len(matrix.entries())} numbers, outputs (2 j, -j^2)",
        f"{stated(CLAIM, 'printed', d=d_model)} associations",
        f"{stored} associations",
        Method("exact integers", Means.EXACT),
        compared=(
            Comparison(stored, "=", d_vocab),
            Comparison(stored, ">", stated(CLAIM, "printed", d=d_model)),
            Comparison(len(matrix.entries()), "=", stated(CLAIM, "numbers", d=d_model)),
            Comparison(d_model, "=", stated(CLAIM, "width")),
            Comparison(outputs.rank(), "=", stated(CLAIM, "printed", d=d_model)),
        ),
    )
