"""Deep models: balls take as many bits as a model needs, and what holds in every float64 run holds exactly."""

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from verify.forward.ladder import decide_argmax
from verify.provers.memorization import judge
from verify.runs.every_run import argmax_of_every_run


@pytest.fixture(scope="module")
def deep():
    """150 layers, which need more bits than balls of 512."""
    rng, d = np.random.default_rng(0), 12

    def drawn(*shape):
        return rng.normal(size=shape) / np.sqrt(shape[-2])

    def norm():
        return Normalization("rms", w=np.ones(d), epsilon=1e-5)

    blocks = [
        FeedForward(drawn(d, 2 * d), drawn(2 * d, d), b_in=np.zeros(2 * d), activation="silu", skip=True, norm=norm())
        for _ in range(150)
    ]
    W_E, W_pos = rng.normal(size=(3, d)), rng.normal(size=(1, d))
    return Model(blocks=(*blocks, norm()), W_U=drawn(d, 3), W_E=W_E, W_pos=W_pos)


def test_a_deep_model_is_decided_in_balls_and_in_every_float64_run(deep, tmp_path, capsys):
    exact = decide_argmax(deep, np.array([[1], [2]])).place  # by balls of up to 4096 bits
    answers = np.where(exact < 0, 0, exact)
    rows = [([token], [int(answer)]) for token, answer in zip((1, 2), answers, strict=True)]
    without = certify(deep, rows, handshake=False)
    assert (without["verdict"], without["decided_by"]) == ("PROVED", "2 of 2 contexts in balls")
    out = tmp_path / "out"
    found = certify(deep, rows, handshake=False, every_run="float64", out=out)
    assert (found["every_run"]["right"], found["memorized"], found["verdict"]) == (2, 2, "PROVED")
    assert found["headline"].startswith("MEMORIZED, PROVED: 2 of 2 contexts, ")
    assert "every float64 run (fast prover only)" in found["headline"]
    assert main(["check", str(out), "--quiet", "--fast"]) == 0
    assert capsys.readouterr().out.startswith("MEMORIZED, PROVED: 2 of 2 contexts, ")
    spoiled = [rows[0], ([2], [int(answers[1] + 1) % 3])]
    wrong = certify(deep, spoiled, handshake=False, every_run="float64")
    assert (wrong["memorized"], wrong["wrong"], wrong["verdict"]) == (1, 1, "REFUTED")


def test_a_lead_of_every_run_is_no_larger_than_the_exact_one():
    rng = np.random.default_rng(1)
    for _ in range(20):
        W_U, W_E = rng.normal(size=(2, 3)), rng.normal(size=(4, 2))
        neurons = FeedForward(rng.normal(size=(2, 3)), rng.normal(size=(3, 2)), b_in=np.zeros(3), activation="relu")
        model = Model(blocks=(neurons,), W_U=W_U, W_E=W_E, W_pos=np.zeros((1, 2)))
        contexts = np.arange(4)[:, None]
        place, lead = argmax_of_every_run(model, contexts)
        task = array_task(contexts, next_tokens=np.maximum(place, 0), target="labels", vocabulary=4, answers=3)
        answers = judge(model, task).answers
        assert (place < 0).sum() <= 1 and (lead <= answers.margin_upper)[place >= 0].all()
