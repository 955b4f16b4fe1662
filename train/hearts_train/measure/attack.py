"""Attacks: what players who know an agent's policy win from it, a lower bound on what it loses.

Nobody knows what a perfect opponent would win from an agent on 28 cards. Attackers
(``hearts_agents.attackers``) know the agent and answer it as well as they can, with their own view
alone; what they win over duplicate deals, they win from a player that cannot be changed any more,
so a best response wins at least as much. On decks that are small enough (`is_small`) the best
response is exact, and so is what each attacker wins: their ratio says what the attackers are worth.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hearts_agents import Agent, make_agent
from hearts_agents.attackers import METHODS, Attacker, asked, played_by
from hearts_env import BatchGame, HeartsError, Rules, __version__
from hearts_env.batch.views import BatchView
from hearts_env.solve.beliefs import check_two_players, has_exact_worlds
from hearts_env.solve.best_response import Exploitability, exploitability, policy_of
from hearts_env.solve.best_response import exploit as best_response
from hearts_env.solve.response import Chooser, Responses, whole_game
from hearts_env.solve.tree import Tree
from hearts_env.solve.walk import num_deals
from hearts_env.support.arguments import check_number, check_seed
from hearts_env.support.progress import Show, silent
from hearts_train.measure.contenders import Contender, Entrant, named, rules_for
from hearts_train.measure.evaluation import Contest, Evaluation, check_deals

TRAINED = "trained"
"""The attacker that has to be trained before it can be measured."""
DRAWN_NOISE = 0.1
"""How often an agent that tells no chances is taken to play at random."""
_MOST_DEALS = 20_000
"""Small decks have no more deals than this; ``mini`` has 8,316."""
_MIXED_TRICKS = 4
"""The most last tricks that are answered exactly, unless asked for, where an agent mixes."""
_VIEWS = 256
"""So many views are put to an agent twice, to see whether it draws random numbers."""


@dataclass(frozen=True)
class Gain:
    """What one attacker wins.

    Attributes:
        attacker: Its name.
        margin: Points a deal that it wins from the agent.
        ci95: The 95 % interval over duplicate deals; None where the margin is exact.
        ratio: The margin divided by what a best response wins; None where that is not known, or
            is nothing.
        deals: Duplicate deals; 0 where all deals count.
        seconds: Time that it took.
        ms_per_decision: Milliseconds a decision, many games at once; None where all deals count.
        agent_faults: Deals that the agent lost by misbehaving; they count among those won.
    """

    attacker: str
    margin: float
    ci95: tuple[float, float] | None = None
    ratio: float | None = None
    deals: int = 0
    seconds: float = 0.0
    ms_per_decision: float | None = None
    agent_faults: int = 0

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        return vars(self) | {"ci95": None if self.ci95 is None else list(self.ci95)}


@dataclass(frozen=True)
class Attack:
    """What attackers win from an agent.

    Attributes:
        agent: The agent's name.
        rules: The rules, as ``Rules.from_text`` reads them.
        gains: What each attacker wins, in the order asked for.
        exploitability: What a best response wins, exact; None where it is not known.
        is_one_draw: Whether the agent draws random numbers and tells no chances. Of a small deck
            one draw for each view was then taken for what it always plays; elsewhere the attackers
            ask anew each time, and take it to play at random with a chance of `noise`.
        noise: That chance; 0 for all other agents.
        tricks: So many last tricks were answered exactly by attackers that do so.
        seed: What deals and chance follow from.
        interrupted: Whether it was stopped before all deals were played.
        version: Of this package.
        rules_in_full: Every field of the rules.
        agents: Agent and attackers: name, options, digest of weights or source code.
        deals_digest: SHA-256 over seeds and cards of all deals; empty where all count.
        platform: Versions of Python, NumPy and Numba, and the kind of machine.
        command: The command line, if there was one.
    """

    agent: str
    rules: str
    gains: tuple[Gain, ...]
    exploitability: float | None
    is_one_draw: bool
    noise: float
    tricks: int
    seed: int
    interrupted: bool = False
    version: str = __version__
    rules_in_full: dict[str, Any] = field(default_factory=dict, repr=False)
    agents: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    deals_digest: str = field(default="", repr=False)
    platform: dict[str, str] = field(default_factory=dict, repr=False)
    command: str | None = None

    @property
    def best(self) -> Gain:
        """The attacker that wins most."""
        return max(self.gains, key=lambda gain: gain.margin)

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows, and who wins most."""
        record = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        record |= {"gains": [gain.to_json() for gain in self.gains], "agents": list(self.agents)}
        return record | {"best": self.best.attacker}


