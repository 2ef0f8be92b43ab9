"""Trained adders that are kept: both are proved on all inputs, and a wrong sum of the damaged one is found."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from byheart.cli.main import main
from byheart.hosts.certify import certify_fold
from byheart.hosts.reading import read_model
from constructions.folds.fold import addition
from constructions.model.model import Model
from verify.folds.decoding import decoded
from verify.folds.rows import FoldRows
from verify.runs.formats import EXP_ULPS, FLOAT32

ADDERS = Path(__file__).parents[1] / "docs" / "trained" / "adders"
FOLD = addition(10)


@pytest.mark.parametrize("name", ["57p", pytest.param("100p", marks=pytest.mark.slow)])
def test_a_trained_adder_is_proved_on_all_inputs_and_asked_for_a_sum(name, tmp_path, capsys):
    figures = certify_fold(ADDERS / name / "model.safetensors", FOLD, handshake=False, out=tmp_path / name)
    assert (figures["verdict"], figures["right"], figures["undecided"]) == ("PROVED", 10**20, 0)
    assert main(["ask", str(tmp_path / name), "9999999999 + 1", "31415926535897 , 1", "1234567890 + 9876543210"]) == 2
    said = capsys.readouterr()
    lines = [line for line in said.out.splitlines() if " -> " in line]
    assert lines == [
        "9999999999 + 1 -> 10000000000: RIGHT, PROVED",
        "1234567890 + 9876543210 -> 11111111100: RIGHT, PROVED",
    ]
    assert "at most 10 digits" in said.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["57p", "100p"])
def test_a_trained_adder_is_proved_in_every_float32_run(name):
    proved = certify_fold(ADDERS / name / "model.safetensors", FOLD, every_run="float32", handshake=False)
    assert proved["every_run"] == {"dtype": "float32", "proved": True} and proved["right"] == 10**20


SIX = addition(6, plus=[10], equals=[11])


def test_the_adder_of_another_shape_is_right_on_sums_that_are_drawn():
    model = read_model(ADDERS / "qwen3")
    chosen = SIX.drawn(8)
    said = [decoded(model, prompt, len(SIX.answer)) for prompt in SIX.prompts(chosen).tolist()]
    assert said == list(map(tuple, SIX.answers(chosen).tolist()))


@pytest.mark.slow
def test_attention_that_depends_on_tokens_is_proved_on_all_inputs():
    model = read_model(ADDERS / "qwen3")
    rows = FoldRows(model, SIX, FLOAT32, EXP_ULPS)
    asking = rows.number[SIX.length - 1, 11]
    upper = rows.readable(asking, np.arange(asking + 1)).upper[0]
    first = upper[[rows.number[0, token] for token in range(10)]]
    assert first.max() > 1.05 * first.min()  # of one position, by token
    proved = certify_fold(ADDERS / "qwen3", SIX, every_run="float32")
    assert (proved["verdict"], proved["right"]) == ("PROVED", 10**12) and proved["every_run"]["proved"]


def test_the_damaged_adder_differs_in_one_weight_and_is_refuted_by_0_and_0(tmp_path, capsys):
    whole, damaged = (load_file(ADDERS / name / "model.safetensors") for name in ("100p", "100p-damaged"))
    changed = {name: np.argwhere(tensor != damaged[name]).tolist() for name, tensor in whole.items()}
    assert {name: places for name, places in changed.items() if places} == {"blocks.0.mlp.W_out": [[0, 0]]}
    figures = certify_fold(ADDERS / "100p-damaged" / "model.safetensors", FOLD, handshake=False, out=tmp_path / "out")
    assert (figures["verdict"], figures["wrong"]) == ("REFUTED", 1)
    wrong = figures["wrong_input"]
    assert wrong["prompt"] == [0] * 22 and wrong["decoded"] == [*[0] * 9, 1, 0]
    assert main(["ask", str(tmp_path / "out"), "0 + 0"]) == 1
    assert capsys.readouterr().out.startswith("0 + 0 -> 1000000000: WRONG, PROVED; the rule says 0")


def test_a_few_sums_that_are_drawn_at_random_do_not_show_the_damage():
    model, rng = Model.load(ADDERS / "100p-damaged" / "model.safetensors"), np.random.default_rng(0)
    chosen = np.stack([rng.integers(len(stage.choices), size=20) for stage in FOLD.stages], axis=1)
    said = [decoded(model, prompt, len(FOLD.answer)) for prompt in FOLD.prompts(chosen).tolist()]
    assert said == list(map(tuple, FOLD.answers(chosen).tolist()))
