"""Write the datasheet of a dataset: its content, origin and limits.

The YAML header lets ``datasets`` and the Hugging Face Hub load the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hearts_env.solve.policies import has_exact_worlds
from hearts_train.data import tables
from hearts_train.data.options import DatasetOptions

_TABLES = """configs:
- config_name: decisions
  data_files: decisions/*.parquet
  default: true
- config_name: games
  data_files: games/*.parquet
"""


def datasheet(facts: dict[str, Any], options: DatasetOptions) -> str:
    """Return the datasheet in Markdown."""
    parts = []
    if "parquet" in options.formats:
        schemas = (tables.games_schema(), tables.decisions_schema(options))
        parts += [*map(_table, ("games", "decisions"), schemas)]
    if "minari" in options.formats:
        parts.append(_episodes(options))
    players = zip(options.agents, facts["players"], strict=True)
    rows = [
        *((f"seat {p}", f"`{who}` {seal or ''}".strip()) for p, (who, seal) in enumerate(players)),
        ("mean score by seat, points", ", ".join(map(str, facts["mean_scores"]))),
        ("decisions", f"{facts['decisions']:,}"),
        ("games in which a seat shot the moon", f"{facts['moons']:,}"),
        ("seed", str(options.seed)),
        *((f"version of {name}", version) for name, version in facts["versions"].items()),
    ]
    limits = "".join(f"- {line}\n" for line in _limits(options))
    return f"""---
license: mit
pretty_name: {f"Hearts, {options.rules.name}".replace(":", " ")}
tags:
- reinforcement-learning
- hearts-env
{_TABLES if "parquet" in options.formats else ""}---

# Hearts: {facts["games"]:,} games of `{options.rules.name}`

Deals of Hearts played by computer players, recorded by hearts-env. Low scores win. The digest
beside a player is the SHA-256 of its files.

{_rows(("property", "value"), rows)}
The same options and versions give the same content with any number of workers. `dataset.json` has
all options, and the size and SHA-256 of every file. The deals are different from those of
`hearts evaluate` and HeartsBench, whatever the seeds. The licence is that of hearts-env.

{"".join(parts)}## Known limits

{limits}"""


def _table(name: str, schema: Any) -> str:
    """Describe the fields of a table."""
    rows = []
    for field in schema:
        item = getattr(field.type, "value_type", None)
        kind = str(field.type) if item is None else f"list<{item}>"
        about = (field.metadata.get(key, b"").decode() for key in (b"unit", b"description"))
        rows.append((f"`{field.name}`", f"`{kind}`", *about))
    return f"""## Table `{name}`

`{name}/*.parquet` has one row for each of the {name}. The schema of the files has the same
descriptions.

{_rows(("field", "type", "unit", "meaning"), rows)}
"""


def _episodes(options: DatasetOptions) -> str:
    """Describe the episodes."""
    return f"""## Episodes

`minari.MinariDataset("minari/{options.dataset_id}/data")` has one episode per game and seat.

- Observations: encoder `{options.observation}`.
- Actions: action i plays `rules.deck[i]`.
- Rewards: `{options.reward}`, up to the seat's next decision or the end of the deal.
- Infos: `action_mask`, the legal actions, zeros at the end; `trick`, the number of finished tricks.
- Metadata: `seed`, `game`, `seat`, `player`, `margin` in points, `deal` (the hand history).

Observations and infos have one row more than actions, for the end of the deal.

"""


def _limits(options: DatasetOptions) -> list[str]:
    """Return the limits that a user of the dataset should know."""
    found = [
        "The players are programs, so the games do not show how people play.",
        "Each game is a single deal, and no player plays for a match.",
        "The recorded actions need not be the best ones.",
        "Only the players choose, so cards that they avoid are rare or missing.",
    ]
    if options.has_values:
        found.append(
            "`mean_values` assumes that all players see all cards after the action, and that every "
            "world is equally likely. It is the judgement of `pimc`, not of perfect play."
        )
        if has_exact_worlds(options.rules):
            found.append("`mean_values` is null if a view allows more than 1,024 worlds.")
        else:
            found.append("`mean_values` is always null, because an exchange reveals hidden cards.")
    elif options.rules.players > 2:
        found.append("There are no exact values, which exist for two players only.")
    if options.rules.pass_count:
        found.append("Hand histories list passed cards in deck order, not in the order chosen.")
    return found


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
