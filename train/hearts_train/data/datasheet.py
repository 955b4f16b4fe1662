"""The datasheet of a dataset: its content, how it was made, and its limits.

The YAML head makes the folder a dataset for ``datasets`` and the Hugging Face Hub, which makes
Croissant metadata of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hearts_env.solve.beliefs import has_exact_worlds
from hearts_train.data import tables
from hearts_train.data.options import DatasetOptions

LICENSE = "MIT"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


def datasheet(facts: dict[str, Any], options: DatasetOptions) -> str:
    """The page, in Markdown."""
    lines = [*_head(facts, options), *_summary(facts, options)]
    if "parquet" in options.formats:
        lines += _table_of("games", "a game", tables.games_schema(), facts)
        schema = tables.decisions_schema(options)
        lines += _table_of("decisions", "a decision of a recorded seat", schema, facts)
    if "minari" in options.formats:
        lines += _episodes(facts, options)
    lines += [*_making(facts, options), *_limits(facts, options)]
    return "\n".join(lines)


def _head(facts: dict[str, Any], options: DatasetOptions) -> list[str]:
    """YAML that the Hub reads: the licence and the path of each table."""
    size = next((word for most, word in _SIZES if facts["games"] < most), "n>1M")
    lines = ["---", f"license: {LICENSE.lower()}"]
    lines += ["pretty_name: " + f"Hearts, {options.rules.name}".replace(":", " ")]
    lines += ["tags:", "- reinforcement-learning", "- hearts-env", "size_categories:", f"- {size}"]
    if "parquet" in options.formats:
        lines += ["configs:", "- config_name: decisions", "  data_files: decisions/*.parquet"]
        lines += ["  default: true", "- config_name: games", "  data_files: games/*.parquet"]
    return [*lines, "---", ""]


def _summary(facts: dict[str, Any], options: DatasetOptions) -> list[str]:
    rules = options.rules
    who = [f"- seat {seat}: `{agent}`" for seat, agent in enumerate(options.agents)]
    rows = [
        ("games (deals)", f"{facts['games']:,}"),
        ("decisions, all seats", f"{facts['decisions_of_all_seats']:,}"),
        ("mean score by seat, points", ", ".join(map(str, facts["mean_scores"]))),
        ("games in which a seat shot the moon", f"{facts['moons']:,}"),
        ("games ended by a fault of a player", f"{facts['revoked']:,}"),
    ]
    seats = "all seats" if len(options.seats) == rules.players else f"seats {options.seats}"
    return [
        f"# Hearts: {facts['games']:,} games of `{rules.name}`\n",
        "Deals of Hearts as computer players played them, recorded by hearts-env. Low scores",
        f"win. What is recorded is what {seats} saw and did. The players:\n",
        *who,
        "",
        *_markdown(("figure", "value"), rows),
    ]


def _table_of(name: str, row: str, schema: Any, facts: dict[str, Any]) -> list[str]:
    def cells(field: Any) -> tuple[str, ...]:
        item = getattr(field.type, "value_type", None)
        kind = str(field.type) if item is None else f"list<{item}>"
        about = field.metadata or {}
        unit, meaning = (about.get(key, b"").decode() for key in (b"unit", b"description"))
        return f"`{field.name}`", f"`{kind}`", unit, meaning

    return [
        f"## Table `{name}`\n",
        f"`{name}/*.parquet`, zstd, a row for {row}: {facts['rows'][name]:,} rows. The same",
        "descriptions stand in the files' own schema.\n",
        *_markdown(("field", "type", "unit", "meaning"), map(cells, schema)),
    ]


def _episodes(facts: dict[str, Any], options: DatasetOptions) -> list[str]:
    space = options.form.box
    legal = f"`({options.rules.num_actions},)` int8, 1 where an action is legal; zeros at the end"
    shape = f"`{space.shape}` {space.dtype}, encoder `{options.observation}` of docs/encoders.md"
    in_observation, in_info = options.form.mask_in_observation, options.form.mask_in_info
    places = ["`observations`"] * in_observation + ["`infos`"] * in_info
    rows = [
        ("`observations`", f"{'a dictionary: `observation` ' if in_observation else ''}{shape}"),
        (", ".join(places), f"`action_mask` {legal}"),
        ("`infos`", "`trick` int8, tricks finished; `is_random` bool, the action was drawn"),
        ("`actions`", "int64: action i plays `rules.deck[i]`"),
        ("`rewards`", f"float64, `{options.reward}`: to the seat's next decision or the end"),
        ("`terminations`", "bool, true at the last decision"),
        ("`truncations`", "bool, never true"),
        ("metadata", "`seed`, `game`, `seat`, `player`, `margin` (points), `deal` (hand history)"),
    ]
    where = f"minari/{options.dataset_id}/data"
    return [
        "## Episodes\n",
        f"`{where}`, for Minari: an episode for every game and recorded seat, "
        f"{facts['episodes']:,} of {facts['steps']:,} steps.",
        "Rewards are the project's own; each seat gets its last one, whoever plays the last",
        "card. Arrays of T + 1 rows end with the view after the deal.\n",
        *_markdown(("part", "content"), rows),
        "```python",
        f'dataset = minari.MinariDataset("{where}")',
        f'# or, with MINARI_DATASETS_PATH=minari: minari.load_dataset("{options.dataset_id}")',
        "```\n",
    ]


def _making(facts: dict[str, Any], options: DatasetOptions) -> list[str]:
    rows = [
        ("seed", f"{options.seed}"),
        ("rules, SHA-256 of their fields", f"`{facts['rules_digest']}`"),
        *((f"version of {name}", version) for name, version in facts["versions"].items()),
        *(
            (f"player {agent}, SHA-256", f"`{digest}`")
            for agent, digest in zip(options.agents, facts["players"], strict=True)
            if digest is not None
        ),
        ("licence", f"{LICENSE}, that of hearts-env"),
    ]
    return [
        "## How it was made\n",
        *_markdown(("what", "value"), rows),
        "The same options and versions give the same content, whatever the number of workers.",
        "`dataset.json` has all options, and the size and SHA-256 of every file. Deals are",
        "drawn apart from those of `hearts evaluate` and HeartsBench, whatever the seeds.\n",
    ]


def _limits(facts: dict[str, Any], options: DatasetOptions) -> list[str]:
    found = [
        "The players are programs: this is not how people play.",
        "Each game is a deal on its own; no totals of a match, so nobody plays for one.",
        "An action is what was played, not a judgement; players make mistakes.",
    ]
    if options.random:
        found.append(
            f"A share of {options.random:g} of the actions was drawn at random among those legal "
            "(`is_random`), forced ones included."
        )
    elif "minari" in options.formats:
        found.append(
            "Nothing was drawn at random (`--set random=`): what the players avoid is missing."
        )
    if options.exact:
        found.append(
            "`mean_values` assumes that from the next card on everybody sees all cards, and that "
            "every world is as likely: the judgement of `pimc`, not of perfect play."
        )
        if not has_exact_worlds(options.rules):
            found.append("`mean_values` is null throughout: an exchange reveals hidden cards.")
        else:
            found.append("`mean_values` is null where a view allows more than 1,024 worlds.")
    elif "parquet" in options.formats and options.rules.players > 2:
        found.append("No exact values: they are known in games of two only.")
    if options.rules.pass_count:
        found.append("Hand histories list passed cards in deck order, not as they were chosen.")
    if facts["faults"]:
        found.append(f"{facts['faults']:,} faults of players ended games; for example:")
    lines = [f"- {line}" for line in found]
    lines += [f"  - {example}" for example in facts["fault_examples"]]
    return ["## Known limits\n", *lines, ""]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, and an empty line."""
    lines = [head, ["---"] * len(head), *rows]
    return [
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines),
        "",
    ]
