"""Kajitsuka and Sato (2025): next tokens by about sqrt(T) parameters, almost independent of the length.

Page: docs/claims/bits.md
"""

from constructions.claims.claim import Claim

CLAIM = Claim(
    id="kajitsuka-sato-2025.next-token",
    title="Next tokens by the square root of the number of sequences",
    source="Kajitsuka, Sato (2025), abstract",
    printed=(
        "Transformers memorize the labels of N sequences of length n with a number of parameters of the order of "
        "sqrt(N) up to logarithms, which is optimal up to logarithms and almost independent of n. For sequences as "
        "answers sqrt(n N) is sufficient, and necessary with hard attention."
    ),
    judgement="holds",
    truth=(
        "For next tokens the number is reached by the network of kim-2023.labels: the length adds S scores, and one "
        "bit of the code for each position where the attention weights are powers of two, so r = [[code: S + b]] bits "
        "at most with values of b bits. From some thousand facts on there are fewer nonzero entries than facts, of "
        "integers whose length grows with the square root too. In a format of b bits no fewer than "
        "[[content: T log K / (b log 2)]] numbers are enough. Sequences as answers, and hard attention, are not judged."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bits.md",
)
