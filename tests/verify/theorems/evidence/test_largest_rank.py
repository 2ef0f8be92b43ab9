"""The rank of integer layers from both sides: what is reached, what is allowed, and what is stated agree, or not."""

from dataclasses import replace

import pytest

from constructions.saturated_layers.generic_contexts import generic_layer
from verify.theorems.claims.mahdavi_wide_heads import CLAIM
from verify.theorems.evidence.formula import stated
from verify.theorems.evidence.largest_rank import largest_rank
from verify.verdict import Verdict

LAYER = generic_layer(examples=12, n_ctx=2, d_model=3, n_heads=4, d_head=3)
LARGEST = stated(CLAIM, "generic", T=12, H=4, d=3)


def judged(layer=LAYER, largest=LARGEST, as_said=True):
    return largest_rank(
        "claim", "a layer", "rank 12", "{reached} to {ceiling}", layer=layer, largest=largest, as_said=as_said
    )


def test_a_rank_that_is_reached_and_allowed_is_proved():
    assert judged().verdict is Verdict.PROVED and judged().certified == "12 to 12"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"largest": stated(CLAIM, "capacity", H=4, n=2)}, Verdict.REFUTED),
        ({"layer": replace(LAYER, W_Q=LAYER.W_Q[[0, 0, 1, 2]], W_K=LAYER.W_K[[0, 0, 1, 2]])}, Verdict.REFUTED),
        ({"layer": replace(LAYER, contexts=LAYER.contexts[:1])}, Verdict.REFUTED),
        ({"as_said": False}, Verdict.UNDECIDED),
    ],
)
def test_another_rank_and_another_layer_are_not(changes, verdict):
    assert judged(**changes).verdict is verdict
