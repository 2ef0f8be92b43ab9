"""Drawings become part of the page, so that they follow its light and dark and their links can be followed."""

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
                image.replace_self(nodes.raw("", f'<div class="figure">{drawn}</div>', format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(InlineFigures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
