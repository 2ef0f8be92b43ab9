"""One record of figures, which the screen, the page and JSON share."""

import json

import byheart
from byheart.figures import Figures, Tried


def test_json_has_every_field_and_null_where_one_does_not_apply():
    figures = Figures(verdict="PROVED", memories=(Tried(memory="a", refused="no"), Tried(memory="b", parameters=3)))
    fields = json.loads(json.dumps(figures.json()))
    assert set(fields) == set(vars(figures)) and fields["verdict"] == "PROVED" and fields["claim"] is None
    refused, built = fields["memories"]
    assert refused == {"memory": "a", "refused": "no"} and built["parameters"] == 3 and "refused" not in built


def test_the_folder_and_python_say_the_same(tmp_path):
    memory = byheart.memorize({("Peru", "capital"): "Lima", ("Peru", "river"): "Amazon"}, quick=True)
    saved = memory.save(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(saved.files) == {"model", "task", "certificate", "report", "summary"} and memory.figures.files == {}
    assert written == {**json.loads(json.dumps(saved.json())), "seconds": dict(memory.figures.seconds)}
    assert memory.figures.held == memory.figures.memorized == 2
