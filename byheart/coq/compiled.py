"""Check a claim with Coq: compile the library and the proof, and read the axioms of the theorem.

Page: docs/rigour/kernel.md
"""

import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byheart.coq.claim import Claim, claim_of
from byheart.coq.library import LIBRARY, MEMORY, OPTIONS, library_sources, write_sources
from byheart.coq.source import NATIVE, PIECE, attempts, claim_source, probe_source, proof_sources
from byheart.hosts.export import own_dtype
from constructions.errors import InputError, TamperedError
from constructions.progress import Progress, silent
from verify.certificates.certificate import Certificate
from verify.verdict import Verdict

AXIOMS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "Classical_Prop.classic",
    "FunctionalExtensionality.functional_extensionality_dep",
)
"""The axioms of Coq's real numbers; a theorem that rests on anything else is not accepted."""

MACHINES = {
    False: "Coq's kernel with its virtual machine",
    True: "Coq's kernel with its virtual machine and, for the answers, native code that OCaml's compiler makes",
}
"""What evaluates the check, by whether the answers are evaluated in native code."""

TRUSTED = (
    "the four axioms of Coq's real numbers",
    "what a run is: formal/float32/model.v and semantics.v, whose first comment names what is none (as products in "
    "TF32), and Flocq's definitions in them",
    "that claim.v has the numbers and texts of the folder (byheart/coq/claim.py and source.py)",
)
"""What has to be believed besides."""

STATED = ("runs", "text")
"""The statements of a certificate that are about runs."""

UNANSWERED = "of the facts that are tried first, not all are answered as they should be by integers that no run rounds"
"""Why a memory has no proof in integers."""

_INSTALL = "coqc and its library Flocq; 8.16 and 4.1 were tried (Debian: apt install coq libcoq-flocq)"
_PATH = "Coq's kernel, from the claim and the library formal/float32"


@dataclass(frozen=True)
class CoqReport:
    """The result of Coq for the claim of a folder.

    Args:
        claim: The claim that was checked.
        far: The bound from which on the exponential is assumed to be 0.
        said: Why Coq did not accept the proof; else empty.
        axioms: The axioms that the theorem rests on.
        version: Of `coqc`.
        compared: Names of the fields that the certificate states and the theorem proves alike.
        beside: The statements of the certificate of which the theorem says nothing.
        native: Whether the answers were evaluated in native code.
    """

    claim: Claim
    far: int
    said: str
    axioms: tuple[str, ...]
    version: str
    compared: tuple[str, ...]
    beside: tuple[str, ...]
    native: bool = False

    @property
    def verdict(self) -> Verdict:
        """PROVED if Coq accepted the claim, else UNDECIDED, because a failed proof refutes nothing."""
        return Verdict.UNDECIDED if self.said else Verdict.PROVED

    def headline(self) -> str:
        """Return the answer in one line."""
        return f"NOT PROVED BY COQ: {self.said}" if self.said else f"PROVED BY COQ: {self.claim.words()}"

    def summary(self) -> dict[str, Any]:
        """Return the results as data for JSON."""
        assumed = f"exp is assumed to be 1 at 0, from 0 to 1 below 0, and 0 from -{self.far} down"
        statement = {
            "id": "coq",
            "statement": self.claim.words(),
            "verdict": self.verdict.value,
            "reason": self.said or assumed,
            "values": {"facts": self.claim.steps},
        }
        return {
            "verdict": self.verdict.value,
            "headline": self.headline(),
            "asked": self.claim.words(),
            "path": f"{_PATH}, by {self.version}",
            "model_sha256": self.claim.model.sha256,
            "task_sha256": self.claim.task_sha256,
            "statements": [statement],
            "axioms": list(self.axioms),
            "trusted": [MACHINES[self.native], *TRUSTED],
            "compared": list(self.compared),
            "beside": list(self.beside),
        }


