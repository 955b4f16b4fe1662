"""Notebook displays: games and views as pictures, results as tables."""

from __future__ import annotations

from xml.etree import ElementTree

from hearts_env import Game
from hearts_train.measure.analysis import analyse
from hearts_train.measure.display import ResultTable
from tests.strategies import played_on
from tests.test_render import cards_in_svg


# ---- pictures ------------------------------------------------------------------------------------
def test_game_shows_all_hands_but_view_one() -> None:
    game = Game.deal("two_player", seed=7)
    assert cards_in_svg(game._repr_svg_()) == set(game.rules.deck)
    assert cards_in_svg(game.view(1)._repr_svg_()) == set(game.hand(1))


# ---- tables --------------------------------------------------------------------------------------
def cells(html: str) -> list[list[str]]:
    """Return the text of every table row in a document."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_result_table_escapes_html() -> None:
    table = ResultTable("a <b> & c", ["x<y", "z"], [["<script>", "1 & 2"], ["", "ü"]])
    assert "<script>" not in table.to_html()
    assert cells(table.to_html()) == [["x<y", "z"], ["<script>", "1 & 2"], ["", "ü"]]
    assert "<caption>a &lt;b&gt; &amp; c</caption>" in table.to_html()
    assert "caption" not in ResultTable("", ["x"], []).to_html()


def test_an_analysis_shows_every_card() -> None:
    game = played_on("mini", 3, 10)
    analysis = analyse(game, names=["<Ann>", "Bob"])
    rows = cells(analysis._repr_html_())
    assert len(rows) == 1 + len(game.actions)
    assert [row[2].split()[0] for row in rows[1:]] == [card for _, card in game.history]
    assert "<Ann>" not in analysis._repr_html_()
