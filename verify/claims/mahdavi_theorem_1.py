"""Theorem 1: labels that values or outputs are too narrow for, and layers with certified labels where they are not.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.claims.mahdavi_theorem_1 import CLAIM, build, narrow_values
from constructions.models.construction import Construction
from constructions.tasks.vectors import VectorTask
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.held_labels import held_labels
from verify.claims.quantifier import Quantifier
from verify.claims.theorems import OUTPUT_RANK
from verify.linear_algebra.rank import rank_bracket
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.verdict import proved

_SMALL = (
    {"heads": 1, "tokens": 1, "width": 1, "head_width": 1, "shared": 1},
    {"heads": 3, "tokens": 2, "width": 2, "head_width": 2, "shared": 1, "outputs": 2},
    {"heads": 8, "tokens": 8, "width": 16, "head_width": 8, "shared": 1, "outputs": 3},
    {"heads": 16, "tokens": 8, "width": 16, "head_width": 3, "shared": 1, "examples": 33},
    {"heads": 6, "tokens": 5, "width": 8, "head_width": 1, "shared": 1},
    {"heads": 16, "tokens": 8, "width": 16, "head_width": 1, "shared": 0, "outputs": 2},
    {"heads": 20, "tokens": 32, "width": 64, "head_width": 32, "shared": 1},
    {"heads": 20, "tokens": 32, "width": 64, "head_width": 32, "shared": 1, "classes": 100},
    {"heads": 20, "tokens": 32, "width": 64, "head_width": 1, "shared": 0, "classes": 2},
)
_LARGE = (
    {"heads": 20, "tokens": 32, "width": 64, "head_width": 2, "shared": 1},
    {"heads": 40, "tokens": 32, "width": 64, "head_width": 64, "shared": 1, "outputs": 8},
    {"heads": 60, "tokens": 32, "width": 64, "head_width": 32, "shared": 1},
    {"heads": 40, "tokens": 32, "width": 64, "head_width": 32, "shared": 0, "classes": 100},
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the counterexample without the condition on widths, and labels with it.

    Args:
        full: Whether to certify larger layers.

    Yields:
        The evidence.
    """
    yield _too_narrow(narrow_values(), heads=1, d_value=1, d_inner=2)
    yield _too_narrow(narrow_values(), heads=7, d_value=2, d_inner=1)
    for parameters in _SMALL + (_LARGE if full else ()):
        wanted = {**CLAIM.parameters, **parameters}
        CLAIM.require(**wanted)
        yield _memorized(build(**wanted), wanted)


def _too_narrow(task: VectorTask, *, heads: int, d_value: int, d_inner: int) -> Evidence:
    r"""Outputs have rank at most k = min(H d_v, d_o), so that some entry is off by sigma_{k+1}(Y) / sqrt(T d_out)."""
    allowed = OUTPUT_RANK.at(n_heads=heads, d_value=d_value, d_inner=d_inner)
    width = allowed.value
    queries, context = rank_bracket(task.queries), rank_bracket(task.contexts[0])
    # Two independent queries are all there are: Kruskal rank n = 2.
    assumptions = queries.lower == task.n_examples == task.n_tokens == context.lower and task.n_tokens < task.d_model
    assumptions = assumptions and task.labels.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    values = enclose_singular_values(task.labels).lower()
    error = float(values[width]) / float(np.sqrt(task.labels.size)) if width < len(values) else 0.0
    counted = heads * (task.n_tokens - 1) + 1
    printed = stated(CLAIM, "printed", H=heads, r=task.n_tokens)
    return Evidence(
        "without",
        f"{task.n_examples} examples with A1, A2 and n = {task.n_tokens} < d = {task.d_model}, labels (1, 0), (0, 1), "
        f"H = {heads}, d_v = {d_value}, d_o = {d_inner}, any d_h: outputs have rank at most {width} and labels have 2",
        f"any labels memorized, as T = {task.n_examples} <= H (r - 1) + 1 = {counted} for d_h >= 2",
        f"some output is off by at least {np.floor(1e6 * error) / 1e6}" if error > 0 else "no positive error",
        Method("Eckart and Young, with enclosed singular values", Means.ENCLOSURES),
        proved(assumptions and error > 0 and task.n_examples <= counted),
        {"context": task.contexts[0].tolist(), "queries": task.queries.tolist(), "labels": task.labels.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(allowed, "<", task.labels.shape[1]),
            Comparison(task.n_examples, "=" if heads == 1 else "<=", printed),
        ),
    )


def _memorized(made: Construction[VectorTask], parameters: dict[str, int]) -> Evidence:
    """Rank Z = T, and the labels of the float64 weights within their error, or in front by a margin."""
    layer, task = made.model, made.task
    sizes = {
        "heads": layer.n_heads,
        "tokens": task.n_tokens,
        "width": layer.d_model,
        "head_width": layer.d_qk,
        "shared": int(task.shared),
        "examples": task.n_examples,
        "classes" if task.kind == "classification" else "outputs": task.d_out,
    }
    wanted = {**parameters, "examples": parameters["examples"] or layer.n_heads * (task.n_tokens - 1) + 1}
    as_asked = all(wanted[name] == size for name, size in sizes.items()) and (
        task.kind == ("classification" if wanted["classes"] else "regression")
    )
    allowed = OUTPUT_RANK.at(n_heads=1, d_value=layer.d_head, d_inner=layer.attention.d_out)
    needed = task.d_out if task.kind == "regression" else min(2, task.d_out - 1)  # a line tells two classes apart
    largest = stated(CLAIM, "sharper", H=layer.n_heads, n=task.n_tokens)
    found = held_labels(layer, task)
    return Evidence(
        "with",
        f"Weights for {made.summary}, d_v = {layer.d_head}, d_o = {layer.attention.d_out}",
        f"{task.n_examples} labels memorized",
        f"{found.certified}; rank Z = T" if found.held else "not all labels certified",
        Method(found.method, Means.ENCLOSURES),
        proved(as_asked and found.held),
        {"parameters": parameters, "sha256": layer.sha256()},
        compared=(
            Comparison(allowed, ">=", needed),
            *(() if parameters["examples"] else (Comparison(task.n_examples, "=", largest),)),
        ),
    )
