"""Whole memories: every context is memorized, on every route, for every front end and target."""

import tracemalloc
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.attention.capacity.head_counts import fewest_heads
from constructions.attention.families import FRONT_ENDS, random_attention, rank_one_attention, table_attention
from constructions.encoders import association_memory
from constructions.encoders.one_head_optimum import exclusive_or_contexts
from constructions.encoders.sequence_encoder import best_encoder
from constructions.errors import ByheartError, CapacityError, HypothesisError, InputError, ResourceError
from constructions.heads_of_theorem_1 import memory as module
from constructions.heads_of_theorem_1.memory import (
    build_memory,
    default_heads,
    dimensions,
    estimate_bytes,
    fewest_parameters,
    theorem_1,
)
from constructions.model.attention import features, logits
from constructions.model.shapes import dana_tensors
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Counts, make_task
from constructions.tasks.text import default_text, text_task

KINDS = [kind for kind in FRONT_ENDS if kind != "auto"]


def random_task(*, target="distributions", facts=12, tail=0, n_ctx=3, vocabulary=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice(vocabulary**n_ctx, facts + tail, replace=False)
    contexts = np.stack(np.unravel_index(codes, (vocabulary,) * n_ctx), axis=1).astype(np.int64)
    rows = [
        {
            int(token): int(rng.integers(1, 50))
            for token in rng.choice(vocabulary, rng.integers(1, vocabulary + 1), replace=False)
        }
        for _ in contexts
    ]
    names = tuple(f"t{i}" for i in range(vocabulary))
    return make_task(contexts, Counts.from_rows(rows), vocabulary=names, target=target, facts=facts)


def deviation(network, task):
    """Distance of the logits from the target: for distributions up to a shift, for labels what the margin lacks."""
    found = logits(network, task.contexts)
    if task.distributions is not None:
        return np.ptp(found - np.log(task.distributions), axis=1).max()
    own = found[np.arange(len(found)), task.labels].copy()
    found[np.arange(len(found)), task.labels] = -np.inf
    others = found.max(axis=1) if found.shape[1] > 1 else np.full(len(found), -np.inf)
    return max(0.0, np.log(task.d_vocab) + 34 - (own - others).min())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["distributions", "labels"])
