"""Whether a program is fit to be an agent: it plays a few deals, and reports what is wrong."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearts_agents import make_agent
from hearts_agents.guard import NO_ACTION, ask
from hearts_agents.programs.process import REFUSED, ProgramError
from hearts_agents.programs.program_agent import EXEC, ExternalAgent
from hearts_agents.user_code import Fault
from hearts_env import BatchGame, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.seeds import derived_seed
from hearts_env.support.arguments import check_number, check_seed

PRESETS = ("two_player", "mini", 'mini moon="choose"', "classic", "no_pass", "party", "kitty")
"""Between them: two and more players, an exchange, a choice after a moon, an awarded kitty."""

GOOD, NOTE, FAULT = "ok", "note", "FAULT"
_MOST_GAMES = 10_000
_ALONE = 40  # views asked about one by one
_MOON_GAMES, _MOST_MOONS = 200, 20  # deals played at random for a moon; choices asked about


@dataclass(frozen=True)
class Verdict:
    """What was found about one thing.

    Attributes:
        what: The thing: ``start``, the name of rules, ``moon``, ``alone``, ``again``, ``end`` or
            ``verdict``.
        word: `GOOD`, `NOTE` (worth knowing, not wrong) or `FAULT`.
        text: What was found, in one line.
    """

    what: str
    word: str
    text: str

    @property
    def is_fault(self) -> bool:
        """Whether it is wrong."""
        return self.word == FAULT

    def to_json(self) -> dict[str, Any]:
        """All of it, of types that JSON knows."""
        return dataclasses.asdict(self)


@dataclass
class _Played:
    """Some deals of one game, and the views of the program in them."""

    decisions: int = 0
    seconds: float = 0.0
    faults: list[tuple[Fault, int, int]] = field(default_factory=list)
    """With the seed of the deal and the seat."""
    views: list[BatchView] = field(default_factory=list)
    actions: list[NDArray[np.int64]] = field(default_factory=list)


def check_program(
    command: str, presets: Sequence[str | Rules], games: int = 20, seed: int = 0
) -> Iterator[Verdict]:
    """Try a program, and say what is found as it is found; the verdict on all of it comes last.

    Args:
        command: the program and its arguments; ``exec:`` before it and options after it as in an
            agent's spec.
        presets: games to play, or names of them.
        games: deals of each, 1 to 10,000; the program has one seat, ``easy`` the others.
        seed: what the deals follow from.

    Raises:
        HeartsError: if there is no such program, or an argument is out of its range.
    """
    games = check_number("games", games, 1, _MOST_GAMES)
    seed = check_seed(seed)
    all_rules = [Rules.make(preset) for preset in presets]
    agent = make_agent(EXEC + command.removeprefix(EXEC), seed=seed)
    assert isinstance(agent, ExternalAgent)
    is_fit = True
    try:
        for verdict in _tried(agent, all_rules, games, seed):
            is_fit &= not verdict.is_fault
            yield verdict
    finally:
        agent.close()
    if is_fit:
        yield Verdict("verdict", GOOD, "fit to play")
    else:
        yield Verdict("verdict", FAULT, "not fit to play; docs/external_agents.md has the protocol")


def _tried(
    agent: ExternalAgent, all_rules: list[Rules], games: int, seed: int
) -> Iterator[Verdict]:
    is_started, played = False, None
    for rules in all_rules:
        begin = time.perf_counter()
        try:
            agent.start(rules)
        except ProgramError as error:
            if error.kind != REFUSED:
                yield Verdict("start", FAULT, str(error))
                return
            yield Verdict(rules.name, NOTE, str(error))
            continue
        if not is_started:
            many = "takes many views at once" if agent.takes_many else "takes one view at a time"
            yield Verdict("start", GOOD, f"ready after {time.perf_counter() - begin:.2f} s, {many}")
        is_started = True
        now = _play(agent, rules, games, seed)
        yield _verdict(rules, now, games)
        if now.faults:
            continue
        played = played or now
        moons = _moons(rules, seed) if rules.moon == "choose" else None
        if moons is not None:
            yield _chosen(agent, moons)
    if not is_started:
        yield Verdict("rules", FAULT, "it refuses every game")
    elif played is not None:
        yield _alone(agent, played)
        yield _again(agent, played, seed)
        yield _left(agent)


def _play(agent: ExternalAgent, rules: Rules, games: int, seed: int) -> _Played:
    seeds = np.array([derived_seed(seed, number) for number in range(games)], np.int64)
    batch = BatchGame(rules, num_games=games, autodeal=False)
    batch.reset(seeds=seeds)
    easy = make_agent("easy", seed=seed)
    own = np.arange(games) % rules.players
    played = _Played()
    agent.reseed(seed)
    agent.begin(own.tolist())
    reported = np.zeros(games, np.bool_)
    while not batch.done.all():
        turn = batch.player
        others = np.flatnonzero((turn >= 0) & (turn != own))
        if len(others):
            batch.play(easy.act_batch(batch.views(games=others)), games=others)
        mine = np.flatnonzero(batch.player == own)
        if not len(mine):
            continue
        views = batch.views(games=mine)
        begin = time.perf_counter()
        actions, faults = ask(agent, views, mine)
        played.seconds += time.perf_counter() - begin
        played.decisions += len(mine)
        played.views.append(views)
        played.actions.append(actions)
        played.faults += [
            (fault, int(seeds[mine[fault.row]]), int(own[mine[fault.row]])) for fault in faults
        ]
        wrong = actions == NO_ACTION
        if wrong.any():
            batch.revoke(games=mine[wrong])
        batch.play(actions[~wrong], games=mine[~wrong])
        over = np.flatnonzero(batch.done & ~reported)
        agent.over(over.tolist(), batch.scores()[over].tolist())
        reported[over] = True
    return played


def _verdict(rules: Rules, played: _Played, games: int) -> Verdict:
    if not played.faults:
        each = 1000 * played.seconds / max(1, played.decisions)
        text = f"{games} deals, {played.decisions} decisions, {each:.3f} ms each"
        return Verdict(rules.name, GOOD, text)
    fault, seed, seat = played.faults[0]
    text = f"{len(played.faults)} of {games} deals forfeited; the first, deal {seed} in seat {seat}"
    return Verdict(rules.name, FAULT, f"{text}: {fault.kind}: {fault.text}")


def _moons(rules: Rules, seed: int) -> BatchView | None:
    """Views of players who have a choice after a moon, from deals played at random."""
    batch = BatchGame(rules, num_games=_MOON_GAMES, seed=seed, autodeal=False)
    easy = make_agent("easy", seed=seed)
    while True:
        moons = np.flatnonzero(batch.states[:, k.PHASE] == k.MOON)
        others = np.flatnonzero((batch.player >= 0) & (batch.states[:, k.PHASE] != k.MOON))
        if not len(others):  # all that are not over have come to a moon
            return batch.views(games=moons[:_MOST_MOONS]) if len(moons) else None
        batch.play(easy.act_batch(batch.views(games=others)), games=others)


def _chosen(agent: ExternalAgent, views: BatchView) -> Verdict:
    """Whether it answers with one of the two choices after a moon."""
    _, faults = ask(agent, views)
    if faults:
        return Verdict("moon", FAULT, f"{faults[0].kind}: {faults[0].text}")
    return Verdict("moon", GOOD, f"{len(views)} choices after a moon")


def _alone(agent: ExternalAgent, played: _Played) -> Verdict:
    """Whether views that were asked about together are answered alike one by one."""
    rules = played.views[0].rules
    agent.start(rules)
    begin = time.perf_counter()
    seen = differing = 0
    for views, actions in zip(played.views, played.actions, strict=True):
        for row in range(min(len(views), _ALONE - seen)):
            again, faults = ask(agent, views.subset(np.array([row])))
            if faults:
                return Verdict("alone", FAULT, f"{faults[0].kind}: {faults[0].text}")
            differing += int(again[0] != actions[row])
            seen += 1
    each = 1000 * (time.perf_counter() - begin) / max(1, seen)
    if differing:
        text = f"{differing} of {seen} answers differ from those in a batch; it draws or remembers"
        return Verdict("alone", NOTE, f"{text}, {each:.3f} ms each")
    return Verdict("alone", GOOD, f"{seen} views one by one: the same answers, {each:.3f} ms each")


def _again(agent: ExternalAgent, played: _Played, seed: int) -> Verdict:
    """Whether it answers alike when it is started anew with the same seed."""
    agent.close()
    agent.reseed(seed)
    for views, actions in zip(played.views, played.actions, strict=True):
        again, faults = ask(agent, views)
        if faults:
            return Verdict("again", FAULT, f"{faults[0].kind}: {faults[0].text}")
        if (again != actions).any():
            text = "other answers after a new start with the same seed; it cannot be repeated"
            return Verdict("again", NOTE, text)
    return Verdict("again", GOOD, "the same answers after a new start with the same seed")


def _left(agent: ExternalAgent) -> Verdict:
    agent.close()
    if agent.left_by_itself:
        return Verdict("end", GOOD, "ended by itself after bye")
    return Verdict("end", NOTE, "did not end after bye, and was killed")
