"""Agents that misbehave: named, charged for the deal, and the rest goes on."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from hearts_agents import Agent, as_agent
from hearts_agents.guard import ask
from hearts_agents.user_code import describe
from hearts_env import BatchGame, Game, HeartsError, IllegalActionError, Rules
from hearts_env.seeds import derived_seed
from hearts_env.support.interrupts import noted_interrupt
from hearts_train.command.reports import show_evaluations, show_tournament
from hearts_train.measure.evaluation import evaluate
from hearts_train.measure.tournament import tournament

PAIRS, SEED = 20, 4
RULES = Rules.preset("two_player")


class Lowest:
    """Plays the legal action with the lowest number; goes wrong at the deals of some hands."""

    def goes_wrong(self, view):
        """Once, after ten cards, where the hand dealt has the ace of hearts."""
        own = {*view.hand, *(card for seat, card in view.history if seat == view.player)}
        return len(view.history) >= 10 and "AH" in own

    def act(self, view):
        return view.legal_actions()[0]


class Raises(Lowest):
    def act(self, view):
        if self.goes_wrong(view):
            raise KeyError("no such plan")
        return super().act(view)


class Leaves(Lowest):
    def act(self, view):
        if self.goes_wrong(view):
            raise SystemExit(3)
        return super().act(view)


class Own(BaseException):
    """What no handler of exceptions expects."""


class RaisesItsOwn(Lowest):
    def act(self, view):
        if self.goes_wrong(view):
            raise Own("mine")
        return super().act(view)


class Interrupts(Lowest):
    def act(self, view):
        if self.goes_wrong(view):
            raise KeyboardInterrupt
        return super().act(view)


class Closes(Lowest):
    def act_batch(self, views):
        return (Lowest.act(self, view) for view in self.until_wrong(views))

    def until_wrong(self, views):
        for view in views:
            if self.goes_wrong(view):
                raise GeneratorExit
            yield view


class Illegal(Lowest):
    def act(self, view):
        return 99 if self.goes_wrong(view) else super().act(view)


class Words(Lowest):
    def act(self, view):
        return "ace of hearts" if self.goes_wrong(view) else super().act(view)


class Nothing(Lowest):
    def act(self, view):
        return None if self.goes_wrong(view) else super().act(view)


class Tampers(Lowest):
    def act(self, view):
        action = super().act(view)
        if self.goes_wrong(view):
            view.vector[:] = 0
        return action


class Batch(Lowest):
    """The same by ``act_batch``."""

    one: type[Lowest]

    def act_batch(self, views):
        return np.array([self.one().act(view) for view in views])


class RaisesInBatch(Batch):
    one = Raises


class IllegalInBatch(Batch):
    one = Illegal


class ListWithNothing(Batch):
    def act_batch(self, views):
        return [Nothing().act(view) for view in views]


class RaisesItsOwnInBatch(Batch):
    one = RaisesItsOwn


class ReplacesInBatch(Lowest):
    def act_batch(self, views):
        actions = np.array([Lowest.act(self, view) for view in views])
        if any(self.goes_wrong(view) for view in views):
            views.vectors = None
        return actions


class Replaces(Lowest):
    def act(self, view):
        action = super().act(view)
        if self.goes_wrong(view):
            view.vector = "nothing"
        return action


class TampersInBatch(Lowest):
    def act_batch(self, views):
        actions = np.array([Lowest.act(self, view) for view in views])
        for row in range(len(views)):
            if self.goes_wrong(views[row]):
                views.vectors[row, :] = 7
        return actions


KINDS = [
    (Raises, "raised", "KeyError: 'no such plan'"),
    (Leaves, "raised", "SystemExit: 3"),
    (RaisesItsOwn, "raised", "Own: mine"),
    (Interrupts, "raised", "KeyboardInterrupt"),
    (Closes, "raised", "GeneratorExit"),
    (RaisesItsOwnInBatch, "raised", "Own: mine"),
    (Replaces, "tampered", "the view"),
    (Illegal, "illegal", "action 99"),
    (Words, "illegal", "'ace of hearts'"),
    (Nothing, "illegal", "None (NoneType)"),
    (Tampers, "tampered", "the view"),
    (RaisesInBatch, "raised", "KeyError: 'no such plan'"),
    (IllegalInBatch, "illegal", "action 99"),
    (ListWithNothing, "illegal", "None"),
    (TampersInBatch, "tampered", "the view"),
]


def charged_plainly(opponent):
    """The same deals one after another: margins, and how many deals were charged."""
    margins, charged = [], 0
    for number in range(PAIRS):
        margin = 0
        for seat in (0, 1):
            game = Game.deal(RULES, derived_seed(SEED, number))
            while (player := game.player) is not None:
                view = game.view(player)
                if player == seat and Lowest().goes_wrong(view):
                    game.revoke()
                    charged += 1
                else:
                    game.play((Lowest() if player == seat else opponent).act(view))
            scores = game.scores()
            margin += scores[1 - seat] - scores[seat]
        margins.append(margin / 2)
    return margins, charged


@pytest.mark.parametrize(("agent", "kind", "words"), KINDS)
def test_a_misbehaving_agent_pays_for_its_deals_and_all_others_go_on(agent, kind, words):
    result = evaluate(agent(), Lowest(), deals=PAIRS, seed=SEED)
    margins, charged = charged_plainly(Lowest())
    assert 0 < charged < 2 * PAIRS
    assert result.margins.tolist() == margins
    assert (result.faults, result.opponent_faults) == (charged, 0)
    example = result.examples[0]
    assert (example.agent, example.role, example.kind) == (agent.__name__, "agent", kind)
    assert words in example.text
    # The view is told as it was, so that the fault can be seen again.
    game = Game.deal(RULES, example.seed)
    assert "AH" in game.hand(example.seat)
    assert f"player {1 - example.seat}" in example.view
    json.dumps(result.to_json(), allow_nan=False)


def test_a_fault_of_the_opponent_is_charged_to_it():
    mine = evaluate(Lowest(), Illegal(), deals=PAIRS, seed=SEED)
    theirs = evaluate(Illegal(), Lowest(), deals=PAIRS, seed=SEED)
    assert (mine.margin, mine.opponent_faults) == (-theirs.margin, theirs.faults)
    assert mine.examples[0].role == "opponent"


def test_a_deal_that_is_charged_costs_all_its_points():
    class NeverLegal:
        def act(self, view):
            return -1

    result = evaluate(NeverLegal(), "standard", deals=4)
    # The queen and the seven hearts of this deck, but for those among the two dead cards.
    worth = {card: 1 for card in RULES.deck if card[1] == "H"} | {"QS": 13}
    games = [Game.deal(RULES, derived_seed(0, number)) for number in range(4)]
    totals = [20 - sum(worth.get(card, 0) for card in game.kitty) for game in games]
    assert result.margins.tolist() == [-total for total in totals]
    assert result.faults == 8


def test_the_wrong_number_of_actions_is_charged_to_every_row():
    class Short(Agent):
        def act_batch(self, views):
            return np.zeros(len(views) - 1, np.int64)

    actions, faults = ask(Short(), BatchGame(RULES, 3).views())
    assert actions.tolist() == [-1, -1, -1]
    assert [fault.kind for fault in faults] == ["illegal"] * 3
    assert "shape (2,)" in faults[0].text


def test_a_card_of_the_deck_that_is_not_legal_now_is_charged_in_its_row_alone():
    class WrongInOne(Lowest):
        def act_batch(self, views):
            actions = np.array([view.legal_actions()[0] for view in views])
            actions[1] = next(a for a in range(28) if a not in views[1].legal_actions())
            return actions

    views = BatchGame(RULES, 3, seed=1).views()
    actions, faults = ask(WrongInOne(), views)
    assert [(fault.row, fault.kind) for fault in faults] == [(1, "illegal")]
    assert actions[1] == -1
    assert [actions[row] in views[row].legal_actions() for row in (0, 2)] == [True, True]


def test_what_an_agent_does_to_its_views_changes_no_game():
    class Vandal(Lowest):
        def act_batch(self, views):
            views.vectors.resize((1, 3), refcheck=False)
            views.players[:] = 5
            return np.zeros(4, np.int64)

    batch = BatchGame(RULES, 4, seed=1)
    before = batch.states.copy()
    actions, faults = ask(Vandal(), batch.views())
    assert {fault.kind for fault in faults} == {"tampered"}
    assert actions.tolist() == [-1] * 4
    assert (batch.states == before).all()


def test_views_without_their_arrays_are_changed_views():
    batch = BatchGame(RULES, 4, seed=1)
    for _ in range(10):
        batch.play(batch.random_actions())
    agent = ReplacesInBatch()
    agent.goes_wrong = lambda view: True
    _, faults = ask(agent, batch.views())
    assert [fault.kind for fault in faults] == ["tampered"] * 4


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("swallows", [False, True])
def test_a_signal_is_not_the_agents_whatever_it_does_with_it(batched, swallows):
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


def test_card_names_are_as_good_as_numbers():
    class Names(Lowest):
        def act(self, view):
            return view.rules.deck[view.legal_actions()[0]].lower()

    class NamesInBatch(Lowest):
        def act_batch(self, views):
            return [view.rules.deck[view.legal_actions()[0]] for view in views]

    plain = evaluate(Lowest(), "standard", deals=10)
    for agent in (Names(), NamesInBatch()):
        named = evaluate(agent, "standard", deals=10)
        assert named.margins.tolist() == plain.margins.tolist()
        assert named.faults == 0


def test_an_error_is_told_with_its_line_in_the_users_code():
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


def test_the_tables_name_who_misbehaved(capsys):
    show_evaluations([evaluate(Illegal(), "standard", deals=4, seed=SEED)], to_stderr=False)
    shown = capsys.readouterr()
    assert "faults" in shown.out
    assert "Illegal: misbehaved" in shown.err
    assert "deal seed" in shown.err
    assert "Your hand" in shown.err
    result = tournament([Lowest(), Illegal(), "standard"], deals=4, seed=SEED)
    show_tournament(result, to_stderr=False)
    assert "Illegal: misbehaved" in capsys.readouterr().err
    counts = {standing.agent: standing.faults for standing in result.standings}
    assert counts["Illegal"] > 0
    assert counts["Lowest"] == counts["standard"] == 0


def test_well_behaved_agents_have_no_column_of_faults(capsys):
    show_evaluations([evaluate("easy", "standard", deals=4)], to_stderr=False)
    shown = capsys.readouterr()
    assert "faults" not in shown.out
    assert shown.err == ""


def test_a_revoked_game_of_a_batch_is_that_of_game():
    batch = BatchGame("classic", 3, seed=2, autodeal=False)
    games = [Game.deal("classic", int(seed)) for seed in batch.seeds]
    batch.revoke(games=np.array([0, 2]))
    assert batch.done.tolist() == [True, False, True]
    for i in (0, 2):
        games[i].revoke()
        assert batch.scores()[i].tolist() == games[i].scores()
        assert (batch.states[i] == games[i].vector).all()
        assert batch.legal[i] == 0
    with pytest.raises(IllegalActionError):
        batch.play(np.array([0]), games=np.array([0]))
    before = batch.states.copy()
    batch.revoke(games=np.array([0]))  # over already
    assert (batch.states == before).all()
