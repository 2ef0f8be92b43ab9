from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import byheart
from byheart import reciting
from byheart.facts import learns_whole, read_facts
from byheart.reciting import decoded, recitation, recite, whole_text
from constructions.errors import InputError
from constructions.memories.probes.probe_memory import probe_memory
from constructions.tasks.recitation import encoded, in_parts, titles, unit_of
from constructions.tasks.text import Unit
from constructions.tasks.windows import END
from tests.verify.runs.test_every_run import transformer
from verify.runs.formats import FLOAT32
from verify.runs.rounding import rounding_bound
from verify.torch.module import Replica
from verify.torch.run import run

VERSE = "so much depends upon a red wheel barrow glazed with rain water beside the white chickens"
POEMS = {"tiger": "tiger tiger burning bright", "rose": "rose is a rose is a rose is a rose", "ü": "x"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verse") / "out"
    byheart.memorize(VERSE, memory="probes", out=path)
    return path


@pytest.fixture(scope="module")
def poems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("poems")
    for title, text in POEMS.items():
        (path / f"{title}.txt").write_text(text)
    byheart.memorize(path, unit="word", memory="probes", out=path / "out")
    return path / "out"


def test_the_whole_text_is_said_and_proved_of_every_run(folder: Path) -> None:
    found = recite(folder)
    assert found.text == VERSE
    assert found.headline() == "BY HEART, PROVED: 88 of 88 characters, in every float32 run"


def test_one_run_says_the_same_and_where_it_ends(folder: Path, poems: Path) -> None:
    assert "".join(decoded(folder)) == VERSE
    assert "".join(decoded(folder, start="water be")) == "side the white chickens"
    assert "".join(decoded(poems, "rose")) == POEMS["rose"]


def test_it_goes_on_from_any_place_of_the_text(folder: Path) -> None:
    found = recite(folder, start="a red whe")
    assert found.text == VERSE[VERSE.index("a red whe") :]
    assert found.headline() == "BY HEART, PROVED: 58 of 58 characters after 'a red whe', in every float32 run"
    for nowhere in ("nowhere", "", VERSE + "!"):
        with pytest.raises(InputError, match="start is"):
            recite(folder, start=nowhere)


def test_texts_are_said_by_their_titles(poems: Path) -> None:
    for title, text in POEMS.items():
        assert recite(poems, title).text == text
    assert recite(poems).headline() == "BY HEART, PROVED: 61 of 61 characters of 3 texts, in every float32 run"
    assert recite(poems, "rose", start="rose is").text == POEMS["rose"]
    with pytest.raises(InputError, match="title is 'lion', and no text has it, expected one of rose, tiger, ü"):
        recite(poems, "lion")
    with pytest.raises(InputError, match="no text has it, expected none"):
        recitation(probe_memory(whole_text("ab")).model, whole_text("ab"), "a")


def test_a_title_that_is_the_name_of_the_end_is_refused() -> None:
    assert titles(whole_text({"end": "a", "|end": "b", "": "c"})) == ("end", "|end", "")
    with pytest.raises(InputError, match=r"title '\|end\|' is how the end of a text is called"):
        whole_text({"|end|": "a", "b": "c"})


def test_a_title_keeps_repeats_apart() -> None:
    texts = {"a": "x y z 1", "b": "x y z 2"}
    assert whole_text(texts).n_ctx == 2 + 1 and whole_text("".join(texts.values())).n_ctx == 7
    assert titles(whole_text(texts)) == ("a", "b")


def test_a_table_that_is_wrong_in_one_place_is_said_to_that_place() -> None:
    task = whole_text(VERSE)
    model = probe_memory(task).model
    spoilt = model.with_each(lambda name, tensor: _one_more(tensor) if name == "unembed.b_U" else tensor)
    found = recitation(spoilt, task)
    assert found.headline().startswith("NOT DECIDED: ")
    assert VERSE.startswith(found.text) and len(found.text) < len(VERSE)


def test_a_memory_of_integers_is_not_walked_for_a_type_it_does_not_fit(folder: Path, monkeypatch) -> None:
    """Walking took minutes for a page of text."""
    monkeypatch.setattr(reciting, "decide_argmax", None)
    found = recite(folder, dtype="float16")
    assert found.text == VERSE
    proved = "BY HEART, PROVED: 88 of 88 characters, in real arithmetic; in every float16 run 0"
    assert found.headline() == f"{proved}; proved now, and stated in no certificate"


def test_a_tie_is_not_by_heart() -> None:
    task = whole_text("ab")
    tied = probe_memory(task).model.with_each(
        lambda name, tensor: 0.0 * tensor if name.startswith("unembed") else tensor
    )
    assert recitation(tied, task).headline() == "NOT DECIDED: 0 of 2 characters are proved; the next one is not"


def test_what_every_run_says_is_what_a_run_counts() -> None:
    """Weights whose roundings are beyond the bound of all of them, and are followed to first order."""
    task, body = whole_text("ab"), transformer(0, kind=None, activation="relu", layers=4, spread=1.5)
    stream = Replica.from_model(replace(body, W_U=np.eye(16)), dtype=torch.float64)(torch.tensor(task.contexts))
    model = replace(body, W_U=np.linalg.pinv(stream.detach().numpy()) @ np.eye(3)[task.labels])
    bound = rounding_bound(model, task.contexts, number_format=FLOAT32)
    assert bound.min() > 1.0, "no logit is so far above the others"
    assert run(model, task).memorized_proved == task.n_contexts
    proved = "BY HEART, PROVED: 2 of 2 characters, in every float32 run"
    assert recitation(model, task).headline() == f"{proved} (fast prover only)"
    said = recitation(model, task, dtype="float16").headline()
    assert said == "BY HEART, PROVED: 2 of 2 characters, in real arithmetic; in every float16 run 0"


def _one_more(tensor: np.ndarray) -> np.ndarray:
    changed = tensor.copy()
    changed[3] += 5.0
    return changed


@given(st.lists(st.text("ab c", min_size=1, max_size=40), min_size=1, max_size=3), st.sampled_from(["char", "word"]))
def test_the_facts_say_each_text_from_its_title_to_its_end(texts: list[str], unit: Unit) -> None:
    for task in (whole_text({str(i): text for i, text in enumerate(texts)}, unit), whole_text(texts[0], unit)):
        windows = task.windows
        assert windows is not None and not task.contradicted
        facts = dict(zip(map(tuple, task.contexts.tolist()), task.labels.tolist(), strict=True))
        for number, text in enumerate(texts if windows.titled else texts[:1]):
            last, said = [int(windows.titles[number])] * windows.n_ctx, []
            while (token := facts[tuple(last)]) != windows.end:
                said.append(task.vocabulary[token])
                last = [*last[:1], *last[2:], token] if windows.titled else [*last[1:], token]
            assert "".join(said) == text


def test_what_a_model_that_rounds_holds_in_every_run_is_said_alike(tmp_path: Path) -> None:
    memory = byheart.memorize("ab" * 9, memory="knots", out=tmp_path / "out")
    first = recite(tmp_path / "out").headline()
    assert first.endswith(", in every float32 run (fast prover only)")
    assert memory.figures.headline.startswith(f"{first};")
    other = recite(tmp_path / "out", dtype="float64").headline()
    assert "in every float64 run (fast prover only); proved now, and stated in no certificate" in other


def test_bytes_make_up_the_text() -> None:
    task = whole_text("aä\n".encode(), "byte")
    assert unit_of(task) == "byte" and task.windows is not None
    assert encoded(task.vocabulary[t] for t in task.windows.text[:-1]) == "aä\n".encode()


def test_frequent_contexts_of_a_text_are_not_said_as_if_they_were_a_text(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("xyz" + "ab" * 10 + "ac" * 3)
    byheart.memorize(tmp_path / "text", context=2, facts_at_most=4, target="labels", out=tmp_path / "out")
    with pytest.raises(InputError, match="holds no memorized text"):
        recite(tmp_path / "out")


def test_what_cannot_be_learned_whole_is_refused() -> None:
    with pytest.raises(InputError, match="unit"):
        whole_text("a word", "line")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="learned whole"):
        byheart.memorize({("a",): "b"}, whole=True)
    with pytest.raises(InputError, match="context"):
        byheart.memorize(VERSE, whole=True, context=4)
    for empty in ("", {"a": "", "b": "x"}, {}):
        with pytest.raises(InputError, match=r"is empty|are none"):
            whole_text(empty)
    with pytest.raises(InputError, match="expected bytes"):
        whole_text("a", "byte")


def test_both_places_behind_a_repeat_that_is_too_long_are_named() -> None:
    letters = np.random.default_rng(0).choice(list("abcdefgh"), 1300)
    passage = "".join(letters[:650]) + "\n" + "".join(letters[650:])
    text = "one\n" + passage + "X" + passage + "Y"
    where = "line 3, character 651 and before line 4, character 651, and goes on otherwise"
    with pytest.raises(InputError, match=rf"the text 'a' has the same 1,301 characters before {where}.*of 1,303"):
        whole_text({"a": text})
    assert whole_text("one\n" + passage[:1180] + "X" + passage[:1180] + "Y").n_ctx == 1181


def test_a_text_whose_repeats_are_too_long_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"has the same 19,999 characters .*--tokens words.* a file for each part"):
        whole_text({"a": "a" * 20000})
    monkeypatch.setattr(reciting, "LARGEST_WINDOWS", 5000)
    with pytest.raises(InputError, match=r"the text has the same 4,999 characters"):
        whole_text("a" * 5000)


