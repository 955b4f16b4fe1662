"""A deal as the analysis board shows it: a document with every figure, of types that JSON knows.

Its figures are those of ``hearts_train.measure.analysis``, with these additions:

- **Luck**: the worth of the cards before the first was played. ``dealt`` is the double-dummy margin
  of each seat, all cards seen; ``hand`` is its mean over all hands that the others could have held,
  so the worth of one's own hand alone.
- **Well chosen**: the share of the points at stake in a player's choices that it did not lose, by
  what it could know. The gap between the best and the worst card is at stake.
- **Champion**: the same deal played again with the package's strongest quick player in one's seat.
  The other seats have the players named in the deal, if the package has them by that name, and the
  champion instead of people. Seeds are fixed: the same deal gives the same result. With more than
  two players it is done for one person only: ``You``, or the first that is not of the package.

Games of two without an exchange are measured exactly. All others, and decks too large for a board,
are estimated; then there is no double-dummy value, no luck and no line of best play.

A *step* is an action as a list: the seat, the action's name and, where it completes a trick, its
taker and the points of all seats after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hearts_agents import Agent, make_agent
from hearts_agents.base import check_rules
from hearts_agents.baselines import DEFAULT_WORLDS
from hearts_agents.champion import game_of, strongest
from hearts_env import Game, HeartsError, PlayerView, Rules
from hearts_env.cards import cards_of
from hearts_env.game.notation import Record, parse_records
from hearts_env.solve import TranspositionTable, solve_batch, solve_double_dummy
from hearts_env.solve.beliefs import belief, has_exact_worlds, num_first_worlds
from hearts_env.support.arguments import check_number
from hearts_env.support.progress import Progress, no_progress
from hearts_train.measure.analysis import Analysis, Measurer, Moment, analyse, summary
from hearts_train.web.messages import title_of
from hearts_train.web.players import in_parts

Json = dict[str, Any]
Step = list[Any]

VERSION = 1
MOST_CARDS = 14
"""Cards a hand in the largest game whose board has all best lines."""
MOST_WORK = 50_000
"""Hands of the other player at the beginning, times the cards of a deal, likewise."""
EPSILON = 0.1
"""The probability that the model of a player plays a random card, in odds and beliefs;
docs/worlds.md#beliefs has what it tells of `pro`."""
REVOKE = "revoke"
_SIGNS = str.maketrans({"T": "10"} | dict(zip("CDSH", "♣♦♠♥", strict=True)))
QUICK = ("easy", "standard", "standard_trump", "pro", "pro_trump", "pimc", "champion")
"""Players of the package that may sit in a deal that is played again."""


def read_deal(text: str) -> Record:
    """The one deal of a text, with its tags.

    Raises:
        HeartsError: if it is not exactly one hand history; the message says what is wrong.
    """
    records = parse_records(text)
    if len(records) != 1:
        raise HeartsError(f"deal: the text has {len(records)} deals; give exactly one")
    return records[0]


def is_exact(rules: Rules) -> bool:
    """Whether the board measures deals of these rules exactly."""
    if not has_exact_worlds(rules) or rules.hand_size > MOST_CARDS:
        return False
    return num_first_worlds(rules) * 2 * rules.hand_size <= MOST_WORK


def review(record: Record, found: Analysis | None = None, progress: Progress | None = None) -> Json:
    """The document of a deal.

    Args:
        record: the deal, finished or not.
        found: its ``analyse``; None: that is done here.
        progress: called with the work done and all of it, in actions.
    """
    rules, actions = record.game.rules, record.game.actions
    exact = is_exact(rules)
    if found is None or found.is_exact != exact:
        first, progress = _halves(progress) if exact else (progress, None)
        names = record.names()
        found = analyse(record.game, progress=first, names=names, exact=exact)
    tools, measured = Tools(rules), {moment.number: moment for moment in found.moments}
    replay = record.game.start()
    moments, steps = [], []
    for number, action in enumerate(actions):
        if progress is not None:
            progress(number, len(actions))
        if number in measured:
            moments.append(_moment(measured[number], replay, tools))
        steps.append(play_step(replay, action))
    return {
        **_heading(record),
        "exact": exact,
        "before": found.before,
        "luck": None if found.before is None else _luck(record.game.start(), found.before),
        "players": _players(record, found),
        "summary": summary(found, lambda card: card.translate(_SIGNS)),
        "steps": steps,
        "moments": moments,
        "next": _next(replay, tools),
    }


