"""The paper's count beside the certified rank, on small sets of every kind and on real text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity import head_counts
from constructions.attention.capacity.generic_rank import generic_rank, generic_ranks
from constructions.attention.capacity.head_counts import capacity, fewest_heads
from constructions.attention.capacity.sub_alphabet import Peeling, peel, verify_upper_bound
from constructions.errors import InputError
from constructions.tasks.arrays import all_contexts
from constructions.tasks.text import default_text, text_task
from tests.constructions.exact_features import XOR, context_sets, exact_features, exact_rank

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5)).map(lambda pair: (max(pair), min(pair)))


def test_the_xor_needs_two_heads_where_the_paper_counts_none():
    result = capacity(XOR, d_model=64, d_head=64)
    assert (result.paper_heads, result.paper_rank) == (0, 4)
    assert (result.rank_lower, result.rank_upper) == (1, 1)
    assert (result.necessary_heads, result.fewest_heads) == (2, 2)
    assert result.heads.ranks.tolist() == [1, 3, 4]
    assert result.ranks_upper.tolist() == [1, 3, 4]
    assert result.heads.witness.rank == 3
    assert result.explanation == "2 heads suffice, and no weights do with fewer"


def test_binary_contexts_with_one_last_token_need_a_number_of_heads_exponential_in_their_length():
    contexts = all_contexts(2, 6)[::2]
    result = capacity(contexts, d_model=100, d_head=100, n_heads=3)
    assert (result.paper_rank, result.paper_heads) == (32, 0)
    assert (result.rank_lower, result.rank_upper) == (1 + 3 * 5, 1 + 3 * 5)
    assert (result.necessary_heads, result.fewest_heads) == (7, 7)  # the least H with 1 + 5 H >= 32


def test_all_contexts_reach_what_the_paper_counts():
    result = capacity(all_contexts(4, 3), d_model=4, d_head=3)
    assert result.paper_heads == result.necessary_heads == result.fewest_heads == 20
    assert result.rank_lower == result.rank_upper == result.paper_rank == 64


def test_heads_alone_need_one_more_than_beside_the_skip_connection():
    result = capacity(all_contexts(4, 2), d_model=4, d_head=4)
    assert (result.fewest_heads, result.fewest_heads_alone) == (3, 4)
    assert result.heads_alone.necessary == 4


def test_contexts_of_one_token_are_memorized_by_the_skip_connection_or_not_at_all():
    result = capacity(np.arange(5)[:, None], d_model=3, d_head=2)
    assert (result.paper_heads, result.paper_rank, result.rank_lower, result.rank_upper) == (1, 5, 3, 3)
    assert result.necessary_heads is None and result.fewest_heads is None and result.fewest_heads_alone is None
    assert result.heads.witness.rank == 3 and result.heads_alone.witness.rank == 3
    assert "one token" in result.explanation
    memorized = capacity(np.arange(3)[:, None], d_model=3, d_head=2)
    assert (memorized.necessary_heads, memorized.fewest_heads, memorized.fewest_heads_alone) == (0, 0, 2)
    assert memorized.explanation == "the skip connection suffices, without any head"


@pytest.mark.parametrize("d_model", [1, 5])
def test_one_context_needs_no_head(d_model):
    result = capacity(np.array([[7, 7, 7]]), d_model=d_model, d_head=1)
    assert (result.paper_heads, result.rank_lower, result.rank_upper, result.fewest_heads) == (0, 1, 1, 0)
    assert (result.fewest_heads_alone, result.heads.witness) == (1, None)


def test_width_one_has_one_dimension_per_head():
    result = capacity(all_contexts(2, 3), d_model=1, d_head=1, n_heads=4)
    assert (result.paper_rank, result.rank_lower, result.rank_upper) == (5, 5, 5)
    assert (result.paper_heads, result.fewest_heads, result.fewest_heads_alone) == (7, 7, 8)


def test_no_heads_leave_the_skip_connection():
    result = capacity(all_contexts(3, 2), d_model=2, d_head=1, n_heads=0)
    assert (result.paper_rank, result.rank_lower, result.rank_upper) == (2, 2, 2)


def test_the_number_of_heads_by_the_paper_is_rounded_up():
    result = capacity(all_contexts(3, 2), d_model=2, d_head=2)
    assert (result.paper_heads, result.n_heads, result.paper_rank) == (4, 4, 9)
    assert capacity(all_contexts(3, 2), d_model=3, d_head=2).paper_heads == 3


def test_a_poor_start_is_made_up_for_by_few_eliminations(monkeypatch):
    monkeypatch.setattr(Peeling, "fewest_heads", lambda self, **sizes: 1)
    told = []
    count = fewest_heads(all_contexts(4, 2), d_model=4, d_head=3, progress=told.append)
    assert (count.necessary, count.sufficient, count.witness.n_heads, count.witness.rank) == (4, 4, 3, 13)
    assert [sentence.split(" contexts ")[1] for sentence in told] == [
        "with 1 heads beside the skip connection",
        "with 4 heads beside the skip connection",
        "with 3 heads",
    ]


def test_both_counts_of_heads_take_one_elimination(monkeypatch):
    drawn, original = [], head_counts.generic_ranks_of_both
    monkeypatch.setattr(head_counts, "generic_ranks_of_both", lambda *a, **o: drawn.append(1) or original(*a, **o))
    monkeypatch.setattr(head_counts, "generic_ranks", lambda *_, **__: pytest.fail("one is enough"))
    found = capacity(all_contexts(4, 2), d_model=4, d_head=3)
    assert (len(drawn), found.fewest_heads, found.fewest_heads_alone) == (1, 4, 6)
    monkeypatch.setattr(Peeling, "fewest_heads", lambda self, **sizes: 1)
    poor = capacity(all_contexts(4, 2), d_model=4, d_head=3)
    assert (poor.fewest_heads, poor.fewest_heads_alone) == (4, 6)


@given(context_sets(lengths=(2, 4), largest=12), sizes)
def test_the_heads_beside_the_skip_connection_and_alone_are_those_that_are_counted_one_by_one(contexts, widths):
    sizes = {"d_model": widths[0], "d_head": widths[1]}
    both = capacity(contexts, **sizes)
    for with_skip, found in ((True, both.heads), (False, both.heads_alone)):
        one = fewest_heads(contexts, **sizes, with_skip=with_skip)
        assert (found.necessary, found.sufficient) == (one.necessary, one.sufficient)
        shared = min(len(found.ranks), len(one.ranks))
        assert (found.ranks[:shared] == one.ranks[:shared]).all()


def test_more_heads_than_needed_keep_full_rank():
    result = capacity(XOR, d_model=4, d_head=2, n_heads=50)
    assert (result.paper_rank, result.rank_lower, result.rank_upper) == (4, 4, 4)


@given(context_sets(lengths=(1, 4), largest=12), sizes, st.integers(0, 4), st.integers(0, 2**31))
def test_the_bounds_bracket_the_rank_and_come_with_their_proofs(contexts, widths, n_heads, seed):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    result = capacity(contexts, **options)
    assert result.rank_lower <= result.rank_upper <= min(len(contexts), result.paper_rank)
    assert result.rank_lower == generic_rank(contexts, **options, seed=1)
    assert verify_upper_bound(contexts, result.upper_witness)
    assert result.upper_witness.rank == result.rank_upper
    if len(contexts) <= 6:
        rng = np.random.default_rng(seed)
        assert exact_rank(exact_features(contexts, rng, **options)) <= result.rank_upper


@given(context_sets(lengths=(1, 4), largest=12), sizes, st.booleans())
def test_the_fewest_heads_suffice_and_one_fewer_is_refuted(contexts, widths, with_skip):
    d_model, d_head = widths
    options = {"d_model": d_model, "d_head": d_head, "with_skip": with_skip}
    count = fewest_heads(contexts, **options)
    if count.necessary is None:
        assert contexts.shape[1] == 1 and count.sufficient is None
        assert count.witness.rank < len(contexts)
        return
    assert count.necessary <= count.sufficient
    assert generic_rank(contexts, **options, n_heads=count.sufficient, seed=2) == len(contexts)
    assert count.ranks[count.sufficient] == len(contexts) and (count.ranks[: count.sufficient] < len(contexts)).all()
    if count.necessary:
        assert (count.witness.n_heads, count.witness.with_skip) == (count.necessary - 1, with_skip)
        assert count.witness.rank < len(contexts) and verify_upper_bound(contexts, count.witness)
    else:
        assert count.witness is None


def test_linear_relations_prove_what_peeling_leaves_open():
    # Four contexts are the XOR of two facts; the fifth, of another last token, belongs to every sub-alphabet.
    contexts = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1]])
    assert peel(contexts).rank_bound(d_model=7, d_head=7, n_heads=1) == 5
    result = capacity(contexts, d_model=7, d_head=7, n_heads=1)
    assert (result.rank_lower, result.rank_upper) == (4, 4)
    assert result.upper_witness.rows.tolist() == [0, 1, 2, 3]
    assert (result.necessary_heads, result.fewest_heads) == (2, 2)


def test_the_bounds_need_not_meet():
    contexts = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]])
    result = capacity(contexts, d_model=4, d_head=4, n_heads=1)
    assert (result.rank_lower, result.rank_upper) == (5, 6)
    assert (result.necessary_heads, result.fewest_heads) == (1, 2)
    assert result.explanation == "2 heads suffice, and no fewer than 1 can"


def test_without_elimination_the_bounds_are_the_universal_ones():
    result = capacity(XOR, d_model=4, d_head=4, n_heads=1, eliminate=False)
    assert (result.rank_lower, result.rank_upper) == (2, 3)
    assert (result.necessary_heads, result.fewest_heads) == (2, None)
    assert "fewer than 2 heads" in result.explanation
    single = capacity(np.arange(4)[:, None], d_model=2, d_head=2, n_heads=9, eliminate=False)
    assert (single.rank_lower, single.rank_upper) == (2, 2)


@given(
    st.integers(1, 9),
    st.integers(1, 12).flatmap(lambda token: st.sets(st.integers(0, 12), min_size=1).map(lambda f: (sorted(f), token))),
    st.tuples(st.integers(1, 6), st.integers(1, 6)).map(lambda pair: (max(pair), min(pair))),
    context_sets(lengths=(2, 4), largest=8),
    st.booleans(),
)
def test_what_theorems_know_is_the_rank_of_an_elimination_without_one(keys, star, widths, others, with_skip):
    firsts, last = star
    star_of_pairs = np.array([[first, last] for first in firsts])
    d_model, d_head = widths
    for contexts, width in ((np.arange(keys)[:, None], d_head), (star_of_pairs, d_head), (others, 1)):
        options = dict(d_model=d_model, d_head=width, with_skip=with_skip)
        found = fewest_heads(contexts, **options, eliminate=False)
        eliminated = generic_ranks(contexts, **options, n_heads=len(found.ranks) - 1)
        assert found.ranks.tolist() == eliminated.tolist()
        assert fewest_heads(contexts, **options).ranks.tolist() == eliminated.tolist()
        assert found.sufficient == found.necessary


def test_two_last_tokens_are_not_taken_for_one():
    loops = np.array([[n, n] for n in range(9)])  # Theorem S2: all differences are one vector
    found = fewest_heads(loops, d_model=3, d_head=3, with_skip=False, eliminate=False)
    assert (
        found.sufficient is None
        and (
            found.ranks <= generic_ranks(loops, d_model=3, d_head=3, n_heads=len(found.ranks) - 1, with_skip=False)
        ).all()
    )


@given(context_sets(lengths=(1, 4), largest=10), st.integers(1, 5), st.booleans())
def test_the_necessary_number_of_heads_takes_no_elimination_where_the_bounds_meet(contexts, d_model, with_skip):
    options = dict(d_model=d_model, d_head=max(1, d_model // 2), with_skip=with_skip)
    quick, full = fewest_heads(contexts, **options, eliminate=False), fewest_heads(contexts, **options)
    assert quick.necessary == full.necessary or full.necessary > quick.necessary
    assert quick.sufficient in (None, full.sufficient)
    shared = min(len(quick.ranks), len(full.ranks))
    assert (quick.ranks[:shared] <= full.ranks[:shared]).all()


def test_progress_is_told_in_sentences():
    told = []
    capacity(XOR, d_model=4, d_head=4, n_heads=1, progress=told.append)
    assert told == [
        "peeling sub-alphabets of 4 contexts",
        "rank of 4 contexts with 2 heads, beside the skip connection and alone",
        "closed forms of 4 contexts with 1 heads",
    ]


@given(context_sets(lengths=(1, 4), largest=12), sizes, st.integers(0, 4))
def test_closed_forms_and_bounds_by_name_fit_the_bracket(contexts, widths, n_heads):
    d_model, d_head = widths
    result = capacity(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    assert result.closed_forms
    for form in result.closed_forms:
        assert form.lower <= result.rank_upper and result.rank_lower <= form.upper
        if form.exact:
            assert form.lower == result.rank_lower
    assert set(result.upper_bounds) == {"peeling", "U1", "U2"} | ({"U1'"} if n_heads else set())
    assert result.rank_upper == min(result.upper_bounds[name].rank for name in ("peeling", "U1", "U2"))
    for name, bound in result.upper_bounds.items():
        assert verify_upper_bound(contexts, bound)
        assert bound.with_skip == (name != "U1'") and bound.rank <= len(contexts)


def test_the_bounds_of_each_kind_come_with_their_sets():
    result = capacity(XOR, d_model=4, d_head=4, n_heads=1)
    assert {name: bound.rank for name, bound in result.upper_bounds.items()} == {
        "peeling": 3,
        "U1": 4,
        "U2": 3,
        "U1'": 4,
    }
    assert result.upper_bounds["U2"].rows.tolist() == [0, 1, 2, 3]
    loops = np.array([[n, n] for n in range(9)])
    alone = capacity(loops, d_model=3, d_head=3, n_heads=3).upper_bounds["U1'"]
    assert (alone.rank, len(alone.rows), alone.dimensions.differences) == (5, 9, 1)


def test_theorems_that_need_a_search_are_left_out_for_many_contexts():
    facts = np.column_stack([np.arange(1100) // 40, np.arange(1100) % 40])
    result = capacity(facts, d_model=2, d_head=1, n_heads=1)
    assert [form.theorem for form in result.closed_forms] == ["Theorem G2", "Theorem S4"]
    assert result.closed_forms[0].exact and result.rank_lower == 3


def test_a_table_of_one_key_has_the_rank_of_the_skip_connection():
    result = capacity(np.arange(3000)[:, None], d_model=64, d_head=64)
    assert (result.rank_lower, result.rank_upper, result.fewest_heads) == (64, 64, None)
    assert [(form.theorem, form.lower, form.exact) for form in result.closed_forms] == [("Theorem S1", 64, True)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 2, "d_head": 3}, "d_head = 3"),
        ({"d_model": 2, "d_head": 0}, "d_head = 0"),
        ({"d_model": 0, "d_head": 0}, "d_model = 0"),
        ({"d_model": 2, "d_head": 2, "n_heads": -1}, "n_heads = -1"),
    ],
)
def test_sizes_of_no_model_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        capacity(XOR, **options)


def test_equal_contexts_are_refused():
    with pytest.raises(InputError, match="distinct"):
        capacity(np.array([[0, 1], [0, 1]]), d_model=2, d_head=1)


def test_on_real_text_the_paper_counts_too_few_heads_and_the_certified_number_is_exact():
    task = text_task(default_text(), facts=256, target="labels")
    result = capacity(task.contexts, d_model=64, d_head=64)
    assert result.paper_heads == 3 and result.paper_rank == 256
    assert result.rank_lower == result.rank_upper < 200
    assert result.necessary_heads == result.fewest_heads > 2 * result.paper_heads
    assert result.heads_alone.necessary == result.fewest_heads_alone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "vocabulary", "context", "d_model", "d_head"),
    [
        ("char", 64, 4, 64, 64),
        ("char", 64, 4, 64, 16),
        ("char", 64, 8, 64, 64),
        ("char", 64, 2, 64, 64),
        ("char", 128, 4, 102, 102),
        ("word", 256, 4, 255, 255),
        ("word", 1000, 2, 999, 999),
        ("word", 1000, 4, 999, 64),
        ("word", 1000, 4, 999, 999),
    ],
)
def test_bounds_meet_on_a_thousand_contexts_of_real_text(unit, vocabulary, context, d_model, d_head):
    task = text_task(default_text(), unit=unit, vocabulary=vocabulary, context=context, facts=1024, target="labels")
    result = capacity(task.contexts, d_model=d_model, d_head=d_head)
    assert result.rank_lower == result.rank_upper < result.paper_rank
    assert result.paper_heads < result.necessary_heads == result.fewest_heads
    assert result.heads_alone.necessary == result.fewest_heads_alone
    assert verify_upper_bound(task.contexts, result.upper_witness)
