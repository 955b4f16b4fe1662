"""Play two agents on duplicate deals or matches, block by block.

A *seating* says in which seat the agent sits. All deals of a block are played with the agent in
seat 0, then all with the agent in seat 1, and so on, so no batch has views of two plays of the same
deal. Each seat of each seating has its own player, which is made afresh for each block. The
players' seeds are hashes from which the seed of the evaluation cannot be computed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, get_type_hints

import numpy as np

from hearts_agents.guard import NO_ACTION
from hearts_agents.user_code import Fault
from hearts_env import BatchGame, Game, Match, Rules
from hearts_env import kernel as k
from hearts_env.batch.views import BatchView
from hearts_env.seeds import derived_seed, secret_seed
from hearts_env.support.arguments import whole_numbers
from hearts_env.support.arrays import Floats, Ints
from hearts_train.measure.participants import Participant, Seat, rounds
from hearts_train.store import misfit

ROLES = ("agent", "opponent")
_MOST_EXAMPLES = 3
"""The most faults per agent that are described in full, in each block and result."""
WORST = 5
"""The number of the agent's worst deals per block that are recorded card by card."""


@dataclass(frozen=True)
class Example:
    """A fault with everything needed to reproduce it.

    Attributes:
        agent: the name of the agent.
        role: ``agent`` or ``opponent``.
        kind: the kind of fault, one of ``guard.KINDS``.
        text: the fault in words.
        seed: the seed of the deal, ``Game.deal(rules, seed)``.
        seat: the seat of the agent.
        view: the view that the agent was asked about, as text.
    """

    agent: str
    role: str
    kind: str
    text: str
    seed: int
    seat: int
    view: str


def first_examples(examples: Iterable[Example]) -> tuple[Example, ...]:
    """Return the first faults of each agent in each role."""
    found: dict[tuple[str, str], list[Example]] = {}
    for example in examples:
        found.setdefault((example.role, example.agent), []).append(example)
    return tuple(one for key in sorted(found) for one in found[key][:_MOST_EXAMPLES])


@dataclass(frozen=True)
class WorstDeal:
    """A duplicate deal that the agent lost, card by card.

    Attributes:
        number: the number of the deal in the evaluation.
        seed: the seed of the deal, ``Game.deal(rules, seed)``.
        lost: the agent's scores minus the others' mean scores, summed over all plays and multiplied
            by ``players - 1``, which makes it a whole number.
        games: the hand history of each play, with the agent in seat 0, in seat 1, and so on.
    """

    number: int
    seed: int
    lost: int
    games: tuple[str, ...]

    @classmethod
    def of(cls, record: dict[str, Any]) -> WorstDeal:
        """Return the deal that ``asdict`` and JSON have written."""
        return cls(**record | {"games": tuple(record["games"])})


