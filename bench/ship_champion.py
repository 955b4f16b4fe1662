"""Puts the player of a training run into the package, as ``champion`` of a game.

    hearts train champion --run runs/champion
    python bench/ship_champion.py runs/champion two_player champion

The file that comes with the package is the run's, its weights rounded to 16 bits, with the command
that anybody can give and without the folder that it was given in. The card beside it has the run's
final evaluation; its learning curve goes to ``docs/images``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from hearts_agents.champion import OTHERS, SHIPPED, weights_of
from hearts_agents.models.checkpoint import read_checkpoint, save_checkpoint
from hearts_env.support.files import write_whole
from hearts_train.console import note
from hearts_train.learn import runs
from hearts_train.learn.config_files import load_config
from hearts_train.learn.report import format_card

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """Read the command line, and write the two files."""
    parser = argparse.ArgumentParser(description="Put a run's player into the package.")
    parser.add_argument("run", type=Path, help="the run's folder")
    parser.add_argument("game", choices=SHIPPED)
    parser.add_argument("config", help="the shipped config that makes it again")
    parser.add_argument("--kind", choices=OTHERS, default="", help="as the game's other network")
    parser.add_argument("--remark", default="", help="what the config does not say")
    given = parser.parse_args()
    if given.kind and given.game not in OTHERS[given.kind]:
        parser.error(f"--kind: {given.game} has no other network of the kind {given.kind}")
    load_config(given.config)
    tensors, meta = read_checkpoint(given.run)
    training = meta.training | {"name": given.config, "command": f"hearts train {given.config}"}
    if given.remark:
        training["remark"] = given.remark
    meta = replace(meta, training=training)
    path = weights_of(given.game, given.kind)
    save_checkpoint(path, tensors, meta, half=True)
    final = json.loads((given.run / "evaluation.json").read_text(encoding="utf-8"))
    card = format_card(meta, final)
    if given.remark:
        card += f"\n## Remark\n\n{given.remark}\n"
    write_whole(path.with_suffix(".md"), card.encode())
    write_whole(IMAGES / f"{path.stem}.png", (given.run / runs.CURVE_NAME).read_bytes())
    note(f"{path.name}: {path.stat().st_size:,} bytes, and its card")


if __name__ == "__main__":
    main()
