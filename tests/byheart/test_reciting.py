from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart.reciting import decoded, recitation, recite, whole_text
from constructions.errors import InputError
from constructions.probes.probe_memory import probe_memory
from constructions.tasks.arrays import array_task
from constructions.tasks.recitation import text_path

VERSE = "so much depends upon a red wheel barrow glazed with rain water beside the white chickens"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verse") / "out"
    byheart.memorize(VERSE, whole=True, memory="probes", out=path)
    return path


def test_the_whole_text_is_said_and_proved_of_every_run(folder: Path) -> None:
    found = recite(folder)
    assert found.whole and found.text == VERSE
    assert found.headline() == "BY HEART, PROVED: 83 of 83 tokens after the first 5, in every float32 run"


def test_one_run_says_the_same(folder: Path) -> None:
    pytest.importorskip("torch")
    assert "".join(decoded(folder, recite(folder))) == VERSE[5:]


def test_it_goes_on_from_any_place_of_the_text(folder: Path) -> None:
    found = recite(folder, start="a red whe")
    assert found.text == VERSE[VERSE.index("a red whe") + 4 :]
    assert found.headline() == "BY HEART, PROVED: 58 of 58 tokens behind 'd whe', in every float32 run"
    with pytest.raises(InputError, match="start is 'nowhere'"):
        recite(folder, start="nowhere")


def test_a_table_that_is_wrong_in_one_place_is_said_to_that_place() -> None:
    task = whole_text(VERSE)
    model = probe_memory(task).model
    spoilt = model.with_each(lambda name, tensor: _one_more(tensor) if name == "unembed.b_U" else tensor)
    found = recitation(spoilt, task)
    assert not found.headline().startswith("BY HEART")
    assert VERSE.startswith(found.text) and len(found.text) < len(VERSE)


def _one_more(tensor: np.ndarray) -> np.ndarray:
    changed = tensor.copy()
    changed[3] += 5.0
    return changed


@given(st.text("abc ", min_size=3, max_size=60))
def test_the_facts_of_a_text_know_where_it_begins_and_how_long_it_is(text: str) -> None:
    task = whole_text(text)
    start = text[: task.n_ctx]
    is_round = text.endswith(start) and task.n_contexts > 1
    if is_round:
        with pytest.raises(InputError, match="say where to start"):
            text_path(task, None)
    path = text_path(task, start if is_round else None)
    names = task.vocabulary
    said = "".join(names[t] for t in task.contexts[path[0]]) + "".join(names[task.labels[i]] for i in path)
    assert said == text


def test_frequent_contexts_of_a_text_are_not_said_as_if_they_were_a_text(tmp_path: Path) -> None:
    # Decoding these four goes round and round: it is proved, and stands nowhere in the text.
    (tmp_path / "text").write_text("xyz" + "ab" * 10 + "ac" * 3)
    byheart.memorize(tmp_path / "text", context=2, facts_at_most=4, target="labels", out=tmp_path / "out")
    with pytest.raises(InputError, match="holds no text by heart"):
        recite(tmp_path / "out")


@pytest.mark.parametrize("following", [[1, 1, 2], [1, 0, 2], [0, 2, 1]])
def test_facts_that_do_not_hang_together_are_no_text(following: list[int]) -> None:
    task = array_task(np.array([[0], [1], [2]]), next_tokens=np.array(following), target="labels", vocabulary=3)
    with pytest.raises(InputError, match=r"no text|say where"):
        text_path(task, None)


def test_what_cannot_be_learned_whole_is_refused() -> None:
    with pytest.raises(InputError, match="unit"):
        whole_text("a word", "word")
    with pytest.raises(InputError, match="learned whole"):
        byheart.memorize({("a",): "b"}, whole=True)
    with pytest.raises(InputError, match="context"):
        byheart.memorize(VERSE, whole=True, context=4)
