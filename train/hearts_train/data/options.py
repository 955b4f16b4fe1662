"""The options of a dataset, checked before anything is played."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearts_env import HeartsError, Rules, __version__
from hearts_env.encoders import ENCODERS
from hearts_env.envs.observations import ObservationFormat
from hearts_env.envs.rewards import Rewarder
from hearts_env.support import errors
from hearts_env.support.arguments import (
    check_chance,
    check_choice,
    check_flag,
    check_number,
    check_seed,
)
from hearts_env.support.errors import did_you_mean, quoted

FORMATS = ("parquet", "minari")
VIEWS = ("text", "json")
MAX_GAMES = 100_000_000

_LIBRARIES = {"parquet": ("pyarrow",), "minari": ("pyarrow", "h5py", "minari")}


@dataclass(frozen=True)
class DatasetOptions:
    """All options that determine the content of a dataset, checked when they are made.

    HeartsError names an option that has an unusable value.

    Attributes:
        agents: The name of the agent in each seat. A single name is for all seats.
        rules: The rules, or the name of a preset.
        games: The number of deals, 1 to 100,000,000.
        seed: The seed of deals and agents.
        formats: Some of ``FORMATS``.
        observation: The name of the encoder of the episodes' observations.
        dtype: The type of these observations. If None, the encoder's own.
        action_mask: Where an episode has the legal actions, as in the environments.
        reward: The kind of reward, as in the environments.
        exact: If True, decisions have the exact value of each legal card. If None, they have it
            in games of two with a table of decisions.
        views: The forms in which decisions show the player's view, some of ``VIEWS``.
        random: The share of actions that are drawn at random among the legal ones.
        seats: The seats with recorded decisions. If empty, all.
    """

    agents: Sequence[str]
    rules: Rules
    games: int
    seed: int = 0
    formats: Sequence[str] = FORMATS
    observation: str = "flat"
    dtype: str | None = None
    action_mask: str = "info"
    reward: str = "margin"
    exact: bool | None = None
    views: Sequence[str] = ("text",)
    random: float = 0.0
    seats: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Check and complete all options, in place."""
        rules = Rules.make(self.rules)
        agents = _one_a_seat(self.agents, rules)
        formats = _some("format", self.formats, FORMATS)
        if not isinstance(self.observation, str):
            raise HeartsError(
                f"observation: {quoted(self.observation)} is not a name; "
                f"{did_you_mean('', ENCODERS)}",
                value=self.observation,
            )
        form = ObservationFormat(rules, self.observation, self.dtype, self.action_mask)
        checked = {
            "agents": agents,
            "rules": rules,
            "games": check_number("games", self.games, 1, MAX_GAMES),
            "seed": check_seed(self.seed),
            "formats": formats,
            "dtype": None if self.dtype is None else form.dtype.name,
            "reward": Rewarder(rules, self.reward).kind,
            "exact": _exact(self.exact, rules, formats),
            "views": _some("view", self.views, VIEWS),
            "random": check_chance("random", self.random),
            "seats": _seats(rules, self.seats),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def form(self) -> ObservationFormat:
        """The observation format of the episodes, as in the environments."""
        return ObservationFormat(self.rules, self.observation, self.dtype, self.action_mask)

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

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> DatasetOptions:
        """Return the options that ``to_json`` wrote, checked again."""
        given = dict(record)
        try:
            return cls(**given | {"rules": Rules.from_dict(given.pop("rules_in_full"))})
        except (KeyError, TypeError, AttributeError):
            raise HeartsError("dataset: its settings are damaged; start another one") from None


def library(name: str) -> Any:
    """Import a library of the extra ``dataset``, or raise if it is not installed."""
    return errors.library(name, f"dataset: {name}", "dataset")


def check_libraries(formats: Sequence[str]) -> None:
    """Raise if a format needs a library that is missing, before anything is played."""
    for name in dict.fromkeys(name for word in formats for name in _LIBRARIES[word]):
        library(name)


def versions(formats: Sequence[str]) -> dict[str, str]:
    """Return the versions of this package and of the libraries that write the files."""
    names = dict.fromkeys(name for word in formats for name in _LIBRARIES[word])
    known = {name: str(library(name).__version__) for name in names}
    return {"hearts-env": __version__, "numpy": np.__version__} | known


# ---- checks --------------------------------------------------------------------------------------
def _one_a_seat(agents: Sequence[str], rules: Rules) -> tuple[str, ...]:
    given = _listed("agent", agents)
    if len(given) not in (1, rules.players):
        raise HeartsError(
            f"agent: {len(given)} given, but {rules.name!r} has {rules.players} seats; give one "
            "for each seat, or one for all of them"
        )
    for agent in given:
        if not isinstance(agent, str) or not agent.strip():
            raise HeartsError(
                f"agent: {quoted(agent)} is no name; give a name or a checkpoint", value=agent
            )
    return tuple(given * rules.players if len(given) == 1 else given)


def _some(option: str, given: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given names in the order of the known ones."""
    names = _listed(option, given)
    for name in names:
        check_choice(option, name, known)
    if not names:
        raise HeartsError(f"{option}: none given; known: {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _exact(exact: bool | None, rules: Rules, formats: Sequence[str]) -> bool:  # noqa: FBT001
    """Return whether the table of decisions gets exact values."""
    is_known = rules.players == 2
    exact = None if exact is None else check_flag("exact", exact)
    if exact and not is_known:
        raise HeartsError(
            f"exact: values exist for two players only, but {rules.name!r} has {rules.players}; "
            "use --set exact=false"
        )
    if exact and "parquet" not in formats:
        raise HeartsError(
            "exact: values need the table of decisions; add --set format=parquet, or use --set "
            "exact=false"
        )
    return "parquet" in formats and (is_known if exact is None else exact)


def _seats(rules: Rules, seats: Sequence[int]) -> tuple[int, ...]:
    given = _listed("seat", seats) or range(rules.players)
    return tuple(sorted({check_number("seat", seat, 0, rules.players - 1) for seat in given}))


def _listed(option: str, given: Any) -> list[Any]:
    """Return the argument as a list, with a single word as a list of one."""
    if isinstance(given, str):
        return [given]
    is_array = isinstance(given, np.ndarray) and given.ndim == 1
    if not is_array and (not isinstance(given, Sequence) or isinstance(given, bytes)):
        raise HeartsError(
            f"{option}: {quoted(given)} is not a list; give a list, even of one", value=given
        )
    return list(given)