def check_by_coq(
    folder: Path,
    *,
    number_format: str | None = None,
    native: bool = False,
    library: Path | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> CoqReport:
    """Let Coq prove that every run of the model knows the texts or facts of a folder.

    Args:
        folder: A folder with a certificate.
        number_format: Number format of the runs; by default that which the memory was made for.
        native: Let the kernel evaluate the answers in native code, which is faster and rests on OCaml's compiler too.
        library: A folder of `compile_library`, to be used again; by default the library is compiled.
        workers: How many files of answers are compiled at a time; by default as many as there are processors.
        progress: Called with the file that is compiled.

    Raises:
        InputError: `coqc` or Flocq is missing or `coqc` does not finish, or the folder is not of a kind that the
            library has words for.
        FileFormatError: A file of the folder is missing or is not what it should be.
        TamperedError: The files are not those of the certificate, or it states otherwise than they say.
    """
    coqc = Coqc.found()
    claim = claim_of(folder, number_format or own_dtype(folder))
    certificate = Certificate.load(folder)
    compared, beside = require_same(certificate, claim)
    with tempfile.TemporaryDirectory() as temporary:
        if library is not None:
            shutil.copytree(library / LIBRARY, Path(temporary) / LIBRARY)
        if native:
            coqc.require_native(Path(temporary))
        proof = proof_sources(claim, native=native)
        far, refusal, axioms = _proved(coqc, claim, proof, Path(temporary), workers or os.cpu_count() or 1, progress)
    return CoqReport(claim, far, refusal, axioms, coqc.version, compared, beside, native)


def _proved(
    coqc: "Coqc", claim: Claim, proof: dict[str, str], place: Path, workers: int, progress: Progress
) -> tuple[int, str, tuple[str, ...]]:
    """Return the bound of the exponential, the reason of a failure or an empty text, and the axioms."""
    units = answering_units(coqc, claim, place, progress=progress)
    if units is None:
        return 0, UNANSWERED, ()
    _, far = units
    write_sources(place, proof)
    *answers, last = [f"{MEMORY}/{name}" for name in proof]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for number, (name, run) in enumerate(
            zip(answers, pool.map(lambda each: coqc(place, each), answers), strict=True)
        ):
            progress("answers", (number + 1) / len(answers), name)
            if run.returncode != 0:
                first, final = number * PIECE + 1, min((number + 1) * PIECE, claim.steps)
                return far, f"one of the facts {first:,} to {final:,} is not answered as it should be by integers", ()
    progress("proof", None, last)
    run = coqc(place, last)
    if run.returncode != 0:
        return far, f"the claim is not proved: {' '.join((run.stdout + run.stderr).split())[:500]}", ()
    axioms = printed_axioms(run.stdout)
    if not set(axioms) <= set(AXIOMS):
        return (
            far,
            f"the proof rests on {', '.join(sorted(set(axioms) - set(AXIOMS)))} besides the axioms of the reals",
            (),
        )
    return far, "", axioms


def compile_library(coqc: "Coqc", place: Path, *, progress: Progress = silent) -> None:
    """Write the library to a folder and compile it, except files already compiled there.

    Args:
        coqc: The compiler.
        place: A folder that no other process writes into.
        progress: Called with the file that is compiled.

    Raises:
        InputError: Flocq is missing or `coqc` does not finish.
    """
    write_sources(place, {})
    for name in library_sources():
        if not (place / LIBRARY / f"{name}o").is_file():
            progress("library", None, name)
            coqc.require_library(place, f"{LIBRARY}/{name}")


def answering_units(coqc: "Coqc", claim: Claim, place: Path, *, progress: Progress = silent) -> tuple[int, int] | None:
    """Return the first scale and bound of the exponential from `attempts` for which integers answer the probed facts.

    Args:
        coqc: The compiler.
        claim: The claim that `byheart.coq.claim.claim_of` read from a folder.
        place: A folder, where the library and the claim are written and compiled.
        progress: Called with the file that is compiled.

    Returns:
        The scale and the bound; nothing if no attempt answers the fact.

    Raises:
        InputError: Flocq is missing or `coqc` does not finish.
    """
    compile_library(coqc, place, progress=progress)
    for scale, far in attempts(claim):
        progress("claim", None, f"integers times 2^-{scale}, exp 0 from -{far} down")
        sources = {"claim.v": claim_source(claim, scale, far), "probe.v": probe_source(claim)}
        if _compiles(coqc, place, sources):
            return scale, far
    return None


def _compiles(coqc: "Coqc", place: Path, sources: dict[str, str]) -> bool:
    """Write files of the memory and compile them in this order."""
    for name, text in sources.items():
        (place / MEMORY / name).write_text(text, encoding="utf-8")
    return all(coqc(place, f"{MEMORY}/{name}").returncode == 0 for name in sources)


@dataclass(frozen=True)
class Coqc:
    """The compiler of Coq.

    Args:
        program: The path of the program.
        version: The version that it names.
    """

    program: str
    version: str

    @classmethod
    def found(cls) -> "Coqc":
        """Return the installed Coq; raise if there is none.

        Raises:
            InputError: There is none.
        """
        coqc = cls.installed()
        if coqc is None:
            raise InputError("--coq", "needs coqc, which is not installed here", _INSTALL)
        return coqc

    @classmethod
    def installed(cls) -> "Coqc | None":
        """Return the installed Coq, or None."""
        program = shutil.which("coqc")
        if program is None:
            return None
        versions = subprocess.run([program, "--print-version"], capture_output=True, text=True).stdout.split()
        return cls(program, f"Coq {versions[0]}" if versions else "Coq")

    def __call__(self, place: Path, file: str) -> subprocess.CompletedProcess[str]:
        """Compile one file.

        Raises:
            InputError: `coqc` was stopped or had too little memory, so it neither accepts nor refuses the file.
        """
        run = subprocess.run([self.program, *OPTIONS, file], cwd=place, capture_output=True, text=True)
        if run.returncode not in (0, 1) or "Stack overflow" in run.stderr or "Out of memory" in run.stderr:
            what = f"did not finish {file} (exit status {run.returncode}): {run.stderr[-200:].strip()}"
            raise InputError("--coq", what, "memory and a stack that suffice for coqc")
        return run

    def require_native(self, place: Path) -> None:
        """Evaluate something in native code.

        Raises:
            InputError: It cannot be, or the virtual machine would take its place.
        """
        write_sources(place, {"native.v": NATIVE})
        run = self(place, f"{MEMORY}/native.v")
        if run.returncode != 0 or run.stderr:
            needed = "OCaml's compiler and the interfaces of Coq (Debian: apt install libcoq-core-ocaml-dev)"
            raise InputError("--native", f"cannot be used: {' '.join(run.stderr.split())[:300]}", needed)

    def require_library(self, place: Path, file: str) -> None:
        """Compile a file of the library.

        Raises:
            InputError: Flocq is not there, or this version of Coq does not accept the file.
        """
        run = self(place, file)
        if run.returncode != 0:
            lacks = "Flocq" in run.stderr and "path" in run.stderr
            what = (
                "needs Flocq, which is not installed here"
                if lacks
                else f"cannot use {self.version}: {run.stderr[-300:]}"
            )
            raise InputError("--coq", what, _INSTALL)


def printed_axioms(output: str) -> tuple[str, ...]:
    r"""Return the names that `Print Assumptions` prints; any other output counts as an axiom.

    Example:
        >>> printed_axioms("Axioms:\nA.b : Prop\nC.d\n  : forall x : nat,\n    x = x\n")
        ('A.b', 'C.d')
    """
    lines = [line for line in output.splitlines() if line]
    if lines[:1] == ["Closed under the global context"]:
        return tuple(lines[1:])
    if lines[:1] != ["Axioms:"]:
        return ("something that it did not print",)
    return tuple(sorted(line.split(" ")[0] for line in lines[1:] if not line.startswith(" ")))


def require_same(certificate: Certificate, claim: Claim) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare the certificate's statements with the theorem, field by field.

    The theorem is about runs as H5 has them, in one format, and nothing else. A certificate may state that fewer
    contexts are memorized in every run than the theorem proves.

    Returns:
        The names of the fields that were compared, and the statements of which the theorem says nothing.

    Raises:
        TamperedError: The certificate states something else, or more.
    """
    sizes, proved = claim.sizes(), claim.statements()
    pairs: list[tuple[str, Any, Any]] = [
        (name, size, sizes[name]) for name, size in certificate.subject.sizes.items() if name in sizes
    ]
    beside = []
    for statement in certificate.statements:
        named = getattr(statement, "named", {})
        of_these_runs = named.get("format") == claim.number_format and "H5" in named.get("hypotheses", "H5")
        if statement.id not in STATED or not of_these_runs:
            beside.append(statement.id)
            continue
        if statement.id not in proved:
            raise TamperedError(
                f"the certificate states a {statement.id}, but the theorem would be only about contexts"
            )
        for part, stated in (("named", named), ("values", statement.values)):
            for name in sorted(set(stated) - {"hypotheses"}):
                mine = proved[statement.id][part].get(name, "nothing")
                weaker = name == "memorized" and stated[name] <= mine
                pairs.append((f"{statement.id}: {part}.{name}", stated[name], stated[name] if weaker else mine))
    for name, stated, value in pairs:
        if _plain(stated) != value:
            raise TamperedError(f"the certificate states {stated} for {name}, and the theorem would be about {value}")
    return tuple(name for name, _, _ in pairs), tuple(beside)


def _plain(stated: Any) -> Any:
    """Return the certificate's statements as lists and objects."""
    return [dict(entry) for entry in stated] if isinstance(stated, list | tuple) else stated
