"""Whether what a folder says is true: by the definitions, or by a run that answers otherwise than every run is said to.

Of what every run does this finds what is false, and proves nothing.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.recitation import encoded, is_byte
from constructions.tasks.rule import RuleTask
from constructions.tasks.task import Task
from constructions.tasks.vectors import load_task
from tests.corpus.definitions import (
    DIGITS,
    Figures,
    attended,
    exact,
    features,
    figures,
    logits_of,
    margin_of,
    mean_over_occurrences,
    point,
)
from tests.verify.runs.hostile_runs import ORDERS, hostile_run
from verify.certificates.certificate import Certificate, Statement, memorized_mask

RANK_DIGITS = 1500
"""Of features, whose singular values may be as small as balls of 4096 bits tell from 0: 10^-1233."""


def falsehoods(folder: Path) -> list[str]:
    """Return what is false in a folder with one canonical certificate, and whether its answer is another than yes."""
    certificate = Certificate.load(folder)
    model, path = Model.load(folder / "model.safetensors"), folder / "task.safetensors"
    with mpmath.workdps(DIGITS):
        if certificate.subject.is_of_a_rule:
            rule = RuleTask.load(path)
            inputs = rule.contexts_at(np.arange(rule.n_contexts))
            facts = rule.facts(inputs, vocabulary=model.d_vocab, answers=model.d_vocab_out)
            return of_domain(certificate, model, rule) + of_runs(certificate, model, facts)
        task = load_task(path)
        true = figures(model, task, certificate.criterion.tolerance)
        found = (
            of_answers(certificate.answers, true)
            + of_runs(certificate, model, task)
            + of_text(certificate, model, task)
        )
        text = certificate.statement("text-divergence")
        found += of_divergence(certificate.statement("divergence"), true) + of_ranks(certificate, model, task)
        found += of_feature_rank(certificate.statement("feature-rank"), model, task)
        found += of_saturation(certificate.statement("saturation"), model, task)
        if text is not None and not text.values["lower"] <= exactly(true.over_text) <= text.values["upper"]:
            found.append("the mean divergence over the text is outside of the interval")
        if not is_answered_yes(certificate.criterion, true, certificate.subject.target):
            found.append("the answer is not yes")
        return found


def exactly(value: Any) -> Fraction:
    """Return a number of many digits, or of a certificate, as an exact fraction."""
    if not isinstance(value, mpmath.mpf):
        return Fraction(value)
    mantissa, exponent = value.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def of_answers(statement: Statement, true: Figures) -> list[str]:
    """Return what is false in an ``answers`` statement."""
    values, total = statement.values, len(true.memorized)
    named = (
        memorized_mask(statement.memorized, total)
        if statement.memorized
        else set(range(total) if values["memorized"] else [])
    )
    margins = [true.margins[i] for i in named] if true.margins else []
    truths = {
        "the margin is smaller": ("margin_lower", min(margins, default=None), 1),
        "a loss is larger": ("max_upper", max(true.losses), -1),
        "the mean loss is larger": ("mean_upper", mpmath.fsum(true.losses) / total, -1),
        "a guess does better": ("guess_lower", true.guess_lower, 1),
    }
    checks = {
        "a context that is named is not memorized": any(not true.memorized[i] for i in named),
        "fewer contexts are wrong": values["wrong"] > true.memorized.count(False),
        "the most frequent label holds another number": values.get("guess_right", 0) != true.guess_right,
    }
    for what, (name, truth, sign) in truths.items():
        if name in values and truth is not None and mpmath.isfinite(truth):
            checks[what] = sign * (exactly(values[name]) - exactly(truth)) > 0
    return [what for what, is_false in checks.items() if is_false]


def of_divergence(statement: Statement | None, true: Figures) -> list[str]:
    """What is false in a ``divergence`` statement."""
    if statement is None:
        return []
    values, largest, mean = statement.values, exactly(max(true.losses)), exactly(mean_over_occurrences(true))
    checks = {
        "the largest divergence is outside": not values["max_lower"] <= largest <= values["max_upper"],
        "the mean divergence is outside": not values["mean_lower"] <= mean <= values["mean_upper"],
        "there are other occurrences": values["occurrences"] != sum(true.occurrences),
    }
    return [what for what, is_false in checks.items() if is_false]


def of_ranks(certificate: Certificate, model: Model, task: Any) -> list[str]:
    """Which bounds of a rank are false."""
    found = []
    for statement in certificate.statements:
        if statement.id not in ("rank-heads", "rank-with-skip"):
            continue
        with_skip, values = statement.id == "rank-with-skip", statement.values
        if len(model.blocks) != 1 or (with_skip and not model.reads_tokens):
            found.append("the model has no such features")
            continue
        singular, width = singular_values(model, task, with_skip=with_skip)
        rank = sum(map(is_not_0, singular))
        if values["columns"] != width or not values["lower"] <= rank <= values["upper"]:
            found.append(f"the rank of the {task.n_contexts} x {width} matrix is {rank}")
    return found


def singular_values(model: Model, task: Any, *, with_skip: bool) -> tuple[list[Any], int]:
    """The singular values of the features, and how many columns they have.

    Hard heads differ by exponentials of thousands, so there are many digits.
    """
    with mpmath.workdps(RANK_DIGITS):
        rows = features(model, task, with_skip=with_skip)
        width = len(rows[0])
        return ([*mpmath.svd_r(mpmath.matrix(rows), compute_uv=False)] if width else []), width


def is_not_0(value: Any) -> bool:
    """Whether a singular value is larger than what is left of 0 after so many digits."""
    return value > mpmath.mpf(10) ** (100 - RANK_DIGITS)


def of_feature_rank(statement: Statement | None, model: Model, task: Any) -> list[str]:
    """Whether the least singular value of the features is smaller than stated, or the condition number larger."""
    if statement is None:
        return []
    singular, _ = singular_values(model, task, with_skip=model.reads_tokens)
    values, least, largest = statement.values, min(singular), max(singular)
    checks = {"the rank is not full": not (len(singular) == task.n_contexts and is_not_0(least))}
    if "smallest_singular_value_lower" in values:
        checks["the least singular value is smaller"] = exactly(least) < values["smallest_singular_value_lower"]
        checks["the condition number is larger"] = exactly(largest) > values["condition_upper"] * exactly(least)
    return [what for what, is_false in checks.items() if is_false]


def of_saturation(statement: Statement | None, model: Model, task: Any) -> list[str]:
    """Whether fewer heads give most of their attention to one vector than is stated."""
    if statement is None:
        return []
    limit = 1 - mpmath.mpf(float(statement.values["delta"]))
    most = [
        max(weights) > limit
        for example in range(task.n_contexts)
        for weights in attended(
            model.attention, [exact(row) for row in task.context(example)], exact(task.queries[example])
        )
    ]
    checks = {
        "there are other pairs": len(most) != statement.values["pairs"],
        "fewer heads are saturated": sum(most) < statement.values["saturated_lower"],
    }
    return [what for what, is_false in checks.items() if is_false]


def is_answered_yes(criterion: Criterion, true: Figures, target: str) -> bool:
    """Return whether the question is met, and by more than a guess."""
    total, memorized, mean = (
        len(true.memorized),
        true.memorized.count(True),
        mpmath.fsum(true.losses) / len(true.memorized),
    )
    if criterion.asked == "at-most":
        return mean <= criterion.bound and mean < true.guess_lower
    met = memorized >= (total if criterion.contexts is None else criterion.contexts)
    if target == "labels":
        return met and (memorized > true.guess_right or memorized == total == true.guess_right)
    return met and mean < true.guess_lower


def of_domain(certificate: Certificate, model: Model, task: RuleTask) -> list[str]:
    """Return what is false in the counts of a domain, all of whose inputs are looked at."""
    contexts = task.contexts_at(np.arange(task.n_contexts))
    labels = task.labels_of(contexts)
    right = sum(
        margin_of(point(label, model.d_vocab_out), logits_of(model, context)) > 0
        for context, label in zip(contexts.tolist(), labels.tolist(), strict=True)
    )
    values, wrong, asked = certificate.answers.values, task.n_contexts - right, certificate.criterion
    wanted = task.n_contexts if asked.contexts is None else asked.contexts
    checks = {
        "fewer inputs are right": values["memorized"] > right,
        "fewer inputs are wrong": values["wrong"] > wrong,
        "the most frequent answer holds another number": values["guess_right"] != task.guess_right,
        "the answer is not yes": not (right >= wanted and (right > task.guess_right or right == task.n_contexts)),
        "a sample leaves inputs open": certificate.statement("sample") is not None,
    }
    return [what for what, is_false in checks.items() if is_false]


# ---------------------------------------------------------------------------------------------------------------------
# Runs and texts.

NUMPY = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
SEEDS = 4


def is_run_here(model: Model) -> bool:
    """Return whether `hostile_run` can run the model: ReLU neurons, no norms inside of blocks, heads but for slopes
    plain."""
    blocks = [block for block in model.blocks if not isinstance(block, Normalization)]
    plain = all(block.norm is None and block.post_norm is None for block in blocks)
    heads = all(replace(block, slopes=None).plain for block in blocks if isinstance(block, Attention))
    relu = all(block.activation == "relu" for block in blocks if isinstance(block, FeedForward))
    return plain and heads and relu and model.reads_tokens and model.logit_cap is None and model.logit_divisor is None


def flushed(model: Model) -> Model:
    """Return the model as a run takes it that replaces subnormal numbers by 0."""
    return model.with_each(lambda name, tensor: np.where(np.abs(tensor) < 2.0**-1022, 0.0, tensor))


def of_runs(certificate: Certificate, model: Model, task: Any) -> list[str]:
    """Return which statements about runs some run contradicts."""
    found = []
    for statement in certificate.statements:
        if statement.id != "runs" or not is_run_here(model) or statement.named["format"] not in NUMPY:
            continue
        contexts = int(statement.values["contexts"])
        named = memorized_mask(statement.memorized, contexts) if statement.memorized else set(range(contexts))
        for part, rows, modes in examples(task):
            lost = lost_in_some_run(model, rows, modes, NUMPY[statement.named["format"]])
            if lost & {place for place, fact in enumerate(part) if fact in named}:
                found.append(f"a run in {statement.named['format']} loses a context that is named")
                break
    return found


def examples(task: Any) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Yield contexts of one length, which fact each is of, and the modes of each."""
    if isinstance(task, PromptTask):
        yield from ((part.facts.tolist(), *only(examples(part.task))) for part in task.parts)
        return
    yield list(range(task.n_contexts)), task.contexts, task.modes()


