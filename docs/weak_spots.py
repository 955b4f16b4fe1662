"""Finds where the champion loses points, into ``docs/results/weak_spots.json``.

    python docs/weak_spots.py

It plays ``champion`` against itself and against ``pimc``, on deals of the seeds from 0 on, both
seats of each. Every card of the champion's that was a choice is measured four times, in points:

- *alike*: the mean double-dummy margin over all worlds, of the best card less that of its own; all
  worlds alike, as ``hearts analyse`` has it;
- *weighed*: the same, the worlds as likely as the network's policy makes them;
- *search*: what the card of a search through all worlds is worth more (``Improver``), in the mean
  over these worlds, if the network plays on for both;
- *held*: the same difference in the deal as it lay, both players going on as they do. Nothing in it
  is modelled, so it says in the mean whether *search* is right.

Whoever knows how the champion plays can tell from its cards what it holds. So each position is also
looked at as by such a reader: how many hands it still has to think of, and what its best card wins
more than the champion's, the network playing on. The last tricks are solved as ``hearts endgame``
does.

Three positions are kept card by card, one of each of `SHOWN`, and their deals written to
``examples/champion_deals.txt``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from docs.situations import MOON_NEAR, QUEEN_HELD, situations
from hearts_agents import Agent, make_agent
from hearts_agents.attackers import asked, played_by
from hearts_agents.champion import digest_of, weights_of
from hearts_agents.improver import Improver
from hearts_agents.models.network import load_agent
from hearts_agents.search import Pimc
from hearts_env import Game, PlayerView, Rules, __version__
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.solve.response import Fan, Responses
from hearts_env.solve.tracking import Tracker
from hearts_env.support.arrays import Floats
from hearts_env.support.files import write_json, write_whole
from hearts_env.support.interrupts import interruptible
from hearts_train.console import INTERRUPTED, note, progress
from hearts_train.measure.analysis import SLIP
from hearts_train.measure.endgames import solve_endgame
from hearts_train.measure.evaluation import platform_versions
from hearts_train.measure.intervals import mean_and_interval
from hearts_train.web.moments import ENDGAME_TRICKS, NOISE

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "weak_spots.json"
DEALS = ROOT / "examples" / "champion_deals.txt"
IMAGES = ROOT / "docs" / "images"
RULES = Rules.preset("two_player")
CHAMPION, PIMC = "champion", "pimc"
ENDING = (CHAMPION, "champion?greedy=false", PIMC)
"""Whose last tricks are answered by a best response."""
AT_ONCE = 32
"""Deals that are played side by side."""
TAU, SEARCH_NOISE = 0.5, 0.05
"""Of the search: it overrules the network for more than ``champion?search=`` asks for, so that what
it finds is a slip by any measure."""
MEASURES = ("alike", "weighed", "search", "held")

READ = "read"
SHOWN: dict[str, tuple[str, str] | None] = {
    "queen": ("queen of spades", QUEEN_HELD),
    "moon": ("moon within reach", MOON_NEAR),
    READ: None,
}
"""The kinds of position that are shown, one of each: a situation and its label.

