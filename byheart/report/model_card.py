"""The model card beside exported weights: what they memorize, what is proved of them, and how to check it.

Page: docs/hosts.md
"""

from typing import Any

import numpy as np

from byheart.result import Field, Result, Section, markdown
from constructions.counted import counted
from constructions.numeric.arrays import BoolArray
from constructions.tasks.any_task import ListedTask
from constructions.tasks.criterion import TOLERANCE, Criterion
from constructions.tasks.task import Task
from constructions.tasks.vocabulary import OTHER, cut_of, echoed, names_answers, typed, typed_example
from verify.certificates.certificate import TASK_FILE

CARD_FILE = "README.md"

_READ_AGAIN = ("huggingface", "gpt2", "transformer-lens", "safetensors")  # by `byheart certify`


def model_card(report: dict[str, Any], task: ListedTask, usage: str, *, asked: Criterion, right: BoolArray) -> str:
    """Return the text of the card.

    Args:
        report: The content of ``parity.json``.
        task: What is memorized.
        usage: Lines of Python that load ``FOLDER`` and ask ``TEXT``, where the outputs are ``ANSWERS``; may be empty.
        asked: The question that the first line answers.
        right: Which contexts are proved to get their answer as the largest output, `[T]`; those alone are listed.

    Returns:
        Markdown, with the front matter that model hubs read.
    """
    library = "transformers" if report["host"] in ("huggingface", "gpt2") else "byheart"
    facts = task.facts
    tokens = "" if facts is None else f" of {counted(facts.n_ctx, 'token')}"
    listed = "" if facts is None or not right.any() else echoed(facts, np.flatnonzero(right))
    these = "." if not listed else ":" if right.all() else "; proved to be answered so are"
    gpt2 = report["written_as"] == "gpt2"
    parts = [
        f"---\nlibrary_name: {library}\ntags: [memorization, byheart]\n---",
        "# What this model knows by heart",
        markdown(_result(report, task, asked)).rstrip(),
        f"It was built, not trained, for {counted(report['facts'], 'context')}{tokens}{these}",
        *([f"    {listed}"] if listed else []),
        *([] if asked.asked == "memorized" else [_question(report, task, asked)]),
        "Nothing is proved of any other context: there the answer is what the weights happen to say.",
        *(
            ["Never load it in `float16`, where its constants are infinite and every answer is the first token."]
            if gpt2
            else []
        ),
    ]
    text = None if facts is None else _example(facts)
    if usage and (text is not None or "TEXT" not in usage):
        lines = usage.replace("ANSWERS", _answers(facts)).replace("FOLDER", '"."').replace("TEXT", repr(text))
        parts += ["## Ask it", _code("python", lines)]
        if "TEXT" in usage and facts is not None and OTHER not in facts.vocabulary:
            parts.append(
                "A text that is not all of words of the facts, or of characters of the text that was learned, is "
                "refused by the library of the tokenizer: `Missing [UNK] token from the vocabulary`."
            )
        if "trust_remote_code" in usage:
            parts.append(
                "`trust_remote_code=True`: no model of the library has these blocks, so `modeling_byheart.py`, beside "
                "this file, computes them in plain torch; read it first. The tokenizer needs no code: "
                "`PreTrainedTokenizerFast.from_pretrained` loads it and asks nothing."
            )
    again = [
        "pip install byheart\nbyheart check .",
        "It proves this card again, from the weights in `proof`, and makes every file here again, byte for byte; what "
        "was measured it takes from `parity.json`.",
    ]
    if report["host"] in _READ_AGAIN:
        again[0] += f"\nbyheart certify . --task {TASK_FILE}{_options(asked)}"
        again[1] += " The last line proves it of the numbers in `model.safetensors`."
    parts += ["## Check it", _code("sh", again[0]), again[1]]
    return "\n\n".join(parts) + "\n"


def _question(report: dict[str, Any], task: ListedTask, asked: Criterion) -> str:
    """Return what is asked where it is not every context."""
    alone = "; nothing is asked of a single context" if asked.asked == "at-most" else ""
    return f"Asked is whether {asked.describe(task.target, met=report['verdict'] == 'PROVED')}{alone}."


def _result(report: dict[str, Any], task: ListedTask, asked: Criterion) -> Result:
    """Return what is proved of the numbers of the file, and what single runs were measured to do."""
    proved = f"proved in real arithmetic on the {report['dtype']} numbers of the file"
    runs: dict[str, dict[str, Any]] = report["measured"]["runs"]
    fields = [Field("", report["parameters"], "parameters"), Field("", report["dtype"], "type of the numbers")]
    if asked.asked == "at-most":
        unit = "" if task.target == "values" else "nats"
        fields.append(Field("", report["mean_loss_upper"], f"mean, {proved}", unit, "at most"))
        for name, run in runs.items():
            mean = "not finite" if run["mean_loss"] is None else run["mean_loss"]
            fields.append(Field("", mean, f"mean in one run of {name}, measured", unit))
    else:
        right = f"{report['proved']['memorized']:,} of {report['facts']:,}"
        fields += [Field("", right, f"right, {proved}"), Field("", report["proved"]["wrong"], f"wrong, {proved}")]
        for name, run in runs.items():
            drawn = "" if run["contexts"] == report["facts"] else f", drawn of {report['facts']:,}"
            said = f"{run['memorized']:,} of {run['contexts']:,}{drawn}"
            fields.append(Field("", said, f"right in one run of {name}, measured"))
    return Result(report["headline"], None, (Section("", tuple(fields)),))


def _options(asked: Criterion) -> str:
    """Return the question as `byheart certify` is asked it."""
    if asked.asked == "at-most":
        return f" --at-most {asked.bound!r}"
    least = "" if asked.contexts is None else f" --at-least {asked.contexts}"
    return least + ("" if asked.tolerance == TOLERANCE else f" --tolerance {asked.tolerance!r}")


def _example(task: Task) -> str | None:
    """Return what a person types: a whole context at the beginning of a text that is learned whole, else some
    context.
    """
    if (windows := task.windows) is not None:
        texts = (windows.of_text(number) for number in range(len(windows.ends)))
        own = max(texts, key=lambda text: text.stop - text.start)
        return typed(task, int(windows.place[min(own.start + windows.n_ctx - windows.titled, own.stop - 1)]))
    text, cut = typed_example(task), cut_of(task.vocabulary, cells=task.apart)
    return text if text is None or not task.apart else f"{text}{cut.separator} "  # the answer is put behind it


def _answers(task: Task | None) -> str:
    """Python for the list of the text of each output, where `tokenizer` is loaded."""
    if task is None or names_answers(task):
        return 'json.load(open(FOLDER + "/answers.json"))'
    return f"[tokenizer.id_to_token(token) for token in range({task.n_answers})]"


def _code(language: str, lines: str) -> str:
    return f"```{language}\n{lines}\n```"
