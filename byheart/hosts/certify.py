"""Certify what a third-party model has memorized.

Facts, rules and samples of a domain, and rules with a state go one way, `_certified`; what differs between them is in
`byheart/hosts/questions/`.

Pages: docs/hosts.md, docs/commands.md
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from byheart.hosts.decoding import DecodedFacts as Decoded
from byheart.hosts.decoding import code_not_run, require_greedy
from byheart.hosts.every_run import EveryRun, in_every_run, require_every_run
from byheart.hosts.facts.numbered_facts import Reading
from byheart.hosts.handshake import HandshakeResult, ask_host
from byheart.hosts.questions.facts import facts_of
from byheart.hosts.questions.given import Given, read_given
from byheart.hosts.questions.question import Page, Question
from byheart.hosts.questions.rule import RuleOptions
from byheart.hosts.questions.state import state_of
from byheart.measured import Measured, summary_json
from constructions.errors import InputError
from constructions.folds.fold import Fold
from constructions.formats.files import new_folder, refuse_existing, write_atomically
from constructions.progress import Progress, silent
from constructions.tasks.criterion import Criterion
from verify.certificates.certificate import (
    OTHER_RUNS_FILE,
    REPORT_FILE,
    SUMMARY_FILE,
    WRONG_FILE,
)
from verify.certificates.loading import save_certified
from verify.domains.rule_answers import ONE_BY_ONE
from verify.provers.proved import Proved
from verify.workers import Workers

PIECES_SUFFIX = ".pieces"
"""What is appended to the name of a folder for the file that keeps the finished pieces of a domain."""


def certify(
    source: Any,
    task: Any,
    *,
    criterion: Criterion | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    tokenizer: Any = None,
    between: str = " ",
    cells: str | None = None,
    decided: Callable[[Sequence[Any], bool, float, str], None] | None = None,
    **how: Any,
) -> dict[str, Any]:
    r"""Prove which facts of a list the weights of a trained model memorize, as they are stored.

    The certificate is about the exact numbers in the file, whatever their type, in real arithmetic: how many contexts
    are memorized and how many are not, the least margin, the mean divergence. It is of the same kind as those of
    `memorize`, and both checkers prove it again (`byheart check`, and `--fast`).

    Args:
        source: A file or a folder (`byheart.hosts.reading.read_model`), a `Model`, a `torch.nn.Module`, or tensors by
            name.
        task: The facts, a file of them (`byheart.hosts.facts.numbered_facts.read_facts`), or rows as a table has them:
            a list, a data frame, a mapping from prompts to answers. A fact is memorized if greedy decoding says the
            whole answer (`constructions.tasks.prompts.PromptTask`).
        criterion: What is asked; by default that every fact is memorized.
        delimiter: What separates the cells of a table; by default found out, as by `byheart.memorize`.
        header: Whether the first row of a table holds names; by default found out.
        weights: Whether the last column of a table holds weights; by default as its header says.
        tokenizer: What cuts prompts and answers that are texts; by default the ``tokenizer.json`` beside the model, or
            what a file of GGUF says.
        between: What is put between a prompt and its answer where neither brings white space there.
        cells: Whether cells are ``"tokens"`` or ``"texts"``; by default texts where the tokenizer cuts words in pieces.
        decided: Called with each prompt and its answer once that is decided: the row, whether it is memorized, its
            margin at least, or at most where it is not memorized, and the arithmetic that decides.
        how: What `Journey` says: how the model is read, who is asked, and what is written.

    Returns:
        The figures, as plain JSON data: ``verdict``, ``headline``, ``facts``, ``memorized``, ``wrong``, ``undecided``,
        ``margin_lower``, ``mean_loss_upper``, and the first 100 contexts that are proved wrong or left open: their
        places in the task (``wrong_contexts``, ``undecided_contexts``), and of tokens their rows as a table has them
        (``wrong_facts``, ``undecided_facts``): the tokens of the context, and the label if there is one.

    Raises:
        InputError: A model of another kind, or facts that it cannot read.
        HandshakeError: The module computes something else than its tensors say, or cannot be run.
        FileFormatError: A file is missing or damaged.
        ResourceError: There is too little memory.

    Example:
        >>> import numpy as np
        >>> from constructions.model.model import Model
        >>> from constructions.tasks.table import table_task
        >>> swap = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> figures = certify(swap, table_task("a,b\nb,b\n", target="labels").in_one_vocabulary())
        >>> figures["verdict"], figures["memorized"], figures["wrong_facts"]
        ('REFUTED', 1, [['b', 'b']])
    """
    journey = Journey(**how)
    reading = Reading(delimiter, header, weights, tokenizer, between, cells, None, journey.handshake)
    read = partial(facts_of, source=source, task=task, how=reading, told=decided)
    return journey.certified(source, read, criterion, reads=(source, task))


def certify_rule(
    source: Any,
    rule: str | Callable[..., Any],
    *,
    length: int | None = None,
    tokens: int | None = None,
    modulus: int | None = None,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    criterion: Criterion | None = None,
    sample: int | None = None,
    seed: str = "",
    one_by_one: int = ONE_BY_ONE,
    workers: Workers | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Prove on how many inputs of a whole domain a trained model computes a rule, such as the maximum of 4 tokens.

    Args:
        source: As for `certify`.
        rule: As for `constructions.tasks.rule.rule_task`: the name of a rule, or a function.
        length: How many tokens the rule reads; by default as many as the model has room for.
        tokens: They are those below this number; by default all that the model knows.
        modulus: Of a sum; by default `tokens`.
        before: Tokens that stand before them in every input.
        after: Tokens that stand after them in every input.
        criterion: What is asked; by default that every input is answered right.
        sample: How many inputs are drawn, after the weights are known, and judged; by default all are judged.
        seed: A text that the draw depends on, beside the hashes of the weights and of the rule.
        one_by_one: How many inputs may be judged one by one, at rising precision, where tables do not decide them.
        workers: As for `verify.domains.rule_answers.judge_rule`.
        how: As for `certify`; the module is run on some of the inputs, of every run at most 2^20 are judged, and in
            ``wrong.csv`` are the first 65,536 inputs that are proved wrong, with what the rule says behind them. Beside
            `out`, with `PIECES_SUFFIX` behind its name, lies what is finished of the domain until all is: after an
            interrupt, or if the process is killed, the same call goes on from there.

    Returns:
        The figures, as plain JSON data: ``verdict``, ``headline``, ``inputs``, ``right``, ``wrong``, ``undecided``, and
        some inputs that are proved wrong (``wrong_inputs``) or that were left open (``open_inputs``), at most 100 each;
        how many of those that are right or wrong were counted by ``earlier`` runs.

    Raises:
        InputError: A model of another kind, or a rule or domain that it cannot read.
        FileFormatError: A file is missing or damaged.

    Example:
        >>> import numpy as np
        >>> from constructions.model.model import Model
        >>> echo = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
        >>> figures = certify_rule(echo, "max")
        >>> figures["right"], figures["wrong_inputs"]
        (6, [[1, 0], [2, 0], [2, 1]])
    """
    journey = Journey(**how)
    asked = RuleOptions(
        rule=rule,
        length=length,
        tokens=tokens,
        modulus=modulus,
        before=before,
        after=after,
        sample=sample,
        seed=seed,
        one_by_one=one_by_one,
        workers=workers,
        keep=None if journey.out is None else Path(f"{journey.out}{PIECES_SUFFIX}"),
    )
    return journey.certified(source, asked.read, criterion, reads=(source,))


