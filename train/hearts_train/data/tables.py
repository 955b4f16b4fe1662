"""The tables of a dataset, games and decisions, in Arrow and Parquet.

Every field has a description in its metadata, which the datasheet repeats.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet as pq

from hearts_env import Game
from hearts_env import kernel as k
from hearts_env.support.arrays import Ints
from hearts_env.views.position import PHASES
from hearts_train.data.options import DatasetOptions
from hearts_train.data.playing import Played, exact_values


def _field(name: str, kind: Any, description: str, unit: str = "") -> Any:
    about = {"description": description} | ({"unit": unit} if unit else {})
    return pa.field(name, kind, metadata=about)


def games_schema() -> Any:
    """Return the schema of the table of games."""
    text, numbers = pa.string(), pa.list_(pa.int16())
    fields = [
        _field("game", pa.int64(), "number of the game in the dataset, from 0"),
        _field("seed", pa.int64(), "the cards: Game.deal(rules, seed=seed)"),
        _field("rules", text, "the rules, for Rules.from_text"),
        _field("players", pa.list_(text), "name of the player in each seat"),
        _field("text", text, "the hand history, for Game.from_text (docs/notation.md)"),
        _field("scores", numbers, "score of each seat; low is good", "points"),
        _field("points", numbers, "points of the cards that each seat took", "points"),
        _field("margins", pa.list_(pa.float32()), "others' mean score minus the seat's", "points"),
        _field("shooter", pa.int8(), "seat that shot the moon; -1 if none"),
        _field("decisions", pa.int16(), "number of decisions in the game, by all seats"),
    ]
    return pa.schema(fields)


def decisions_schema(options: DatasetOptions) -> Any:
    """Return the schema of the table of decisions."""
    text = pa.string()
    fields = [
        _field("game", pa.int64(), "number of the game, as in the table of games"),
        _field("step", pa.int16(), "number of the decision in its game, by all seats, from 0"),
        _field("seat", pa.int8(), "seat that decides"),
        _field("player", text, "name of the player in that seat"),
        _field("phase", text, "kind of decision: pass, play or moon"),
        _field("trick", pa.int8(), "number of finished tricks"),
        _field("view_text", text, "the player's view in words (PlayerView.to_text)"),
        _field("legal", pa.list_(text), "legal cards, in deck order; off, others after a moon"),
        _field("legal_actions", pa.list_(pa.int8()), "legal actions by number"),
        _field("action", pa.int8(), "number of the action played"),
        _field("card", text, "name of the action played"),
        _field("reward", pa.float64(), f"{options.reward}, up to the seat's next decision"),
        _field("margin", pa.float32(), "margin of the seat at the end of the deal", "points"),
    ]
    if options.has_values:
        fields += [
            _field(
                "mean_values",
                pa.list_(pa.float32()),
                "margin after each legal card with double-dummy play, mean over all worlds of the "
                "view; null if not known exactly",
                "points",
            ),
            _field(
                "seen_values",
                pa.list_(pa.int16()),
                "margin after each legal card with double-dummy play, given the true cards; null "
                "outside the play of cards",
                "points",
            ),
        ]
    return pa.schema(fields)


def hand_histories(played: Played, options: DatasetOptions) -> list[str]:
    """Return the hand history of each game of a part."""
    tags = {f"Player {i}": name for i, name in enumerate(options.agents)}
    return [
        Game.from_state(played.rules, state).to_text({**tags, "Seed": str(seed)})
        for state, seed in zip(played.ends, played.seeds.tolist(), strict=True)
    ]


def games_bytes(played: Played, options: DatasetOptions, texts: list[str]) -> bytes:
    """Return the games of a part as a Parquet file. `texts` has their hand histories."""
    rules, ends, size = played.rules, played.ends, len(played.ends)
    columns: dict[str, Any] = {
        "game": played.first + np.arange(size),
        "seed": played.seeds,
        "rules": [rules.name] * size,
        "players": [list(options.agents)] * size,
        "text": texts,
        "scores": played.scores.tolist(),
        "points": ends[:, k.every_seat(k.POINTS, rules.players)].tolist(),
        "margins": played.margins.tolist(),
        "shooter": ends[:, k.SHOOTER],
        "decisions": np.bincount(played.games, minlength=size),
    }
    return _parquet(columns, games_schema())


def counts_of(games: bytes) -> dict[str, Any]:
    """Return the counts of a part (see ``Episodes.counts``) from its untrusted table of games.

    Raises:
        Exception: if the table is damaged or has other columns. It may be of any type.
    """
    columns = ["decisions", "shooter", "scores"]
    table = pq.read_table(io.BytesIO(games), columns=columns, schema=games_schema()).to_pydict()
    return {
        "games": len(table["decisions"]),
        "decisions": sum(table["decisions"]),
        "moons": sum(shooter >= 0 for shooter in table["shooter"]),
        "scores": np.array(table["scores"]).sum(0).tolist(),
    }


def decisions_bytes(played: Played, options: DatasetOptions) -> bytes:
    """Return the decisions of a part as a Parquet file."""
    rules, views, actions = played.rules, played.views, played.actions
    names = np.array([rules.action_name(a) for a in range(rules.num_actions)], dtype=object)
    legal = views.legal_table
    offsets = np.concatenate([[0], legal.sum(1).cumsum()])
    cards = legal.nonzero()[1]
    columns: dict[str, Any] = {
        "game": played.first + played.games,
        "step": played.steps,
        "seat": views.players,
        "player": [options.agents[seat] for seat in views.players.tolist()],
        "phase": [PHASES[phase] for phase in views.vectors[:, k.PHASE].tolist()],
        "trick": views.vectors[:, k.TRICK_NUM],
        "view_text": [view.to_text() for view in views],
        "legal": _lists(offsets, pa.array(names[cards].tolist())),
        "legal_actions": _lists(offsets, pa.array(cards)),
        "action": actions,
        "card": names[actions].tolist(),
        "reward": played.rewards(options.reward),
        "margin": played.margins[played.games, views.players],
    }
    if options.has_values:
        seen, mean = exact_values(views, played.states)
        for name, found in (("mean_values", mean), ("seen_values", seen)):
            flat = np.nan_to_num(found[legal])
            missing = np.isnan(found[np.arange(len(actions)), actions])
            columns[name] = _lists(offsets, pa.array(flat), missing)
    return _parquet(columns, decisions_schema(options))


def _lists(offsets: Ints, flat: Any, missing: NDArray[np.bool_] | None = None) -> Any:
    """Return a column of lists, with null for missing lists."""
    mask = None if missing is None else pa.array(missing)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, mask=mask)


def _parquet(columns: dict[str, Any], schema: Any) -> bytes:
    """Return a table as a Parquet file with one row group, compressed with zstd."""
    sink = io.BytesIO()
    table = pa.Table.from_pydict(columns, schema=schema)
    pq.write_table(table, sink, compression="zstd", compression_level=6)
    return sink.getvalue()