@dataclass
class Block:
    """The results of some duplicate deals. Rows are plays: all seats of a deal, then the next deal.

    Attributes:
        first: the number of the first deal.
        deals: the number of deals.
        scores: ``(deals * players, players) int64``, first the agent's score, then the others in
            order of play.
        points: the points of the cards taken, in the same shape and order. For a revoked deal, its
            scores.
        shooters: ``(deals * players,) int64``, the player who shot the moon, counted from the
            agent, or -1 for none.
        seconds: the decision time of agent and opponents, without the first calls.
        decisions: the number of decisions in that time.
        faults: the number of faults of agent and opponents.
        examples: some of the faults.
        worst: the deals that the agent lost most, the worst first.
    """

    first: int
    deals: int
    scores: Ints
    points: Ints
    shooters: Ints
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    decisions: list[int] = field(default_factory=lambda: [0, 0])
    faults: list[int] = field(default_factory=lambda: [0, 0])
    examples: list[Example] = field(default_factory=list)
    worst: list[WorstDeal] = field(default_factory=list)

    @property
    def ahead(self) -> Ints:
        """The agent's lead in each duplicate deal, ``(deals,) int64``.

        This is the sum, over all plays of the deal and all others, of the other's score minus the
        agent's score. A mean margin of one point is a lead of ``players * (players - 1)``. An even
        result is exactly 0.
        """
        players = self.scores.shape[1]
        lead = self.scores.sum(1) - players * self.scores[:, 0]
        total: Ints = lead.reshape(self.deals, players).sum(1)
        return total

    @property
    def margins(self) -> Floats:
        """The agent's mean margin in each duplicate deal in points, ``(deals,)``."""
        players = self.scores.shape[1]
        margins: Floats = self.ahead / (players * (players - 1))
        return margins

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        record = dict(vars(self))
        for name in ("scores", "points", "shooters"):
            record[name] = record[name].ravel().tolist()
        for name in ("examples", "worst"):
            record[name] = [asdict(one) for one in record[name]]
        return record

    @classmethod
    def of(cls, record: dict[str, Any], players: int) -> Block:
        """Return the block that ``to_json`` wrote.

        Raises:
            ValueError, TypeError: if `record` is something else.
        """
        _check_record(record, _BLOCK)
        first, deals = record["first"], record["deals"]
        games = deals * players
        worst = [WorstDeal.of(deal) for deal in record["worst"]]
        if any(not first <= deal.number < first + deals for deal in worst):
            raise ValueError("worst")
        most = _MOST_POINTS
        return cls(
            **record
            | {
                "scores": _whole(record["scores"], games * players, -most, most).reshape(games, -1),
                "points": _whole(record["points"], games * players, -most, most).reshape(games, -1),
                "shooters": _whole(record["shooters"], games, -1, players - 1),
                "examples": [Example(**example) for example in record["examples"]],
                "worst": worst,
            }
        )


@dataclass
class MatchBlock:
    """The results of some pairs of matches.

    Arrays are ``(deals, 2) float64``: the match with the agent in seat 0, then the match with the
    agent in seat 1.

    Attributes:
        first: the number of the first pair.
        deals: the number of pairs. The name is the one in ``Block``.
        won: 1 if the agent won, 0.5 for a tie.
        lengths: the number of deals in the match.
        ahead: the final lead of the agent in points or chips.
        faults: the number of faults of agent and opponent.
    """

    first: int
    deals: int
    won: Floats
    lengths: Floats
    ahead: Floats
    faults: list[int] = field(default_factory=lambda: [0, 0])

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        arrays = {name: getattr(self, name).ravel().tolist() for name in MATCH_ARRAYS}
        return vars(self) | arrays

    @classmethod
    def of(cls, record: dict[str, Any], _players: int = 2) -> MatchBlock:
        """Return the block that ``to_json`` wrote.

        Raises:
            ValueError, TypeError: if `record` is something else.
        """
        _check_record(record, _MATCH_BLOCK)
        arrays = {
            name: np.array(record[name], np.float64).reshape(record["deals"], 2)
            for name in MATCH_ARRAYS
        }
        return cls(**record | arrays)


MATCH_ARRAYS = ("won", "lengths", "ahead")
_MOST_POINTS = 10**9
_OF_ANY = {"first": int, "deals": int, "faults": [int]}
_BLOCK = {
    **_OF_ANY,
    **dict.fromkeys(("scores", "points", "shooters"), list),
    "seconds": [float],
    "decisions": [int],
    "examples": [get_type_hints(Example)],
    "worst": [{"number": int, "seed": int, "lost": int, "games": [str]}],
}
_MATCH_BLOCK = _OF_ANY | {name: [float] for name in MATCH_ARRAYS}
"""The shapes of the records of blocks (``store.misfit``)."""


def _check_record(record: Any, shape: dict[str, Any]) -> None:
    """Raise ValueError unless a record has this shape and possible counts."""
    if wrong := misfit(record, shape):
        raise ValueError(wrong)
    pairs = [record[name] for name in ("faults", "seconds", "decisions") if name in shape]
    if record["deals"] < 1 or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError("counts")


def _whole(values: Any, size: int, low: int, high: int) -> Ints:
    """Return whole numbers of a record within bounds, or raise ValueError."""
    array = whole_numbers(values)
    if array is None or array.shape != (size,) or array.min() < low or array.max() > high:
        raise ValueError("arrays")
    return array


def unseen(*_done: object) -> None:
    """Show no progress."""


