"""The constructions by name: what each takes, and what is no name or parameter."""

import inspect
from fractions import Fraction

import pytest

from constructions.errors import InputError
from constructions.named.registry import NAMED, named, names
from verify.theorems.claims import claim, register


@pytest.mark.parametrize("construction", NAMED, ids=lambda each: each.name)
def test_the_parameters_are_those_of_the_functions(construction):
    taken = set(inspect.signature(construction.build).parameters)
    assert set(construction.parameters) | {"seed"} == taken - {
        next(iter(inspect.signature(construction.build).parameters))
    }
    assert set(construction.data.parameters) | {"seed"} == set(inspect.signature(construction.data.draw).parameters)
    assert construction.line and construction.name == construction.name.lower()


def test_names_are_unique_and_lead_from_claims_that_there_are():
    every = [each.name for each in NAMED] + [id for each in NAMED for id in each.statements]
    assert len(set(every)) == len(every) == len(names())
    assert {id for each in NAMED for id in each.statements} <= set(register())
    assert all(claim(each.beside).build is not None for each in NAMED if each.beside)


def test_what_is_no_name_or_parameter_is_refused(tmp_path):
    with pytest.raises(InputError, match="'full-rank-attention'"):
        named("full-rank-atention")
    with pytest.raises(InputError, match="saturated-heads"):
        named("zzz")
    heads = named("full-rank-attention")
    with pytest.raises(InputError, match="has no parameter 'width'"):
        heads.construct(width=3)
    with pytest.raises(InputError, match="d_vocab = 3 is given beside --contexts"):
        heads.construct(tmp_path / "a.csv", d_vocab=3)
    with pytest.raises(InputError, match="n_heads = 1/2, expected an integer"):
        heads.construct(n_heads=Fraction(1, 2))


@pytest.mark.parametrize("construction", NAMED, ids=lambda each: each.name)
def test_a_negative_seed_is_refused_by_name(construction):
    with pytest.raises(InputError, match="seed = -1, expected at least 0"):
        construction.construct(seed=-1)


def test_an_equal_seed_builds_equal_weights():
    first, second, other = (named("theorem-1").construct(seed=seed).built.model.sha256() for seed in (1, 1, 2))
    assert first == second != other
