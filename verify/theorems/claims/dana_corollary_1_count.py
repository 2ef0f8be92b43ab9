r"""Section 6 of Dana et al.: the number of parameters of Corollary 1.

Page: docs/claims/corollary_1.md
"""

from collections.abc import Iterator

from constructions.rational.exact_memory import exact_memory
from verify.forward.in_rationals import exact_network_logits
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, met, stated
from verify.verdict import decided

CLAIM = Claim(
    id="dana.corollary-1-count",
    title="How the parameters of Corollary 1 grow",
    source="Dana, Pydi, Chevaleyre (2024), section 6, beside Kim et al. (2023)",
    kind="remark",
    quotation="As a comparison, our model in Corollary 1 scales as $2S + 4N + 8T_0$ parameters.",
    printed="The model of Corollary 1 scales as [[printed: 2 S + 4 N + 8 T_0]] parameters.",
    reading="As a growth, up to a constant.",
    judgement="holds",
    truth=(
        "It has [[exact: 2 S + 4 N + 8 T_0 - 16]], [[fewer: 16]] fewer, for [[plane: d = 2]] and "
        "[[full: T_0 = H d_h + d]], where it holds the contexts (`dana.corollary-1`)."
    ),
    page="docs/claims/corollary_1.md",
)

_SIZES, _SIZES_FULL = ((2, 2), (2, 3), (3, 2)), ((2, 5),)  # N, S


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx in _SIZES + (_SIZES_FULL if full else ()):
        yield _counted(d_vocab, n_ctx)


def _counted(d_vocab: int, n_ctx: int) -> Evidence:
    memory = exact_memory(d_vocab=d_vocab, n_ctx=n_ctx, d_model=2, d_head=1)
    model, facts = memory.model, len(memory.contexts)
    entries = sum(tensor.size for tensor in model.tensors().values())
    equal = exact_network_logits(model, memory.contexts) == memory.targets
    sizes = {"S": n_ctx, "N": d_vocab, "T_0": facts}
    shape = {"d": model.d_model, "d_h": model.d_head, "H": model.n_heads, "T_0": facts}
    return Evidence(
        "claim",
        f"the {facts} contexts of {n_ctx} tokens out of {d_vocab}, d = 2, d_h = 1, H = {model.n_heads}: "
        "rational weights with exactly the logits of an integer encoder",
        f"{stated(CLAIM, 'printed', **sizes)} parameters, nearly",
        f"{entries} entries",
        Method("exact rationals", Means.EXACT),
        decided(equal),
        compared=(
            Comparison(entries, "=", stated(CLAIM, "exact", **sizes)),
            Comparison(entries + stated(CLAIM, "fewer").whole(), "=", stated(CLAIM, "printed", **sizes)),
            Comparison(stated(CLAIM, "printed", **sizes).value - entries, "=", stated(CLAIM, "fewer")),
            *met(CLAIM, "plane", "full", **shape),
        ),
    )
