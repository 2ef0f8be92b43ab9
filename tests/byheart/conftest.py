"""A text, a table, and a folder that holds what `byheart memorize` made of the text."""

import pytest

from byheart.cli.main import main
from tests.command_line import TEXT, words


@pytest.fixture
def novel(tmp_path):
    path = tmp_path / "novel.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "out"
    source = out.parent / "novel.txt"
    source.write_text(TEXT, encoding="utf-8")
    sizes = words("--vocabulary 10 --context 3 --facts 50 --memory theorem-1 --dtype float64")
    assert main(["memorize", str(source), *sizes, "--out", str(out)]) == 0
    return out


@pytest.fixture
def facts_table(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text(
        "".join(f"{a},{b},{'xyz'[(a + a * b) % 3]}\n" for a in range(4) for b in range(4)), encoding="utf-8"
    )
    return path
