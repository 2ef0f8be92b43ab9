"""Exact columns: real logits, and those of hostile runs, are as near to the nominal ones as the accounts say."""

import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from constructions.memories.object_words.object_words_memory import object_words_memory
from constructions.memories.probes.probe_memory import probe_memory
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model as Built
from constructions.tasks.arrays import array_task, enumerated_task
from tests.verify.runs.hostile_runs import ORDERS, hostile_run
from tests.verify.runs.integer_models import hashed_windows, random_models
from verify.kernel import balls, walk
from verify.kernel.accounts import Reals, Runs
from verify.kernel.columns import RADIUS, Column
from verify.kernel.evaluation import FORMATS
from verify.kernel.model import Model, read_model
from verify.kernel.walk import UnfitError, Walk, fits

TYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
BITS = 8192


def kernel_model(built: Built) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        built.save(Path(folder) / "model.safetensors")
        return read_model(Path(folder))


def walked(built: Built, contexts: np.ndarray, formats: list[str]) -> tuple[list[Column], list[Runs]]:
    """The logits by columns, and the accounts of runs."""
    runs = [Runs(*FORMATS[name]) for name in formats]
    walk = Walk(kernel_model(built), [Reals(), *runs])
    rows = [tuple(map(int, context)) for context in contexts]
    walk.plan(rows)
    row = walk.run(rows)
    return [walk.mapped(walk.out, j, row) for j in range(built.d_vocab_out)], runs


def number(column: Column, context: int) -> Fraction:
    assert column.numbers is not None
    return Fraction(column.numbers[context if len(column.numbers) > 1 else 0], 1 << column.scale)


def off(column: Column, account: int) -> Fraction:
    return Fraction(column.off[account], 1 << RADIUS)


def require_hold(built: Built, contexts: np.ndarray, formats: list[str]) -> None:
    """Nothing is further from the nominal logits than is said."""
    columns, runs = walked(built, contexts, formats)
    rows = [tuple(map(int, context)) for context in contexts]
    with ctx.workprec(BITS):
        for i, row in enumerate(balls.logits(kernel_model(built), rows, BITS)):
            for column, z in zip(columns, row, strict=True):
                middle, exponent = map(int, z.mid().man_exp())
                real = middle * Fraction(2) ** exponent
                assert z.rad() < 2.0**-900
                assert abs(real - number(column, i)) <= off(column, 0) + Fraction(1, 2**900)
    for account, (name, run) in enumerate(zip(formats, runs, strict=True), 1):
        if run.overflow:
            continue
        for seed, summed in enumerate(ORDERS):
            options = {"online": seed % 2 == 1, "early": seed % 3 == 1, "seed": seed}
            found = hostile_run(built, contexts, TYPES[name], summed, **options)
            assert np.isfinite(found).all()
            for i, row in enumerate(found):
                for column, z in zip(columns, row, strict=True):
                    assert abs(Fraction(float(z)) - number(column, i)) <= off(column, account)


@given(random_models())
def test_what_is_computed_is_as_near_as_is_said(drawn: tuple[Built, np.ndarray]) -> None:
    built, contexts = drawn
    assert fits(kernel_model(built))
    try:
        require_hold(built, np.unique(contexts, axis=0), ["float32", "float16", "float64"])
    except UnfitError:
        pass


def test_a_memory_of_integers_is_exact_in_every_run() -> None:
    task = enumerated_task(4, 4)
    built = probe_memory(task).model
    columns, [run] = walked(built, task.contexts, ["float32"])
    assert not run.overflow and max(column.off[1] for column in columns) == 0
    for i in range(task.n_contexts):
        logits = [number(column, i) for column in columns]
        assert max(range(len(logits)), key=logits.__getitem__) == task.labels[i]
    require_hold(built, task.contexts[::17], ["float32"])


