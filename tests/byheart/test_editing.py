from pathlib import Path

import pytest

from byheart.editing import edit
from byheart.hosts.reading import read_model
from constructions.errors import HypothesisError, InputError
from tests.edited_hosts import LENGTH, TOKENS, answer, facts, gpt2


def test_a_deleted_context_is_answered_as_asked(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    before = read_model(source)
    first = answer(before, [1, 2])
    other = (first + 3) % TOKENS
    done = edit(source, delete=facts([[1, 2]], [first]), to=str(other), keep_domain=LENGTH)
    assert answer(done.model, [1, 2]) == other
    flat = edit(source, delete=facts([[1, 2]], [first]), to="uniform", keep_domain=LENGTH)
    assert flat.certificate.values["flat"] == 1 and flat.certificate.values["spread"] < 1.0
    with pytest.raises(InputError, match="which the model answers by"):
        edit(source, delete=facts([[1, 2]], [other]))
    with pytest.raises(InputError, match="to is 'nobody'"):
        edit(source, delete=facts([[1, 2]], [first]), to="nobody")


def test_a_kept_fact_that_contradicts_an_edit_or_that_the_model_does_not_give_is_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    first = answer(read_model(source), [1, 2])
    with pytest.raises(InputError, match="which an edit is to change"):
        edit(source, facts([[1, 2]], [(first + 1) % TOKENS]), keep=facts([[1, 2]], [first]))
    with pytest.raises(InputError, match="not proved to give"):
        edit(source, facts([[0, 0]], [1]), keep=facts([[1, 2]], [(first + 1) % TOKENS]))


def test_what_cannot_be_edited_is_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    with pytest.raises(InputError, match="facts and delete are missing"):
        edit(source)
    with pytest.raises(InputError, match="at most one"):
        edit(source, facts([[0, 0]], [1]), keep=facts([[1, 1]], [0]), keep_domain=2)
    for given, said in (({"to": "uniform"}, "nothing is deleted"), ({"keep_length": 2}, "no rule is kept")):
        with pytest.raises(InputError, match=said):
            edit(source, facts([[0, 0]], [1]), **given)
    with pytest.raises(InputError, match="no folder of a host"):
        edit(read_model(source), facts([[0, 0]], [1]), out=tmp_path / "out")
    with pytest.raises(InputError, match="different lengths"):
        edit(source, facts([[0, 0]], [1]), delete=facts([[0]], [answer(read_model(source), [0])]))
    with pytest.raises(InputError, match="delete has contexts of 99 tokens"):
        edit(source, facts([[0, 0]], [1]), delete=facts([[0] * 99], [1]))
    other = gpt2(tmp_path / "o", seed=1, model_type="bert")
    with pytest.raises(InputError, match="model_type 'bert'"):
        edit(other, facts([[0, 0]], [1]))


def test_contexts_that_the_model_does_not_tell_apart_are_refused(tmp_path: Path) -> None:
    source = gpt2(tmp_path / "m")
    weights = dict(read_model(source).tensors())
    weights["embed.W_E"] = weights["embed.W_E"].copy()
    weights["embed.W_E"][6] = weights["embed.W_E"][5]
    twin = read_model(source).with_each(lambda name, tensor: weights[name])
    with pytest.raises(
        HypothesisError, match=r"cuts context \[1, 5\] off from context \[1, 6\]; along the row itself the gap is 0"
    ):
        edit(twin, facts([[1, 5]], [0]), keep_domain=LENGTH)
