"""Prove what a model of somebody else's has memorized: the weights in, a certificate out.

Pages: docs/hosts.md, docs/commands.md
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byheart.hosts.conversion import require_tokens
from byheart.hosts.decoding import DecodedFacts as Decoded
from byheart.hosts.decoding import code_not_run, require_greedy
from byheart.hosts.every_run import EveryRun, Part, in_every_run, require_every_run
from byheart.hosts.facts.numbered_facts import Reading, facts_of_rows, read_facts
from byheart.hosts.facts.prompt_texts import tokenizer_of_gguf
from byheart.hosts.families import is_of_transformer_lens
from byheart.hosts.handshake import HandshakeResult, HostAnswer, ask_host, host_answer, require_plain_parameters
from byheart.hosts.number_types import DTYPES
from byheart.hosts.reading import (
    configuration_of,
    is_gguf,
    model_of,
    read_weights,
    require_exact_in,
    stored_as_linear,
)
from byheart.measured import Measured, page_of_facts, page_of_fold, summary_json
from constructions.errors import InputError, require_at_least
from constructions.folds.fold import Fold
from constructions.formats.files import new_folder, refuse_existing, write_atomically
from constructions.model.construction import require_fit
from constructions.model.entries import Entries
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.criterion import Criterion
from constructions.tasks.rule import RuleTask, rule_task
from constructions.tasks.stored import Stored
from constructions.tasks.vectors import Vectors
from verify.certificates.certificate import (
    OTHER_RUNS_FILE,
    REPORT_FILE,
    SUMMARY_FILE,
    WRONG_FILE,
)
from verify.certificates.loading import save_certified
from verify.domains.rule_answers import ONE_BY_ONE
from verify.domains.sample import drawn
from verify.folds.fold_answers import WrongInput, require_one_attention
from verify.folds.least_leads import least_leads
from verify.provers.answer_bounds import Answers, Decided
from verify.provers.domain import OF_PATHS, certify_domain
from verify.provers.domain import certify_fold as certified_fold
from verify.provers.memorization import certify_memorization
from verify.provers.proved import Proved
from verify.runs.every_run import argmax_of_every_run
from verify.workers import Workers

PIECES_SUFFIX = ".pieces"
"""What is appended to the name of a folder for the file that keeps the finished pieces of a domain."""

_FOLDED_ASKED = 64  # of a rule with a state, drawn
_INPUTS_ASKED = 512  # of a rule, drawn; the host is run on them

_MOST_DRAWN = 2**18  # facts, whose margins take 12 MB
_MOST_NAMED = 100  # contexts that the figures list; the certificate names all that are held


def certify(
    source: Any,
    task: Any,
    *,
    criterion: Criterion | None = None,
    config: Mapping[str, Any] | Path | str | None = None,
    names: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    tokenizer: Any = None,
    between: str = " ",
    cells: str | None = None,
    key: str | None = None,
    ignore_field: Sequence[str] = (),
    plain_argmax: bool = False,
    handshake: bool = True,
    every_run: str | None = None,
    out: Path | str | None = None,
    overwrite: bool = False,
    decided: Callable[[Sequence[Any], bool, float, str], None] | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Prove of the weights of a trained model, as they are stored, which facts of a list they hold.

    The certificate is about the exact numbers in the file, whatever their type, in real arithmetic: how many contexts
    are held and how many are not, the least margin, the mean divergence. It is of the same kind as those of `memorize`,
    and both checkers prove it again (`byheart check`, and `--fast`).

    Args:
        source: A file or a folder (`byheart.hosts.reading.read_model`), a `Model`, a `torch.nn.Module`, or tensors by
            name.
        task: The facts, a file of them (`byheart.hosts.facts.numbered_facts.read_facts`), or rows as a table has them:
            a list, a data frame, a mapping from prompts to answers. A fact is held if greedy decoding says the whole
            answer (`constructions.tasks.prompts.PromptTask`).
        criterion: What is asked; by default that every fact is held.
        config: What the tensors compute, where neither a ``config.json`` beside them nor the module itself says so.
        names: For a module or tensors, the name there of each tensor that the configuration names.
        delimiter: What separates the cells of a table; by default found out, as by `byheart.memorize`.
        header: Whether the first row of a table holds names; by default found out.
        weights: Whether the last column of a table holds weights; by default as its header says.
        tokenizer: What cuts prompts and answers that are texts; by default the ``tokenizer.json`` beside the model, or
            what a file of GGUF says.
        between: What is put between a prompt and its answer where neither brings white space there.
        cells: Whether cells are ``"tokens"`` or ``"texts"``; by default texts where the tokenizer cuts words in pieces.
        key: Under which key of the dictionary in a file of torch the tensors are; by default they are that dictionary.
        ignore_field: Fields of the configuration that are not known here: they are passed over where the library that
            runs the model agrees on the contexts, and named in the first line.
        plain_argmax: Ask about the largest logits also where something beside the model makes `generate` of its library
            say something else (`byheart/hosts/decoding.py`); the first line names it.
        handshake: Run the module that the weights are those of, if there is one and its library is installed, on the
            contexts, and refuse the weights where it computes something else (`byheart/hosts/handshake.py`).
        every_run: ``"float32"`` or ``"float64"``: also prove in which contexts every run in this type, in any order of
            summation, has one and the same answer (`verify.runs.every_run.every_run`), beside the certificate.
        out: A folder to write: the weights, the facts, the certificate, and in ``wrong.csv`` all facts that are proved
            not to be held, and of labels a page of all margins; nothing is written by default.
        overwrite: Replace a folder that byheart wrote.
        decided: Called with each prompt and its answer once that is decided: the row, whether it is held, its margin at
            least, or at most where it is not held, and the arithmetic that decides.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures, as plain JSON data: ``verdict``, ``headline``, ``facts``, ``held``, ``wrong``, ``undecided``,
        ``margin_lower``, ``mean_loss_upper``, and the first 100 contexts that are proved wrong or left open: their
        places in the task (``wrong_contexts``, ``undecided_contexts``), and of tokens their rows as a table has them
        (``wrong_facts``, ``undecided_facts``): the tokens of the context, and the label if there is one.

    Raises:
        InputError: A model of another kind, or facts that it cannot read.
        HandshakeError: The module computes something else than its tensors say, or cannot be run.
        FileFormatError: A file is missing or damaged.
        ResourceError: There is too little memory.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> swap = Model(blocks=(), W_U=np.eye(2)[::-1], W_E=np.eye(2), W_pos=np.zeros((1, 2)))
        >>> figures = certify(swap, table_task("a,b\nb,b\n", target="labels").in_one_vocabulary())
        >>> figures["verdict"], figures["held"], figures["wrong_facts"]
        ('REFUTED', 1, [['b', 'b']])
    """
    if out is not None:
        refuse_existing(Path(out), overwrite=overwrite, reads=(source, task))
    progress("model", None, "")
    given = _model(source, config, names, key, ignore_field, handshake)
    model, options = given.model, given.options
    folder = Path(source) if isinstance(source, Path | str) else None
    if tokenizer is None and cells != "tokens" and folder is not None and is_gguf(folder):
        tokenizer = tokenizer_of_gguf(folder)
    prepends = bool(options.get("default_prepend_bos", True)) if is_of_transformer_lens(options) else None
    how = Reading(delimiter, header, weights, tokenizer, between, cells, prepends, handshake)
    said = aside = ""
    if isinstance(task, Path | str):
        facts, said, aside = read_facts(Path(task), model, folder, how)
    elif isinstance(task, AnyTask):
        facts = task
    else:
        facts, said, aside = facts_of_rows(task, model, folder, how)
    require_fit(model, facts)
    if every_run is not None:
        require_every_run(every_run, model, 0)
    asked = criterion or Criterion()
    inputs = [part.task.inputs for part in facts.parts] if facts.listing is None else [facts.listing.inputs]
    decoding = _decoding(source, options, facts, plain_argmax)
    agreeing = _asked(given, inputs, handshake, ignore_field, progress)
    beyond = None if every_run is None else argmax_of_every_run
    told = None if decided is None else _told(facts, decided)
    proved = certify_memorization(model, facts, asked, beyond=beyond, decided=told, progress=progress)
    least = _least_margin(proved.answers)
    _require_agreement(agreeing, least, ignore_field)
    asides = [
        decoding,
        aside,
        _ignoring(ignore_field),
        code_not_run(source, options),
        agreeing.said(least) if agreeing else "",
    ]
    proved = replace(proved, certificate=proved.certificate.with_handshake(*asides))
    answers, target = proved.answers, facts.target
    held, wrong = answers.held(target, asked.tolerance), answers.wrong(target, asked.tolerance)
    runs = None
    if every_run is not None and model.reads_tokens:
        runs = in_every_run(
            model, _parts(facts), len(held), facts.rows,
            dtype=every_run, labelled=target == "labels", progress=progress,
        )  # fmt: skip
        proved = replace(proved, certificate=proved.certificate.stating(runs.statement))
    reading = [text for text in (facts.echo(), said, given.said) if text]
    wrong, undecided = np.flatnonzero(wrong), np.flatnonzero(~held & ~wrong)
    figures: dict[str, Any] = {
        "verdict": proved.certificate.verdict.value,
        "headline": proved.certificate.headline(),
        **({"reading": "; ".join(reading)} if reading else {}),
        "asked": asked.describe(target),
        "parameters": model.parameters,
        "model": model.sha256(),
        "facts": len(held),
        "held": int(held.sum()),
        "wrong": len(wrong),
        "undecided": len(undecided),
        **proved.certificate.answer_figures(),
        "wrong_contexts": wrong[:_MOST_NAMED].tolist(),
        "wrong_facts": facts.rows(wrong[:_MOST_NAMED]),
        "undecided_contexts": undecided[:_MOST_NAMED].tolist(),
        "undecided_facts": facts.rows(undecided[:_MOST_NAMED]),
        "decided_by": answers.decided_by(),
        **({} if runs is None else runs.figures),
    }
    if out is not None:

        def page(folder: Path, measured: Measured) -> str:
            return page_of_facts(folder, proved.certificate, facts, measured)

        drawn = _margins(model, facts, answers)
        _write(
            Path(out), model, facts, proved, figures, facts.rows(wrong), runs,
            drawn=drawn, page=page if drawn else None, overwrite=overwrite,
        )  # fmt: skip
    return figures


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
    config: Mapping[str, Any] | Path | str | None = None,
    names: Mapping[str, str] | None = None,
    key: str | None = None,
    ignore_field: Sequence[str] = (),
    plain_argmax: bool = False,
    handshake: bool = True,
    every_run: str | None = None,
    out: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Prove of a trained model on how many inputs of a whole domain it computes a rule: the maximum of 4 tokens, say.

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
        config: As for `certify`.
        names: As for `certify`.
        key: As for `certify`.
        ignore_field: As for `certify`.
        plain_argmax: As for `certify`.
        handshake: As for `certify`; the module is run on some of the inputs.
        every_run: As for `certify`, of all inputs, at most 2^20.
        out: A folder to write: the weights, the rule, the certificate, and in ``wrong.csv`` the first 65,536 inputs
            that are proved wrong, with what the rule says behind them; nothing is written by default. Beside it, with
            `PIECES_SUFFIX` behind its name, lies what is finished of the domain until all is: after an interrupt, or if
            the process is killed, the same call goes on from there.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The figures, as plain JSON data: ``verdict``, ``headline``, ``inputs``, ``right``, ``wrong``, ``undecided``, and
        some inputs that are proved wrong (``wrong_inputs``) or that were left open (``open_inputs``), at most 100 each;
        how many of those that are right or wrong were counted by ``earlier`` runs.

    Raises:
        InputError: A model of another kind, or a rule or domain that it cannot read.
        FileFormatError: A file is missing or damaged.

    Example:
        >>> echo = Model(blocks=(), W_U=np.eye(3), W_E=np.eye(3), W_pos=np.zeros((2, 3)))
        >>> figures = certify_rule(echo, "max")
        >>> figures["right"], figures["wrong_inputs"]
        (6, [[1, 0], [2, 0], [2, 1]])
    """
    if out is not None:
        refuse_existing(Path(out), overwrite=overwrite, reads=(source,))
    require_at_least(1, length=length, tokens=tokens)
    progress("model", None, "")
    given = _model(source, config, names, key, ignore_field, handshake)
    model, options = given.model, given.options
    require_tokens(model)
    room = model.n_ctx - len(before) - len(after)
    if room < 1:
        raise InputError("before and after", f"are {model.n_ctx - room} tokens", f"fewer than n_ctx = {model.n_ctx}")
    for name, value, most, what in (("length", length, room, "room"), ("tokens", tokens, model.d_vocab, "tokens")):
        if value is not None and value > most:
            raise InputError(name, f"= {value}", f"at most {most}: the model has no more {what}")
    task = rule_task(
        rule,
        d_vocab=model.d_vocab if tokens is None else tokens,
        n_ctx=room if length is None else length,
        modulus=modulus,
        before=before,
        after=after,
    )
    if every_run is not None:
        require_every_run(every_run, model, task.n_contexts)
    asked = criterion or Criterion()
    numbers = drawn(model.sha256(), task.sha256(), task.n_contexts, min(_INPUTS_ASKED, task.n_contexts), "")
    decoding = _decoding(source, options, task, plain_argmax)
    inputs = [task.contexts_at(np.array(numbers))]
    agreeing = _asked(given, inputs, handshake, ignore_field, progress)
    keep = None if out is None else Path(f"{out}{PIECES_SUFFIX}")
    if keep is not None:
        keep.parent.mkdir(parents=True, exist_ok=True)
    proved = certify_domain(
        model,
        task,
        asked,
        sample=sample,
        seed=seed,
        one_by_one=one_by_one,
        keep=keep,
        workers=workers,
        progress=progress,
    )
    found = proved.answers
    runs = None
    if every_run is not None:
        inputs, every = task.contexts_at(np.arange(task.n_contexts)), np.arange(task.n_contexts)
        runs = in_every_run(
            model, [Part(inputs, task.labels_of(inputs), every, every)], len(inputs),
            lambda places: inputs[places].tolist(), dtype=every_run, progress=progress,
        )  # fmt: skip
        proved = replace(proved, certificate=proved.certificate.stating(runs.statement))
    some = len(numbers) if len(numbers) < task.n_contexts else None
    agreed = agreeing.said(drawn=some) if agreeing else ""
    asides = [decoding, given.said, _ignoring(ignore_field), code_not_run(source, options), agreed]
    proved = replace(proved, certificate=proved.certificate.with_handshake(*asides))
    figures: dict[str, Any] = {
        "verdict": proved.certificate.verdict.value,
        "headline": proved.certificate.headline(),
        "asked": asked.describe(task.target),
        "parameters": model.parameters,
        "model": model.sha256(),
        "rule": task.rule,
        "inputs": found.inputs,
        "right": found.right,
        "wrong": found.wrong,
        "undecided": found.undecided,
        "wrong_inputs": [list(each) for each in found.wrong_examples[:_MOST_NAMED]],
        "open_inputs": [list(each) for each in found.open_examples[:_MOST_NAMED]],
        "one_by_one": found.one_by_one,
        "interrupted": found.interrupted,
        "earlier": found.earlier,
        "method": found.method,
        **({} if runs is None else runs.figures),
    }
    if out is not None:
        listed = np.array(found.wrong_examples, dtype=np.int64).reshape(-1, task.n_ctx)
        rows = np.column_stack([listed, task.labels_of(listed)])
        _write(Path(out), model, task, proved, figures, rows.tolist(), runs, overwrite=overwrite)
    return figures


def certify_fold(
    source: Any,
    fold: Fold,
    *,
    criterion: Criterion | None = None,
    config: Mapping[str, Any] | Path | str | None = None,
    key: str | None = None,
    ignore_field: Sequence[str] = (),
    plain_argmax: bool = False,
    handshake: bool = True,
    every_run: str | None = None,
    out: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    r"""Prove that greedy decoding of a trained model says the answer to every input of a rule with a state.

    Args:
        source: As for `certify`.
        fold: The rule.
        criterion: What is asked; by default that every input is answered right.
        config: As for `certify`.
        key: As for `certify`.
        ignore_field: As for `certify`.
        plain_argmax: As for `certify`.
        handshake: As for `certify`; the module is run on some of the inputs.
        every_run: A type of which every run is judged, too; stated if that is proved of all inputs.
        out: A folder to write: the weights, the rule, the certificate; nothing is written by default.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage, its finished share, and a detail.

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
        'MEMORIZED, PROVED: 16 of 16 inputs; '
    """
    progress("model", None, "")
    if out is not None:
        refuse_existing(Path(out), overwrite=overwrite, reads=(source,))
    given = _model(source, config, None, key, ignore_field, handshake)
    model, options = given.model, given.options
    require_tokens(model)
    require_fit(model, fold)
    require_one_attention(model)
    drawn_inputs = fold.drawn(_FOLDED_ASKED)
    prompts, answers = fold.prompts(drawn_inputs), fold.answers(drawn_inputs)
    contexts = np.concatenate([prompts, answers[:, :-1]], axis=1)
    decoded = Decoded([(fold.length, tuple(answers[0].tolist()))], set(np.unique(contexts).tolist()))
    decoding = require_greedy(source, options, decoded, plain_argmax=plain_argmax)
    agreeing = _asked(given, [contexts], handshake, ignore_field, progress)
    proved = certified_fold(model, fold, criterion, every_run=every_run, progress=progress)
    found, wrong = proved.answers, proved.answers.wrong
    asides = [decoding, given.said, _ignoring(ignore_field), agreeing.said(drawn=len(contexts)) if agreeing else ""]
    said = None
    if wrong is not None:
        asked = (given.asked, given.config) if handshake else (None, None)
        said = host_answer(*asked, model, wrong.prompt, len(wrong.answer))
        asides.insert(0, "; ".join(filter(None, [wrong.words(), said and said.words(wrong.decoded)])))
    proved = replace(proved, certificate=proved.certificate.with_handshake(*asides))
    runs = None if every_run is None else proved.certificate.in_every_run(every_run)
    figures: dict[str, Any] = {
        "verdict": proved.certificate.verdict.value,
        "headline": proved.certificate.headline(),
        "asked": proved.certificate.criterion.describe("labels"),
        "parameters": model.parameters,
        "model": model.sha256(),
        "entries": asdict(Entries.of(model)),
        "rule": fold.name,
        "layout": fold.layout,
        "inputs": found.inputs,
        "right": found.inputs - found.left,
        "wrong": int(wrong is not None),
        "undecided": found.left - int(wrong is not None),
        "wrong_input": None if wrong is None else _wrong_figures(wrong, said),
        "every_run": None if every_run is None else {"dtype": every_run, "proved": runs is not None},
        "cells": found.cells,
        "boxes": found.boxes,
        "method": OF_PATHS,
    }
    if out is not None:

        def page(folder: Path, measured: Measured) -> str:
            return page_of_fold(folder, proved.certificate, model, fold, measured)

        drawn = {"leads": _leads(model, fold, progress) if found.left == 0 else []}
        _write(Path(out), model, fold, proved, figures, [], None, drawn=drawn, page=page, overwrite=overwrite)
    return figures


def _margins(model: Model, facts: AnyTask, answers: Answers) -> dict[str, Any] | None:
    """Return the bounds of the margin of each fact, for the page; JSON has no infinity.

    There is no page of vectors, which have no texts, of distributions and values, which are not held by a margin alone,
    of models with one output, nor of so many facts that nobody would look at them.
    """
    lower, upper = answers.margin_lower, answers.margin_upper
    if not model.reads_tokens or facts.target != "labels" or len(lower) > _MOST_DRAWN or (lower == np.inf).any():
        return None
    bounds = np.stack([lower, upper], axis=1).tolist()
    return {"margins": [[each if np.isfinite(each) else None for each in pair] for pair in bounds]}


def _leads(model: Model, fold: Fold, progress: Progress) -> list[dict[str, Any]]:
    """By how much each token of the answer leads, for the page; JSON has no infinity."""
    found = least_leads(model, fold, progress=progress)
    return [
        {"lower": each.lower if np.isfinite(each.lower) else None, "found": each.found, "prompt": list(each.prompt)}
        for each in found
    ]


def _wrong_figures(wrong: WrongInput, by_host: HostAnswer | None) -> dict[str, Any]:
    return {
        "prompt": list(wrong.prompt),
        "answer": list(wrong.answer),
        "place": wrong.place + 1,
        "said": wrong.said,
        "decoded": list(wrong.decoded),
        "host": None if by_host is None else by_host.host,
        "host_decoded": None if by_host is None else list(by_host.said),
    }


def _write(
    out: Path,
    model: Model,
    task: AnyTask | Stored,
    proved: Proved[Any],
    figures: dict[str, Any],
    wrong: Sequence[Sequence[Any]],
    runs: EveryRun | None,
    *,
    drawn: Mapping[str, Any] | None = None,
    page: Callable[[Path, Measured], str] | None = None,
    overwrite: bool,
) -> None:
    """Write the folder that `check` proves again, and a page that is made of them; the figures name its files."""
    with new_folder(out, overwrite=overwrite) as written:
        save_certified(written, model, task, proved)
        for name, rows in ((WRONG_FILE, wrong), (OTHER_RUNS_FILE, runs and runs.left)):
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


class _Given(NamedTuple):
    """What was given to be certified.

    Args:
        model: What was read of it.
        asked: What can be asked whether it is that: a file, a module, or tensors by the names of its library.
        config: With which configuration it is asked, where that is not beside it.
        options: The configuration.
        said: Which names of tensors were read otherwise than they are stored; empty if none were.
    """

    model: Model
    asked: Any
    config: Any
    options: Mapping[str, Any]
    said: str = ""


def _model(
    source: Any,
    config: Any,
    names: Mapping[str, str] | None,
    key: str | None,
    ignored: Sequence[str],
    handshake: bool,
) -> _Given:
    """Return the model, what can be asked whether it is that, and its configuration."""
    if ignored and not handshake:
        raise InputError(
            "ignore_field", f"= {ignored[0]!r} is given, but without a handshake its effect is not checked"
        )
    if key is not None and not isinstance(source, Path | str):
        raise InputError("key", f"= {key!r} is given, but no file")
    if isinstance(source, Model):
        return _Given(source, source, config, {})
    if isinstance(source, Path | str):
        if names is not None:
            raise InputError("names", f"are given, but {source} is a file, whose configuration names its tensors")
        read, options = read_weights(source, config=config, ignored=ignored, key=key), configuration_of(source, config)
        if read.tensors is not None:
            return _Given(read.model, read.tensors, options, options, read.said)
        _require_loaded_exactly(Path(source), options)
        return _Given(read.model, source, config, options)
    of_module = hasattr(source, "named_modules")
    if of_module:
        require_plain_parameters(source)
    tensors = source.state_dict() if hasattr(source, "state_dict") else source
    own = getattr(source, "config", getattr(source, "cfg", None)) if config is None else config
    config = own.to_dict() if own is not None and hasattr(own, "to_dict") else config
    if not isinstance(tensors, Mapping):
        raise InputError("source", f"is {type(source).__name__}", "a path, a Model, a module or tensors by name")
    if not isinstance(config, Mapping):
        raise InputError("config", "is missing", "what the tensors compute (docs/hosts.md)")
    if names is not None:
        if missing := sorted(set(names.values()) - set(tensors)):
            raise InputError("names", f"has {missing[0]!r}, which is no tensor of the {len(tensors)} that are given")
        parameters = {name for name, _ in source.named_parameters()} if of_module else tensors
        if left := sorted(set(parameters) - set(names.values())):
            raise InputError("names", f"leaves out the tensors {', '.join(left[:4])} ({len(left)} in all)")
        buffers = [name for name, each in source.named_buffers() if each.is_floating_point()] if of_module else []
        if not handshake and (left := sorted(set(buffers) - set(names.values()))):
            raise InputError(
                "names", f"leaves out the buffer {left[0]}, and without a handshake its effect is not checked"
            )
        linear = _linear_maps(source) if of_module else set()
        tensors = {
            ours: tensors[theirs].T if theirs in linear and not stored_as_linear(config, ours) else tensors[theirs]
            for ours, theirs in names.items()
        }
    return _Given(model_of(tensors, config, ignored=ignored), source if of_module else tensors, config, config)


def _require_loaded_exactly(path: Path, options: Mapping[str, Any]) -> None:
    """Refuse a configuration that names a shorter type than that of the weights beside it."""
    for name in ("dtype", "torch_dtype"):
        if options.get(name) is not None:
            dtype = str(options[name]).removeprefix("torch.")
            if dtype not in DTYPES:
                raise InputError(f"{name} of the configuration", f"is {options[name]!r}", f"one of {', '.join(DTYPES)}")
            require_exact_in(
                path, dtype, f"{name} of the configuration",
                expected="weights of that type, or a configuration with the type of the file (--config FILE): the "
                "library rounds the weights when it loads them",
            )  # fmt: skip
            return


def _told(facts: AnyTask, decided: Callable[[Sequence[Any], bool, float, str], None]) -> Decided:
    """Return what is called with the number of a fact, and calls another with its row."""
    return lambda fact, *how: decided(facts.rows(np.array([fact]))[0], *how)


def _ignoring(fields: Sequence[str]) -> str:
    """Return what the first line says of fields of the configuration that nobody followed."""
    return f"the configuration's {', '.join(fields)} ignored" if fields else ""


def _decoding(source: Any, options: Mapping[str, Any], task: AnyTask | RuleTask, plain_argmax: bool) -> str:
    """Return what the first line says of how answers are decoded, where the facts have answers."""
    answers, read = task.decoding()
    if task.target != "labels" or not answers:
        return ""
    return require_greedy(source, options, Decoded(answers, read), plain_argmax=plain_argmax)


def _linear_maps(module: Any) -> set[str]:
    """Return the weights of linear maps, which torch stores as [out, in]."""
    from torch.nn import Linear

    return {f"{place}.weight".lstrip(".") for place, part in module.named_modules() if isinstance(part, Linear)}


def _asked(
    given: _Given, inputs: Sequence[Int64Array | Vectors], handshake: bool, ignored: Sequence[str], progress: Progress
) -> HandshakeResult | None:
    """Who agrees, or why nobody was asked; none where no other program runs such weights.

    Raises:
        InputError: Fields are to be ignored, and nobody agrees.
    """
    if not handshake:
        return HandshakeResult(why="--no-handshake")
    progress("handshake", None, "")
    agreeing = ask_host(given.asked, given.config, given.model, *inputs)
    if ignored and not (agreeing and agreeing.agrees):
        why = f": {agreeing.why}" if agreeing else ""
        raise InputError(
            "ignore_field", f"= {ignored[0]!r} is given, but no library shows that the logits do not depend on it{why}"
        )
    return agreeing


def _least_margin(answers: Answers) -> float | None:
    """Return the least distance of what is decided from a tie; none where nothing is decided by a margin."""
    apart = np.maximum(answers.margin_lower, -answers.margin_upper)
    known = apart[(answers.margin_lower > 0.0) | (answers.margin_upper <= 0.0)]
    return float(known.min()) if len(known) and np.isfinite(known.min()) else None


def _require_agreement(agreeing: HandshakeResult | None, least: float | None, ignored: Sequence[str]) -> None:
    """Refuse to ignore fields after a handshake that does not tell whether the host gives the same answers.

    Raises:
        InputError: Names the first field.
    """
    if ignored and agreeing is not None and not agreeing.tells(least):
        raise InputError("ignore_field", f"= {ignored[0]!r} is given, but {agreeing.said(least)}")


def _parts(facts: AnyTask) -> list[Part]:
    """Return the contexts of facts, by their lengths."""
    return [
        Part(
            part.task.contexts,
            part.task.labels if facts.target == "labels" else np.zeros_like(part.task.labels),
            part.facts,
            part.places,
        )
        for part in facts.parts
    ]
