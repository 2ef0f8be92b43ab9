"""The files of the core, and no others, memorize facts and a text, and check them; what is missing is named."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
[CORE] = [set(contract["modules"]) for contract in CONTRACTS if contract["type"] == "closed"]


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> Path:
    """A copy of the files of the core, and of the folders that they lie in."""
    place = tmp_path_factory.mktemp("core")
    for module in CORE:
        path = Path(*module.split(".")).with_suffix(".py")
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, place / path)
        for folder in path.parents[:-1]:
            if (ROOT / folder / "__init__.py").is_file():
                shutil.copy(ROOT / folder / "__init__.py", place / folder / "__init__.py")
    (place / "facts.csv").write_text("from,to\n1,2\n2,3\n3,4\n4,1\n")
    (place / "verse.txt").write_text("the plums were in the icebox")
    return place


def byheart(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the copy that lies in this place."""
    origin = f"import sys, byheart; assert byheart.__file__.startswith({str(place)!r}); sys.argv[0] = 'byheart'; "
    command = [sys.executable, "-c", origin + "from byheart.cli.main import main; sys.exit(main())", *words]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("source", "beside", "where"),
    [("facts.csv", ["--header"], "in every float32 run"), ("verse.txt", [], "in real arithmetic")],
)
def test_the_core_memorizes_and_both_checkers_prove_it_again(core, source, beside, where):
    name = source.split(".")[0]
    made = byheart(core, "memorize", source, *beside, "--out", name)
    assert made.returncode == 0 and "PROVED" in made.stdout.splitlines()[0], made.stderr
    assert where in made.stdout.splitlines()[0]
    for options in ([], ["--fast"]):
        again = byheart(core, "check", name, *options)
        assert again.returncode == 0 and "PROVED" in again.stdout.splitlines()[0], again.stderr
    assert not (core / name / "report.html").exists()


def test_the_core_says_by_heart_what_it_has_learned(core):
    byheart(core, "memorize", "verse.txt", "--out", "again")
    said = byheart(core, "recite", "again")
    assert (said.returncode, said.stdout) == (0, "the plums were in the icebox"), said.stderr


def test_a_plug_in_that_is_missing_is_named(core):
    byheart(core, "memorize", "facts.csv", "--header", "--out", "named")
    asked = "import byheart; byheart.load('named').explain('1')"
    ran = subprocess.run([sys.executable, "-c", asked], cwd=core, capture_output=True, text=True, check=False)
    assert ran.stderr.splitlines()[-1].endswith("byheart/explanation.py is not there, expected a whole copy of byheart")


def test_what_the_core_asks_for_by_name_is_there_and_is_not_in_the_core():
    asked = set()
    for module in CORE:
        text = (ROOT / Path(*module.split("."))).with_suffix(".py").read_text()
        asked |= {
            name for name in re.findall(r'plug_in\(\s*"([a-z_.]+)"\)', text) if module != "constructions.plug_ins"
        }
    assert len(asked) > 5
    assert asked & CORE == set() and [name for name in asked if find_spec(name) is None] == []
