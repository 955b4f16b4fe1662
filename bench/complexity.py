"""How large games are: deals, choices, hidden worlds, game tree and information sets.

Small trees are counted. Others are estimated from random lines of play: one that had w choices in
all, the product of the numbers of legal actions on its way, stands for w lines (Knuth, *Estimating
the efficiency of backtrack programs*, 1975). The number of positions follows in the same way, and
positions are drawn, each with the weight of its line up to it, which is uniform over the tree. An
information set has as many positions as there are histories with the same view, so that

    information sets = positions with a choice * mean over them of 1 / histories with that view.

The views' worlds are counted exactly. With an exchange a world has as many histories as there are
ways in which the others can have passed to one another. Intervals are those of the mean over
`GROUPS` independent groups of lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from hearts_agents import Agent, make_agent
from hearts_env import BatchGame, Game, Rules, __version__
from hearts_env import kernel as k
from hearts_env.rules.presets import GAMES
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.solve.beliefs import has_exact_worlds
from hearts_env.solve.tree import (
    DEFAULT_MEMORY,
    TreeSize,
    measure,
)
from hearts_env.support.arguments import check_number, check_seed
from hearts_env.support.arrays import Floats, Ints
from hearts_env.support.progress import Progress
from hearts_env.views.deals import num_deals
from hearts_env.views.view import PlayerView
from hearts_train.executor import spread

GROUPS = 20
"""Independent groups of lines, over whose means the intervals are."""
_T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
_T95 += [2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093]
"""97.5 % of Student's t with 1 to 19 degrees of freedom."""
_LOOKED_AT = 10
"""Deals of random play whose hidden worlds are counted, which takes long with many players."""


class Choices(NamedTuple):
    """What the players of some deals could choose from.

    Attributes:
        actions: Actions a deal, mean.
        choices: Actions a deal where more than one was legal, mean.
        branching: Legal actions, mean over all actions.
        forced: Share of the actions where only one was legal.
        deals: How many deals were played.
    """

    actions: float
    choices: float
    branching: float
    forced: float
    deals: int


class Estimate(NamedTuple):
    """A number and its 95 % interval, as logarithms to the base 10; exact ones have no width."""

    log10: float
    low: float
    high: float
    exact: bool

    @classmethod
    def of(cls, number: float) -> Estimate:
        """A number that was counted."""
        log = math.log10(number)
        return cls(log, log, log, exact=True)


@dataclass(frozen=True)
class Complexity:
    """How large a game is.

    Attributes:
        rules: The rules, as ``Rules.from_text`` reads them. With an exchange all deals are those of
            the first direction of its rotation.
        players: Seats.
        deck: Cards in use.
        hand: Cards dealt to each.
        deals: In how many ways the cards can be dealt to the seats, exact.
        random: The choices of players that play at random.
        pro: The choices of players that play like ``pro``.
        worlds_first: Hidden worlds at the first card that is played, mean over deals.
        worlds_mean: Hidden worlds, mean over all actions of random play.
        worlds_most: The most that were met.
        lines: Ways to play all deals to their ends.
        positions: Positions of the tree, ends included.
        infosets: Information sets with a choice, of all players together.
        about: Settings and version.
    """

    rules: str
    players: int
    deck: int
    hand: int
    deals: int
    random: Choices
    pro: Choices
    worlds_first: float
    worlds_mean: float
    worlds_most: int
    lines: Estimate
    positions: Estimate
    infosets: Estimate
    about: dict[str, Any]

    @classmethod
    def of(cls, record: dict[str, Any]) -> Complexity:
        """What ``to_json`` gave, and commands have added to."""
        kinds: dict[str, type[Choices | Estimate]] = {"random": Choices, "pro": Choices}
        kinds |= dict.fromkeys(("lines", "positions", "infosets"), Estimate)
        named = {name: kind(**record[name]) for name, kind in kinds.items()}
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in record.items() if name in known} | named)

    def to_json(self) -> dict[str, Any]:
        """All figures, of types that JSON knows."""
        record = asdict(self)
        for name, value in vars(self).items():
            if isinstance(value, Choices | Estimate):
                record[name] = value._asdict()
        return record


