"""Heads of one last token each: exactly block-diagonal features, refereed over the rationals, and certified weights."""

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.heads_of_theorem_1 import last_token_heads
from constructions.heads_of_theorem_1.last_token_heads import (
    centred_features,
    fewest_parameters_by_last_tokens,
    last_token_heads_memory,
)
from constructions.model.attention import attention, features, last
from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network
from constructions.model.precision import Precision
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.text import text_task
from tests.by_kernel import check_by_kernel
from verify.forward.in_rationals import exact_network_logits, exact_outputs
from verify.provers.memorization import certify_memorization


def exact_front_end(contexts: np.ndarray, heads: dict[int, int], d_head: int, seed: int) -> ExactFrontEnd:
    """The front end of the theorem with integer scores, so many heads for each last token, the idle one at the end."""
    rng = np.random.default_rng(seed)
    tokens, n_ctx = int(contexts.max()) + 1, contexts.shape[1]
    width = tokens + n_ctx
    W_V = as_rationals(rng.integers(-9, 10, (width, d_head)))
    keys = rng.integers(-6, 7, (sum(heads.values()) + 1, width, 1))
    keys[:, tokens:] *= 2  # positions are halves of a unit vector
    queries = [np.eye(width, dtype=np.int64)[:, [c]] for c, count in heads.items() for _ in range(count)]
    queries.append(np.zeros((width, 1), dtype=np.int64))
    W_pos = as_rationals(np.eye(n_ctx, width, tokens, dtype=np.int64)) / 2
    return ExactFrontEnd(
        W_E=as_rationals(np.eye(tokens, width, dtype=np.int64)),
        W_pos=W_pos,
        W_Q=tuple(as_rationals(query) for query in queries),
        W_K=tuple(as_rationals(key) for key in keys),
        W_V=(W_V,) * len(queries),
    )


def centred(front_end: ExactFrontEnd, contexts: np.ndarray) -> list[list[fmpq]]:
    """What each head reads more than the last one, exactly, `[T][(H - 1) d_h]`."""
    read = exact_outputs(front_end, contexts).tolist()
    width, d_head = front_end.d_model, front_end.d_head
    rows = [row[width:] for row in read]
    return [[row[j] - row[len(row) - d_head + j % d_head] for j in range(len(row) - d_head)] for row in rows]


@pytest.mark.parametrize(("tokens", "n_ctx"), [(1, 2), (1, 4), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (5, 2)])
@pytest.mark.parametrize("d_head", [1, 2])
def test_the_features_are_block_diagonal_and_have_full_rank_over_the_rationals(
    tokens: int, n_ctx: int, d_head: int
) -> None:
    contexts = all_contexts(tokens, n_ctx)
    each = int(tokens ** (n_ctx - 1))  # as many heads as contexts, for each last token
    front_end = exact_front_end(contexts, dict.fromkeys(range(tokens), each), d_head, seed=3)
    rows = centred(front_end, contexts)
    for context, row in zip(contexts.tolist(), rows, strict=True):
        own = slice(context[-1] * each * d_head, (context[-1] + 1) * each * d_head)
        assert all(entry == 0 for entry in row[: own.start] + row[own.stop :])
    assert fmpq_mat(rows).rank() == len(contexts)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 4), st.integers(1, 3))
def test_exact_weights_have_exactly_the_logits_that_are_asked_for(
    seed: int, tokens: int, n_ctx: int, d_head: int
) -> None:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (7, n_ctx)), axis=0)
    last_tokens, counts = np.unique(contexts[:, -1], return_counts=True)
    heads = dict(zip(last_tokens.tolist(), (counts + 1).tolist(), strict=True))
    front_end = exact_front_end(contexts, heads, d_head, seed)
    width = front_end.d_model
    W_U, targets = (as_rationals(rng.integers(-9, 10, (n, width))).transpose() for n in (3, len(contexts)))
    targets = targets.transpose()
    block = fmpq_mat(centred(front_end, contexts))
    gram = block * block.transpose()
    assume(gram.det() != 0)  # integer keys may coincide; the theorem is about almost all
    missing = targets - fmpq_mat([row[:width] for row in exact_outputs(front_end, contexts).tolist()])
    written = (block.transpose() * gram.solve(missing)).tolist()
    W_O = [fmpq_mat(written[start : start + d_head]) for start in range(0, len(written), d_head)]
    W_O.append(-sum(W_O[1:], W_O[0]))
    assert exact_network_logits(exact_network(front_end, W_O, W_U), contexts) == targets * W_U


