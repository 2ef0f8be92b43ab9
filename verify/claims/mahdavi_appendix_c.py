"""Appendix C: layers whose outputs and skip connection add up to the labels.

Page: docs/claims/context_rank.md
"""

from collections.abc import Iterator

from constructions.claims.mahdavi_appendix_c import CLAIM
from constructions.claims.mahdavi_proposition_1 import uniform_examples
from constructions.claims.mahdavi_theorem_1 import labelled
from constructions.models.construction import Construction
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.enclosure import matmul
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.held_labels import held_labels
from verify.verdict import proved

_SMALL = (
    {"heads": 8, "tokens": 8, "width": 16, "head_width": 8, "outputs": 4, "shared": 1},
    {"heads": 8, "tokens": 4, "width": 8, "head_width": 4, "outputs": 8, "shared": 0},
    {"heads": 3, "tokens": 2, "width": 2, "head_width": 5, "outputs": 1, "shared": 1},
    {"heads": 2, "tokens": 1, "width": 1, "head_width": 1, "outputs": 1, "shared": 1},
)
_LARGE = ({"heads": 20, "tokens": 32, "width": 64, "head_width": 32, "outputs": 16, "shared": 1},)


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify labels of layers with a skip connection.

    Args:
        full: Whether to certify a larger layer.

    Yields:
        The evidence.
    """
    for parameters in _SMALL + (_LARGE if full else ()):
        made = CLAIM.construct(**parameters)
        if isinstance(made, Construction):
            yield _memorized(made, parameters)


def _memorized(made: Construction[VectorTask], parameters: dict[str, int]) -> Evidence:
    """The labels are drawn again here, from the examples: not read off the shifted ones."""
    layer, task, outputs = made.model, made.task, parameters["outputs"]
    contexts, queries = uniform_examples(
        examples=task.n_examples,
        tokens=parameters["tokens"],
        width=parameters["width"],
        shared=bool(parameters["shared"]),
        seed=0,
    )
    labels = labelled(contexts, queries, outputs=outputs).labels
    same = bool((queries == task.queries).all() and (contexts == task.contexts).all())
    found = held_labels(layer, task, added=matmul(queries, layer.W_U), labels=labels)
    counted = layer.n_heads * (min(task.n_tokens, layer.d_qk) - 1) + 1
    sizes = (layer.n_heads, task.n_tokens, layer.d_model, layer.d_qk, layer.d_vocab_out, int(task.shared))
    same &= sizes == tuple(parameters[name] for name in ("heads", "tokens", "width", "head_width", "outputs", "shared"))
    held = same and found.held and layer.attention.d_out == layer.d_model
    return Evidence(
        "claim",
        f"Float64 weights with a skip connection for {made.summary}",
        f"H (r - 1) + 1 = {counted} labels memorized",
        f"{found.certified}; rank Z = {task.n_examples}" if held else "not all labels certified",
        Method(found.method, Means.ENCLOSURES),
        proved(held and task.n_examples == counted),
        {"parameters": dict(parameters), "sha256": layer.sha256()},
    )
