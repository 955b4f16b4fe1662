"""A deal as the analysis board shows it: a document with every figure, of types that JSON knows.

Its figures are those of ``hearts_train.measure.analysis``. What comes on top:

- **Luck**: what the cards were worth before the first was played. ``dealt`` is the double-dummy
  margin of each seat, all cards seen; ``hand`` the mean of that over all hands the others could
  have held, so the worth of one's own hand alone.
- **Kept**: of all that a player's choices could win or lose, by what it could know, the share that
  it kept. A choice puts the gap between its best and its worst card at stake.
- **Champion**: the same deal played again with the package's strongest quick player in one's seat.
  In the other seats sit the players named in the deal, where the package has them by that name, and
  the champion in the place of people. Seeds are fixed: the same deal gives the same answer. With
  more than two players it is only done for one person: ``You``, or the first who is none of ours.

Games of two without an exchange are measured exactly. All others, and decks too large for a board,
are estimated as ``hearts_train.measure.sampled`` does; then there is no double-dummy value, no luck
and no line of best play.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hearts_agents import Agent, make_agent
from hearts_agents.base import check_rules
from hearts_agents.baselines import Pro
from hearts_agents.champion import strongest
from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import Record, parse_records
from hearts_env.solve import solve_batch
from hearts_env.solve.beliefs import has_exact_worlds, num_first_worlds
from hearts_env.support.progress import Progress
from hearts_train.measure.analysis import (
    BLUNDER,
    SLIP,
    Analysis,
    Moment,
    analyse,
    measure,
    summary,
)
from hearts_train.measure.sampled import (
    SampledAnalysis,
    SampledMoment,
    analyse_sampled,
    estimate,
    sampled_summary,
)
from hearts_train.web.moments import (
    Json,
    Step,
    Tools,
    actions_of,
    endgame_of,
    hands_of,
    lines_of,
    others_of,
    play_step,
)

VERSION = 1
MOST_CARDS = 14
"""Cards a hand in the largest game whose board has all best lines and endgames."""
MOST_WORK = 50_000
"""Hands of the other player at the beginning, times the cards of a deal, likewise."""
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


def review(
    record: Record,
    found: Analysis | SampledAnalysis | None = None,
    *,
    worlds: bool = True,
    progress: Progress | None = None,
) -> Json:
    """The document of a deal.

    Args:
        record: the deal, finished or not.
        found: what ``analyse`` or ``analyse_sampled`` has found of it; None: that is done here.
        worlds: measure what the players could know too; estimates always do.
        progress: called with the work done and all of it, in actions.
    """
    if is_exact(record.game.rules):
        if not isinstance(found, Analysis):
            first, progress = _halves(progress)
            found = analyse(record.game, worlds=worlds, progress=first, names=record.names())
        return _exact(record, found, progress, worlds=worlds)
    if not isinstance(found, SampledAnalysis):
        found = analyse_sampled(record.game, progress=progress, names=record.names())
    return _sampled(record, found)


def _halves(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """What two passes over the same actions call, one after the other."""
    if progress is None:
        return None, None
    return (
        lambda done, total: progress(done, 2 * total),
        lambda done, total: progress(total + done, 2 * total),
    )


def _exact(record: Record, found: Analysis, progress: Progress | None, *, worlds: bool) -> Json:
    actions, tools = record.game.actions, Tools(record.game.rules)
    moments, steps = [], []
    replay = record.game.start()
    for number, action in enumerate(actions):
        if progress is not None:
            progress(number, len(actions))
        if number < len(found.moments):
            moments.append(_moment(found.moments[number], replay, tools, worlds=worlds))
        steps.append(play_step(replay, action))
    players = [
        {"lost": found.lost(seat), "expected_loss": found.expected_loss(seat)} for seat in range(2)
    ]
    return {
        **_heading(record),
        "exact": True,
        "before": found.before,
        "luck": _luck(record.game.start(), found.before),
        "players": _players(record, found.moments, players),
        "summary": summary(found),
        "steps": steps,
        "moments": moments,
        "next": _next(replay, len(steps), worlds=worlds),
    }


def _sampled(record: Record, found: SampledAnalysis) -> Json:
    replay = record.game.start()
    steps = [play_step(replay, action) for action in record.game.actions]
    seats = range(record.game.rules.players)
    players = [{"expected_loss": found.expected_loss(seat)} for seat in seats]
    return {
        **_heading(record),
        "exact": False,
        "before": None,
        "luck": None,
        "players": _players(record, found.moments, players),
        "summary": sampled_summary(found),
        "steps": steps,
        "moments": [
            {**_estimated(m), "action": m.card, "expected_loss": m.expected_loss}
            | {"better": m.better, "mark": m.mark}
            for m in found.moments
        ],
        "next": _next(replay, len(steps), worlds=True),
    }


def _estimated(m: SampledMoment) -> Json:
    """What is known of a position by a sample."""
    return {
        "number": m.number,
        "trick": m.trick,
        "seat": m.player,
        "values": {},
        "means": m.means,
        "half": m.half if m.sample else None,
        "close": m.close,
        "worlds": m.worlds,
        "sample": m.sample,
        "lines": None,
        "others": None,
        "endgame": None,
    }


def position(record: Record, names: Sequence[str]) -> Json:
    """What comes of a deal played in another way: its steps, and the position after them.

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
        "moment": _next(game, len(steps), worlds=True),
        "scores": game.scores() if game.is_over else None,
    }