def is_small(rules: Rules) -> bool:
    """Whether a deck is so small that a best response and all deals can be computed."""
    return has_exact_worlds(rules) and num_deals(rules) <= _MOST_DEALS


class Play(NamedTuple):
    """How an agent answers.

    Attributes:
        is_mixed: Whether its chances are sometimes neither 0 nor 1.
        is_one_draw: Whether it answers the same views differently: it tells no chances.
    """

    is_mixed: bool
    is_one_draw: bool


def play_of(agent: Agent, rules: Rules, name: str = "") -> Play:
    """How an agent answers some views of random play, put to it twice.

    Raises:
        HeartsError: it gives no chances, or no legal action.
    """
    ask = asked(agent, name)
    batch = BatchGame(rules, _VIEWS, seed=1, autodeal=False)
    stops = np.arange(_VIEWS) % (2 * rules.hand_size)
    for step in range(2 * rules.hand_size):
        games = np.flatnonzero(~batch.done & (stops > step))
        if len(games):
            batch.play(batch.random_actions(games=games), games=games)
    views = batch.views(games=np.flatnonzero(~batch.done))
    table, again = ask(views), ask(views)
    return Play(bool(((table > 0) & (table < 1)).any()), not np.array_equal(table, again))


def usual_tricks(rules: Rules, *, is_mixed: bool) -> int:
    """How many last tricks are answered exactly: half of them, fewer where replies are many."""
    half = (rules.hand_size + 1) // 2
    return min(half, _MIXED_TRICKS) if is_mixed else half


