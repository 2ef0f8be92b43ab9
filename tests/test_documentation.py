"""What the pages say is there: headings, links, places in the code, commands; and the site needs no network."""

import ast
import csv
import html
import importlib
import importlib.util
import inspect
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from byheart.theorems.exercises import EXERCISES
from constructions.menu import MEMORIES
from tests import browser
from verify.theorems.audit import NEEDED, REFUTING
from verify.theorems.claims import REGISTER, claim
from verify.theorems.evidence import UNIVERSAL, Theorem, theorems
from verify.verdict import Verdict

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CHANGELOG.md"]
CLAIMS = [page for page in PAGES if page.parent.name == "claims"]
RIGOUR = [page for page in PAGES if page.parent.name == "rigour"]
SOURCES = sorted(
    path for room in ("byheart", "constructions", "experiments", "verify") for path in (ROOT / room).rglob("*.py")
)
CLAIM_HEADINGS = ["Statement", "Derivation", "Construction", "Certificate", "Erratum", "Run it"]
TEACHING_HEADINGS = ["By hand", "Limits", "Exercises"]

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
FILE_PLACE = re.compile(
    r"`((?:byheart|constructions|experiments|verify|tests|benchmarks|docs|formal)/[\w./-]+)(?:::?([\w.]+))?(?:\(\))?`"
)
DOTTED_PLACE = re.compile(r"`((?:byheart|constructions|experiments|verify)(?:\.\w+)+)(?:\(\))?`")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """The text of a page without its fenced blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def formulas(text: str) -> list[str]:
    """The formulas of a Markdown text as they are written, white space aside."""
    unquoted = re.sub(r"^ *(?:> ?)*", "", FENCE.sub("", text), flags=re.MULTILINE)
    return [" ".join(formula.split()) for formula in FORMULA.findall(CODE.sub("code", unquoted))]


def formulas_after_markdown(text: str) -> list[str]:
    """The formulas that are left when a reader that knows none takes the text for Markdown first, as GitHub does."""
    found = []
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        pieces = {"code_inline": "code", "softbreak": "\n", "hardbreak": "\n"}
        parts = [pieces.get(part.type, part.content) for part in block.children or []]
        found += [" ".join(formula.split()) for formula in FORMULA.findall("".join(parts))]
    return found


def headings(path: Path, level: int) -> list[str]:
    return re.findall(rf"^#{{{level}}} +(.+?)\s*$", prose(path), re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub and MyST give to the headings of a page."""
    titles = re.findall(r"^#+ +(.+?)\s*$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def definitions(path: Path) -> set[str]:
    """The functions, classes, methods and constants that a Python file defines, methods as `Class.method`; the
    theorems of a file of Coq."""
    if path.suffix == ".v":
        return set(re.findall(r"^Theorem (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))

    def names(nodes: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from names(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))

    return set(names(ast.parse(path.read_text(encoding="utf-8")).body, ""))


def missing_places(text: str) -> list[str]:
    """The places in the code that a text names and that do not exist."""
    missing = []
    for file, symbol in FILE_PLACE.findall(text):
        path = ROOT / file
        found = path.exists() if not symbol else path.is_file() and symbol in definitions(path)
        if not found:
            missing.append(f"{file}:{symbol}")
    return missing + [dotted for dotted in DOTTED_PLACE.findall(text) if not dotted_name_exists(dotted)]


def dotted_name_exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something reached from one by attributes or fields."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[size:]:
            fields = inspect.get_annotations(found) if inspect.isclass(found) else {}
            if not hasattr(found, attribute) and attribute not in fields:
                return False
            found = getattr(found, attribute, None)
        return True
    return False


def dead_links(path: Path) -> list[str]:
    """The links of a page that lead nowhere in the repository; links to other sites are left alone."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        goal = (path.parent / file).resolve() if file else path
        if not goal.exists() or (anchor and anchor not in anchors(goal)):
            dead.append(target)
    return dead


DEFINED = re.compile(
    r"^(?:> |[-*] |\d+\. )?(?:## (?:Theorem|Lemma|Proposition|Corollary) ([A-Z]{0,2}\d*'*) \("
    r"|\*\*(?:Theorem|Lemma|Proposition|Corollary) ([A-Z]{0,2}\d*'*)(?:\.\*\*| \())",
    re.MULTILINE,
)
CITED = re.compile(
    r"\b(?:Theorem|Lemma|Proposition|Corollary|Corollarie)s? ([A-Z]{1,2}\d*)\b"
    r"((?:(?:, and |, or |, | and | or | to )[A-Z]{1,2}\d+\b)*)"
)


def defined_labels(text: str) -> list[str]:
    """What the statements of a page are called, each as often as it is stated."""
    return [one or other for one, other in DEFINED.findall(text) if one or other]


def cited_labels(text: str) -> list[str]:
    """The labels with letters that a text cites, one by one or several behind one word."""
    return [label for first, rest in CITED.findall(text) for label in (first, *re.findall(r"[A-Z]+\d+", rest))]


def chapter_of(page: str) -> str:
    """The chapter that a short page goes on from; for every other page the page itself."""
    goes_on = re.search(r"^This page goes on from \[[^\]]+\]\((\w+\.md)\)", prose(ROOT / page), re.MULTILINE)
    return name_of((ROOT / page).parent / goes_on[1]) if goes_on else page


def test_a_label_is_defined_once_in_the_book_and_numbers_alone_belong_to_the_sources() -> None:
    """`Theorem 1` is a source's; what is stated here has one or two letters of its chapter, and a number.

    A short page that goes on from a chapter says so first, and has its letters.
    """
    pages: dict[str, list[str]] = {}
    numbers: dict[str, list[int]] = {}
    letters: dict[str, set[str]] = {}
    for page in PAGES:
        for label in defined_labels(prose(page)):
            pages.setdefault(label, []).append(name_of(page))
            if own := re.fullmatch(r"([A-Z]+)(\d+)", label):
                letters.setdefault(own[1], set()).add(name_of(page))
                numbers.setdefault(own[1], []).append(int(own[2]))
    assert len(pages) > 130
    assert {label: found for label, found in pages.items() if len(found) > 1} == {}
    assert {letter: found for letter, found in letters.items() if len(set(map(chapter_of, found))) > 1} == {}
    assert all(re.fullmatch(r"[A-Z]{1,2}\d+|\d'", label) for label in pages)
    gaps = {letter: each for letter, each in numbers.items() if max(each) - min(each) != len(each) - 1}
    assert gaps == {}
    assert {letter for letter, each in numbers.items() if min(each) > 1} <= {"R"}  # docs/rigour/runs.md begins at 10


def test_every_label_that_is_cited_is_defined() -> None:
    defined = {label for page in PAGES for label in defined_labels(prose(page))}
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    for path in [*TEXTS, *SOURCES, *tests, *(ROOT / "formal").glob("*.v"), *(DOCS / "notebooks").glob("*.ipynb")]:
        assert set(cited_labels(path.read_text(encoding="utf-8"))) - defined == set(), name_of(path)


def labels_in_ranges(text: str) -> set[str]:
    """The labels that a text cites, those between the two of `Lemmas R10 to R15` among them."""
    found = set(cited_labels(text))
    for letters, first, last in re.findall(r"\b([A-Z]{1,2})(\d+) to \1(\d+)\b", text):
        found |= {f"{letters}{number}" for number in range(int(first), int(last) + 1)}
    return found


def test_every_lemma_of_rigour_is_named_by_the_code_that_rests_on_it() -> None:
    code = [path.read_text(encoding="utf-8") for path in (ROOT / "verify").rglob("*.py")]
    named = {label for text in code for label in labels_in_ranges(text)}
    proved = {label: name_of(page) for page in RIGOUR for label in defined_labels(prose(page))}
    assert len(proved) > 70
    assert {label: page for label, page in proved.items() if label not in named} == {}


STATED = re.compile(r"(?:## |\*\*)(Theorem|Lemma|Proposition|Corollary) ")


def stated(page: Path) -> list[str]:
    """The statements of a page by kind and label, as `Theorem G1`, in their order."""
    found = [(STATED.search(each[0]), each[1] or each[2]) for each in DEFINED.finditer(prose(page))]
    return [f"{kind[1]} {label}" for kind, label in found if kind and label]


def checked_by_coq() -> dict[str, list[str]]:
    """The theorems of Coq that answer each label."""
    found: dict[str, list[str]] = {}
    for theorem in program(DOCS / "coq_theorems.py").library():
        for label in cited_labels(theorem.answers):
            found.setdefault(label, []).append(theorem.name)
    return found


def test_the_list_of_theorems_has_each_label_under_its_page_in_order() -> None:
    sections = re.split(r"^## ", prose(DOCS / "theorems.md"), flags=re.MULTILINE)[1:]
    listed = {}
    for section in sections:
        heading = re.match(r"\[.+\]\(([\w/.]+?)(?:#statement)?\)", section)
        assert heading
        listed[name_of(DOCS / heading[1])] = re.findall(
            r"^\| (\w+ [\w']+) \| (.+?) \| ?(.*?) ?\|$", section, re.MULTILINE
        )
    contents = prose(DOCS / "index.md").partition("## Contents")[2]
    places = [contents.index(f"]({name.removeprefix('docs/')})") for name in listed]
    assert places == sorted(places)
    own = {name_of(page): stated(page) for page in PAGES}
    assert {name: [row[0] for row in rows] for name, rows in listed.items()} == {
        name: labels for name, labels in own.items() if labels
    }
    coq = checked_by_coq()
    for label, says, checked in (row for rows in listed.values() for row in rows):
        assert len(says) > 10 and not says.endswith(".")
        assert re.findall(r"`(\w+)`", checked) == coq.get(label.split()[1], []), label
    assert set(coq) <= {label.split()[1] for labels in own.values() for label in labels}


def test_definitions_of_labels_are_noticed() -> None:
    text = "**Theorem A.** x\n> **Lemma B1 (y).** z\n## Lemma C10 (one)\n1. **Theorem 1' (u).** v\n**Lemma 2.** w\n"
    assert defined_labels(text) == ["A", "B1", "C10", "1'", "2"]
    assert defined_labels("**Theorem.** x\n**Lemma 2** (of the paper)\n*Theorem A.* y\n### Theorem A\n") == []
    assert defined_labels("**Theorem SE1 (a).** x\n") == ["SE1"]
    assert cited_labels("Lemmas T1 to T5, Theorem Lemma 3, Theorems U, D2 and SE1; Theorem F") == [
        "T1", "T5", "U", "D2", "SE1", "F"
    ]  # fmt: skip


@pytest.mark.parametrize("page", CLAIMS, ids=name_of)
def test_the_page_of_a_claim_has_the_six_headings_in_order(page: Path) -> None:
    assert [title for title in headings(page, 2) if title not in TEACHING_HEADINGS] == CLAIM_HEADINGS


@pytest.mark.parametrize("page", CLAIMS, ids=name_of)
def test_no_section_of_a_claim_is_empty(page: Path) -> None:
    sections = re.split(r"^## .*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert all(section.strip() for section in sections)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title_and_it_comes_first(page: Path) -> None:
    assert len(headings(page, 1)) == 1
    assert page.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_every_place_in_the_code_that_a_page_names_exists(page: Path) -> None:
    assert missing_places(prose(page)) == []


@pytest.mark.parametrize("page", RIGOUR, ids=name_of)
def test_a_page_of_proofs_names_the_code_that_rests_on_it(page: Path) -> None:
    assert FILE_PLACE.search(prose(page)) or DOTTED_PLACE.search(prose(page))


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_formulas_have_macros_of_letters_only(page: Path) -> None:
    assert [
        name for formula in formulas(page.read_text(encoding="utf-8")) for name in re.findall(r"\\[\W\d_]", formula)
    ] == []


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_markdown_leaves_the_formulas_as_they_are_written(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert formulas_after_markdown(text) == formulas(text)


def items_that_are_none(text: str) -> list[str]:
    """The lines that look like items of a list, and are read as part of a paragraph."""
    blocks = MarkdownIt("commonmark").enable("table").parse(text)
    items = {block.map[0] for block in blocks if block.type == "list_item_open" and block.map}
    code = {
        line for block in blocks if block.type in ("fence", "code_block") and block.map for line in range(*block.map)
    }
    return [
        line
        for number, line in enumerate(text.splitlines())
        if re.match(r" *(?:\d+\.|[-*+]) ", line) and number not in items | code
    ]


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_every_item_of_a_list_is_read_as_one(page: Path) -> None:
    assert items_that_are_none(page.read_text(encoding="utf-8")) == []


def test_items_that_are_none_are_noticed() -> None:
    assert items_that_are_none("1. one\n\n   $$ x $$\n\n   and\n2. two\n\n    - code\n") == []
    assert items_that_are_none("1. one\n\n$$ x $$\n\n   and\n2. two\n") == ["2. two"]


def test_formulas_that_markdown_changes_are_noticed() -> None:
    kept = "$a_i$ and $\\lbrace b_i \\rbrace$ `$x$` \n\n> quoted $c_{i\n> j}$\n"
    assert formulas_after_markdown(kept) == formulas(kept) == ["$a_i$", r"$\lbrace b_i \rbrace$", "$c_{i j}$"]
    for changed in (
        r"$a \, b$",
        "$(a)_i$ $(b)_{i}$",
        "$R^*$ $Q^*$",
        "1. a\n\n$$ x $$\n\n    $y$",
        "$a\n+ b$",
        "$[a](b)$",
    ):
        assert formulas_after_markdown(changed) != formulas(changed)


def program(path: Path) -> ModuleType:
    """A program of docs/ as a module; those beside it can be imported by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def contents() -> ModuleType:
    return program(DOCS / "contents.py")


INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_index_lists_every_page_once_and_numbers_the_chapters(contents: ModuleType) -> None:
    listed = contents.entries(INDEX)
    assert sorted(entry.page for entry in listed) == sorted(
        page.relative_to(DOCS).as_posix() for page in PAGES if page != DOCS / "index.md"
    )
    numbers = [entry.number for entry in listed if entry.number is not None]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 30
    assert [entry.number is None for entry in listed] == sorted(entry.number is None for entry in listed)


def test_no_proof_of_the_core_path_uses_a_later_chapter(contents: ModuleType) -> None:
    numbers = {entry.page: entry.number for entry in contents.entries(INDEX)}
    core = [entry for entry in contents.entries(INDEX) if entry.part == "The core path"]
    assert len(core) >= 13 and [entry.number for entry in core] == list(range(1, len(core) + 1))
    for entry in core:
        text = prose(DOCS / entry.page)
        uses = re.findall(r"^\*Uses\* .*$", text, re.MULTILINE)
        if entry.page == "conventions.md":  # definitions, and no proof
            continue
        assert len(uses) == 1, f"{entry.page} does not say once, in a line that begins with *Uses*, what its proofs use"
        assert "*The idea" in text, f"{entry.page} does not begin its proofs with their idea"
        proofs = re.findall(r"^## (?:Derivation|Proof)$.*?(?=^## )", text, re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([\w./]+\.md)", "\n".join([*uses, *proofs])):
            page = (DOCS / entry.page).parent.joinpath(link).resolve().relative_to(DOCS).as_posix()
            number = numbers.get(page)
            assert number is None or number <= entry.number, f"{entry.page} uses {page}, a later chapter"


def test_every_chapter_of_the_core_path_asks_shows_and_lets_the_reader_try(contents: ModuleType) -> None:
    core = [entry for entry in contents.entries(INDEX) if entry.part == "The core path"]
    for entry in core:
        text = (DOCS / entry.page).read_text(encoding="utf-8")
        assert text.split("\n")[2].startswith("**The question.**"), f"{entry.page} does not begin with its question"
        assert "By hand" in headings(DOCS / entry.page, 2), f"{entry.page} has no example by hand"
        assert "Limits" in headings(DOCS / entry.page, 2), f"{entry.page} does not say what it leaves open"
        assert "![" in text, f"{entry.page} has no picture"
        exercises = text.partition("\n## Exercises\n")[2]
        assert exercises.count("<summary>Solution</summary>") >= 3, f"{entry.page} has fewer than three exercises"


def test_every_chapter_of_the_core_path_ends_with_the_pages_whose_proofs_use_it() -> None:
    """`python docs/used_by.py` writes the line."""
    for path, text, wanted in program(DOCS / "used_by.py").chapters():
        assert text == wanted, name_of(path)


def test_every_chapter_of_the_core_path_has_a_box_of_its_letters_at_its_head(contents: ModuleType) -> None:
    for entry in contents.entries(INDEX):
        if entry.part == "The core path" and entry.page != "conventions.md":  # which has the letters of all chapters
            text = (DOCS / entry.page).read_text(encoding="utf-8")
            box = contents.LETTERS.search(text)
            assert box and box.start() < text.index("\n## "), f"{entry.page} has no letters at its head"
            assert len(re.findall(r"^> - \$", box[0], re.MULTILINE)) >= 2, entry.page


EXERCISE = re.compile(r"^\*\*([\d.]+)\*\*(.*?)<details>", re.MULTILINE | re.DOTALL)
JUDGED = re.compile(r"^`byheart exercise (\S+) '(.*)'` judges your answer: (.*) \(this one is wrong\)\.$", re.MULTILINE)


def test_every_exercise_has_the_number_of_its_chapter_and_names_its_command(contents: ModuleType) -> None:
    named = {}
    for entry in contents.entries(INDEX):
        if entry.part == "The core path":
            exercises = prose(DOCS / entry.page).partition("\n## Exercises\n")[2]
            found = EXERCISE.findall(exercises)
            assert [name for name, _ in found] == [f"{entry.number}.{place}" for place in range(1, len(found) + 1)]
            for name, asked in found:
                ((judged, answer, asks),) = JUDGED.findall(asked)
                assert judged == name
                named[name] = (answer, asks)
    assert named == {name: (exercise.example, exercise.asks) for name, exercise in EXERCISES.items()}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_equations_of_a_page_are_numbered_through(page: Path) -> None:
    numbers = [int(number) for number in re.findall(r"\\tag\{(\d+)\}", page.read_text(encoding="utf-8"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_page_has_the_title_that_the_index_gives_it(contents: ModuleType) -> None:
    assert {entry.page: headings(DOCS / entry.page, 1) for entry in contents.entries(INDEX)} == {
        entry.page: [entry.title] for entry in contents.entries(INDEX)
    }


def test_chapters_are_numbered_through(contents: ModuleType) -> None:
    """`python docs/contents.py` numbers them."""
    assert contents.numbered(INDEX) == INDEX
    assert contents.numbered("3. [A](a.md)\n- [B](b.md)\n7. [C](c.md)\n") == "1. [A](a.md)\n- [B](b.md)\n2. [C](c.md)\n"


def test_the_site_numbers_the_chapters_and_leads_on(site: Path, contents: ModuleType) -> None:
    chapters = contents.entries(INDEX)
    home = (site / "index.html").read_text(encoding="utf-8")
    for before, entry, after in zip(chapters[:-2], chapters[1:-1], chapters[2:], strict=True):
        page = (site / entry.page).with_suffix(".html").read_text(encoding="utf-8")
        around = re.findall(r'<a class="(next|prev)-page" href="([^"]*)"', page)
        folder = (site / entry.page).parent
        assert {kind: (folder / link).resolve() for kind, link in around} == {
            "next": (site / after.page).with_suffix(".html").resolve(),
            "prev": (site / before.page).with_suffix(".html").resolve(),
        }
        if entry.number is not None:
            assert f'<p class="chapter">Chapter {entry.number} · {entry.part}</p>' in page
            assert f">{entry.number} {html.escape(entry.title)}</a>" in home.replace("’", "'")
        assert "· before: " not in page


def test_the_first_chapter_is_one_click_from_the_readme_and_has_a_command(contents: ModuleType) -> None:
    first = contents.entries(INDEX)[0].page
    assert first == "exclusive_or.md"
    assert f"(docs/{first})" in (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert "```console\n$ " in (DOCS / first).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def register(contents: ModuleType) -> ModuleType:
    return program(DOCS / "register.py")


DECIMAL = re.compile(r"\d+\.\d+(?:[eE][+-]?\d+)?")


def differences(shown: str, computed: str) -> list[str]:
    """The lines that differ in more than the last digits of a decimal, which processors may round differently."""
    if len(shown.splitlines()) != len(computed.splitlines()):
        return ["the number of lines"]
    return [
        one
        for one, other in zip(shown.splitlines(), computed.splitlines(), strict=True)
        if DECIMAL.sub("#", one) != DECIMAL.sub("#", other)
        or any(
            not math.isclose(float(a), float(b), rel_tol=0.01, abs_tol=1e-9)
            for a, b in zip(DECIMAL.findall(one), DECIMAL.findall(other), strict=True)
        )
    ]


def test_differences_are_noticed() -> None:
    assert differences("rank <= 3, KL >= 0.3185\n", "rank <= 3, KL >= 0.3186\n") == []
    assert differences("within 2.6e-13\n", "within 4.1e-13\n") == []
    for other in (
        "rank <= 4, KL >= 0.3185\n",
        "rank <= 3, KL >= 0.3285\n",
        "rank <= 3\n",
        "rank <= 3, KL >= 0.3185\n\n",
    ):
        assert differences("rank <= 3, KL >= 0.3185\n", other) != []


def test_what_is_shown_for_a_verdict_is_proved_and_refutes_what_does_not_hold(register: ModuleType) -> None:
    assert set(register.SHOWN) == set(register.WORDS) == set(NEEDED)
    for id in REGISTER:
        piece = register.shown_piece(id)
        assert piece.verdict is Verdict.PROVED and piece.role in NEEDED[claim(id).judgement]
        assert (piece.role in REFUTING) == (claim(id).judgement in register.ERRORS)


def test_the_register_is_what_its_program_writes(register: ModuleType) -> None:
    """`python docs/register.py` writes it."""
    assert differences(register.PAGE.read_text(encoding="utf-8"), register.page()) == []


def test_what_does_not_hold_has_a_row_with_its_record_and_its_chapter(register: ModuleType) -> None:
    wrong = [claim(id) for id in REGISTER if claim(id).judgement in register.ERRORS]
    rows = re.findall(
        r"^\| \[.*?\]\(#([\w-]+)\).*?: .* \| ([\w-]+) \| (.+) \| \[.*\]\(([\w/]+\.md)#erratum\) \|$",
        prose(register.PAGE),
        re.MULTILINE,
    )
    assert rows == [
        (register.anchor(found.id), found.judgement, register.plain(found.wrong), found.page.removeprefix("docs/"))
        for found in wrong
    ]


def test_the_counts_of_the_verdicts_are_those_of_the_register(register: ModuleType) -> None:
    """The words of the rule say which verdicts there are."""
    counted = [int(number) for number in re.findall(r"\b(\d+) \*", register.counts())]
    assert sum(counted) == len(REGISTER)
    for path in [ROOT / "README.md", *DOCS.glob("*.md")]:
        for number, noun in re.findall(r"\b(\d+) (claims|verdicts)\b", path.read_text(encoding="utf-8")):
            assert int(number) == len(REGISTER), (path.name, number, noun)


def test_what_is_not_legible_is_in_no_row_and_named_apart(register: ModuleType) -> None:
    """Nothing that was not read in full is among what does not hold; each page with a theorem beside it is linked."""
    assert not any(claim(id).reconstructed for id in register.wrong())
    apart = "\n".join(register.not_legible())
    assert apart.strip() in prose(register.PAGE)
    assert re.findall(r"\]\(([\w/]+\.md)#statement\)", apart) == [claim(id).page[5:] for id in register.unread()]


@pytest.mark.parametrize("id", REGISTER)
def test_the_code_of_a_claim_leads_back_to_its_page(id: str) -> None:
    module, page = claim(id).module, claim(id).page
    first = ast.get_docstring(ast.parse((ROOT / "verify/theorems/claims" / f"{module}.py").read_text(encoding="utf-8")))
    assert first is not None and page in first
    test = ROOT / f"tests/verify/theorems/claims/test_{module}.py"  # of what is its own, if anything is
    assert not test.exists() or (module in test.read_text() and "def test_" in test.read_text())


def test_the_site_shows_the_record_of_each_claim_in_the_register_and_on_its_chapter(site: Path) -> None:
    everything = (site / "register.html").read_text(encoding="utf-8")
    words_of_all = re.sub(r"<[^>]*>", "", everything)
    targets = Targets()
    targets.feed(everything)
    for id in REGISTER:
        page = (site / claim(id).page.removeprefix("docs/")).with_suffix(".html").read_text(encoding="utf-8")
        summary = f"<summary><code>{id}</code> <strong>{claim(id).judgement}</strong>"
        before, after = page.split(summary)
        record, rest = after.split("</details>", 1)
        assert 'id="statement"' not in before and 'id="statement"' in rest
        words = re.sub(r"<[^>]*>", "", record)
        for word in ("Printed", "Verdict", "True", "Promised: ", "Certified: ", "Chapter", "Code", "Again"):
            assert word in words
        assert f"byheart audit {id}" in words and f"byheart audit {id}" in words_of_all
        assert id.replace(".", "") in targets.places


def test_the_theorems_in_coq_that_answer_a_claim_are_named_by_its_record(register: ModuleType) -> None:
    answered = {id for theorem in register.library() for id in theorem.claims}
    assert answered <= set(REGISTER) and len(answered) >= 16
    records = register.written_records()
    assert list(records) == list(REGISTER)
    for id in REGISTER:
        theorems = [theorem.name for theorem in register.library() if id in theorem.claims]
        line = re.search(r"^- \*\*In Coq\*\*: (.*)$", records[id], re.MULTILINE)
        assert (re.findall(r"\[`(\w+)`\]", line[1]) if line else []) == theorems, id
    assert "lemma_2_is_false" in records["dana.lemma-2"]


def test_every_theorem_in_coq_says_in_words_what_it_states_and_what_it_answers(register: ModuleType) -> None:
    for theorem in register.library():
        assert len(theorem.says) > 10 and theorem.says.endswith((".", ")")), theorem.place
        assert len(theorem.answers) > 8, theorem.place


def test_what_coq_calls_false_is_judged_so(register: ModuleType) -> None:
    judged = {
        (id, claim(id).judgement)
        for theorem in register.library()
        for id in theorem.claims
        if theorem.name.endswith("_is_false")
    }
    assert len(judged) >= 8 and {judgement for _, judgement in judged} == {"false"}


def test_what_is_no_statement_is_called_false_nowhere_in_its_record() -> None:
    for id in REGISTER:
        found = claim(id)
        if found.kind in ("remark", "summary", "fit"):
            said = " ".join([found.printed, found.reading, found.truth, found.wrong])
            assert not re.search(r"\b(false|refut\w*|disprove\w*)\b", said, re.IGNORECASE), id


def test_nothing_refutes_or_repairs_a_source_that_was_not_read() -> None:
    """What stands beside a claim that is not legible, or not judged, is beside it, in docstrings and proofs too."""
    names = {claim(id).source.split(",")[0].split(" (")[0] for id in REGISTER} - {"Dana", "This project"}
    judging = re.compile(
        r"\b(refutes|repaired|repairs|corrects|sharpens|exceeds|counterexample to)\b"
        rf"[^.]{{0,40}}\b({'|'.join(names)})\b"
        rf"|\b({'|'.join(names)})\b[^.]{{0,60}}\b(repaired|refuted|corrected)\b"
    )
    folders = ("byheart", "constructions", "verify", "formal")
    files = [path for folder in folders for end in ("py", "v") for path in (ROOT / folder).rglob(f"*.{end}")]
    assert len(files) > 300 and "Mahdavi" in names
    assert [(path.name, found) for path in files for found in judging.findall(path.read_text(encoding="utf-8"))] == []


FIGURES = sorted(path for path in (DOCS / "figures").glob("*.py") if path.stem != "figure_program")


@pytest.mark.parametrize("source", FIGURES, ids=name_of)
def test_a_figure_is_what_its_program_draws(source: Path) -> None:
    drawn = program(source).drawing()
    assert source.with_suffix(".svg").read_text(encoding="utf-8") == drawn
    root = ElementTree.fromstring(drawn)
    assert len("".join(root[0].itertext())) > 40 and root[0].tag.endswith("title")
    assert "prefers-color-scheme: dark" in drawn and 'data-theme="dark"' in drawn


@pytest.mark.slow
@pytest.mark.parametrize("source", [path for path in FIGURES if path.with_suffix(".csv").exists()], ids=name_of)
def test_the_table_of_a_figure_is_what_its_program_measures(source: Path) -> None:
    """`python docs/figures/NAME.py --measure` writes it."""
    try:
        found = program(source).measured()
    except LookupError as error:
        pytest.skip(str(error))
    with source.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        committed = list(csv.DictReader(file))
    assert len(found) == len(committed) > 5
    for row, other in zip(found, committed, strict=True):
        assert list(row) == list(other)
        for name, value in row.items():
            assert differences(other[name], str(value)) == [], (name, row, other)


def test_the_graph_joins_each_claim_with_the_theorems_that_its_evidence_names(register: ModuleType) -> None:
    graph = program(DOCS / "figures" / "statements.py")
    for id in REGISTER:
        piece = register.shown_piece(id)
        assert {applied.theorem for applied in piece.theorems} <= set(graph.theorems_of(id))
        assert graph.state(id) != "fourth" or piece.quantifier not in UNIVERSAL
    assert {graph.state(id) for id in REGISTER} == set(graph.STATES)
    assert {one for id in REGISTER for one in graph.theorems_of(id)} == {
        one for one in vars(theorems).values() if isinstance(one, Theorem)
    }
    assert {id for answered in graph.proofs().values() for id in answered} <= set(REGISTER)


def test_every_figure_is_shown_with_words_in_its_place() -> None:
    shown = {}
    for page in PAGES:
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", prose(page)):
            assert len(words) > 40, target
            shown[(page.parent / target).resolve()] = words
    trained = [path for path in shown if path.parent == DOCS / "trained"]  # `byheart experiment` draws these
    assert sorted({*shown} - {*trained}) == sorted(source.with_suffix(".svg") for source in FIGURES)
    assert trained and all(path.is_file() for path in trained)


def test_every_page_that_a_module_names_exists_and_is_named_once() -> None:
    texts = [source.read_text(encoding="utf-8") for source in SOURCES]
    lines = [re.findall(r"Pages?:\s+docs/[\w/-]+\.md(?:,\s+docs/[\w/-]+\.md)*", text) for text in texts]
    named = {page for found in lines for line in found for page in re.findall(r"docs/[\w/-]+\.md", line)}
    assert len(named) > 40 and [page for page in named if not (ROOT / page).is_file()] == []
    assert max(map(len, lines)) == 1


def arguments_that_are_none(source: str) -> list[str]:
    """What docstrings list under `Args:` that is no argument of the function and no field of the class."""
    tree = ast.parse(source)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}

    def fields(node: ast.ClassDef) -> set[str]:
        above = [fields(classes[base.id]) for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        made = [arguments(each) for each in methods if each.name == "__init__"]
        typed = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
        own = {each.id for each in typed if isinstance(each, ast.Name)} | {each.name for each in methods}
        return own.union(*above, *made)

    def arguments(node: ast.FunctionDef) -> set[str]:
        return {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}

    wrong: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            listed = re.search(r"^Args:\n((?: {4}.*\n|\n)+)", f"{ast.get_docstring(node)}\n", re.MULTILINE)
            names = re.findall(r"^ {4}(\w+):", listed[1], re.MULTILINE) if listed else []
            known = fields(node) if isinstance(node, ast.ClassDef) else arguments(node)
            wrong += [f"{node.name}: {name}" for name in names if name not in known]
    return wrong


def test_every_argument_that_a_docstring_lists_is_one() -> None:
    wrong = {str(path): arguments_that_are_none(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_arguments_that_are_none_are_noticed() -> None:
    said = '"""One.\n\n    Args:\n        a: One.\n            b: More.\n        c: Two.\n    """'
    assert arguments_that_are_none(f"def f(a, *, b):\n    {said}") == ["f: c"]
    assert arguments_that_are_none(f"class A:\n    c: int\nclass B(A):\n    {said}\n    b: int") == ["B: a"]


def test_missing_places_are_noticed() -> None:
    assert missing_places("`verify/verdict.py:Verdict.all_of` `verify.verdict.Verdict.PROVED` `tests/verify/`") == []
    wrong = "`verify/nothing.py` `verify/verdict.py:Nothing` `verify.verdict.Nothing` `constructions.nothing`"
    assert len(missing_places(wrong)) == 4
    assert missing_places("`formal/rank.v:dependent_rank` `formal/check.py:check`") == []
    assert len(missing_places("`formal/rank.v:nothing` `formal/nothing.v`")) == 2


def test_dead_links_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One title\n[a](page.md#one-title) [b](#one-title) [c](other.md) [d](#two)\n", encoding="utf-8")
    assert dead_links(page) == ["other.md", "#two"]


@pytest.fixture(scope="module")
def commands() -> set[str]:
    """The commands that `byheart --help` lists."""
    help_text = subprocess.run([sys.executable, "-m", "byheart", "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^ +([a-z]+) ", help_text.stdout, re.MULTILINE))


@pytest.mark.parametrize("text", [ROOT / "README.md", *PAGES], ids=name_of)
def test_every_command_that_a_page_shows_exists(text: Path, commands: set[str]) -> None:
    shown = set(re.findall(r"(?:^ {4}|^\$ |`)byheart ([a-z]+)", text.read_text(encoding="utf-8"), re.MULTILINE))
    assert shown <= commands


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as a site, built the way `make docs` does, a warning being an error."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-color", "--nitpicky", "--fail-on-warning", "--keep-going"]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(
        r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?//"""
        r"""|<link\b[^>]*\bhref\s*=\s*["']?(?:https?:)?//"""
        r"""|@import\s+["']?(?:url\()?["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//""",
    )
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(files) > len(PAGES)
    assert [path.name for path in files if loading.search(path.read_text(encoding="utf-8"))] == []


def test_the_catalogue_of_the_memories_is_what_its_program_writes() -> None:
    """`python docs/tables.py` writes it, from the menu and from the line *Memory* of each chapter."""
    tables = program(DOCS / "tables.py")
    text = tables.PAGE.read_text(encoding="utf-8")
    assert tables.page() == text
    catalogue = tables.CATALOGUE.search(text)[0]
    assert re.findall(r"^\| `([\w-]+)` \|", catalogue, re.MULTILINE) == [memory.name for memory in MEMORIES]
    said = {name for page in CLAIMS for name in re.findall(r"\*Memory\* `([\w-]+)`:", prose(page))}
    assert said == {memory.name for memory in MEMORIES}


@pytest.mark.parametrize("page", [page for page in PAGES if ".csv)\n" in prose(page)], ids=name_of)
def test_a_line_that_is_only_a_link_to_a_csv_file_is_a_table_of_the_site(page: Path, site: Path) -> None:
    built = (site / page.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
    tables = re.findall(r"^\[[^\]]*\]\((.*\.csv)\)$", prose(page), re.MULTILINE)
    assert not re.search(r'href="[^"]*\.csv"', built) and built.count("<table") >= len(tables) > 0


def test_formulas_are_in_the_site_as_mathml(site: Path) -> None:
    page = (site / "conventions.html").read_text(encoding="utf-8")
    assert page.count("<math") == page.count("</math>") > 100
    assert '<span class="eqno">(1)</span>' in page


def test_a_formula_and_the_punctuation_that_touches_it_stay_on_one_line(site: Path) -> None:
    page = (site / "conventions.html").read_text(encoding="utf-8")
    touched = re.findall(r'<span class="math">([^<]*)<math.*?</math>([^<]*)</span>', page)
    assert {"(", ""} <= {before for before, _ in touched} and {".", ",", ""} <= {after for _, after in touched}
    assert re.findall(r"</math>\s*[,.;:)]", re.sub(r"</math>[^<\s]*</span>", "", page)) == []


def test_every_formula_is_set_in_the_font_of_the_site(site: Path) -> None:
    style = (site / "_static" / "mathml.css").read_text(encoding="utf-8")
    (font,) = re.findall(r'url\("([^"]*)"\)', style)
    assert (site / "_static" / font).read_bytes() == (DOCS / "_static" / font).read_bytes()
    (family,) = re.findall(r'@font-face \{\s*font-family: ("[^"]*");', style)
    assert f"math {{ font-family: {family}, math; }}" in style
    (listed,) = re.findall(r"unicode-range: ([^;]*);", style)
    memorized: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.strip().removeprefix("U+").partition("-")
        memorized |= set(range(int(first, 16), int(last or first, 16) + 1))
    for path in site.rglob("*.html"):
        for formula in re.findall(r"<math.*?</math>", path.read_text(encoding="utf-8"), re.DOTALL):
            used = set(html.unescape(re.sub(r"<[^>]*>", "", formula))) - {"\n"}
            assert {character for character in used if ord(character) not in memorized} == set(), path.name


class Prose(HTMLParser):
    """The text of an HTML page outside of code, formulas, scripts and styles."""

    APART = frozenset({"code", "math", "pre", "script", "style"})

    def __init__(self) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.APART:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.APART:
            assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.pieces.append(data)


def raw_latex(page: str) -> list[str]:
    """What is left of formulas in the prose of an HTML page: dollars and backslashes, with their surroundings."""
    reader = Prose()
    reader.feed(page)
    reader.close()
    assert reader.inside == []
    return re.findall(r".{0,20}[$\\].{0,20}", "".join(reader.pieces))


def test_no_formula_is_left_as_it_was_typed(site: Path) -> None:
    pages = sorted(path for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "_static")
    assert len(pages) > len(PAGES)
    assert {page.name: found for page in pages if (found := raw_latex(page.read_text(encoding="utf-8")))} == {}


def test_latex_in_prose_is_noticed() -> None:
    assert raw_latex("<p>a <math><mo>$</mo></math> <code>\\frac</code> b</p><pre>$ x</pre>") == []
    assert raw_latex("<p>so \\frac{1}{2} and $x$</p>") == ["so \\frac{1}{2} and $x$"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_prose_is_set_as_a_block_of_code(page: Path, site: Path) -> None:
    """Indentation makes a block of code; a sentence or a formula in it was meant to be read."""
    built = (site / page.relative_to(DOCS).with_suffix(".html")).read_text(encoding="utf-8")
    blocks = [
        html.unescape(re.sub(r"<[^>]*>", "", block)) for block in re.findall(r"<pre>(.*?)</pre>", built, re.DOTALL)
    ]
    assert [block for block in blocks if re.search(r"\$\S[^$\n]*\$", block)] == []


@pytest.fixture(scope="session")
def mathml() -> ModuleType:
    return program(DOCS / "mathml.py")


@pytest.mark.parametrize(
    "latex",
    [r"\nosuchcommand x", r"\not\le", r"\begin{pmatrix} a \end{pmatrix}^2", r"a & b", r"\frac{a}", r"a_b_c", r"{"],
)
def test_a_formula_that_would_be_printed_as_garbage_is_refused(mathml: ModuleType, latex: str) -> None:
    with pytest.raises(ValueError, match="latex2mathml"):
        mathml.mathml(latex, "block")


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\max_t x", '<munder><mo movablelimits="true" lspace="0" rspace="0.167em">max</mo><mi>t</mi></munder>'),
        (r"\bigcup_i^n", '<munderover><mo movablelimits="true">⋃</mo>'),
        (r"\lVert A \rVert", '<mo lspace="0" rspace="0" stretchy="false">‖</mo>'),
        (r"\left\lVert A \right\rVert", '<mo stretchy="true" fence="true" form="prefix" lspace="0" rspace="0">‖</mo>'),
        (r"a \log(x)", '<mo lspace="0.167em" rspace="0">log</mo>'),
        (r"\min(a, -b)", '<mo lspace="0" rspace="0">min</mo><mo stretchy="false" form="prefix">(</mo>'),
        (r"\min(a, -b)", '<mo>,</mo><mo form="prefix">−</mo><mi>b</mi>'),
        (r"a - b", "<mo>−</mo>"),
        (r"m / n", '<mo lspace="0" rspace="0" stretchy="false">/</mo>'),
        (r"\lbrace x : x \ge 0 \rbrace", '<mo stretchy="false" form="prefix">{</mo><mi>x</mi><mo lspace="0.278em"'),
        (
            r"\begin{pmatrix} a \cr b \end{pmatrix}",
            '<mo form="prefix">(</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr><mtr>',
        ),
        (r"a \thinspace b", '<mi>a</mi><mspace width="0.167em" /><mi>b</mi>'),
        (r"U \setminus V", "∖"),
        (r"1, \dots, n", "<mi>…</mi>"),
        (r"\le R", '<mo lspace="0">≤</mo>'),
        (r"a \to", '<mo rspace="0">→</mo>'),
        (r"n! \log n", '<mo lspace="0.167em" rspace="0.167em">log</mo>'),
        (r"\begin{aligned} a &= b \end{aligned}", '<mtd columnalign="right"><mi>a</mi></mtd>'),
    ],
)
def test_a_formula_is_rendered_the_way_browsers_read_it(mathml: ModuleType, latex: str, expected: str) -> None:
    assert expected in mathml.mathml(latex, "block")


def test_the_index_of_a_large_bracket_hangs_on_all_that_is_bracketed(mathml: ModuleType) -> None:
    (group, index), rest = ElementTree.fromstring(mathml.mathml(r"\Bigl( a \bigl[ b \bigr]_i \Bigr)^2 c", "block"))[0]
    assert ("".join(group.itertext()), index.text, rest.text) == ("(a[b]i)", "2", "c")
    inner = group[2]
    assert (inner.tag, "".join(inner[0].itertext())) == ("msub", "[b]")


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"a = b + c, \quad d", ["a=", "b+", "c,", "d"]),
        (r"f(x, y = 1) \le |u + v|", ["f(x,y=1)≤", "|u+v|"]),
        (r"\langle x, y \rangle > 0", ["⟨x,y⟩>", "0"]),
        (r"-x", ["−x"]),
        (r"a = -x + y", ["a=", "−x+", "y"]),
        (r"\lbrace 0, 1 \rbrace^n", ["{0,1}n"]),
        (r"\sum_{i > d} s_i", ["∑i>dsi"]),
        (r"=", ["="]),
    ],
)
def test_a_formula_in_a_line_is_cut_after_relations_outside_of_brackets(
    mathml: ModuleType, latex: str, expected: list[str]
) -> None:
    assert ["".join(ElementTree.fromstring(piece).itertext()) for piece in mathml.pieces(latex)] == expected


def test_a_sign_at_the_end_of_a_line_keeps_its_spaces(mathml: ModuleType) -> None:
    first, second = mathml.pieces("a = b")
    assert '<mo form="infix">=</mo>' in first and "infix" not in second


class Targets(HTMLParser):
    """Where an HTML page leads, and what in it can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {name for key in ("id", "name") if (name := found.get(key))}
        self.links += [link for key in ("href", "src") if (link := found.get(key))]


def dead_links_of_the_site(site: Path) -> list[str]:
    """The links of built pages to a file or a place that is not there; links to other sites are left alone."""
    pages = {}
    for path in site.rglob("*.html"):
        if path.relative_to(site).parts[0] != "_static":
            pages[path] = Targets()
            pages[path].feed(path.read_text(encoding="utf-8"))
    dead = []
    for path, targets in pages.items():
        for link in targets.links:
            file, _, place = unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:|//", link):
                continue
            goal = (path.parent / file.split("?")[0]).resolve() if file else path
            if not goal.is_file() or (goal in pages and place not in pages[goal].places):
                dead.append(f"{path.relative_to(site)}: {link}")
    return sorted(dead)


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    assert dead_links_of_the_site(site.resolve()) == []


def test_dead_links_of_a_site_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a id="x" href="b.html#y"></a><a href="#x"></a><a href="https://example.org"></a>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#z"></a><img src="c.png"><svg><a href="a.html#x"></a></svg>')
    assert dead_links_of_the_site(tmp_path) == ["a.html: b.html#y", "b.html: a.html#z", "b.html: c.png"]


needs_chromium = pytest.mark.skipif(
    browser.chromium() is None, reason=f"no browser: install one of {', '.join(browser.NAMES)} (Debian: chromium)"
)


# The page that is among the first five links for words that a visitor types.
FOUND_BY_WORDS = {
    "four contexts one head": "exclusive_or.html",
    "what does PROVED mean": "rigour/certificate.html",
    "export to Hugging Face": "hosts.html",
}


@needs_chromium
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)], ids=["every-ninth", "all"])
def test_pages_are_whole_in_a_browser_on_a_desk_a_phone_and_paper_and_can_be_searched(site: Path, step: int) -> None:
    """No error, no failed request, nothing cut off or unreadable; the search finds the chapter of its words."""
    pages = [page.relative_to(DOCS).with_suffix(".html").as_posix() for page in PAGES[::step]]
    found = browser.visited(site, pages, searches=list(FOUND_BY_WORDS))
    assert "failed" not in found and found["refused"] == []
    assert [one["page"] for one in found["pages"]] == pages
    assert {one["page"]: one["wrong"] for one in found["pages"] if one["wrong"]} == {}
    for searched in found["searched"]:
        links = [link.split("#")[0] for link in searched["links"]]
        assert FOUND_BY_WORDS[searched["words"]] in links[:5], searched
        assert searched["wrong"] == []


# Moves the sliders of chapter 1, and says after each move where the segments and the common point are drawn.
MOVED = """
(() => {
  const figure = document.querySelector('[data-drawing="exclusive_or"]');
  const sliders = [...figure.querySelectorAll("input[type=range]")];
  const seen = () => ({
    lines: [...figure.querySelectorAll("svg g line")].map(one =>
      ["x1", "y1", "x2", "y2"].map(name => Number(one.getAttribute(name)))),
    point: ["cx", "cy"].map(name => Number(figure.querySelector("svg g circle.ink").getAttribute(name))),
    says: figure.querySelector(":scope > p").textContent,
  });
  const views = [seen()];
  for (const values of [[2, -1, 3, 0], [-4, 4, -4, 4], [0, 0, 0, 0], [1.5, 1.5, -3, 2]]) {
    sliders.forEach((one, i) => { one.value = values[i]; one.dispatchEvent(new Event("input")); });
    views.push(seen());
  }
  return { sliders: sliders.length, views };
})()
"""


@needs_chromium
def test_the_drawing_of_the_first_chapter_moves_and_its_segments_still_cross(site: Path) -> None:
    found = browser.visited(site, ["exclusive_or.html"], searches=[], probes={"exclusive_or.html": MOVED})
    assert "failed" not in found and found["pages"][0]["wrong"] == []
    moved = found["pages"][0]["probed"]
    still = (DOCS / "figures" / "exclusive_or.svg").read_text(encoding="utf-8")
    assert moved["sliders"] == 4
    (still_point,) = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="9"', still)
    assert moved["views"][0]["point"] == [float(value) for value in still_point]
    assert len({tuple(view["point"]) for view in moved["views"]}) == len(moved["views"])
    for view in moved["views"]:
        assert len(view["lines"]) == 2
        for x1, y1, x2, y2 in view["lines"]:
            x, y = view["point"]
            detour = math.dist((x1, y1), (x, y)) + math.dist((x, y), (x2, y2)) - math.dist((x1, y1), (x2, y2))
            assert detour < 0.1  # hundredths of a pixel are drawn
        sums = [float(number) for number in re.findall(r"\d+\.\d+", view["says"])]
        assert sums[0] + sums[1] == pytest.approx(sums[2] + sums[3], abs=0.03)


@needs_chromium
def test_what_is_wrong_with_a_page_is_noticed_in_the_browser(tmp_path: Path) -> None:
    page = """<html><head><style>.pale { color: #aaa } body { margin: 0 }
        div.math { position: relative } .eqno { position: absolute; left: 0 }</style></head><body><div role=main>
        BODY</div></body></html>"""
    spoiled = {
        "fine": ("<p>text</p>", ""),
        "error": ("<p>text</p><script>nothing_of_this_name()</script>", "nothing_of_this_name is not defined"),
        "said": ("<p>text</p><script>console.error('what is said')</script>", "what is said"),
        "lost": ('<img src="lost.png">', "cannot load"),
        "wide": ('<p style="width: 700px">text</p>', "cut off: P text"),
        "aside": ('<p>text</p><div class="toc-drawer">links</div>', "paper: printed: toc-drawer"),
        "long": ('<pre style="overflow-x: auto; width: 9px">long text</pre>', "paper: cut off: PRE long text"),
        "dim": ("<style>@media print { p { color: #ddd } }</style><p>text</p>", "paper: hard to read: P text"),
        "pale": ('<p class="pale">text</p>', "light: hard to read: P text"),
        "over": ('<div class="math"><div class="formula">x = y</div><span class="eqno">(7)</span></div>', "(7)"),
        "font": ("<p><math><mi>x</mi></math></p>", "no font for formulas"),
        "empty": ('<p><math style="display: block; height: 0"><mi>x</mi></math></p>', "an empty formula: x"),
    }
    for name, (body, _) in spoiled.items():
        (tmp_path / f"{name}.html").write_text(page.replace("BODY", body), encoding="utf-8")
    (tmp_path / "search.html").write_text(
        '<html><head></head><body><div id="search-results"><li><a href="fine.html"></a></li></div></body></html>'
    )
    found = browser.visited(tmp_path, [f"{name}.html" for name in spoiled], searches=["text"])
    assert found["refused"] == ["404 /lost.png"] and [one["links"] for one in found["searched"]] == [["fine.html"]]
    for one, (name, (_, expected)) in zip(found["pages"], spoiled.items(), strict=True):
        assert (one["wrong"] == []) == (name == "fine"), one
        assert expected in " ".join(one["wrong"]), one
