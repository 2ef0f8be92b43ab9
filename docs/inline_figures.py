"""Drawings become part of the page, so that they follow its light and dark and their links can be followed.

A drawing that has a script of its name in `_static` moves: the page that shows it loads the script.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class InlineFigures(SphinxPostTransform):
    """Replaces each image that is an SVG file by the drawing itself."""

    default_priority = 5  # before the images are copied
    builders = ("html",)

    def run(self, **_: object) -> None:
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.env.srcdir) / image["uri"]
            if path.suffix == ".svg":
                drawn = path.read_text(encoding="utf-8")
                opening = f'<div class="figure" data-drawing="{path.stem}">'
                image.replace_self(nodes.raw("", f"{opening}{drawn}</div>", format="html"))


def load_scripts(app: Sphinx, page: str, template: str, context: dict[str, object], document: nodes.document) -> None:
    """Let a page load the scripts of the drawings that it shows."""
    shown = re.findall(r'data-drawing="(\w+)"', str(context.get("body", "")))
    for name in shown:
        script = f"{name}.js"
        if (Path(app.srcdir) / "_static" / script).is_file():
            app.add_js_file(script)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(InlineFigures)
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
