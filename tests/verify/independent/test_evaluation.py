"""One model, two arithmetics: whatever is asked, and with however many bits, the answers hold the same numbers."""

from types import SimpleNamespace

import pytest
from flint import arb, arb_mat, ctx, fmpz_mat

from tests.layers import memory_layer, random_layer_task
from tests.memories import memory, random_task
from tests.verify.independent.test_ball_forward import read
from verify.independent import ball_forward, evaluation
from verify.independent.evaluation import Evaluation


def silent(*_):
    pass


def differences(found):
    """The outputs less the first of each row, with the error of both."""
    return [[x - row[0] + arb(0, 2 * error) for x in row] for _, row, error in found]


@pytest.mark.parametrize("beta", [0.1, 3.0, 300.0])
def test_integers_and_balls_hold_the_same_outputs(beta, monkeypatch):
    task = random_task()
    one = Evaluation(*read(memory(task, beta=beta), task), silent)
    assert one.is_network and not one.is_layer
    monkeypatch.setattr(ball_forward, "_CHUNK", 5)
    with ctx.workprec(256):
        few, many, balls = (differences(one.outputs(range(task.n_all), bits=bits, label="")) for bits in (60, 128, 256))
        for rows in zip(few, many, balls, strict=True):
            for a, b, c in zip(*rows, strict=True):
                assert a.overlaps(c) and b.overlaps(c) and a.overlaps(b)
                assert a.rad() < 1e-9 and b.rad() < 1e-25 and c.rad() < 1e-60
        some = differences(one.outputs([16, 3], bits=128, label=""))
        assert all(
            a.overlaps(b) for row, i in zip(some, (16, 3), strict=True) for a, b in zip(row, balls[i], strict=True)
        )


@pytest.mark.parametrize("kind", ["network", "layer"])
def test_features_hold_the_same_numbers_with_any_bits_and_are_let_go(kind):
    task = random_task() if kind == "network" else random_layer_task()
    model = memory(task) if kind == "network" else memory_layer(task, n_heads=3)
    one = Evaluation(*read(model, task), silent)
    found = [one.features(bits=bits, feature_bits=wanted) for bits, wanted in ((128, 60), (256, 120), (512, 120))]
    with ctx.workprec(600):
        matrices = [
            [
                [arb((n, -f.features_scale)) + arb(0, arb((f.features_error, -f.features_scale))) for n in row]
                for row in f.feature_rows(kind == "network")
            ]
            for f in found
        ]
        for rows in zip(*matrices, strict=True):
            for a, b, c in zip(*rows, strict=True):
                assert a.overlaps(b) and b.overlaps(c) and a.overlaps(c)
    one.forget_features()
    assert [list(one.outputs([0], bits=bits, label="")) for bits in (128, 256)]


def test_the_outputs_of_a_pass_that_kept_the_features_are_used_again(monkeypatch):
    task = random_layer_task()
    one = Evaluation(*read(memory_layer(task, n_heads=3), task), silent)
    shares = one.shares(bits=128)
    assert len(shares) == task.n_examples and all(len(row) == 3 for row in shares)
    monkeypatch.setattr(evaluation, "BallForward", None)
    assert len(list(one.outputs(range(task.n_examples), bits=128, label=""))) == task.n_examples


@pytest.mark.parametrize("error", [0, 1, 2**300 - 1])
def test_logits_are_exact_however_long_they_are_and_their_error_is_an_upper_bound(error):
    logits = fmpz_mat([[2**2000, 2**2000 - 1, -(2**1999) - 12345], [0, 3, -1]])
    found = SimpleNamespace(logit_scale=70, logit_error=error, logits=lambda: iter([logits]))
    with ctx.workprec(60):
        rows = list(evaluation._in_balls(found))
    with ctx.workprec(3000):
        assert [[x * arb((1, 70)) for x in row] for row, _ in rows] == arb_mat(logits).tolist()
        for _, radius in rows:
            assert arb((error, -70)) <= radius.upper() <= arb((error, -70)) * (1 + arb(2) ** -50)
