"""Notebooks as pages of the site: their cells and what these printed, as Markdown."""

import json

from docutils.nodes import document
from myst_parser.sphinx_ import Parser
from sphinx.application import Sphinx


def markdown(notebook: str) -> str:
    """Return the page of a notebook; it belongs to no list but that of the gallery."""
    parts = ["---\norphan: true\n---"]
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else _fenced("python", source))
        for output in cell.get("outputs", ()):
            found = output.get("text", output.get("data", {}).get("text/plain", ""))
            if text := "".join(found).rstrip():
                parts.append(_fenced("text", text))
    return "\n\n".join(parts) + "\n"


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text}\n````"


class NotebookParser(Parser):
    """What reads an ``.ipynb`` as the Markdown of its cells."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: document) -> None:
        """Parse the text of a notebook into a document."""
        super().parse(markdown(inputstring), document)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what this module does with Sphinx."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