@given(
    facts=st.integers(1, 20),
    n_ctx=st.integers(2, 3),
    d_head=st.integers(1, 4),
    more=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_every_front_end_holds_every_context(kind, target, facts, n_ctx, d_head, more, seed):
    assume(facts <= 4**n_ctx)
    task = random_task(target=target, facts=facts, n_ctx=n_ctx, seed=seed)
    d_model = 4 + n_ctx + more
    needed = fewest_heads(task.contexts, d_model=d_model, d_head=d_head, with_skip=False).sufficient
    built = build_memory(
        task,
        d_model=d_model,
        d_head=d_head,
        n_heads=default_heads(needed, facts, d_head, "none") + 2,
        front_end=FRONT_ENDS[kind],
        seed=seed,
    )
    assert built.route == "heads" and built.front_end == kind
    assert built.residual < 1e-7 and deviation(built.model, task) < 1e-6


@pytest.mark.parametrize("target", ["distributions", "labels"])
@given(facts=st.integers(1, 40), d_model=st.integers(3, 9), d_head=st.integers(1, 3), seed=st.integers(0, 2**32))
def test_the_fewest_heads_suffice_with_the_help_of_the_skip_connection(target, facts, d_model, d_head, seed):
    task = random_task(target=target, facts=facts, seed=seed)
    needed = max(1, fewest_heads(task.contexts, d_model=d_model, d_head=d_head).sufficient)
    built = build_memory(task, d_model=d_model, d_head=d_head, n_heads=needed, front_end=random_attention, seed=seed)
    assert deviation(built.model, task) < 1e-4


def loops_with_one_label():
    # On loops all x_s - x_S are two vectors: two heads of width 3 read 5 dimensions, and with x_S there are 7 = rank.
    # One label for all loops gives back one dimension only, so rank [E, Y] <= 6 + 2 < 9.
    contexts = np.array([[n, n, n] for n in range(7)] + [[0, 1, 2], [1, 2, 0]])
    labels = [0] * 7 + [1, 2]
    counts = Counts.from_rows([{label: 20 - i} for i, label in enumerate(labels)])
    return make_task(contexts, counts, vocabulary=tuple("abcdefg"), target="labels")


def test_labels_whose_change_of_basis_is_singular_are_moved_into_general_position():
    built = build_memory(loops_with_one_label(), d_model=3, d_head=3, n_heads=2)
    assert built.route == "skip connection" and deviation(built.model, loops_with_one_label()) == 0


def test_without_general_position_they_would_be_out_of_reach(monkeypatch):
    monkeypatch.setattr(association_memory, "in_general_position", lambda W_U, stream, *, seed: stream)
    with pytest.raises(CapacityError):
        build_memory(loops_with_one_label(), d_model=3, d_head=3, n_heads=2)


def test_one_head_fewer_than_the_contexts_need_is_refused_and_the_number_is_named():
    task = random_task(facts=40)
    needed = fewest_heads(task.contexts, d_model=4, d_head=2).sufficient
    built = build_memory(task, d_model=4, d_head=2, n_heads=needed, seed=1)
    assert built.route == "skip connection" and deviation(built.model, task) < 1e-8
    with pytest.raises(CapacityError, match=f"T = 40, but n_heads = {needed - 1} .* {needed} heads suffice") as error:
        build_memory(task, d_model=4, d_head=2, n_heads=needed - 1, fewest_heads=needed)
    assert error.value.fewest_heads == needed


def test_xor_needs_its_second_head_however_wide_they_are():
    contexts = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    counts = Counts.from_rows([{0: 9}, {0: 8}, {1: 7}, {1: 6}])
    task = make_task(contexts, counts, vocabulary=("0", "1"), target="labels")
    with pytest.raises(CapacityError):
        build_memory(task, d_model=8, d_head=8, n_heads=1)
    assert deviation(build_memory(task, d_model=8, d_head=8, n_heads=2).model, task) == 0


@pytest.mark.parametrize("target", ["distributions", "labels"])
@pytest.mark.parametrize("n_heads", [1, 12])
def test_more_single_tokens_than_dimensions_are_memorized_by_their_embeddings(target, n_heads):
    task = random_task(target=target, facts=8, n_ctx=1, tail=1, vocabulary=9)
    if target == "distributions":
        task = random_task(target=target, facts=9, n_ctx=1, vocabulary=9)
    built = build_memory(task, d_model=8 if target == "distributions" else 5, d_head=1, n_heads=n_heads, tail="fit")
    assert built.route == "embedding" and built.tail is None
    assert deviation(built.model, task) < 1e-13


def test_distinct_last_tokens_need_no_head():
    contexts = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 2], [2, 2, 3]])
    task = make_task(contexts, Counts.from_rows([{0: 5, 1: 1}, {1: 4}, {2: 3}, {3: 2}]), vocabulary=tuple("abcd"))
    built = build_memory(task, d_model=3, d_head=1, n_heads=1)
    assert built.route == "embedding" and deviation(built.model, task) < 1e-13


@pytest.mark.parametrize("target", ["distributions", "labels"])
@pytest.mark.parametrize("n_ctx", [1, 2, 3])
def test_two_tokens_in_one_dimension(target, n_ctx):
    task = random_task(target=target, facts=2**n_ctx, n_ctx=n_ctx, vocabulary=2)
    built = build_memory(task, d_model=1, d_head=1, n_heads=2 * 2**n_ctx)
    assert deviation(built.model, task) < 1e-6


@pytest.mark.parametrize("target", ["distributions", "labels"])
@pytest.mark.parametrize(("vocabulary", "d_model"), [(1, 1), (1, 4), (2, 1), (5, 4), (5, 9)])
def test_one_context(target, vocabulary, d_model):
    task = random_task(target=target, facts=1, n_ctx=2, vocabulary=vocabulary)
    built = build_memory(task, d_model=d_model, d_head=1, n_heads=1)
    assert deviation(built.model, task) < 1e-10


def test_labels_over_a_large_vocabulary_do_not_cost_memory():
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 50_000, (300, 4))
    labels = rng.integers(0, 50_000, 300)
    counts = Counts.from_rows([{int(label): 1} for label in labels])
    names = tuple(map(str, range(50_000)))
    task = make_task(contexts, counts, vocabulary=names, target="labels")
    built = build_memory(task, d_model=16, d_head=16, n_heads=24)
    assert built.model.W_U.shape == (16, 50_000)
    assert deviation(built.model, task) == 0


