"""The model card beside weights that follow a rule with a state: what they say, what is proved of them, how to ask.

Page: docs/folds.md
"""

from collections.abc import Mapping
from typing import Any

from byheart.result import Field, Result, Section, markdown
from constructions.counted import counted
from constructions.folds.fold import OWN, Fold
from constructions.folds.typed import last_input, number_said, typed_choices
from constructions.model.entries import Entries
from verify.certificates.certificate import TASK_FILE


def fold_card(report: Mapping[str, Any], fold: Fold, entries: Entries) -> str:
    """Return the text of the card.

    Args:
        report: The content of ``parity.json``.
        fold: The rule.
        entries: What the weights store.

    Returns:
        Markdown, with the front matter that model hubs read.
    """
    title = "A rule of one's own" if fold.name == OWN else fold.name[0].upper() + fold.name[1:]
    every_run = "" if report["every_run"] is None else f" --every-run {report['every_run']}"
    check = f"pip install byheart\nbyheart check . --fast\nbyheart certify . --rule {TASK_FILE}{every_run}"
    proved, generated = report["proved"], report["measured"]["generated"]
    runs = "" if report["every_run"] is None else f" and in every {report['every_run']} run"
    fields = (
        Field("", entries.words(), "the weights"),
        Field("", report["dtype"], "type of the numbers"),
        Field("", f"{proved['memorized']:,} of {fold.inputs:,} inputs", f"right, proved in real arithmetic{runs}"),
        Field("", proved["wrong"], "wrong, proved in real arithmetic"),
        Field("", f"{generated['right']:,} of {generated['inputs']:,} drawn inputs", "right by `generate`, measured"),
    )
    parts = [
        "---\nlibrary_name: transformers\ntags: [byheart]\n---",
        f"# {title}",
        markdown(Result(report["headline"], None, (Section("", fields),))).rstrip(),
        f"A prompt is {counted(fold.length, 'token')}, the answer the {counted(len(fold.answer), 'token')} that "
        f"`generate` says after it: {fold.layout}. There `a3` and `b3` are the first and the second token that stage 3 "
        "of the rule reads, `s3` is the token that it says, and tokens in brackets are the same in all prompts.",
        "Nothing is proved of any other prompt.",
        "## Ask it",
        f"```python\n{usage(fold)}\n```",
        "`trust_remote_code=True`: no model of the library has these blocks, so `modeling_byheart.py`, beside this "
        "file, computes them in plain torch; read it first.",
        "## Check it",
        f"```sh\n{check}\n```",
        "The fast prover proves this card again, from the weights in `proof` (no smaller checker has a proof of a rule "
        "with a state), and every file here is made again, byte for byte; what was measured is taken from "
        "`parity.json`. The last line proves it of the numbers in `model.safetensors`.",
    ]
    return "\n\n".join(parts) + "\n"


def usage(fold: Fold, folder: str = ".") -> str:
    """Lines of Python that load the model of a folder and let it answer the input of the last choices.

    Example:
        >>> from constructions.folds.fold import addition
        >>> print(usage(addition(2)).splitlines()[-2])
        prompt = [9, 9, 0, 9, 9, 0]  # 99 + 99
    """
    asked = last_input(fold)
    choices = typed_choices(fold, asked)
    [prompt], [answer] = fold.prompts(choices).tolist(), fold.answers(choices).tolist()
    number = number_said(fold, answer)
    aside = "" if number is None else f"  # {asked}"
    return "\n".join(
        [
            "import torch",
            "from transformers import AutoModelForCausalLM",
            "",
            f'model = AutoModelForCausalLM.from_pretrained("{folder}", trust_remote_code=True)',
            f"prompt = {prompt}{aside}",
            "print(model.generate(torch.tensor([prompt]))[0, len(prompt) :].tolist())",
        ]
    )
