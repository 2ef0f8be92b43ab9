"""The judge of relations that forbid a labelling to a number of heads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.attention.capacity.forbidden_labelling import forbidding_multipliers
from constructions.errors import InputError
from constructions.memories.heads.counting_heads import bit_contexts
from constructions.model.attention import logits
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts
from verify.theorems.capacity.sign_relation import forbids_heads
from verify.verdict import Verdict

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
LABELS = np.array([0, 0, 1, 1])
MULTIPLIERS = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])


def judged(contexts=XOR, labels=LABELS, multipliers=MULTIPLIERS, n_heads=1):
    return forbids_heads(contexts, labels, multipliers, n_heads=n_heads)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_the_signs_of_parity_forbid_every_smaller_number_of_heads_and_no_other(bits):
    contexts = bit_contexts(bits)
    labels = contexts.sum(axis=1) % 2
    multipliers = np.stack([labels, 1 - labels], axis=1)
    verdicts = [judged(contexts, labels, multipliers, n_heads) for n_heads in range(bits + 2)]
    assert verdicts == [Verdict.PROVED] * bits + [Verdict.UNDECIDED] * 2


def test_a_context_may_win_against_several_tokens():
    contexts, labels = np.array([[0, 0], [1, 0], [2, 0]]), np.arange(3)
    assert judged(contexts, labels, 1 - np.eye(3, dtype=np.int64), n_heads=0) is Verdict.PROVED
    assert judged(contexts, labels, 1 - np.eye(3, dtype=np.int64), n_heads=1) is Verdict.UNDECIDED


def test_relations_of_two_last_tokens_are_judged_one_after_the_other():
    both = np.concatenate([XOR, XOR + np.array([0, 0, 1])])
    assert judged(both, np.tile(LABELS, 2), np.tile(MULTIPLIERS, (2, 1))) is Verdict.PROVED
    with pytest.raises(InputError, match="n_heads = -1"):
        judged(n_heads=-1)


def test_xor_is_forbidden():
    assert judged() is Verdict.PROVED
    assert judged(multipliers=7 * MULTIPLIERS) is Verdict.PROVED
    assert judged(multipliers=MULTIPLIERS.astype(object) * 10**40) is Verdict.PROVED


@given(st.integers(0, 3), st.integers(0, 1), st.integers(-3, 3).filter(bool))
def test_a_changed_multiplier_proves_nothing(row, column, change):
    tampered = MULTIPLIERS.copy()
    tampered[row, column] += change
    assert judged(multipliers=tampered) is Verdict.UNDECIDED


@given(st.integers(0, 3), st.integers(0, 2), st.integers(1, 2))
def test_a_changed_context_proves_nothing(row, position, change):
    tampered = XOR.copy()
    tampered[row, position] += change
    if tampered[row, position] == 2 or position == 2 or tampered[row].tolist() not in XOR.tolist():
        assert judged(contexts=tampered) is Verdict.UNDECIDED


@given(st.lists(st.integers(0, 1), min_size=4, max_size=4).filter(lambda labels: labels != LABELS.tolist()))
def test_other_labels_prove_nothing(labels):
    assert judged(labels=np.array(labels)) is Verdict.UNDECIDED


def test_a_relation_between_contexts_of_different_last_tokens_proves_nothing():
    contexts = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]])
    assert judged(contexts=contexts) is Verdict.UNDECIDED
    # Over all last tokens together the indicators do add up to zero:
    assert (np.sort(contexts[:2], axis=0) == np.sort(contexts[2:], axis=0)).all()


@pytest.mark.parametrize(
    "changed",
    [
        {"multipliers": np.zeros((4, 2), dtype=np.int64)},
        {"multipliers": MULTIPLIERS.astype(float)},
        {"multipliers": -MULTIPLIERS},
        {"multipliers": MULTIPLIERS[:3]},
        {"multipliers": MULTIPLIERS[:, :1]},
        {"multipliers": MULTIPLIERS[:, 0]},
        {"multipliers": np.full((4, 2), np.nan)},
        {"labels": np.array([0, 0, 2, 2])},
        {"labels": np.array([0, 0, -1, -1])},
        {"labels": np.array([0.0, 0.0, 1.0, 1.0])},
        {"contexts": XOR.astype(float)},
        {"contexts": XOR[:, :0]},
        {"contexts": np.ma.masked_array(XOR, mask=XOR > 0)},
        {"labels": np.ma.masked_array(LABELS, mask=True)},
        {"multipliers": np.ma.masked_array(MULTIPLIERS, mask=MULTIPLIERS > 0)},
        {"contexts": np.zeros((0, 3), dtype=int), "labels": LABELS[:0], "multipliers": MULTIPLIERS[:0]},
    ],
)
def test_what_is_no_relation_proves_nothing(changed):
    assert judged(**changed) is Verdict.UNDECIDED


def test_the_same_tokens_at_other_positions_prove_nothing():
    contexts, multipliers = np.array([[0, 1, 0], [1, 0, 0]]), np.array([[0, 1], [1, 0]])
    assert judged(contexts, np.array([0, 1]), multipliers) is Verdict.UNDECIDED


def test_a_multiplier_at_the_label_itself_proves_nothing():
    multipliers = MULTIPLIERS.copy()
    multipliers[0, 0] = 1
    assert judged(multipliers=multipliers) is Verdict.UNDECIDED


@given(st.integers(0, 2**32), st.integers(2, 3), st.integers(2, 4), st.integers(2, 4), st.integers(1, 3))
def test_labels_that_heads_do_hold_are_never_forbidden(seed, d_vocab, n_ctx, n_labels, n_heads):
    rng = np.random.default_rng(seed)
    d_model, d_head, d_qk = rng.integers(1, 6), 1, rng.integers(1, 4)
    shapes = {
        "W_E": (d_vocab, d_model), "W_pos": (n_ctx, d_model),
        "W_Q": (n_heads, d_model, d_qk), "W_K": (n_heads, d_model, d_qk),
        "W_V": (n_heads, d_model, d_head), "W_O": (n_heads, d_head, d_model), "W_U": (d_model, n_labels),
    }  # fmt: skip
    network = dana_network(**{name: 2 * rng.standard_normal(shape) for name, shape in shapes.items()})
    contexts = all_contexts(d_vocab, n_ctx)
    found = logits(network, contexts)
    ranked = np.sort(found, axis=1)
    sure = ranked[:, -1] - ranked[:, -2] > 1e-6
    if sure.any():
        contexts, labels = contexts[sure], found[sure].argmax(axis=1)
        assert forbidding_multipliers(contexts, labels, n_heads=n_heads) is None


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 4))
def test_no_random_head_does_what_is_forbidden(seed, d_model, d_head):
    rng = np.random.default_rng(seed)
    d_head = min(d_head, d_model)
    shapes = {
        "W_E": (2, d_model), "W_pos": (3, d_model), "W_Q": (1, d_model, 2), "W_K": (1, d_model, 2),
        "W_V": (1, d_model, d_head), "W_O": (1, d_head, d_model), "W_U": (d_model, 2),
    }  # fmt: skip
    network = dana_network(**{name: rng.standard_normal(shape) for name, shape in shapes.items()})
    ahead = logits(network, XOR) @ np.array([1.0, -1.0])
    assert not (ahead[:2].min() > 1e-9 and ahead[2:].max() < -1e-9)
