"""Small models of integers, with what they should answer, for the judges of runs without rounding."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from constructions.model.blocks import Attention, Block, FeedForward
from constructions.model.model import Model
from verify.arithmetic.enclosure import Enclosure
from verify.runs.in_reals import InReals
from verify.runs.in_runs import InRuns
from verify.runs.integer_rows import integer_logits


def parabola(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A readout `[1, count]` and its shift for labels 0, 1, ...; every margin is 1 at least."""
    codes = np.arange(count) - count // 2
    return 2.0 * codes[None], -1.0 * codes * codes


def residue(modulus: int, times: int) -> list[Block]:
    """Blocks of width 1 from an integer below `times` times the modulus to its residue, less half the modulus."""
    blocks: list[Block] = []
    for step in range(1, times):
        # (x, [x >= modulus]), then x - modulus [x >= modulus]; no integer lies on a kink.
        shift = np.array([0.0, 1.5 - 2.0 * modulus, 0.5 - 2.0 * modulus])
        blocks.append(
            FeedForward(np.array([[1.0, 2, 2]]), np.array([[1.0, 0], [0, 1], [0, -1]]), b_in=shift, skip=False)
        )
        last = np.array([-float(modulus // 2)]) if step == times - 1 else None
        blocks.append(FeedForward(np.array([[1.0], [-modulus]]), np.ones((1, 1)), b_out=last, skip=False))
    return blocks


def sum_modulo(count: int, examples: int = 0) -> tuple[Model, np.ndarray, np.ndarray]:
    """The sum of two tokens modulo their number, by a head of equal scores; all contexts, or some, and their labels."""
    zero, one = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    head = Attention(W_Q=zero, W_K=zero, W_V=one, W_O=2.0 * one, skip=False)
    W_U, b_U = parabola(count)
    tokens = np.arange(float(count))[:, None]
    model = Model(blocks=(head, *residue(count, 2)), W_U=W_U, b_U=b_U, W_E=tokens, W_pos=np.zeros((2, 1)))
    some = np.random.default_rng(0).integers(0, count, (examples, 2))
    contexts = some if examples else np.array(list(np.ndindex(count, count)))
    return model, contexts, contexts.sum(1) % count


def hashed_windows(
    length: int = 8, tokens: int = 5, count: int = 7, *, gap: float = 512.0, seed: int = 0, examples: int = 60
) -> tuple[Model, np.ndarray, np.ndarray]:
    """Windows hashed by heads that read one position each, added up over the first four rows by one with equal scores.

    The stream is (hash, position, whether the row is one of four).
    """
    rng, blocks = np.random.default_rng(seed), []
    codes, places = rng.permutation(tokens), np.arange(length)
    contexts = np.unique(rng.integers(0, tokens, (examples, length)), axis=0)
    hashes, stride = codes[contexts], 1
    while stride < length:
        step = min(stride, length - stride)
        # -gap (p_j - (p_i + step mod length))^2 / 2 up to what the key does not change, for both sides of the wrap.
        angle = 2.0 * np.pi / length
        scale = gap / (1.0 - np.cos(angle))
        turn = np.array([[np.cos(angle * step), np.sin(angle * step)], [-np.sin(angle * step), np.cos(angle * step)]])
        W_Q, W_K, W_V, W_O = np.zeros((1, 4, 2)), np.zeros((1, 4, 2)), np.zeros((1, 4, 1)), np.zeros((1, 1, 4))
        W_Q[0, 1:3], W_K[0, 1:3], W_V[0, 0], W_O[0, 0, 0] = scale * turn, np.eye(2), 1.0, 3.0
        blocks.append(Attention(W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, attends="all"))
        hashes, stride = hashes + 3 * np.roll(hashes, -step, axis=1), 2 * stride
    flag, value = np.zeros((1, 4, 1)), np.zeros((1, 4, 1))
    flag[0, 3], value[0, 0] = 1.0, 1.0
    blocks.append(
        Attention(W_Q=0.0 * flag, b_Q=np.array([[gap]]), W_K=flag, W_V=value, W_O=np.full((1, 1, 1), 4.0), skip=False)
    )
    totals = hashes[:, :4].sum(1)
    blocks += residue(count, int(totals.max()) // count + 2)
    W_U, b_U = parabola(count)
    W_E, W_pos = np.zeros((tokens, 4)), np.zeros((length, 4))
    W_E[:, 0] = codes
    W_pos[:, 1], W_pos[:, 2] = np.cos(2.0 * np.pi * places / length), np.sin(2.0 * np.pi * places / length)
    W_pos[:, 3] = places < 4
    return Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos), contexts, totals % count


def knots_table(seed: int = 0) -> Model:
    """A table in knots: 40 numbers up to 2^12 at the integers from 0 on, read at the token."""
    table = np.random.default_rng(seed).integers(0, 2**12, 40).astype(float)
    slopes = np.diff(table, prepend=table[0])
    W_out = np.diff(slopes, append=0.0)[:-1, None]
    shift = -np.arange(39.0)
    block = FeedForward(np.ones((1, 39)), W_out, b_in=shift, b_out=table[:1], skip=False)
    return Model(blocks=(block,), W_U=np.ones((1, 1)), W_E=np.arange(40.0)[:, None], W_pos=np.zeros((1, 1)))


@st.composite
def random_models(draw: st.DrawFn) -> tuple[Model, np.ndarray]:
    """Small tensors of integers, halves and real numbers, heads that read by position, by content, or all rows.

    The first context is one token repeated, beside others: where positions are alike, all of its rows are equal.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    width, length = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    pool = draw(st.sampled_from([(0, 1, -1, 2, 5), (0, 1, -3, 0.5, 64), (0, 1, 4097, -0.25), (0, 1, 0.1, -1 / 3)]))

    def some(*shape: int) -> np.ndarray:
        return rng.choice(np.array(pool, float), shape)

    blocks = []
    for _ in range(draw(st.integers(1, 3))):
        skip, neurons = draw(st.booleans()), draw(st.integers(1, 5))
        if draw(st.booleans()):
            W_in = some(width, neurons)
            if draw(st.booleans()):  # neurons that read columns of their own
                W_in *= np.arange(width)[:, None] == rng.integers(0, width, neurons)
            blocks.append(FeedForward(W_in, some(neurons, width), b_in=some(neurons), b_out=some(width), skip=skip))
            continue
        scale, heads = draw(st.sampled_from([0.0, 1.0, 128.0, 200.0, 1000.0])), draw(st.integers(1, 2))
        W_Q, W_K, W_V, W_O = scale * some(heads, width, 1), some(heads, width, 1), some(heads, width, 2), None
        if heads == 2 and draw(st.booleans()):  # heads that read columns of their own
            W_V[0, width // 2 :] = W_V[1, : width // 2] = 0.0
        W_O = some(heads, 2, width) * draw(st.sampled_from([1.0, 1.0, 2.0**100]))
        block = Attention(W_Q, W_K, W_V, W_O, b_Q=scale * some(heads, 1), b_V=some(heads, 2), skip=skip, attends="all")
        root = draw(st.sampled_from([1, 2, 4]))
        blocks.append(replace(block, score_root=root, attends="causal" if draw(st.booleans()) else "all"))
    W_pos = some(length, width) * draw(st.sampled_from([0.0, 1.0]))
    model = Model(blocks=tuple(blocks), W_U=some(width, 3), b_U=some(3), W_E=some(4, width), W_pos=W_pos)
    contexts = rng.integers(0, 4, (draw(st.integers(1, 5)), length))
    contexts[0] = contexts[0, 0]
    return model, contexts


def judged(model: Model, contexts: np.ndarray, arithmetic: InRuns | InReals) -> Enclosure:
    """The logits of all contexts, enclosed."""
    middle, radius = np.full((2, len(contexts), model.d_vocab_out), np.nan)
    for part in integer_logits(model, contexts, arithmetic):
        middle[part.contexts], radius[part.contexts] = part.logits.midpoint[part.which], part.logits.radius[part.which]
    return Enclosure(middle, radius)


def known(enclosure: Enclosure) -> int:
    """Of how many contexts every run has the same logits."""
    return int((enclosure.radius == 0.0).all(axis=1).sum())


def changed(model: Model, place: int, **tensors: np.ndarray) -> Model:
    """The model with other tensors of one block."""
    blocks = [replace(block, **tensors) if i == place else block for i, block in enumerate(model.blocks)]
    return Model(blocks=tuple(blocks), W_U=model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)
