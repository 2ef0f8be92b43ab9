"""Write the Coq files of a claim: the claim, which imports only the semantics, and its proof.

Page: docs/rigour/kernel.md
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from byheart.coq.claim import Claim, spoken
from verify.certificates.certificate import MODEL_FILE, TASK_FILE
from verify.kernel.files import Tensor
from verify.kernel.model import Block

PIECE = 1000
"""Facts that one file of answers evaluates."""

FAR = 1000
"""From there down the exponential is assumed to be 0; float64 underflows at 746."""

NEAR = 120
"""The bound of H5 (c): e^-120 is less than half of the smallest float32 number."""

DIGITS = 24
"""Those of float32, which has the longest numbers whose digits are cut off one by one."""

PROBED = 16
"""Facts that are tried, first, last and between, before all are evaluated."""

_LEAST_SCALE = 2  # averages of four rows have halves of halves
_PLAIN = re.compile(r"[^\W\d_]|[ -~\n]")  # of a string of Coq, which doubles its quotation marks
_WHO = {"all": "All", "causal": "Causal", "last": "Last"}

_CLAIM = """\
(** What is claimed of a model that byheart wrote: its numbers, what it shall say, and the claim at the end. This file
    imports the semantics alone; nothing is proved here.

    {model_file}: SHA-256 {model}
    {task_file}: SHA-256 {task}
    {parameters} parameters, each an integer times 2^-{scale} *)

From Coq Require Import String List ZArith.
From Float32 Require Import semantics.
Import ListNotations.
Open Scope Z_scope.

Definition stored : model := Model {scale}
  {W_E}
  {W_pos}
  [{blocks}]
  {W_U}.

(** The exponential is assumed to be 0 at -far and below. *)
Definition far : Z := {far}.

"""

_TEXTS = """\
(** What each token says; the end, token {end}, says nothing. *)
Definition vocabulary : list string := [{vocabulary}]%string.

(** Each text behind the token that stands before it. *)
Definition texts : list (nat * list nat) := [{texts}]%nat.

(** What they say. *)
Definition written : list string := [{written}]%string.

Definition facts : list (list nat * nat) := facts_of_texts {keep} {positions} texts.

Definition claim : Prop :=
  texts_by_heart {number_format} far stored {positions} {outputs} {keep} {end} texts /\\
  map (fun t => spoken vocabulary (snd t)) texts = written.
"""

_FACTS = """\
Definition facts : list (list nat * nat) := [{facts}]%nat.

Definition claim : Prop := facts_by_heart {number_format} far stored {positions} {outputs} facts.
"""

_ANSWERS = """\
From Float32 Require Import semantics facts.
From Memory Require Import claim.

Lemma answered : all_answered {number_format} far stored (piece {size} facts {number}) = true.
Proof. {machine}_cast_no_check (eq_refl true). Qed.
"""

_PROOF = """\
From Coq Require Import List ZArith.
From Float32 Require Import semantics facts.
From Memory Require Import claim.
From Memory Require {answers}.
Strategy expand [facts].

Lemma known : knows {number_format} far stored facts.
Proof.
  apply (pieces_are_all {number_format} far stored {size} {count}).
  - apply Compare_dec.leb_complete. vm_compute. reflexivity.
  - repeat apply Forall_cons; [{pieces} | apply Forall_nil].
Qed.

{theorem}

Print Assumptions by_heart.
"""

_PIECE_KNOWN = (
    "apply all_answered_sound; [vm_compute; reflexivity | vm_compute; reflexivity | exact answers_{0}.answered]"
)

_FACTS_PROOF = """\
Theorem by_heart : claim.
Proof. apply facts_are_known; [vm_cast_no_check (eq_refl true) | exact known]. Qed."""

_TEXTS_PROOF = """\
Theorem by_heart : claim.
Proof.
  split; [apply texts_are_known; [vm_cast_no_check (eq_refl true) | exact known] | vm_cast_no_check (eq_refl written)].
Qed."""

_PROBE = """\
From Coq Require Import List.
From Float32 Require Import semantics facts.
From Memory Require Import claim.
Import ListNotations.

