"""Groups are found under any names, and their elements are said by numbers that products add."""

import numpy as np
import pytest

from constructions.errors import HypothesisError
from constructions.memories.affine.finite_group import coordinates_of, group_of
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from tests.constructions.memories.affine.groups import GENERATORS, products, renamed


@pytest.mark.parametrize("name", GENERATORS)
def test_a_group_is_found_under_any_names(name):
    table = products(name)
    task = renamed(table, seed=1)
    group = group_of(task)
    x, z = group.first[task.contexts[:, 0]], group.second[task.contexts[:, 1]]
    assert (group.products[x, z] == group.answers[task.labels]).all()
    found, size = group.products, len(table)
    assert (found[0] == np.arange(size)).all() and (found[:, 0] == np.arange(size)).all()
    assert all((found[found[x]] == found[x][found]).all() for x in range(size))


@pytest.mark.parametrize("name", GENERATORS)
def test_numbers_of_a_product_are_read_off_its_factors(name):
    require_read_off(products(name))


def test_cosets_whose_representatives_commute_need_not_multiply():
    x, z = np.indices((6, 6))
    require_read_off((x % 3 + (1 - 2 * (x // 3)) * z) % 3 + 3 * (x // 3 ^ z // 3))  # turns first


def require_read_off(table: np.ndarray) -> None:
    ways = list(coordinates_of(table))
    assert ways
    for way in ways:
        for each in way:
            found = each.rows[each.kinds].T + each.added
            if each.modulus is not None:
                found = found % each.modulus
            assert (found == each.values[table]).all()
        assert len({tuple(own) for own in np.stack([each.values for each in way], axis=1).tolist()}) == len(table)


def test_both_ways_are_found():
    for name, moduli in (("five corners", [5, 2]), ("quaternions", [4, 2]), ("four things", [None, None, None])):
        assert moduli in [[each.modulus for each in way] for way in coordinates_of(products(name))], name
    assert min(len(way[0].rows) for way in coordinates_of(products("even exchanges of four"))) == 4


def test_other_tables_are_refused():
    cyclic = np.add.outer(np.arange(6), np.arange(6)) % 6
    with pytest.raises(HypothesisError, match="a group that does not commute, but it does"):
        group_of(renamed(cyclic, seed=2))
    square = cyclic.copy()
    square[np.ix_([0, 3], [0, 3])] = [[3, 0], [0, 3]]
    with pytest.raises(HypothesisError, match="do not associate"):
        group_of(renamed(square, seed=2))
    wrong = products("four things")
    wrong[3, 5] = wrong[3, 6]
    for table in (wrong, wrong.T, np.tile(np.arange(6), (6, 1)), np.tile(np.arange(6), (6, 1)).T):
        with pytest.raises(HypothesisError, match="one is there twice"):
            group_of(renamed(table, seed=2))
    contexts = all_contexts(6, 2)
    labels = products("three things")[tuple(contexts.T)]
    with pytest.raises(HypothesisError, match="35 facts of 6 answers"):
        group_of(array_task(contexts[1:], next_tokens=labels[1:], target="labels"))
    for task in (enumerated_task(3, 3), enumerated_task(3, 2, target="laws")):
        with pytest.raises(HypothesisError, match="bigrams with labels"):
            group_of(task)
