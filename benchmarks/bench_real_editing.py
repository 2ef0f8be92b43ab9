"""Twenty facts inserted into a language model, by an edit that is proved, by MEMIT's closed form, and by fine-tuning.

    python -m benchmarks.bench_real_editing FOLDER     needs torch and transformers

FOLDER is what `benchmarks.real_edit.tables` wrote, with the edited model in `edited`:
`byheart edit FOLDER/model --facts FOLDER/new.csv --keep FOLDER/keep.csv --out FOLDER/edited`.
"""

import csv
import gc
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from benchmarks.measure import print_head, print_row
from benchmarks.real_edit.rivals import Batch, Prompt, fine_tune, last_logits, memit, moments, wanted_rows
from benchmarks.real_edit.tables import KEEP_FILE, MODEL, NEW_FILE, PARAPHRASES
from constructions.tasks.text import default_text

EDITED = "edited"
TEXT = 16_384  # tokens of the text over which moments are taken
PIECES, PIECE = 100, 8  # of the text behind them, that nobody asked to keep
PREFIX = 8  # tokens of a piece of text that stands before a prompt
WEIGHTS = (15_000.0, 150.0)  # lambda: the authors', and less
MOST_STEPS = 30
CAPITAL = "The capital of "
SUBJECTS = ("sky", "plus two", "sun", "Romeo", "Albert", "Isaac", "Charles", "William", "Leonardo da", "The Great Wall",
            "Mount Everest", "The Nile")  # fmt: skip


def read(path: Path) -> list[tuple[str, str]]:
    """Return the rows of a table behind its head."""
    with path.open(newline="", encoding="utf-8") as file:
        return [(row[0], row[1]) for row in list(csv.reader(file))[1:]]


def subject_of(prompt: str) -> str:
    """Return what a prompt is about: the land of a capital, or one of `SUBJECTS`."""
    if prompt.startswith(CAPITAL):
        return prompt.removeprefix(CAPITAL).removesuffix(" is")
    return next(each for each in SUBJECTS if each in prompt)


def cut(tokenizer: Tokenizer, prompt: str, answer: str) -> Prompt:
    """Return a fact in tokens."""
    tokens = tokenizer.encode(prompt).ids
    behind = prompt.index(subject_of(prompt)) + len(subject_of(prompt))
    [said] = tokenizer.encode(f"{prompt} {answer}").ids[len(tokens) :]
    return Prompt(tokens, said, len(tokenizer.encode(prompt[:behind]).ids) - 1)


