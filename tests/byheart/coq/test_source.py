"""The file of a claim has the numbers and texts of the folder, and no word of a file becomes code."""

import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byheart.coq.claim import claim_of
from byheart.coq.source import (
    FAR,
    NEAR,
    PIECE,
    attempts,
    claim_source,
    coq_string,
    least_scale,
    probe_source,
    proof_sources,
)
from constructions.errors import FileFormatError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from tests.command_line import copy
from tests.machine_checked import ROSE, sources
from tests.task_files import read, write

STRING = re.compile(r'"((?:[^"]|"")*)"|bytes \[([\d; ]*)\]')


def bytes_of(expression):
    """What a string of Coq evaluates to."""
    pieces = (
        bytes(map(int, found[2].split(";"))) if found[2] is not None else found[1].replace('""', '"').encode()
        for found in STRING.finditer(expression)
    )
    return b"".join(pieces)


def flat(model):
    """All numbers of a model, in the order of the file: neurons are columns, each followed by its shift."""

    def neurons(weights, shifts):
        columns = np.vstack([weights, shifts]) if shifts is not None else weights
        return columns.T.ravel().tolist()

    numbers = [*model.W_E.ravel(), *model.W_pos.ravel()]
    for block in model.blocks:
        if isinstance(block, Attention):
            for head in range(block.n_heads):
                for part in "QKV":
                    shifts = getattr(block, f"b_{part}")
                    numbers += neurons(getattr(block, f"W_{part}")[head], None if shifts is None else shifts[head])
            numbers += neurons(block.W_O.reshape(-1, block.d_out), block.b_O)
        else:
            numbers += neurons(block.W_in, block.b_in) + neurons(block.W_out, block.b_out)
    return [*numbers, *neurons(model.W_U, model.b_U)]


@pytest.mark.parametrize("name", ["capitals_folder", "rose_folder"])
def test_the_integers_are_the_weights(name, request):
    folder = request.getfixturevalue(name)
    claim = claim_of(folder, "float32")
    scale = least_scale(claim) + 1
    [stored] = re.findall(r"Definition stored : model := Model \d+(.*?)\.\n\n", claim_source(claim, scale, FAR), re.S)
    found = [int(number) for number in re.findall(r"(?<![\w])-?\d+", stored)]
    assert np.array_equal(np.array(found) / 2.0**scale, flat(Model.load(folder / "model.safetensors")))
    assert len(found) == claim.model.parameters


def test_the_text_is_in_the_file_and_so_are_the_hashes(rose_folder):
    text = sources(rose_folder)["claim.v"]
    [written] = re.findall(r"Definition written : list string := \[(.*?)\]%string\.", text, re.S)
    assert bytes_of(written) == ROSE.encode()
    for name in ("model.safetensors", "task.safetensors"):
        assert f"{name}: SHA-256 {hashlib.sha256((rose_folder / name).read_bytes()).hexdigest()}" in text
    assert re.findall(r"Require Import (.*?)\.\n", text) == ["String List ZArith", "semantics"]


@given(st.binary(max_size=40))
def test_a_string_of_coq_has_the_bytes(data):
    assert bytes_of(coq_string(data)) == data


@given(st.text(max_size=40))
def test_a_string_of_coq_has_the_text_and_its_quotation_marks_are_closed(text):
    expression = coq_string(text.encode())
    assert bytes_of(expression) == text.encode()
    assert re.fullmatch(r"[()+\s]*", STRING.sub("", expression).replace("%nat", ""))


def test_a_length_that_is_code_is_refused_by_its_type(rose_folder, tmp_path):
    folder = copy(rose_folder, tmp_path / "code")
    task = read(folder / "task.safetensors")
    code = "7.\nDefinition windows (a : nat) (b c : list nat) : list (list nat * nat) := []. Definition unused := 7"
    write(folder / "task.safetensors", {**task, "context_length": code})
    with pytest.raises(FileFormatError):
        claim_of(folder, "float32")


def test_long_tables_are_proved_in_pieces(capitals_folder):
    claim = claim_of(capitals_folder, "float32")
    rows = tuple(((0,), 0) for _ in range(2 * PIECE + 1))
    object.__setattr__(claim, "facts", rows)
    files = proof_sources(claim)
    assert list(files) == ["answers_0.v", "answers_1.v", "answers_2.v", "proof.v"]
    assert f"pieces_are_all float32 far stored {PIECE} 3" in files["proof.v"]
    for number in range(3):
        assert f"(piece {PIECE} facts {number}) = true" in files[f"answers_{number}.v"]


def test_answers_are_evaluated_in_native_code_where_that_is_asked_for_and_the_rest_never(rose_folder):
    claim = claim_of(rose_folder, "float32")
    for native, machine in ((False, "vm"), (True, "native")):
        files = proof_sources(claim, native=native)
        assert re.findall(r"(\w+)_cast_no_check", files["answers_0.v"]) == [machine]
        assert set(re.findall(r"(\w+)_cast_no_check", files["proof.v"])) == {"vm"}


def test_the_bound_of_the_exponential_is_1000_before_it_is_120(rose_folder):
    tried = list(attempts(claim_of(rose_folder, "float32")))
    assert [far for _, far in tried] == [FAR] * 4 + [NEAR] * 4 == [1000] * 4 + [120] * 4
    scales = [scale for scale, _ in tried[:4]]
    assert scales == sorted(set(scales)) == [scale for scale, _ in tried[4:]]


def test_facts_from_the_first_to_the_last_are_tried_before_all(capitals_folder):
    claim = claim_of(capitals_folder, "float32")
    for count, numbers in ((1, [0]), (5, [0, 1, 2, 3, 4]), (1501, list(range(0, 1501, 100)))):
        object.__setattr__(claim, "facts", tuple(((0,), 0) for _ in range(count)))
        [written] = re.findall(r"\(piece 1 facts\) \[([\d; ]*)\]", probe_source(claim))
        assert [int(number) for number in written.split(";")] == numbers