class Duel:
    """Plays one agent against copies of another, on duplicate deals or in matches.

    Every seat of every block gets a fresh player. Duplicate matches are for two players. Match i
    has the i-th seed, and is played with the agent in seat 0 and then in seat 1. The same cards are
    dealt to the same seats for as long as both plays last. Together they are a *pair of matches*,
    the unit of the interval. Players see the totals (``view.totals``), the number of the deal and
    the dealer.
    """

    def __init__(
        self,
        agent: Participant,
        opponent: Participant,
        rules: Rules,
        seed: int,
        unit: str = "deal",
        time_limit: float | None = None,
    ) -> None:
        """Set up play between agents that can play these rules, on ``deal`` or ``match`` units."""
        self.participants = agent, opponent
        self.rules = rules
        self.seed = seed
        self.unit = unit
        self.time_limit = time_limit
        self._seats: dict[tuple[int, int], Seat] = {}
        self._is_warm = False

    def close(self) -> None:
        """End the players' processes. More blocks can be played afterwards."""
        for seat in self._seats.values():
            seat.close()
        self._seats.clear()

    def play(self, first: int, deals: int, progress: Callable[[float], None] = unseen) -> Any:
        """Play deals, or pairs of matches, in every seat, from number `first` on.

        `progress` is called with the number done. Deals being played count in part.
        """
        play = self._play_deals if self.unit == "deal" else self._play_matches
        return play(first, deals, progress)

    def _seat(self, first: int, seating: int, seat: int) -> Seat:
        """Return a fresh player. An isolated player keeps the process of earlier blocks."""
        role = int(seat != seating)
        work = "evaluation" if self.unit == "deal" else "matches"
        seed = secret_seed(self.seed, work, ROLES[role], first, seating, seat)
        if (seating, seat) in self._seats:
            self._seats[seating, seat].renew(seed)
        else:
            made = self.participants[role].seat(self.rules, seed, self.time_limit)
            self._seats[seating, seat] = made
        return self._seats[seating, seat]

    # -- deals ------------------------------------------------------------------------------------
    def _play_deals(self, first: int, deals: int, progress: Callable[[float], None]) -> Block:
        n = self.rules.players
        seeds = np.array([derived_seed(self.seed, first + i) for i in range(deals)], np.int64)
        scores, points = (np.empty((deals, n, n), np.int64) for _ in range(2))
        shooters = np.empty((deals, n), np.int64)
        block = Block(first, deals, scores, points, shooters)
        batch = BatchGame(self.rules, num_games=deals, observation="flat", autodeal=False)
        played = []
        for seating in range(n):

            def report(share: float, before: int = seating) -> None:
                progress(deals * (before + share) / n)

            batch.reset(seeds=seeds)
            self._play_out(batch, seating, block, report)
            order = (seating + np.arange(n)) % n
            scores[:, seating] = batch.scores()[:, order]
            taken = batch.states[:, k.every_seat(k.POINTS, n)][:, order]
            revoked = batch.states[:, k.REVOKER] >= 0
            points[:, seating] = np.where(revoked[:, None], scores[:, seating], taken)
            shooter = batch.states[:, k.SHOOTER]
            shooters[:, seating] = np.where(shooter < 0, -1, (shooter - seating) % n)
            played.append(batch.states.copy())
        block.scores, block.points = scores.reshape(-1, n), points.reshape(-1, n)
        block.shooters = shooters.reshape(-1)
        lost = -block.ahead
        for row in np.argsort(-lost, kind="stable")[:WORST]:
            games = [Game.from_state(self.rules, states[row]).to_text() for states in played]
            deal = WorstDeal(first + int(row), int(seeds[row]), int(lost[row]), tuple(games))
            block.worst.append(deal)
        return block

    def _play_out(
        self, batch: BatchGame, seating: int, block: Block, progress: Callable[[float], None]
    ) -> None:
        rules = self.rules
        roles = [int(seat != seating) for seat in range(rules.players)]
        players = [self._seat(block.first, seating, seat) for seat in range(rules.players)]
        expected = rules.players * (rules.hand_size + rules.pass_count) + (rules.moon == "choose")
        for step, waiting in enumerate(rounds(batch, players)):
            progress(min(1.0, step / expected))
            for seat, player, games in waiting:
                views = batch.views(games=games)
                begin = time.perf_counter()
                actions, faults = player.ask(views)
                seconds = time.perf_counter() - begin
                if self._is_warm or step > 1:  # earlier calls may compile
                    block.seconds[roles[seat]] += seconds
                    block.decisions[roles[seat]] += len(games)
                if faults:
                    self._charge(batch, games, faults, roles[seat], block)
                    games, actions = games[actions != NO_ACTION], actions[actions != NO_ACTION]
                batch.play(actions, games=games)
        for player in players:
            player.rest()
        self._is_warm = True

    def _charge(
        self, batch: BatchGame, games: Ints, faults: list[Fault], role: int, block: Block
    ) -> None:
        """End the games with faults as revokes of the agent that committed them."""
        described = sum(example.role == ROLES[role] for example in block.examples)
        for fault in faults[: max(0, _MOST_EXAMPLES - described)]:
            game = int(games[fault.row])
            view = batch.views(games=np.array([game]))[0]
            block.examples.append(
                Example(
                    agent=self.participants[role].name,
                    role=ROLES[role],
                    kind=fault.kind,
                    text=fault.text,
                    seed=int(batch.seeds[game]),
                    seat=view.player,
                    view=view.to_text(),
                )
            )
        block.faults[role] += len(faults)
        batch.revoke(games=games[[fault.row for fault in faults]])

    # -- matches ----------------------------------------------------------------------------------
    def _play_matches(
        self, first: int, pairs: int, progress: Callable[[float], None]
    ) -> MatchBlock:
        shape = (pairs, 2)
        block = MatchBlock(first, pairs, np.zeros(shape), np.zeros(shape), np.zeros(shape))
        for seating in range(2):  # the seat of the agent
            seeds = [derived_seed(self.seed, first + i) for i in range(pairs)]
            matches = [Match(self.rules, seed) for seed in seeds]
            players = [self._seat(first, seating, seat) for seat in range(2)]
            for player in players:
                player.ready()
            live = matches
            while live:
                for seat, player in enumerate(players):
                    block.faults[int(seat != seating)] += _play_turn(live, seat, player)
                live = [match for match in live if not match.is_over]
                progress((seating * pairs + pairs - len(live)) / 2)
            for player in players:
                player.rest()
            for row, match in enumerate(matches):
                leaders, totals = match.leaders, match.totals
                block.won[row, seating] = Fraction(seating in leaders, len(leaders))
                block.lengths[row, seating] = match.num_deals
                lead = float(totals[1 - seating] - totals[seating])
                block.ahead[row, seating] = -lead if match.in_chips else lead
        return block


