"""Trained models that are kept: what the table of domains says is proved again, and wrong inputs are named."""

import csv
from pathlib import Path

import numpy as np
import pytest

from byheart.hosts.certify import certify_rule
from byheart.hosts.reading import read_model
from byheart.terminal.rule_file import named_rule
from verify.forward.ladder import decide_argmax

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "docs" / "measured" / "trained_rules.csv").read_text(encoding="utf-8")
ROWS = {
    row["rule"].split("`")[1]: [int(cell.replace(",", "")) for cell in list(row.values())[2:6]]
    for row in csv.DictReader(TABLE.splitlines())
}
AFTER = {"addition_53": [53], "dyck": [2]}
slow = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["addition_53", "maximum", pytest.param("dyck", marks=slow), pytest.param("induction", marks=slow)]
)
def test_the_figures_of_the_table_are_proved_again_and_wrong_inputs_are_named(name, tmp_path):
    rule, after = named_rule(f"{ROOT}/benchmarks/trained/rules.py:{name}"), AFTER.get(name, [])
    assert not isinstance(rule, str)
    inputs, entries, *wrong = ROWS[name]
    for folder, expected in zip((name, f"{name}_nearly"), wrong, strict=True):
        place = ROOT / "docs" / "trained" / "rules" / folder
        tokens = after[0] if after else None
        figures = certify_rule(place, rule, tokens=tokens, after=after, handshake=False, out=tmp_path / folder)
        assert (figures["inputs"], figures["parameters"], figures["wrong"]) == (inputs, entries, expected)
        assert figures["right"] == inputs - expected and figures["undecided"] == 0
    rows = np.loadtxt(tmp_path / f"{name}_nearly" / "wrong.csv", delimiter=",", dtype=np.int64, ndmin=2)
    assert len(rows) == wrong[1] > 0
    said = decide_argmax(read_model(ROOT / "docs" / "trained" / "rules" / f"{name}_nearly"), rows[:, :-1]).place
    assert (said != rows[:, -1]).all() and (rule(rows[:, : rows.shape[1] - 1 - len(after)]) == rows[:, -1]).all()


def test_a_sample_calls_a_model_perfect_whose_wrong_input_is_proved():
    place = ROOT / "docs" / "trained" / "rules" / "maximum_nearly"
    draws = [certify_rule(place, "max", sample=10_000, seed=str(i), handshake=False) for i in range(3)]
    perfect = [each for each in draws if each["wrong"] == 0]
    assert len(perfect) >= 2 and all(each["headline"].startswith("SAMPLED") for each in perfect)
