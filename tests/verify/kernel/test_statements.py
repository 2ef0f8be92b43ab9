"""The statements of a certificate stand in one order, and each is of a kind that is known."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.verify.kernel import folders
from tests.verify.kernel.test_check import said
from verify.kernel import answers
from verify.kernel.check import check_folder
from verify.kernel.verdicts import BadInputError, NotProvedError


def test_statements_in_another_order_twice_or_unknown(tmp_path: Path) -> None:
    folder = folders.probes(tmp_path)
    data = folders.certificate(folder)
    first, runs = data["statements"]
    for statements, expected in (
        ([runs, first], 2),
        ([first, runs, runs], 2),
        ([runs], 2),
        ([first, {**runs, "id": "halts"}], 3),
        ([first, {**first, "id": "runs"}], 2),
    ):
        data["statements"] = statements
        assert folders.code(folders.rewritten(folder, data)) == expected


def test_a_false_statement_outweighs_one_without_a_proof(tmp_path: Path) -> None:
    data = folders.certificate(folders.lookup(tmp_path))
    first = data["statements"][0]
    unknown = {**first, "id": "halts"}
    first = {**first, "values": {**first["values"], "margin_lower": (4.0).hex()}}
    first["statement"] = said(answers, first, tmp_path)
    data["statements"] = [first, unknown]
    assert folders.code(folders.rewritten(tmp_path, data)) == 1


def test_a_kind_is_added_from_outside(tmp_path: Path) -> None:
    """A statement that the model has so many parameters, in one object."""

    def check(statement: int, certificate: object, evaluation: SimpleNamespace) -> str:
        if evaluation.model.parameters != statement:
            raise NotProvedError(f"parameters: there are {evaluation.model.parameters}")
        return "counted"

    parameters = SimpleNamespace(
        ID="parameters",
        read=lambda field, record, certificate: record["values"]["parameters"],
        sentence=lambda statement, certificate: f"The model has {statement} parameters.",
        check=check,
    )
    folder = folders.lookup(tmp_path)
    for count, expected in ((36, True), (37, False)):
        text = f"The model has {count} parameters."
        record = {"memorized": "", "id": "parameters", "method": "", "statement": text, "values": {"parameters": count}}
        data = folders.certificate(folder)
        folders.rewritten(folder, {**data, "statements": [data["statements"][0], record]})
        if expected:
            assert check_folder(folder, [parameters])[1] == "The model has 36 parameters. [counted]"
        else:
            with pytest.raises(NotProvedError, match="there are 36"):
                check_folder(folder, [parameters])
    assert folders.code(folder) == 3


def test_no_kind_from_outside_answers_the_question(tmp_path: Path) -> None:
    """Only the task says which kind comes first."""
    yes = SimpleNamespace(
        ID="yes",
        PLACE=0,
        read=lambda field, record, certificate: None,
        sentence=lambda statement, certificate: "Yes.",
        check=lambda statement, certificate, evaluation: "believed",
    )
    record = {"memorized": "", "id": "yes", "method": "", "statement": "Yes.", "values": {}}
    folder = folders.lookup(tmp_path)
    data = folders.certificate(folder)
    for statements in ([record, *data["statements"]], [*data["statements"], record], [record]):
        folders.rewritten(folder, {**data, "statements": statements})
        with pytest.raises(BadInputError, match="statements do not begin with 'answers'"):
            check_folder(folder, [yes])
