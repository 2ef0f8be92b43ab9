r"""Theorem 1 of Mahdavi et al.: as many labels as independent mixed inputs, if values and outputs are wide enough.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterator

import numpy as np

from constructions.model.construction import Construction
from constructions.saturated_layers.uniform_memory import uniform_memory
from constructions.tasks.vectors import VectorTask
from verify.linear_algebra.rank import rank_bracket
from verify.linear_algebra.singular_values import enclose_singular_values
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.memorized_labels import memorized_labels
from verify.theorems.evidence.theorems import OUTPUT_RANK
from verify.verdict import proved


def narrow_values() -> VectorTask:
    r"""Two examples with the labels (1, 0) and (0, 1): more than one head with $d_v = 1$ can hold.

    n = 2, d = 3, the context and the queries are unit vectors. With H = 1 and $d_h = 2$, T = 2 = H (r - 1) + 1.

    Source: Theorem Z3, beside Mahdavi, Liao, Thrampoulidis (2024), Theorem 1, as reconstructed.

    Example:
        >>> narrow_values().labels.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return VectorTask(np.eye(3)[None, :2], np.eye(3)[:2], np.eye(2))


CLAIM = Claim(
    id="mahdavi.theorem-1",
    title="H (min(n, d_h) - 1) + 1 labels are memorized",
    source="Mahdavi, Liao, Thrampoulidis (2024), Theorem 1",
    kind="statement",
    quotation=(
        "We are now ready to state our main result below. Theorem 1. [lost] Theorem 1 shows that an MHA with [lost] "
        "parameters can memorize at least [lost] examples under Assumptions 2 and 1."
    ),
    printed=(
        "Under Assumptions 1 and 2, with [[room: n < d]] and r := min(n, d_h), a layer of H heads memorizes any labels "
        "in R^d_out of up to [[printed: H (r - 1) + 1]] examples."
    ),
    reading=(
        "The copy at hand lacks the formulas: what is printed is reconstructed, and not judged. The copy has nothing "
        "behind the words 'Theorem 1.'; a condition on the output dimension, which the introduction mentions beside "
        "blanks, may be part of it."
    ),
    judgement="not-legible",
    truth=(
        "Proved here (Theorem Z1): for [[wide: d_out <= min(d_v, d_o)]] and [[full: n = d]] or less, a layer "
        "memorizes any labels of up to [[sharper: H (n - 1) + 1]] examples with the block condition, whatever "
        "[[widths: d_h >= 1]] is. Values narrower than the output hold less: outputs have rank at most "
        "[[rank: min(H d_v, d_o)]], so that [[heads: one]] head with [[values: d_v = 1]] misses the labels "
        "([[on: 1]], [[off: 0]]) and ([[off: 0]], [[on: 1]]). Classes need [[classes: min(d_v, d_o) >= 2]] only, "
        "however many there are."
    ),
    reconstructed="the formulas, from a copy without them",
    page="docs/claims/saturated_heads.md",
    hypotheses=(
        *conditions("H, n, d, d_h >= 1", "n <= d"),
        Hypothesis(
            "T <= H (n - 1) + 1",
            lambda n_heads, n_ctx, examples, **_: 0 <= examples <= n_heads * (n_ctx - 1) + 1,
        ),
        *conditions("d_out >= 1"),
        Hypothesis("classes is 0 or at least 2", lambda classes, **_: classes >= 0 and classes != 1),
        Hypothesis("shared is 0 or 1", lambda shared, **_: shared in (0, 1)),
        *conditions("seed >= 0"),
    ),
    parameters={
        "n_heads": 20,
        "n_ctx": 32,
        "d_model": 64,
        "d_head": 32,
        "examples": 0,
        "shared": 1,
        "outputs": 1,
        "classes": 0,
        "seed": 0,
    },
    build=uniform_memory,
)

_SMALL = (
    {"n_heads": 1, "n_ctx": 1, "d_model": 1, "d_head": 1, "shared": 1},
    {"n_heads": 3, "n_ctx": 2, "d_model": 2, "d_head": 2, "shared": 1, "outputs": 2},
    {"n_heads": 8, "n_ctx": 8, "d_model": 16, "d_head": 8, "shared": 1, "outputs": 3},
    {"n_heads": 16, "n_ctx": 8, "d_model": 16, "d_head": 3, "shared": 1, "examples": 33},
    {"n_heads": 6, "n_ctx": 5, "d_model": 8, "d_head": 1, "shared": 1},
    {"n_heads": 16, "n_ctx": 8, "d_model": 16, "d_head": 1, "shared": 0, "outputs": 2},
    {"n_heads": 20, "n_ctx": 32, "d_model": 64, "d_head": 32, "shared": 1},
    {"n_heads": 20, "n_ctx": 32, "d_model": 64, "d_head": 32, "shared": 1, "classes": 100},
    {"n_heads": 20, "n_ctx": 32, "d_model": 64, "d_head": 1, "shared": 0, "classes": 2},
)


