"""The recipes for attention: what they promise about their entries, and the rank of their features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.head_counts import fewest_heads
from constructions.attention.families import (
    FRONT_ENDS,
    base_two_attention,
    fitting_attention,
    fitting_recipe,
    named_recipe,
    query_dimension,
    random_attention,
    shared_rank_one_attention,
    table_attention,
)
from constructions.errors import HypothesisError, InputError
from constructions.model.attention import features

KINDS = [kind for kind in FRONT_ENDS if kind != "auto"]
SHAPE = dict(d_vocab=6, n_ctx=3, d_model=9, n_heads=5, d_head=3)


def tensors(weights):
    return {name: getattr(weights, name) for name in ("W_E", "W_pos", "W_Q", "W_K", "W_V")}


def distinct_contexts(count, n_ctx, vocabulary, seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(vocabulary**n_ctx, count, replace=False)
    return np.stack(np.unravel_index(codes, (vocabulary,) * n_ctx), axis=1).astype(np.int64)


def is_bfloat16(array):
    narrow = array.astype(np.float32)
    return (narrow.astype(np.float64) == array).all() and not (narrow.view(np.uint32) & 0xFFFF).any()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "base2"])
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_every_entry_is_exact_in_bfloat16(kind, seed, d_model):
    d_model = max(d_model, 9) if kind == "table" else d_model
    weights = FRONT_ENDS[kind](**{**SHAPE, "d_model": d_model, "d_head": min(3, d_model)}, seed=seed)
    assert all(is_bfloat16(tensor) for tensor in tensors(weights).values())


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_are_those_asked_for(kind):
    weights = FRONT_ENDS[kind](**SHAPE, seed=0)
    d_qk = query_dimension(FRONT_ENDS[kind], **SHAPE)
    assert {name: tensor.shape for name, tensor in tensors(weights).items()} == {
        "W_E": (6, 9),
        "W_pos": (3, 9),
        "W_Q": (5, 9, d_qk),
        "W_K": (5, 9, d_qk),
        "W_V": (5, 9, 3),
    }
    assert weights.kind == kind
    assert all(tensor.dtype == np.float64 and np.isfinite(tensor).all() for tensor in tensors(weights).values())


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_bits_and_others_do_not(kind):
    one, same, other = (FRONT_ENDS[kind](**SHAPE, seed=seed) for seed in (7, 7, (7, 1)))
    assert all(np.array_equal(tensors(one)[name], tensors(same)[name]) for name in tensors(one))
    assert not np.array_equal(one.W_V, other.W_V)


@given(st.integers(0, 2**32), st.integers(1, 8))
def test_base_two_scores_are_integers_times_the_logarithm_of_two(seed, d_model):
    weights = base_two_attention(**{**SHAPE, "d_model": d_model, "d_head": 1}, seed=seed)
    vectors = (weights.W_E[:, None] + weights.W_pos).reshape(-1, d_model)
    tables = weights.W_Q / np.log(2)
    assert np.array_equal(vectors, np.rint(vectors)) and np.abs(tables - np.rint(tables)).max() < 1e-12
    assert all(np.array_equal(matrix, np.eye(d_model)) for matrix in weights.W_K)
    assert (np.abs(np.rint(tables)).max(axis=(1, 2)) >= 1).all()
    if d_model > 1:
        assert len(np.unique(vectors, axis=0)) == len(vectors)


def test_the_table_reads_scores_off_signs():
    weights = table_attention(**SHAPE, seed=3, scale=2.0)
    assert np.array_equal(weights.W_E, np.eye(6, 9)) and np.array_equal(weights.W_pos, np.eye(3, 9, 6) / 2)
    assert np.array_equal(np.abs(weights.W_Q), np.full((5, 9, 9), 2.0))
    assert np.array_equal(np.abs(weights.W_V), np.ones((5, 9, 3)))


@pytest.mark.parametrize("kind", ["random", "base2", "rank-one", "shared-rank-one"])
def test_values_are_orthonormal_up_to_their_rounding(kind):
    values = FRONT_ENDS[kind](**SHAPE, seed=1).W_V
    assert np.abs(np.swapaxes(values, 1, 2) @ values - np.eye(3)).max() < 2.0**-6


@pytest.mark.parametrize("d_model", [1, 9])
def test_the_shared_rank_one_maps_differ_by_a_factor_only(d_model):
    weights = shared_rank_one_attention(**{**SHAPE, "d_model": d_model, "d_head": 1}, seed=3)
    products = np.einsum("hiq,hjq->hij", weights.W_Q, weights.W_K)
    factors = products.reshape(5, -1)[:, np.abs(products[0]).argmax()]
    assert np.array_equal(products, factors[:, None, None] * (products[0] / factors[0]))
    assert len(set(factors)) == 5 and (factors > 0).any() and (factors < 0).any()


@pytest.mark.parametrize("kind", ["random", "rank-one"])
@pytest.mark.parametrize("d_model", [4, 64])
@pytest.mark.parametrize("scale", [5.0, 40.0])
def test_scores_are_as_large_as_the_scale_says(kind, d_model, scale):
    weights = FRONT_ENDS[kind](d_vocab=64, n_ctx=8, d_model=d_model, n_heads=64, d_head=4, seed=0, scale=scale)
    x = (weights.W_E[:, None] + weights.W_pos).reshape(-1, d_model)
    scores = np.einsum("ti,hiq,sj,hjq->hts", x[::8], weights.W_Q, x[::8], weights.W_K, optimize=True)
    assert 0.7 * scale < scores.std() < 1.4 * scale


@pytest.mark.parametrize("kind", ["table", "random", "base2", "rank-one", "shared-rank-one"])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 24), d_head=st.integers(1, 3))
def test_features_have_full_rank_where_the_theory_says_and_nowhere_else(kind, seed, count, d_head):
    contexts = distinct_contexts(count, 3, 4, seed)
    needed = fewest_heads(contexts, d_model=7, d_head=d_head, with_skip=False)
    shape = dict(d_vocab=4, n_ctx=3, d_model=7, d_head=d_head)

    def values(n_heads, draw):
        weights = FRONT_ENDS[kind](**shape, n_heads=n_heads, seed=(seed, draw))
        return np.linalg.svd(features(weights, contexts), compute_uv=False)

    if needed.necessary > 1:
        for draw in range(3):
            assert (values(needed.necessary - 1, draw) > 1e-12).sum() < count
    # Sums of signs vanish with a probability that more heads drive to zero; a second draw is the builder's remedy too.
    assert any(values(2 * needed.sufficient + 4, draw)[count - 1] > 1e-9 for draw in range(3))


@pytest.mark.parametrize(
    ("kind", "d_model", "d_head"),
    [("table", 20, 5), ("random", 16, 4), ("base2", 16, 4), ("rank-one", 16, 4), ("random", 3, 3)],
)
def test_a_quarter_more_heads_make_a_good_condition(kind, d_model, d_head):
    contexts = distinct_contexts(256, 4, 16, 0)
    weights = FRONT_ENDS[kind](d_vocab=16, n_ctx=4, d_model=d_model, n_heads=320 // d_head + 1, d_head=d_head, seed=0)
    values = np.linalg.svd(features(weights, contexts), compute_uv=False)
    assert values[0] / values[-1] < 1000


def test_few_dimensions_need_hard_attention():
    contexts = distinct_contexts(256, 4, 16, 0)

    def condition(scale):
        shape = dict(d_vocab=16, n_ctx=4, d_model=2, n_heads=161, d_head=2)
        values = np.linalg.svd(features(random_attention(**shape, seed=0, scale=scale), contexts), compute_uv=False)
        return values[0] / values[-1]

    assert 3 * condition(None) < condition(5.0)


def test_the_table_is_taken_where_it_fits():
    shape = dict(d_vocab=6, n_ctx=3, n_heads=2)
    assert fitting_recipe(**shape, d_model=9) is table_attention
    assert fitting_recipe(**shape, d_model=8) is random_attention
    assert fitting_recipe(d_vocab=4000, n_ctx=3, n_heads=2, d_model=4096) is random_attention  # 2 x 128 MiB
    for d_model, expected in ((9, table_attention), (8, random_attention)):
        sizes = {**shape, "d_model": d_model, "d_head": 2}
        drawn, wanted = (recipe(**sizes, seed=5) for recipe in (fitting_attention, expected))
        assert all(np.array_equal(tensors(drawn)[name], tensors(wanted)[name]) for name in tensors(drawn))
        assert drawn.W_Q.shape[2] == query_dimension(fitting_attention, **sizes)


def test_names_that_are_none_are_refused():
    with pytest.raises(InputError, match="front_end = 'gaussian', expected one of auto, table"):
        named_recipe("gaussian")
    assert [named_recipe(name) for name in FRONT_ENDS] == list(FRONT_ENDS.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(d_vocab=0), "d_vocab = 0"),
        (dict(n_ctx=0), "n_ctx = 0"),
        (dict(d_model=0), "d_model = 0"),
        (dict(n_heads=0), "n_heads = 0"),
        (dict(d_head=0), "d_head = 0"),
        (dict(d_head=10), "d_head = 10, expected at most d_model = 9"),
        (dict(scale=0.0), "scale = 0.0"),
        (dict(scale=-1.0), "scale = -1.0"),
        (dict(scale=float("nan")), "scale = nan"),
        (dict(scale=float("inf")), "scale = inf"),
    ],
)
def test_arguments_out_of_range_are_named(kind, arguments, message):
    with pytest.raises(InputError, match=message):
        FRONT_ENDS[kind](**{**SHAPE, "seed": 0, **arguments})


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(HypothesisError, match=r"d_model >= N \+ S = 9 .* d_model = 8"):
        table_attention(**{**SHAPE, "d_model": 8}, seed=0)