def _halves(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """The progress of two passes over the same actions, one after the other."""
    if progress is None:
        return None, None
    return (
        lambda done, total: progress(done, 2 * total),
        lambda done, total: progress(total + done, 2 * total),
    )


def position(record: Record, names: Sequence[str]) -> Json:
    """A deal played in another way: its steps, and the position after them.

    Args:
        record: the deal.
        names: all actions from the first on, by their names.

    Raises:
        HeartsError: if one is not an action, or not legal where it stands.
    """
    game = record.game.start()
    steps = [play_step(game, action) for action in actions_of(game, names)]
    return {
        "v": VERSION,
        "steps": steps,
        "moment": _next(game, Tools(game.rules)),
        "scores": game.scores() if game.is_over else None,
    }


def costliest(record: Record, seat: int, progress: Progress = no_progress) -> Json:
    """Find the card by which a player gave away most, by what it could know.

    Returns:
        ``choices``, the number of its cards that were not forced; ``card``, the costliest one, or
        None if no card was a slip or a blunder: ``at``, the number of actions before it; ``trick``;
        ``played``; ``best``, a better card; ``lost``, the points given away.

    Raises:
        HeartsError: if there is no such seat.
    """
    game = record.game
    check_number("seat", seat, 0, game.rules.players - 1)
    measurer, replay = Measurer(game.rules, exact=is_exact(game.rules)), game.start()
    choices: list[Moment] = []
    for number, action in enumerate(game.actions):
        progress(number, len(game.actions))
        is_own = replay.phase == "play" and replay.current_player == seat and action >= 0
        if is_own and len(replay.legal_actions()) > 1:
            choices.append(measurer.measure(replay, action))
        play_step(replay, action)
    found = {"choices": len(choices), "card": None}
    worst = max(choices, key=lambda moment: moment.expected_loss, default=None)
    if worst is None or not worst.mark:
        return found
    card = {"at": worst.number, "trick": worst.trick, "played": worst.card}
    return found | {"card": card | {"best": worst.better[0], "lost": worst.expected_loss}}


def _next(game: Game, tools: Tools) -> Json | None:
    """The present position of a game as a moment without a card; None outside the play."""
    if game.phase != "play":
        return None
    found = tools.measurer.measure(game, game.legal_actions()[0])
    fields = _moment(found, game, tools)
    return {name: value for name, value in fields.items() if name not in _OF_THE_CARD}


_OF_THE_CARD = ("card", "after", "lost", "expected_loss", "better", "mark")
"""Fields of a moment about the card that was played."""


def _moment(found: Moment, game: Game, tools: Tools) -> Json:
    """A card and the position before it; if that is solved, with best play and the other hands."""
    review: Json = {**found.to_json(), "mark": found.mark}
    review |= dict.fromkeys(("lines", "others"))
    if tools.measurer.table is not None:
        review["lines"] = lines_of(game, tools.measurer.table)
        view = game.view(found.player)
        review["others"] = others_of(game, view, tools)
    return review


def _heading(record: Record) -> Json:
    """What the deal is, before anything is measured."""
    game = record.game
    start = game.start()
    return {
        "v": VERSION,
        "rules": {
            "title": title_of(game.rules.name),
            "players": game.rules.players,
            "tricks": game.rules.hand_size,
            "points": {card: game.rules.card_points.get(card, 0) for card in game.rules.deck},
        },
        "names": record.names(),
        "tags": {tag: value for tag, value in record.tags.items() if tag in ("Event", "Date")},
        "deal": record.to_text(),
        "hands": hands_of(start),
        "kitty": list(game.kitty),
        "dealer": game.dealer,
        "exchange": _exchange(game),
        "totals": list(game.totals),
        "scores": game.scores() if game.is_over else None,
    }


def _exchange(game: Game) -> Json | None:
    """The number of steps of the exchange, and the hands after it; None: there was none."""
    count = game.rules.players * game.rules.pass_count
    if game.direction == "hold":
        return None
    after = game.start()
    for action in game.actions[:count]:
        play_step(after, action)
    return {"steps": count, "hands": hands_of(after)}


def _luck(start: Game, before: int) -> Json:
    """The worth of the cards to each seat before the first is played."""
    means = []
    for seat in range(2):
        games = [
            Game(start.rules, hands, kitty, dealer=start.dealer)
            for *hands, kitty in start.view(seat).worlds()
        ]
        values = solve_batch(games)
        movers = np.array([game.current_player for game in games])
        means.append(float(np.where(movers == seat, values, -values).mean()))
    return {"dealt": [before, -before], "hand": means}


def _players(record: Record, found: Analysis) -> list[Json]:
    """What each player gave away, how well it chose, and what the champion would have made."""
    replaying = _replaying(record)
    return [
        {
            **player,
            "well_chosen": well_chosen(found.moments, seat),
            "champion": replayed(record, seat) if seat in replaying else None,
        }
        for seat, player in enumerate(found.to_json()["players"])
    ]


def _replaying(record: Record) -> list[int]:
    """The seats for which the champion plays the deal again: few, as that may take seconds."""
    names = record.names()
    if not record.game.is_over:
        return []
    if len(names) == 2:
        return [0, 1]
    if "You" in names:
        return [names.index("You")]
    people = [seat for seat in range(len(names)) if _plain(record, seat) not in QUICK]
    return people[:1]


def well_chosen(moments: Sequence[Moment], seat: int) -> float | None:
    """The share of the points at stake in a player's choices that it did not lose; None: none were.

    The gap between the best and the worst legal card is at stake, by what the player could know.
    """
    own = [m for m in moments if m.player == seat]
    stake = sum(max(m.means.values()) - min(m.means.values()) for m in own)
    return 1.0 - sum(m.expected_loss for m in own) / stake if stake > 1e-9 else None


def replayed(record: Record, seat: int) -> Json:
    """The deal played again with the champion in a seat: see the head of this file.

    Returns:
        ``agent`` and ``others``, their names; ``points``, the score of the seat; ``steps``.
    """
    game = record.game.start()
    best = strongest(game.rules)
    names = [
        best if p == seat else _named(_plain(record, p), best, game.rules)
        for p in range(game.rules.players)
    ]
    agents: list[Agent] = [make_agent(name, seed=p) for p, name in enumerate(names)]
    steps: list[Step] = []
    while game.current_player is not None:
        steps.append(
            play_step(game, agents[game.current_player].act(game.view(game.current_player)))
        )
    others = [name for p, name in enumerate(names) if p != seat]
    return {"agent": best, "others": others, "points": game.scores()[seat], "steps": steps}


def _plain(record: Record, seat: int) -> str:
    """The name of a player without options, such as ``champion`` of ``champion?search=2s``."""
    return record.tags.get(f"Player {seat}", "").partition("?")[0].partition(" ")[0]


def _named(name: str, best: str, rules: Rules) -> str:
    """The player of the package with this name, if it plays these rules; else the best."""
    if name not in QUICK:
        return best
    try:
        check_rules(make_agent(name, seed=0), rules)
    except HeartsError:
        return best
    return name


# ---- one position --------------------------------------------------------------------------------
class Tools:
    """What is needed to look at one deal after another of the same rules: memory and a model.

    Not for two threads at a time.
    """

    def __init__(self, rules: Rules) -> None:
        """Tools that solve deals of these rules, if the board does, or estimate them."""
        self.measurer = Measurer(rules, exact=is_exact(rules))
        self.model: Agent = make_agent(_model_of(rules) if is_exact(rules) else "standard", seed=0)


def _model_of(rules: Rules) -> str:
    """The strongest quick player of a game, but none that would sample in every world."""
    is_sampled = game_of(rules) is None and num_first_worlds(rules) > DEFAULT_WORLDS
    return "standard" if is_sampled else strongest(rules)


def play_step(game: Game, action: int) -> Step:
    """Play an action, -1 for a revoke, and return it as a step."""
    seat = game.current_player
    if action < 0:
        game.revoke()
        return [seat, REVOKE]
    name, tricks = game.rules.action_name(action), game.trick_number
    game.play(action)
    if game.trick_number == tricks:
        return [seat, name]
    return [seat, name, game.trick_takers[-1], game.points]


def lines_of(game: Game, table: TranspositionTable) -> dict[str, list[Step]]:
    """Each legal card and best play by both after it, all cards seen, to the end of the tricks."""
    lines = {}
    for action in game.legal_actions():
        replay = game.clone()
        steps = lines[game.rules.action_name(action)] = [play_step(replay, action)]
        while replay.phase == "play":
            steps.append(play_step(replay, solve_double_dummy(replay, table=table).best[0]))
    return lines


def others_of(game: Game, view: PlayerView, tools: Tools) -> Json:
    """The hands that the other player could have: their chances, and the worth of each card then.

    A hand is given by the cards of ``unseen`` that are in it or, where these are fewer, by those
    that are not (``by`` says which). ``actual`` is the number of the real one.
    """
    rules, seat = view.rules, view.player
    hands, _, margins = tools.measurer.pimc.examined(view)
    chances = belief(view, in_parts(tools.model.action_probs), epsilon=EPSILON).weights
    unseen = set(view.unseen)
    held = [{rules.deck[card] for card in cards_of(int(hand))} for hand in hands]
    is_dead = bool(held) and 2 * len(held[0]) > len(unseen)
    shown = [sorted(unseen - cards if is_dead else cards, key=rules.deck.index) for cards in held]
    legal = [rules.action_name(action) for action in view.legal_actions()]
    actual = set(game.hand(1 - seat))
    return {
        "unseen": list(view.unseen),
        "by": "dead" if is_dead else "hand",
        "cards": ["".join(cards) for cards in shown],
        "chances": [round(float(chance), 5) for chance in chances],
        "model": tools.model.name,
        "actual": held.index(actual) if actual in held else -1,
        "values": {card: margins[:, place].tolist() for place, card in enumerate(legal)},
    }


def actions_of(game: Game, names: Iterable[str]) -> list[int]:
    """Actions by their names, as steps have them; -1 for a revoke.

    Raises:
        HeartsError: if one is not an action of these rules.
    """
    rules = game.rules
    numbers = {rules.action_name(action): action for action in range(rules.num_actions)}
    numbers[REVOKE] = -1
    unknown = [name for name in names if name not in numbers]
    if unknown:
        text = f"actions: {unknown[0]!r} is not an action of {rules.name}; give names of cards"
        raise HeartsError(text)
    return [numbers[name] for name in names]


def hands_of(game: Game) -> list[list[str]]:
    """The cards of every seat."""
    return [list(game.hand(seat)) for seat in range(game.rules.players)]