def test_heads_that_look_less_far_away_are_further_off() -> None:
    # Two positions read the same row, with gaps of 128 and 256: the row that both share is as far off as the nearer.
    one, scale = np.ones((1, 1, 1)), np.array([[[128.0]]])
    first = Attention(W_Q=scale, W_K=one, W_V=one, W_O=one, skip=False, attends="all")
    built = Built(blocks=(first,), W_U=np.eye(1), W_E=np.zeros((1, 1)), W_pos=np.array([[2.0], [1.0]]))
    require_hold(built, np.array([[0, 0]]), ["float32"])


def looking_aside(token: float, *blocks: FeedForward, place: int = 3, gap: float = 1.0) -> Built:
    """Averages of 1, 2, 3 and 4 rows, which have other units; then a head on one of them.

    The fourth is 0 and the others are the token. With a gap of 1 the head reads them nearly as much as its own.
    """
    value, key, found = np.eye(3).reshape(3, 1, 3, 1)
    out, one = found.reshape(1, 1, 3), np.ones((1, 1, 1))
    average = Attention(W_Q=0.0 * key, W_K=key, W_V=value, W_O=out, attends="causal")
    last = Attention(W_Q=0.0 * key, W_K=key, W_V=found, W_O=one, b_Q=np.full((1, 1), gap), attends="last", skip=False)
    W_pos = np.zeros((4, 3))
    W_pos[place, 1] = 1.0
    W_E = np.array([[token, 0.0, 0.0], [-3.0 * token, 0.0, 0.0]])
    return Built(blocks=(average, last, *blocks), W_U=np.eye(1), W_E=W_E, W_pos=W_pos)


def test_rows_of_different_scales_are_bounded_together() -> None:
    for token in (-8.0, 8.0):
        require_hold(looking_aside(token), np.array([[0, 0, 0, 1]]), ["float32"])
        for place in range(4):
            built = looking_aside(token, place=place, gap=200.0)
            require_hold(built, np.array([[0, 0, 0, 1], [0, 1, 0, 0]]), ["float32"])


def test_what_a_head_reads_that_looks_anywhere_is_as_far_off_as_its_rows() -> None:
    # All rows are nominally 0, and in fact more than half of the token; so are the keys, and the head looks anywhere.
    one = np.ones((1, 1, 1))
    average, aside = looking_aside(-8.0).blocks
    assert isinstance(average, Attention) and isinstance(aside, Attention)
    again = Attention(W_Q=0.0 * one, W_K=one, W_V=one, W_O=one, b_Q=np.ones((1, 1)), attends="last", skip=False)
    built = replace(looking_aside(-8.0), blocks=(average, replace(aside, attends="all"), again))
    require_hold(built, np.array([[0, 0, 0, 1]]), ["float32"])
    [column], _ = walked(built, np.array([[0, 0, 0, 1]]), ["float32"])
    assert number(column, 0) == 0 and off(column, 0) > 8


def test_a_step_that_may_be_on_either_side_is_known_up_to_its_height() -> None:
    # max(0, 2 x + 2) - max(0, 2 x) is 2 where x is 0, and in real arithmetic and in runs 0; then the same mirrored.
    for sign in (1.0, -1.0):
        ends = np.array([2.0, 0.0]) if sign > 0 else np.array([0.0, -2.0])
        step = FeedForward(np.full((1, 2), 2.0), np.array([[1.0], [-1.0]]), b_in=ends, skip=False)
        built = looking_aside(-8.0 * sign, step)
        require_hold(built, np.array([[0, 0, 0, 1]]), ["float32"])
        [column], _ = walked(built, np.array([[0, 0, 0, 1]]), ["float32"])
        assert off(column, 0) == 2