_LARGE = (
    {"n_heads": 20, "n_ctx": 32, "d_model": 64, "d_head": 2, "shared": 1},
    {"n_heads": 40, "n_ctx": 32, "d_model": 64, "d_head": 64, "shared": 1, "outputs": 8},
    {"n_heads": 60, "n_ctx": 32, "d_model": 64, "d_head": 32, "shared": 1},
    {"n_heads": 40, "n_ctx": 32, "d_model": 64, "d_head": 32, "shared": 0, "classes": 100},
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _too_narrow(narrow_values(), n_heads=1, d_value=1, d_inner=2)
    yield _too_narrow(narrow_values(), n_heads=7, d_value=2, d_inner=1)
    for parameters in _SMALL + (_LARGE if full else ()):
        wanted = {**CLAIM.parameters, **parameters}
        CLAIM.require(**wanted)
        yield _memorized(uniform_memory(**wanted), wanted)


def _too_narrow(task: VectorTask, *, n_heads: int, d_value: int, d_inner: int) -> Evidence:
    r"""Outputs have rank at most k = min(H d_v, d_o), so that some entry is off by sigma_{k+1}(Y) / sqrt(T d_out)."""
    allowed = OUTPUT_RANK.at(n_heads=n_heads, d_value=d_value, d_inner=d_inner)
    width = allowed.value
    queries, context = rank_bracket(task.queries), rank_bracket(task.contexts[0])
    # Two independent queries are all there are: Kruskal rank n = 2.
    assumptions = queries.lower == task.n_examples == task.n_ctx == context.lower and task.n_ctx < task.d_model
    assumptions = assumptions and task.labels.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    values = enclose_singular_values(task.labels).lower()
    error = float(values[width]) / float(np.sqrt(task.labels.size)) if width < len(values) else 0.0
    counted = n_heads * (task.n_ctx - 1) + 1
    printed = stated(CLAIM, "printed", H=n_heads, r=task.n_ctx)
    return Evidence(
        "boundary",
        f"{task.n_examples} examples with A1, A2 and n = {task.n_ctx} < d = {task.d_model}, labels (1, 0), (0, 1), "
        f"H = {n_heads}, d_v = {d_value}, d_o = {d_inner}, any d_h: outputs have rank at most {width} and "
        "labels have 2",
        f"any labels memorized, as T = {task.n_examples} <= H (r - 1) + 1 = {counted} for d_h >= 2",
        f"some output is off by at least {np.floor(1e6 * error) / 1e6}" if error > 0 else "no positive error",
        Method("Eckart and Young, with enclosed singular values", Means.ENCLOSURES),
        proved(assumptions and error > 0 and task.n_examples <= counted),
        {"context": task.contexts[0].tolist(), "queries": task.queries.tolist(), "labels": task.labels.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(allowed, "<", task.labels.shape[1]),
            Comparison(task.n_examples, "=" if n_heads == 1 else "<=", printed),
            Comparison(allowed, "=", stated(CLAIM, "rank", H=n_heads, d_v=d_value, d_o=d_inner)),
            *(Comparison(float(x), "=", stated(CLAIM, "on")) for x in np.diag(task.labels)),
            *(Comparison(float(x), "=", stated(CLAIM, "off")) for x in np.diag(task.labels[::-1])),
            *met(CLAIM, "room", n=task.n_ctx, d=task.d_model),
            *failed(CLAIM, "wide", d_out=task.labels.shape[1], d_v=d_value, d_o=d_inner),
            *(
                (Comparison(n_heads, "=", stated(CLAIM, "heads")), *met(CLAIM, "values", d_v=d_value))
                if n_heads == 1
                else ()
            ),
        ),
    )


def _memorized(made: Construction[VectorTask], parameters: dict[str, int]) -> Evidence:
    """Rank Z = T, and the labels of the float64 weights within their error, or in front by a margin."""
    layer, task = made.model, made.task
    sizes = {
        "n_heads": layer.n_heads,
        "n_ctx": task.n_ctx,
        "d_model": layer.d_model,
        "d_head": layer.d_qk,
        "shared": int(task.shared),
        "examples": task.n_examples,
        "classes" if task.kind == "classification" else "outputs": task.d_out,
    }
    wanted = {**parameters, "examples": parameters["examples"] or layer.n_heads * (task.n_ctx - 1) + 1}
    as_asked = all(wanted[name] == size for name, size in sizes.items()) and (
        task.kind == ("classification" if wanted["classes"] else "regression")
    )
    allowed = OUTPUT_RANK.at(n_heads=1, d_value=layer.d_head, d_inner=layer.attention.d_out)
    needed = task.d_out if task.kind == "regression" else min(2, task.d_out - 1)  # a line tells two classes apart
    largest = stated(CLAIM, "sharper", H=layer.n_heads, n=task.n_ctx)
    certified = memorized_labels(layer, task)
    return Evidence(
        "ours",
        f"Weights for {made.summary}, d_v = {layer.d_head}, d_o = {layer.attention.d_out}",
        f"{task.n_examples} labels memorized",
        f"{certified.certified}; rank Z = T" if certified.memorized else "not all labels certified",
        Method(certified.method, Means.ENCLOSURES),
        proved(as_asked and certified.memorized),
        {"parameters": parameters, "sha256": layer.sha256()},
        compared=(
            Comparison(allowed, ">=", needed),
            *met(CLAIM, "widths", d_h=layer.d_qk),
            *(met(CLAIM, "full", n=task.n_ctx, d=task.d_model) if task.n_ctx == task.d_model else ()),
            *met(
                CLAIM,
                *(["wide"] if task.kind == "regression" else ["classes"] if task.d_out > 2 else []),
                d_out=task.d_out,
                d_v=layer.d_head,
                d_o=layer.attention.d_out,
            ),
            *(() if parameters["examples"] else (Comparison(task.n_examples, "=", largest),)),
        ),
    )