def _next(game: Game, number: int, *, worlds: bool) -> Json | None:
    """The position that a game stands in, as a moment without a card; None outside the play."""
    if game.phase != "play":
        return None
    if not is_exact(game.rules):
        return _estimated(estimate(game, number, game.legal_actions()[0], Pro(seed=0)))
    tools = Tools(game.rules)
    values, means, count = measure(game, tools.table, tools.pimc, worlds=worlds)
    return {
        "number": number,
        "trick": game.trick_number + 1,
        "seat": game.player,
        "values": values,
        "means": means,
        "worlds": count,
        **_beside(game, tools, worlds=worlds),
    }


def _heading(record: Record) -> Json:
    """What the deal is, before anything is measured."""
    game = record.game
    start = game.start()
    return {
        "v": VERSION,
        "rules": {
            "name": game.rules.name,
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
        "marks": {"slip": SLIP, "blunder": BLUNDER},
        "totals": list(game.totals),
        "scores": game.scores() if game.is_over else None,
    }


def _exchange(game: Game) -> Json | None:
    """How many steps the exchange of a deal has, and the hands after it; None: it has none."""
    count = game.rules.players * game.rules.pass_count
    if game.direction == "hold":
        return None
    after = game.start()
    for action in game.actions[:count]:
        play_step(after, action)
    return {"steps": count, "hands": hands_of(after)}


def _moment(told: Moment, game: Game, tools: Tools, *, worlds: bool) -> Json:
    """A card that was played, and what else could be known of the position before it."""
    return {
        "number": told.number,
        "trick": told.trick,
        "seat": told.player,
        "action": told.card,
        "values": told.values,
        "means": told.means,
        "worlds": told.worlds,
        "lost": told.lost,
        "expected_loss": told.expected_loss,
        "after": told.after,
        "better": told.better,
        "mark": told.mark,
        **_beside(game, tools, worlds=worlds),
    }


def _beside(game: Game, tools: Tools, *, worlds: bool) -> Json:
    """Best play after each card and, with `worlds`, the other hands and the endgame."""
    found: Json = {"lines": lines_of(game, tools.table), "others": None, "endgame": None}
    if worlds and game.player is not None:
        view = game.view(game.player)
        found["others"] = others_of(game, view, tools)
        found["endgame"] = endgame_of(view, tools.model)
    return found


def _luck(start: Game, before: int) -> Json:
    """What the cards are worth to each seat before the first is played."""
    return {"dealt": [before, -before], "hand": [_worth_of_hand(start, seat) for seat in range(2)]}


def _worth_of_hand(start: Game, seat: int) -> float:
    """The mean double-dummy margin of a seat over all hands that the other could have."""
    games = []
    for world in start.view(seat).worlds():
        *hands, kitty = world
        games.append(Game(start.rules, hands, kitty, dealer=start.dealer))
    values = solve_batch(games)
    movers = np.array([game.player for game in games])
    return float(np.where(movers == seat, values, -values).mean())


def _players(
    record: Record, moments: Sequence[Moment | SampledMoment], losses: Sequence[Json]
) -> list[Json]:
    """What each player gave away and kept, and how the champion would have done."""
    replaying = _replaying(record)
    return [
        {
            "name": name,
            **losses[seat],
            "kept": kept(moments, seat),
            "champion": replayed(record, seat) if seat in replaying else None,
        }
        for seat, name in enumerate(record.names())
    ]


def _replaying(record: Record) -> list[int]:
    """The seats for which the champion plays the deal again; it takes seconds with many players."""
    names = record.names()
    if not record.game.is_over:
        return []
    if len(names) == 2:
        return [0, 1]
    if "You" in names:
        return [names.index("You")]
    people = [seat for seat in range(len(names)) if _plain(record, seat) not in QUICK]
    return people[:1]


def kept(moments: Sequence[Moment | SampledMoment], seat: int) -> float | None:
    """The share of what was at stake in a player's choices that it kept; None: nothing was.

    At stake is the gap between the best and the worst legal card, by what the player could know.
    """
    own = [m for m in moments if m.player == seat and m.means]
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
    while game.player is not None:
        steps.append(play_step(game, agents[game.player].act(game.view(game.player))))
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