def test_neurons_of_fractions_are_narrowed_where_their_kinks_are() -> None:
    # The nominal number is 4, the real one near 3.5: the tent over (-4, 4) is 0 and about 0.13 there.
    one = np.ones((1, 1, 1))
    head = Attention(W_Q=0.0 * one, W_K=one, W_V=one, W_O=one, b_Q=np.full((1, 1), 0.5), attends="last", skip=False)
    tent = FeedForward(
        np.full((1, 3), 0.25), np.array([[1.0], [-2.0], [1.0]]), b_in=np.array([1.0, 0.0, -1.0]), skip=False
    )
    built = Built(blocks=(head, tent), W_U=np.eye(1), W_E=np.zeros((1, 1)), W_pos=np.array([[2.0], [4.0]]))
    require_hold(built, np.array([[0, 0]]), ["float32"])
    [column], _ = walked(built, np.array([[0, 0]]), ["float32"])
    assert number(column, 0) == 0 and 0.13 < off(column, 0) < 0.51


def test_the_peak_of_a_tent_is_at_a_kink() -> None:
    # The nominal number is 4, where the tent over (0, 8) is 1; the real one is near 3.5, as low as 4.5 would be, and as
    # a fourth neuron is at -4.
    one = np.ones((1, 1, 1))
    for sign in (1.0, -1.0):
        shift = np.full((1, 1), 0.5 * sign)
        head = Attention(W_Q=0.0 * one, W_K=one, W_V=one, W_O=one, b_Q=shift, attends="last", skip=False)
        reads, ends = sign * np.array([[0.25, 0.25, 0.25, -7.0 / 32.0]]), np.array([0.0, -1.0, -2.0, 0.0])
        tent = FeedForward(reads, np.array([[1.0], [-2.0], [1.0], [1.0]]), b_in=ends, skip=False)
        built = Built(blocks=(head, tent), W_U=np.eye(1), W_E=np.zeros((1, 1)), W_pos=sign * np.array([[2.0], [4.0]]))
        require_hold(built, np.array([[0, 0]]), ["float32"])
        [column], _ = walked(built, np.array([[0, 0]]), ["float32"])
        assert number(column, 0) == 1


