"""The options of a dataset, checked before anything is played."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hearts_agents.spec import path_name
from hearts_env import HeartsError, Rules
from hearts_env.encoders import ENCODERS
from hearts_env.envs.rewards import Rewarder
from hearts_env.support.arguments import check_choice, check_flag, check_number, check_seed
from hearts_env.support.errors import quoted

FORMATS = ("parquet", "minari")
MAX_GAMES = 100_000_000


@dataclass(frozen=True)
class DatasetOptions:
    """All options that determine the content of a dataset, checked when they are made.

    HeartsError names an option that has an unusable value.

    Attributes:
        agents: the name of the agent in each seat, or a single name for all seats. Paths become
            names.
        rules: the rules, or the name of a preset.
        games: the number of deals, 1 to 100,000,000.
        seed: the seed of deals and agents.
        formats: some of ``FORMATS``.
        observation: the name of the encoder of the episodes' observations.
        reward: the kind of reward, as in the environments.
        exact: if True, decisions in games of two players have the exact value of each legal card.
    """

    agents: Sequence[str]
    rules: Rules
    games: int
    seed: int = 0
    formats: Sequence[str] = FORMATS
    observation: str = "flat"
    reward: str = "margin"
    exact: bool = True

    def __post_init__(self) -> None:
        """Check and complete all options, in place."""
        for argument, names in (("agents", self.agents), ("formats", self.formats)):
            if not isinstance(names, list | tuple):
                raise HeartsError(
                    f"{argument}: {quoted(names)} is not a list; give a list of names"
                )
        rules = Rules.make(self.rules)
        agents = tuple(path_name(a) if isinstance(a, os.PathLike) else a for a in self.agents)
        if len(agents) not in (1, rules.players):
            raise HeartsError(
                f"agent: {len(agents)} given, but {rules.name!r} has {rules.players} seats; give "
                "one for each seat, or one for all of them"
            )
        for name in self.formats:
            check_choice("format", name, FORMATS)
        if not self.formats:
            raise HeartsError(f"format: none given; known: {', '.join(FORMATS)}")
        check_choice("observation", self.observation, tuple(ENCODERS))
        checked = {
            "agents": agents * rules.players if len(agents) == 1 else agents,
            "rules": rules,
            "games": check_number("games", self.games, 1, MAX_GAMES),
            "seed": check_seed(self.seed),
            "formats": tuple(name for name in FORMATS if name in self.formats),
            "reward": Rewarder(rules, self.reward).kind,
            "exact": check_flag("exact", self.exact),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def has_values(self) -> bool:
        """True if the table of decisions has exact values."""
        return self.exact and self.rules.players == 2

    @property
    def dataset_id(self) -> str:
        """The name under which Minari loads the episodes, like ``hearts/two_player/pro-v0``."""
        named = (self.rules.name, *dict.fromkeys(self.agents))
        words = [re.sub(r"[^A-Za-z0-9_]+", "-", word).strip("-") for word in named]
        return f"hearts/{words[0]}/{'-'.join(words[1:])}-v0"

    def to_json(self) -> dict[str, Any]:
        """Return all options as JSON types."""
        values = {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}
        return values | {"rules": self.rules.name, "rules_in_full": self.rules.to_dict()}
