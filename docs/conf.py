"""Settings of Sphinx for the documentation site, which `make docs` builds.

The pages are plain Markdown that reads well on GitHub too. ``docs/site_pages.py`` adapts them.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(path) for path in (DOCS, ROOT, ROOT / "agents", ROOT / "train")]

import citation  # noqa: E402
import site_pages  # noqa: E402
from pygments.lexers.shell import BashLexer  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from hearts_env import __version__  # noqa: E402

project = "hearts-env"
author = ", ".join(citation.authors(citation.project()))
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_site"]
needs_sphinx = "8.2"
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

default_role = "code"
smartquotes = False  # --resume is two dashes
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
maximum_signature_line_length = 72
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Fields", "params_style")]  # of `Rules`

copybutton_exclude = ".linenos, .gp, .go"
copybutton_selector = "div:not(.output) > div.highlight > pre"

html_theme = "furo"
html_title = "hearts-env"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_permalinks_icon = "#"
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Set up the site."""
    app.add_lexer("console", BashLexer)  # pages show commands without a prompt
    site_pages.setup(app)
