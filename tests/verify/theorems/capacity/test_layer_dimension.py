"""The dimension of the logits of a layer: the rank of real weights, the rank modulo a prime, and the formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import InputError, ResourceError
from constructions.model.attention import logits
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts
from verify.theorems.capacity import layer_dimension as judge
from verify.theorems.capacity.layer_dimension import dimension_ceiling, dimension_floor

WIDTHS = st.integers(1, 7)


def sizes(d, d_qk, d_head, n_heads):
    return {"d_model": d, "d_qk": d_qk, "d_head": d_head, "n_heads": n_heads}


@given(
    st.sampled_from([(2, 2), (2, 3), (2, 5), (3, 2), (3, 3), (4, 2), (5, 2)]), WIDTHS, WIDTHS, WIDTHS, st.integers(0, 6)
)
def test_no_rank_exceeds_the_formula_and_from_three_tokens_on_they_agree(shape, d, d_qk, d_head, n_heads):
    tokens, n_ctx = shape
    floor = dimension_floor(all_contexts(tokens, n_ctx), **sizes(d, d_qk, d_head, n_heads))
    ceiling = dimension_ceiling(tokens, n_ctx, **sizes(d, d_qk, d_head, n_heads))
    assert floor <= ceiling
    left_open = n_ctx == 2 and d >= tokens and d_qk == tokens - 1 <= d_head
    assert floor == ceiling or tokens == 2 or left_open


@pytest.mark.parametrize(
    ("tokens", "n_ctx", "widths", "dimension"),
    [
        (9, 2, (1, 2, 6, 4), 25),
        (5, 3, (4, 8, 6, 1), 60),
        (4, 2, (4, 4, 2, 1), 37),
        (6, 2, (6, 6, 5, 2), 158),
        (3, 2, (1, 1, 1, 0), 4),
    ],
)
def test_shapes_in_which_gauges_do_not_act_or_are_more_than_they_seem(tokens, n_ctx, widths, dimension):
    assert dimension_floor(all_contexts(tokens, n_ctx), **sizes(*widths)) == dimension
    assert dimension_ceiling(tokens, n_ctx, **sizes(*widths)) == dimension


@pytest.mark.parametrize("d", [1, 2])
def test_numbers_as_inputs_have_scores_with_a_relation(d):
    by_pair, by_place = judge._exponentials(4, 3, d, np.random.default_rng(0))
    square = by_pair * by_place[:, -1:] % judge.PRIME  # of e_c e_n + e_n p_S + e_c p_S for d = 1
    assert (square == square.T).all() == (d == 1)
    assert by_place.shape == (4, 3) and by_pair.min() > 0


def test_many_heads_reach_everything_and_the_formula_says_no_less():
    assert dimension_floor(all_contexts(2, 2), **sizes(2, 2, 1, 13)) == 4
    assert dimension_ceiling(2, 2, **sizes(2, 2, 1, 13)) == 4


@pytest.mark.parametrize(
    ("tokens", "n_ctx", "widths"),
    [(3, 2, (2, 1, 1, 1)), (3, 3, (3, 2, 1, 1)), (4, 2, (2, 2, 2, 2)), (2, 4, (3, 2, 1, 1))],
)
def test_the_rank_modulo_a_prime_is_that_of_a_network_of_real_weights(tokens, n_ctx, widths):
    d, d_qk, d_head, n_heads = widths
    contexts = all_contexts(tokens, n_ctx)
    shapes = {
        "W_E": (tokens, d), "W_pos": (n_ctx, d), "W_Q": (n_heads, d, d_qk), "W_K": (n_heads, d, d_qk),
        "W_V": (n_heads, d, d_head), "W_O": (n_heads, d_head, d), "W_U": (d, tokens),
    }  # fmt: skip
    rng = np.random.default_rng(0)
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
    weights = rng.standard_normal(ends[-1])

    def centred(entries):
        parts = np.split(entries, ends[:-1])
        z = logits(
            dana_network(**{name: part.reshape(shapes[name]) for name, part in zip(shapes, parts, strict=True)}),
            contexts,
        )
        return (z - z.mean(axis=1, keepdims=True)).ravel()

    step = 1e-5
    jacobian = [
        (centred(weights + step * one) - centred(weights - step * one)) / (2 * step) for one in np.eye(ends[-1])
    ]
    values = np.linalg.svd(np.array(jacobian), compute_uv=False)
    rank = dimension_floor(contexts, **sizes(*widths))
    assert values[rank - 1] > 1e3 * values[rank] if rank < len(values) else True
    assert (values > 1e-7 * values[0]).sum() == rank


def test_fewer_contexts_have_no_more_dimensions():
    contexts = all_contexts(3, 3)
    ranks = [dimension_floor(np.vstack([contexts[-1:], contexts[:size]]), **sizes(2, 2, 2, 2)) for size in (5, 15, 26)]
    assert ranks == sorted(ranks) and ranks[-1] == dimension_ceiling(3, 3, **sizes(2, 2, 2, 2))


def test_one_token_has_no_dimensions():
    assert dimension_floor(np.zeros((1, 3), dtype=np.int64), **sizes(2, 1, 1, 1)) == 0
    assert dimension_ceiling(1, 3, **sizes(2, 1, 1, 1)) == 0


def test_sizes_that_fit_no_model_are_refused():
    with pytest.raises(InputError, match="n_ctx = 1"):
        dimension_ceiling(3, 1, **sizes(1, 1, 1, 1))
    with pytest.raises(InputError, match="d_qk = 0"):
        dimension_floor(all_contexts(2, 2), **sizes(1, 0, 1, 1))
    with pytest.raises(InputError, match="n_heads = -1"):
        dimension_ceiling(3, 2, **sizes(1, 1, 1, -1))
    with pytest.raises(ResourceError, match="2\\^25"):
        dimension_floor(all_contexts(4, 5), **sizes(64, 64, 64, 64))


@given(st.integers(0, 2**32))
def test_no_set_of_contexts_has_a_rank_above_its_bound(seed):
    rng = np.random.default_rng(seed)
    tokens, n_ctx = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    everything = all_contexts(tokens, n_ctx)
    chosen = everything[np.sort(rng.permutation(len(everything))[: int(rng.integers(1, 25))])]
    d_model, d_qk, d_head, n_heads = (int(rng.integers(1, most)) for most in (6, 4, 4, 4))
    sizes = {"d_model": d_model, "d_qk": d_qk, "d_head": d_head, "n_heads": n_heads}
    ceiling = dimension_ceiling(tokens, n_ctx, **sizes, contexts=chosen)
    assert dimension_floor(chosen, **sizes) <= ceiling <= dimension_ceiling(tokens, n_ctx, **sizes)


def test_the_bound_of_a_set_of_contexts_counts_its_last_tokens_and_is_not_always_reached():
    contexts, sizes = all_contexts(3, 3), {"d_model": 3, "d_qk": 2, "d_head": 1, "n_heads": 1}
    some = contexts[contexts[:, -1] == 2]
    assert (dimension_floor(some, **sizes), dimension_ceiling(3, 3, **sizes, contexts=some)) == (9, 11)
    wide = {"d_model": 3, "d_qk": 2, "d_head": 2, "n_heads": 4}
    assert dimension_floor(some, **wide) == dimension_ceiling(3, 3, **wide, contexts=some) == 18
    assert dimension_ceiling(3, 3, **sizes, contexts=contexts) == dimension_ceiling(3, 3, **sizes)
    with pytest.raises(InputError, match="contexts"):
        dimension_ceiling(2, 3, **sizes, contexts=contexts)