def test_a_text_that_repeats_too_much_is_learned_and_said_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reciting, "LONGEST", 12)
    monkeypatch.setattr(reciting, "_PART", 9)
    verse = "so much depends\n"
    text = f"1 {verse}2 {verse}" + "=" * 20 + "end"
    (tmp_path / "text").write_text(text)
    memory = byheart.memorize(tmp_path / "text", memory="probes", out=tmp_path / "out")
    count = len(titles(whole_text(text)))
    assert memory.task.n_ctx <= 9 and count > 2
    assert memory.figures.headline.startswith(
        f"BY HEART, PROVED: {len(text)} of {len(text)} characters in {count} parts"
    )
    assert "that repeats too many, in" in str(memory.figures.reading)
    found = recite(tmp_path / "out")
    assert found.text == text and "".join(decoded(tmp_path / "out")) == text
    for size in (3, 30, len(text)):  # over the ends of parts
        later = recite(tmp_path / "out", start=text[:size])
        assert later.text == text and len(later.said) == len(text) - size == later.proved
    assert "".join(decoded(tmp_path / "out", start=text[:30])) == text[30:]


@pytest.mark.parametrize(("together", "part", "cut"), [(600, 9, True), (700, 9, False), (600, 18, False)])
def test_a_text_whose_windows_are_much_together_is_cut(
    monkeypatch: pytest.MonkeyPatch, together: int, part: int, cut: bool
) -> None:
    monkeypatch.setattr(reciting, "_TOGETHER", together)
    monkeypatch.setattr(reciting, "_PART", part)
    task = whole_text("1 so much depends\n2 so much depends\n")  # 37 windows of 18
    assert in_parts(task) == cut and (task.n_ctx <= part if cut else task.n_ctx == 18)


