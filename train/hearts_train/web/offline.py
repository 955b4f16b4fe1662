"""The analysis board as one file that needs no network: its modules, pictures and deals inside."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path

from hearts_env.support.files import write_whole
from hearts_train.web.assets import inline_modules, inline_styles, script_digests, sprite
from hearts_train.web.moments import Json

STYLES = ("style.css", "board.css")
_START = """import {mount} from "hearts/board.js";
import {apply} from "hearts/settings.js";
apply();
const documents = JSON.parse(document.getElementById("deals").textContent);
mount(document.getElementById("main"), {documents});
"""


def write_board(documents: Sequence[Json], path: Path) -> None:
    """Write deals, as ``review`` tells them, into one page.

    Raises:
        OSError: if the file cannot be written.
    """
    write_whole(path, board_page(documents))


def board_page(documents: Sequence[Json], title: str = "Hearts, card by card") -> bytes:
    """One page with the board and these deals in it; nothing is fetched, nothing is sent.

    Its content policy allows its own scripts alone, and no request.
    """
    told = html.escape(title)
    scripts = (
        f'<script type="importmap">{inline_modules(["board.js", "settings.js"])}</script>\n'
        f'<script type="module">{_START}</script>\n'
    )
    allowed = " ".join(script_digests(scripts.encode()))
    policy = (
        f"default-src 'none'; script-src data: {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    drawn = sprite().replace("<svg ", '<svg class="unseen" aria-hidden="true" ', 1)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>{told}</title>\n<style id="styles">{inline_styles(STYLES)}</style>\n</head>\n'
        f'<body>\n<header class="offline"><h1>{told}</h1></header>\n'
        '<main id="main" tabindex="-1">\n'
        "<p>This page needs JavaScript; it runs from the file, without a network.</p>\n</main>\n"
        '<div id="notices" role="alert"></div>\n'
        '<p id="live" class="unseen" role="status" aria-live="polite" aria-atomic="true"></p>\n'
        f'{drawn}<script type="application/json" id="deals">{_embedded(documents)}</script>\n'
        f"{scripts}</body>\n</html>\n"
    ).encode()


def _embedded(documents: Sequence[Json]) -> str:
    """JSON that may stand inside a page: nothing in it can end its element."""
    text = json.dumps(documents, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
