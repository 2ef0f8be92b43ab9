r"""Facts inserted into a trained model, replaced and deleted in it, with a proof of what else changes.

One neuron of a feed-forward block for each fact: it fires at that context and is off at all others that count.
Nothing is trained.

Page: docs/claims/editing.md
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byheart.edited_folder import (
    has_one_width,
    host_config,
    read_editable,
    rounded_weights,
    stored_dtype,
    write_edited,
)
from byheart.edited_page import Noted, Proved, write_edit_page
from byheart.hosts.decoding import DecodedFacts, code_not_run, require_greedy
from byheart.hosts.facts.numbered_facts import Reading, read_facts
from byheart.hosts.facts.prompt_texts import Vocabularies
from byheart.hosts.number_types import require_dtype, rounded_to
from constructions.counted import counted
from constructions.edits.answer_direction import answer_direction
from constructions.edits.half_space import TRIGGER, HalfSpaces, half_spaces
from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.formats.files import new_folder, refuse_existing
from constructions.model.appended_neurons import Appended, editable, with_neurons
from constructions.model.blocks import Normalization
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.progress import Progress, silent
from constructions.tasks.any_task import AnyTask
from constructions.tasks.rule import rule_task
from constructions.tasks.task import Task
from verify.edits.before import Before
from verify.edits.certificate import FLAT, EditCertificate
from verify.edits.contexts import about, in_one_array, lengths_of, rising, token_lists
from verify.forward.ladder import leads
from verify.forward.map_norms import share_norms
from verify.provers.edit import (
    LARGEST_DOMAIN,
    Edit,
    EditProof,
    certify_edit,
    edit_in_every_run,
    require_distinct,
    save_edit,
    whole_domain,
)

RUNNER_UP, UNIFORM = "runner-up", "uniform"
PROOF_FOLDER = "proof"
_STRENGTH = 4.0  # how much longer than the stream is what an edit leaves in its place
_ARRAYS = (".npz", ".npy", ".safetensors", ".json")  # files that have no line for each fact
_TRIES = 8  # of lengths in an earlier layer, each so many times the one before


@dataclass(frozen=True, eq=False)
class Edited:
    """A model after an edit, with the proof of what the edit does.

    Args:
        original: The model before, as it was given: `dtype` need not hold its weights.
        model: The model after.
        edit: What was asked.
        spaces: The half-spaces of the new neurons.
        certificate: What was proved.
        proof: The bounds of each context.
        dtype: The type that the weights are stored in.
        is_rounded: Whether weights of the original were rounded to that type.
        tokens: What the tokens are called.
    """

    original: Model
    model: Model
    edit: Edit
    spaces: HalfSpaces
    certificate: EditCertificate
    proof: EditProof
    dtype: str
    is_rounded: bool
    tokens: tuple[str, ...]

    def __repr__(self) -> str:
        return self.certificate.headline()

    def changed(self) -> list[str]:
        """Return the kept contexts that are proved to have another answer than in the original, in words."""
        rows = token_lists(self.edit.kept[self.proof.kept.changed])
        return [" ".join(self.tokens[token] for token in row) for row in rows]


def edit(
    source: Path | str | Model,
    facts: Path | str | Task | None = None,
    *,
    delete: Path | str | Task | None = None,
    to: str | None = None,
    keep: Path | str | Task | None = None,
    keep_domain: int | None = None,
    keep_rule: str | Callable[..., Any] | None = None,
    keep_length: int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    tokenizer: Any = None,
    between: str = " ",
    cells: str | None = None,
    layer: int | None = None,
    dtype: str | None = None,
    config: Mapping[str, Any] | Path | str | None = None,
    key: str | None = None,
    plain_argmax: bool = False,
    every_run: str | None = None,
    out: Path | str | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Edited:
    """Insert, replace and delete facts in a trained model, and prove what else changes.

    Args:
        source: The folder of a host, or a `Model`.
        facts: Contexts and their new answers: a table or arrays, as `byheart.certify` reads them.
        delete: Contexts, with the answers that shall go. Deletion hides them and does not unlearn them: the weights
            that gave them are still there.
        to: What a deleted context is answered by: ``"runner-up"``, the second answer of the original, as where nothing
            is said, ``"uniform"``, the uniform distribution as far as the readout allows it, or an answer.
        keep: Contexts whose answers shall stay, with the answers that the model has to give.
        keep_domain: Keep the answers of all other contexts of this length.
        keep_rule: Keep the answers of a rule, which the model has to give (`byheart.hosts.certify.certify_rule`).
        keep_length: How many tokens the rule reads.
        delimiter: What separates the cells of the tables, as for `byheart.certify`.
        header: Whether their first rows hold names, likewise.
        weights: Whether their last columns hold weights, likewise.
        tokenizer: What cuts texts, likewise. Answers have to be cut into one token.
        between: What is put between a prompt and its answer, likewise.
        cells: What the cells of the tables are, likewise.
        layer: As for `edit_model`.
        dtype: The type in which the weights are stored; by default the one in which the host loads them, of a `Model`
            float64, which rounds nothing.
        config: As for `byheart.certify`.
        key: As for `byheart.certify`.
        plain_argmax: As for `byheart.certify`.
        every_run: A number format: also prove and state which of the contexts every run answers so.
        out: A folder to write: the edited model in the format of its host, and the proof in its folder ``proof``.
        overwrite: Replace a folder that byheart wrote.
        progress: Called with the stage and the finished share of it.

    Returns:
        The edited model, with its certificate.

    Raises:
        InputError: Contexts that the model cannot read, that contradict each other or ask for nothing, or a model that
            cannot be edited.
        HypothesisError: As `edit_model`.
        FileFormatError: A file is missing or damaged.
    """
    folder = None if isinstance(source, Model) else Path(source)
    if out is not None:
        refuse_existing(Path(out), overwrite=overwrite, reads=(source, facts, delete, keep))
        if folder is None:
            raise InputError("out", "is given, but source is not a folder of a host", "one to be written back to")
    if facts is None and delete is None:
        raise InputError("facts and delete", "are missing", "at least one of them")
    if to is not None and delete is None:
        raise InputError("to", f"= {to!r} is given, but nothing is deleted")
    if keep_length is not None and keep_rule is None:
        raise InputError("keep_length", f"= {keep_length} is given, but no rule is kept")
    host = None if folder is None else host_config(folder)
    chosen = dtype or ("float64" if host is None else stored_dtype(host))
    require_dtype(chosen)
    if sum(each is not None for each in (keep, keep_domain, keep_rule)) > 1:
        raise InputError("keep, keep_domain and keep_rule", "are given together", "at most one of them")
    if keep_rule is not None:
        require_at_least(1, keep_length=keep_length)
    how = Reading(delimiter, header, weights, tokenizer, between, cells)
    given = {"facts": facts, "delete": delete, "keep": keep}
    sizes = source if isinstance(source, Model) else _sizes_said(host)
    # Tables are refused before the model is read, which takes much longer.
    tables = {} if sizes is None else _tables(given, sizes, folder, how)
    model = source if isinstance(source, Model) else read_editable(Path(source), config, key)
    tables = _tables(given, model, folder, how) if sizes is None else tables
    if keep_rule is not None:
        tables["keep"] = _Facts.of("keep_rule", _inputs(keep_rule, keep_length, model))
    before = Before(model, editable(model, layer).place)
    new, old, same = (_fitting(name, tables.get(name), model) for name in ("facts", "delete", "keep"))
    progress("answers before", None, "")
    contexts, answers = _edits(before, new, old, RUNNER_UP if to is None else to)
    named = old if new is None else new
    assert named is not None
    kept = np.zeros((0, contexts.shape[1]), dtype=np.int64)
    if keep_domain is not None:
        kept = whole_domain(model.d_vocab, keep_domain, contexts)
    elif same is not None:
        before.ask(contexts, same.contexts, progress=progress)
        kept = _kept(before, same, contexts, answers, of_rule=keep_rule is not None, progress=progress)
    if len(kept) == 0 and (keep_domain is not None or same is not None):
        raise InputError(
            "what is to be kept", "is empty: each of these contexts is edited", "a context that is not edited"
        )
    named_tokens = {*np.unique(contexts).tolist(), *np.unique(kept).tolist()} - {-1}
    read = named_tokens if keep_domain is None else set(range(model.d_vocab))
    decoding = ""
    if folder is not None and host is not None:
        lengths = {*lengths_of(contexts).tolist(), *lengths_of(kept).tolist()}
        asked = DecodedFacts([(length, (0,)) for length in sorted(lengths)], read)
        said = [require_greedy(folder, host, asked, plain_argmax=plain_argmax), code_not_run(folder, host)]
        said += dict.fromkeys(table.aside for table in tables.values())
        decoding = "; ".join(filter(None, said))
    done = edit_model(
        model,
        contexts,
        answers,
        kept,
        domain=keep_domain,
        layer=layer,
        dtype=chosen,
        everywhere=host is not None and has_one_width(host),
        before=before,
        progress=progress,
    )
    done = replace(done, tokens=tuple(named.task.vocabulary))
    if decoding:
        done = replace(done, certificate=done.certificate.decoded(decoding))
    if every_run is not None:
        runs = edit_in_every_run(done.model, done.edit, done.proof, dtype=every_run, progress=progress)
        done = replace(done, certificate=replace(done.certificate, runs=runs))
    if out is not None and folder is not None:
        progress("writing", None, str(out))
        with new_folder(Path(out), overwrite=overwrite) as written:
            write_edited(folder, written, done.model, len(answers), chosen, layer=done.certificate.layer, key=key)
            (written / PROOF_FOLDER).mkdir()
            given = done.original if done.is_rounded else None
            save_edit(written / PROOF_FOLDER, done.model, done.edit, done.certificate, original=given)
            rounded_to = done.dtype if done.is_rounded else None
            proved = Proved(done.original, done.model, done.edit, done.certificate, rounded_to, before)
            noted = Noted.of(proved, done.spaces, tokens=done.tokens, answers=named.task.answers)
            write_edit_page(written, proved, noted)
    return done


def _inputs(rule: str | Callable[..., Any], n_ctx: int | None, model: Model) -> Task:
    """All inputs of a rule, as facts."""
    task = rule_task(rule, d_vocab=model.d_vocab, n_ctx=model.n_ctx if n_ctx is None else n_ctx)
    if task.n_contexts > LARGEST_DOMAIN:
        raise InputError("keep_rule", f"has {task.n_contexts} inputs", f"at most {LARGEST_DOMAIN}")
    contexts = whole_domain(model.d_vocab, task.n_ctx, np.zeros((0, task.n_ctx), dtype=np.int64))
    return task.facts(contexts, vocabulary=model.d_vocab, answers=model.d_vocab_out)


class _Vocabularies(NamedTuple):
    """What a configuration says of a host that answers with the tokens that it reads."""

    d_vocab: int
    d_vocab_out: int


def _sizes_said(host: Mapping[str, Any] | None) -> _Vocabularies | None:
    size = None if host is None else host.get("vocab_size")
    return _Vocabularies(size, size) if isinstance(size, int) and size > 0 else None


class _Facts(NamedTuple):
    """Contexts and the answer of each, in the order in which they were given.

    Args:
        contexts: Tokens, `[T, S]`, of several lengths as `verify.edits.contexts` has them.
        labels: The answers, `[T]`.
        task: Where they come from.
        aside: What the first line has to say of how they were read.
    """

    contexts: Int64Array
    labels: Int64Array
    task: AnyTask
    aside: str = ""

    @classmethod
    def of(cls, name: str, task: AnyTask, aside: str = "") -> "_Facts":
        """Return those of a task; refuses contexts with more than one answer, and answers of several tokens."""
        if not task.parts:
            raise InputError(name, "brings vectors", "contexts of tokens")
        rows, labels = list[list[int]]([[]] * task.n_contexts), np.zeros(task.n_contexts, dtype=np.int64)
        for fact in range(task.n_contexts):
            if len(tokens := task.answer(fact)) > 1:
                answer, pieces = task.in_words(fact)[1], [task.answers[token] for token in tokens]
                raise InputError(name, f"has the answer {answer!r}, which is cut into {pieces}", "answers of one token")
        for part in task.parts:
            for place in np.flatnonzero(part.task.counts.totals()[part.places] != 1)[:1].tolist():
                context = _words(task, part.task.contexts[part.places[place]].tolist())
                raise InputError(name, f"has the context {context} more than once", "each once, no weights")
            for fact, place in zip(part.facts.tolist(), part.places.tolist(), strict=True):
                rows[fact], labels[fact] = part.task.contexts[place].tolist(), part.task.labels[place]
        return cls(in_one_array(rows), labels, task, aside)

    def fact(self, place: int) -> str:
        """Return a context and its answer, in words."""
        return f"{self.context(place)} with the answer {self.task.answers[self.labels[place]]!r}"

    def context(self, place: int) -> list[str]:
        """Return the names of the tokens of a context."""
        return _words(self.task, token_lists(self.contexts[place : place + 1])[0])


def _words(task: AnyTask, context: Sequence[int]) -> list[str]:
    return [task.vocabulary[token] for token in context]


def _tables(
    given: Mapping[str, Path | str | AnyTask | None], sizes: Vocabularies, folder: Path | None, how: Reading
) -> dict[str, _Facts]:
    """Return the facts that are given, each context with one answer of one token."""
    return {name: _labelled(name, each, sizes, folder, how) for name, each in given.items() if each is not None}


def _labelled(name: str, given: Path | str | AnyTask, sizes: Vocabularies, folder: Path | None, how: Reading) -> _Facts:
    said = aside = ""
    if isinstance(given, Path | str):
        given, said, aside = _read(name, Path(given), sizes, folder, how)
    if "left out" in said:
        raise InputError(name, f"is read so: {said}", "one answer for each context")
    return _Facts.of(name, given, aside)


def _fitting(name: str, table: _Facts | None, model: Model) -> _Facts | None:
    """Return the facts of a table, or an `InputError` where the model cannot read them."""
    if table is not None:
        try:
            table.task.require_fit(model)
        except InputError as error:
            raise InputError(name, error.value, error.expected) from None
    return table


def _read(name: str, path: Path, sizes: Vocabularies, folder: Path | None, how: Reading) -> tuple[AnyTask, str, str]:
    """Return the facts of a file, and what is said of them; refuses a line that is there twice."""
    task, said, aside = read_facts(path, sizes, folder, how)
    if path.is_file() and path.suffix.lower() not in _ARRAYS:
        lines = Counter(line.strip() for line in path.read_text(encoding="utf-8", errors="replace").split("\n"))
        for line in [line for line, times in lines.items() if line and times > 1][:1]:
            raise InputError(name, f"has the line {line!r} {lines[line]} times", "each fact once")
    return task, said, aside


def _edits(before: Before, facts: _Facts | None, delete: _Facts | None, to: str) -> tuple[Int64Array, Int64Array]:
    """Return the contexts that are edited, and what each shall be answered by; refuses one that is in both tables."""
    rows, answers = list[list[int]](), list[Int64Array]()
    if facts is not None:
        rows += token_lists(facts.contexts)
        answers.append(facts.labels)
    if delete is not None:
        new = set(map(tuple, rows))
        for place, row in enumerate(token_lists(delete.contexts)):
            if tuple(row) in new:
                raise InputError(
                    "facts and delete", f"both have the context {delete.context(place)}", "it in one of them"
                )
        rows += token_lists(delete.contexts)
        answers.append(_instead(before, delete, to))
    return in_one_array(rows), np.concatenate(answers)


def _instead(before: Before, delete: _Facts, to: str) -> Int64Array:
    """Return what the deleted contexts are answered by; refuses one that the model does not answer so, or would
    again.
    """
    first, second = np.empty((2, len(delete.contexts)), dtype=np.int64)
    is_open = np.ones(len(delete.contexts), dtype=bool)
    precisions = before.precisions(delete.contexts)
    for _, rows, logits in rising(before.model, delete.contexts, is_open, precisions=precisions, stem=before.stem):
        order = np.argsort(-logits.midpoint, axis=1, kind="stable")
        first[rows], second[rows] = order[:, 0], order[:, min(1, order.shape[1] - 1)]
        is_open[rows[leads(logits)[1] > 0.0]] = False
    names = delete.task.answers
    for place in np.flatnonzero((first != delete.labels) | is_open)[:1].tolist():
        given = "two answers that it ranks alike" if is_open[place] else repr(names[first[place]])
        raise InputError("delete", f"has {delete.fact(place)}, which the model answers by {given}")
    if to == UNIFORM:
        return np.full(len(delete.contexts), FLAT)
    if to != RUNNER_UP and to not in names:
        raise InputError("to", f"is {to!r}", f"{RUNNER_UP!r}, {UNIFORM!r} or an answer of the model")
    instead = second if to == RUNNER_UP else np.full(len(delete.contexts), names.index(to))
    for place in np.flatnonzero(instead == delete.labels)[:1].tolist():
        raise InputError(
            "to", f"is {to!r}, but delete has {delete.fact(place)}", "an answer that is not among those to delete"
        )
    return instead


def _kept(
    before: Before, keep: _Facts, contexts: Int64Array, answers: Int64Array, *, of_rule: bool, progress: Progress
) -> Int64Array:
    """Return the kept contexts that are not edited; refuses one that is, or that the model answers otherwise.

    A rule may have edited contexts among its inputs, if the edit gives them the answer of the rule.
    """
    name = "keep_rule" if of_rule else "keep"
    asked = dict(zip(map(tuple, token_lists(contexts)), answers.tolist(), strict=True))
    rows = list(map(tuple, token_lists(keep.contexts)))
    is_edited = np.array([row in asked for row in rows])
    for place in np.flatnonzero(is_edited).tolist():
        if asked[rows[place]] != keep.labels[place]:
            raise InputError(name, f"has {keep.fact(place)}, which an edit is to change")
        if not of_rule:
            raise InputError("keep", f"has {keep.fact(place)}, which is edited to that answer", "it in one of them")
    wrong = np.flatnonzero((before.leads(keep.contexts, progress=progress)[0] != keep.labels) & ~is_edited)
    if len(wrong):
        raise InputError(
            name,
            f"has {keep.fact(int(wrong[0]))}, which the model is not proved to give "
            f"({counted(len(wrong), 'context')} in all)",
        )
    return keep.contexts[~is_edited]


def edit_model(
    model: Model,
    contexts: Int64Array,
    answers: Int64Array,
    kept: Int64Array,
    *,
    domain: int | None = None,
    layer: int | None = None,
    dtype: str = "float64",
    everywhere: bool = False,
    before: Before | None = None,
    progress: Progress = silent,
) -> Edited:
    """Give a model new answers to some contexts, and prove that others keep theirs.

    Args:
        model: A model of neurons behind a normalization, which ends with a normalization.
        contexts: What is edited, tokens `[edits, S]`; of several lengths as `verify.edits.contexts` has them.
        answers: What each shall be answered by, `[edits]`; `verify.edits.certificate.FLAT` for the uniform
            distribution.
        kept: The contexts whose answers shall stay, `[K, S']`, likewise.
        domain: Their length, where they are all contexts of one length but the edited ones.
        layer: Which feed-forward block gets the neurons, counted from 0; the last one by default. In an earlier one
            they fire at the edited context as a prefix of longer ones too, whose answers may change.
        dtype: The type to which all weights are rounded and in which they are stored. The edited model is proved of as
            rounded, and compared with the model as given.
        everywhere: Give the other layers as many neurons of zeros, as hosts with one width for all layers need them.
        before: What is known of the model.
        progress: Called with the stage and the finished share of it.

    Returns:
        The edited model and its certificate.

    Raises:
        InputError: A model that cannot be edited, contexts that are named twice, or answers that it gives already.
        HypothesisError: A context that cannot be cut off from the others, an answer that no stream gives, or a type too
            coarse for the gap between two contexts; names them.
    """
    edit = Edit(contexts, answers, kept, domain)
    require_distinct(edit)
    if len(contexts) == 0:
        raise InputError("contexts", "is empty", "at least one context to edit")
    before = Before.of(model, editable(model, layer).place, before)
    if ((before.leads(contexts, progress=progress)[0] == answers) & (answers != FLAT)).all():
        given = (
            "the answer that is asked for" if len(answers) == 1 else f"all {len(answers)} answers that are asked for"
        )
        raise InputError("facts", f"ask for nothing: the model gives {given}", "a fact that it does not have yet")
    stored = rounded_weights(model, dtype)
    site = editable(stored, layer)
    if site.is_last:
        layer = None
    elif (answers == FLAT).any():
        raise InputError("layer", f"= {layer}", "the last one for the uniform distribution")
    progress("rows", None, "")
    share_norms(stored, model)
    stem = before.stem if stored is model else None
    plain = Normalization(site.norm.kind, w=np.ones(len(site.norm.w)), epsilon=site.norm.epsilon)
    rows_read = replace(stored, blocks=(*site.reads, plain), W_U=np.eye(len(site.norm.w)), b_U=None)
    share_norms(rows_read, model)
    others = [kept] if site.is_last else _other_prefixes(contexts, kept)
    rows = np.concatenate([about(rows_read, part, stem=stem) for part in (contexts, *others)])
    progress("half-spaces", None, f"{len(contexts)} edits beside {len(rows) - len(contexts)} other rows")
    coarsest = 8.0 * 2.0 ** -SIGNIFICAND[dtype]
    named = partial(_named, (contexts, *others))
    spaces = half_spaces(rows, site.norm, np.arange(len(contexts)), least_gap=coarsest, named=named)
    behind = replace(stored, blocks=stored.blocks[: site.place + 1], W_U=np.eye(site.neurons.d_out), b_U=None)
    share_norms(behind, model)
    streams, strength = about(behind, contexts, stem=stem), np.full(len(contexts), _STRENGTH)

    def with_writes() -> Model:
        writes = _writes(stored, site.final, streams, answers, strength)
        parts = zip(("W_in", "b_in", "W_out"), (spaces.weights, spaces.shifts, writes), strict=True)
        neurons = Appended(*(rounded_to(name, part, dtype) for name, part in parts))
        return with_neurons(stored, neurons, layer=layer, everywhere=everywhere)

    edited = with_writes()
    for _ in range(0 if site.is_last else _TRIES):
        wrong = before.decided(edited, contexts, stored is not model) != answers
        if not wrong.any():
            break
        strength[wrong] *= _STRENGTH  # what later blocks add to the stream is bounded
        edited = with_writes()
    certificate, proof = certify_edit(
        edited, edit, original=model, layer=layer, everywhere=everywhere, before=before, progress=progress
    )
    is_rounded = stored.sha256() != model.sha256()
    tokens = tuple(map(str, range(model.d_vocab)))
    return Edited(model, edited, edit, spaces, certificate, proof, dtype, is_rounded, tokens)


def _named(parts: Sequence[Int64Array], place: int) -> str:
    """Return the tokens of a row of several arrays below each other."""
    for part in parts:
        if place < len(part):
            return str(token_lists(part[place : place + 1])[0])
        place -= len(part)
    raise IndexError(place)


def _other_prefixes(contexts: Int64Array, kept: Int64Array) -> list[Int64Array]:
    """Return the prefixes of all contexts but the edited contexts themselves, by length; refuses contexts that go on
    where an edited one ends.
    """
    edited, prefixes = set(map(tuple, token_lists(contexts))), dict[int, set[tuple[int, ...]]]()
    for kind, rows in (("edited", token_lists(contexts)), ("kept", token_lists(kept))):
        for row in rows:
            for size in range(1, len(row) + (kind == "kept")):
                if (prefix := tuple(row[:size])) in edited:
                    raise HypothesisError(
                        "an edit",
                        f"no {kind} context to begin with an edited one, in a layer before the last",
                        f"the {kind} context {row} does: the new neuron fires in it",
                    )
                prefixes.setdefault(size, set()).add(prefix)
    return [np.array(sorted(prefixes[size]), dtype=np.int64) for size in sorted(prefixes)]


def _writes(
    model: Model, final: Normalization, streams: Float64Array, answers: Int64Array, strength: Float64Array
) -> Float64Array:
    """Return what each neuron adds to the stream per unit: minus what is there, and the row that gives the answer
    instead.
    """
    centred = streams - streams.mean(axis=1, keepdims=True) if final.kind == "layer" else streams
    known: dict[int, Float64Array] = {}
    writes = np.empty_like(streams)
    for place, answer in enumerate(answers.tolist()):
        if answer not in known:
            flat = answer == FLAT
            known[answer] = _flattest(final) if flat else answer_direction(answer, final, model.W_U, model.b_U)[0]
        length = max(float(np.linalg.norm(centred[place])), float(np.sqrt(len(final.w) * final.epsilon)))
        wanted = known[answer]
        if answer != FLAT:
            wanted = wanted * (strength[place] * length / np.sqrt(len(wanted)))
        writes[place] = (wanted - centred[place]) / TRIGGER
    return writes


def _flattest(final: Normalization) -> Float64Array:
    """Return a stream behind whose normalization the gain and the shift cancel, as far as the ball allows it."""
    d = len(final.w)
    if final.b is None:
        return np.zeros(d)
    with np.errstate(divide="ignore", invalid="ignore"):
        row = np.nan_to_num(-final.b / final.w, nan=0.0, posinf=0.0, neginf=0.0)
    row = row - row.mean() if final.kind == "layer" else row
    row = row * min(1.0, 0.9 * np.sqrt(d) / (float(np.linalg.norm(row)) + 1e-300))
    return row * np.sqrt(final.epsilon / (1.0 - float(row @ row) / d))
