"""Rows before the last blocks, walked once in balls and read by every model that begins alike."""

from dataclasses import replace

import numpy as np
import pytest
from flint import ctx

from constructions.errors import InputError
from constructions.model.blocks import Normalization
from constructions.model.model import Model
from tests.edited_models import LENGTH, small_model
from verify import enclose_logits
from verify.forward.in_balls import logit_chunks_in_balls, rounded_outwards
from verify.forward.ladder import rising_of_parts
from verify.forward.stem import Stem

CONTEXTS = [(1, 2, 3), (0, 4, 4), (1, 2, 5)]
BITS = 300


def filled(model: Model, place: int) -> Stem:
    """A stem with the rows of the contexts."""
    stem = Stem(model, place)
    for _ in logit_chunks_in_balls(model, np.array(CONTEXTS), BITS, rows=9, seen=stem.keeper(CONTEXTS)):
        pass
    return stem


def with_another_end(model: Model, seed: int = 1) -> Model:
    """The same blocks but the last two, and another readout."""
    other = small_model(seed)
    return replace(model, blocks=(*model.blocks[:-2], *other.blocks[-2:]), W_U=other.W_U)


def test_a_model_that_begins_alike_has_the_same_outputs_behind_the_stem() -> None:
    model = small_model()
    stem = filled(model, len(model.blocks) - 2)
    for one in (model, with_another_end(model)):
        parts = [rounded_outwards(balls) for _, _, balls in stem.outputs(one, CONTEXTS)]
        exact = enclose_logits(one, np.array(CONTEXTS), precision=BITS)
        found = np.concatenate([part.midpoint for part in parts])
        assert np.abs(found - exact.midpoint).max() < 1e-14
        assert max(part.radius.max() for part in parts) < 1e-14


def test_the_balls_behind_a_stem_hold_the_exact_outputs_at_whatever_precision_it_was_walked() -> None:
    model = small_model()
    other = with_another_end(model)
    exact = enclose_logits(other, np.array(CONTEXTS), precision=1000)
    for bits in (16, 32, 64):
        stem = Stem(model, len(model.blocks) - 2)
        with ctx.workprec(bits):
            for _ in logit_chunks_in_balls(model, np.array(CONTEXTS), bits, rows=9, seen=stem.keeper(CONTEXTS)):
                pass
        [(_, _, balls)] = stem.outputs(other, CONTEXTS)
        found = rounded_outwards(balls)
        assert (np.abs(found.midpoint - exact.midpoint) <= found.radius + exact.radius).all()


def test_a_model_that_begins_otherwise_is_refused() -> None:
    model = small_model()
    stem = filled(model, len(model.blocks) - 2)
    another = small_model(1)
    for one in (another, replace(model, W_E=another.W_E), replace(model, W_pos=2.0 * model.W_pos)):
        assert not stem.belongs_to(one)
        with pytest.raises(InputError, match="begins otherwise"):
            rising_of_parts(one, [np.array(CONTEXTS)], [np.ones(3, dtype=bool)], stem=stem)
    first = replace(model, blocks=(replace(model.blocks[0]), *model.blocks[1:]))
    assert not stem.belongs_to(first)  # equal numbers, but nobody has compared them


def test_no_stem_stands_where_later_positions_or_other_rows_count() -> None:
    model, parallel = small_model(), small_model(parallel=True)
    last = len(model.blocks) - 2
    assert Stem.before(model, last) is not None
    assert Stem.before(model, 1) is None  # an attention comes behind it
    assert Stem.before(parallel, last) is None  # the neurons read what the attention in front has read
    plain = Model(blocks=(Normalization("rms", w=np.ones(2)),), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    assert Stem.before(plain, 0) is None  # no attention: nothing is shared


def test_contexts_that_are_known_are_not_walked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    stem, longer = filled(model, len(model.blocks) - 2), np.array([[5] * LENGTH, CONTEXTS[0]])
    walked = []

    def seen(*given: object, **options: object) -> object:
        walked.append(given[1])
        return logit_chunks_in_balls(*given, **options)

    monkeypatch.setattr("verify.forward.ladder.logit_chunks_in_balls", seen)
    is_open = np.ones(2, dtype=bool)
    for name, _, _, rows, _ in rising_of_parts(model, [longer], [is_open], precisions=("balls",), stem=stem):
        assert name == "balls"
        is_open[rows] = False
    assert [np.asarray(each).tolist() for each in walked] == [[[5] * LENGTH]]
    assert stem.known([(5,) * LENGTH]) == [0]


def test_a_model_that_begins_otherwise_is_refused_whatever_its_rows_are_called() -> None:
    model = small_model()
    stem = filled(model, len(model.blocks) - 2)
    for other in (small_model(1), replace(model, W_E=2.0 * np.asarray(model.W_E))):
        with pytest.raises(ValueError, match="does not begin with the blocks of the stem"):
            next(stem.outputs(other, CONTEXTS))