def all_rules() -> list[str]:
    """Every preset with every number of players, as text."""
    return [Rules.preset(*game).name for game in GAMES]


@dataclass(frozen=True)
class Measurement:
    """Measures the complexity of rules, given as text: the same in every process.

    Attributes:
        lines: Random lines from which the size of a tree is estimated.
        positions: Positions of the tree whose histories are counted.
        deals: Deals of random play.
        pro_deals: Deals that ``pro`` plays.
        seed: Of all draws.
        max_memory: Gigabytes that a tree may take to be counted.
    """

    lines: int = 100_000
    positions: int = 1000
    deals: int = 2000
    pro_deals: int = 10
    seed: int = 0
    max_memory: float = DEFAULT_MEMORY

    def __call__(self, text: str) -> Complexity:
        """The complexity of one game."""
        rules = one_direction(Rules.from_text(text))
        seed = secret_seed(self.seed, "complexity", rules.name)
        choices, worlds = _choices(rules, None, self.deals, seed)
        pro, _ = _choices(rules, make_agent("pro", seed=seed), self.pro_deals, seed)
        size = measure(rules, self.max_memory) if has_exact_worlds(rules) else None
        if size is not None and size.exact:
            lines, positions, infosets = counted(rules, size)
        else:
            lines, positions, infosets = estimated(rules, self.lines, self.positions, seed)
        return Complexity(
            rules=text,
            players=rules.players,
            deck=len(rules.deck),
            hand=rules.hand_size,
            deals=num_deals(rules),
            random=choices,
            pro=pro,
            worlds_first=worlds.first,
            worlds_mean=worlds.mean,
            worlds_most=worlds.most,
            lines=lines,
            positions=positions,
            infosets=infosets,
            about=asdict(self) | {"version": __version__},
        )


def one_direction(rules: Rules) -> Rules:
    """Rules whose exchange, if any, always goes the first way of its rotation."""
    if not rules.pass_count:
        return rules
    return rules.replace(pass_rotation=rules.pass_rotation[:1])


def complexities(
    rules: Sequence[str] | None = None,
    progress: Progress | None = None,
    *,
    measurement: Measurement | None = None,
    workers: int | None = None,
    backend: str = "local",
) -> list[Complexity]:
    """The complexity of several games, in their order; after Ctrl-C of those finished.

    Args:
        rules: texts of rules; None: all presets with all numbers of players.
        progress: called with the games done and all of them.
        measurement: how much is drawn; None: the defaults.
        workers: processes; the results are the same with any number.
        backend: where they run, ``local`` or ``ray``.

    Raises:
        HeartsError: if rules cannot be played, or a number is out of range.
        KeyboardInterrupt: it was stopped before the first game was finished.
    """
    texts = [Rules.from_text(text).name for text in (all_rules() if rules is None else rules)]
    work = measurement or Measurement()
    check_number("lines", work.lines, 10 * GROUPS, 4_000_000)
    check_number("positions", work.positions, GROUPS, 10_000_000)
    check_number("deals", work.deals, 1, 1_000_000)
    check_number("pro_deals", work.pro_deals, 1, 1_000_000)
    check_seed(work.seed)
    found: list[Complexity] = []
    stream = spread(work, texts, workers=workers, backend=backend)
    try:
        for one in stream:
            found.append(one)
            if progress is not None:
                progress(len(found), len(texts))
    except KeyboardInterrupt:
        if not found:
            raise
    finally:
        stream.close()
    return found


