"""Define certificates: statements about a model and a task, and the question that they answer, as data to check.

Page: docs/rigour/certificate.md
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from constructions.counted import counted, inflected
from constructions.errors import FileFormatError, InputError, TamperedError
from constructions.formats.files import canonical_json, require_regular_file, write_atomically
from constructions.tasks.criterion import Criterion
from verify.arithmetic.exact_json import (
    Number,
    decode_number,
    encode_number,
    expect,
    expect_fields,
    parse_object,
    require_sha256,
    require_text,
)
from verify.certificates.headline import OF_A_FOLD, OF_A_RULE, PROMPTS, PROVER_ALONE, Outcome, outcome
from verify.kernel.certificate import Certificate as KernelCertificate
from verify.kernel.certificate import Criterion as KernelCriterion
from verify.kernel.rule import Rule
from verify.kernel.statements import Known, find_kind, group_of, place_of, require_order
from verify.kernel.verdicts import BadInputError
from verify.verdict import Verdict

FORMAT = "byheart-certificate"
WITNESS_FORMAT = "byheart-witness"
VERSION = 4

CERTIFICATE_FILE = "certificate.json"
MODEL_FILE = "model.safetensors"
TASK_FILE = "task.safetensors"
WITNESS_FILE = "witness.safetensors"
REPORT_FILE = "report.html"
SUMMARY_FILE = "summary.json"
MEASURED_FILE = "measured.json"
"""What was measured, or computed beside the proofs, from which the summary and the page are made."""
WRONG_FILE = "wrong.csv"
"""The inputs that are proved wrong, in full; a list for people, which no proof reads."""
OTHER_RUNS_FILE = "other_runs.csv"
"""Those that some run may answer otherwise; likewise."""

ANSWERS = "answers"
RUNS = "runs"
TEXT = "text"
TEXT_DIVERGENCE = "text-divergence"
FEATURE_RANK = "feature-rank"
SATURATION = "saturation"
RANK_HEADS = "rank-heads"
RANK_WITH_SKIP = "rank-with-skip"
DIVERGENCE = "divergence"
KERNEL, PROVER = "kernel", "prover"
"""Who can check a statement: the kernel that is there to be read, or the fast prover alone."""

REALS = "real arithmetic"
"""In the place of a number format: a text is decoded without any rounding."""

DOMAIN, SAMPLE = "domain", "sample"
"""The kinds of statement of a certificate about a rule on a whole domain; the second where inputs were drawn."""

TARGETS = ("labels", "distributions", "values")
SIZES = ("contexts", "context_length", "outputs", "all_contexts", "parameters")

ASIDES = ("handshake", "left out", "made for")
"""What of the provenance stands behind the first line: who else runs the model, what of the facts was not read, and the
claim that the weights were made for."""

GUESS = "guess_right"
"""The name of the number of contexts that the most frequent label holds."""

GUESS_MOST = "guess_most"
"""That of a bound of it, for answers of several tokens."""

_LARGEST_FILE = 2**24  # bytes
_LARGEST_BITS = 4096  # of a size
_LARGEST_COUNT = 2**_LARGEST_BITS


@dataclass(frozen=True)
class Subject:
    """The subject of a certificate: one model and one task, by the hashes of their exact contents.

    Args:
        model: `Model.sha256()`.
        task: `Task.sha256()` or `VectorTask.sha256()`.
        target: ``"labels"``, ``"distributions"`` or ``"values"``.
        origin: Where the targets come from, `Task.origin` or `RuleTask.origin`; ``"own"`` for vectors.
        sizes: The integers named by `SIZES`.

    Raises:
        InputError: A hash that is none, an unknown target, a missing, unknown or negative size.
    """

    model: str
    task: str
    target: str
    origin: str
    sizes: Mapping[str, int]

    def outcome(self, criterion: Criterion, values: Mapping[str, Number], by: str = "PROVED") -> Outcome:
        """Return the answer to a question about it from numbers of an ``answers`` statement, proved or obtained
        otherwise.
        """
        known = {"contexts": self.sizes["contexts"], "memorized": 0, "wrong": 0, **values}
        return outcome(known, criterion, target=self.target, origin=self.origin, by=by)

    @property
    def is_of_a_rule(self) -> bool:
        """Whether the subject is a rule on a whole domain."""
        return self.origin.startswith(OF_A_RULE)

    @property
    def is_of_a_fold(self) -> bool:
        """Whether the subject is a rule with a state, whose answers have several tokens."""
        return self.origin.startswith(OF_A_FOLD)

    def __post_init__(self) -> None:
        require_sha256("subject.model", self.model)
        require_sha256("subject.task", self.task)
        if self.target not in TARGETS:
            raise InputError("subject.target", f"is {self.target!r}", f"one of {', '.join(map(repr, TARGETS))}")
        require_text("subject.origin", self.origin)
        if set(self.sizes) != set(SIZES):
            raise InputError("subject.sizes", f"has the names {sorted(self.sizes)}", sorted(SIZES))
        for name, size in self.sizes.items():
            if type(size) is not int or not 0 <= size < _LARGEST_COUNT:
                raise InputError(f"subject.sizes: {name}", f"is {size!r}", f"an integer below 2^{_LARGEST_BITS}")


@dataclass(frozen=True)
class Statement:
    r"""A proved quantified statement about these weights, and its numbers.

    The kinds, with their numbers (those in brackets only where they were proved):

    - ``answers``: of the `contexts` of the task at least `memorized` are memorized (`Criterion`), and at least `wrong`
      are not; [`margin_lower`] > 0 is a lower bound of the gap between the logits of the modes and the others over
      those that are memorized; [`mean_upper`, `max_upper`] bound the mean and the largest over *all* contexts of the
      divergence, nats (for values: of the largest distance of an output from its value); [`guess_lower`] is a lower
      bound of that mean for the best guess that does not look at the context; for labels `guess_right` is the number of
      contexts that the most frequent one alone holds.
    - ``runs``: in every run in a number format at least `memorized` of the `contexts` are memorized, if the run keeps
      the hypotheses that are named, with an exponential that is off by at most [`exp_ulps`] units in the last place.
    - ``text``: greedy decoding, in every run in a number format or in real arithmetic, says `texts` texts of `bytes`
      bytes together, [`characters`], in `parts` parts, and behind each part that it ends.
    - ``text-divergence``: `lower` and `upper` of the mean of $d_{KL}(c_t / n_t \Vert \mathrm{softmax}(z_t))$ in nats
      over all `contexts` of the text, each weighted by the number $n_t$ of its `occurrences`.
    - ``feature-rank``: the features of the contexts, a matrix of `rows` rows and `columns` columns, have full row rank;
      [`smallest_singular_value_lower`, `condition_upper`].
    - ``saturation``: of the `pairs` of a head and a context at least `saturated_lower` have an attention weight above
      $1 - \delta$, with `delta`.
    - ``rank-heads``, ``rank-with-skip``: with these weights the features of the contexts, a matrix of `rows` rows and
      `columns` columns, have a rank from `lower` to `upper`: what the heads alone read, or the embedded last token
      beside it; no weights of a model of these sizes have a rank above `all_weights_upper`.
    - ``divergence``: the largest over the `contexts` of the divergence of the prediction from the distribution,
      $d_{KL}(\pi_t \Vert \mathrm{softmax}(z_t))$ in nats, lies from `max_lower` to `max_upper`, and its mean, each
      context weighted by how many of their `occurrences` are its own, from `mean_lower` to `mean_upper`.
    - ``domain``: of the `contexts` of a rule's whole domain the logit of the label is proved to be the strictly largest
      in at least `memorized`, and not to be in at least `wrong`; in `guess_right` it is the most frequent one. Where
      answers are said token by token, that is proved of each token, and no answer is that of more than `guess_most`
      inputs.
    - ``sample``: of `drawn` of them, which the hashes of model and rule draw with the `seed` (a text, its bytes read as
      one big-endian number), at least `right` are answered right; no more than `wrong_upper` of all are answered wrong
      unless the draw was one of probability at most $2^{-128}$ (`verify/domains/sample.py`).

    Args:
        id: The kind.
        method: How, in a few words; information only, since nothing is ever concluded from it.
        values: The numbers: `int`, finite `float` or `Fraction`.
        memorized: For ``answers`` and ``runs`` where some but not all contexts are memorized: which, in hexadecimal,
            the first context being the most significant bit of the first digit; otherwise empty.
        named: For ``runs`` the `format` and the `hypotheses`, for ``text`` the `format` and the `texts`: of each its
            `title`, `bytes` and `sha256`; otherwise empty.

    What a kind may say, and its sentence, stand in `verify/kernel/`, in the file of its name; a certificate asks it.
    """

    id: str
    method: str
    values: Mapping[str, Number]
    memorized: str = ""
    named: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a file, without its sentence.

        Raises:
            InputError: A value that is no exact number.
        """
        require_text(f"statement {self.id!r}: method", self.method)
        for name, value in self.values.items():
            if type(value) not in (int, float, Fraction):
                raise InputError(f"statement {self.id!r}: {name}", f"is {value!r}", "a finite exact number")
        return {
            "id": self.id,
            "method": self.method,
            "values": {name: encode_number(value) for name, value in self.values.items()},
            "memorized": self.memorized,
            **({"named": dict(self.named)} if self.named else {}),
        }

    @property
    def label(self) -> str:
        """The kind, with the number format if there may be one statement per format."""
        return f"{self.id} ({self.named['format']})" if "format" in self.named else self.id


