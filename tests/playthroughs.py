"""One deal of every game as text, decision by decision: what was legal, done, seen and paid.

The texts lie in tests/data/playthroughs; a test plays the deals again and compares. Arrays are
shown by a digest. After an intended change, ``python tests/playthroughs.py`` writes the texts
again, and the version goes up.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from hearts_env import hearts_v0
from hearts_env.encoders import ENCODERS, encode
from hearts_env.rules.presets import PRESETS

FOLDER = Path(__file__).parent / "data" / "playthroughs"
DEALS = {name: seed for seed, name in enumerate(PRESETS, start=101)}
"""The seed of each game's deal."""


def digest(array: np.ndarray) -> str:
    """Six letters that identify an array, the same for the same numbers in any dtype."""
    text = f"{array.shape} {array.astype(np.float64).round(6).tolist()}"
    return hashlib.blake2b(text.encode(), digest_size=3).hexdigest()


def playthrough(name: str) -> str:
    """The text of a game's deal."""
    env = hearts_v0.raw_env(name, reward="trick", observation="flat")
    env.reset(seed=DEALS[name])
    rules, game = env.rules, env.game
    lines = ["# seed " + str(DEALS[name]), *game.start().to_text().rstrip().splitlines()]
    lines += ["", "observations: " + " ".join(ENCODERS) + " state"]
    names = [*rules.deck, "off", "others"]
    number = 0
    while env.agents and not any(env.terminations.values()):
        legal = game.legal_actions()
        player = game.player
        assert player is not None
        mask = env.observe(env.agent_selection)["action_mask"]
        assert np.flatnonzero(mask).tolist() == legal
        action = legal[(7 * number + 3) % len(legal)]
        views = [encode(encoder, game.view(player)) for encoder in ENCODERS.values()]
        seen = " ".join(digest(array) for array in [*views, env.state()])
        lines.append(
            f"{number} {game.phase} {env.agent_selection}: {' '.join(names[a] for a in legal)} "
            f"-> {names[action]} | {seen}"
        )
        env.step(action)
        paid = [f"{reward:+.6f}" for reward in env.rewards.values()]
        if any(env.rewards.values()):
            lines.append("  rewards " + " ".join(paid))
        number += 1
    lines += ["", f"points {game.points()}", f"scores {game.scores()}", f"shooter {game.shooter}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all texts."""
    FOLDER.mkdir(exist_ok=True)
    for name in PRESETS:
        (FOLDER / f"{name}.txt").write_text(playthrough(name), encoding="utf-8")


if __name__ == "__main__":
    main()
