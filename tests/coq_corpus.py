"""The folders of the corpus in Coq: `python -m tests.coq_corpus` lets Coq check each of them.

Coq answers one question of its own: whether every run gives every context its label. A certificate may state something
else, such as a rank, and be wrong about it, so a proof of a bad folder is no fault by itself. It is a fault if a run by
NumPy, in hostile orders of summation, loses a context that Coq has proved.
"""

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from byheart.coq.compiled import Coqc, check_by_coq, compile_library
from constructions.errors import ByheartError
from constructions.model.model import Model
from constructions.tasks.vectors import load_task
from tests.corpus.cases import Case, write_all
from tests.corpus.truth import NUMPY, examples, is_run_here, lost_in_some_run

NOT_READ = "not read"


@dataclass(frozen=True)
class Answer:
    """What Coq says of a folder.

    Args:
        case: The folder.
        said: PROVED or UNDECIDED, or `NOT_READ` if the files are broken or there are no words for what is in them.
        lost: How many contexts that Coq has proved some run loses.
    """

    case: Case
    said: str
    lost: int = 0

    @property
    def is_fault(self) -> bool:
        """Return whether something false was proved."""
        return self.lost > 0


def answer_of_coq(case: Case, folder: Path, library: Path) -> Answer:
    """Let Coq answer, and search for a run that contradicts a proof.

    Args:
        case: The folder's line of the index.
        folder: Where it is.
        library: A folder of `compile_library`.
    """
    try:
        report = check_by_coq(folder, library=library)
    except ByheartError:
        return Answer(case, NOT_READ)
    if report.said:
        return Answer(case, "UNDECIDED")
    return Answer(case, "PROVED", lost_contexts(folder, report.claim.number_format))


def lost_contexts(folder: Path, number_format: str) -> int:
    """Return how many contexts of a table or text some run of NumPy loses; 0 where NumPy has not the format."""
    model = Model.load(folder / "model.safetensors")
    if number_format not in NUMPY or not is_run_here(model):
        return 0
    parts = examples(load_task(folder / "task.safetensors"))
    return sum(len(lost_in_some_run(model, rows, modes, NUMPY[number_format])) for _, rows, modes in parts)


def lines(answers: list[Answer]) -> list[str]:
    """Return the result: first a sentence, then a table with a line for each kind of folders."""
    faults = [answer for answer in answers if answer.is_fault]
    said = Counter((answer.case.sort, answer.said) for answer in answers)
    found = [
        f"{len(faults)} faults; {said['good', 'PROVED']} good folders proved, {said['good', 'UNDECIDED']} undecided, "
        f"{said['good', NOT_READ]} not read; {said['bad', 'PROVED']} bad folders that are wrong about something else "
        f"proved, {said['bad', 'UNDECIDED']} undecided, {said['bad', NOT_READ]} not read"
    ]
    for kind in sorted({answer.case.kind for answer in answers}):
        for sort in ("good", "bad"):
            of_kind = Counter(one.said for one in answers if (one.case.kind, one.case.sort) == (kind, sort))
            if of_kind:
                numbers = ", ".join(f"{count} {word.lower()}" for word, count in sorted(of_kind.items()))
                found.append(f"{kind:16} {sort:4} {numbers}")
    found += [f"some run loses {answer.lost} contexts of {answer.case.name}" for answer in faults]
    return found


def main() -> int:
    """Run all folders; return 1 if something false was proved."""
    with TemporaryDirectory() as top:
        folders, library = Path(top) / "folders", Path(top) / "library"
        library.mkdir()
        compile_library(Coqc.found(), library)
        answers = []
        for case in write_all(folders):
            answers.append(answer_of_coq(case, folders / case.name, library))
            print(f"{answers[-1].said:10} {case.sort:4} {case.name}", file=sys.stderr, flush=True)
    print("\n".join(lines(answers)))
    return int(any(answer.is_fault for answer in answers))


if __name__ == "__main__":
    sys.exit(main())
