"""Rules with a state in Python: certified, loaded, asked; what is wrong is said, and what is open is not."""

import numpy as np
import pytest

import byheart
from byheart.hosts.certify import certify_fold
from constructions.errors import InputError, TamperedError
from constructions.folds.fold import OWN, Fold, Stage, addition, maximum
from constructions.memories.heads.adder import adder
from constructions.memories.heads.whole_input import largest_token
from constructions.model.model import Model
from tests.byheart.hosts.test_fold_export import damaged
from verify.certificates.certificate import Certificate


def test_a_folder_is_loaded_and_asked_for_sums(tmp_path):
    made = certify_fold(adder(2, base=3), addition(2, base=3), out=tmp_path / "made")
    proved = byheart.load_fold(tmp_path / "made")
    assert (
        str(proved) == made["headline"] and f"<b>{made['headline'].replace('&', '&amp;')}</b>" == proved._repr_html_()
    )
    answers = proved.ask([f"{a} + {b}" for a in range(9) for b in range(9)])
    assert [answer.number for answer in answers] == [a + b for a in range(9) for b in range(9)]
    assert all(
        answer.right and answer.decoded == answer.answer and str(answer) == str(answer.number) for answer in answers
    )
    assert proved.ask("1 2 0 2 2 0").asked == "7 + 8"
    with pytest.raises(InputError, match="at most 2 digits in base 3"):
        proved.ask("9 + 1")


def test_tokens_are_said_where_the_rule_does_not_add(tmp_path):
    certify_fold(largest_token(3, below=4), maximum(3, below=4), out=tmp_path / "made")
    found = byheart.load_fold(tmp_path / "made").ask("1 3 2")
    assert (str(found), found.number, found.right) == ("3", None, True)
    assert found.words() == "1 3 2 -> 3: RIGHT, PROVED. It says 3, each token proved to have the largest logit."


def test_a_wrong_sum_is_said_to_be_wrong(tmp_path):
    wrong = certify_fold(damaged(2, 2), addition(2, base=2), out=tmp_path / "made")["wrong_input"]
    found = byheart.load_fold(tmp_path / "made").ask(" ".join(map(str, wrong["prompt"])))
    assert (
        found.right is False
        and list(found.decoded) == wrong["decoded"]
        and "WRONG, PROVED; the rule says" in found.headline()
    )
    assert found.number != found.expected


def test_equal_logits_are_open():
    """Both tokens have the same logits always: nothing is right, and nothing is wrong."""
    nothing = np.zeros((1, 1), dtype=np.int64)
    fold = Fold(OWN, 1, {}, (Stage((0,), nothing, nothing, nothing),), (0,))
    model = Model((), np.zeros((1, 2)), W_E=np.zeros((2, 1)), W_pos=np.zeros((1, 1)))
    from byheart.folds.proved_fold import ProvedFold

    certificate = Certificate.__new__(Certificate)
    found = ProvedFold(model, fold, certificate).ask("0")
    assert (found.right, found.decoded, str(found)) == (None, (), "undecided")
    assert found.headline() == "0 -> UNDECIDED; the rule says 0"
    assert found.decoded_words() == "It says nothing: two logits are equal, or too close to tell which is larger."


def test_a_folder_of_another_kind_or_of_other_weights_is_refused(tmp_path):
    certify_fold(adder(1, base=2), addition(1, base=2), out=tmp_path / "made")
    with pytest.raises(InputError, match="said token by token"):
        byheart.load(tmp_path / "made")
    adder(1, base=2, plus=(2,), equals=(2,)).save(tmp_path / "made" / "model.safetensors")
    with pytest.raises(TamperedError):
        byheart.load_fold(tmp_path / "made")