# ---- the tree ------------------------------------------------------------------------------------
def counted(rules: Rules, size: TreeSize) -> tuple[Estimate, Estimate, Estimate]:
    """Lines, positions and information sets of a tree that was counted with seat 0 leading."""
    leaders = num_deals(rules) / size.deals  # as many trees, alike but for the names of the seats
    numbers = (size.lines, size.positions, sum(size.infosets))
    lines, positions, infosets = (Estimate.of(leaders * number) for number in numbers)
    return lines, positions, infosets


def estimated(
    rules: Rules, lines: int, positions: int, seed: int
) -> tuple[Estimate, Estimate, Estimate]:
    """Lines, positions and information sets, estimated (see the module's text).

    Args:
        rules: whose exchange has one direction.
        lines: random lines to draw.
        positions: positions to draw from theirs, whose worlds are counted.
        seed: of the draws.
    """
    each, positions = lines // GROUPS, max(1, positions // GROUPS)
    starts = [derived_seed(seed, group) for group in range(GROUPS)]
    logs = np.array([_group(rules, each, positions, start) for start in starts])
    scale = float(math.log(num_deals(rules)))
    ends, inner, infosets = (_estimate(logs[:, i], scale) for i in range(3))
    return ends, inner, infosets


def _group(rules: Rules, lines: int, positions: int, seed: int) -> tuple[float, float, float]:
    """Natural logarithms of lines, positions and information sets a deal, from random lines."""
    rng = np.random.default_rng(seed)
    weights, legal, seeds, actions = random_lines(rules, lines, seed)
    top, log = weights.max(), math.log(lines)
    mass = np.where(legal > 0, np.exp(weights - top), 0.0)  # of positions before the end
    chosen = np.where(legal > 1, mass, 0.0)
    total = chosen.sum()
    drawn = rng.choice(chosen.size, positions, p=chosen.ravel() / total).tolist()
    shares = np.zeros(positions)  # 1 / histories of positions drawn from those with a choice
    for place, (step, line) in enumerate(divmod(d, lines) for d in drawn):
        game = Game.deal(rules, int(seeds[line]))
        for action in actions[:step, line].tolist():
            game.play(action)
        assert game.player is not None
        shares[place] = 1.0 / histories(game.view(game.player))
    last = weights[-1] + np.log(np.maximum(legal[-1], 1))
    ends = float(math.log(np.exp(last - top).sum()) + top)
    inner = float(np.logaddexp(math.log(mass.sum()) + top, ends))
    infosets = math.log(total) + top + math.log(shares.mean())
    return ends - log, inner - log, infosets - log


def _estimate(logs: Floats, scale: float) -> Estimate:
    """The mean of numbers given by logarithms, times ``exp(scale)``."""
    top, n = logs.max(), len(logs)
    values = np.exp(logs - top)
    mean, half = values.mean(), _T95[n - 2] * values.std(ddof=1) / math.sqrt(n)
    low = max(mean - half, values.min())  # of few heavy values: no less than the least group
    log, below, above = (
        float((math.log(x) + top + scale) / math.log(10)) for x in (mean, low, mean + half)
    )
    return Estimate(log, below, above, exact=False)


def random_lines(rules: Rules, lines: int, seed: int) -> tuple[Floats, Ints, Ints, Ints]:
    """Random deals played at random.

    Returns:
        natural logarithms of the product of the choices before each action, ``(steps, lines)``;
        legal actions there, 0 where the deal is over; the deals' seeds, ``(lines,)``; the actions,
        ``(steps, lines)``.
    """
    seeds = np.array([derived_seed(seed, line) for line in range(lines)], np.int64)
    batch = BatchGame(rules, num_games=lines, seed=seed, autodeal=False, freeze=False)
    batch.reset(seeds=seeds)
    weight = np.zeros(lines)
    weights, legals, taken = [], [], []
    while not batch.done.all():
        legal = batch.masks().sum(axis=1, dtype=np.int64)
        actions = batch.random_actions()
        weights.append(weight.copy())
        legals.append(legal)
        taken.append(actions)
        weight += np.log(np.maximum(legal, 1))
        live = np.flatnonzero(~batch.done)
        batch.play(actions[live], games=live)
    return np.array(weights), np.array(legals), seeds, np.array(taken)


