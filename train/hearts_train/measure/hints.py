"""What another player would do in your place: its choice and its reasons, from one sample."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hearts_agents import Agent, make_agent
from hearts_agents.base import AgentAdapter, check_rules
from hearts_agents.baselines import Pro
from hearts_agents.guard import ask_one, is_ours
from hearts_agents.search import Pimc
from hearts_agents.user_code import blamed
from hearts_env import HeartsError, PlayerView, Rules
from hearts_env.batch.views import BatchView
from hearts_train.measure.intervals import Z95

_ANOTHER = "ask another player, as in: hint pro"


@dataclass(frozen=True)
class Worth:
    """The estimated worth of one legal card.

    Attributes:
        action: The card.
        margin: Mean margin of the deal after it, for the player.
        half: Half the 95 % interval of that, over worlds; 0 if all worlds were weighed.
        is_close: Whether it has not been shown to be worse than the card chosen.
    """

    action: int
    margin: float
    half: float
    is_close: bool


@dataclass(frozen=True)
class Hint:
    """What an agent would do and why.

    Attributes:
        agent: Its name.
        action: What it would choose.
        worths: The legal cards, best first; empty where the agent does not weigh worlds.
        chances: The probability of each legal action, likeliest first, if the agent gives them.
        worlds: How many worlds were weighed.
        is_sample: Whether there are more.
    """

    agent: str
    action: int
    worths: tuple[Worth, ...] = ()
    chances: tuple[tuple[int, float], ...] = field(default=())
    worlds: int = 0
    is_sample: bool = False


def best_hinter(rules: Rules) -> Agent:
    """The strongest player of the package that tells what every card is worth to it."""
    pimc = make_agent("pimc", seed=0)
    try:
        check_rules(pimc, rules)
        return pimc
    except HeartsError:
        return make_agent("pro", seed=0)


def hint(agent: Agent, view: PlayerView) -> Hint:
    """What `agent` would do in a position: always the same, and always what its figures say.

    Raises:
        HeartsError: if the agent cannot play these rules, raises, or does not choose a legal
            action.
    """
    name = getattr(agent, "name", "") or type(agent).__name__
    if is_ours(agent):
        return _hint(agent, view, name)
    with blamed(f"hint: {name} gives none", _ANOTHER):
        return _hint(agent, view, name)


def values(agent: Pimc | Pro, view: PlayerView) -> Hint:
    """What every legal card is worth to a player of ours that weighs worlds, a forced one too.

    Raises:
        HeartsError: if it is not the turn of the view's player, or no card is to be played.
    """
    _settle(agent, view)
    return _weighed(agent.name, view.legal_actions(), *agent.world_margins(view))


def _settle(agent: Agent, view: PlayerView) -> None:
    """Let the agent's random numbers follow from the view."""
    reseed = getattr(agent, "reseed", None)
    if callable(reseed):
        digest = hashlib.blake2b(view.to_text().encode(), digest_size=7).digest()
        reseed(int.from_bytes(digest, "little"))


def _hint(agent: Agent, view: PlayerView, name: str) -> Hint:
    _settle(agent, view)
    legal = view.legal_actions()
    weigh = getattr(agent, "world_margins", None)
    if view.phase == "play" and len(legal) > 1 and callable(weigh):
        return _weighed(name, legal, *weigh(view))
    if _has_chances(agent) and len(legal) > 1:
        row = agent.action_probs(BatchView.of([view]))[0]
        ranked = sorted(((a, float(row[a])) for a in legal), key=lambda pair: (-pair[1], pair[0]))
        return Hint(name, ranked[0][0], chances=tuple(ranked))
    action, fault = ask_one(agent, view)
    if fault is not None:
        raise HeartsError(f"hint: {name} gives none ({fault.text}); {_ANOTHER}")
    return Hint(name, action)


def _has_chances(agent: Agent) -> bool:
    """Whether an agent gives probabilities of its own, not just its choice."""
    player = agent.player if isinstance(agent, AgentAdapter) else agent
    own = getattr(type(player), "action_probs", None)
    return own is not None and own is not Agent.action_probs


def _weighed(
    name: str,
    legal: list[int],
    margins: NDArray[np.float64],
    weights: NDArray[np.float64],
    is_sample: bool,  # noqa: FBT001 as world_margins returns it
) -> Hint:
    n = len(margins)
    shares = weights / weights.sum()
    means = shares @ margins
    best = int((means >= means.max() - 1e-9).argmax())  # of equals the lowest, as agents choose
    # Both spreads are over the same worlds: that of a difference is far below that of its parts.
    halves, gaps = np.zeros(len(legal)), np.zeros(len(legal))
    if is_sample:
        scale = Z95 * np.sqrt(n / max(n - 1, 1))
        halves = scale * np.sqrt((shares[:, None] ** 2 * (margins - means) ** 2).sum(0))
        behind = (margins[:, [best]] - margins) - (means[best] - means)
        gaps = scale * np.sqrt((shares[:, None] ** 2 * behind**2).sum(0))
    order = sorted(range(len(legal)), key=lambda i: (i != best, -means[i], i))
    worths = tuple(
        Worth(
            legal[i],
            float(means[i]),
            float(halves[i]),
            bool(means[best] - means[i] <= max(gaps[i], 1e-9)),
        )
        for i in order
    )
    return Hint(name, legal[best], worths, worlds=n, is_sample=is_sample)