def only(parts: Iterator[tuple[list[int], np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the contexts and modes of the one part that there is."""
    [(_, contexts, modes)] = parts
    return contexts, modes


def lost_in_some_run(model: Model, contexts: np.ndarray, modes: np.ndarray, dtype: Any) -> set[int]:
    """Return the contexts in which a mode is not above all others, which no logit is that is no number."""
    lost = set[int]()
    for order in ORDERS:
        runs = [hostile_run(model, contexts, dtype, order, seed=seed) for seed in range(SEEDS)]
        for logits in (*runs, hostile_run(flushed(model), contexts, dtype, order)):
            least = np.where(modes, logits, np.inf).min(axis=1)
            largest = np.where(modes, -np.inf, logits).max(axis=1)
            with np.errstate(invalid="ignore"):
                lost |= set(np.flatnonzero(~(least > largest)).tolist())
    return lost


def of_text(certificate: Certificate, model: Model, task: Any) -> list[str]:
    """Return which statements about texts are false: the texts are decoded, greedily, by the definition."""
    stated = [each for each in certificate.statements if each.id == "text"]
    if not stated:
        return []
    if not isinstance(task, Task) or task.windows is None:
        return ["the task is of no texts"]
    said = [decoded(model, task, number) for number in range(len(task.windows.titles))]
    names = [task.vocabulary[token][1:-1] if task.windows.titled else "" for token in task.windows.titles.tolist()]
    texts = [
        {"title": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in zip(names, map(encoded, said), strict=True)
    ]
    of_bytes = any(is_byte(token) for tokens in said for token in tokens)
    characters = None if of_bytes else sum(len(token) for tokens in said for token in tokens)
    true = (texts, characters, len(said))
    found = [(each.named["texts"], each.values.get("characters"), each.values["parts"]) for each in stated]
    return ["another text is said"] if any(each != true for each in found) else []


def decoded(model: Model, task: Task, number: int) -> list[str]:
    """Return the tokens that greedy decoding says behind a title, to its end, or to one more than the text has."""
    windows = task.windows
    assert windows is not None
    title, said = int(windows.titles[number]), list[int]()
    place = windows.of_text(number)
    while len(said) <= place.stop - place.start:
        window = ([title] * windows.n_ctx + said)[-windows.n_ctx :]
        window = [title, *window[1:]] if windows.titled else window
        logits = logits_of(model, window)
        following = max(range(len(logits)), key=logits.__getitem__)
        if following == windows.end:
            break
        said.append(following)
    return [task.vocabulary[token] for token in said]