class Assault:
    """An agent, the attackers that are let loose on it, and what they need to know of it."""

    def __init__(
        self,
        agent: Entrant,
        attackers: Sequence[Entrant],
        rules: Rules | str | None = None,
        *,
        tricks: int | None = None,
        seed: int = 0,
        trained: Entrant | None = None,
    ) -> None:
        """Make everybody, and ask whether they can play.

        Args:
            agent: the attacked agent, or its name.
            attackers: names of `METHODS`, or `TRAINED`; or any other agents, or what names them.
            rules: of two players; None: those the agent was trained for, else ``two_player``.
            tricks: how many last tricks are answered exactly by attackers that do so; None: half
                of them, but no more than 4 if the agent mixes its cards.
            seed: what deals and chance follow from.
            trained: the player that attacks as `TRAINED`, or its run's folder.

        Raises:
            HeartsError: somebody is unknown or cannot play, or there are not two players.
        """
        if not attackers:
            raise HeartsError(f"attackers: none given; known: {', '.join([*METHODS, TRAINED])}")
        names = [named(attacker) for attacker in attackers]
        if twice := [name for name in names if names.count(name) > 1]:
            raise HeartsError(f"attackers: {twice[0]!r} comes twice; name each once")
        self.seed = check_seed(seed)
        self.entrant = agent
        contender = Contender(agent, self.seed)
        try:
            self.name, self.agent = contender.name, contender.agent
            self.rules = rules_for([contender], rules)
            check_two_players(self.rules)
            contender.check_rules(self.rules)
            if getattr(self.agent, "is_timed", False):
                raise HeartsError(
                    f"agent: {self.name} has a time budget, so its policy is not reproducible; "
                    "give a number of worlds, as in champion?search=16"
                )
            self.is_small = is_small(self.rules)
            play = play_of(self.agent, self.rules, self.name)
        finally:
            contender.close()
        self.is_one_draw = play.is_one_draw
        if tricks is None:
            tricks = usual_tricks(self.rules, is_mixed=play.is_mixed)
        self.tricks = check_number("tricks", tricks, 1, 52)
        self.noise = DRAWN_NOISE if self.is_one_draw and not self.is_small else 0.0
        self.attackers = [self._make(attacker, trained) for attacker in attackers]

    def _make(self, attacker: Entrant, trained: Entrant | None) -> Entrant:
        if isinstance(attacker, str) and attacker == TRAINED:
            if trained is None:
                raise HeartsError(
                    "trained: nobody was trained; give a player or its run's folder, or use hearts "
                    "attack, which trains one"
                )
            player = copy.copy(make_agent(trained, seed=self.seed))
            player.name = TRAINED
            return player
        if isinstance(attacker, str) and attacker in METHODS:
            return Attacker(self.agent, attacker, tricks=self.tricks, epsilon=self.noise)
        try:
            with contextlib.closing(Contender(attacker, self.seed)) as contender:
                contender.check_rules(self.rules)
        except HeartsError as error:
            known = ", ".join([*METHODS, TRAINED])
            raise HeartsError(f"attackers: known are {known}, and any player; {error}") from None
        return attacker

    # -- exact ------------------------------------------------------------------------------------
    def exactly(self, show: Show | None = None, *, command: str | None = None) -> Attack:
        """What a best response and each attacker win on a small deck, over all deals."""
        try:
            return self._exactly(show or silent, command)
        finally:
            self.agent.close()

    def _exactly(self, show: Show, command: str | None) -> Attack:
        tree = Tree(self.rules)
        with show(self.name) as progress:
            chances, is_one_draw = policy_of(self.agent, tree, self.name, progress)
        truth = exploitability(tree, chances)

        def policy(views: BatchView) -> Any:
            return tree.chances_in(views, chances)

        gains = []
        for attacker in self.attackers:
            begin = time.perf_counter()
            with show(named(attacker)):
                margin = self._earned(attacker, policy)
            ratio = margin / truth if truth > 1e-4 else None
            seconds = time.perf_counter() - begin
            gains.append(Gain(named(attacker), margin, ratio=ratio, seconds=seconds))
        return self._attack(
            gains,
            exploitability=truth,
            is_one_draw=is_one_draw,
            agents=tuple(self._described(one) for one in (self.entrant, *self.attackers)),
            command=command,
        )

    def _described(self, entrant: Entrant) -> dict[str, Any]:
        """What results say of an agent."""
        with contextlib.closing(Contender(entrant, self.seed)) as contender:
            contender.check_rules(self.rules)
            return contender.to_json()

    def _earned(self, attacker: Entrant, policy: Callable[[BatchView], Any]) -> float:
        """What an attacker wins a deal, the mean over both seats and all deals."""
        rules = self.rules
        choose: Chooser
        with contextlib.closing(Contender(attacker, self.seed)) as contender:
            if isinstance(attacker, Attacker):
                choose = functools.partial(attacker.knowing(policy).choose, rules)
            else:
                choose = played_by(rules, contender.agent)
            responses = Responses(rules, policy, choose)
            return sum(responses.value(whole_game(rules, seat)) for seat in range(2)) / 2

    # -- over deals -------------------------------------------------------------------------------
    def over_deals(
        self,
        deals: int,
        show: Show | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
        resume: str | os.PathLike[str] | None = None,
        about: dict[str, Any] | None = None,
        workers: int | None = None,
        backend: str = "local",
        command: str | None = None,
    ) -> Attack:
        """What each attacker wins over `deals` duplicate deals, the same for all of them.

        Ctrl-C ends it with the deals that were finished, marked as interrupted.

        Args:
            deals: duplicate deals.
            show: shows how far each attacker is; None: nothing is shown.
            out: a file that finished blocks of deals are written to.
            resume: such a file, to be continued.
            about: what such a file says of this attack, beside the settings of a contest.
            workers: processes that play.
            backend: where they run (``crew.spread``).
            command: the command line, for the results.
        """
        show = show or silent
        places = range(1, len(self.attackers) + 1)
        contest = Contest(
            [self.entrant, *self.attackers],
            self.rules,
            self.seed,
            pairings=[(place, 0) for place in places],
            workers=workers,
            backend=backend,
            command=command,
        )
        check_deals(deals)
        found: list[tuple[Evaluation, float]] = []
        begin = time.perf_counter()
        with contest.recorded(deals, out, resume, about):
            try:
                names = [named(attacker) for attacker in self.attackers]
                for result in contest.evaluations(deals, lambda i, _: show(names[i - 1])):
                    _check_played(result)
                    found.append((result, time.perf_counter() - begin))
                    begin = time.perf_counter()
            except KeyboardInterrupt:
                if not found:
                    raise
        first = found[0][0]
        is_whole = len(found) == len(self.attackers) and not found[-1][0].interrupted
        return self._attack(
            [_gain(result, seconds) for result, seconds in found],
            is_one_draw=self.is_one_draw,
            interrupted=not is_whole,
            agents=tuple(contender.to_json() for contender in contest.contenders),
            deals_digest=first.deals_digest,
            platform=first.platform,
            command=command,
        )

    def _attack(self, gains: Sequence[Gain], **rest: Any) -> Attack:
        given = {"exploitability": None} | rest
        return Attack(
            agent=self.name,
            rules=self.rules.name,
            gains=tuple(gains),
            noise=self.noise,
            tricks=self.tricks,
            seed=self.seed,
            rules_in_full=self.rules.to_dict(),
            **given,
        )