@dataclass(frozen=True)
class Witness:
    """The file that helps a checker, and its hash; a witness is used but never trusted.

    Args:
        file: Name of a file in the folder of the certificate.
        sha256: Hash of its bytes, in hexadecimal.
    """

    file: str
    sha256: str

    def __post_init__(self) -> None:
        if self.file != WITNESS_FILE:
            raise InputError("witness.file", f"is {self.file!r}", f"{WITNESS_FILE!r}")
        require_sha256("witness.sha256", self.sha256)

    @classmethod
    def of(cls, data: bytes) -> "Witness":
        """Return the witness whose file holds `data`."""
        return cls(WITNESS_FILE, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Certificate:
    """An answer to the question whether a model memorizes a task, with the data to prove it again.

    A certificate is data, not evidence: who receives one re-proves it from the weights and the task
    (`verify.kernel.check.check_folder`, `verify.provers.memorization.check_memorization`) and never
    believes a number in it.

    Args:
        subject: What it is about.
        criterion: What was asked.
        statements: What was proved, each kind at most once, ``answers`` first; then ``runs`` and ``text``, at most once
            for each number format. Of a rule on a domain ``domain`` stands for ``answers``.
        provenance: Names and versions of the software and the machine that made it.
        witness: The witness file of the rank, if there is one.
        kinds: Modules of kinds of statement that lie elsewhere (`verify.kernel.kinds.kinds_in`).

    Raises:
        InputError: A statement of an unknown kind, or one that is impossible or does not fit the subject or the others.

    Example:
        >>> sizes = {"contexts": 3, "context_length": 1, "outputs": 2, "all_contexts": 3, "parameters": 8}
        >>> answers = Statement(ANSWERS, "", {"contexts": 3, "memorized": 3, "wrong": 0, "margin_lower": 0.5})
        >>> subject = Subject("a" * 64, "b" * 64, "distributions", "table", sizes)
        >>> made = Certificate(subject, Criterion(), (answers,), {})
        >>> print(made.words(answers))
        Of 3 contexts 3 are memorized; the logit of every mode of the distribution exceeds every other by at least 0.5.
    """

    subject: Subject
    criterion: Criterion
    statements: tuple[Statement, ...]
    provenance: Mapping[str, str]
    witness: Witness | None = None
    kinds: Sequence[Any] = field(default=(), compare=False, repr=False)
    digest: str = field(init=False, compare=False, default="")
    _said: "_Said" = field(init=False, compare=False, repr=False)

    def __repr__(self) -> str:
        return self.headline()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_said", _said(self))
        ids = [statement.id for statement in self.statements]
        if self.witness is not None and FEATURE_RANK not in ids:
            raise InputError("a witness", f"is named, but no statement {FEATURE_RANK!r}")
        for name, text in self.provenance.items():
            require_text("provenance", name)
            require_text(f"provenance.{name}", text)
        object.__setattr__(self, "digest", _digest(self._data()))

    def words(self, statement: Statement) -> str:
        """Return one of its statements in words; decimals are rounded in the direction that keeps it true."""
        return self._said.records[self.statements.index(statement)]["statement"]

    @property
    def answers(self) -> Statement:
        """The statement about the answers to the contexts, or to all inputs of a domain."""
        return self.statements[0]

    @property
    def outcome(self) -> Outcome:
        """The answer to the question, by the stored numbers."""
        sample = self.statement(SAMPLE)
        found = self.subject.outcome(self.criterion, {**(sample.values if sample else {}), **self.answers.values})
        asides = (self.provenance[name] for name in ASIDES if name in self.provenance)
        return said_of_runs(found, self.criterion, self, self.statements).adding(*asides)

    @property
    def verdict(self) -> Verdict:
        """The answer as a verdict: PROVED for yes, REFUTED for no, UNDECIDED otherwise."""
        return self.outcome.verdict

    def statement(self, id: str) -> Statement | None:
        """Return the statement of the kind `id`, if it was proved."""
        return next((statement for statement in self.statements if statement.id == id), None)

    def in_every_run(self, dtype: str) -> Statement | None:
        """Return the statement about every run in a number format, or None."""
        found = (each for each in self.statements if each.id == RUNS and each.named["format"] == dtype)
        return next(found, None)

    def rests_on(self, text: Statement) -> Statement | None:
        """Return the statement that every window of a text is memorized, from which its decoding follows."""
        dtype = text.named["format"]
        return self.answers if dtype == REALS else self.in_every_run(dtype)

    def checker(self, statement: Statement) -> str:
        """Name the checker of a statement: `KERNEL` or `PROVER`.

        It follows from what is stated; no field of a file says it.
        """
        return PROVER if self._prover_alone(statement) else KERNEL

    def for_the_prover_alone(self) -> list[str]:
        """Return what of the statements the kernel has no proof of, each part once."""
        parts = (self._prover_alone(each) for each in self.statements)
        return list(dict.fromkeys(filter(None, parts)))

    def _prover_alone(self, statement: Statement) -> str:
        """Return the part of a statement for which the kernel has no proof, in the words of its kind; else empty."""
        kind, stated = self._said.known[self.statements.index(statement)]
        said = getattr(kind, "prover_alone", None)
        return "" if said is None else said(stated, self._said.certificate)

    def stating(self, *more: Statement | None) -> "Certificate":
        """Return the certificate with more statements, each in its place; unproved ones are dropped."""
        statements = [*self.statements, *(each for each in more if each is not None)]
        return replace(self, statements=tuple(sorted(statements, key=lambda each: place_of(each.record(), self.kinds))))

    def figure(self, id: str, name: str) -> int | float | None:
        """Return a number of the statement of the kind `id`, for JSON; None if it is not stated."""
        found = self.statement(id)
        return None if found is None or name not in found.values else plain_number(found.values[name])

    def answer_figures(self) -> dict[str, int | float | None]:
        """Return what is proved of margins, of losses and of the best guess, by the names of figures; losses in nats.

        What a guess gets is an upper bound where answers have several tokens.
        """
        names = {"margin_lower": "margin_lower", "mean_loss_upper": "mean_upper", "max_loss_upper": "max_upper"}
        figures = {figure: self.figure(ANSWERS, name) for figure, name in names.items()}
        guess = self.answers.values.get(GUESS, self.answers.values.get(GUESS_MOST))
        return {
            **figures,
            "guess_kl_lower": self.figure(ANSWERS, "guess_lower"),
            "guess_right": None if guess is None else int(guess),
        }

    def with_handshake(self, *said: str) -> "Certificate":
        """Return the certificate with the result of asking the program that runs the model; this is information only.

        Args:
            said: The parts, in their order; empty ones are left out, and without any the certificate is as it was.
        """
        text = "; ".join(filter(None, said))
        return self.beside("handshake", text) if text else self

    def beside(self, name: str, said: str) -> "Certificate":
        """Return the certificate with a provenance text, one of `ASIDES`, to print after its first line."""
        return replace(self, provenance={**self.provenance, name: said})

    def asking(self, criterion: Criterion) -> "Certificate":
        """Return the certificate with the same statements for another question of the same tolerance."""
        if criterion.tolerance != self.criterion.tolerance and criterion.asked != "at-most":
            raise InputError(
                "tolerance", f"is {criterion.tolerance}, the certificate counts contexts for {self.criterion.tolerance}"
            )
        return replace(self, criterion=criterion)

    def headline(self) -> str:
        """Return the answer and its figures in one line."""
        return str(self.outcome)

    def to_json(self) -> str:
        """Return the canonical text of the certificate: JSON with sorted keys, no spaces, ASCII, and a final
        newline.
        """
        return canonical_json({**self._data(), "digest": self.digest}) + "\n"

    @classmethod
    def from_json(cls, text: str, kinds: Sequence[Any] = ()) -> "Certificate":
        """Read the text that `to_json` gives, and no other.

        Args:
            text: The text.
            kinds: Modules of kinds of statement that lie elsewhere.

        Raises:
            FileFormatError: Not JSON, too long, a field missing or unknown, a number that is not exact, or a text that
                is not the canonical one; or a certificate of another version.
            TamperedError: The digest is not the hash of the contents.
        """
        if len(text) > _LARGEST_FILE:
            raise FileFormatError(f"{CERTIFICATE_FILE} is longer than {_LARGEST_FILE} bytes")
        data = parse_object(CERTIFICATE_FILE, text)
        if data.get("format") != FORMAT or type(data.get("version")) is not int or data["version"] != VERSION:
            raise FileFormatError(
                f"{CERTIFICATE_FILE} has format {data.get('format')!r} version {data.get('version')!r}, expected "
                f"{FORMAT!r} version {VERSION}: make the folder again with the command that made it (`byheart "
                "memorize`, `byheart build` or `byheart certify`), or prove one of version 3 again (`byheart convert`)"
            )
        expect_fields(
            CERTIFICATE_FILE,
            data,
            {"format", "version", "subject", "criterion", "statements", "provenance", "witness", "digest"},
        )
        try:
            digest = _digest({key: value for key, value in data.items() if key != "digest"})
            if data["digest"] != digest:
                raise TamperedError(f"{CERTIFICATE_FILE} has the digest {data['digest']!r}, its contents {digest}")
            certificate = cls(
                subject=_parse_subject(data["subject"]),
                criterion=parse_criterion(data["criterion"]),
                statements=_parse_statements(data["statements"]),
                provenance=expect("provenance", data["provenance"], dict),
                witness=_parse_witness(data["witness"]),
                kinds=kinds,
            )
        except (InputError, FileFormatError) as error:
            raise FileFormatError(f"{CERTIFICATE_FILE} is not a certificate: {error}") from error
        if certificate.to_json() != text:
            raise FileFormatError(
                f"{CERTIFICATE_FILE} is not canonical (sorted keys, no spaces, reduced numbers, words by the numbers)"
            )
        return certificate

    def save(self, folder: Path) -> None:
        """Write ``certificate.json`` into `folder`, atomically."""
        write_atomically(Path(folder) / CERTIFICATE_FILE, self.to_json().encode("ascii"))

    @classmethod
    def load(cls, folder: Path, kinds: Sequence[Any] = ()) -> "Certificate":
        """Load ``certificate.json`` of `folder`; refuse a witness with another hash, and unknown content.

        Args:
            folder: The folder.
            kinds: Modules of kinds of statement that lie elsewhere.

        Raises:
            FileFormatError: A file is missing or unreadable, or as `from_json`; or the folder holds a file that belongs
                to no certificate.
            TamperedError: As `from_json`; or the witness has another hash.
        """
        folder = Path(folder)
        path = folder / CERTIFICATE_FILE
        require_regular_file(path)
        try:
            with path.open("rb") as file:
                text = file.read(_LARGEST_FILE + 1).decode("ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{path} is not a readable certificate: {error}") from error
        certificate = cls.from_json(text, kinds)
        require_own_files(folder, witness=certificate.witness is not None)
        if certificate.witness is not None:
            witness = folder / certificate.witness.file
            if file_sha256(witness) != certificate.witness.sha256:
                raise TamperedError(f"{witness} is not the witness that the certificate names: its hash differs")
        return certificate

    def _data(self) -> dict[str, Any]:
        subject, witness = self.subject, self.witness
        return {
            "format": FORMAT,
            "version": VERSION,
            "subject": {
                "model": subject.model,
                "task": subject.task,
                "target": subject.target,
                "origin": subject.origin,
                "sizes": dict(subject.sizes),
            },
            "criterion": self.criterion.data(),
            "statements": self._said.records,
            "provenance": dict(self.provenance),
            "witness": None if witness is None else {"file": witness.file, "sha256": witness.sha256},
        }


class _Said(NamedTuple):
    """The statements of a certificate as the kernel's modules read them: records, sentences, and parsed data."""

    certificate: KernelCertificate
    records: list[dict[str, Any]]
    known: list[Known]


def _said(certificate: Certificate) -> _Said:
    """Let the kernel's module of each kind read and phrase its statement.

    Raises:
        InputError: A statement of an unknown kind, or one that is impossible or does not fit the subject or the others.
    """
    subject, asked = certificate.subject, certificate.criterion
    ids = [statement.id for statement in certificate.statements]
    first = DOMAIN if subject.is_of_a_rule else ANSWERS
    if [id for id in ids if group_of(id, certificate.kinds) == 0] != [first]:
        raise InputError("statements", f"are {ids}", f"one {first!r}, and no other that answers the question")
    allowed = Rule.statements if subject.is_of_a_rule else {ANSWERS, RUNS} if subject.origin == PROMPTS else {*ids}
    if foreign := {id for id in ids if find_kind(id, ())} - allowed:
        raise InputError("statements", f"are {ids}", f"none of {sorted(foreign)} about {subject.origin!r}")
    records = [statement.record() for statement in certificate.statements]
    criterion = KernelCriterion(asked.asked, asked.tolerance, asked.contexts, asked.bound)
    about = subject.model, subject.task, subject.target, subject.origin, dict(subject.sizes)
    stated, known = KernelCertificate(*about, criterion, records, None), list[Known]()
    try:
        for place, record in enumerate(records):
            kind = find_kind(record["id"], certificate.kinds)
            if kind is None:
                expected = "a kind that is known: name the folder where it lies (`byheart check --kinds`)"
                raise InputError("statements", f"have the kind {record['id']!r}", expected)
            known.append(Known(kind, kind.read(f"statements[{place}]", record, stated)))
            record["statement"] = kind.sentence(known[-1].statement, stated)
        require_order(stated, certificate.kinds)
    except BadInputError as error:
        raise InputError(error.field, error.problem) from error
    return _Said(stated, records, known)


@dataclass(frozen=True)
class StatementCheck:
    """The result of proving one statement again, without trusting the certificate.

    Args:
        id: The statement (`Statement.label`).
        verdict: PROVED: the statement, with the bounds as stored, holds. REFUTED: it is false. UNDECIDED: neither.
        reason: One sentence for a person.
        values: Numbers of the same names that the checker itself obtained, where it did.
    """

    id: str
    verdict: Verdict
    reason: str
    values: Mapping[str, Number]

    @property
    def is_proved(self) -> bool:
        """Whether the statement was proved again."""
        return self.verdict is Verdict.PROVED


@dataclass(frozen=True)
class CheckReport:
    """The result of proving a certificate again with the fast prover.

    Args:
        certificate: What was checked.
        criterion: What was asked: that of the certificate, or another.
        checks: One for each statement, in its order.
        path: The arithmetic that was used, in words.
        asides: What the checker found beside the numbers, such as an input that is answered wrongly.
    """

    certificate: Certificate
    criterion: Criterion
    checks: tuple[StatementCheck, ...]
    path: str
    asides: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.headline()

    @property
    def verdict(self) -> Verdict:
        """The answer to the question by the checker's own numbers, if every stored statement was proved again.

        REFUTED if a stored statement is false or the answer is no, UNDECIDED if neither is known.
        """
        return Verdict.all_of([self._outcome.verdict, *(check.verdict for check in self.checks)])

    def headline(self) -> str:
        """Return the answer in one line, with the checker's own figures."""
        left = {verdict: [check.id for check in self.checks if check.verdict is verdict] for verdict in Verdict}
        if left[Verdict.REFUTED]:
            false = [f"{check.id}, {check.reason}" for check in self.checks if check.verdict is Verdict.REFUTED]
            return f"THE CERTIFICATE IS FALSE: {'; '.join([*false, *self.asides])}"
        found = self._outcome
        if found.verdict is Verdict.PROVED and left[Verdict.UNDECIDED]:
            missing = f"not proved again: {', '.join(left[Verdict.UNDECIDED])}"
            found = replace(found.adding(missing), word="NOT DECIDED")
        return str(found.adding(*self.asides))

    @property
    def _outcome(self) -> Outcome:
        sample = next((check.values for check in self.checks if check.id == SAMPLE), {})
        subject = self.certificate.subject
        found = subject.outcome(self.criterion, {**sample, **self.checks[0].values})
        return said_of_runs(found, self.criterion, self.certificate, self._proved_again)

    @property
    def _proved_again(self) -> list[Statement]:
        proved = {check.id for check in self.checks if check.is_proved}
        return [each for each in self.certificate.statements if each.label in proved]

    def summary(self) -> dict[str, Any]:
        """Return the results as JSON data, with numbers rounded to float64."""
        subject = self.certificate.subject
        return {
            "verdict": self.verdict.value,
            "headline": self.headline(),
            "asked": self.criterion.describe(subject.target),
            "path": self.path,
            **(self.certificate.answer_figures() if self.checks[0].is_proved else {}),
            "model_sha256": subject.model,
            "task_sha256": subject.task,
            "statements": [
                {
                    "id": check.id,
                    "statement": self.certificate.words(stored),
                    "checker": self.certificate.checker(stored),
                    "verdict": check.verdict.value,
                    "reason": check.reason,
                    "values": {name: plain_number(value) for name, value in check.values.items()},
                }
                for stored, check in zip(self.certificate.statements, self.checks, strict=True)
            ],
        }


def said_of_runs(
    found: Outcome, criterion: Criterion, certificate: Certificate, statements: Sequence[Statement]
) -> Outcome:
    """Return an answer with where it is proved, and with who has a proof of it.

    A yes about all contexts says whether it is so in every run of a number format or in real arithmetic, and how large
    the model is; of a text that is learned whole it says how much of it is said. Of any other answer only the count is
    marked, where the fast prover alone has a proof of it.

    Args:
        found: The answer about the contexts.
        criterion: The question.
        certificate: What it is about.
        statements: What is proved.
    """
    runs = [each for each in statements if each.id == RUNS]
    whole = [each for each in runs if each.values["memorized"] == each.values["contexts"]]
    rests_on = list(statements[:1])
    if criterion.asked == "memorized" and found.verdict is Verdict.PROVED:
        if texts := [each for each in statements if each.id == TEXT]:
            rests_on = [texts[-1], *(each for each in whole if each.named["format"] == texts[-1].named["format"])]
            found = replace(found, word="BY HEART, PROVED", parts=(_said_by_heart(texts[-1]),))
        else:
            rests_on += whole
            found = replace(found, parts=(f"{found.parts[0]}, {_where(whole)}", *found.parts[1:]))
        first, *others = found.parts
        found = replace(found, parts=(first, _parameters(certificate.subject), *others))
    prover_alone = [each for each in statements if certificate.checker(each) == PROVER]
    if any(each in prover_alone for each in rests_on):
        first, *others = found.parts
        found = replace(found, parts=(f"{first} {PROVER_ALONE}", *others))
    beside = [each for each in statements if each not in rests_on]
    beside = [each for each in beside if each in prover_alone or (each in runs and each not in whole)]
    return found.adding(*(f"{_beside(each)}{f' {PROVER_ALONE}' * (each in prover_alone)}" for each in beside))


def _where(whole: Sequence[Statement]) -> str:
    """Return where all contexts are memorized, by the statements about every run that say so."""
    *names, last = [each.named["format"] for each in whole] or [""]
    if not last:
        return "in real arithmetic"
    formats = f"{', '.join(names)} and {last}" if names else last
    return f"in every {formats} run"


def _said_by_heart(text: Statement) -> str:
    """Return how much of a text is said, and by what runs."""
    values, dtype = text.values, text.named["format"]
    name = "character" if "characters" in values else "byte"
    size = int(values.get("characters", values["bytes"]))
    said = f"{size:,} of {size:,} {inflected(name, size)}"
    if values["parts"] > 1:
        said += f" in {values['parts']:,} parts" if values["texts"] == 1 else f" of {values['texts']:,} texts"
    return f"{said}, in {dtype}" if dtype == REALS else f"{said}, in every {dtype} run"


def _beside(statement: Statement) -> str:
    """Return in a few words what is stated of runs beside the answer."""
    if statement.id == TEXT:
        return f"the text in every {statement.named['format']} run"
    if statement.id == RUNS:
        size = counted(statement.values["contexts"], "context")
        return f"{statement.values['memorized']:,} of {size} in every {statement.named['format']} run"
    return statement.id


def _parameters(subject: Subject) -> str:
    size = subject.sizes["parameters"]
    return f"{size:,} {inflected('parameter', size)}"


def memorized_mask(text: str, contexts: int) -> set[int]:
    """Return the contexts that a hexadecimal mask names.

    Args:
        text: Four contexts a digit, the first the most significant bit of the first.
        contexts: How many there are.

    Raises:
        InputError: Another number of digits, other characters, or bits beyond the contexts.

    Example:
        >>> sorted(memorized_mask("a8", 5))
        [0, 2, 4]
    """
    if len(text) != -(-contexts // 4) or set(text) - set("0123456789abcdef"):
        raise InputError("memorized", f"is {text[:20]!r}", f"{-(-contexts // 4)} hexadecimal digits")
    bits = "".join(f"{int(digit, 16):04b}" for digit in text)
    if "1" in bits[contexts:]:
        raise InputError("memorized", "names contexts that there are not")
    return {i for i, bit in enumerate(bits[:contexts]) if bit == "1"}


def mask_text(memorized: list[bool]) -> str:
    """Return the hexadecimal mask of the memorized contexts; empty if all or none are.

    Example:
        >>> mask_text([True, False, True, False, True])
        'a8'
    """
    if all(memorized) or not any(memorized):
        return ""
    bits = "".join("1" if each else "0" for each in memorized).ljust(4 * -(-len(memorized) // 4), "0")
    return "".join(f"{int(bits[i : i + 4], 2):x}" for i in range(0, len(bits), 4))


def plain_number(value: Number) -> int | float | None:
    """Return a number for JSON, which has no infinity: floats and fractions as float64, otherwise `None`."""
    if isinstance(value, int):
        return value
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def file_sha256(path: Path) -> str:
    """Hash of the bytes of a file, in hexadecimal.

    Raises:
        FileFormatError: The file cannot be read.
    """
    require_regular_file(path)
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from error
    return digest.hexdigest()


def require_own_files(folder: Path, *, witness: bool) -> None:
    """Refuse a folder with files that a person could mistake for a part of it but that no certificate names.

    Raises:
        FileFormatError: Names the file.
    """
    own = {CERTIFICATE_FILE, MODEL_FILE, TASK_FILE, REPORT_FILE, SUMMARY_FILE, MEASURED_FILE}
    own |= {WRONG_FILE, OTHER_RUNS_FILE}
    own |= {WITNESS_FILE} if witness else set()
    foreign = sorted(path.name for path in Path(folder).iterdir() if path.name not in own)
    if foreign:
        raise FileFormatError(f"{folder} holds {foreign[0]!r}, which the certificate does not name; remove it to check")


def parse_criterion(data: Any) -> Criterion:
    """Return the criterion that `Criterion.data` wrote.

    Raises:
        FileFormatError: It is no such data.
    """
    expect_fields("criterion", data, {"asked", "tolerance", "contexts", "bound"})

    def number(name: str) -> float:
        value = decode_number(f"criterion.{name}", data[name])
        if not isinstance(value, float):
            raise FileFormatError(f"criterion.{name} is {data[name]!r}, expected a float in hexadecimal")
        return value

    try:
        return Criterion(
            asked=data["asked"],
            tolerance=number("tolerance"),
            contexts=data["contexts"],
            bound=None if data["bound"] is None else number("bound"),
        )
    except (InputError, TypeError) as error:
        raise FileFormatError(f"criterion: {error}") from error


def seed_text(seed: Number) -> str:
    """Return the text whose bytes are this number."""
    number = int(seed)
    return number.to_bytes(-(-number.bit_length() // 8), "big").decode(errors="replace")


def seed_number(text: str) -> int:
    """Read the bytes of a text as one integer."""
    return int.from_bytes(text.encode(), "big")


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(data).encode("ascii")).hexdigest()


def _parse_subject(data: Any) -> Subject:
    expect_fields("subject", data, {"model", "task", "target", "origin", "sizes"})
    target = expect("subject.target", data["target"], str)
    sizes = expect("subject.sizes", data["sizes"], dict)
    return Subject(data["model"], data["task"], target, expect("subject.origin", data["origin"], str), sizes)


def _parse_statements(data: Any) -> tuple[Statement, ...]:
    found = expect("statements", data, list)
    return tuple(_parse_statement(f"statements[{place}]", each) for place, each in enumerate(found))


def _parse_statement(where: str, data: Any) -> Statement:
    fields = {"id", "statement", "method", "values", "memorized"}
    has_names = isinstance(data, dict) and "named" in data
    expect_fields(where, data, fields | {"named"} if has_names else fields)
    values = expect(f"{where}.values", data["values"], dict)
    try:
        return Statement(
            id=expect("id", data["id"], str),
            method=expect("method", data["method"], str),
            values={name: decode_number(f"values.{name}", value) for name, value in values.items()},
            memorized=expect("memorized", data["memorized"], str),
            named=expect("named", data["named"], dict) if has_names else {},
        )
    except (InputError, FileFormatError) as error:
        raise FileFormatError(f"{where}: {error}") from error


def _parse_witness(data: Any) -> Witness | None:
    if data is None:
        return None
    expect_fields("witness", data, {"file", "sha256"})
    return Witness(data["file"], data["sha256"])
