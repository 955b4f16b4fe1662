"""The parts of the pages: modules, styles and the pictures of the cards.

The modules import one another as ``hearts/NAME.js``. An import map says where they are: below
``/static/`` on a server, or inside the page as ``data:`` URLs, for a file that needs no network.
There is no build step.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hearts_env.cards import ALL_CARDS
from hearts_env.render.shapes import HEIGHT, Group, card_back, card_face
from hearts_env.render.svg import svg_lines

STATIC = Path(__file__).parent / "static"
COURTS = Path(__file__).parent / "data" / "courts.svg"

_WIDTH = 100.0  # of a card in the sprite, with half of its edge outside
_MARGIN = 0.6
_COURT = (
    '<use href="#court-{}" x="24.5" y="30.5" width="51" height="81"/>'
    '<path d="M24.5 30.5h51v81h-51z" fill="none" stroke="#2b4a94" stroke-width=".7"/>'
)
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_SCRIPT = re.compile(r"<script\b(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)


def index() -> bytes:
    """Return the page of the lobby, the tables and the board, also for unknown addresses."""
    return (STATIC / "index.html").read_bytes()


def script_digests(page: bytes) -> list[str]:
    """Return the digests of a page's inline scripts for its content policy: ``'sha256-...'``."""
    return [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in _SCRIPT.findall(page.decode())
    ]


@cache
def sprite() -> str:
    """Return all cards as one SVG document of symbols.

    ``QS`` is a face, ``back`` a closed card. The ink is ``currentColor``, so the page chooses the
    colours of the suits. ``court-QS`` and ``pip-S`` are parts of the pictures of the court cards.
    """
    symbols = [_symbol("back", card_back(_WIDTH))]
    for card in ALL_CARDS:
        is_court = card[0] in "JQK"
        face = card_face(card, _WIDTH, ink="currentColor", centre=not is_court)
        symbols.append(_symbol(card, face, _COURT.format(card) if is_court else ""))
    _, _, courts = COURTS.read_text(encoding="utf-8").partition("-->\n")
    drawn = "\n".join(symbols)
    return f'<svg xmlns="http://www.w3.org/2000/svg" id="cards">\n{drawn}\n{courts}'


@dataclass(frozen=True)
class File:
    """A file below ``/static/``, compressed once.

    Attributes:
        kind: the media type.
        data: the content.
        packed: the content, compressed.
        tag: the entity tag.
    """

    kind: str
    data: bytes
    packed: bytes
    tag: str

    @classmethod
    def of(cls, name: str, data: bytes) -> File:
        """Return a file with this name and content."""
        tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        return cls(_KINDS[Path(name).suffix], data, gzip.compress(data, mtime=0), tag)


@cache
def files() -> dict[str, File]:
    """Return the files below ``/static/`` by name."""
    found = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in _KINDS}
    found["cards.svg"] = sprite().encode()
    return {name: File.of(name, data) for name, data in found.items()}


def _symbol(name: str, group: Group, more: str = "") -> str:
    size = f"{_WIDTH + 2 * _MARGIN:g} {_WIDTH * HEIGHT + 2 * _MARGIN:g}"
    drawn = "".join(svg_lines(group.items[1:]))  # without the shadow, which the style adds
    return f'<symbol id="{name}" viewBox="-{_MARGIN:g} -{_MARGIN:g} {size}">{drawn}{more}</symbol>'


def inline_modules() -> str:
    """Return an import map, as JSON, with all modules as ``data:`` URLs.

    A page with this map in ``<script type="importmap">`` runs them without a network.
    """
    found = {}
    for path in sorted(STATIC.glob("*.js")):
        coded = base64.b64encode(path.read_bytes()).decode()
        found[f"hearts/{path.name}"] = f"data:text/javascript;base64,{coded}"
    return json.dumps({"imports": found})


# ---- the board as one file -----------------------------------------------------------------------
_TITLE = "Hearts, card by card"
_START = """import {mount} from "hearts/board.js";
const documents = JSON.parse(document.getElementById("deals").textContent);
mount(document.getElementById("main"), {documents});
"""


def board_page(documents: Sequence[dict[str, Any]]) -> bytes:
    """Return one page with the board and the documents of deals, as ``review`` returns them.

    Its content policy allows its own scripts and no request.
    """
    scripts = (
        f'<script type="importmap">{inline_modules()}</script>\n'
        f'<script type="module">{_START}</script>\n'
    )
    allowed = " ".join(script_digests(scripts.encode()))
    policy = (
        f"default-src 'none'; script-src data: {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    styles = "\n".join(
        (STATIC / name).read_text(encoding="utf-8") for name in ("style.css", "board.css")
    )
    drawn = sprite().replace("<svg ", '<svg class="unseen" aria-hidden="true" ', 1)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_TITLE}</title>\n<style>{styles}</style>\n</head>\n"
        f'<body>\n<header class="offline"><h1>{_TITLE}</h1></header>\n'
        '<main id="main" tabindex="-1">\n'
        "<p>This page needs JavaScript; it runs from the file, without a network.</p>\n</main>\n"
        '<p id="live" class="unseen" role="status" aria-live="polite" aria-atomic="true"></p>\n'
        f'{drawn}<script type="application/json" id="deals">{_embedded(documents)}</script>\n'
        f"{scripts}</body>\n</html>\n"
    ).encode()


def _embedded(documents: Sequence[dict[str, Any]]) -> str:
    """Return JSON that cannot end the element around it."""
    text = json.dumps(documents, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