def exploit(
    agent: Entrant,
    rules: Rules | str | Tree = "mini",
    attackers: Sequence[Entrant] = tuple(METHODS),
    *,
    deals: int = 600,
    seed: int = 0,
    show: Show = silent,
    **settings: Any,
) -> Exploitability | Attack:
    """What can be won from an agent that is known: exactly where a deck is small, else at least.

    Args:
        agent: an agent, or its name or checkpoint for ``make_agent``.
        rules: of two players; or the tree of a small deck or an endgame, which can be used again.
        attackers: who answers the agent where the best response cannot be computed.
        deals: duplicate deals that each attacker plays there.
        seed: what deals and chance follow from.
        show: shows the progress; silent by default.
        **settings: there the other arguments of ``Assault.over_deals``, such as `workers`.

    Returns:
        On a small deck (``is_small``) its ``Exploitability``, else what each attacker wins.

    Raises:
        HeartsError: if the agent is unknown or cannot play these rules.
    """
    game = rules if isinstance(rules, Tree) else Rules.make(rules)
    if isinstance(game, Rules) and not is_small(game):
        return Assault(agent, attackers, game, seed=seed).over_deals(deals, show, **settings)
    if not isinstance(agent, str | os.PathLike):  # it may have a policy alone
        with show(named(agent)) as progress:
            return best_response(agent, game, progress=progress)
    with contextlib.closing(Contender(agent, seed)) as contender:
        contender.check_rules(game if isinstance(game, Rules) else game.rules)
        with show(contender.name) as progress:
            return best_response(contender.agent, game, contender.name, progress=progress)


def _check_played(result: Evaluation) -> None:
    """Refuse what an attacker has won where it could not play.

    Raises:
        HeartsError: it committed faults, as it does where it cannot ask the agent.
    """
    if result.faults:
        text = next(example.text for example in result.examples if example.role == "agent")
        raise HeartsError(
            f"{result.agent}: could not play {result.faults} deals ({text}); make the agent answer "
            "any view"
        )


def _gain(result: Evaluation, seconds: float) -> Gain:
    return Gain(
        attacker=result.agent,
        margin=result.margin,
        ci95=result.ci95,
        deals=result.deals,
        seconds=seconds,
        ms_per_decision=result.ms_per_decision,
        agent_faults=result.opponent_faults,
    )
