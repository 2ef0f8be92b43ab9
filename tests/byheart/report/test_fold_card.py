"""The card beside weights that follow a rule with a state; tests/byheart/hosts/test_fold_export.py runs its lines."""

from byheart.report.fold_card import fold_card, usage
from constructions.folds.fold import addition, fold_of, maximum
from constructions.memories.heads.adder import adder
from constructions.model.entries import Entries

REPORT = {
    "headline": "MEMORIZED, PROVED: 16 of 16 inputs",
    "dtype": "float32",
    "every_run": "float32",
    "proved": {"memorized": 16, "wrong": 0},
    "measured": {"generated": {"inputs": 64, "right": 64, "largest_difference": 1e-6}},
}


def test_the_card_says_what_is_proved_and_how_it_is_checked():
    card = fold_card(REPORT, addition(2, base=2), Entries.of(adder(2, base=2)))
    assert "# Addition of 2 digits in base 2\n\n**MEMORIZED, PROVED: 16 of 16 inputs**" in card
    assert "- right, proved in real arithmetic and in every float32 run: 16 of 16 inputs\n" in card
    assert "- wrong, proved in real arithmetic: 0\n- right by `generate`, measured: 64 of 64 drawn inputs\n" in card
    assert "byheart check . --fast\nbyheart certify . --rule task.safetensors --every-run float32\n" in card
    card = fold_card({**REPORT, "every_run": None}, addition(2, base=2), Entries.of(adder(2, base=2)))
    assert "--every-run" not in card and "in every" not in card


def test_a_rule_of_ones_own_has_no_numbers_beside_its_prompt():
    bits = [((place,), [(0,), (1,)]) for place in range(2)]
    own = fold_of(lambda odd, bit: (odd ^ bit[0], odd ^ bit[0]), start=0, length=2, stages=bits, answer=[0, 1])
    assert "# A rule of one's own\n" in fold_card(REPORT, own, Entries.of(adder(2, base=2)))
    assert "prompt = [1, 1]\n" in usage(own) and "prompt = [2, 2, 2]\n" in usage(maximum(3, below=3))
