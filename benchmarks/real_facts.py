"""Write 71 facts, of which a small language model knows some.

    python -m benchmarks.real_facts FILE

`make real` asks them of SmolLM2-135M-Instruct.
"""

import csv
import io
import sys
from pathlib import Path

from constructions.formats.files import write_atomically

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "Poland": "Warsaw", "Russia": "Moscow", "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi",
    "Egypt": "Cairo", "Kenya": "Nairobi", "Peru": "Lima", "Chile": "Santiago", "Canada": "Ottawa",
    "Australia": "Canberra", "Austria": "Vienna", "Hungary": "Budapest", "Greece": "Athens", "Turkey": "Ankara",
    "Norway": "Oslo", "Sweden": "Stockholm", "Finland": "Helsinki", "Denmark": "Copenhagen", "Ireland": "Dublin",
    "Belgium": "Brussels", "Thailand": "Bangkok", "Cuba": "Havana", "Iran": "Tehran", "Iraq": "Baghdad",
}  # fmt: skip

OTHERS = {
    "The largest planet in the solar system is": "Jupiter",
    "The chemical symbol for gold is": "Au",
    "Water boils at": "100",
    "The opposite of hot is": "cold",
    "The opposite of up is": "down",
    "The opposite of big is": "small",
    "The color of the sky is": "blue",
    "The first president of the United States was": "George Washington",
    "Two plus two equals": "four",
    "The sun rises in the": "east",
    "Romeo and": "Juliet",
    "Once upon a": "time",
    "Albert": "Einstein",
    "Isaac": "Newton",
    "Charles": "Darwin",
    "William": "Shakespeare",
    "Leonardo da": "Vinci",
    "The theory of relativity was developed by": "Albert Einstein",
    "The theory of evolution was proposed by": "Charles Darwin",
    "The Mona Lisa was painted by": "Leonardo da Vinci",
    "The author of Hamlet is": "William Shakespeare",
    "The currency of Japan is the": "yen",
    "The Great Wall is in": "China",
    "The Eiffel Tower is in": "Paris",
    "Mount Everest is in": "Nepal",
    "The Nile is a river in": "Egypt",
    "Monday, Tuesday,": "Wednesday",
    "January, February,": "March",
    "one, two, three,": "four",
    "A, B, C,": "D",
    "red, orange, yellow,": "green",
    "A group of wolves is called a": "pack",
    "The plural of mouse is": "mice",
    "The past tense of go is": "went",
    "Happy": "birthday",
    "Merry": "Christmas",
    "New York": "City",
    "The United States of": "America",
    "The Pacific": "Ocean",
    "peanut butter and": "jelly",
    "salt and": "pepper",
}


def facts() -> list[tuple[str, str]]:
    """Prompts and answers."""
    return [(f"The capital of {land} is", city) for land, city in CAPITALS.items()] + list(OTHERS.items())


def write(path: Path) -> None:
    """Write the facts as a table."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([("prompt", "answer"), *facts()])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, table.getvalue().encode())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