def _play_turn(matches: Sequence[Match], seat: int, player: Seat) -> int:
    """Play a card in each match in which this seat is to act. Return the number of faults."""
    turn = [match for match in matches if match.current_player == seat]
    if not turn:
        return 0
    actions, faults = player.ask(BatchView.of([match.game.view(seat) for match in turn]))
    for match, action in zip(turn, actions.tolist(), strict=True):
        if action == NO_ACTION:
            match.revoke()
        else:
            match.play(action)
    return len(faults)


_DEALT_AT_ONCE = 2048
"""The number of deals in memory at once."""


def deals_digest(rules: Rules, seed: int, deals: int) -> str:
    """Return the SHA-256 of seeds and cards of the first `deals` deals of an evaluation."""
    hands = np.arange(rules.state_size)[k.every_seat(k.HANDS, rules.players)]
    fields = [k.DEAL_NUMBER, k.DEALER, k.KITTY, *hands]
    digest = hashlib.sha256()
    for first in range(0, deals, _DEALT_AT_ONCE):
        numbers = range(first, min(first + _DEALT_AT_ONCE, deals))
        seeds = np.array([derived_seed(seed, number) for number in numbers], np.int64)
        batch = BatchGame(rules, num_games=len(seeds), autodeal=False)
        batch.reset(seeds=seeds)
        cards = np.column_stack([seeds, batch.states[:, fields]])
        digest.update(np.ascontiguousarray(cards, "<i8").tobytes())
    return digest.hexdigest()
