"""Appendix H of Mahdavi et al.: on most examples most heads look at one token, and some head does not.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterator
from fractions import Fraction

from constructions.saturated_layers.uniform_memory import uniform_memory
from verify.forward.heads import enclose_layer
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated
from verify.theorems.saturated_layers.saturation import certify_saturation
from verify.verdict import proved

CLAIM = Claim(
    id="mahdavi.appendix-h",
    title="Most heads are saturated on most examples",
    source="Mahdavi, Liao, Thrampoulidis (2024), Appendix H and Figure 3",
    kind="fit",
    quotation=(
        "We call a head saturated for an example if the query token has one softmax coefficient to some context "
        "token in that head, i.e., head [lost] is saturated for example [lost] if [lost] has at least one entry "
        "[lost]. [...] Interestingly, a significant number of heads are saturated for the majority of examples, "
        "while almost all examples have at least one corresponding non-saturated head."
    ),
    printed=(
        "In trained layers with a shared context a significant number of heads are saturated (some attention weight "
        "reaches [[threshold: 0.99]]) for most examples, and almost all examples have a head that is not."
    ),
    reading="The threshold is lost in the copy at hand; a reconstruction of it is used.",
    judgement="measured",
    truth=(
        "Of the weights that are built here it is proved: more than [[share: half]] of the pairs of head and example "
        "are saturated, and every example has a head that is not. About trained weights it is a measurement of the "
        "source, which nothing here proves or repeats."
    ),
    reconstructed="the threshold of saturation, from a copy without it",
    page="docs/claims/saturated_heads.md",
)

THRESHOLD = 0.99  # that of the source


_SHARE = 0.5

_SIZES = ((4, 8, 16), (8, 8, 16), (20, 32, 64))


_SIZES_FULL = ((40, 16, 64), (60, 32, 64))


def evidence(*, full: bool) -> Iterator[Evidence]:
    for n_heads, n_ctx, d_model in _SIZES + (_SIZES_FULL if full else ()):
        built = uniform_memory(n_heads=n_heads, n_ctx=n_ctx, d_model=d_model, d_head=n_ctx, examples=0, shared=1)
        layer, task = built.model, built.task
        saturation = certify_saturation(enclose_layer(layer, task).top, threshold=THRESHOLD)
        pairs = saturation.saturated.size
        saturated, open_to_one = int(saturation.saturated.sum()), int(saturation.unsaturated.any(axis=1).sum())
        yield Evidence(
            "measurement",
            f"A built layer of {layer.n_heads} heads on {task.n_examples} examples with one context of {task.n_ctx} "
            f"tokens: which heads have an attention weight of at least {THRESHOLD}.",
            f"more than {_SHARE:.0%} of the pairs saturated; every example has a head that is not",
            f"{saturated} of {pairs} pairs ({saturated / pairs:.1%}); {open_to_one} of {task.n_examples} examples",
            Method("enclosed attention weights", Means.ENCLOSURES),
            proved(layer.n_heads > 1 and saturated > _SHARE * pairs and open_to_one == task.n_examples),
            compared=(
                Comparison(Fraction(str(THRESHOLD)), "=", stated(CLAIM, "threshold")),
                Comparison(Fraction(str(_SHARE)), "=", stated(CLAIM, "share")),
            ),
        )