def histories(view: PlayerView) -> int:
    """How many histories, deals included, lead to the same view; exact.

    They are its worlds, times the ways in which cards that the player did not see can have been
    passed, and the orders in which cards can have been chosen for it.
    """
    rules = view.rules
    worlds = view.num_worlds
    if not view.vector[k.EXCHANGE]:
        return worlds
    sets, orders = math.comb(rules.hand_size, rules.pass_count), math.factorial(rules.pass_count)
    if view.phase == "pass":  # seats before this one have passed any of their cards
        return worlds * (sets * orders) ** view.player * math.factorial(len(view.passed))
    # It knows what it passed and got; of every other seat any cards can be those it was passed.
    return worlds * sets ** (rules.players - 2) * orders**rules.players


# ---- choices and worlds --------------------------------------------------------------------------
class _Worlds(NamedTuple):
    first: float
    mean: float
    most: int


def _choices(rules: Rules, agent: Agent | None, deals: int, seed: int) -> tuple[Choices, _Worlds]:
    """The choices in deals that all seats play alike; None: at random, and the hidden worlds."""
    seeds = np.array([derived_seed(seed, GROUPS + deal) for deal in range(deals)], np.int64)
    batch = BatchGame(rules, num_games=deals, seed=seed, autodeal=False, freeze=False)
    batch.reset(seeds=seeds)
    legal: list[Ints] = []
    first, worlds = [], []
    looked_at = min(deals, _LOOKED_AT)
    while not batch.done.all():
        live = np.flatnonzero(~batch.done)
        legal.append(batch.masks(games=live).sum(axis=1, dtype=np.int64))
        views = batch.views(games=live)
        if agent is None:
            for view in (views[row] for row in np.flatnonzero(live < looked_at).tolist()):
                worlds.append(view.num_worlds)
                if view.phase == "play" and not view.history:
                    first.append(worlds[-1])
            actions = batch.random_actions(games=live)
        else:
            actions = agent.act_batch(views)
        batch.play(actions, games=live)
    counts = np.concatenate(legal)
    choices = Choices(
        actions=len(counts) / deals,
        choices=float((counts > 1).sum()) / deals,
        branching=float(counts.mean()),
        forced=float((counts == 1).mean()),
        deals=deals,
    )
    if agent is not None:
        return choices, _Worlds(0, 0, 0)
    return choices, _Worlds(sum(first) / len(first), sum(worlds) / len(worlds), max(worlds))


# ---- what commands show --------------------------------------------------------------------------
COLUMNS = [
    "game",
    "deals",
    "actions",
    "choices",
    "branching",
    "forced",
    "worlds, first card",
    "information sets",
    "lines",
]


def show_estimate(number: Estimate) -> str:
    """Like ``1.2e+06``, or ``10^21.4 ± 0.2``."""
    if number.exact:
        return show_number(10**number.log10)
    half = max(number.high - number.log10, number.log10 - number.low)
    return f"10^{number.log10:.1f} ± {half:.1f}"


def show_number(number: float) -> str:
    """``16,632``, or ``10^21.4`` for large ones."""
    return f"{number:,.0f}" if number < 1e7 else f"10^{math.log10(number):.1f}"


def rows(found: Sequence[Complexity]) -> list[list[str]]:
    """A row for each game."""
    return [
        [
            one.rules,
            show_number(one.deals),
            f"{one.random.actions:.1f}",
            f"{one.random.choices:.1f} / {one.pro.choices:.1f}",
            f"{one.random.branching:.2f} / {one.pro.branching:.2f}",
            f"{one.random.forced:.0%} / {one.pro.forced:.0%}",
            show_number(one.worlds_first),
            show_estimate(one.infosets),
            show_estimate(one.lines),
        ]
        for one in found
    ]
