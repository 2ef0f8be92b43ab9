"""A tokenizer reads what a person types as the contexts of the task."""

import json

import pytest

import byheart
from byheart.hosts.tokenizer import generation_of, special_tokens, tokenizer_config, tokenizer_json
from constructions.tasks.table import facts_task, table_task
from constructions.tasks.text import text_task
from constructions.tasks.vocabulary import typed

TASKS = {
    "cells": table_task("New York,is in,USA\nRome,is in,Italy\n", target="labels"),
    "words in a table": table_task("France,capital,Paris\nPeru,capital,Lima\n", target="labels"),
    "cells with every separator but tab": table_task('"a,b;c|d",x y,z\n', target="labels"),
    "characters": text_task("to be or not to be\n\tthat is é", context=3, target="labels"),
    "characters and others": text_task("aaabbbabcdefgh the quick brown fox", context=2, vocabulary=6, target="labels"),
    "words": text_task("To be, or not to be: that!", unit="word", context=2, target="labels"),
    "bytes": text_task("abc \n\\ é".encode(), unit="byte", context=2, target="labels"),
}


def reader(task):
    tokenizers = pytest.importorskip("tokenizers", reason="needs `pip install 'byheart[huggingface]'`")
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(task)))


@pytest.mark.parametrize("name", TASKS)
def test_every_context_that_can_be_typed_is_read_back(name):
    task, read = TASKS[name], reader(TASKS[name])
    texts = [typed(task, place) for place in range(task.n_contexts)]
    assert any(text is not None for text in texts)
    for tokens, text in zip(task.contexts.tolist(), texts, strict=True):
        assert text is None or read.encode(text).ids == tokens


@pytest.mark.parametrize("name", ["characters", "bytes"])
def test_texts_are_put_together_again(name):
    task, read = TASKS[name], reader(TASKS[name])
    for tokens, place in zip(task.contexts.tolist(), range(task.n_contexts), strict=True):
        text = typed(task, place)
        assert text is None or read.decode(tokens) == text


def test_the_ways_to_type_a_context_of_words_are_one():
    read = reader(TASKS["words in a table"])
    assert read.encode("France, capital").ids == read.encode("France capital").ids == read.encode("France ,capital").ids


def test_what_is_unknown_is_other_where_there_is_one_and_else_refused():
    task = TASKS["characters and others"]
    assert reader(task).encode("Z").ids == [task.vocabulary.index("<other>")]
    assert special_tokens(task) == {"unk_token": "<other>", "pad_token": "[PAD]"}
    for name in ("characters", "words", "bytes"):
        task = TASKS[name]
        with pytest.raises(Exception, match="Missing"):  # the library raises no other
            reader(task).encode("Z \x01 €")
        assert tokenizer_json(task)["model"]["vocab"]["[PAD]"] == task.d_vocab
    task = facts_task([("[UNK]", "a")])
    with pytest.raises(Exception, match="Missing"):
        reader(task).encode("b")


def test_cells_of_one_letter_may_be_typed_as_they_stand_in_a_table():
    task = table_task("0,1,1,0\n0,0,1,1\n", target="labels")
    assert [reader(task).encode(text).ids for text in ("011", "0 1 1", "0, 1,1", "0|1;1")] == [[0, 1, 1]] * 4
    task = table_task("0,|,1,0\n0,2,1,1\n", target="labels")
    assert reader(task).encode("0 | 1").ids == task.contexts[0].tolist()  # one that is a token is read


def test_a_title_in_front_is_its_token(tmp_path):
    for title, text in (("red", "so much"), ("red man", "no man")):
        (tmp_path / f"{title}.txt").write_text(text)
    task = byheart.read_facts(tmp_path, whole=True).task
    assert task.windows is not None and task.windows.titled
    red, man = (task.vocabulary.index(f"<{title}>") for title in ("red", "red man"))
    for text, title, rest in (("red: so", red, "so"), ("red man: no", man, "no"), ("red", red, "")):
        assert reader(task).encode(text).ids == [title, *map(task.vocabulary.index, rest)]


def test_special_tokens_are_none_of_the_tokens_of_the_task():
    task = facts_task([("[PAD]", "[UNK]"), ("x", "[[PAD]]")])
    assert special_tokens(task) == {"pad_token": "[[[PAD]]]"}
    assert len(tokenizer_json(task)["model"]["vocab"]) == 5
    assert tokenizer_config(task)["split_special_tokens"] is True


def test_what_cannot_be_typed_is_none():
    task = TASKS["characters and others"]
    other = task.vocabulary.index("<other>")
    missing = [place for place, tokens in enumerate(task.contexts.tolist()) if other in tokens]
    assert missing and all(typed(task, place) is None for place in missing)
    task = TASKS["bytes"]
    half = next(
        place
        for place, tokens in enumerate(task.contexts)
        if task.vocabulary[tokens[0]] == "\\xa9" or task.vocabulary[tokens[1]] == "\\xc3"
    )
    assert typed(task, half) is None


def test_the_vocabulary_keeps_its_numbers():
    for task in TASKS.values():
        vocabulary = tokenizer_json(task)["model"]["vocab"]
        special = set(special_tokens(task).values()) - set(task.names())
        assert sorted(vocabulary.values()) == list(range(len(task.names()) + len(special)))
        assert {vocabulary[name] for name in special} == set(range(len(task.names()), len(vocabulary)))
    vocabulary = tokenizer_json(TASKS["words"])["model"]["vocab"]
    assert list(vocabulary) == [*TASKS["words"].vocabulary, "[PAD]"]


def test_cells_of_one_character_are_cells():
    task = facts_task([("a", "r", "yes"), ("b", "r", "no"), ("\\x0a", "r", "no")])
    read = reader(task)
    assert typed(task, 0) == "a, r" and read.encode("a, r").ids == [0, 1]
    assert [read.decode([number]) for number in range(6)] == ["a", "r", "b", "\\x0a", "yes", "no"]


def test_an_answer_may_hold_the_separator_of_the_cells():
    task = facts_task([("Peru", "capital", "Lima, the city"), ("Peru", "river", "Peru")])
    read = reader(task)
    assert read.encode("Peru, river").ids == task.contexts[1].tolist()
    assert read.decode([task.names().index("Lima, the city")]) == "Lima, the city"


def test_decoding_ends_after_the_answer_of_a_row_and_goes_on_in_a_text():
    assert generation_of(table_task("0,1\n1,0\n"))["eos_token_id"] == [0, 1]
    assert "eos_token_id" not in generation_of(text_task("to be or not to be"))
