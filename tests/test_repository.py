"""The shape of the repository: mirrored tests, names that say something, and no trace of one machine."""

import ast
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from byheart.hosts.families import FAMILIES

ROOT = Path(__file__).parents[1]
WINGS = ("byheart", "constructions", "experiments", "verify")
ROOMS = (".ci", "benchmarks", "byheart", "constructions", "docs", "experiments", "formal", "tests", "verify")
FILES = sorted(
    path
    for path in [*ROOT.iterdir(), *(path for room in ROOMS for path in (ROOT / room).rglob("*"))]
    if path.is_file() and path.suffix != ".pyc" and path.name != ".git"
)
FONTS = [path for path in FILES if path.suffix == ".woff2"]
WEIGHTS = [path for path in FILES if path.suffix == ".safetensors"]
TEXTS = [path for path in FILES if path not in {*FONTS, *WEIGHTS}]
# A module that only declares a record or a type has nothing to test of its own.
MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for wing in WINGS
    for path in (ROOT / wing).rglob("*.py")
    if not path.stem.startswith("__") and "def " in path.read_text(encoding="utf-8")
)


OWN_IMPORT = re.compile(r"^ *from ((?:byheart|constructions|verify)[\w.]*) import (\([^)]*\)|.*)$", re.M)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_are_files_to_look_at() -> None:
    assert {"pyproject.toml", "README.md", "tests/test_repository.py", ".ci/run"} <= {name_of(path) for path in TEXTS}
    assert [name_of(path) for path in FONTS] == ["docs/_static/byheart-math.woff2"]


