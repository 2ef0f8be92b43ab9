"""What is read off a model of words: the labels in front, the entries, the lengths."""

from dataclasses import replace

import numpy as np

from constructions.memories.keyed_words import keyed_words_memory
from constructions.rational.word_network import word_network
from constructions.tasks.arrays import array_task
from verify.theorems.evidence.words import judge_words

POINTS, LABELS = np.array([[0], [5], [9], [2]]), np.array([3, 1, 0, 2])
ROWS = np.arange(4)[:, None]


def test_entries_lengths_and_labels_are_those_of_the_model():
    found = judge_words(word_network(POINTS, LABELS, items=2), ROWS, LABELS)
    assert (found.memorized, found.count, found.code_bits, found.label_bits) == (4, 4, 4, 2)
    assert found.longest == 2 * (4 + 2)
    assert found.blocks == 2 * (4 + 2 + 2) + 1


def test_a_label_that_is_level_with_another_is_not_in_front():
    model = word_network(POINTS, LABELS)
    level = replace(model, W_U=0 * model.W_U, b_U=0 * model.b_U)
    assert judge_words(level, ROWS, LABELS).memorized == 0


def test_other_labels_are_not_in_front():
    assert judge_words(word_network(POINTS, LABELS), ROWS, LABELS[::-1].copy()).memorized < 4


def test_blocks_without_a_skip_connection_are_another_model():
    model = word_network(POINTS, LABELS)
    last = replace(model.blocks[-1], skip=False)
    assert judge_words(replace(model, blocks=(*model.blocks[:-1], last)), ROWS, LABELS).memorized == 0


def test_two_points_of_one_code_are_not_memorized():
    model = word_network(POINTS, LABELS)
    flat = replace(model.blocks[0], W_in=0 * model.blocks[0].W_in)
    assert judge_words(replace(model, blocks=(flat, *model.blocks[1:])), ROWS, np.array([3, 3, 3, 3])).memorized == 0


def test_the_entries_of_the_head_are_no_entries_of_blocks():
    contexts = np.array([[0, 1], [1, 0], [1, 1]])
    task = array_task(contexts, next_tokens=np.array([1, 0, 1]), vocabulary=2, target="labels")
    model = keyed_words_memory(task).model
    found = judge_words(model, contexts, np.array([1, 0, 1]))
    everything = sum(sum(x != 0 for x in tensor.ravel()) for tensor in model.tensors().values())
    head = sum(sum(x != 0 for x in maps.ravel()) for maps in (model.blocks[0].W_Q, model.blocks[0].W_K))
    assert found.entries + found.other_entries == everything and head == 2 and found.other_entries >= head
