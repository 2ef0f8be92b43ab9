"""Compile the proofs of this folder and say which axioms they rest on; fail on anything that is no proof.

    python formal/check.py            the proofs of this folder
    python formal/check.py FOLDER     those of another one, laid out in the same way, such as formal/float32
    ... --coqchk                      and let coqchk, a kernel that stands alone, check what was compiled once more

It ends with 0 if every file of `_CoqProject` compiles, no source assumes anything, and the theorems rest on axioms of
Coq's own real numbers only (`ALLOWED`); with 1 if not; with 2 if there is no `coqc` to ask.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What Coq's standard library builds its real numbers and classical logic from. Nothing else may be assumed.
ALLOWED = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "Classical_Prop.classic",
    "FunctionalExtensionality.functional_extensionality_dep",
}
# Commands that assume instead of proving, or that switch off a check of the kernel.
ASSUMING = re.compile(
    r"\b(?:Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Primitive|Declare|Load|bypass_check|type_in_type"
    r"|(?:Unset|Set)\s+(?:Guard|Positivity|Universe)\s+Checking)\b"
)
THEOREM = re.compile(r"^\s*Theorem\s+([A-Za-z_]\w*)", re.MULTILINE)


class ProofError(Exception):
    """The folder holds something that is not a proof; the text says what and where."""


def without_comments(source: str) -> str:
    """The source with comments, which nest, and strings blanked out; the lines stay where they are."""
    kept, depth, position = [], 0, 0
    for found in re.finditer(r'\(\*|\*\)|"[^"]*"', source):
        before = source[position : found.start()]
        kept.append(before if depth == 0 else re.sub(r"[^\n]", " ", before))
        kept.append(re.sub(r"[^\n]", " ", found.group()))
        if found.group() == "(*":
            depth += 1
        elif found.group() == "*)" and depth > 0:
            depth -= 1
        position = found.end()
    return "".join(kept) + (source[position:] if depth == 0 else "")


def assumed(source: str) -> list[tuple[int, str]]:
    """The line numbers, from 1, and the words of a source that assume something."""
    text = without_comments(source)
    return [(text.count("\n", 0, found.start()) + 1, found.group()) for found in ASSUMING.finditer(text)]


def theorems(source: str) -> list[str]:
    """The names of the theorems of a source, in order. What is called a lemma is a step of a proof."""
    return THEOREM.findall(without_comments(source))


def all_theorems(sources: list[Path]) -> list[str]:
    """The theorems `file.name` of some files."""
    return [f"{source.stem}.{theorem}" for source in sources for theorem in theorems(source.read_text("utf-8"))]


def listed_files(folder: Path) -> tuple[str, list[Path]]:
    """The logical name of the folder and its files in the order in which they compile.

    Raises:
        ProofError: The list is not that of the files that are there.
    """
    words = (folder / "_CoqProject").read_text(encoding="utf-8").split()
    if words[:2] != ["-Q", "."] or len(words) < 3:
        raise ProofError(f"{folder}/_CoqProject: expected '-Q . NAME' and then the files, not {' '.join(words[:3])!r}")
    listed, there = words[3:], {path.name for path in folder.glob("*.v")}
    if set(listed) != there or len(set(listed)) != len(listed):
        raise ProofError(f"{folder}/_CoqProject lists {sorted(listed)}, but the folder holds {sorted(there)}")
    return words[2], [folder / name for name in listed]


def compiled(name: str, sources: list[Path], build: Path) -> None:
    """Compile copies of the sources in an empty folder.

    Raises:
        ProofError: One of them does not compile; the text is what coqc says.
    """
    for source in sources:
        shutil.copy(source, build)
        run = subprocess.run(["coqc", "-Q", ".", name, source.name], cwd=build, capture_output=True, text=True)
        if run.returncode != 0:
            raise ProofError(f"{source.name} does not compile:\n{run.stdout}{run.stderr}".rstrip())


def axioms(name: str, sources: list[Path], build: Path) -> set[str]:
    """What Coq prints that all theorems of the sources together rest on; what is no axiom counts as one."""
    proved = [
        f"{name}.{source.stem}.{theorem}" for source in sources for theorem in theorems(source.read_text("utf-8"))
    ]
    every = "".join(f"(conj (@{theorem}) " for theorem in proved) + "I" + ")" * len(proved)
    needed = "\n".join(f"From {name} Require {source.stem}." for source in sources)
    question = build / "axioms_of_all_theorems.v"
    question.write_text(f"{needed}\nDefinition every := {every}.\nPrint Assumptions every.\n", encoding="utf-8")
    run = subprocess.run(["coqc", "-Q", ".", name, question.name], cwd=build, capture_output=True, text=True)
    if run.returncode != 0:
        raise ProofError(f"what the theorems rest on is not known:\n{run.stdout}{run.stderr}".rstrip())
    return printed_axioms(run.stdout)


def printed_axioms(output: str) -> set[str]:
    """The names that `Print Assumptions` prints."""
    lines = output.splitlines()
    if not lines:
        raise ProofError("nothing was printed about what the theorems rest on")
    if lines[0] == "Closed under the global context":
        return {line for line in lines[1:] if line}
    return {line.split(" ")[0] for line in lines if line and not line.startswith(" ")} - {"Axioms:"}


def checked_again(name: str, sources: list[Path], build: Path) -> set[str]:
    """What coqchk finds that the compiled sources, and all that they import, rest on.

    Raises:
        ProofError: It does not accept them.
    """
    modules = [f"{name}.{source.stem}" for source in sources]
    run = subprocess.run(
        ["coqchk", "-silent", "-o", "-Q", ".", name, *modules], cwd=build, capture_output=True, text=True
    )
    if run.returncode != 0:
        raise ProofError(f"coqchk does not accept what was compiled:\n{run.stdout}{run.stderr}".rstrip())
    return summarized_axioms(run.stdout + run.stderr)


def summarized_axioms(output: str) -> set[str]:
    """The axioms that the summary of coqchk names, each by its file and its own name.

    Raises:
        ProofError: The summary is not as expected, or a check of the kernel was switched off somewhere.
    """
    parts = {title: body.split() for title, body in re.findall(r"^\* ([^:]+):(.*?)(?=^\* |\Z)", output, re.M | re.S)}
    axioms = parts.pop("Axioms", None)
    if axioms is None or parts.pop("Theory", None) != ["Set", "is", "predicative"] or len(parts) < 3:
        raise ProofError(f"coqchk printed another summary than is known here:\n{output}".rstrip())
    for title, found in parts.items():
        if found != ["<none>"]:
            raise ProofError(f"coqchk says: {title}: {' '.join(found)}")
    return {".".join(axiom.split(".")[-2:]) for axiom in axioms if axiom != "<none>"}


def check(folder: Path, *, again: bool = False) -> tuple[list[str], set[str]]:
    """The theorems `file.name` of a folder, and the axioms that they rest on together; `again` by coqchk too.

    Raises:
        ProofError: A source assumes something, does not compile or is empty, or the theorems need more than ALLOWED.
    """
    name, sources = listed_files(folder)
    for source in sources:
        for line, word in assumed(source.read_text(encoding="utf-8")):
            raise ProofError(f"{source.name}, line {line}: {word!r} assumes what has to be proved")
    proved = all_theorems(sources)
    if not proved:
        raise ProofError("theorems were expected, and none is there")
    with tempfile.TemporaryDirectory() as made:
        compiled(name, sources, Path(made))
        found = axioms(name, sources, Path(made))
        if again:
            found |= checked_again(name, sources, Path(made))
    if not found <= ALLOWED:
        raise ProofError(f"the theorems rest on {sorted(found - ALLOWED)}, which is not among the axioms of the reals")
    return proved, found


def main(arguments: list[str]) -> int:
    """Print the theorems and their axioms, or what is wrong."""
    again = "--coqchk" in arguments
    folders = [Path(word) for word in arguments if word != "--coqchk"]
    folder = folders[0] if folders else Path(__file__).parent
    if shutil.which("coqc") is None:
        print(
            "formal: there is no coqc on this machine (Debian: apt install coq), so no proof was checked",
            file=sys.stderr,
        )
        return 2
    try:
        proved, found = check(folder, again=again)
    except ProofError as wrong:
        print(f"formal: {wrong}", file=sys.stderr)
        return 1
    print("\n".join(proved))
    twice = ", and checked again by coqchk" if again else ""
    print(f"formal: {len(proved)} theorems proved from {', '.join(sorted(found)) or 'no axioms'}{twice}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
