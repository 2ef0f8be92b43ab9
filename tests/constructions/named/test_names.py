"""The names of the constructions, which load nothing that computes."""

import subprocess
import sys

from constructions.named.names import NAMES, leading_from
from constructions.named.registry import NAMED


def test_every_name_has_its_construction_and_takes_its_file():
    assert [each.about for each in NAMED] == list(NAMES)
    assert [each.data.name for each in NAMED] == [each.data for each in NAMES]


def test_a_statement_leads_to_one_construction():
    for each in NAMES:
        assert all(leading_from(id) is each for id in each.statements)
    assert leading_from("dana.lemma-3") is None


def test_the_names_load_no_numbers():
    code = "import sys, constructions.named.names; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