# One test for all files: thousands of small ones cost a parallel run more than what they look at.
def test_a_file_names_no_folder_of_one_machine_and_no_registry() -> None:
    machine = r"(?<![\w./~])/(?:work|root|tmp|home|farm|opt)/\w"
    registry = r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|download\.pytorch\.org"
    named = re.compile(f"{machine}|{registry}")
    found = {name_of(path): named.findall(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_file_is_small_text_that_ends_with_a_newline() -> None:
    contents = {name_of(path): path.read_bytes() for path in TEXTS}
    assert [path for path, data in contents.items() if len(data) >= 250_000] == []
    assert [path for path, data in contents.items() if b"\r" in data] == []
    assert [path for path, data in contents.items() if data and not data.endswith(b"\n")] == []


def test_weights_are_small_and_lie_with_the_trained_figures_or_in_the_corpus() -> None:
    trained, corpus = ROOT / "docs" / "trained", ROOT / "tests" / "corpus" / "good"
    folders = (trained / "rules", trained / "adders", corpus, ROOT / "tests" / "earlier")
    apart = {path for path in WEIGHTS if path.parent.parent in folders}
    assert {path.parent for path in set(WEIGHTS) - apart} == {trained / "weights"}
    assert sum(path.stat().st_size for path in WEIGHTS if path.parent.parent == corpus) < 500_000
    assert max(path.stat().st_size for path in WEIGHTS) < 1_250_000  # a file for each figure


@pytest.mark.parametrize("path", FONTS, ids=name_of)
def test_a_font_is_small_and_has_its_licence_beside_it(path: Path) -> None:
    data = path.read_bytes()
    assert data[:4] == b"wOF2" and int.from_bytes(data[8:12], "big") == len(data) < 200_000
    licence = path.with_name(f"{path.stem}-license.txt").read_text(encoding="utf-8")
    assert path.name in licence and "may be distributed and/or modified" in licence


def test_a_name_says_what_the_file_holds() -> None:
    empty = {"utils", "util", "helpers", "helper", "misc", "common", "new", "old", "v2", "copy", "tmp"}
    assert [name_of(path) for path in FILES if empty & set(re.split(r"[^a-z0-9]+", path.stem.lower()))] == []


def test_a_module_has_its_tests_under_the_same_name() -> None:
    # What lies there shares one.
    batteries = (
        "verify/theorems/claims/",
        "experiments/figures/",
        "constructions/memories/menu/",
        "constructions/heads_of_theorem_1/menu/",
    )
    readers = {f"byheart/hosts/families/{name}.py" for name in FAMILIES.values()}  # so do these: test_families.py
    own = [module for module in MODULES if not module.startswith(batteries) and str(module) not in readers]
    tests = {module: ROOT / "tests" / Path(module).with_name(f"test_{Path(module).name}") for module in own}
    assert [module for module, test in tests.items() if not test.is_file()] == []


@pytest.mark.parametrize("wing", WINGS)
def test_a_test_file_has_its_module(wing: str) -> None:
    tested = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests" / wing).rglob("test_*.py")}
    assert tested
    assert {path.with_name(path.name.removeprefix("test_")) for path in tested} <= {
        path.relative_to(ROOT) for path in (ROOT / wing).rglob("*.py")
    }


@pytest.mark.parametrize("wing", WINGS)
def test_a_room_can_be_read_at_a_glance(wing: str) -> None:
    folders = {path.parent for path in (ROOT / wing).rglob("*.py")}
    one_each = ("claims", "cli", "families", "figures", "kernel", "provers")  # a file for each of them
    full = {name_of(folder): len(list(folder.glob("*.py"))) for folder in folders if folder.name not in one_each}
    assert {room: modules for room, modules in full.items() if modules > 17} == {}


def test_no_file_uses_the_name_that_belongs_to_another_package() -> None:
    other = "".join(("mem", "proof"))
    assert [name_of(path) for path in TEXTS if other in (path.name + path.read_text(encoding="utf-8")).lower()] == []


def test_a_kind_of_block_touches_the_files_that_contributing_names() -> None:
    page = (ROOT / "docs" / "contributing.md").read_text()
    section = page.split("## A new kind of block")[1].split("\n## ")[0]
    listed = set(re.findall(r"((?:constructions|verify)/[a-z_/]+\.py)", section))
    kinds = r"isinstance\(\w+, \(?(Attention|FeedForward|Normalization)\b"
    by_kind = re.compile(kinds + r"|[\"'](feed-forward|gelu-tanh)[\"']")
    # Judges and limits that look at what was built, whatever else there is.
    built_with = {
        "constructions/model/appended_neurons.py",
        "constructions/rational/two_layers.py",
        "verify/edits/moved_logits.py",
        "verify/kernel/edit.py",
        "verify/folds/boxes.py",
        "verify/folds/fold_answers.py",
        "verify/folds/rows.py",
        "verify/theorems/memories/integer_neurons.py",
        "verify/theorems/memories/knots.py",
        "verify/runs/boxes.py",
        "verify/runs/integer_rows.py",
        "verify/runs/every_run.py",
        "verify/torch/run.py",
    }
    found = {
        str(path.relative_to(ROOT))
        for room in ("constructions", "verify")
        for path in (ROOT / room).rglob("*.py")
        if path.parent.name not in ("claims", "evidence") and by_kind.search(path.read_text())
    }
    assert found - built_with <= listed
    assert {path for path in listed if not (ROOT / path).is_file()} == set()


def test_a_memory_touches_the_file_that_contributing_names() -> None:
    builders = {path.stem for path in (ROOT / "constructions/memories").glob("*_memory.py")}
    named = {
        str(path.relative_to(ROOT))
        for room in ("constructions", "verify", "byheart")
        for path in (ROOT / room).rglob("*.py")
        if path.parent.name != "claims" and "knots_memory" in path.read_text() and path.stem not in builders | {"knots"}
    }
    assert named <= {
        "constructions/memories/memory.py",
        "constructions/memories/menu/knots.py",
        "constructions/__init__.py",
    }


def kinds_asked(source: str) -> list[str]:
    """Where a source asks what kind of task it has: by class, by name or by attribute."""
    kinds = {"Task", "VectorTask", "PromptTask", "RuleTask", "Fold", "Encoded"}
    asked = []
    for node in ast.walk(ast.parse(source)):
        named = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        of_task = any("task" in name.lower() for name in named)
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "type"), args=args):
                classes = {each.id for arg in args[1:] for each in ast.walk(arg) if isinstance(each, ast.Name)}
                of_type = isinstance(node.func, ast.Name) and node.func.id == "type" and of_task
                asked += [ast.unparse(node)] if classes & kinds or of_type else []
            case ast.MatchClass(cls=ast.Name(id=name)):
                asked += [name] if name in kinds else []
            case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[ast.Name(id=name), *_]):
                asked += [ast.unparse(node)] if "task" in name.lower() else []
            case ast.Compare() if any(
                isinstance(each, ast.Attribute) and each.attr == "holds" for each in ast.walk(node)
            ):
                asked.append(ast.unparse(node))
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="origin", value=ast.Name(id="task" | "facts")))):
                asked.append(ast.unparse(node))
    return asked


def test_no_code_outside_of_the_tasks_asks_what_kind_of_task_it_has() -> None:
    asking = [
        "isinstance(task, Task | VectorTask)", "isinstance(given, Task)", "type(task)",
        "hasattr(task, 'distributions')",
        "task.holds == 'tokens'", "task.origin.startswith('rule')", "match task:\n    case PromptTask():\n        1",
    ]  # fmt: skip
    assert [source for source in asking if not kinds_asked(source)] == []
    rooms = ("constructions/tasks/", "constructions/folds/")
    # A file of one's own names the one kind that it may hold.
    typed = {"byheart/cli/certify.py": ["isinstance(fold, Fold)"]}
    sources = {
        name_of(path): path.read_text(encoding="utf-8") for wing in WINGS for path in (ROOT / wing).rglob("*.py")
    }
    found = {name: kinds_asked(source) for name, source in sources.items() if not name.startswith(rooms)}
    assert {name: asked for name, asked in found.items() if asked} == typed


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("bench_*.py")), ids=lambda path: path.stem)
def test_a_benchmark_finds_what_it_imports(path: Path) -> None:
    for module, names in OWN_IMPORT.findall(path.read_text(encoding="utf-8")):
        found = importlib.import_module(module)
        missing = [
            each
            for each in re.findall(r"\w+", re.sub(r" as \w+|#.*", "", names))
            if not hasattr(found, each) and not find_spec(f"{module}.{each}")
        ]
        assert not missing, f"{module} has no {missing}"
