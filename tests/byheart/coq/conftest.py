"""The folders that Coq is asked about."""

import pytest

from tests.machine_checked import capitals, rose


@pytest.fixture(scope="session")
def capitals_folder(tmp_path_factory):
    return capitals(tmp_path_factory.mktemp("coq"))


@pytest.fixture(scope="session")
def rose_folder(tmp_path_factory):
    return rose(tmp_path_factory.mktemp("coq"))
