"""The network in integers, against the enclosures that it shares no code with."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpz, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from constructions.models.shapes import dana_network
from tests.memories import memory, random_task
from verify.arithmetic.integers import dyadic
from verify.forward.heads import enclose_features
from verify.forward.logits import enclose_logits
from verify.independent import integer_forward
from verify.independent.ball_forward import NoInformationError
from verify.independent.integer_forward import IntegerForward
from verify.independent.plain.plain_model import PlainModel


def outputs(network, contexts, tmp_path):
    network.save(tmp_path / "model.safetensors")
    forward = IntegerForward(PlainModel.read(tmp_path / "model.safetensors"))
    tuples = [tuple(map(int, context)) for context in contexts]
    return forward.run(tuples, label="memorized", progress=lambda *_: None, feature_bits=60)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beta", [0.1, 3.0, 300.0])
def test_both_paths_enclose_the_same_logits_and_features(tmp_path, seed, beta):
    task = random_task(seed=seed)
    network = memory(task, beta=beta, seed=seed)
    found = outputs(network, task.contexts, tmp_path)
    logits = [row for block in found.logits() for row in block.tolist()]
    for enclosure, rows, scale, error in (
        (enclose_logits(network, task.contexts), logits, found.logit_scale, found.logit_error),
        (
            enclose_features(network, task.contexts),
            found.feature_rows(False),
            found.features_scale,
            found.features_error,
        ),
    ):
        radius = np.broadcast_to(enclosure.radius, enclosure.shape)
        for i, row in enumerate(rows):
            for j, n in enumerate(row):
                distance = abs(dyadic(int(n), scale) - Fraction(float(enclosure.midpoint[i, j])))
                assert distance <= Fraction(float(radius[i, j])) + dyadic(error, scale)
                assert dyadic(error, scale) < Fraction(1, 10**12)


def test_the_skip_connection_comes_before_the_features(tmp_path):
    task = random_task()
    network = memory(task)
    found = outputs(network, task.contexts, tmp_path)
    last = network.W_E[task.contexts[:, -1]] + network.W_pos[-1]
    row = next(iter(found.feature_rows(True)))
    assert len(row) == network.d_model + network.n_heads * network.d_head
    near = [float(dyadic(int(n), found.features_scale)) for n in row[: network.d_model]]
    assert np.abs(np.array(near) - last[0]).max() < 1e-12


@given(st.data(), st.integers(1, 5), st.sampled_from([1, 62, 63, 64, 65, 127, 128, 190]))
def test_integers_in_places_are_unpacked_as_they_were_packed_up_to_the_largest_that_fit(data, width, bits):
    slots = integer_forward._Slots(width, bits)
    entry = st.one_of(st.sampled_from([-(2**bits), 2**bits - 1, 0, -1]), st.integers(-(2**bits), 2**bits - 1))
    rows = data.draw(st.lists(st.lists(entry, min_size=width, max_size=width), min_size=1, max_size=3))
    shift = data.draw(st.integers(0, bits))
    for row, packed in zip(rows, slots.packed(fmpz_mat(rows)), strict=True):
        assert slots.unpacked([packed], 0) == row
        assert slots.unpacked([packed], shift) == [n >> shift for n in row]
        assert slots.unpacked([2 * packed - packed, packed], shift) == 2 * [n >> shift for n in row]


@pytest.mark.parametrize("room", [0, 40, 200])
@pytest.mark.parametrize("together", [1, 30, 512])
@pytest.mark.parametrize("alone", range(3))
def test_mixed_rows_are_sums_with_the_attention_weights_wherever_the_common_unit_lies(
    room, together, alone, monkeypatch
):
    """Two last tokens, three heads with scores far apart of which one is heard: against exact quotients."""
    monkeypatch.setattr(integer_forward, "_ROOM", room)
    monkeypatch.setattr(integer_forward, "_TOGETHER", together)
    bits, scale = 20, 3
    scores = {9: {0: 0, 1: -5, 2: -300, 3: -1200, 9: -40}, 8: {0: -900, 1: 0, 2: 3, 3: 800, 8: 790}}
    heads = [{last: {r: fmpz(n * k) for r, n in of.items()} for last, of in scores.items()} for k in (1, 0, -1)]
    powers = {last: [integer_forward._Exponentials.of(head[last], scale, bits) for head in heads] for last in scores}
    rows = [[1 + 10 * h + r**3 if h == alone else 0 for h in range(3)] for r in range(10)]
    cells = [[0, 1, 9], [2, 3, 9], [3, 2, 9], [2, 2, 8], [0, 2, 8], [3, 3, 8], [1, 1, 9]]
    found = dict(integer_forward._mixed(cells, powers, [fmpz_mat(3, 1, row) for row in rows], bits))
    assert sorted(found) == list(range(len(cells)))
    with mpmath.workprec(100):
        for i, cell in enumerate(cells):
            of = [int(heads[alone][cell[-1]][r]) for r in cell]
            exact = [mpmath.exp(mpmath.mpf(n - max(of)) / 2**scale) for n in of]
            values = [rows[r][alone] for r in cell]
            mean = mpmath.fsum(e * v for e, v in zip(exact, values, strict=True)) / mpmath.fsum(exact)
            error = (1 + 7 * (len(cell) + 1)) * sum(abs(v - values[-1]) for v in values)
            assert abs(int(found[i]) - mean * 2**bits) <= error
            assert error < 0.2 * mean * 2**bits


ONE_HEAD = ("W_Q", "W_K", "W_V", "W_O")


@pytest.mark.parametrize("bits", [60, 128])
@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("case", ["plain", "nothing", "huge", "tiny", "idle", "alike"])
def test_one_head_of_one_number_is_enclosed_in_the_smallest_and_in_the_most_extreme_cases(case, length, bits, tmp_path):
    """Against the formula in 3000 bits; scores of 10^8, entries of 0 and of 2^-500, a head that writes nothing."""
    rng = np.random.default_rng(length)
    weights = {name: rng.standard_normal((2, 1, 1)) for name in ONE_HEAD}
    embedded = rng.standard_normal((3, 1))
    if case == "nothing":
        weights = {name: 0 * weight for name, weight in weights.items()}
    if case == "huge":
        weights["W_Q"] *= 1e8
    if case == "tiny":
        weights["W_O"] *= 2.0**-500
    if case == "idle":
        weights["W_O"][1] = 0.0
    if case == "alike":
        embedded[:] = embedded[0]
    network = dana_network(W_E=embedded, W_pos=rng.standard_normal((length, 1)), W_U=np.ones((1, 1)), **weights)
    network.save(tmp_path / "model.safetensors")
    contexts = [tuple(map(int, rng.integers(0, 3, length))) for _ in range(4)]
    forward = IntegerForward(PlainModel.read(tmp_path / "model.safetensors"))
    found = forward.run(contexts, label="", progress=lambda *_: None, bits=bits, feature_bits=60)
    ((_, *logits),) = [[0, *(int(n) for n in block.entries())] for block in found.logits()]
    features = list(found.feature_rows(False))
    with mpmath.workprec(3000):
        for context, logit, feature in zip(contexts, logits, features, strict=True):
            x = [mpmath.mpf(embedded[t, 0]) + mpmath.mpf(network.W_pos[s, 0]) for s, t in enumerate(context)]
            hidden = x[-1]
            for head, n in enumerate(feature):
                query, key, value, output = (mpmath.mpf(weights[name][head, 0, 0]) for name in ONE_HEAD)
                powers = [mpmath.exp(x[-1] * query * y * key) for y in x]
                mean = mpmath.fsum(p * y for p, y in zip(powers, x, strict=True)) / mpmath.fsum(powers) * value
                hidden += mean * output
                assert abs(mpmath.ldexp(mean, found.features_scale) - n) <= found.features_error
            assert abs(mpmath.ldexp(hidden, found.logit_scale) - logit) <= found.logit_error
    assert found.features_error < (2 if length == 1 else 2**7 if bits == 128 else 2**10) + 1


def test_exponentials_that_no_ball_knows_say_nothing():
    found = integer_forward._exponentials({0: fmpz(0), 1: fmpz(-(2**110)), 2: fmpz(-1)}, 100, 20)
    assert [m.bit_length() for m, _ in found.values()] == [20, 20, 20]
    with pytest.raises(NoInformationError, match="differ by more"):
        integer_forward._exponentials({0: fmpz(0), 1: fmpz(-(2**300))}, 100, 20)