@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(2, 5),
    st.sampled_from(["labels", "distributions"]),
    st.sampled_from(["float64", "float32"]),
)
def test_any_contexts_of_two_tokens_or_more_are_memorized(
    seed: int, tokens: int, n_ctx: int, target: str, dtype: Precision
) -> None:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (int(rng.integers(1, 60)), n_ctx)), axis=0)
    given: dict[str, object] = {"next_tokens": rng.integers(0, tokens, len(contexts))}
    if target == "distributions":
        given = {"distributions": rng.dirichlet(np.ones(tokens), len(contexts))}
        given["distributions"] = (given["distributions"] + 0.01) / (1 + 0.01 * tokens)  # pyright: ignore[reportOperatorIssue]
    task = array_task(contexts, vocabulary=tokens, target=target, **given)  # pyright: ignore[reportArgumentType]
    built = last_token_heads_memory(task, dtype=dtype, seed=seed % 2**31)
    if dtype == "float32":
        assert all((x.astype(np.float32) == x).all() for x in built.model.tensors().values())
    judged = certify_memorization(built.model, task).certificate
    assert judged.answers.values["memorized"] == judged.subject.sizes["contexts"]


def test_a_head_is_busy_after_its_own_token_and_exactly_uniform_after_others() -> None:
    task = enumerated_task(4, 3, seed=2)
    built = last_token_heads_memory(task, d_head=2)
    assert built.owner.tolist()[-1] == -1 and set(built.owner[:-1].tolist()) == {0, 1, 2, 3}
    for head, owner in enumerate(built.owner.tolist()):
        own = task.contexts[:, -1] == owner
        pattern = attention(built.model, task.contexts, head)
        assert (np.abs(pattern[~own] * 3.0 - 1.0) <= 4e-16).all()
        assert (np.ptp(pattern[own], axis=1) > 0.01).any() == (owner >= 0)
        query = (task.contexts[:, -1, None] == np.arange(4)) @ built.model.W_Q[head, :4, 0]
        assert ((query == 0.0) == ~own).all()


def test_what_heads_read_more_than_uniform_attention_is_what_the_network_reads() -> None:
    task = text_task("to be or not to be, that is the question", context=3)
    built = last_token_heads_memory(task, d_head=3)
    model, width = built.model, 3
    read = features(model, task.contexts).reshape(task.n_contexts, -1, width)
    values = model.W_E @ model.W_V[0], model.W_pos @ model.W_V[0]
    for token in np.unique(task.contexts[:, -1]):
        rows, heads = task.contexts[:, -1] == token, built.owner == token
        own = centred_features(task.contexts[rows], model.W_K[heads, : len(values[0]) + len(values[1]), 0], values)
        wanted = read[rows][:, heads] - read[rows][:, -1:]
        assert np.abs(own - wanted.reshape(own.shape)).max() < 1e-14
    assert task.distributions is not None
    stream = last(model, task.contexts) + features(model, task.contexts) @ model.W_O.reshape(-1, model.d_model)
    assert (
        np.abs(
            stream[:, : task.n_answers] - (np.log(task.distributions) - np.log(task.distributions).mean(1)[:, None])
        ).max()
        < 1e-10
    )


