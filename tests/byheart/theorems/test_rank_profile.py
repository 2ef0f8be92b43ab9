"""A profile of ranks for a person and for a program: the same numbers in each form."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from byheart.theorems.rank_profile import profile_csv, profile_picture, profile_records
from constructions.attention.capacity.rank_profile import RankCell, RankProfile, rank_profile

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
GAP = np.array([[int(n) for n in word] for word in ("0001", "0011", "0111", "1010", "1100", "1110")])


@pytest.mark.parametrize("contexts", [XOR, GAP])
def test_picture_table_and_records_hold_every_cell(contexts):
    profile = rank_profile(contexts, d_model=4, n_heads=3)
    records = profile_records(profile)
    rows = list(csv.DictReader(io.StringIO(profile_csv(profile))))
    assert [{name: str(value) for name, value in record.items()} for record in records] == rows
    picture = profile_picture(profile)
    ElementTree.fromstring(picture)
    shown = re.findall(r">([\d-]+ \(\d+\))<", picture)
    assert sorted(shown) == sorted(f"{cell.words} ({cell.printed})" for cell in profile.cells)
    failing = sum(cell.printed_fails for cell in profile.cells)
    assert picture.count('class="second thin"') == picture.count('class="on-second"') == failing > 0
    assert [record["printed_fails"] for record in records] == [cell.printed_fails for cell in profile.cells]


def test_large_numbers_have_wider_cells():
    def width(rank):
        cells = (RankCell(1, 1, False, rank, rank + 1, rank + 2, "the shape"),)
        return float(re.findall(r'<rect [^>]*width="([\d.]+)"', profile_picture(RankProfile(rank + 2, 1, cells)))[0])

    assert width(1000) > width(10) > width(1)
