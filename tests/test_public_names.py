"""The names that the packages offer."""

import importlib
import json
import os
import pkgutil
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import byheart
import constructions
import verify

ROOT = Path(__file__).parents[1]
PACKAGES = (byheart, constructions, verify)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_documented(package):
    for name in package.__all__:
        value = getattr(package, name)
        assert getattr(value, "__doc__", None), name
        assert name in dir(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_hides_a_module(package):
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules.isdisjoint(package.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_says_what_it_is_for(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            assert importlib.import_module(module.name).__doc__, module.name


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = package.nothing_of_the_kind


MISTAKES = {
    'byheart.memorize({"a": "b"}, contxt=4)': 'No parameter named "contxt"',
    'byheart.memorize("x", context="4")': "reportArgumentType",
    'byheart.memorise("x")': '"memorise" is not a known attribute',
    'byheart.load("x").asks("x")': "reportAttributeAccessIssue",
    'byheart.memorize("x").figures.parametres': "reportAttributeAccessIssue",
    'byheart.load("x").ask(["x"]).token': "reportAttributeAccessIssue",
    'byheart.load("x")[5]': "reportArgumentType",
}
RIGHT = """
known: str = byheart.memorize([("a", "b")], progress=True, whole=False, quick=True)["a"]
several: list[byheart.Answer] = byheart.load("x").ask(["x", "y"])
one: str | None = byheart.load("x").ask(("x", "y")).token
entries: int | None = byheart.memorize("x", whole=True, unit="byte", out="x").figures.parameters
version: str = byheart.__version__
"""


def test_a_type_checker_sees_the_mistakes_of_a_user_and_no_others(tmp_path):
    lines = ["import byheart", *MISTAKES, *RIGHT.splitlines()]
    (tmp_path / "script.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "script.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    found = {}
    for each in json.loads(run.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            found[lines[each["range"]["start"]["line"]]] = f"{each['message']} {each.get('rule')}"
    assert set(found) == set(MISTAKES)
    assert [line for line, message in MISTAKES.items() if message not in found[line]] == []


def test_help_reads_like_a_page():
    page = pydoc.render_doc(byheart, renderer=pydoc.plaintext)
    for said in ("byheart.memorize(", 'memory["Peru", "capital"]', "byheart.load(", "check_folder"):
        assert said in page
    assert page.index("byheart.memorize(") < 400 and "_MODULE_OF" not in page.split("DATA")[0]


def test_a_misspelt_name_is_told_the_nearest():
    with pytest.raises(AttributeError, match="no attribute 'memorise'; did you mean 'memorize'"):
        _ = byheart.memorise  # pyright: ignore[reportAttributeAccessIssue]
