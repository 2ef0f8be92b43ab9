"""What is known of the model before an edit."""

from dataclasses import replace

import numpy as np
import pytest

from constructions.model.appended_neurons import Appended, appended, editable, with_neurons, without_neurons
from tests.edited_models import TOKENS, small_model
from verify import decide_argmax, enclose_logits
from verify.edits.before import Before
from verify.edits.contexts import in_one_array, token_lists
from verify.edits.judge import preactivations, reading_model

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


def test_of_a_deep_model_nothing_is_asked_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of many blocks, of which it is predicted that float64 says nothing: balls alone decide the same."""
    model = small_model(2)
    wide = Before(model, editable(model).place)
    assert wide.precisions(CONTEXTS) == ("float64", "double-double", "balls")
    monkeypatch.setattr("verify.edits.before._DEEP", 0)
    monkeypatch.setattr("verify.edits.before._HOPELESS", 0)
    deep = Before(model, editable(model).place)
    assert deep.precisions(CONTEXTS) == ("balls",)
    assert deep.leads(CONTEXTS)[0].tolist() == wide.leads(CONTEXTS)[0].tolist()
    rng = np.random.default_rng(0)
    more = Appended(rng.normal(size=(12, 2)), rng.normal(size=2), rng.normal(size=(2, 12)))
    edited = with_neurons(model, more)
    for before in (wide, deep):
        reads = np.zeros((len(CONTEXTS), 2))
        for places, inside in preactivations(edited, 2, CONTEXTS, before=before):
            assert inside.radius.max() < 1e-9
            reads[places] = inside.midpoint
        exact = [enclose_logits(reading_model(edited, 2), np.array([row])).midpoint[0] for row in token_lists(CONTEXTS)]
        assert np.allclose(reads, exact)
        answers = [decide_argmax(edited, np.array([row])).place[0] for row in token_lists(CONTEXTS)]
        assert before.decided(edited, CONTEXTS, is_rounded=False).tolist() == answers


def test_what_is_known_of_another_model_or_place_is_not_taken() -> None:
    model, other = small_model(2), small_model(3)
    place = editable(model).place
    known = Before(model, place)
    assert Before.of(model, place, known) is known
    for another in (Before.of(other, place, known), Before.of(model, place - 2, known), Before.of(model, place, None)):
        assert another is not known
