"""Agents that misbehave are named and charged for the deal. The other games continue."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import Agent, as_agent
from hearts_agents.guard import ask
from hearts_agents.user_code import describe
from hearts_env import BatchGame, Game, HeartsError, Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.interrupts import noted_interrupt
from hearts_train.measure.evaluation import evaluate

PAIRS, SEED = 20, 4
RULES = Rules.preset("two_player")


class Own(BaseException):
    """An exception that no handler expects."""


def goes_wrong(view):
    """Return True after ten cards if the dealt hand has the ace of hearts."""
    own = {*view.hand, *(card for seat, card in view.history if seat == view.player)}
    return len(view.history) >= 10 and "AH" in own


class Lowest:
    """Play the lowest legal action, except for `wrong` where `goes_wrong`."""

    def __init__(self, wrong=None, name="Lowest"):
        self.wrong, self.name = wrong, name

    def act(self, view):
        lowest = view.legal_actions()[0]
        return self.wrong(view) if self.wrong and goes_wrong(view) else lowest


class Batch(Lowest):
    """A `Lowest` that answers all views at once."""

    def act_batch(self, views):
        given = [self.act(view) for view in views]
        return np.array(given) if all(isinstance(one, int) for one in given) else given


class Tampers(Lowest):
    """Change the views, then answer correctly."""

    def act_batch(self, views):
        actions = np.array([Lowest().act(view) for view in views])
        rows = [row for row, view in enumerate(views) if goes_wrong(view)]
        if rows:
            self.wrong(views, rows)
        return actions


def raises(error):
    def wrong(view):
        raise error

    return wrong


def fills(view):
    action, view.vector[:] = view.legal_actions()[0], 0
    return action


def replaces(view):
    action, view.vector = view.legal_actions()[0], "nothing"
    return action


def replaces_all(views, rows):
    views.vectors = None


def resizes(views, rows):
    views.vectors.resize((1, 3), refcheck=False)
    views.players[:] = 5


KINDS = [
    *(
        (cls, raises(error), "raised", words)
        for cls in (Lowest, Batch)
        for error, words in (
            (KeyError("no such plan"), "KeyError: 'no such plan'"),
            (SystemExit(3), "SystemExit: 3"),
            (Own("mine"), "Own: mine"),
            (KeyboardInterrupt(), "KeyboardInterrupt"),
        )
    ),
    *(
        (cls, lambda _, given=given: given, "illegal", words)
        for cls in (Lowest, Batch)
        for given, words in (
            (99, "action 99"),
            ("ace of hearts", "'ace of hearts'"),
            (None, "None (NoneType)"),
        )
    ),
]


def charged_plainly(opponent):
    """Play the same deals one by one. Return the margins and the number of deals charged."""
    margins, charged = [], 0
    for number in range(PAIRS):
        margin = 0
        for seat in (0, 1):
            game = Game.deal(RULES, derived_seed(SEED, number))
            while (player := game.current_player) is not None:
                view = game.view(player)
                if player == seat and goes_wrong(view):
                    game.revoke()
                    charged += 1
                else:
                    game.play((Lowest() if player == seat else opponent).act(view))
            scores = game.scores()
            margin += scores[1 - seat] - scores[seat]
        margins.append(margin / 2)
    return margins, charged


@pytest.mark.parametrize(("agent", "wrong", "kind", "words"), KINDS)
def test_misbehaving_agent_pays_and_others_continue(agent, wrong, kind, words):
    result = evaluate(agent(wrong, "wrong"), Lowest(), deals=PAIRS, seed=SEED)
    margins, charged = charged_plainly(Lowest())
    assert 0 < charged < 2 * PAIRS
    assert result.margins.tolist() == margins
    assert (result.faults, result.opponent_faults) == (charged, 0)
    example = result.examples[0]
    assert (example.agent, example.role, example.kind) == ("wrong", "agent", kind)
    assert words in example.text
    # The view is reported unchanged, to make the fault reproducible.
    game = Game.deal(RULES, example.seed)
    assert "AH" in game.hand(example.seat)
    assert f"player {1 - example.seat}" in example.view
    json.dumps(result.to_json(), allow_nan=False)


ILLEGAL = Lowest(lambda _: 99, "Illegal")


def test_opponents_fault_is_charged_to_opponent():
    mine = evaluate(Lowest(), ILLEGAL, deals=PAIRS, seed=SEED)
    theirs = evaluate(ILLEGAL, Lowest(), deals=PAIRS, seed=SEED)
    assert (mine.margin, mine.opponent_faults) == (-theirs.margin, theirs.faults)
    assert mine.examples[0].role == "opponent"


@pytest.mark.parametrize("wrong", ["short", "unheld"])
def test_wrong_count_costs_all_rows_illegal_action_one(wrong):
    class Wrong(Agent):
        def act_batch(self, views):
            if wrong == "short":
                return np.zeros(len(views) - 1, np.int64)
            actions = np.array([view.legal_actions()[0] for view in views])
            actions[1] = next(a for a in range(28) if a not in views[1].legal_actions())
            return actions

    views = BatchGame(RULES, 3, seed=1).views()
    actions, faults = ask(Wrong(), views)
    rows = [0, 1, 2] if wrong == "short" else [1]
    assert [(fault.row, fault.kind) for fault in faults] == [(row, "illegal") for row in rows]
    assert ("shape (2,)" in faults[0].text) == (wrong == "short")
    for row, action in enumerate(actions.tolist()):
        assert action == -1 if row in rows else action in views[row].legal_actions()


@pytest.mark.parametrize(
    ("cls", "wrong"),
    [(Lowest, fills), (Lowest, replaces), (Tampers, replaces_all), (Tampers, resizes)],
)
def test_changing_views_has_no_effect(cls, wrong, monkeypatch):
    monkeypatch.setitem(globals(), "goes_wrong", lambda view: True)
    views = BatchGame(RULES, 4, seed=1).views()
    given = views.vectors, views.players
    before = views.vectors.copy(), views.players.copy()
    actions, faults = ask(as_agent(cls(wrong)), views)
    assert faults == []
    assert actions.tolist() == [view.legal_actions()[0] for view in views]
    assert views.vectors is given[0]
    assert views.players is given[1]
    assert all((now == then).all() for now, then in zip(given, before, strict=True))


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("swallows", [False, True])
def test_signal_is_not_the_agents_fault(batched, swallows):
    class Pressed(Lowest):
        def act(self, view):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                if not swallows:
                    raise ValueError("interrupted") from None
            return super().act(view)

    if batched:
        Pressed.act_batch = lambda self, views: [self.act(view) for view in views]
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ask(as_agent(Pressed()), BatchGame(RULES, 2).views())
    assert signal.getsignal(signal.SIGINT) is before
    # A handler that only notes the signal has nothing to raise.
    with noted_interrupt() as pressed:
        actions, faults = ask(as_agent(Pressed()), BatchGame(RULES, 2).views())
    assert (pressed(), faults, len(actions)) == (signal.SIGINT, [], 2)


@pytest.mark.parametrize("cls", [Lowest, Batch])
def test_card_names_count_as_actions(cls, monkeypatch):
    plain = evaluate(Lowest(), "standard", deals=10)
    monkeypatch.setitem(globals(), "goes_wrong", lambda view: True)
    names = cls(lambda view: view.rules.deck[view.legal_actions()[0]].lower())
    named = evaluate(names, "standard", deals=10)
    assert (named.margins.tolist(), named.faults) == (plain.margins.tolist(), 0)


def test_error_names_its_line_in_users_code():
    def raise_inside():
        return np.zeros(2).reshape(3)

    place = raise_inside.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match="reshape") as raised:
        raise_inside()
    told = describe(raised.value)
    assert told.endswith(f", line {place} of {Path(__file__).name}, in raise_inside")
    with pytest.raises(HeartsError) as ours:  # raised by this package, asked from here
        Game.deal("nowhere", seed=1)
    assert f"of {Path(__file__).name}" in describe(ours.value)
    assert describe(ValueError("a\n b")) == "ValueError: a b"
