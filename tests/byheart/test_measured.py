"""What stands beside a certificate, and the files that are made of both."""

import json

import pytest

from byheart import check_memorization, memorize
from byheart.measured import Measured, proved_figures, require_made_again, summary_json
from byheart.report.pages import page
from constructions.errors import FileFormatError, TamperedError
from constructions.tasks.task import Task

MEMORY = memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True)


def test_what_a_certificate_says_is_kept_nowhere_else(tmp_path):
    MEMORY.save(tmp_path / "out")
    measured = Measured.load(tmp_path / "out", MEMORY.certificate)
    assert not set(measured.figures) & set(proved_figures(MEMORY.certificate))
    assert measured.source == MEMORY.source and measured.drawn is not None
    said = json.loads(summary_json(MEMORY.certificate, measured))
    assert said["headline"] == MEMORY.certificate.headline() and said["memorized"] == 2
    assert said["measured"]["memory"] == MEMORY.figures.memory


def test_two_makers_make_the_same_files(tmp_path):
    for name in ("one", "two"):
        MEMORY.save(tmp_path / name)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    measured = Measured.load(tmp_path / "two", MEMORY.certificate)
    assert isinstance(MEMORY.task, Task)
    text = page(tmp_path / "two", MEMORY.certificate, MEMORY.model, MEMORY.task, measured)
    assert text.encode() == one["report.html"]


def test_a_folder_of_the_certificate_alone_has_nothing_to_make_again(tmp_path):
    MEMORY.save(tmp_path / "out")
    for name in ("summary.json", "report.html", "measured.json"):
        (tmp_path / "out" / name).unlink()
    require_made_again(tmp_path / "out")
    assert repr(check_memorization(tmp_path / "out")) == MEMORY.certificate.headline()


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"\xff", b'{"drawn":null,"figures":{},"format":"x","source":"","version":1}\n']
)
def test_other_data_are_refused(tmp_path, data):
    MEMORY.save(tmp_path / "out")
    (tmp_path / "out" / "measured.json").write_bytes(data)
    with pytest.raises(FileFormatError, match=r"measured\.json"):
        require_made_again(tmp_path / "out")


def test_another_summary_is_refused(tmp_path):
    MEMORY.save(tmp_path / "out")
    (tmp_path / "out" / "summary.json").write_text("{}")
    with pytest.raises(TamperedError, match=r"summary\.json"):
        require_made_again(tmp_path / "out")
