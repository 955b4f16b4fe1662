"""The tables of a dataset, games and decisions, in Arrow and Parquet.

Every field has a description in its metadata, which the datasheet repeats.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents.programs.view_lines import ViewLines
from hearts_env import Game
from hearts_env import kernel as k
from hearts_env.support.arrays import Ints
from hearts_env.views.position import PHASES
from hearts_train.data.options import DatasetOptions, library
from hearts_train.data.playing import Played, Values

pa: Any = library("pyarrow")
pq: Any = library("pyarrow.parquet")

Arrow = Any
"""A ``pyarrow.Table``."""


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
        _field("revoker", pa.int8(), "seat that ended the deal by a fault; -1 if none"),
        _field("decisions", pa.int16(), "number of decisions in the game, by all seats"),
    ]
    return pa.schema(fields)


def decisions_schema(options: DatasetOptions) -> Any:
    """Return the schema of the table of decisions."""
    text = pa.string()
    shown = {
        "text": "the player's view in words (PlayerView.to_text)",
        "json": "the player's view as JSON, as external programs get it (docs/agents.md)",
    }
    fields = [
        _field("game", pa.int64(), "number of the game, as in the table of games"),
        _field("step", pa.int16(), "number of the decision in its game, by all seats, from 0"),
        _field("seat", pa.int8(), "seat that decides"),
        _field("player", text, "name of the player in that seat"),
        _field("phase", text, "kind of decision: pass, play or moon"),
        _field("trick", pa.int8(), "number of finished tricks"),
        *[_field(f"view_{name}", text, shown[name]) for name in options.views],
        _field("legal", pa.list_(text), "legal cards, in deck order; off, others after a moon"),
        _field("legal_actions", pa.list_(pa.int8()), "legal actions by number"),
        _field("action", pa.int8(), "number of the action played"),
        _field("card", text, "name of the action played"),
        _field("is_random", pa.bool_(), "true if drawn at random, not the player's choice"),
        _field("reward", pa.float64(), f"{options.reward}, up to the seat's next decision"),
        _field("margin", pa.float32(), "margin of the seat at the end of the deal", "points"),
    ]
    if options.exact:
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
            _field("worlds", pa.int32(), "number of worlds of the view; null if not counted"),
        ]
    return pa.schema(fields)


def hand_histories(played: Played, options: DatasetOptions) -> list[str]:
    """Return the hand history of each game of a block."""
    tags = {f"Player {i}": name for i, name in enumerate(options.agents)}
    return [
        Game.from_state(played.rules, state).to_text({**tags, "Seed": str(seed)})
        for state, seed in zip(played.states, played.seeds.tolist(), strict=True)
    ]


def games_table(played: Played, options: DatasetOptions) -> Arrow:
    """Return the games of a block as a table."""
    rules, states, n = played.rules, played.states, played.rules.players
    size = len(states)
    points = states[:, k.every_seat(k.POINTS, n)]
    columns: dict[str, Any] = {
        "game": played.first + np.arange(size),
        "seed": played.seeds,
        "rules": [rules.name] * size,
        "players": [list(options.agents)] * size,
        "text": hand_histories(played, options),
        "scores": played.scores.tolist(),
        "points": points.tolist(),
        "margins": played.margins.tolist(),
        "shooter": states[:, k.SHOOTER],
        "revoker": states[:, k.REVOKER],
        "decisions": np.bincount(played.games, minlength=size),
    }
    return _table(games_schema(), columns)


def decisions_table(played: Played, options: DatasetOptions, values: Values | None) -> Arrow:
    """Return the decisions of the recorded seats of a block as a table."""
    chosen = played.rows_of(options.seats)
    rules, views = played.rules, played.views.subset(chosen)
    games, actions = played.games[chosen], played.actions[chosen]
    names = np.array([rules.action_name(a) for a in range(rules.num_actions)], dtype=object)
    legal = views.legal_table
    offsets = np.concatenate([[0], legal.sum(1).cumsum()])
    rows, cards = legal.nonzero()
    columns: dict[str, Any] = {
        "game": played.first + games,
        "step": played.steps[chosen],
        "seat": views.players,
        "player": [options.agents[seat] for seat in views.players.tolist()],
        "phase": [PHASES[phase] for phase in views.vectors[:, k.PHASE].tolist()],
        "trick": views.vectors[:, k.TRICK_NUM],
        "legal": _lists(offsets, names[cards].tolist(), pa.string()),
        "legal_actions": _lists(offsets, cards, pa.int8()),
        "action": actions,
        "card": names[actions].tolist(),
        "is_random": played.is_random[chosen],
        "reward": played.rewards[chosen],
        "margin": played.margins[games, views.players],
    }
    if "text" in options.views:
        columns["view_text"] = [view.to_text() for view in views]
    if "json" in options.views:
        columns["view_json"] = ViewLines(rules).write(views)
    if values is not None:
        for name, found, kind in (
            ("mean_values", values.mean, pa.float32()),
            ("seen_values", values.seen, pa.int16()),
        ):
            missing = np.isnan(found[np.arange(len(chosen)), actions])
            flat = found[rows, cards]
            columns[name] = _lists(offsets, np.nan_to_num(flat), kind, missing)
        worlds = values.worlds
        columns["worlds"] = pa.array(worlds, pa.int32(), mask=worlds == 0)
    return _table(decisions_schema(options), columns)


def _lists(offsets: Ints, flat: Any, kind: Any, missing: NDArray[np.bool_] | None = None) -> Any:
    """Return a column of lists, with null for missing ones."""
    values = pa.array(flat, kind) if isinstance(flat, list) else pa.array(flat).cast(kind)
    mask = None if missing is None else pa.array(missing)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=mask)


def _table(schema: Any, columns: dict[str, Any]) -> Arrow:
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for field, column in ((field, columns[field.name]) for field in schema)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def parquet_bytes(blocks: list[Arrow]) -> bytes:
    """Return the tables as one Parquet file with one row group, compressed with zstd."""
    table = pa.concat_tables(blocks).combine_chunks()
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=6,
        row_group_size=max(1, table.num_rows),
        write_page_checksum=True,
    )
    return sink.getvalue()
