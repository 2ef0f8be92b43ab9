"""A rational network with exactly the logits of a random integer encoder."""

from hypothesis import given
from hypothesis import strategies as st

from constructions.heads_of_theorem_1.parameters import paper_heads
from constructions.rational.exact_memory import exact_memory
from verify.forward.in_rationals import exact_network_logits


@given(st.integers(1, 4), st.integers(2, 3), st.data())
def test_all_contexts_are_reached_exactly_with_the_paper_s_number_of_heads(
    tokens: int, n_ctx: int, data: st.DataObject
) -> None:
    if tokens**n_ctx > 16:
        n_ctx = 2
    width = data.draw(st.integers(1, tokens))
    d_head = data.draw(st.integers(1, width))
    seed = data.draw(st.integers(0, 99))
    made = exact_memory(d_vocab=tokens, n_ctx=n_ctx, d_model=width, d_head=d_head, seed=seed)
    assert made.model.n_heads == paper_heads(tokens**n_ctx, width, d_head)
    assert exact_network_logits(made.model, made.contexts) == made.targets
