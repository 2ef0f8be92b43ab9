"""Folders of the corpus in Coq: a text and tables that every run knows are proved, and what is not so is refused."""

import pytest

from tests.corpus.cases import GOOD_FOLDERS
from tests.machine_checked import accepts, compiled_library, needs_coq, sources

pytestmark = [needs_coq, pytest.mark.slow]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled_library(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize(
    ("name", "known"),
    [("text-titles", True), ("sums-average", True), ("labels-not-held", False), ("labels-tie", False)],
)
def test_a_folder_is_proved_if_every_run_knows_it(library, name, known):
    good, said = accepts(library, sources(GOOD_FOLDERS / name))
    assert good is known, said
