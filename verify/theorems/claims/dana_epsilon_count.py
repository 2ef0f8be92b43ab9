r"""Section 6 of Dana et al.: the number of parameters of heads that simulate neurons approximately.

Page: docs/claims/gated_heads.md
"""

from collections.abc import Iterator
from fractions import Fraction
from math import log

from constructions.rational.two_layers import two_layers
from constructions.tasks.random_facts import random_facts
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, stated

CLAIM = Claim(
    id="dana.epsilon-count",
    title="Heads in place of neurons, approximately",
    source="Dana, Pydi, Chevaleyre (2024), section 6, with Theorem 2 of Bubeck et al. (2020)",
    kind="summary",
    quotation=(
        r"the number of parameters could be competitive using "
        r"$O\left(\log\left(\frac{1}{\varepsilon}\right)\frac{T_\varepsilon\log(T_\varepsilon)}{O(\log\left(\f"
        r"rac{d}{\log(T_\varepsilon)}\right))}(1+\frac{S}{d})+(d+S)(S+N)\right)$ "
        r"to have an ε-approximation."
    ),
    printed=(
        "Heads that simulate the neurons of the approximate memory of Bubeck et al. have, up to constants, "
        "[[printed: log(1 / epsilon) T log T (1 + S / d) / log(d / log T) + (d + S) (S + N)]] parameters for an "
        "epsilon-approximation of T associations."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the theorem of Bubeck et al. was not at hand, and the constants are not stated. For labels it is "
        "not needed: with [[entries: 6 N + 3 S + 18 T + 3]] entries they are exact, a number without logarithms and "
        "without epsilon."
    ),
    page="docs/claims/gated_heads.md",
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, facts in ((6, 5, 20), (8, 4, 64), *(((12, 4, 300),) if full else ())):
        yield _exact(d_vocab, n_ctx, facts)


def _exact(d_vocab: int, n_ctx: int, facts: int) -> Evidence:
    task = random_facts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=0)
    model = two_layers(task.contexts, task.labels, d_vocab=d_vocab)
    entries = sum(tensor.size for tensor in model.tensors().values())
    sizes, width = {"N": d_vocab, "S": n_ctx, "T": facts}, 3 * facts
    printed = stated(CLAIM, "printed", **sizes, d=width, epsilon=Fraction(1, 2**20))
    # The same in floats, in another order of operations.
    plain = (width + n_ctx) * (n_ctx + d_vocab + log(2**20) * facts * log(facts) / log(width / log(facts)) / width)
    return Evidence(
        "part",
        f"{facts} contexts of {n_ctx} tokens out of {d_vocab}, labels exact: entries of two layers of attention, "
        f"beside the count for epsilon = 2^-20 and d = {width} with all constants one",
        f"fewer than {printed}",
        f"{entries} entries",
        Method("counting", Means.EXACT),
        compared=(
            Comparison(entries, "=", stated(CLAIM, "entries", **sizes)),
            Comparison(entries, "<", printed),
            Comparison(plain, "agrees with", printed),
        ),
    )