Of the first two the card that loses most by whichever of *alike* and *search* says less, if the
card of the search is put in its place. Of the third the position in which a reader wins most.
"""


# ---- what is measured ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Decision:
    """A card of the champion's that was a choice.

    Attributes:
        seed: Of the deal.
        number: Cards played before it.
        seat: Whose it is.
        card: What it played.
        better: What the search plays.
        labels: The label of each situation.
        losses: Points lost, by each of `MEASURES`.
        agreed: What *alike* and *search* both say that `better` is better by; not below 0.
        hands: The other player's possible hands.
        left: Those that are left for one who knows how the champion plays.
        reading: Points that the best card wins more than `card` for one who knows.
        answer: That card.
    """

    seed: int
    number: int
    seat: int
    card: str
    better: str
    labels: dict[str, str]
    losses: dict[str, float]
    agreed: float
    hands: int
    left: int
    reading: float
    answer: str

    @property
    def trick(self) -> int:
        """Its trick, from 1."""
        return self.number // 2 + 1


class Judge:
    """Measures the champion's cards."""

    def __init__(self) -> None:
        self.network = load_agent(weights_of(RULES.name))
        self.improver = Improver(self.network, tau=TAU, noise=SEARCH_NOISE)
        self.known = Tracker(asked(self.network))
        self.responses = Responses(RULES, asked(self.network), played_by(RULES, self.network))
        self.pimc = Pimc(seed=0)

    def decisions(
        self, seeds: Sequence[int], views: BatchView, actions: Sequence[int]
    ) -> list[Decision]:
        """Measure what the champion plays in some views; what *held* says is not known yet."""
        values, logs, (fan,) = self.improver.weighed(views)
        chosen = (values / self.improver.tau + logs).argmax(1)
        read = self.known.fan(views)
        answers = self.answers(read)
        found = []
        for row, (seed, action, better) in enumerate(zip(seeds, actions, chosen, strict=True)):
            view = views[row]
            legal = view.legal_actions()
            own, new = legal.index(action), legal.index(int(better))
            _, _, margins = self.pimc.examined(view)
            means = margins.mean(0)
            weights = fan.weights[fan.starts[row] : fan.starts[row + 1]]
            weighed = weights @ margins
            losses = {
                "alike": float(means.max() - means[own]),
                "weighed": float(weighed.max() - weighed[own]),
                "search": float(values[row, better] - values[row, action]),
                "held": 0.0,
            }
            found.append(
                Decision(
                    seed=seed,
                    number=len(view.history),
                    seat=view.player,
                    card=RULES.deck[action],
                    better=RULES.deck[better],
                    labels=situations(view, float(np.exp(logs[row, action])), margins),
                    losses=losses,
                    agreed=max(0.0, min(losses["search"], float(means[new] - means[own]))),
                    hands=len(margins),
                    left=int(np.diff(read.starts)[row]),
                    reading=float(answers[row].max() - answers[row, action]),
                    answer=RULES.deck[int(answers[row].argmax())],
                )
            )
        return found

    def answers(self, fan: Fan) -> Floats:
        """What each card is worth to one who knows the network, which plays on for both.

        ``(sets, num_actions)``, -inf for illegal actions.
        """
        values: Floats = self.responses.card_values(fan, 1) / fan.totals[:, None]
        return values


# ---- play ----------------------------------------------------------------------------------------
@dataclass
class Table:
    """A deal under way, and who plays it."""

    seed: int
    game: Game
    players: tuple[str, str]


Look = Callable[[list[Table], BatchView, list[int]], None]
"""Is shown what a player is about to play at some tables."""


def play_out(tables: Sequence[Table], agents: dict[str, Agent], look: Look | None = None) -> None:
    """Play some deals to their ends, side by side."""
    while live := [table for table in tables if table.game.player is not None]:
        movers = [table.players[table.game.player or 0] for table in live]
        for name in sorted(set(movers)):
            some = [table for table, mover in zip(live, movers, strict=True) if mover == name]
            views = BatchView.of([table.game.view(table.game.player or 0) for table in some])
            actions = [int(action) for action in agents[name].act_batch(views)]
            if look is not None and name == CHAMPION:
                look(some, views, actions)
            for table, action in zip(some, actions, strict=True):
                table.game.play(action)