class Judge:
    """What each method is measured by.

    Args:
        folder: What `benchmarks.real_edit.tables` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tokenizer = Tokenizer.from_file(str(folder / MODEL / "tokenizer.json"))
        new = read(folder / NEW_FILE)
        self.facts = [cut(tokenizer, prompt, answer) for prompt, answer in new]
        self.kept = Batch.of([tokenizer.encode(prompt).ids for prompt, _ in read(folder / KEEP_FILE)])
        lands = [(subject_of(prompt), answer) for prompt, answer in new if prompt.startswith(CAPITAL)]
        others = [(template.format(land), answer) for template in PARAPHRASES for land, answer in lands]
        self.others = Batch.of([tokenizer.encode(prompt).ids for prompt, _ in others])
        said = [tokenizer.encode(f"{prompt} {answer}").ids for prompt, answer in others]
        self.other_answers = torch.tensor([ids[-1] for ids in said])
        text = tokenizer.encode(default_text()[: 8 * (TEXT + 2 * PIECES * PIECE)]).ids
        self.text, rest = text[:TEXT], text[TEXT:]
        self.prefixes = [[], rest[:PREFIX]]
        pieces = rest[PREFIX : PREFIX + PIECES * PIECE]
        self.pieces = Batch.of([pieces[i : i + PIECE] for i in range(0, len(pieces), PIECE)])
        module = self.module()
        self.before = {name: self.logits(module, batch) for name, batch in self.batches.items()}

    @property
    def batches(self) -> dict[str, Batch]:
        """The prompts whose answers are compared with those before."""
        return {"kept": self.kept, "pieces": self.pieces}

    def module(self, name: str = MODEL) -> Any:
        """Load a model in float32."""
        gc.collect()
        module = AutoModelForCausalLM.from_pretrained(self.folder / name, dtype=torch.float32).eval()
        return module.requires_grad_(False)

    @staticmethod
    def logits(module: Any, batch: Batch) -> torch.Tensor:
        """Return the last logits of prompts."""
        with torch.no_grad():
            parts = [Batch(*(each[i : i + 25] for each in batch)) for i in range(0, len(batch.tokens), 25)]
            return torch.cat([last_logits(module, part) for part in parts])

    def row(self, name: str, module: Any, changed: int, seconds: float) -> None:
        """Print what a method has done."""
        given = self.logits(module, Batch.of([fact.tokens for fact in self.facts])).argmax(-1)
        right = int((given == torch.tensor([fact.answer for fact in self.facts])).sum())
        others = int((self.logits(module, self.others).argmax(-1) == self.other_answers).sum())
        counts, moved = list[str](), 0.0
        for kind, batch in self.batches.items():
            after, before = self.logits(module, batch), self.before[kind]
            counts.append(f"{int((after.argmax(-1) == before.argmax(-1)).sum())} of {len(before)}")
            moved = float((after - before).abs().max()) if kind == "kept" else moved
        facts, every = f"{right} of {len(self.facts)}", f"{others} of {len(self.other_answers)}"
        print_row(name, facts, counts[0], f"{moved:.2g}", every, counts[1], f"{changed:,}", f"{seconds:.0f}")
        sys.stdout.flush()


def main(folder: Path, chosen: Sequence[str]) -> None:
    """Print a table."""
    judge = Judge(folder)
    methods: dict[str, Callable[[Judge], None]] = {
        "nothing": lambda judge: judge.row("nothing", judge.module(), 0, 0.0),
        "neurons": with_neurons,
        "memit": with_memit,
        "tuned": with_tuning,
    }
    print_head(
        "method", "facts", "kept prompts, same answer", "largest move of their logits",
        "paraphrases of the facts", "pieces of text, same next token", "numbers changed, or added and not 0", "s"
    )  # fmt: skip
    for name in chosen or methods:
        methods[name](judge)


def with_neurons(judge: Judge) -> None:
    """Measure the edited folder; how long the edit took is what its command says."""
    module, more = judge.module(EDITED), 0
    for sign, each in ((1, module), (-1, judge.module())):  # layers of one width are filled up with zeros
        more += sign * sum(int(parameter.count_nonzero()) for parameter in each.parameters())
    judge.row("one neuron a fact, proved", module, more, float("nan"))


def with_memit(judge: Judge) -> None:
    """Measure MEMIT for several weights of the moments."""
    module, start = judge.module(), time.process_time()
    moment = moments(module, judge.text)
    wanted = wanted_rows(module, judge.facts, judge.prefixes, max(moment))
    shared = time.process_time() - start
    for weight in WEIGHTS:
        module, start = judge.module(), time.process_time()
        changed = memit(module, judge.facts, wanted, judge.prefixes, moment, weight)
        judge.row(f"MEMIT, lambda {weight:g}", module, changed, shared + time.process_time() - start)


def with_tuning(judge: Judge) -> None:
    """Measure fine-tuning, without and with the divergence of the kept prompts in the loss."""
    kept = judge.kept, torch.log_softmax(judge.before["kept"], -1)
    one = f"layers.{max(len(judge.module().model.layers) // 2, 0)}.mlp.down_proj"
    for name, rate, more in (
        ("fine-tuned", 1e-4, {}),
        ("fine-tuned", 1e-5, {}),
        ("fine-tuned in one layer", 1e-3, {"only": lambda name: one in name}),
        ("fine-tuned, kept prompts in the loss", 1e-4, {"kept": kept}),
    ):
        module, start = judge.module(), time.process_time()
        steps, changed = fine_tune(module, judge.facts, rate=rate, steps=MOST_STEPS, **more)
        judge.row(f"{name}, {steps} steps of rate {rate:g}", module, changed, time.process_time() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
