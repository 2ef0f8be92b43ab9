"""A sweep of small points, trained and proved once for all tests."""

import shutil
from pathlib import Path

import pytest

from experiments.sweep import sweep, write_table
from tests.swept_points import POINTS


@pytest.fixture(scope="package")
def swept(tmp_path_factory) -> tuple[Path, list]:
    out = tmp_path_factory.mktemp("experiment")
    results, failed = sweep(POINTS, out)
    assert not failed
    write_table(out / "figure.csv", results)
    return out, results


@pytest.fixture
def copied(swept, tmp_path) -> Path:
    return Path(shutil.copytree(swept[0], tmp_path / "out"))