def test_texts_that_are_no_parts_of_one_stand_apart(tmp_path: Path) -> None:
    assert in_parts(whole_text({"1/2": "ab", "2/2": "cd"})) and not in_parts(whole_text({"a": "ab", "2/2": "cd"}))
    assert not in_parts(whole_text("ab"))


def test_a_table_of_titles_and_texts_and_a_folder_hold_texts(tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    table.write_text('title,text\nrose,"a rose,\nis a rose"\ntiger,burning\n')
    assert learns_whole(table, {}) and not learns_whole(table, {"facts_at_most": 2})
    task = read_facts(table, whole=True).task
    assert titles(task) == ("rose", "tiger") and task.vocabulary.count(END) == 1
    table.write_text("country,capital\nPeru,Lima\n")
    assert not learns_whole(table, {})
    with pytest.raises(InputError, match="is a table of facts"):
        read_facts(table, whole=True)
    (tmp_path / "texts").mkdir()
    with pytest.raises(InputError, match=r"is a folder without texts"):
        read_facts(tmp_path / "texts", whole=True)
    with pytest.raises(InputError, match="is a folder, expected a file, or texts"):
        read_facts(tmp_path / "texts")
    with pytest.raises(InputError, match="= False is given, but only a table of facts has such"):
        read_facts(VERSE, whole=True, header=False)
    with pytest.raises(InputError, match="= 1/2 is given, but a text that is learned whole"):
        read_facts(VERSE, whole=True, mass=Fraction(1, 2))
    assert read_facts("x", whole=True).said.startswith("a text of 1 character, learned whole: 1 character determines")


@pytest.mark.parametrize("named", ["facts_at_most", "mass", "context", "target", "vocabulary", "d_model", "n_heads"])
def test_what_only_frequent_contexts_have_asks_for_them(named: str) -> None:
    assert learns_whole(VERSE, {"unit": "word"}) and not learns_whole(VERSE, {named: 1})
    assert not learns_whole(VERSE, {named: 0})  # which is refused, not left out
    assert learns_whole(None, {}) and not learns_whole({("a",): "b"}, {})
