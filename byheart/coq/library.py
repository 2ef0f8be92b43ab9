"""Locate the Coq library of this package, and copy it to a folder for one claim.

Page: docs/rigour/kernel.md
"""

from itertools import pairwise
from pathlib import Path

from constructions.errors import FileFormatError

LIBRARY, MEMORY = "float32", "memory"
"""The folders of a claim: the library, with the logical name Float32, and what is claimed of one model, Memory."""

OPTIONS = ("-Q", LIBRARY, "Float32", "-Q", MEMORY, "Memory")
"""What tells `coqc` where both are."""

_NEEDED_LAST = "facts.v"  # what comes behind it in the list proves nothing of one model

_MAKEFILE = """\
# make          let Coq check the proof, which ends by printing what it rests on
# make check    let coqchk, a kernel that stands alone and has no virtual machine, check it again: this takes long
# Both need Coq and Flocq; 8.16 and 4.1 were tried (Debian: apt install coq libcoq-flocq).
COQC = coqc {options}

all: {last}o

check: all
\tcoqchk -silent -o {options} Memory.proof

{rules}
.PHONY: all check
"""


def library_folder() -> Path:
    """Return the folder `formal/float32` of a clone, or of the installed package.

    Raises:
        FileFormatError: It is not there.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "formal" / LIBRARY, package.parent / "formal" / LIBRARY):
        if (folder / "_CoqProject").is_file():
            return folder
    raise FileFormatError("the Coq library formal/float32 is not next to this program: install byheart again")


def library_sources() -> dict[str, str]:
    """Return the files of the library that a proof needs, by their names, in the order in which they compile."""
    folder = library_folder()
    listed = (folder / "_CoqProject").read_text(encoding="utf-8").split()[3:]
    needed = listed[: listed.index(_NEEDED_LAST) + 1]
    return {name: (folder / name).read_text(encoding="utf-8") for name in needed}


def write_sources(out: Path, memory: dict[str, str]) -> None:
    """Write the library and the files of a memory, by their names, into a folder."""
    for room, sources in ((LIBRARY, library_sources()), (MEMORY, memory)):
        (out / room).mkdir(exist_ok=True)
        for name, text in sources.items():
            (out / room / name).write_text(text, encoding="utf-8")


def makefile(memory: list[str]) -> str:
    """Return rules that compile the library in order, the answers in parallel, and then the proof."""
    library = [f"{LIBRARY}/{name}" for name in library_sources()]
    first, *answers, last = [f"{MEMORY}/{name}" for name in memory]
    required: dict[str, list[str]] = {library[0]: []}
    for before, file in pairwise([*library, first]):
        required[file] = [before]
    for file in answers:
        required[file] = [first]
    required[last] = answers or [first]
    rules = []
    for file, names in required.items():
        compiled = " ".join(f"{name}o" for name in names)
        rules.append(f"{file}o: {file} {compiled}\n\t$(COQC) {file}\n")
    return _MAKEFILE.format(options=" ".join(OPTIONS), last=last, rules="\n".join(rules))