def certify_fold(
    source: Any,
    fold: Fold,
    *,
    criterion: Criterion | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Prove that greedy decoding of a trained model gives the answer to every input of a rule with a state.

    Args:
        source: As for `certify`.
        fold: The rule.
        criterion: What is asked; by default that every input is answered right.
        how: As for `certify`; the module is run on some of the inputs, and every run is stated only if it is proved of
            all inputs.

    Returns:
        The figures, as plain JSON data: ``verdict``, ``headline``, ``inputs``, ``right``, ``wrong``, ``undecided``, and
        of an input that is answered wrongly the ``prompt``, the ``answer`` by the rule, and ``said``: a token that
        the model prefers, or says as likely, in place of the right token ``place`` of the answer.

    Raises:
        HypothesisError: A model to which the theorem does not apply; names the hypothesis.
        InputError: A model of another kind, or one that cannot read the rule.
        FileFormatError: A file is missing or damaged.

    Example:
        >>> from constructions.memories.heads.adder import adder
        >>> from constructions.folds.fold import addition
        >>> certify_fold(adder(2, base=2), addition(2, base=2))["headline"][:36]
        'MEMORIZED, PROVED: 16 of 16 inputs, '
    """
    journey = Journey(**how)
    return journey.certified(
        source, partial(state_of, fold=fold, every_run=journey.every_run), criterion, reads=(source,)
    )


@dataclass(frozen=True, kw_only=True)
class Journey:
    """The way of every task: read the model and the task, ask the host, judge, state, write.

    Args:
        config: What the tensors compute, where neither a ``config.json`` beside them nor the module itself says so.
        names: For a module or tensors, the name there of each tensor that the configuration names.
        key: Under which key of the dictionary in a file of torch the tensors are; by default they are that dictionary.
        ignore_field: Fields of the configuration that are not known here: they are passed over where the library that
            runs the model agrees on the contexts, and named in the first line.
        plain_argmax: Ask about the largest logits also where something beside the model makes `generate` of its library
            say something else (`byheart/hosts/decoding.py`); the first line names it.
        handshake: Run the module that the weights are those of, if there is one and its library is installed, on the
            contexts, and refuse the weights where it computes something else (`byheart/hosts/handshake.py`).
        every_run: ``"float32"`` or ``"float64"``: also prove in which contexts every run in this type, in any order of
            summation, has one and the same answer (`verify.runs.every_run.every_run`), beside the certificate.
        out: A folder to write: the weights, the task, the certificate, and in ``wrong.csv`` all that is proved wrong;
            of labels, and of a rule with a state, a page too. Nothing is written by default.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.
    """

    config: Mapping[str, Any] | Path | str | None = None
    names: Mapping[str, str] | None = None
    key: str | None = None
    ignore_field: Sequence[str] = ()
    plain_argmax: bool = False
    handshake: bool = True
    every_run: str | None = None
    out: Path | str | None = None
    overwrite: bool = False
    progress: Progress = silent

    def certified(
        self, source: Any, read: Callable[[Given], Question], criterion: Criterion | None, *, reads: Sequence[Any]
    ) -> dict[str, Any]:
        """Return the figures, and write the folder if there is to be one.

        Args:
            source: The model.
            read: Makes the question, once the model is known.
            criterion: What is asked; by default that everything is memorized.
            reads: What is read, and hence not written over.
        """
        progress, ignored = self.progress, self.ignore_field
        if self.out is not None:
            refuse_existing(Path(self.out), overwrite=self.overwrite, reads=reads)
        progress("model", None, "")
        given = read_given(source, self.config, self.names, self.key, ignored, self.handshake)
        asked = read(given)
        if self.every_run is not None and not asked.judges_runs:
            require_every_run(self.every_run, given.model, asked.domain_size)
        decoding = self._decoding(source, given, asked)
        agreeing = _asked(given, asked, self.handshake, ignored, progress)
        proved = asked.prove(criterion, self.every_run, progress)
        runs = self._runs(asked)
        proved = replace(proved, certificate=proved.certificate.stating(runs and runs.statement))
        least = asked.least_margin(proved)
        _require_agreement(agreeing, least, ignored)
        asides = [
            decoding,
            *asked.asides(proved, (given.asked, given.config) if self.handshake else (None, None)),
            _ignoring(ignored),
            code_not_run(source, given.options),
            agreeing.said(least, drawn=asked.drawn) if agreeing else "",
        ]
        proved = replace(proved, certificate=proved.certificate.with_handshake(*asides))
        figures = _figures(asked, proved, runs)
        if self.out is not None:
            page, drawn = asked.page(proved, progress)
            _write(Path(self.out), asked, proved, figures, runs, drawn=drawn, page=page, overwrite=self.overwrite)
        return figures

    def _decoding(self, source: Any, given: Given, asked: Question) -> str:
        """Return what the first line says of how answers are decoded, where the task has answers."""
        answers, read = asked.decoding()
        if asked.target != "labels" or not answers:
            return ""
        return require_greedy(source, given.options, Decoded(answers, read), plain_argmax=self.plain_argmax)

    def _runs(self, asked: Question) -> EveryRun | None:
        """Return what every run answers, of contexts that are tokens, where the proof has not judged that itself."""
        if self.every_run is None or asked.judges_runs or not (parts := asked.parts()):
            return None
        size, labelled = asked.task.n_contexts, asked.target == "labels"
        return in_every_run(
            asked.model, parts, size, asked.rows, dtype=self.every_run, labelled=labelled, progress=self.progress
        )


def _figures(asked: Question, proved: Proved[Any], runs: EveryRun | None) -> dict[str, Any]:
    """Return the figures as plain JSON data: those of every certificate, and those of this kind of task."""
    certificate = proved.certificate
    return {
        "verdict": certificate.verdict.value,
        "headline": certificate.headline(),
        **({"reading": asked.said} if asked.said else {}),
        "asked": certificate.criterion.describe(asked.target),
        "parameters": asked.model.parameters,
        "model": asked.model.sha256(),
        **asked.figures(proved),
        **({} if runs is None else runs.figures),
    }


def _write(
    out: Path,
    asked: Question,
    proved: Proved[Any],
    figures: dict[str, Any],
    runs: EveryRun | None,
    *,
    drawn: Mapping[str, Any] | None,
    page: Page | None,
    overwrite: bool,
) -> None:
    """Write the folder that `check` proves again, and a page; the figures name its files."""
    with new_folder(out, overwrite=overwrite) as written:
        save_certified(written, asked.model, asked.task, proved)
        for name, rows in ((WRONG_FILE, asked.wrong(proved)), (OTHER_RUNS_FILE, runs and runs.left)):
            if rows:
                table = io.StringIO()
                csv.writer(table, lineterminator="\n").writerows(rows)
                write_atomically(written / name, table.getvalue().encode())
        measured = Measured.of(figures, proved.certificate, drawn=drawn)
        measured.save(written)
        if page is not None:
            write_atomically(written / REPORT_FILE, page(written, measured).encode("utf-8"))
        write_atomically(written / SUMMARY_FILE, summary_json(proved.certificate, measured).encode("utf-8"))
        figures["files"] = {path.name: str(out / path.name) for path in sorted(written.iterdir())}


def _ignoring(fields: Sequence[str]) -> str:
    """Return a note for the first line on ignored configuration fields."""
    return f"the configuration's {', '.join(fields)} ignored" if fields else ""


def _asked(
    given: Given, asked: Question, handshake: bool, ignored: Sequence[str], progress: Progress
) -> HandshakeResult | None:
    """Return who agrees, or why no host was asked; None if no other program runs such weights.

    Raises:
        InputError: Fields are to be ignored, and nobody agrees.
    """
    if not handshake:
        return HandshakeResult(why="--no-handshake")
    progress("handshake", None, "")
    agreeing = ask_host(given.asked, given.config, given.model, *asked.inputs)
    if ignored and not (agreeing and agreeing.agrees):
        why = f": {agreeing.why}" if agreeing else ""
        raise InputError(
            "ignore_field", f"= {ignored[0]!r} is given, but no library shows that the logits do not depend on it{why}"
        )
    return agreeing


def _require_agreement(agreeing: HandshakeResult | None, least: float | None, ignored: Sequence[str]) -> None:
    """Refuse to ignore fields unless the handshake shows that the host gives the same answers.

    Raises:
        InputError: Names the first field.
    """
    if ignored and agreeing is not None and not agreeing.tells(least):
        raise InputError("ignore_field", f"= {ignored[0]!r} is given, but {agreeing.said(least)}")