@given(st.integers(0, 2**32))
def test_the_tail_is_fitted_and_the_memorized_contexts_stay_exact(seed):
    task = random_task(facts=10, tail=30, seed=seed)
    plain, fitted = (build_memory(task, d_model=7, d_head=2, n_heads=18, tail=tail, seed=1) for tail in ("none", "fit"))
    assert deviation(fitted.model, task) < 1e-9
    assert fitted.tail.cross_entropy[1] < fitted.tail.cross_entropy[0]
    counts = task.tail_counts.dense(0, 30, 4)

    def cross_entropy(network):
        found = logits(network, task.tail_contexts)
        return -(counts * (found - np.logaddexp.reduce(found, axis=1)[:, None])).sum() / counts.sum()

    assert cross_entropy(plain.model) == pytest.approx(fitted.tail.cross_entropy[0], rel=1e-3)
    assert cross_entropy(fitted.model) == pytest.approx(fitted.tail.cross_entropy[1], rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_after_the_fit_the_memorized_contexts_are_refined_to_rounding_level(seed):
    task = random_task(facts=40, tail=20, seed=seed)
    built = build_memory(task, d_model=4, d_head=2, n_heads=21, front_end=rank_one_attention, tail="fit", seed=seed)
    assert built.tail is not None and built.residual < 3e-13


def test_the_tail_of_labels_is_fitted_too():
    task = random_task(target="labels", facts=10, tail=30)
    built = build_memory(task, d_model=7, d_head=2, n_heads=18, tail="fit")
    assert built.tail.cross_entropy[1] < built.tail.cross_entropy[0]
    assert deviation(built.model, task) < 1e-10


def test_a_task_without_a_tail_has_nothing_to_fit():
    assert build_memory(random_task(), d_model=7, d_head=2, n_heads=9, tail="fit").tail is None


def test_a_tail_without_room_is_refused():
    task = random_task(facts=30, tail=5)
    with pytest.raises(CapacityError, match="room left for the tail, but n_heads = 13 with d_head = 2"):
        build_memory(task, d_model=7, d_head=2, n_heads=13, tail="fit")
    assert build_memory(task, d_model=7, d_head=2, n_heads=13, tail="none").route == "skip connection"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tail", ["none", "fit"])
def test_equal_seeds_give_equal_bits(kind, tail):
    task = random_task(facts=12, tail=6)
    arguments = dict(d_model=7, d_head=3, n_heads=10, front_end=FRONT_ENDS[kind], tail=tail)
    one, same, other = (build_memory(task, **arguments, seed=seed).model.sha256() for seed in (5, 5, 6))
    assert one == same != other


def test_of_several_draws_the_best_conditioned_is_taken(monkeypatch):
    monkeypatch.setattr(module, "_GOOD_CONDITION", 0.0)
    task = random_task(facts=12)
    built = build_memory(task, d_model=7, d_head=2, n_heads=6, front_end=random_attention, seed=4)
    conditions = []
    for attempt in range(8):
        shape = dict(d_vocab=4, n_ctx=3, d_model=7, n_heads=6, d_head=2)
        weights = random_attention(**shape, seed=4 if attempt == 0 else (4, attempt))
        conditions.append(np.linalg.cond(features(weights, task.contexts)))
    assert built.condition == pytest.approx(min(conditions), rel=1e-6)
    assert built.attempt == np.argmin(conditions) != 0


def test_a_good_draw_is_taken_at_once():
    assert build_memory(random_task(facts=12), d_model=7, d_head=2, n_heads=12, front_end=random_attention).attempt == 0


@pytest.mark.parametrize("route", ["heads", "skip connection"])
def test_the_logits_of_one_context_lie_where_balls_of_200_bits_say(route):
    task = random_task(facts=20)
    network = build_memory(task, d_model=7, d_head=2, n_heads=14 if route == "heads" else 8).model
    context = task.contexts[3].tolist()
    with flint.ctx.workprec(200):
        matrix = {
            name: flint.arb_mat(tensor.tolist()) for name, tensor in dana_tensors(network).items() if tensor.ndim == 2
        }
        x = [
            flint.arb_mat([[matrix["W_E"][n, i] + matrix["W_pos"][s, i] for i in range(7)]])
            for s, n in enumerate(context)
        ]
        stream = x[-1]
        for h in range(network.n_heads):
            W_Q, W_K, W_V, W_O = (
                flint.arb_mat(getattr(network, name)[h].tolist()) for name in ("W_Q", "W_K", "W_V", "W_O")
            )
            powers = [((x[-1] * W_Q) * (y * W_K).transpose())[0, 0].exp() for y in x]
            total = sum(powers, flint.arb(0))
            for power, y in zip(powers, x, strict=True):
                stream = stream + (y * W_V * W_O) * (power / total)
        balls = (stream * matrix["W_U"]).entries()
        for value, ball, distribution in zip(
            logits(network, task.contexts)[3], balls, task.distributions[3], strict=True
        ):
            assert abs(ball - flint.arb(float(value))) < 1e-11
            assert (
                abs(
                    ball
                    - balls[0]
                    - (flint.arb(float(distribution)) / flint.arb(float(task.distributions[3, 0]))).log()
                )
                < 1e-9
            )


def test_stages_are_reported_and_timed():
    seen = []
    built = build_memory(
        random_task(facts=10, tail=5),
        d_model=7,
        d_head=2,
        n_heads=12,
        tail="fit",
        progress=lambda *values: seen.append(values),
    )
    assert [stage for stage, _, _ in seen if stage != "tail"] == ["targets", "features", "solve", "solve"]
    assert any(detail.startswith("step 1 of at most 50: ") for stage, _, detail in seen if stage == "tail")
    assert set(built.seconds) == {"targets", "features", "solve", "tail"}
    assert all(seconds >= 0 for seconds in built.seconds.values())


def test_an_interrupt_of_the_tail_keeps_what_there_is_and_says_so():
    def interrupted(stage, share, detail):
        if stage == "tail" and share is not None and share >= 2 / 50:
            raise KeyboardInterrupt

    task = text_task(default_text()[:3000], context=2, vocabulary=6, facts=12, target="distributions")
    part = theorem_1(task, tail="fit", progress=interrupted)
    whole = theorem_1(task, tail="fit")
    assert part.built.tail.iterations == 2 and not part.built.tail.complete
    assert part.summary.endswith("; interrupted at step 2 of the tail") and "interrupted" not in whole.summary
    assert part.built.residual < 1e-9


def test_an_interrupt_is_not_swallowed():
    def interrupted(stage, share, detail):
        if stage == "solve":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_memory(random_task(), d_model=7, d_head=2, n_heads=9, progress=interrupted)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (dict(d_model=0), InputError, "d_model = 0"),
        (dict(d_head=0), InputError, "d_head = 0"),
        (dict(n_heads=0), InputError, "n_heads = 0"),
        (dict(seed=-1), InputError, "seed = -1, expected at least 0"),
        (dict(d_head=8), InputError, "d_head = 8, expected at most d_model = 7"),
        (
            dict(front_end="tables"),
            InputError,
            "front_end = 'tables', expected a function such as constructions.table_attention",
        ),
        (dict(tail="fitted"), InputError, "tail = 'fitted', expected one of none, fit"),
        (dict(d_model=6, front_end=table_attention), HypothesisError, "N \\+ S = 7"),
        (dict(n_heads=1), CapacityError, "T = 12, but n_heads = 1 with d_head = 2 and d_model = 7"),
    ],
)
def test_bad_arguments_are_named(arguments, kind, message):
    with pytest.raises(kind, match=message) as error:
        build_memory(random_task(), **{**dict(d_model=7, d_head=2, n_heads=9), **arguments})
    assert isinstance(error.value, ByheartError)


