"""What is installed: three import names that are ours, types, one command, and nothing heavy before it is needed."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest

import byheart
import constructions
import verify

ROOT = Path(__file__).parents[1]
HEAVY = ["matplotlib", "scipy.optimize", "scipy.stats", "sympy", "torch"]


def heavy_modules_after(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter has loaded after `code`."""
    report = f"import json, sys\nsys.stderr.write(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    command = [sys.executable, "-c", f"{code}\n{report}"]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stderr))


@pytest.mark.parametrize("package", [byheart, constructions, verify])
def test_the_import_name_is_ours(package: object) -> None:
    assert Path(package.__file__).parent == ROOT / package.__name__


@pytest.mark.parametrize("name", ["byheart", "constructions", "verify"])
def test_no_other_distribution_installs_the_import_name(name: str) -> None:
    owners = {
        other.metadata["Name"] for other in distributions() if any(file.parts[0] == name for file in other.files or [])
    }
    assert owners <= {"byheart"}


def test_the_distribution_is_installed_from_here() -> None:
    installed = json.loads(distribution("byheart").read_text("direct_url.json") or "null")
    assert installed["url"] == ROOT.as_uri()
    assert installed["dir_info"] == {"editable": True}


def test_the_command_is_installed() -> None:
    (command,) = distribution("byheart").entry_points.select(group="console_scripts")
    assert (command.name, command.value) == ("byheart", "byheart.cli.main:main")
    assert callable(command.load())


SHOWN = ("*.md", "figures/*.svg", "trained/*.svg", "notebooks/*.ipynb", "measured/*.csv", "json_fields.csv")
"""The pages, and what they show."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (path,) = folder.iterdir()
    return zipfile.ZipFile(path)


def test_the_wheel_holds_packages_types_pages_the_coq_library_and_nothing_else(
    wheel: zipfile.ZipFile,
) -> None:
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    sources = {
        str(path.relative_to(ROOT))
        for room in ("byheart", "constructions", "verify")
        for path in (ROOT / room).rglob("*.py")
    }
    pages = {
        f"byheart/{path.relative_to(ROOT).as_posix()}" for pattern in SHOWN for path in (ROOT / "docs").rglob(pattern)
    }
    assert len(pages) > 30
    typed = {f"{room}/py.typed" for room in ("byheart", "constructions", "verify")}
    library = {f"byheart/formal/float32/{path.name}" for path in (ROOT / "formal" / "float32").iterdir()}
    assert "byheart/formal/float32/semantics.v" in library
    assert set(names) == sources | pages | typed | library


def test_the_page_of_a_claim_is_a_file_in_the_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    wheel.extractall(installed)
    command = [sys.executable, "-P", "-m", "byheart", "claims", "dana.lemma-2"]
    environment = {**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "300"}
    shown = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    (page,) = re.findall(r"page +(\S+)", shown)
    assert page == "installed/byheart/docs/claims/closed_forms.md"
    assert (tmp_path / page).read_bytes() == (ROOT / "docs/claims/closed_forms.md").read_bytes()


def test_the_template_of_a_theorist_runs_from_the_wheel_alone(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    installed, own = tmp_path / "installed", tmp_path / "own"
    wheel.extractall(installed)
    shutil.copytree(ROOT / "docs/template", own)
    (own / "test_origin.py").write_text(
        "import byheart.testing, constructions, verify\n\n\ndef test_origin():\n"
        "    for module in (byheart.testing, constructions, verify):\n"
        f"        assert {str(installed)!r} in module.__file__\n"
    )
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", "."]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    ran = subprocess.run(command, cwd=own, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[-1][:8]) == (0, "3 passed"), ran.stdout


def test_the_page_of_a_claim_is_a_file_of_the_clone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "byheart", "claims", "dana.lemma-2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    page = "docs/claims/closed_forms.md"
    for folder, expected in ((ROOT, page), (tmp_path, str(ROOT / page))):
        shown = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout
        assert re.findall(r"page +(\S+)", shown) == [expected]


def test_the_wheel_carries_the_license(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith("/LICENSE")]
    assert wheel.read(name) == (ROOT / "LICENSE").read_bytes()


def test_every_dependency_is_pinned_for_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if "==" in line}
    wanted = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["torch"]
    for group in project["dependency-groups"].values():
        wanted += [requirement for requirement in group if isinstance(requirement, str)]
    assert {requirement.split(">=")[0].lower() for requirement in wanted} <= pinned


def test_importing_the_packages_loads_neither_torch_nor_matplotlib() -> None:
    assert heavy_modules_after("import byheart, constructions, verify").isdisjoint({"matplotlib", "torch"})


def test_what_memorizes_loads_torch_and_what_optimizes_where_they_are_used() -> None:
    assert heavy_modules_after("import byheart.jobs.memorize, verify.theorems.audit, verify.theorems.claims") == set()


def test_the_help_of_the_command_loads_nothing_heavy() -> None:
    code = "import contextlib\nfrom byheart.cli.main import main\n"
    code += "with contextlib.suppress(SystemExit): main(['--help'])"
    assert heavy_modules_after(code) == set()


def test_heavy_modules_are_noticed() -> None:
    assert heavy_modules_after("import scipy.stats") >= {"scipy.optimize", "scipy.stats"}


def test_the_command_runs() -> None:
    script = Path(sys.executable).with_name("byheart")
    shown = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"byheart {distribution('byheart').version}\n"


def test_the_module_runs_as_the_command_does() -> None:
    shown = subprocess.run([sys.executable, "-m", "byheart", "--help"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("usage: byheart")
