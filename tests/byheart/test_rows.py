"""Rows, records, mappings, frames and series give the same cells; what is missing is no cell."""

import numpy as np
import pytest

from byheart.facts import read_facts
from byheart.hosts.certify import certify
from byheart.rows import cell_text, rows_of, say_weights
from constructions.errors import InputError
from constructions.model.model import Model

ROWS = [("Peru", "Lima"), ("France", "Paris")]


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        iter(ROWS),
        dict(ROWS),
        [{"country": "Peru", "city": "Lima"}, {"city": "Paris", "country": "France"}],  # by name, not by order
    ],
)
def test_the_same_rows_in_every_form(given):
    assert rows_of(given) == ROWS


def test_records_are_memorized_by_their_values():
    records = [{"country": country, "city": city} for country, city in ROWS]
    assert read_facts(records).task.sha256() == read_facts(ROWS).task.sha256()


@pytest.mark.parametrize(
    "given",
    ["Peru", 5, ["Peru Lima"], [5], [{"country": "Peru", "city": "Lima"}, {"country": "Peru"}]],
)
def test_what_is_no_row_is_refused(given):
    with pytest.raises(InputError, match="facts"):
        rows_of(given)


@pytest.mark.parametrize("cell", [None, float("nan"), ["a"], {"a": 1}])
def test_what_is_missing_or_of_several_parts_is_no_cell(cell):
    with pytest.raises(InputError, match=r"facts: row 3 has the cell"):
        cell_text(cell, place="row 3")


def test_names_that_look_like_missing_ones_are_cells():
    assert [cell_text(cell, place="") for cell in ("nan", "None", 5, 2.5)] == ["nan", "None", "5", "2.5"]


def test_missing_cells_of_pandas_are_refused():
    pandas = pytest.importorskip("pandas")
    for missing in (None, float("nan"), pandas.NA, pandas.NaT):
        rows = rows_of(pandas.DataFrame({"prompt": ["a", "b"], "answer": ["c", missing]}, dtype=object))
        with pytest.raises(InputError, match="row 1 has the cell"):
            cell_text(rows[1][1], place="row 1")


def test_a_last_field_called_weight_is_asked_for_by_both_readers():
    records = [{"asked": "a", "said": "b", "weight": 2}, {"asked": "a", "said": "c", "weight": 1}]
    for rows in (ROWS, [], dict(ROWS)):
        assert say_weights(rows, None) is False and say_weights(rows, True) is True
    with pytest.raises(InputError, match=r"last column 'weight', expected weights=True \(--weights\).*--no-weights"):
        read_facts(records)
    assert read_facts(records, weights=True).task.answers == ("b", "c")
    assert read_facts(records[:1], weights=False).task.answers == ("2",)
    numbered = [{**each, "asked": 0, "said": said} for said, each in enumerate(records)]
    model = Model(blocks=(), W_U=np.eye(2), W_E=np.eye(2), W_pos=np.zeros((1, 2)))
    with pytest.raises(InputError, match="last column 'weight'"):
        certify(model, numbered)
    figures = certify(model, numbered, weights=True)
    assert figures["memorized"] == figures["facts"] == 1 and "1 answer left out, outweighed" in figures["reading"]
    with pytest.raises(InputError, match="delimiter = ',' is given"):
        certify(model, numbered, delimiter=",")