@pytest.mark.parametrize("n_heads", [9, 5])
def test_distributions_that_do_not_fit_are_memorized_as_well_as_their_best_encoder(n_heads):
    task = random_task()
    built = build_memory(task, d_model=2, d_head=2, n_heads=n_heads)
    assert built.route == ("heads" if n_heads == 9 else "skip connection")
    assert task.distributions is not None
    encoder = best_encoder(task.distributions, 2, prior=task.prior)
    wanted, found = encoder.E @ encoder.W.T, logits(built.model, task.contexts)
    assert np.abs(found - wanted).max() < 1e-9
    assert encoder.divergence > 1e-3


def test_the_search_for_an_encoder_reports_its_progress():
    seen = []
    build_memory(random_task(), d_model=2, d_head=2, n_heads=9, progress=lambda *figures: seen.append(figures))
    shares = [share for stage, share, detail in seen if stage == "targets" and "best encoder of rank 2" in detail]
    assert shares and shares == sorted(shares) and shares[-1] == 1.0


def test_three_labels_on_a_line_are_refused():
    counts = Counts.from_rows([{0: 1}, {1: 1}, {2: 1}])
    task = make_task(np.array([[0, 0], [0, 1], [0, 2]]), counts, vocabulary=tuple("abc"), target="labels")
    with pytest.raises(HypothesisError, match="Proposition 3"):
        build_memory(task, d_model=1, d_head=1, n_heads=5)