def test_all_features_have_the_smallest_singular_value_that_their_blocks_promise() -> None:
    task = enumerated_task(4, 3, seed=2)
    built = last_token_heads_memory(task, d_head=2)
    model, owner = built.model, built.owner
    read = features(model, task.contexts)
    blocks = []
    for token in range(4):
        rows, heads = task.contexts[:, -1] == token, np.repeat(owner == token, 2)
        blocks.append(read[rows][:, heads] - np.tile(read[rows][:, -2:], (1, int(heads.sum()) // 2)))
    smallest = min(np.linalg.svd(block, compute_uv=False)[-1] for block in blocks)
    assert np.linalg.svd(read, compute_uv=False)[-1] >= smallest / np.sqrt(model.n_heads) > 0.0


def test_large_tasks_are_worked_on_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts, rng = all_contexts(3, 3), np.random.default_rng(0)
    keys, values = rng.standard_normal((4, 6)), (rng.standard_normal((3, 2)), rng.standard_normal((3, 2)))
    whole = centred_features(contexts, keys, values)
    monkeypatch.setattr(last_token_heads, "_WORKING_ENTRIES", 1)
    assert (centred_features(contexts, keys, values) == whole).all() and whole.shape == (27, 8)


def test_the_fewest_heads_and_parameters_are_bounds_of_what_is_built() -> None:
    for task in (enumerated_task(4, 3, seed=1), enumerated_task(6, 2, target="distributions"), enumerated_task(1, 3)):
        built = last_token_heads_memory(task)
        counts = np.bincount(task.contexts[:, -1])
        d_head = built.model.d_head
        assert built.fewest == 1 + sum(-(-n // d_head) for n in counts.tolist()) <= built.model.n_heads
        assert fewest_parameters_by_last_tokens(task) <= built.model.parameters
        assert built.condition <= 1e4 and built.residual < 1e-9


def test_both_readers_prove_it_and_not_of_other_distributions(tmp_path) -> None:
    task, other = (
        enumerated_task(3, 3, target="distributions", seed=1),
        enumerated_task(3, 3, target="distributions", seed=2),
    )
    built = last_token_heads_memory(task)
    certify_memorization(built.model, task, rank=True).save(tmp_path)
    built.model.save(tmp_path / "model.safetensors")
    task.save(tmp_path / "task.safetensors")
    report = check_by_kernel(tmp_path)
    assert report.verdict.value == "PROVED"
    judged = certify_memorization(built.model, other).certificate
    assert judged.verdict.value == "REFUTED"


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HypothesisError, match="contexts of two tokens or more, but they have 1"):
        last_token_heads_memory(enumerated_task(3, 1))
    with pytest.raises(InputError, match=r"d_head = 7, expected 1 .. d_model = 6"):
        last_token_heads_memory(enumerated_task(4, 2), d_head=7)
    with pytest.raises(InputError, match="dtype = 'half'"):
        last_token_heads_memory(enumerated_task(2, 2), dtype="half")  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(last_token_heads, "_TRIES", 0)
    with pytest.raises(CapacityError, match="features of full rank for every last token, but no draw"):
        last_token_heads_memory(enumerated_task(2, 2))


@pytest.mark.parametrize(("tokens", "n_ctx"), [(1, 2), (1, 4), (2, 2), (2, 4), (4, 3), (6, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_common_pairs_have_heads_of_their_own_and_everything_is_memorized(
    monkeypatch: pytest.MonkeyPatch, tokens: int, n_ctx: int, dtype: Precision
) -> None:
    monkeypatch.setattr(last_token_heads, "_COSTLY", 0)
    monkeypatch.setattr(last_token_heads, "_PAIR", 1)
    task = enumerated_task(tokens, n_ctx, target="distributions", seed=1)
    built = last_token_heads_memory(task, dtype=dtype)
    assert certify_memorization(built.model, task).certificate.answers.values["memorized"] == task.n_contexts


def test_heads_of_a_pair_see_the_position_before_the_last_alone_after_other_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(last_token_heads, "_COSTLY", 40)
    monkeypatch.setattr(last_token_heads, "_PAIR", 11)
    contexts = np.array([c for c in all_contexts(4, 4).tolist() if c[3] == 1 or c[2] == 2])
    contexts = contexts[(contexts[:, 3] != 1) | (contexts[:, 2] != 0) | (contexts[:, 0] < 2)]  # (0, 1) is a rare pair
    task = array_task(contexts, vocabulary=4, next_tokens=contexts[:, 0], target="labels")
    built = last_token_heads_memory(task)
    W_K = built.model.W_K[:, :, 0]
    gated = W_K[:, 4 + 2] > 100.0
    removing = np.flatnonzero(gated & ~W_K[:, :4].any(axis=1))
    assert built.owner[gated].tolist() == [1] * int(gated.sum()) and built.owner[removing].tolist() == [1]
    of_pair = np.flatnonzero(gated & (W_K[:, :4] < -40.0).any(axis=1))
    assert sorted(set(W_K[of_pair, :4].argmin(axis=1).tolist())) == [1, 2, 3]  # 0 before 1 is rare
    for head in of_pair:
        own = (contexts[:, 3] == 1) & (contexts[:, 2] == W_K[head, :4].argmin())
        others = (contexts[:, 3] == 1) & ~own
        pattern = attention(built.model, contexts, head)
        assert (1.0 - pattern[others, 2] < 1e-15).all() and (pattern[others][:, [0, 1, 3]] < np.exp(-40.0)).all()
        assert (1.0 - pattern[own & (np.ptp(contexts, axis=1) > 0), 2] > 1e-9).all()
    written = built.model.W_O
    assert np.abs(written[removing[0]] + written[of_pair].sum(axis=0)).max() <= 1e-12 * np.abs(written).max()
    assert certify_memorization(built.model, task).certificate.answers.values["memorized"] == task.n_contexts


@pytest.mark.parametrize(("tokens", "n_ctx"), [(2, 2), (1, 3), (2, 3), (3, 3), (2, 4)])
def test_what_heads_of_pairs_leak_is_bounded_and_they_have_full_rank_over_the_rationals(
    tokens: int, n_ctx: int
) -> None:
    rng, gate, d_head = np.random.default_rng(7), 24, 2
    contexts = np.array([context for context in all_contexts(tokens, n_ctx).tolist() if context[-1] == 0])
    n_heads = tokens ** (n_ctx - 2)  # as many for each pair as it ends contexts
    values = rng.integers(-9, 10, (n_ctx, tokens, d_head))

    def weights(token_keys: np.ndarray, place_keys: np.ndarray, context: np.ndarray) -> tuple[list[fmpq], int]:
        scores = token_keys[context] + place_keys  # of base 2, exactly
        powers = [fmpq(2) ** int(score) for score in scores]
        gap = int(scores[-2] - np.delete(scores, -2).max())
        return [power / sum(powers, fmpq(0)) for power in powers], gap

    def read(pattern: list[fmpq], context: np.ndarray) -> list[fmpq]:
        seen = values[np.arange(n_ctx), context].tolist()
        return [sum((a * v[j] for a, v in zip(pattern, seen, strict=True)), fmpq(0)) for j in range(d_head)]

    for token in range(tokens):
        token_keys, place_keys = rng.integers(-4, 5, (n_heads, tokens)), rng.integers(-4, 5, (n_heads, n_ctx))
        token_keys[:, token] -= gate
        place_keys[:, -2] += gate
        rows = []
        for context in contexts:
            row: list[fmpq] = []
            for head in range(n_heads):
                pattern, gap = weights(token_keys[head], place_keys[head], context)
                usual = values[-2 + n_ctx, context[-2]].tolist()
                surplus = [a - v for a, v in zip(read(pattern, context), usual, strict=True)]
                row += surplus
                if context[-2] != token:
                    largest = int(np.abs(values[np.arange(n_ctx), context]).max())
                    assert gap >= gate - 16 and max(map(abs, surplus)) <= 2 * (n_ctx - 1) * fmpq(largest, 2**gap)
            if context[-2] == token:
                rows.append(row)
        assert fmpq_mat(rows).rank() == len(rows) == n_heads
