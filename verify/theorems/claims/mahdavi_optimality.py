r"""Mahdavi et al. after Theorem 1: outputs of as many dimensions as tokens make the number of memorized reals optimal.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterator
from fractions import Fraction

from constructions.saturated_layers.uniform_memory import uniform_memory
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.theorems.evidence.memorized_labels import memorized_labels
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.optimality",
    title="The order of the number of memorized reals",
    source="Mahdavi, Liao, Thrampoulidis (2024), section 4, the settings after Theorem 1",
    kind="remark",
    quotation=(
        "This optimality is reflected in the fact that [lost] real-valued outputs are memorized, and a trivial upper "
        "bound for the memorization of an MHA is the number of its parameters"
    ),
    printed=(
        "With d_h, d_v, d_o, d_out and n of the order of d, the examples of Theorem 1 times d_out real numbers are of "
        "the order of the number of parameters, and no more can be memorized: the bound is optimal. With scalar "
        "outputs the number of examples is of the order of H d."
    ),
    reading="The copy at hand lacks the formulas: what is printed is reconstructed, and not judged.",
    judgement="not-legible",
    truth=(
        "For [[square: n = d = d_out = d_v = d_o]] and [[queries: d_h = 1]], which is enough, the layer has "
        "[[entries: 2 H d + 2 H d^2 + d^2]] entries and memorizes [[reals: (H (d - 1) + 1) d]] numbers: fewer than "
        "[[factor: four]] entries for each from [[from: d >= 3]] on. That no more numbers than entries can be "
        "memorized is `madden-2024.upper`."
    ),
    reconstructed="the settings, from a copy without their formulas",
    page="docs/claims/saturated_heads.md",
)

_SIZES, _SIZES_FULL = ((4, 3), (6, 6), (4, 8)), ((8, 12),)  # H, d


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_heads, d_model in _SIZES + (_SIZES_FULL if full else ()):
        yield _memorized(n_heads, d_model)


def _memorized(n_heads: int, d_model: int) -> Evidence:
    sizes = {"n_ctx": d_model, "d_model": d_model, "outputs": d_model}
    construction = uniform_memory(n_heads=n_heads, d_head=1, examples=0, shared=0, **sizes)
    layer, task = construction.model, construction.task
    certified = memorized_labels(layer, task)
    block = layer.attention
    sizes_of_layer = {"H": layer.n_heads, "d": layer.d_model}
    entries, numbers = layer.parameters, task.labels.size
    return Evidence(
        "ours",
        f"{task.n_examples} labels in R^{task.d_out}, contexts of n = {task.n_ctx} tokens in R^{layer.d_model}, H = "
        f"{layer.n_heads}, d_h = {layer.d_qk}, d_v = {layer.d_head}, d_o = {block.d_out}",
        "as many real numbers as parameters, up to a constant",
        f"{numbers} numbers memorized with {entries} entries" if certified.memorized else "labels not certified",
        Method(certified.method, Means.ENCLOSURES),
        proved(certified.memorized),
        {"sha256": layer.sha256()},
        compared=(
            Comparison(numbers, "<=", entries),
            Comparison(Fraction(entries, numbers), "<", stated(CLAIM, "factor")),
            *(
                (Comparison(Fraction(21 * entries, 20 * numbers), ">", stated(CLAIM, "factor")),)
                if d_model == 3
                else ()
            ),
            Comparison(entries, "=", stated(CLAIM, "entries", **sizes_of_layer)),
            Comparison(numbers, "=", stated(CLAIM, "reals", **sizes_of_layer)),
            *met(CLAIM, "square", n=task.n_ctx, d=layer.d_model, d_out=task.d_out, d_v=layer.d_head, d_o=block.d_out),
            *met(CLAIM, "queries", d_h=layer.d_qk),
            *met(CLAIM, "from", d=d_model),
        ),
    )
