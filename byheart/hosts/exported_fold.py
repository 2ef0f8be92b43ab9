"""Write the files of an exported rule with a state, each determined by the certified content, the weights, and the
measurements.

As in the export of a memory, the folder ``proof`` holds the very numbers of the host's file, the rule and the
certificate, and `check` makes all other files again from it.

Pages: docs/folds.md, docs/hosts.md
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from byheart.hosts.host import CONFIG_FILE, Host
from byheart.hosts.parity import MEASURED, PARITY_FILE, PROOF_FOLDER, read_parity, write_parity
from byheart.report.fold_card import fold_card
from byheart.report.model_card import CARD_FILE
from constructions.counted import counted
from constructions.errors import FileFormatError, InputError
from constructions.folds.fold import Fold
from constructions.folds.typed import typed_choices
from constructions.formats.files import canonical_json, write_atomically
from constructions.model.entries import Entries
from constructions.model.model import Model
from constructions.model.precision import STORED
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.exact_json import expect, expect_fields, require_sha256
from verify.certificates.certificate import TASK_FILE, Certificate
from verify.certificates.headline import Outcome
from verify.certificates.loading import save_certified
from verify.provers.domain import load_fold
from verify.verdict import Verdict

HOST = "huggingface"
"""The host that decodes: what is proved is what greedy decoding says."""


@dataclass(frozen=True)
class WrongSaid:
    """The tokens that `generate` emits for an input that was proved to get a wrong answer.

    Args:
        prompt: The tokens of the input.
        said: The tokens that `generate` said after it.
    """

    prompt: tuple[int, ...]
    said: tuple[int, ...]

    def words(self, fold: Fold) -> str:
        """Describe it in the words of the first line.

        Raises:
            InputError: The prompt is not an input of the rule.
        """
        [answer] = fold.answers(choices_of(fold, self.prompt)).tolist()
        return f"to {_spaced(self.prompt)}, where the rule says {_spaced(answer)}, generate says {_spaced(self.said)}"


@dataclass(frozen=True)
class MeasuredDecoding:
    """The measurements and notes made when exporting weights that follow a rule with a state.

    Args:
        versions: Versions of the packages of the host, by their names.
        original: Hash of the weights before they were rounded and converted.
        inputs: How many drawn inputs `generate` was asked.
        right: To how many of them it said what the rule says.
        largest_difference: An upper bound of how far a logit is from the exact one of the original weights; infinite
            where one is not finite.
        wrong: An input that is proved to be answered wrongly, and what `generate` says to it; none if none was found.
    """

    versions: Mapping[str, str]
    original: str
    inputs: int
    right: int
    largest_difference: float
    wrong: WrongSaid | None = None

    @property
    def words(self) -> str:
        """The parts of an export that no checker verifies again."""
        return "what was measured of generate"

    def data(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        off = self.largest_difference
        wrong = None if self.wrong is None else {"prompt": list(self.wrong.prompt), "said": list(self.wrong.said)}
        return {
            "versions": dict(self.versions),
            "original": self.original,
            "generated": {
                "inputs": self.inputs,
                "right": self.right,
                "largest_difference": off if math.isfinite(off) else None,
            },
            "wrong": wrong,
        }

    @classmethod
    def of_data(cls, data: Any) -> "MeasuredDecoding":
        """Rebuild from the result of `data`.

        Raises:
            FileFormatError: Other data.
            InputError: The hash is none.
        """
        expect_fields(MEASURED, data, {"versions", "original", "generated", "wrong"})
        for name, version in expect(f"{MEASURED}.versions", data["versions"], dict).items():
            expect(f"{MEASURED}.versions.{name}", version, str)
        require_sha256(f"{MEASURED}.original", data["original"])
        where, generated = f"{MEASURED}.generated", data["generated"]
        expect_fields(where, generated, {"inputs", "right", "largest_difference"})
        inputs, right = (expect(f"{where}.{name}", generated[name], int) for name in ("inputs", "right"))
        if not 0 <= right <= inputs:
            raise FileFormatError(f"{where}.right is {right}, expected from 0 to the {inputs} inputs")
        off = math.inf if generated["largest_difference"] is None else generated["largest_difference"]
        if not expect(f"{where}.largest_difference", off, float) >= 0:
            raise FileFormatError(f"{where}.largest_difference is {off}, expected a float of at least 0")
        return cls(data["versions"], data["original"], inputs, right, off, _wrong_of(data["wrong"]))


def _wrong_of(data: Any) -> WrongSaid | None:
    """Parse the record of an input with a wrong answer."""
    if data is None:
        return None
    where = f"{MEASURED}.wrong"
    expect_fields(where, data, {"prompt", "said"})
    for name, tokens in data.items():
        if not all(type(token) is int and token >= 0 for token in expect(f"{where}.{name}", tokens, list)):
            raise FileFormatError(f"{where}.{name} is {tokens}, expected a list of tokens")
    return WrongSaid(tuple(data["prompt"]), tuple(data["said"]))


@dataclass(frozen=True)
class ExportedFold:
    """An exported rule with a state for a host.

    Args:
        host: The host that it is written for.
        dtype: The type of the numbers.
        certificate: The certificate of `model` and `fold`.
        model: The numbers of the host's file.
        fold: The rule.
    """

    host: Host
    dtype: str
    certificate: Certificate
    model: Model
    fold: Fold

    def write_for_host(self, folder: Path) -> None:
        """Write the proof, the weights as the host reads them, its other files, and the rule."""
        proof = folder / PROOF_FOLDER
        proof.mkdir()
        save_certified(proof, self.model, self.fold, self.certificate)
        self.host.write(self.model, folder, self.dtype)
        _write_beside(folder, self.model, self.fold)

    def write_report(self, folder: Path, measured: MeasuredDecoding) -> dict[str, Any]:
        """Write the model card and ``parity.json``, and return the content of the latter."""
        report = self.report(measured)
        write_atomically(folder / CARD_FILE, fold_card(report, self.fold, Entries.of(self.model)).encode())
        return write_parity(folder, report)

    def report(self, measured: MeasuredDecoding) -> dict[str, Any]:
        """Return the content of ``parity.json`` except the hashes of the files."""
        shown, values = self.outcome(measured), self.certificate.answers.values
        return {
            "headline": str(shown),
            "verdict": shown.verdict.value,
            "host": self.host.name,
            "written_as": self.host.name,
            "dtype": self.dtype,
            "task": self.fold.sha256(),
            "parameters": self.model.parameters,
            "stored_bits": STORED[self.dtype] * self.model.parameters,
            "criterion": self.certificate.criterion.data(),
            "rule": self.fold.name,
            "layout": self.fold.layout,
            "inputs": self.fold.inputs,
            "proved": {name: values[name] for name in ("memorized", "wrong")},
            "every_run": self.dtype if self.in_every_run else None,
            MEASURED: measured.data(),
        }

    @property
    def in_every_run(self) -> bool:
        """Whether all inputs are proved right in every run in the type of the weights."""
        return self.certificate.in_every_run(self.dtype) is not None

    @property
    def where(self) -> str:
        """The target of the export, in words."""
        return f"as written for {self.host.name} in {self.dtype}"

    @property
    def proved(self) -> Outcome:
        """The proved statements of the export, without provenance, about which nothing is proved."""
        return replace(self.certificate, provenance={}).outcome.adding(self.where)

    def outcome(self, measured: MeasuredDecoding) -> Outcome:
        """Return the proved outcome, unless the host contradicts it."""
        inputs_run = counted(measured.inputs, "drawn input")
        outcome = self.proved.adding(f"generate is right on {measured.right} of {inputs_run}, measured")
        all_right = self.certificate.answers.values["memorized"] == self.fold.inputs
        if outcome.verdict is Verdict.PROVED and all_right and measured.right < measured.inputs:
            word = "OUTSIDE OF WHAT ROUNDING EXPLAINS" if self.in_every_run else "NOT MEMORIZED, MEASURED"
            outcome = replace(outcome, verdict=Verdict.REFUTED, word=word)
        return outcome if measured.wrong is None else outcome.adding(measured.wrong.words(self.fold))

    @classmethod
    def load(cls, folder: Path) -> tuple["ExportedFold", MeasuredDecoding]:
        """Load an export folder and its measurements; nothing is proved or compared.

        Raises:
            FileFormatError: A file is missing or is not what it should be.
            TamperedError: The files of ``proof`` are not those that its certificate names.
        """
        to, host, dtype, measured = read_parity(folder, MeasuredDecoding.of_data)
        if to != HOST or host.name != HOST:
            raise FileFormatError(f"{folder / PARITY_FILE}: host is {to!r}, but the proof is of a rule for {HOST!r}")
        proof = folder / PROOF_FOLDER
        certificate = Certificate.load(proof)
        model, fold = load_fold(proof, certificate)
        if measured.wrong is not None:
            try:
                choices_of(fold, measured.wrong.prompt)
            except InputError as error:
                raise FileFormatError(f"{folder / PARITY_FILE}: {MEASURED}.wrong.prompt: {error}") from error
        return cls(host, dtype, certificate, model, fold), measured


def choices_of(fold: Fold, prompt: tuple[int, ...]) -> Int64Array:
    """Return the choice of an input at each stage, `[1, stages]`.

    Raises:
        InputError: No input of the rule.
    """
    if len(prompt) != fold.length:  # two numbers would be read as a sum
        raise InputError(
            "prompt", f"has {counted(len(prompt), 'token')}", f"{fold.length}, the length that the rule reads"
        )
    return typed_choices(fold, _spaced(prompt))


def _spaced(tokens: "tuple[int, ...] | list[int]") -> str:
    return " ".join(map(str, tokens))


def _write_beside(folder: Path, model: Model, fold: Fold) -> None:
    """Write the rule, a tokenizer of numbers with spaces between, and how many tokens an answer has."""
    tokens = max(model.d_vocab, model.d_vocab_out)
    config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
    config |= {"vocab_size": tokens + 1, "answers": list(range(model.d_vocab_out)), "grows": fold.length < model.n_ctx}
    of_tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "padding_side": "left",
        "pad_token": "[PAD]",
    }
    generation = {"do_sample": False, "max_new_tokens": len(fold.answer), "pad_token_id": tokens}
    written: Mapping[str, Any] = {
        CONFIG_FILE: config,
        "generation_config.json": generation,
        "tokenizer.json": _tokenizer(tokens),
        "tokenizer_config.json": of_tokenizer,
    }
    for name, content in written.items():
        write_atomically(folder / name, (canonical_json(content) + "\n").encode())
    fold.save(folder / TASK_FILE)


def _tokenizer(tokens: int) -> dict[str, Any]:
    """Return the content of ``tokenizer.json``: tokens are written as numbers, separated by spaces."""
    names = [*map(str, range(tokens)), "[PAD]"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel", "vocab": {name: number for number, name in enumerate(names)}, "unk_token": "[UNK]",
        },
    }  # fmt: skip