def test_rows_that_look_elsewhere_by_tokens_and_always_read_what_each_of_them_looks_at() -> None:
    # The first row looks at itself or at the second one, as its token says, the second always at the first.
    W_E = np.array([[2.0, 1.0, 0.0, 0.0], [8.0, -1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    W_pos = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    W_Q, W_K, W_V = np.zeros((1, 4, 2)), np.zeros((1, 4, 2)), np.zeros((1, 4, 1))
    W_Q[0, 1] = 512.0, -512.0
    W_K[0, 2, 0] = W_K[0, 3, 1] = W_V[0, 0, 0] = 1.0
    one = np.ones((1, 1, 1))
    first = Attention(W_Q, W_K, W_V, one, attends="all", skip=False)
    average = Attention(0.0 * one, one, one, one, attends="last", skip=False)
    built = Built(blocks=(first, average), W_U=np.eye(1), W_E=W_E, W_pos=W_pos)
    contexts = np.array([[0, 2], [1, 2]])
    require_hold(built, contexts, ["float32"])
    [column], _ = walked(built, contexts, ["float32"])
    assert [number(column, i) for i in range(2)] == [2, 4.5]


def test_a_sum_over_more_rows_than_a_format_counts_is_not_known() -> None:
    # A head of bfloat16 adds S + 3 terms; 4 (S + 6) is at most 2^8 for S = 58.
    one = np.ones((1, 1, 1))
    for length, known in ((58, True), (59, False)):
        W_pos = np.zeros((length, 1))
        W_pos[-1] = 1.0
        head = Attention(W_Q=512.0 * one, W_K=one, W_V=one, W_O=one, attends="last", skip=False)
        built = Built(blocks=(head,), W_U=np.eye(1), W_E=np.zeros((1, 1)), W_pos=W_pos)
        [column], [run] = walked(built, np.zeros((1, length), dtype=int), ["bfloat16"])
        assert number(column, 0) == 1 and (not run.overflow) == known, (length, column.off, run.overflow)


def test_a_format_that_is_too_short_is_not_exact() -> None:
    built = probe_memory(enumerated_task(4, 4)).model
    columns, [run] = walked(built, enumerated_task(4, 4).contexts, ["float16"])
    assert run.overflow or max(column.off[1] for column in columns) > 0


def test_more_contexts_at_a_time_say_the_same() -> None:
    task = enumerated_task(4, 4)
    built = probe_memory(task).model
    together, _ = walked(built, task.contexts, ["float32"])
    for i in (0, 100, 255):
        alone, _ = walked(built, task.contexts[i : i + 1], ["float32"])
        assert [number(column, 0) for column in alone] == [number(column, i) for column in together]


def test_empty_axes_are_read_as_nothing() -> None:
    nothing = Attention(*(np.zeros((0, 2, 0)) for _ in range(3)), np.zeros((0, 0, 2)), attends="all")
    silent = FeedForward(np.zeros((2, 0)), np.zeros((0, 2)), b_out=np.array([1.0, 0.0]))
    built = Built(blocks=(nothing, silent), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.ones((2, 2)))
    require_hold(built, np.array([[0, 1], [1, 1]]), [])


def test_scores_of_rows_that_nobody_needs_do_not_overflow_unnoticed() -> None:
    # The first row asks with 2^100 for keys of 2^100: in float32 its scores are infinite, and what it reads no number.
    large, one = np.array([[[2.0**100]]]), np.ones((1, 1, 1))
    first = Attention(W_Q=large, W_K=large, W_V=one, W_O=one, attends="all")
    last = Attention(W_Q=0.0 * one, W_K=one, W_V=one, W_O=one, b_Q=np.array([[1.0]]), attends="last", skip=False)
    built = Built(blocks=(first, last), W_U=np.eye(1), W_E=np.array([[1.0], [2.0]]), W_pos=np.zeros((2, 1)))
    _, [run] = walked(built, np.array([[0, 1], [1, 1]]), ["float32"])
    assert run.overflow


def test_rows_that_nobody_needs_are_as_low_as_their_tokens() -> None:
    # Each row reads itself; then -2^100 in the first one, which no logit depends on, is multiplied by 2^60.
    W_Q, W_K, W_V = np.zeros((1, 3, 1)), np.zeros((1, 3, 1)), np.zeros((1, 3, 1))
    W_Q[0, 2], W_K[0, 2], W_V[0, 0] = 512.0, 1.0, 1.0
    both = np.array([[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]])
    values = np.concatenate([W_V, W_K])  # the number, and the mark of the second row
    first = Attention(*np.repeat([W_Q, W_K], 2, axis=1), values, both, attends="causal", skip=False)
    large = FeedForward(np.diag([-(2.0**60), 0.0, 0.0]), np.eye(3))
    last = Attention(W_Q, W_K, W_V, np.array([[[1.0, 0.0, 0.0]]]), attends="last", skip=False)
    W_pos = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for low, overflows in ((-(2.0**100), True), (-(2.0**30), False)):
        W_E = np.array([[low, 0.0, 0.0], [1.0, 0.0, 0.0]])
        built = Built(blocks=(first, large, last), W_U=np.eye(3), W_E=W_E, W_pos=W_pos)
        _, [run] = walked(built, np.array([[0, 1], [1, 1]]), ["float32"])
        assert bool(run.overflow) == overflows, run.overflow


def test_narrowed_rows_that_nobody_needs_are_as_high_as_their_neurons_make_them() -> None:
    # The first row looks anywhere, so that it is at most 2^61, a little more in runs; the second one reads itself.
    W_E = np.array([[2.0**60, 1.0, 0.0], [1.0, 0.0, 0.0]])
    W_pos = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    W_Q, W_K, W_V = np.zeros((1, 3, 2)), np.zeros((1, 3, 2)), np.zeros((1, 3, 1))
    W_Q[0, 2, 1], W_K[0, 1, 0], W_K[0, 2, 1], W_V[0, 0, 0] = 512.0, 1.0, 1.0, 1.0
    out = np.array([[[1.0, 0.0, 0.0]]])
    first = Attention(W_Q, W_K, W_V, out, b_Q=np.array([[1.0, 0.0]]), attends="all")
    fired = FeedForward(np.eye(3)[:, ::2], np.eye(3)[::2], skip=False)
    last = Attention(W_Q[..., 1:], W_K[..., 1:], W_V, out, attends="last", skip=False)
    for times, overflows in ((2.0**63, True), (2.0**61, False)):
        large = FeedForward(np.diag([times, 0.0, 0.0]), np.eye(3))
        built = Built(blocks=(first, fired, large, last), W_U=np.eye(3), W_E=W_E, W_pos=W_pos)
        columns, [run] = walked(built, np.array([[0, 1], [1, 1]]), ["float32"])
        assert bool(run.overflow) == overflows, run.overflow
        assert number(columns[0], 0) == 2 * int(times) + 2


def test_only_plain_blocks_of_tokens_fit() -> None:
    tables = {"W_U": np.eye(2), "W_E": np.eye(2), "W_pos": np.zeros((1, 2))}
    blocks = [FeedForward(np.eye(2), np.eye(2)), FeedForward(np.eye(2), np.eye(2), activation="gelu")]
    blocks.append(Normalization("rms", np.ones(2), epsilon=1.0))
    assert [fits(kernel_model(Built(blocks=(block,), **tables))) for block in blocks] == [True, False, False]


def test_recited_rows_that_no_logit_depends_on_do_not_overflow() -> None:
    built, contexts, labels = hashed_windows(4, 6)
    columns, [run] = walked(built, contexts, ["float32"])
    assert not run.overflow and max(column.off[1] for column in columns) == 0
    logits = [[number(column, i) for column in columns] for i in range(len(contexts))]
    assert [row.index(max(row)) for row in logits] == labels.tolist()


FRACTIONS = st.fractions(-4, 4, max_denominator=6)


@given(
    st.lists(st.tuples(FRACTIONS.filter(bool), FRACTIONS, FRACTIONS), min_size=1, max_size=4),
    FRACTIONS,
    st.fractions(0, 4, max_denominator=6),
)
def test_the_range_of_neurons_of_one_direction_holds_all_that_they_write_and_is_reached(
    neurons: list[tuple[Fraction, Fraction, Fraction]], low: Fraction, width: Fraction
) -> None:
    def written(a: Fraction) -> Fraction:
        return sum((w * max(Fraction(0), c * a + b) for c, b, w in neurons), Fraction(0))

    # On the grid of all denominators that occur the kinks lie too; between its points nothing is larger.
    grid = sorted({low, low + width, *(-b / c for c, b, _ in neurons), *(low + width * k / 7 for k in range(8))})
    inside = [written(a) for a in grid if low <= a <= low + width]
    assert walk._range(neurons, low, low + width) == (min(inside), max(inside))


def test_two_neurons_that_rise_and_fall_are_largest_between_the_ends() -> None:
    """relu(a) - 2 relu(a - 1) is 0 at 0 and at 2, and 1 between them."""
    one, two = Fraction(1), Fraction(2)
    assert walk._range([(one, Fraction(0), one), (one, -one, -two)], Fraction(0), two) == (0, 1)


def test_large_numbers_of_other_contexts_are_no_overflow_of_a_fact() -> None:
    rows = np.stack(np.divmod(np.arange(1024), 8), axis=1) + np.array([0, 128])
    task = array_task(rows, next_tokens=np.arange(1024), vocabulary=136, answers=1024, target="labels")
    model = object_words_memory(task, dtype="float16").model
    columns, (run,) = walked(model, rows[-40:], ["float16"])
    assert not run.overflow and not any(column.off[1] for column in columns)
    large = replace(model, W_U=16.0 * model.W_U)
    assert walked(large, rows[-40:], ["float16"])[1][0].overflow == "a sum may overflow"
