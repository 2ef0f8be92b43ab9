r"""Appendix C of Mahdavi et al.: Theorem 1 for attention with a skip connection.

Page: docs/claims/labels_with_skip_connection.md
"""

from collections.abc import Iterator

from constructions.model.construction import Construction
from constructions.saturated_layers.uniform_examples import labelled, uniform_examples
from constructions.saturated_layers.uniform_memory import skip_connection_memory
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import matmul
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import Evidence, Means, Method, met
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.memorized_labels import memorized_labels
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.appendix-c",
    title="The same with a skip connection",
    source="Mahdavi, Liao, Thrampoulidis (2024), Appendix C",
    kind="statement",
    quotation="Theorem 1 holds true for when we have Attention with skip connection.",
    printed="Theorem 1 holds for attention with a skip connection: memorize the labels less what it adds.",
    reading=(
        "The copy at hand lacks the formulas: what is printed is reconstructed, and not judged. Theorem 1 itself is "
        "not legible (`mahdavi.theorem-1`)."
    ),
    judgement="not-legible",
    truth=(
        "Proved here: what is reconstructed is true, with [[sum: d_o = d]], as the sum requires, and "
        "[[wide: d_out <= min(d_v, d)]]: with W_D the identity above zeros, the layer holds the labels less the "
        "first d_out entries of the query."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/labels_with_skip_connection.md",
    hypotheses=(
        *conditions("H, n, d_h >= 1", "n <= d", "1 <= d_out <= d"),
        Hypothesis("shared is 0 or 1", lambda shared, **_: shared in (0, 1)),
        *conditions("seed >= 0"),
    ),
    parameters={"n_heads": 8, "n_ctx": 8, "d_model": 16, "d_head": 8, "outputs": 4, "shared": 1, "seed": 0},
    build=skip_connection_memory,
)

_SMALL = (
    {"n_heads": 8, "n_ctx": 8, "d_model": 16, "d_head": 8, "outputs": 4, "shared": 1},
    {"n_heads": 8, "n_ctx": 4, "d_model": 8, "d_head": 4, "outputs": 8, "shared": 0},
    {"n_heads": 3, "n_ctx": 2, "d_model": 2, "d_head": 5, "outputs": 1, "shared": 1},
    {"n_heads": 2, "n_ctx": 1, "d_model": 1, "d_head": 1, "outputs": 1, "shared": 1},
)


_LARGE = ({"n_heads": 20, "n_ctx": 32, "d_model": 64, "d_head": 32, "outputs": 16, "shared": 1},)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for parameters in _SMALL + (_LARGE if full else ()):
        construction = CLAIM.construct(**parameters)
        if isinstance(construction, Construction):
            yield _memorized(construction, parameters)


def _memorized(made: Construction[VectorTask], parameters: dict[str, int]) -> Evidence:
    """The labels are drawn again here, from the examples: not read off the shifted ones."""
    layer, task, outputs = made.model, made.task, parameters["outputs"]
    contexts, queries = uniform_examples(
        examples=task.n_examples,
        n_ctx=parameters["n_ctx"],
        d_model=parameters["d_model"],
        shared=bool(parameters["shared"]),
        seed=0,
    )
    labels = labelled(contexts, queries, outputs=outputs).labels
    same = bool((queries == task.queries).all() and (contexts == task.contexts).all())
    certified = memorized_labels(layer, task, added=matmul(queries, layer.W_U), labels=labels)
    counted = layer.n_heads * (min(task.n_ctx, layer.d_qk) - 1) + 1
    sizes = (layer.n_heads, task.n_ctx, layer.d_model, layer.d_qk, layer.d_vocab_out, int(task.shared))
    same &= sizes == tuple(parameters[name] for name in ("n_heads", "n_ctx", "d_model", "d_head", "outputs", "shared"))
    memorized = same and certified.memorized and layer.attention.d_out == layer.d_model
    return Evidence(
        "ours",
        f"Float64 weights with a skip connection for {made.summary}",
        f"H (r - 1) + 1 = {counted} labels memorized",
        f"{certified.certified}; rank Z = {task.n_examples}" if memorized else "not all labels certified",
        Method(certified.method, Means.ENCLOSURES),
        proved(memorized and task.n_examples == counted),
        {"parameters": dict(parameters), "sha256": layer.sha256()},
        compared=(
            *met(CLAIM, "sum", d_o=layer.attention.d_out, d=layer.d_model),
            *met(CLAIM, "wide", d_out=outputs, d_v=layer.d_head, d=layer.d_model),
        ),
    )