class Meeting:
    """The champion against another player, or against itself, and all that it chose."""

    def __init__(self, judge: Judge, opponent: str) -> None:
        self.judge = judge
        self.agents: dict[str, Agent] = {CHAMPION: judge.network}
        self.agents.setdefault(opponent, make_agent(opponent, seed=0))
        # Against itself both plays of a duplicate deal are one.
        both = ((CHAMPION, opponent), (opponent, CHAMPION))
        self.seatings = sorted(set(both))
        self.decisions: list[Decision] = []
        self.games: dict[int, Game] = {}
        """By their seeds; of several seatings the last."""

    def play(self, seeds: Sequence[int]) -> None:
        """Play the deals of some seeds, and measure."""
        tables = [Table(s, Game.deal(RULES, s), seats) for seats in self.seatings for s in seeds]
        begun: list[tuple[Decision, Table, Table]] = []

        def look(some: list[Table], views: BatchView, actions: list[int]) -> None:
            rows = [row for row, mask in enumerate(views.legal_masks) if mask & (mask - 1)]
            if not rows:
                return
            seeds = [some[row].seed for row in rows]
            chosen = [actions[row] for row in rows]
            found = self.judge.decisions(seeds, views.subset(np.array(rows)), chosen)
            for row, decision in zip(rows, found, strict=True):
                begun.append((decision, some[row], self._other_way(some[row], decision)))

        play_out(tables, self.agents, look)
        changed = [other for decision, _, other in begun if decision.better != decision.card]
        play_out(changed, self.agents)
        for decision, table, other in begun:
            if decision.better != decision.card:
                seat = decision.seat
                gained = other.game.margins()[seat] - table.game.margins()[seat]
                decision.losses["held"] = gained
            self.decisions.append(decision)
        self.games |= {table.seed: table.game for table in tables}

    @staticmethod
    def _other_way(table: Table, decision: Decision) -> Table:
        """The table at which the better card is played instead."""
        game = table.game.clone()
        game.play(decision.better)
        return Table(table.seed, game, table.players)

    def to_json(self) -> dict[str, Any]:
        """What it all comes to."""
        names = list(self.decisions[0].labels)
        groups = [
            {"situation": name, "label": label, **self._told(some)}
            for name in names
            for label, some in _by(self.decisions, name).items()
        ]
        differ = [one for one in self.decisions if one.better != one.card]
        return {
            "deals": len(self.games),
            "all": self._told(self.decisions),
            "search_differs": len(differ) / len(self.decisions),
            "situations": groups,
        }

    def _told(self, some: Sequence[Decision]) -> dict[str, Any]:
        """How often it happens, and what is lost by it; a deal and a player at a time."""
        sums = {name: dict.fromkeys(self.games, 0.0) for name in MEASURES}
        for one in some:
            for name in MEASURES:
                sums[name][one.seed] += one.losses[name] / 2
        return {
            "decisions": len(some) / len(self.games) / 2,
            "share": len(some) / len(self.decisions),
            "slips": sum(one.losses["search"] >= SLIP for one in some) / len(some),
            **{name: _mean(list(sums[name].values())) for name in MEASURES},
        }


def _by(decisions: Iterable[Decision], name: str) -> dict[str, list[Decision]]:
    """Decisions by their labels of a situation, in the order of the first number in each."""
    found: dict[str, list[Decision]] = {}
    for one in decisions:
        found.setdefault(one.labels[name], []).append(one)

    def order(label: str) -> tuple[int, str]:
        digits = "".join(letter if letter.isdigit() else " " for letter in label).split()
        return (int(digits[0]) if digits else 0, label)

    return {label: found[label] for label in sorted(found, key=order)}


def _mean(values: Sequence[float]) -> dict[str, Any]:
    mean, ci95 = mean_and_interval(np.array(values, np.float64))
    return {"margin": mean, "ci95": list(ci95)}