Lemma answered : all_answered {number_format} far stored (List.flat_map (piece 1 facts) {numbers}%nat) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
"""


def least_scale(claim: Claim) -> int:
    """Return the least scale of the integers that represents all weights and averages of four rows."""
    parts = (claim.model.tensors, *(block.tensors for block in claim.model.blocks))
    weights = (value for tensors in parts for tensor in tensors.values() for value in tensor.values)
    return max(_LEAST_SCALE, *(Fraction(value).denominator.bit_length() - 1 for value in weights))


def attempts(claim: Claim) -> Iterator[tuple[int, int]]:
    """Yield scales and bounds of the exponential to try: finer units for averages of more rows, 120 where gaps are
    small.

    Neurons that cut digits off a number need units that are finer by all of its digits but one.
    """
    scale = least_scale(claim)
    finer = scale + (claim.positions - 1).bit_length()
    for far in (FAR, NEAR):
        yield from (
            (attempted_scale, far)
            for attempted_scale in dict.fromkeys((scale, finer, finer + DIGITS // 2, finer + DIGITS))
        )


def claim_source(claim: Claim, scale: int, far: int) -> str:
    """Return `claim.v`: the model in units of 2^-scale, the texts or facts, and the claim."""
    tensors = claim.model.tensors
    writer = _Writer(scale)
    shift = tensors.get("b_U")
    text = _CLAIM.format(
        model_file=MODEL_FILE,
        task_file=TASK_FILE,
        model=claim.files[MODEL_FILE],
        task=claim.files[TASK_FILE],
        parameters=claim.model.parameters,
        scale=scale,
        far=far,
        W_E=writer.table(_matrix(tensors["W_E"])),
        W_pos=writer.table(_matrix(tensors["W_pos"])),
        blocks=";\n   ".join(map(writer.block, claim.model.blocks)),
        W_U=writer.neurons(_matrix(tensors["W_U"]), None if shift is None else shift.values),
    )
    sizes = {
        "number_format": claim.number_format,
        "positions": claim.positions,
        "outputs": claim.outputs,
    }
    if not claim.texts:
        rows = (f"({_listed(context)}, {label})" for context, label in claim.facts)
        return text + _FACTS.format(facts=";\n  ".join(rows), **sizes)
    silent = (*claim.vocabulary[: claim.end], "", *claim.vocabulary[claim.end + 1 :])
    return text + _TEXTS.format(
        vocabulary="; ".join(coq_string(spoken(token)) for token in silent),
        texts=";\n  ".join(f"({recited.before}, {_listed(recited.tokens)})" for recited in claim.texts),
        written=";\n  ".join(coq_string(claim.said(recited)) for recited in claim.texts),
        keep=int(claim.titled),
        end=claim.end,
        **sizes,
    )


def proof_sources(claim: Claim, *, native: bool = False) -> dict[str, str]:
    """Return the proof files by name, in order of compilation; the last one is `proof.v`.

    Args:
        claim: The claim that `byheart.coq.claim.claim_of` read from a folder.
        native: Evaluate the answers in native code and not in the virtual machine of Coq's kernel.
    """
    count = -(-claim.steps // PIECE)
    machine = "native" if native else "vm"
    settings = {"number_format": claim.number_format, "size": PIECE, "machine": machine}
    files = {f"answers_{i}.v": _ANSWERS.format(number=i, **settings) for i in range(count)}
    files["proof.v"] = _PROOF.format(
        answers=" ".join(f"answers_{i}" for i in range(count)),
        count=count,
        pieces=" | ".join(map(_PIECE_KNOWN.format, range(count))),
        theorem=_TEXTS_PROOF if claim.texts else _FACTS_PROOF,
        **settings,
    )
    return files


def probe_source(claim: Claim) -> str:
    """Return a file that compiles if the first fact, the last one and some between have the right answer in
    integers.
    """
    count = min(PROBED, claim.steps)
    numbers = sorted({i * (claim.steps - 1) // max(count - 1, 1) for i in range(count)})
    return _PROBE.format(number_format=claim.number_format, numbers=_listed(numbers))


NATIVE = """\
Lemma works : Nat.eqb 1 1 = true.
Proof. native_cast_no_check (eq_refl true). Qed.
"""
"""A file that compiles, and without a warning, where the kernel can evaluate in native code."""


def coq_string(data: bytes) -> str:
    r"""Return a Coq string with these bytes; invisible bytes are written as numbers.

    Example:
        >>> print(coq_string(b'a "b" c'), coq_string(b"\x00d"))
        "a ""b"" c" (bytes [0]%nat ++ "d")
    """
    pieces: list[str] = []
    for seen, run in _runs(data):
        pieces.append('"' + run.decode().replace('"', '""') + '"' if seen else f"bytes {_listed(run)}%nat")
    if not pieces:
        return '""'
    return pieces[0] if len(pieces) == 1 and pieces[0].startswith('"') else f"({' ++ '.join(pieces)})"


def _runs(data: bytes) -> Iterator[tuple[bool, bytes]]:
    """Split data into readable pieces and the pieces between them."""
    run, kind = b"", True
    for character in _characters(data):
        seen = isinstance(character, str) and _PLAIN.fullmatch(character) is not None
        if run and seen != kind:
            yield kind, run
            run = b""
        run, kind = run + (character.encode() if isinstance(character, str) else character), seen
    if run:
        yield kind, run


def _characters(data: bytes) -> Iterator[str | bytes]:
    """Yield the characters of UTF-8, and the bytes that are none."""
    for character in data.decode("utf-8", "surrogateescape"):
        yield character.encode("utf-8", "surrogateescape") if "\udc80" <= character <= "\udcff" else character


def _listed(numbers: Iterable[int]) -> str:
    return f"[{'; '.join(map(str, numbers))}]"


def _matrix(tensor: Tensor, number: int = 0) -> list[Sequence[float]]:
    """Return the rows of a matrix, or of one of several."""
    rows, width = tensor.shape[-2:]
    start = number * rows * width
    return [tensor.values[start + i * width : start + (i + 1) * width] for i in range(rows)]


class _Writer:
    """Tensors as lists of integers in units of 2^-scale."""

    def __init__(self, scale: int) -> None:
        self.scale = scale

    def integers(self, numbers: Iterable[float]) -> str:
        units = [Fraction(number) * 2**self.scale for number in numbers]
        assert all(unit.denominator == 1 for unit in units)
        return _listed(unit.numerator for unit in units)

    def table(self, rows: list[Sequence[float]]) -> str:
        return f"[{'; '.join(map(self.integers, rows))}]"

    def neurons(self, rows: list[Sequence[float]], shifts: Sequence[float] | None) -> str:
        """Write columns, each with its shift if there are shifts."""
        columns = list(zip(*rows, strict=True))
        shift_lists = [[]] * len(columns) if shifts is None else [[shift] for shift in shifts]
        neurons = [
            f"Neuron {self.integers(column)} {self.integers(shift)}"
            for column, shift in zip(columns, shift_lists, strict=True)
        ]
        return f"[{'; '.join(neurons)}]"

    def linear(self, block: Block, part: str) -> str:
        shift = block.tensors.get(f"b_{part}")
        return self.neurons(_matrix(block.tensors[f"W_{part}"]), None if shift is None else shift.values)

    def head(self, block: Block, number: int) -> str:
        maps = []
        for part in "QKV":
            weights, shifts = block.tensors[f"W_{part}"], block.tensors.get(f"b_{part}")
            maps.append(self.neurons(_matrix(weights, number), None if shifts is None else shifts.row(number)))
        return f"Head {' '.join(maps)}"

    def block(self, block: Block) -> str:
        skip = "true" if block.options["skip"] else "false"
        if block.kind == "feed-forward":
            return f"FeedForward {self.linear(block, 'in')} {self.linear(block, 'out')} {skip}"
        count = block.shape("W_Q")[0]
        rows = [row for number in range(count) for row in _matrix(block.tensors["W_O"], number)]
        shift = block.tensors.get("b_O")
        written = self.neurons(rows, None if shift is None else shift.values)
        heads = "; ".join(self.head(block, number) for number in range(count))
        return f"Attention [{heads}] {written} {skip} {_WHO[block.options['attends']]}"
