"""Small random folders of every kind of statement and of model, true ones and ones that claim too much, from a seed.

`python -m tests.random_folders --count 2000` lets each checker judge them, and prints where two contradict each other
or one proves what is false by the definitions.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mpmath
import numpy as np

from byheart.editing import edit_model
from constructions.errors import ByheartError, FileFormatError, TamperedError
from constructions.model.appended_neurons import without_neurons
from constructions.model.blocks import FeedForward, Normalization
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.rule import RuleTask, rule_task
from constructions.tasks.task import Counts, Task, make_task
from constructions.tasks.vectors import VectorTask, load_task
from tests.corpus.definitions import DIGITS, exact, logits_of, outputs
from tests.corpus.false_claims import one_unit, text_bound
from tests.corpus.false_ranks import ENDS, one_unit_beyond
from tests.corpus.forging import rehash, restated
from tests.corpus.good_folders import names, recited
from tests.corpus.truth import falsehoods
from tests.random_models import Pen, one_attention, one_layer, random_model
from verify.certificates.certificate import (
    ANSWERS,
    DIVERGENCE,
    DOMAIN,
    FEATURE_RANK,
    RANK_HEADS,
    RANK_WITH_SKIP,
    REALS,
    RUNS,
    SAMPLE,
    SATURATION,
    TEXT_DIVERGENCE,
    Certificate,
    Statement,
    mask_text,
)
from verify.edits.certificate import FLAT, EditCertificate, EditRequest
from verify.forward.ladder import decide_argmax
from verify.kernel.check import outcome
from verify.provers.domain import certify_domain, subject_of_rule
from verify.provers.edit import Edit, check_edit, save_edit, whole_domain
from verify.provers.memorization import certify_memorization, check_memorization
from verify.provers.runs import prove_runs
from verify.provers.text import state_text
from verify.verdict import Verdict

Rng = np.random.Generator
CODES = {Verdict.PROVED: 0, Verdict.REFUTED: 1, Verdict.UNDECIDED: 3}
PROVED, REFUTED, REFUSED, UNDECIDED = 0, 1, 2, 3


class NothingDrawnError(Exception):
    """A seed whose model answers nothing that a folder could be about; another one is drawn."""


# ---------------------------------------------------------------------------------------------------------------------
# Folders whose statements the prover makes: true, as far as it is right.


def write_contexts(rng: Rng, folder: Path) -> str:
    """Write labels or distributions of contexts of tokens, with all that is proved of them beside."""
    tokens, length = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    apart = int(rng.integers(2, 5)) if rng.random() < 0.2 else None
    ranked = rng.random() < 0.3
    model = (one_attention if ranked else random_model)(rng, tokens=tokens, length=length, outputs=apart)
    contexts = drawn_contexts(rng, tokens, int(rng.integers(1, length + 1)))
    is_of_distributions = rng.random() < 0.3
    width = apart or tokens
    answers = names(width) if apart and apart != tokens else ()
    labels = labels_near(rng, model, contexts, width)
    counts = Counts.from_rows([{int(a): 3, int((a + 1) % width): int(rng.integers(1, 3))} for a in labels])
    facts = None if len(contexts) < 3 or rng.random() < 0.6 else len(contexts) - 1
    distributions = None
    if is_of_distributions and rng.random() < 0.5:
        masses = rng.integers(1, 9, (len(contexts), width)) * 2.0
        distributions = masses / masses.sum(1, keepdims=True)
        facts = None
    target: Any = "distributions" if is_of_distributions else "labels"
    options = {
        "vocabulary": names(tokens),
        "answers": answers,
        "target": target,
        "facts": facts,
        "distributions": distributions,
    }
    task = make_task(contexts, counts, **options)
    asked = random_criterion(rng, task.n_contexts, is_of_distributions)
    stated: dict[str, Any] = {"divergence": is_of_distributions}
    if ranked:
        stated |= {name: bool(rng.random() < 0.7) for name in ("rank", "rank_of_heads", "rank_with_skip")}
    write_memory(rng, folder, model, task, asked, **stated)
    return target


def write_vectors(rng: Rng, folder: Path) -> str:
    """Write values or classes of vectors, with ranks and saturation."""
    outputs, examples, size = int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    is_of_layer = rng.random() < 0.6
    model = one_layer(rng, outputs=outputs) if is_of_layer else random_model(rng, outputs=outputs, vectors=True)
    pen = Pen(rng, str(rng.choice(["normal", "eighths", "integers"])))
    contexts = pen.tensor(1 if rng.random() < 0.4 else examples, size, model.d_model)
    queries = pen.tensor(examples, model.d_model)
    blank = VectorTask(contexts, queries, np.zeros((examples, outputs)))
    put_out = np.array([[float(x) for x in row] for row in outputs_of(model, blank)])
    if not np.isfinite(put_out).all() or np.abs(put_out).max() > 1e6:
        raise NothingDrawnError
    is_of_classes = outputs > 1 and rng.random() < 0.5
    if is_of_classes:
        classes = put_out.argmax(1)
        wrong = rng.random(examples) < 0.15
        task = VectorTask(
            contexts, queries, np.eye(outputs)[np.where(wrong, (classes + 1) % outputs, classes)], "classification"
        )
    else:
        task = VectorTask(contexts, queries, np.round(put_out * 2.0**12) / 2.0**12 + (rng.random() < 0.2))
    stated: dict[str, Any] = {}
    if is_of_layer:
        stated = {name: bool(rng.random() < 0.7) for name in ("rank", "rank_of_heads")}
        if rng.random() < 0.6:
            stated["saturation"] = float(rng.choice([0.5, 0.01, 2.0**-20]))
    certify_memorization(model, task, random_criterion(rng, examples, not is_of_classes), **stated).save(folder)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    return "classes" if is_of_classes else "values"


def write_prompts(rng: Rng, folder: Path) -> str:
    """Write prompts of several lengths, and what a model says to them token by token."""
    tokens = int(rng.integers(2, 5))
    model = random_model(rng, tokens=tokens, length=5)
    said: dict[tuple[int, ...], tuple[int, ...]] = {}
    for _ in range(int(rng.integers(1, 5))):
        prompt = [int(token) for token in rng.integers(0, tokens, int(rng.integers(1, 4)))]
        context = list(prompt)
        for _ in range(int(rng.integers(1, 3))):
            context.append(int(labels_near(rng, model, np.array([context]), tokens, wrong=0.1)[0]))
        said[tuple(prompt)] = tuple(context[len(prompt) :])
    words = tuple((str(prompt), str(answer)) for prompt, answer in said.items())
    try:
        task = PromptTask(names(tokens), tuple(said), tuple(said.values()), words)
    except ByheartError as error:  # one asks for another token behind the same beginning
        raise NothingDrawnError from error
    write_memory(rng, folder, model, task, random_criterion(rng, len(said), is_mean=False))
    return "prompts"


def write_rule(rng: Rng, folder: Path) -> str:
    """Write a rule on a domain, which a model follows on all inputs or on some, or a sample of it."""
    tokens, length = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    make = one_attention if rng.random() < 0.5 else random_model
    model = make(rng, tokens=tokens, length=length)
    inputs = all_contexts(tokens, length)
    labels = labels_near(rng, model, inputs, tokens, wrong=0.05)

    def rule(contexts: Int64Array) -> Int64Array:
        places = np.ravel_multi_index(tuple(contexts.T), (tokens,) * length)
        return labels[places]

    named = str(rng.choice(["max", "min", "first", "last"]))
    task: Any = rule_task(rule if rng.random() < 0.7 else named, d_vocab=tokens, n_ctx=length)
    asked = Criterion.at_least(int(rng.integers(1, task.n_contexts + 1))) if rng.random() < 0.5 else Criterion()
    sample = int(rng.integers(1, task.n_contexts + 1)) if rng.random() < 0.25 else None
    certify_domain(model, task, asked, sample=sample, seed="" if sample is None else str(rng.integers(9))).save(folder)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    if sample is None:
        facts = task.facts(task.contexts_at(np.arange(task.n_contexts)), vocabulary=tokens, answers=model.d_vocab_out)
        state_runs(rng, folder, model, facts)
    return DOMAIN if sample is None else SAMPLE


def write_text(rng: Rng, folder: Path) -> str:
    """Write a short random text and its memory, which perhaps lost a little."""
    letters = rng.choice(list("ab c"), int(rng.integers(1, 9)))
    made = recited("".join(letters))
    model, task = made["model"], made["task"]
    if rng.random() < 0.3:
        model = model.with_each(lambda name, tensor: np.round(tensor * 4.0) / 4.0)
    write_memory(rng, folder, model, task, random_criterion(rng, task.n_contexts, is_mean=False))
    return "text"


def write_edit(rng: Rng, folder: Path) -> str:
    """Write an edit of some contexts, or of one that shall be flat, which keeps all others of their length."""
    pen, tokens, length = Pen(rng, "eighths"), int(rng.integers(2, 4)), int(rng.integers(1, 3))
    d = int(rng.integers(2, 5))
    kind: Any = rng.choice(["layer", "rms"])
    activation: Any = rng.choice(["relu", "gelu", "gelu-tanh", "silu"])

    def norm() -> Normalization:
        return Normalization(kind, 1.0 + pen.tensor(d) / 16.0, pen.perhaps(0.5, d), 2.0**-10)

    neurons = FeedForward(pen.tensor(d, 3), pen.tensor(3, d), pen.tensor(3), activation=activation, norm=norm())
    attention = replace(Pen(rng, "eighths").attention(d, of_task=False), norm=norm())
    if attention.d_out != d:
        raise NothingDrawnError
    blocks = (attention, neurons, norm()) if rng.random() < 0.7 else (neurons, norm())
    model = Model(blocks, pen.tensor(d, tokens), W_E=pen.tensor(tokens, d), W_pos=pen.tensor(length, d))
    everything = all_contexts(tokens, length)
    chosen = rng.choice(len(everything), min(len(everything) - 1, int(rng.integers(1, 3))), replace=False)
    contexts = everything[np.sort(chosen)]
    answers = (decide_argmax(model, contexts).place + 1) % tokens
    if rng.random() < 0.2:
        answers = np.full_like(answers, FLAT)
    kept = whole_domain(tokens, length, contexts)
    done = edit_model(model, contexts, answers, kept, domain=length)
    save_edit(folder, done.model, done.edit, done.certificate)
    return "edit"


def drawn_contexts(rng: Rng, tokens: int, length: int) -> Int64Array:
    """Draw distinct contexts of one length, at most eight."""
    everything = all_contexts(tokens, length)
    return everything[np.sort(rng.permutation(len(everything))[: int(rng.integers(1, 9))])]


def labels_near(rng: Rng, model: Model, contexts: Int64Array, width: int, wrong: float = 0.1) -> Int64Array:
    """The answers of a model, 0 where none is decided; some are replaced by the next one."""
    with np.errstate(all="ignore"):
        labels = np.maximum(decide_argmax(model, contexts).place, 0)
    off = (rng.random(len(labels)) < wrong) & (rng.random() < 0.4)
    return np.where(off, (labels + 1) % width, labels)


def outputs_of(model: Model, task: VectorTask) -> list[list[Any]]:
    """What a model puts out for vectors, by the definitions."""
    with mpmath.workdps(30):
        made = range(task.n_examples)
        return [outputs(model, list(map(exact, task.context(t))), exact(task.queries[t])) for t in made]


def random_criterion(rng: Rng, total: int, is_mean: bool) -> Criterion:
    """Draw a question."""
    if rng.random() < 0.5:
        return Criterion(tolerance=float(rng.choice([0.001, 0.5, 4.0]))) if is_mean else Criterion()
    if rng.random() < 0.5:
        return Criterion.at_most(float(rng.choice([0.1, 1.0, 8.0])))
    return Criterion.at_least(int(rng.integers(1, total + 1)))


def write_memory(rng: Rng, folder: Path, model: Model, task: Any, asked: Criterion, **stated: Any) -> None:
    """Write model, task and what is proved of them, of their runs and of their texts."""
    certify_memorization(model, task, asked, **stated).save(folder)
    model.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    state_runs(rng, folder, model, task)


def state_runs(rng: Rng, folder: Path, model: Model, task: Any) -> None:
    """State what is proved of every run in some formats, and that texts are said."""
    found = Certificate.load(folder)
    answers, *others = found.statements
    formats = [dtype for dtype in ("float64", "float32", "bfloat16", "float16") if rng.random() < 0.3]
    proved = [prove_runs(model, task, dtype, tolerance=found.criterion.tolerance) for dtype in formats]
    of_runs = [each for each in proved if each is not None]
    of_texts: list[Statement | None] = []
    if isinstance(task, Task) and answers.id == ANSWERS:
        of_texts = [state_text(task, [answers]), *(state_text(task, [each]) for each in of_runs)]
    statements = (answers, *of_runs, *filter(None, of_texts), *others)
    replace(found, statements=statements).save(folder)


WRITERS: tuple[tuple[float, Callable[[Rng, Path], str]], ...] = (
    (0.45, write_contexts),
    (0.16, write_vectors),
    (0.12, write_prompts),
    (0.13, write_rule),
    (0.06, write_text),
    (0.08, write_edit),
)


# ---------------------------------------------------------------------------------------------------------------------
# Claims that are too strong, in folders whose files are all in order.


def forged(rng: Rng, folder: Path) -> str:
    """Claim a little more than is true, or something of another model, and return what."""
    if (folder / "edit.json").exists():
        return forged_edit(rng, folder)
    found = Certificate.load(folder)
    choices: dict[str, Callable[[Path], Any]] = {}
    first = found.answers
    total = int(first.values["contexts"])
    if first.id == ANSWERS:
        for name in ("margin_lower", "max_upper", "mean_upper", "guess_lower"):
            if name in first.values and (name != "margin_lower" or first.values["memorized"]):
                choices[name] = one_unit(name)
    if first.values["wrong"]:
        choices["memorized"] = partial(one_more_memorized, total=total)
    if first.values["memorized"]:
        choices["wrong"] = lambda folder: restated(folder, first.id, wrong=int(first.values["wrong"]) + 1)
    for statement in found.statements[1:]:
        choices |= too_strong(statement)
    choices["other model"] = partial(with_another_weight, rng)
    name = str(rng.choice(sorted(choices)))
    choices[name](folder)
    return name


def one_more_memorized(folder: Path, total: int) -> None:
    """Claim that one more context is memorized, the first that is not."""
    found = Certificate.load(folder)
    stated = found.answers
    memorized = int(stated.values["memorized"]) + 1
    mask = None
    if stated.memorized:
        kept = [place for place in range(total) if (int(stated.memorized[::-1][place // 4], 16) >> (place % 4)) & 1]
        lost = next(place for place in range(total) if place not in kept)
        mask = "" if memorized == total else mask_text([place in kept or place == lost for place in range(total)])
    elif memorized < total:
        mask = mask_text([place == 0 for place in range(total)])
    restated(folder, stated.id, mask if stated.id == ANSWERS else None, memorized=memorized, wrong=total - memorized)


def too_strong(statement: Statement) -> dict[str, Callable[[Path], Any]]:
    """Ways to claim more than a statement does."""
    values = statement.values
    if statement.id == TEXT_DIVERGENCE:
        return {f"text {name}": text_bound(name) for name in ("lower", "upper")}
    if statement.id == DIVERGENCE:
        return {name: one_unit_beyond(name) for name in ENDS}
    if statement.id == FEATURE_RANK and "smallest_singular_value_lower" in values:
        larger = float(values["smallest_singular_value_lower"]) * 1.01
        return {"singular value": lambda folder: restated(folder, FEATURE_RANK, smallest_singular_value_lower=larger)}
    if statement.id in (RANK_HEADS, RANK_WITH_SKIP):
        id, rank = statement.id, int(values["lower"])
        return {
            f"{id} more": lambda folder: restated(
                folder, id, lower=rank + 1, upper=max(rank + 1, int(values["upper"]))
            ),
            f"{id} less": lambda folder: restated(folder, id, lower=max(rank - 1, 0), upper=max(rank - 1, 0)),
        }
    if statement.id == SATURATION:
        more = int(values["saturated_lower"]) + 1
        return {"saturation": lambda folder: restated(folder, SATURATION, saturated_lower=more)}
    if statement.id == RUNS:
        return {"runs in float16": in_float16}
    return {}


def in_float16(folder: Path) -> None:
    """Claim of float16 what is stated of the last format."""
    found = Certificate.load(folder)
    kept = [each for each in found.statements if each.named.get("format", REALS) == REALS]
    runs = next(each for each in reversed(found.statements) if each.id == RUNS)
    claimed = replace(runs, named={**runs.named, "format": "float16"})
    kept.insert(1, claimed)
    replace(found, statements=tuple(kept)).save(folder)


def with_another_weight(rng: Rng, folder: Path) -> None:
    """Change one weight a little, and let the certificate be about the model that this makes."""
    model = Model.load(folder / "model.safetensors")
    tensors = {name: tensor.copy() for name, tensor in model.tensors().items() if tensor.size}
    chosen = str(rng.choice(sorted(tensors)))
    place = tuple(rng.integers(0, size) for size in tensors[chosen].shape)
    tensors[chosen][place] += float(rng.choice([2.0**-8, 0.25, -1.0]))
    changed = model.with_each(lambda name, tensor: tensors.get(name, tensor))
    is_of_rule = Certificate.load(folder).subject.is_of_a_rule
    if not is_of_rule:
        rehash(folder, network=changed, task=load_task(folder / "task.safetensors"))
        return
    changed.save(folder / "model.safetensors")
    subject = subject_of_rule(changed, RuleTask.load(folder / "task.safetensors"))
    replace(Certificate.load(folder), subject=subject).save(folder)


def forged_edit(rng: Rng, folder: Path) -> str:
    """Claim more of an edit than is proved."""
    found = EditCertificate.load(folder)
    values = dict(found.values)
    choices: list[tuple[str, Any]] = [("moved", float(values["moved"]) * 0.5), ("before", int(values["before"]) + 1)]
    if values["flat"]:
        choices.append(("spread", float(values["spread"]) * 0.5))
    if "outside" in values:
        choices.append(("outside", float(values["outside"]) * 0.25))
    if values["same"] < values["kept"]:
        choices.append(("same", int(values["same"]) + 1))
    name, value = choices[int(rng.integers(len(choices)))]
    values[name] = value
    replace(found, values=values).save(folder)
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Checkers, and what they say.


@dataclass(frozen=True)
class Drawn:
    """A folder that was written.

    Args:
        seed: What it was drawn from.
        kind: What it is about.
        claim: What was forged; empty where all is true.
    """

    seed: int
    kind: str
    claim: str


def write_random(seed: int, folder: Path) -> Drawn:
    """Write the folder of a seed; half of them claim too much.

    Raises:
        NothingDrawnError: Nothing can be made of this seed.
    """
    rng = np.random.default_rng(seed)
    shares, writers = zip(*WRITERS, strict=True)
    writer = writers[int(rng.choice(len(writers), p=np.array(shares) / sum(shares)))]
    folder.mkdir(parents=True)
    try:
        with np.errstate(all="ignore"):
            kind = writer(rng, folder)
            claim = forged(rng, folder) if rng.random() < 0.5 else ""
    except (ByheartError, ZeroDivisionError) as error:  # what cannot be stated of this model
        raise NothingDrawnError(str(error)) from error
    return Drawn(seed, kind, claim)


def kernel(folder: Path) -> tuple[int, str]:
    """What the kernel says."""
    return outcome(folder)


def prover(folder: Path) -> tuple[int, str]:
    """What the prover says."""
    return reported(folder, lambda: (check_edit if (folder / "edit.json").exists() else check_memorization)(folder))


def reported(folder: Path, check: Callable[[], Any]) -> tuple[int, str]:
    """The exit code of a report, and what it said."""
    try:
        report = check()
    except FileFormatError as error:
        return REFUSED, str(error)
    except TamperedError as error:
        return REFUTED, str(error)
    checks = getattr(report, "checks", ())
    said = (
        report.reason if not checks else "; ".join(f"{each.id}: {each.verdict.value} {each.reason}" for each in checks)
    )
    return CODES[report.verdict], said


CHECKERS: dict[str, Callable[[Path], tuple[int, str]]] = {"kernel": kernel, "prover": prover}


def faults(folder: Path, codes: dict[str, int]) -> list[str]:
    """What is wrong with answers of checkers to one folder: a contradiction, a proof of what is false, or a refutation
    of what is true."""
    found, wrong = [], false_by_definition(folder) if {PROVED, REFUTED} & set(codes.values()) else []
    if {PROVED, REFUTED} <= set(codes.values()):
        found.append("two checkers contradict each other")
    if REFUSED in codes.values():
        found.append("a file is refused that was just written")
    if PROVED in codes.values() and wrong:
        found.append(f"proved, but {'; '.join(wrong)}")
    if REFUTED in codes.values() and not wrong and is_decided_by_definition(folder):
        found.append("refuted, but nothing is false")
    return found


def is_decided_by_definition(folder: Path) -> bool:
    """Whether all that is stated is computed here: not what lies outside of the caps of an edit, nor what every run
    does."""
    return not (folder / "edit.json").exists() and Certificate.load(folder).statement(RUNS) is None


def false_by_definition(folder: Path) -> list[str]:
    """What is false in a folder, by the definitions in many digits."""
    if (folder / "edit.json").exists():
        return false_in_edit(folder)
    return [each for each in falsehoods(folder) if each != "a sample leaves inputs open"]


def false_in_edit(folder: Path) -> list[str]:
    """Which counts and distances of an edit are false, by the logits of all contexts."""
    found, model = EditCertificate.load(folder), Model.load(folder / "model.safetensors")
    asked = EditRequest.read(folder / "contexts.json", d_vocab=model.d_vocab, d_vocab_out=model.d_vocab_out)
    edit, values = Edit.of(asked, model.d_vocab), found.values
    old = without_neurons(model, len(edit.answers), layer=found.layer, everywhere=found.everywhere)
    with mpmath.workdps(DIGITS):
        noise = mpmath.mpf(10) ** (30 - DIGITS)  # of a difference of two logits that are equal but for 150 digits
        memorized = before = same = changed = 0
        moved, spread = mpmath.mpf(0), mpmath.mpf(0)
        for context, answer in zip(edit.contexts.tolist(), edit.answers.tolist(), strict=True):
            new, original = logits_of(model, context), logits_of(old, context)
            if answer == FLAT:
                spread = max(spread, max(new) - min(new))
            else:
                memorized += is_answered(new, answer)
                before += is_answered(original, answer)
        for context in edit.kept.tolist():
            new, original = logits_of(model, context), logits_of(old, context)
            moved = max(moved, *(abs(x - y) for x, y in zip(new, original, strict=True)))
            place = max(range(len(new)), key=original.__getitem__)
            same += is_answered(original, place) and is_answered(new, place)
            changed += (
                is_answered(original, place) and max(new[:place] + new[place + 1 :], default=-mpmath.inf) > new[place]
            )
        checks = {
            "memorized": memorized < values["memorized"],
            "before": before != values["before"],
            "same": same < values["same"],
            "changed": changed < values["changed"],
            "moved": moved > mpmath.mpf(float(values["moved"])) + noise,
            "spread": spread > mpmath.mpf(float(values["spread"])) + noise,
        }
    return [f"{name} is false" for name, is_false in checks.items() if is_false]


def is_answered(logits: Sequence[Any], label: int) -> bool:
    """Whether the label has the strictly largest logit."""
    others = [z for place, z in enumerate(logits) if place != label]
    return bool(logits[label] > max(others, default=-mpmath.inf))


def main(arguments: Sequence[str]) -> int:
    """Draw folders, let all judge them, and print what they say; the exit code is 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many folders are judged")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    options = parser.parse_args(arguments)
    tally, wrong, seed, judged = Counter[tuple[Any, ...]](), 0, options.start, 0
    while judged < options.count:
        with TemporaryDirectory() as top:
            folder = Path(top) / "drawn"
            seed += 1
            try:
                drawn = write_random(seed - 1, folder)
            except NothingDrawnError:
                continue
            judged += 1
            answers: dict[str, tuple[int, str]] = {}
            for name, checker in CHECKERS.items():
                try:
                    answers[name] = checker(folder)
                except Exception as error:  # a checker that breaks down is looked for as well
                    answers[name] = (-1, f"{type(error).__name__}: {error}")
            codes = {name: code for name, (code, _) in answers.items()}
            found = faults(folder, codes)
            found += [f"{name} broke down" for name, code in codes.items() if code == -1]
            tally[drawn.kind, "forged" if drawn.claim else "true", *codes.values()] += 1
            if found or len(set(codes.values())) > 1:
                print(f"{drawn}: {'FAULT: ' if found else 'differ: '}{found}", flush=True)
                for name, (code, said) in answers.items():
                    print(f"    {name} {code}: {said[:600]}", flush=True)
            wrong += bool(found)
    print(f"{judged} folders (seeds {options.start} .. {seed - 1}), {wrong} with a fault; columns: {list(CHECKERS)}")
    for key, count in sorted(tally.items(), key=str):
        print(f"{count:6} {key}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
