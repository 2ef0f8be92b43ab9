"""Heads as wide as the stream, made of wider and of narrower ones."""

from constructions.claims.dana_head_width import folded
from constructions.features.embeddings import integer_front_end
from constructions.models.exact_attention import exact_logits
from constructions.models.exact_network import as_rationals, exact_network
from constructions.tasks.arrays import all_contexts


def test_narrow_heads_are_folded_too() -> None:
    front_end = integer_front_end("full", d_vocab=3, n_ctx=2, d_model=3, n_heads=2, d_head=2, seed=4)
    outputs = (as_rationals([[1, 2, 3], [4, 5, 7]]), as_rationals([[0, 1, 0], [2, 0, 5]]))
    network = exact_network(front_end, outputs, as_rationals([[1, 0, 2], [0, 1, 3], [1, 1, 1]]))
    found = folded(network)
    assert found.d_head == 3
    assert exact_logits(found, all_contexts(3, 2)) == exact_logits(network, all_contexts(3, 2))
