"""What is known of the model before an edit."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.model.appended_neurons import Appended, appended, editable, with_neurons, without_neurons
from tests.edited_models import TOKENS, small_model
from verify import decide_argmax, enclose_logits
from verify.edits.before import Before
from verify.edits.contexts import in_one_array, token_lists
from verify.edits.judge import reading_model

CONTEXTS = in_one_array([[1, 2, 3], [4], [0, 5], [5], [2, 2, 1]])


def test_leads_are_below_those_of_the_exact_logits_and_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(2)
    before = Before(model, editable(model).place)
    place, lead = before.leads(CONTEXTS)
    for number, row in enumerate(token_lists(CONTEXTS)):
        assert place[number] == decide_argmax(model, np.array([row])).place[0]
        least, most = np.sort(enclose_logits(model, np.array([row]), precision=300).midpoint[0])[-2:]
        assert 0.0 < lead[number] <= most - least + 1e-15
    monkeypatch.setattr("verify.edits.before.rising", lambda *given, **options: iter(()))
    again = before.leads(CONTEXTS[[2, 0]])
    assert again[0].tolist() == place[[2, 0]].tolist() and again[1].tolist() == lead[[2, 0]].tolist()


def test_a_tie_is_not_decided() -> None:
    model = small_model(2)
    tied = replace(model, W_U=np.repeat(model.W_U[:, :1], TOKENS, axis=1))
    place, lead = Before(tied, editable(tied).place).leads(CONTEXTS[1:2])
    assert place.tolist() == [-1] and lead[0] <= 0.0


@pytest.mark.parametrize("layer", [None, 0])
def test_the_edited_model_and_what_its_neurons_read_are_the_same_in_terms_of_the_original(layer: int | None) -> None:
    model, rng = small_model(2), np.random.default_rng(0)
    more = Appended(rng.normal(size=(12, 2)), rng.normal(size=2), rng.normal(size=(2, 12)))
    edited = with_neurons(model, more, layer=layer, everywhere=True)
    assert without_neurons(edited, 2, layer=layer, everywhere=True).sha256() == model.sha256()
    before, rows = Before(model, editable(model, layer).place), CONTEXTS[[0, 4]]
    after, reader = before.after(edited), before.reader(editable(edited, layer), appended(edited, 2, layer))
    for one, two in ((after, edited), (reader, reading_model(edited, 2, layer))):
        assert np.array_equal(*(enclose_logits(each, rows, precision=200).midpoint for each in (one, two)))
    assert before.stem is None or before.stem.belongs_to(after)
