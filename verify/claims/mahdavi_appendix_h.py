"""Appendix H: how many heads of the built layers are saturated, from enclosures of every attention weight.

Page: docs/claims/saturated_heads.md
"""

from collections.abc import Iterator

from constructions.claims.mahdavi_theorem_1 import build
from verify.claims.evidence import Evidence, Means, Method
from verify.forward.heads import enclose_layer
from verify.saturated.saturation import certify_saturation
from verify.verdict import proved

THRESHOLD = 0.99  # that of the source
_SHARE = 0.5

_SIZES = ((4, 8, 16), (8, 8, 16), (20, 32, 64))
_SIZES_FULL = ((40, 16, 64), (60, 32, 64))


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify both parts of the observation on built layers with a shared context, as many examples as they hold.

    Args:
        full: Whether to certify larger layers.

    Yields:
        The evidence.
    """
    for heads, tokens, width in _SIZES + (_SIZES_FULL if full else ()):
        built = build(heads=heads, tokens=tokens, width=width, head_width=tokens, examples=0, shared=1)
        layer, task = built.model, built.task
        found = certify_saturation(enclose_layer(layer, task).top, threshold=THRESHOLD)
        pairs = found.saturated.size
        saturated, open_to_one = int(found.saturated.sum()), int(found.unsaturated.any(axis=1).sum())
        yield Evidence(
            "measurement",
            f"A built layer of {layer.n_heads} heads on {task.n_examples} examples with one context of {task.n_tokens} "
            f"tokens: which heads have an attention weight of at least {THRESHOLD}.",
            f"more than {_SHARE:.0%} of the pairs saturated; every example has a head that is not",
            f"{saturated} of {pairs} pairs ({saturated / pairs:.1%}); {open_to_one} of {task.n_examples} examples",
            Method("enclosed attention weights", Means.ENCLOSURES),
            proved(layer.n_heads > 1 and saturated > _SHARE * pairs and open_to_one == task.n_examples),
        )