def reading_of(decisions: Sequence[Decision], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What one who knows the champion can tell from its cards, trick by trick."""
    rows = []
    for trick in sorted({one.trick for one in decisions}):
        some = [one for one in decisions if one.trick == trick]
        sums = dict.fromkeys(seeds, 0.0)
        for one in some:
            sums[one.seed] += one.reading / 2
        rows.append(
            {
                "trick": trick,
                "decisions": len(some),
                "hands": float(np.mean([one.hands for one in some])),
                "left": float(np.mean([one.left for one in some])),
                "certain": float(np.mean([one.left == 1 for one in some])),
                "won": _mean(list(sums.values())),
            }
        )
    return rows


def endings_of(games: Sequence[Game], tell: Callable[[float, float], None]) -> dict[str, Any]:
    """What a best response wins in the last tricks of some deals."""
    agents = {name: make_agent(name, seed=0) for name in ENDING}
    found = []
    for number, game in enumerate(games, 1):
        limits = {"noise": NOISE, "target": 0.1, "max_memory": 2.0}
        found.append(
            solve_endgame(game, number, ENDGAME_TRICKS, agents, agents[CHAMPION], **limits)
        )
        tell(number, len(games))
    return {
        "deals": len(games),
        "tricks": ENDGAME_TRICKS,
        "agents": {name: _mean([one.agents[name] for one in found]) for name in ENDING},
    }


# ---- the positions that are shown ----------------------------------------------------------------
@dataclass
class Chosen:
    """A position that is shown, and what is known of it."""

    kind: str
    decision: Decision
    game: Game
    judge: Judge
    before: list[Decision] = field(default_factory=list)
    """The same player's earlier choices in the deal."""

    def to_json(self) -> dict[str, Any]:
        """All figures of the position."""
        one = self.decision
        view = self.position().view(one.seat)
        return {
            "kind": self.kind,
            "seed": one.seed,
            "number": one.number,
            "seat": one.seat,
            "trick": one.trick,
            "card": one.card,
            "better": self.other_card,
            "position": self.position().to_text(),
            "margins": self.game.margins(),
            "labels": one.labels,
            "losses": one.losses,
            "agreed": one.agreed,
            "hands": one.hands,
            "left": one.left,
            "reading": one.reading,
            "cards": self.cards(view),
            "worlds": self.worlds(view),
            "narrowing": [
                {"trick": each.trick, "hands": each.hands, "left": each.left}
                for each in [*self.before, one]
            ],
        }

    @property
    def other_card(self) -> str:
        """What is compared with the card played: the search's, or that of one who knows."""
        return self.decision.answer if self.kind == READ else self.decision.better

    def position(self) -> Game:
        """The deal as it stood before the card."""
        game = self.game.start()
        for action in self.game.actions[: self.decision.number]:
            game.play(action)
        return game

    def fan(self, view: PlayerView) -> Fan:
        """The worlds: as the search weighs them or, of one who knows, those that are left."""
        views = BatchView.of([view])
        if self.kind == READ:
            return self.judge.known.fan(views)
        return self.judge.improver.weighed(views).fans[0]

    def cards(self, view: PlayerView) -> list[dict[str, Any]]:
        """What each legal card is worth: *alike*, played on as weighed, and to one who knows."""
        views = BatchView.of([view])
        values, logs, _ = self.judge.improver.weighed(views)
        known = self.judge.answers(self.judge.known.fan(views))
        means = self.judge.pimc.margins(view)
        return [
            {
                "card": RULES.deck[action],
                "alike": mean,
                "search": float(values[0, action]),
                "known": float(known[0, action]),
                "chance": float(np.exp(logs[0, action])),
            }
            for action, mean in zip(view.legal_actions(), means, strict=True)
        ]

    def worlds(self, view: PlayerView) -> list[dict[str, Any]]:
        """The difference between the two cards in each world, the likeliest first.

        *seen* is double dummy, *played* if the network plays on. Worlds are told by their dead
        cards.
        """
        fan = self.fan(view)
        count = len(fan.weights)
        alone = Fan(fan.states, np.ones(count), np.arange(count + 1), np.full(count, view.player))
        values = self.judge.responses.card_values(alone, 1)
        hands, _, margins = self.judge.pimc.examined(view)
        rows = {int(hand): row for row, hand in enumerate(hands)}
        legal = view.legal_actions()
        new, old = (RULES.deck.index(card) for card in (self.other_card, self.decision.card))
        found = []
        for world in range(count):
            hand = int(fan.states[world, k.HANDS + k.SEAT * (1 - view.player)])
            seen = margins[rows[hand]]
            dead = [card for card in view.unseen if not hand >> RULES.deck.index(card) & 1]
            found.append(
                {
                    "dead": dead,
                    "chance": float(fan.weights[world] / fan.weights.sum()),
                    "seen": int(seen[legal.index(new)] - seen[legal.index(old)]),
                    "played": float(values[world, new] - values[world, old]),
                }
            )
        return sorted(found, key=lambda world: -world["chance"])


def choose(meeting: Meeting) -> list[Chosen]:
    """The positions of `SHOWN`, no two of one deal."""
    found: list[Chosen] = []
    for kind, wanted in SHOWN.items():
        used = {one.decision.seed for one in found}
        some = [one for one in meeting.decisions if one.seed not in used]
        if wanted is not None:
            some = [one for one in some if one.labels[wanted[0]] == wanted[1]]
        if not some:
            continue
        most = max(some, key=lambda one: one.reading if wanted is None else one.agreed)
        before = [
            one
            for one in meeting.decisions
            if (one.seed, one.seat) == (most.seed, most.seat) and one.number < most.number
        ]
        found.append(Chosen(kind, most, meeting.games[most.seed], meeting.judge, before))
    return found


def history_of(chosen: Chosen) -> str:
    """The hand history of a deal that is shown."""
    one = chosen.decision
    event = f"weak spots of the champion: {chosen.kind}, trick {one.trick}, player {one.seat}"
    tags = {"Player 0": CHAMPION, "Player 1": CHAMPION, "Event": event}
    return chosen.game.to_text(tags | {"Seed": str(one.seed)})


def picture_of(one: dict[str, Any]) -> str:
    """The table of a position that is shown, as its player sees it, in SVG."""
    return Game.from_text(one["position"]).view(one["seat"])._repr_svg_()


# ---- the command ---------------------------------------------------------------------------------
def measure(deals: int, against_pimc: int, endings: int) -> tuple[dict[str, Any], str]:
    """Everything, for the file of results; and the hand histories of the deals shown."""
    judge = Judge()
    meetings = {}
    for opponent, number in ((CHAMPION, deals), (PIMC, against_pimc)):
        meeting = meetings[opponent] = Meeting(judge, opponent)
        with progress(f"{CHAMPION} against {opponent}") as tell:
            for first in range(0, number, AT_ONCE):
                meeting.play(range(first, min(first + AT_ONCE, number)))
                tell(len(meeting.games), number)
    own = meetings[CHAMPION]
    shown = choose(own)
    with progress("endgames") as tell:
        ended = endings_of([own.games[seed] for seed in range(endings)], tell)
    record = {
        "version": __version__,
        "platform": platform_versions(),
        "command": "python docs/weak_spots.py"
        f" --deals {deals} --pimc {against_pimc} --endings {endings}",
        "rules": RULES.name,
        "seed": 0,
        "weights": digest_of(RULES.name),
        "against": {name: meeting.to_json() for name, meeting in meetings.items()},
        "reading": reading_of(own.decisions, list(own.games)),
        "endings": ended,
        "shown": [one.to_json() for one in shown],
    }
    return record, "\n".join(map(history_of, shown))


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, measure, and write; returns the exit status."""
    parser = argparse.ArgumentParser(description="Find where the champion loses points.")
    parser.add_argument("--deals", type=_count, default=600, help="against itself (%(default)s)")
    parser.add_argument("--pimc", type=_count, default=600, help="against pimc (%(default)s)")
    parser.add_argument("--endings", type=_count, default=120, help="solved (%(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--histories", type=Path, default=DEALS, help="the deals that are shown")
    parser.add_argument("--images", type=Path, default=IMAGES, help="the folder of their pictures")
    given = parser.parse_args(arguments)
    if given.endings > given.deals:
        parser.error(f"--endings: {given.endings} is more than --deals {given.deals}; give fewer")
    try:
        with interruptible():
            record, histories = measure(given.deals, given.pimc, given.endings)
    except KeyboardInterrupt:
        note("stopped; nothing is written")
        return INTERRUPTED
    write_json(given.out, record)
    write_whole(given.histories, histories.encode())
    for one in record["shown"]:
        write_whole(given.images / f"weak_{one['kind']}.svg", picture_of(one).encode())
    for name, meeting in record["against"].items():
        lost = meeting["all"]["search"]["margin"]
        note(f"against {name}: {lost:.2f} points a deal by the search")
    return 0


def _count(text: str) -> int:
    """A number of deals: two or more, for an interval."""
    if not text.isdecimal() or not 2 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not 2 to 100000 deals")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
