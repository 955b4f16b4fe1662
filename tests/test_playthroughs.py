"""The deals of tests/data/playthroughs are played as their texts say."""

from __future__ import annotations

from hearts_env.rules.presets import PRESETS
from tests.playthroughs import FOLDER, playthrough
from tests.slow import few


@few("name", PRESETS, ["two_player", "mini", "classic"])
def test_a_deal_is_played_as_its_text_says(name: str) -> None:
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert playthrough(name) == expected


def test_there_is_a_text_of_every_game_and_no_other() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(PRESETS)
