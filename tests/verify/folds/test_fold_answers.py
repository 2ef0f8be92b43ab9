"""Tests of verify/folds/fold_answers.py: rules with a state on whole domains, against every input by itself."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from constructions.errors import HypothesisError, InputError
from constructions.folds.fold import OWN, Fold, Stage, addition, maximum, modular_sum
from constructions.memories.heads.adder import adder
from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from verify.folds.fold_answers import judge_fold
from verify.runs.formats import FLOAT32

TOKENS, LENGTH = 3, 4


def random_model(seed: int, *, n_heads: int, d_head: int, sharpness: float = 2.0) -> Model:
    """A model of one attention that reads tokens, with weights that are numbers of float32."""
    rng = np.random.default_rng(seed)
    d_model, d_mlp = 5, 6

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32).astype(np.float64)

    norm = Normalization(kind=("rms", "layer")[seed % 2], w=1.0 + 0.1 * draw(d_model))
    attention = Attention(
        W_Q=sharpness * draw(n_heads, d_model, 3), W_K=draw(n_heads, d_model, 3), W_V=draw(n_heads, d_model, d_head),
        W_O=draw(n_heads, d_head, d_model), norm=norm, attends="causal",
    )  # fmt: skip
    neurons = FeedForward(
        W_in=draw(d_model, d_mlp), W_out=draw(d_mlp, d_model), activation=("relu", "gelu")[seed % 2], norm=norm
    )
    return Model((attention, neurons, norm), draw(d_model, TOKENS), W_E=draw(TOKENS, d_model), W_pos=draw(8, d_model))


def logits_of(model: Model, contexts: np.ndarray) -> np.ndarray:
    """The logits in float64, by plain numpy, `[T, outputs]`."""
    assert model.W_E is not None and model.W_pos is not None
    attention, neurons, final = model.blocks

    def normalized(x: np.ndarray, norm: Normalization) -> np.ndarray:
        y = x - x.mean(-1, keepdims=True) if norm.kind == "layer" else x
        return y / np.sqrt((y * y).mean(-1, keepdims=True) + norm.epsilon) * norm.w

    x = model.W_E[contexts] + model.W_pos[: contexts.shape[1]]
    read = normalized(x, attention.norm)
    y = x[:, -1].copy()
    for W_Q, W_K, W_V, W_O in zip(attention.W_Q, attention.W_K, attention.W_V, attention.W_O, strict=True):
        scores = np.einsum("tq,tsq->ts", read[:, -1] @ W_Q, read @ W_K)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        y += np.einsum("ts,tsv->tv", weights, read @ W_V) @ W_O
    hidden = normalized(y, neurons.norm) @ neurons.W_in
    fired = np.maximum(hidden, 0.0) if neurons.activation == "relu" else _gelu(hidden)
    return normalized(y + fired @ neurons.W_out, final) @ model.W_U


def _gelu(x: np.ndarray) -> np.ndarray:
    from math import erf

    return 0.5 * x * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0)))


def said_by(model: Model, steps: int = 2) -> Fold:
    """The rule that says what the model says: two tokens after each of all prompts, whose states are the prompts."""
    prompts = np.array(list(itertools.product(range(TOKENS), repeat=LENGTH)))
    said = []
    contexts = prompts
    for _ in range(steps):
        said.append(logits_of(model, contexts).argmax(1))
        contexts = np.concatenate([contexts, said[-1][:, None]], axis=1)
    stages = []
    for position in range(LENGTH):
        before = TOKENS**position
        after = np.arange(before)[:, None] * TOKENS + np.arange(TOKENS)
        stages.append(Stage((position,), np.arange(TOKENS)[:, None], after))
    nothing, count = np.zeros((1, 0), dtype=np.int64), len(prompts)
    for token in said:
        stages.append(Stage((), nothing, np.arange(count)[:, None], token[:, None]))
    return Fold(OWN, LENGTH, {}, tuple(stages), tuple(range(LENGTH, LENGTH + steps)))


@pytest.mark.parametrize("heads", [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_model_says_is_proved_on_all_inputs(seed: int, heads: tuple[int, int]) -> None:
    model = random_model(seed, n_heads=heads[0], d_head=heads[1])
    fold = said_by(model)
    found = judge_fold(model, fold)
    assert found.inputs == TOKENS**LENGTH and found.wrong is None
    assert found.left == 0
    assert judge_fold(model, fold, number_format=FLOAT32).left <= 8  # of 81: some lead by less than float32 rounds


@pytest.mark.parametrize("seed", range(8))
def test_one_token_that_the_model_does_not_say_is_found(seed: int) -> None:
    model = random_model(seed, n_heads=1, d_head=2)
    fold = said_by(model)
    rng = np.random.default_rng(seed)
    place = int(rng.integers(2))
    stages = list(fold.stages)
    stage = stages[LENGTH + place]
    emits = stage.emits.copy()
    row = int(rng.integers(len(emits)))
    right = int(emits[row, 0])
    emits[row] = (emits[row] + 1) % TOKENS
    stages[LENGTH + place] = Stage((), stage.choices, stage.steps, emits)
    found = judge_fold(model, Fold(OWN, LENGTH, {}, tuple(stages), fold.answer))
    assert found.left and found.wrong is not None
    prompt = np.array([(row // TOKENS ** np.arange(LENGTH - 1, -1, -1)) % TOKENS])
    if place == 1:  # the second token is asked for after the first one of the rule, which is right
        assert found.wrong.prompt == tuple(prompt[0])
        assert found.wrong.place == 1 and found.wrong.said == right
    else:
        assert found.wrong.place == 0 or found.wrong.prompt == tuple(prompt[0])


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_moved_entry_is_judged_as_every_input_by_itself(seed: int, n_heads: int) -> None:
    """A readout is moved by amounts about the one at which the first token becomes wrong."""
    model = random_model(seed, n_heads=n_heads, d_head=1)
    fold = said_by(model, 1)
    prompts = np.array(list(itertools.product(range(TOKENS), repeat=LENGTH)))
    labels = logits_of(model, prompts).argmax(1)
    found = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
        W_U = np.array(model.W_U)
        W_U[0, 0] += share
        moved = Model(model.blocks, W_U, W_E=model.W_E, W_pos=model.W_pos)
        logits = logits_of(moved, prompts)
        rivals = logits.copy()
        rivals[np.arange(len(labels)), labels] = -np.inf
        leads = logits[np.arange(len(labels)), labels] - rivals.max(1)
        answers = judge_fold(moved, fold)
        found.append(bool((leads > 1e-9).all()))
        assert (answers.left == 0) == found[-1]
        assert (answers.wrong is not None) == bool((leads < -1e-9).any())
        if answers.wrong is not None:
            [row] = np.flatnonzero((prompts == answers.wrong.prompt).all(1))
            assert leads[row] < 0 and logits[row, answers.wrong.said] >= logits[row, labels[row]]
    assert found[0]


def test_what_heads_write_is_rounded_by_the_size_of_the_values_not_of_their_mean() -> None:
    """The values of two tokens are large and cancel: a float32 run is off by much more than the mean is large."""
    W_E = np.array([[2.0**22, 1.0], [-(2.0**22), 1.0]])
    attention = Attention(
        W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.array([[[1.0], [0.0]]]),
        W_O=np.array([[[1.0, 0.0]]]), attends="causal", skip=False, b_O=np.array([0.03, 0.0]),
    )  # fmt: skip
    model = Model((attention,), np.array([[1.0, 0.0], [0.0, 1.0]]), W_E=W_E, W_pos=np.zeros((2, 2)))
    nothing = np.zeros((1, 1), dtype=np.int64)
    stages = (Stage((0,), nothing, nothing), Stage((1,), nothing + 1, nothing, nothing))
    fold = Fold(OWN, 2, {}, stages, (1,))
    assert judge_fold(model, fold).left == 0
    assert judge_fold(model, fold, number_format=FLOAT32).left == 1


def test_the_adder_is_proved_and_a_moved_entry_of_it_refuted() -> None:
    model, fold = adder(3, base=2), addition(3, base=2)
    found = judge_fold(model, fold, number_format=FLOAT32)
    assert found.left == 0 and found.wrong is None and found.inputs == 64
    attention, neurons = model.blocks
    b_in = np.array(neurons.b_in)
    b_in[1] += 1.0
    wrong = Model((attention, replace(neurons, b_in=b_in)), model.W_U, b_U=model.b_U, W_E=model.W_E, W_pos=model.W_pos)
    found = judge_fold(wrong, fold)
    assert found.left == found.inputs and found.wrong is not None


@pytest.mark.parametrize("blocks", [[0, 0, 1, 2], [1, 2]])
def test_a_model_to_which_the_theorem_does_not_apply_is_refused(blocks: list[int]) -> None:
    model = random_model(0, n_heads=1, d_head=1)
    other = Model([model.blocks[i] for i in blocks], model.W_U, W_E=model.W_E, W_pos=model.W_pos)
    with pytest.raises(HypothesisError, match="one layer of attention"):
        judge_fold(other, said_by(model, 1))


@pytest.mark.parametrize("fold", [maximum(9, below=3), maximum(2, below=4), addition(5, base=3)])
def test_a_rule_that_the_model_cannot_read_is_refused(fold: Fold) -> None:
    with pytest.raises(InputError):
        judge_fold(random_model(0, n_heads=1, d_head=1), fold)


def test_an_answer_that_the_model_never_gives_is_found_wrong() -> None:
    model, fold = random_model(0, n_heads=1, d_head=1), modular_sum(4, below=2, modulus=3)
    found = judge_fold(model, fold)
    assert found.wrong is not None
    assert sum(found.wrong.prompt) % 3 == found.wrong.answer[0] != found.wrong.said


@pytest.mark.parametrize("label", [0, 1])
def test_one_input_that_float64_does_not_decide_is_judged_at_higher_precision(label: int) -> None:
    """The head takes away all of the stream but the last bit of 1/10, which a norm makes large."""
    attention = Attention(
        W_Q=np.zeros((1, 1, 1)), W_K=np.zeros((1, 1, 1)), W_V=np.ones((1, 1, 1)),
        W_O=np.full((1, 1, 1), 2.0**-52 - 1.0), attends="causal",
    )  # fmt: skip
    norm = Normalization(kind="rms", w=np.ones(1), epsilon=2.0**-200)
    model = Model((attention, norm), np.array([[1.0, -1.0]]), W_E=np.array([[0.1], [0.1]]), W_pos=np.zeros((1, 1)))
    one = np.zeros((1, 1), dtype=np.int64)
    fold = Fold(OWN, 1, {}, (Stage((0,), one, one, one + label),), (0,))
    found = judge_fold(model, fold)
    assert (found.left, found.wrong is None) == (label, label == 0)
    if found.wrong is not None:
        assert (found.wrong.said, found.wrong.decoded) == (0, (0,))
    assert judge_fold(model, fold, number_format=FLOAT32).left == 1
