"""Settings of Sphinx: Markdown pages that GitHub shows too, and a site that needs no network."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# Documents are trees that stay: looking for garbage among them took a tenth of the time.
gc.set_threshold(200_000, 50, 100)

project = "byheart"
author = "byheart contributors"
copyright = author
extensions = ["myst_parser", "mathml", "contents", "inline_figures", "notebook_pages", "register", "tables"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

smartquotes = False  # Theorem 1' and x'_S have primes

html_theme = "furo"
html_title = "byheart"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["mathml.css", "book.css"]
html_copy_source = False
html_show_copyright = False
