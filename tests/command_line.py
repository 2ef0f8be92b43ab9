"""Texts and tables to type commands with."""

from constructions.tasks.text import default_text

TEXT = default_text()[:5000]

FACTS = b"subject;relation;answer\nFrance;capital;Paris\nFrance;river;Seine\nPeru;capital;Lima\n"
CAPITALS_AND_RIVERS = {
    ("France", "capital"): "Paris", ("France", "river"): "Seine", ("Peru", "capital"): "Lima",
    ("Peru", "river"): "Amazon", ("Japan", "capital"): "Tokyo", ("Japan", "river"): "Shinano",
}  # fmt: skip


def words(text):
    return text.split()


def written(path, data):
    path.write_bytes(data)
    return str(path)


def copy(folder, target):
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target