@pytest.mark.parametrize(
    ("alone", "facts", "d_head", "tail", "expected"),
    [
        (64, 1024, 16, "none", 81),
        (64, 1024, 16, "fit", 256),
        (1, 1, 4, "none", 3),
        (None, 8, 1, "fit", 1),
        (0, 3, 1, "none", 1),
        (640, 8192, 16, "fit", 1024),  # 4 T features would take 2 GiB
        (3000, 8192, 16, "fit", 3751),
    ],
)
def test_default_heads_leave_some_room(alone, facts, d_head, tail, expected):
    assert default_heads(alone, facts, d_head, tail) == expected


@pytest.mark.parametrize(("facts", "n_heads", "tail"), [(600, 200, "none"), (600, 148, "none"), (300, 300, "fit")])
def test_the_memory_estimate_is_near_the_peak(facts, n_heads, tail):
    task = random_task(facts=facts, tail=700 if tail == "fit" else 0, vocabulary=12)
    arguments = dict(d_model=16, d_head=4, n_heads=n_heads, tail=tail)
    tracemalloc.start()
    try:
        build_memory(task, **arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.8 * peak < estimate_bytes(task, **arguments) < 2.5 * peak


@pytest.mark.slow
@pytest.mark.parametrize("target", ["distributions", "labels"])
@pytest.mark.parametrize(("kind", "d_model", "d_head"), [("table", 20, 5), ("random", 16, 16), ("rank-one", 16, 4)])
def test_a_thousand_contexts_are_memorized_to_thirteen_digits(kind, target, d_model, d_head):
    task = random_task(target=target, facts=1024, n_ctx=4, vocabulary=16)
    needed = fewest_heads(task.contexts, d_model=d_model, d_head=d_head, with_skip=False).sufficient
    built = build_memory(
        task,
        d_model=d_model,
        d_head=d_head,
        n_heads=default_heads(needed, 1024, d_head, "none"),
        front_end=FRONT_ENDS[kind],
    )
    assert built.condition < 2000 and deviation(built.model, task) < 3e-13


@pytest.mark.slow
def test_all_contexts_of_a_small_alphabet_are_memorized():
    contexts = np.array(list(product(range(4), repeat=5)))
    rng = np.random.default_rng(0)
    counts = Counts.from_rows([{int(j): int(rng.integers(1, 9)) for j in rng.choice(4, 2)} for _ in contexts])
    task = make_task(contexts, counts, vocabulary=tuple("abcd"))
    for d_model, d_head in ((3, 3), (4, 1), (9, 4)):
        needed = fewest_heads(task.contexts, d_model=d_model, d_head=d_head, with_skip=False).sufficient
        n_heads = default_heads(needed, len(contexts), d_head, "none")
        built = build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads)
        assert deviation(built.model, task) < 1e-8


def test_default_dimensions_suit_the_target():
    distributions = text_task(default_text()[:6000], vocabulary=12, context=3, facts=60)
    assert dimensions(distributions, d_model=None, d_head=None) == (15, 3)
    assert dimensions(distributions, d_model=2, d_head=None) == (2, 1)
    wide = make_task(
        np.array([[0]]), Counts.from_rows([{199: 1}]), vocabulary=tuple(map(str, range(200))), target="labels"
    )
    assert dimensions(wide, d_model=None, d_head=None) == (64, 16)
    many = make_task(np.array([[0]]), Counts.from_rows([{0: 1}]), vocabulary=("a",), answers=tuple("bcdefghij"))
    assert dimensions(many, d_model=None, d_head=None) == (8, 2)  # K - 1, for every distribution over K answers
    labels = make_task(
        np.array([[0]]), Counts.from_rows([{0: 1}]), vocabulary=("a",), answers=tuple("bcdefghij"), target="labels"
    )
    assert dimensions(labels, d_model=None, d_head=None) == (2, 1)
    rows = np.array([[i] for i in range(100)])
    names = tuple(f"answer {i}" for i in range(100))
    both = array_task(rows, next_tokens=np.arange(100), vocabulary=100, answers=names, target="labels")
    assert dimensions(both, d_model=None, d_head=None) == (64, 16)  # as for 200 tokens


