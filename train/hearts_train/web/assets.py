"""What the pages are made of: modules, styles and the pictures of the cards.

The modules name one another ``hearts/NAME.js``. An import map says where they are: below
``/static/`` where a server sends them, or in the page itself as ``data:`` URLs, so that one file
needs no network. There is no build step.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hearts_env import HeartsError
from hearts_env.cards import ALL_CARDS
from hearts_env.render.shapes import HEIGHT, Group, card_back, card_face, large_face
from hearts_env.render.svg import svg_lines

STATIC = Path(__file__).parent / "static"
SPRITE = "cards.svg"
"""The name of the cards below ``/static/``; it is drawn, not a file."""

_WIDTH = 100.0  # of a card in the sprite; its edge is half outside
_MARGIN = 0.6
_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["']hearts/([\w.-]+\.js)["']""")
_SCRIPT = re.compile(r"<script\b(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)


def index() -> bytes:
    """The page that all addresses get."""
    return (STATIC / "index.html").read_bytes()


def script_digests(page: bytes) -> list[str]:
    """What a content policy must allow for the inline scripts of a page: ``'sha256-...'`` each."""
    return [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in _SCRIPT.findall(page.decode())
    ]


@cache
def sprite() -> str:
    """All cards as one SVG document of symbols.

    ``QS`` is a face, ``large-QS`` the same in large print, ``back`` a closed card. The ink is
    ``currentColor``, so that the page chooses the colours of the suits.
    """
    groups = [("back", card_back(0, 0, _WIDTH))]
    for card in ALL_CARDS:
        groups.append((card, card_face(card, 0, 0, _WIDTH, ink="currentColor")))
        groups.append((f"large-{card}", large_face(card, 0, 0, _WIDTH, ink="currentColor")))
    symbols = "\n".join(_symbol(name, group) for name, group in groups)
    return f'<svg xmlns="http://www.w3.org/2000/svg" id="cards">\n{symbols}\n</svg>\n'


def _symbol(name: str, group: Group) -> str:
    size = f"{_WIDTH + 2 * _MARGIN:g} {_WIDTH * HEIGHT + 2 * _MARGIN:g}"
    drawn = "".join(svg_lines(group.items[1:]))  # without the shadow, which the page's style casts
    return f'<symbol id="{name}" viewBox="-{_MARGIN:g} -{_MARGIN:g} {size}">{drawn}</symbol>'


def inline_modules(entry: Sequence[str]) -> str:
    """An import map, as JSON, that holds modules and all that they import as ``data:`` URLs.

    A page with ``<script type="importmap">`` of it and a ``<script type="module">`` that imports
    ``hearts/NAME.js`` runs them from one file, without a network.

    Args:
        entry: names of modules, such as ``"board.js"``.

    Raises:
        HeartsError: if a module is missing.
    """
    found: dict[str, str] = {}
    waiting = list(entry)
    while waiting:
        name = waiting.pop()
        if f"hearts/{name}" in found:
            continue
        if not re.fullmatch(r"[\w.-]+\.js", name) or not (STATIC / name).is_file():
            raise HeartsError(
                f"modules: {name!r} is not among the page's files; is it installed?", value=name
            )
        text = (STATIC / name).read_text(encoding="utf-8")
        coded = base64.b64encode(text.encode()).decode()
        found[f"hearts/{name}"] = f"data:text/javascript;base64,{coded}"
        waiting += _IMPORT.findall(text)
    return json.dumps({"imports": dict(sorted(found.items()))})


def inline_styles(entry: Sequence[str]) -> str:
    """The text of style sheets of the page, one after the other."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in entry)


def routes() -> list[Any]:
    """The route of what is drawn; all other files are on the disk."""
    # Only a server has starlette: whoever inlines the modules does without.
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def cards(request: Request) -> Response:
        return Response(sprite(), media_type="image/svg+xml")

    return [Route(f"/static/{SPRITE}", cards)]
