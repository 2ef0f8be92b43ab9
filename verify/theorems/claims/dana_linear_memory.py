r"""Section 6 of Dana et al.: how many associations a matrix between random embeddings memorizes.

Page: docs/claims/outer_product_memory.md
"""

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat

from constructions.encoders.outer_product_memory import solved_associations
from constructions.encoders.parabola import parabola
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.memories.outer_product_capacity import stored_associations

CLAIM = Claim(
    id="dana.linear-memory",
    title="Associations of a matrix between fixed random embeddings",
    source="Dana, Pydi, Chevaleyre (2024), section 6, of Bietti et al. and Cabannes et al.",
    kind="summary",
    quotation=(
        r"The learn association with the sequence encoder W_UWE where $E:[N] \to \mathbb{R}^d$ is a fixed random "
        r"encoder, $W \in \mathbb{R}^{d,d}$ is learnable and $W_U \in \mathbb{R}^{N,d}$ outputs logits and is fixed "
        r"random. In this setting, they show that using the $d^2$ learnable parameters from W, the model memorizes d "
        r"associations."
    ),
    printed=(
        "With W_U and E fixed and random, a learnable matrix W of [[numbers: d^2]] numbers memorizes [[printed: d]] "
        "associations by the argmax of W_U W E."
    ),
    reading=(
        "As a lower bound: some W memorizes d associations. That it memorizes no more is "
        "`slides.associative-memory`. What the cited papers show is not judged."
    ),
    judgement="holds",
    truth=(
        "It holds for any labels: inputs with independent vectors, as almost all d have, are mapped to the vectors "
        "of their labels by some W, and of different vectors of one length each has the largest product with itself. "
        "With embeddings of one's own choice any number N of associations is memorized in [[width: two]] dimensions, "
        "W the identity; for random ones see `slides.associative-memory`."
    ),
    page="docs/claims/outer_product_memory.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_model, d_vocab in ((8, 8), (12, 12), (16, 50), *(((32, 400),) if full else ())):
        yield _any_labels_of_d(d_model, d_vocab)
    for d_vocab in (3, 10, 50, *((200,) if full else ())):
        yield _more_than_d(d_vocab)


def _any_labels_of_d(d_model: int, d_vocab: int) -> Evidence:
    """Random signs on both sides, d inputs with random labels, and W solved for them."""
    rng = np.random.default_rng([d_model, d_vocab])
    inputs = rng.choice([-1, 1], (d_model, d_model)).astype(np.int64)
    while fmpz_mat(inputs.tolist()).rank() < d_model:  # few draws are dependent
        inputs = rng.choice([-1, 1], (d_model, d_model)).astype(np.int64)
    outputs = rng.choice([-1, 1], (d_vocab, d_model)).astype(np.int64)
    labels = rng.integers(0, d_vocab, d_model)
    associations = solved_associations(outputs, inputs, labels)
    stored = stored_associations(outputs, inputs, labels, associations.memory)
    return Evidence(
        "claim",
        f"d = {d_model}: {d_model} inputs and N = {d_vocab} output tokens with random signs as vectors, random labels, "
        "W solved for them",
        f"{stated(CLAIM, 'printed', d=d_model)} associations",
        f"{stored.stored} of {stored.count} associations, least margin {stored.least_margin}",
        Method("exact integer products", Means.EXACT),
        data={"labels": labels.tolist()},
        compared=(
            Comparison(stored.stored, "=", stated(CLAIM, "printed", d=d_model)),
            Comparison(associations.memory.size, "=", stated(CLAIM, "numbers", d=d_model)),
        ),
    )


def _more_than_d(d_vocab: int) -> Evidence:
    """Inputs (i, 1), W the identity of two dimensions, outputs (2 j, -j^2): every input has its own label."""
    inputs = fmpz_mat([[i, 1] for i in range(d_vocab)])
    outputs = fmpz_mat(parabola(d_vocab).astype(np.int64).tolist())
    d_model = inputs.ncols()
    matrix = fmpz_mat(np.eye(d_model, dtype=np.int64).tolist())
    rows = [[int(entry) for entry in row] for row in (inputs * matrix * outputs.transpose()).tolist()]
    stored = sum(all(row[i] > other for j, other in enumerate(row) if j != i) for i, row in enumerate(rows))
    return Evidence(
        "boundary",
        f"embeddings of one's own choice: N = {d_vocab} inputs (i, 1), W the identity with {len(matrix.entries())} "
        "numbers, outputs (2 j, -j^2)",
        f"{stated(CLAIM, 'printed', d=d_model)} associations",
        f"{stored} associations",
        Method("exact integers", Means.EXACT),
        compared=(
            Comparison(stored, "=", d_vocab),
            Comparison(stored, ">", stated(CLAIM, "printed", d=d_model)),
            Comparison(len(matrix.entries()), "=", stated(CLAIM, "numbers", d=d_model)),
            Comparison(d_model, "=", stated(CLAIM, "width")),
        ),
    )