@pytest.mark.parametrize("target", ["distributions", "labels"])
def test_the_heads_of_theorem_1_ask_with_one_column_and_say_what_more_heads_are_for(target):
    task = text_task(default_text()[:6000], vocabulary=12, context=3, facts=60, target=target)
    found = theorem_1(task)
    assert found.model.d_qk == 1 and found.built.front_end == "rank-one" and found.tail == "none"
    enough = found.needed.fewest_heads_alone
    assert enough < found.model.n_heads <= enough + enough // 4 + 2
    assert f"; {enough} heads are certified to suffice, the others keep the features well conditioned" in found.summary
    exact = theorem_1(task, n_heads=enough)
    assert "the others" not in exact.summary
    assert fewest_parameters(task) <= exact.model.parameters < found.model.parameters


def test_heads_are_built_alike_without_an_elimination_and_too_few_are_still_told_how_many_suffice(monkeypatch):
    task = text_task(default_text()[:6000], vocabulary=12, context=3, facts=60)
    exact = theorem_1(task)
    monkeypatch.setattr(module, "QUICK_ELIMINATION", 0)
    quick = theorem_1(task)
    assert quick.needed.fewest_heads is None and quick.needed.necessary_heads == exact.needed.fewest_heads
    assert quick.model.sha256() == exact.model.sha256()
    enough = exact.needed.fewest_heads
    for n_heads in (enough - 1, 1):
        with pytest.raises(CapacityError, match=f"{enough} heads suffice") as error:
            theorem_1(task, n_heads=n_heads)
        assert error.value.fewest_heads == enough
    monkeypatch.setattr(module, "LARGEST_ELIMINATION", 0)
    with pytest.raises(CapacityError, match=f"at least {enough} heads are needed"):
        theorem_1(task, n_heads=enough - 1)


def test_a_family_that_is_badly_conditioned_is_not_taken_by_itself(monkeypatch):
    task = text_task(default_text()[:6000], vocabulary=12, context=3, facts=60)
    monkeypatch.setattr(module, "_GOOD_CONDITION", 1.0)
    assert theorem_1(task).built.front_end == "table"
    assert theorem_1(task, front_end=rank_one_attention).built.front_end == "rank-one"


@pytest.mark.parametrize(("n_heads", "promised"), [(2, 8), (5, 14)])
def test_theorem_1_says_what_is_printed_and_what_was_checked(n_heads, promised):
    task = array_task(exclusive_or_contexts(), next_tokens=[0, 0, 1, 1], vocabulary=2, target="labels")
    found = theorem_1(task, d_model=4, d_head=2, n_heads=n_heads)
    assert found.promised == promised
    assert found.hypotheses == {"T <= d + H d_h": True, "features [x_S, Y] of rank T": True}


def test_theorem_1_names_the_conditions_that_do_not_hold():
    distributions = np.random.default_rng(0).dirichlet(np.ones(3), 3)
    task = array_task(
        [[0, 0], [0, 1], [0, 2]], distributions=distributions, vocabulary=3
    )  # the last tokens differ: no head is needed
    found = theorem_1(task, d_model=1, d_head=1, n_heads=1)
    assert found.built.route == "embedding" and found.promised == 2
    checked = {"T <= d + H d_h": False, "features [x_S, Y] of rank T": False, "d >= N - 1": False}
    assert found.hypotheses == checked


def test_theorem_1_says_that_a_rank_was_not_decided(monkeypatch):
    monkeypatch.setattr(module, "QUICK_ELIMINATION", 0)
    task = text_task(default_text()[:6000], vocabulary=12, context=3, facts=60)
    assert theorem_1(task).hypotheses["features [x_S, Y] of rank T"] is None


def test_weights_of_theorem_1_are_rounded_to_the_type_that_is_asked_for():
    task = enumerated_task(5, 2)
    for x in theorem_1(task, dtype="float32").model.tensors().values():
        assert (x.astype(np.float32) == x).all()


def test_work_that_does_not_fit_into_memory_does_not_start(monkeypatch):
    monkeypatch.setattr("constructions.memory_budget.available_bytes", lambda: 1000)
    monkeypatch.setattr(module, "build_memory", lambda *_, **__: pytest.fail("the work has started"))
    with pytest.raises(ResourceError, match=r"25 facts with \d+ heads of dimension \d+ would need about"):
        theorem_1(enumerated_task(5, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_heads=0), "n_heads = 0"),
        (dict(seed=-1), "seed = -1, expected at least 0"),
        (dict(front_end="magic"), "front_end = 'magic'"),
        (dict(tail="cut"), "tail = 'cut'"),
        (dict(d_model=3, d_head=4), "d_head = 4"),
    ],
)
def test_sizes_of_theorem_1_that_make_no_model_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        theorem_1(enumerated_task(3, 2), **options)
