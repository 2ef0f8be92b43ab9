"""The record of a device: complete, honest about what is missing, and whole whenever somebody looks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from byheart.choice.chooser import offers
from byheart.device_runs.cases import Case, cases
from byheart.device_runs.record import BATCHES, DTYPES, MODES, Record, reasons, record_device, table
from constructions.errors import InputError
from constructions.model.construction import Construction
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.arrays import enumerated_task
from verify.torch.device import DeviceError

AFFINE, KNOTS = (next(case for case in cases() if case.name == name) for name in ("affine", "knots"))


def recorded(path: Path, *chosen: Case, **options: Any) -> Record:
    """Cases that run as PyTorch runs them, unless `modes` is given: to compile takes seconds."""
    return record_device(path, chosen=chosen, **{"modes": ("eager",), "command": "a test"} | options)


def test_every_case_runs_in_every_type_and_batch_size(tmp_path: Path) -> None:
    found = recorded(tmp_path / "new" / "r.json", AFFINE, KNOTS)
    runs = {(row["name"], row["dtype"], row["batch"]) for row in found.rows}
    assert len(runs) == len(found.rows) == 2 * len(DTYPES) * len(BATCHES) and not found.left_out
    assert {row["batch"] for row in found.rows} == {1, 7, 64, "all"}
    for row in found.rows:
        judged = row["name"] == "affine" or row["dtype"] in ("float32", "float64")
        assert row["agrees"] is (True if judged else None)
        assert (row["largest_bound"] is not None) == (row["dtype"] in ("float32", "float64"))
    assert found.headline.startswith("AGREES, MEASURED: 24 of 24 judged runs on cpu are within what is proved; 8 more")
    assert len(table(found)) == 2 * len(DTYPES) and reasons(found) == []
    written = json.loads((tmp_path / "new" / "r.json").read_text())
    assert written == json.loads(json.dumps(found.json()))
    assert written["command"] == "a test" and written["torch"] == torch.__version__ and written["verdict"] == "PROVED"


def test_compiled_runs_come_after_those_that_are_not(tmp_path: Path) -> None:
    found = recorded(tmp_path / "r.json", AFFINE, dtypes=("float32",), modes=MODES, backend="eager")
    assert [(row["mode"], row["batch"]) for row in found.rows] == [
        (mode, "all" if batch is None else batch) for mode in ("eager", "compiled") for batch in BATCHES
    ]
    assert found.verdict.value == "PROVED"


def test_what_disagrees_is_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from verify.torch.module import Replica

    original = Replica.forward
    monkeypatch.setattr(Replica, "forward", lambda self, *given: -original(self, *given))
    found = recorded(tmp_path / "r.json", KNOTS, dtypes=("float32",))
    assert found.verdict.value == "REFUTED" and found.headline.startswith("DISAGREES, MEASURED: 0 of 4 judged runs")
    assert table(found)[0]["agrees"] == "NO"


def bit_table_of_distributions(_: object) -> Construction[Any]:
    task = enumerated_task(3, 2, target="distributions")
    built = offers(task, names=("bit-table",), dtype="float16")[0].built
    assert built is not None
    return built


@pytest.mark.parametrize(
    "case", [AFFINE, replace(AFFINE, build=bit_table_of_distributions)], ids=["labels", "distributions"]
)
def test_a_lost_fact_that_every_run_holds_disagrees_in_a_type_without_a_rounding_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    from verify.torch.module import Replica

    assert recorded(tmp_path / "r.json", case, dtypes=("float16",)).verdict.value == "PROVED"
    original = Replica.forward
    monkeypatch.setattr(Replica, "forward", lambda self, *given: -original(self, *given))
    assert recorded(tmp_path / "r.json", case, dtypes=("float16",)).verdict.value == "REFUTED"


def test_without_time_everything_is_left_out_and_the_answer_is_not_yes(tmp_path: Path) -> None:
    found = recorded(tmp_path / "r.json", AFFINE, minutes=1e-9)
    assert found.rows == [] and reasons(found) == [("no time was left", "16 runs")]
    assert found.verdict.value == "UNDECIDED" and found.headline.startswith("NOT FINISHED, MEASURED: 0 of 0")
    with pytest.raises(InputError, match="minutes = -1"):
        recorded(tmp_path / "r.json", AFFINE, minutes=-1)


def test_an_interrupt_leaves_what_was_run_until_then(tmp_path: Path) -> None:
    def interrupted(_: object) -> Construction[Any]:
        raise KeyboardInterrupt

    found = recorded(tmp_path / "r.json", KNOTS, replace(AFFINE, build=interrupted))
    written = json.loads((tmp_path / "r.json").read_text())
    assert not written["finished"] and len(written["rows"]) == len(BATCHES) == len(found.rows)
    assert written["verdict"] == "UNDECIDED" and written["headline"].endswith("; interrupted")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_before_its_end_the_file_says_that_it_is_not_finished(tmp_path: Path) -> None:
    path, seen = tmp_path / "r.json", []

    def looking(_: object) -> Any:
        seen.append(json.loads(path.read_text()))
        return KNOTS.build("float32")

    assert recorded(path, KNOTS, replace(AFFINE, build=looking), dtypes=("float32",)).finished
    assert [each["verdict"] for each in seen] == ["UNDECIDED"] and len(seen[0]["rows"]) == len(BATCHES)
    assert all(each["headline"].startswith("NOT FINISHED") for each in seen)


def test_what_raises_an_error_is_left_out_with_its_sentence_and_the_rest_runs(tmp_path: Path) -> None:
    def refused(_: object) -> Construction[Any]:
        raise DeviceError("the GPU: float64 is emulated")

    found = recorded(tmp_path / "r.json", replace(AFFINE, build=refused), KNOTS, dtypes=("float64",))
    assert len(found.rows) == 4 and reasons(found) == [("DeviceError: the GPU: float64 is emulated", "4 runs")]
    assert found.verdict.value == "UNDECIDED"


def test_what_the_weights_do_not_hold_is_not_counted_as_memorized(tmp_path: Path) -> None:
    theorem_1 = next(case for case in cases() if case.name == "theorem-1")
    built = theorem_1.build("float32")
    assert isinstance(built, Construction)
    other = dana_network(**{**dana_tensors(built.model), "W_U": -built.model.W_U})
    honest = recorded(tmp_path / "a.json", theorem_1, dtypes=("float32",))
    wrong = recorded(
        tmp_path / "b.json", replace(theorem_1, build=lambda _: replace(built, model=other)), dtypes=("float32",)
    )
    assert all(row["memorized"] == 100 for row in honest.rows)
    assert all(row["memorized"] == row["memorized_proved"] == 0 for row in wrong.rows)


def test_a_device_that_is_not_there_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="no CUDA device"):
        recorded(tmp_path / "r.json", AFFINE, device="cuda")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.gpu
def test_every_case_agrees_on_a_gpu(tmp_path: Path) -> None:
    found = record_device(tmp_path / "r.json", device="cuda", dtypes=("float32",))
    assert found.rows and all(row["agrees"] is not False for row in found.rows)
    assert found.driver is not None and found.cuda is not None
