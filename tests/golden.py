"""Golden deals: what a few seeds deal, on every platform and in every version to come.

``python -m tests.golden`` writes tests/data/golden_deals.json. A change of these deals changes
everybody's experiments: it needs a new version and a line in the changelog.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hearts_env import Game, Match, Rules
from hearts_env.rules.presets import GAMES
from hearts_env.support.files import write_json

DATA = Path(__file__).parent / "data" / "golden_deals.json"
SEEDS = (0, 1, 7, 2**32 + 5, 2**63 - 1)


def golden_deal(name: str, players: int, seed: int) -> dict[str, Any]:
    """What the seed deals, in text."""
    game = Game.deal(Rules.preset(name, players), seed)
    return {
        "rules": name,
        "players": players,
        "seed": seed,
        "deal_number": game.deal_number,
        "dealer": game.dealer,
        "hands": [" ".join(game.hand(seat)) for seat in range(players)],
        "kitty": " ".join(game.kitty),
    }


def golden_match(name: str, seed: int) -> dict[str, Any]:
    """The seeds of the first deals of a match."""
    match = Match(name, seed)
    return {"rules": name, "seed": seed, "seeds": [match.deal_seed(n) for n in range(4)]}


def main() -> None:
    """Writes the data file."""
    deals = [golden_deal(name, players, seed) for name, players in GAMES for seed in SEEDS]
    matches = [golden_match("two_player", seed) for seed in SEEDS]
    write_json(DATA, {"deals": deals, "matches": matches})


if __name__ == "__main__":
    main()
