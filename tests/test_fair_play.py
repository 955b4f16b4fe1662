"""Evaluation shows no agent the opponent's hand: two cheats that once knew it now gain nothing.

Each cheat plays its lowest card unless it knows the hidden hand, and then its highest, so any
knowledge would change its margin.
"""

from __future__ import annotations

import hashlib
import os
from typing import ClassVar

import numpy as np
import pytest

from hearts_agents import HeartsEnv, HeartsVectorEnv, make_agent
from hearts_agents.baselines import Pro
from hearts_agents.guard import NO_ACTION, ask
from hearts_agents.isolation import Isolated
from hearts_agents.programs.process import ProgramError
from hearts_agents.served import to_text
from hearts_agents.spec import AgentSpec
from hearts_env import BatchGame, Game, HeartsError, Rules
from hearts_env import kernel as k
from hearts_env.seeds import derived_seed
from hearts_env.support.interrupts import SIGNALS
from hearts_env.support.progress import silent
from hearts_train.cli.terminal import TerminalGame, new_game
from hearts_train.measure.comparison import compare
from hearts_train.measure.contest import Contest
from hearts_train.measure.evaluation import evaluate, evaluations
from hearts_train.measure.participants import Participant
from hearts_train.measure.tournament import tournament
from tests.players import Lowest as Plain
from tests.players import code_named
from tests.refusals import raises_hearts_error

MASK = 2**64 - 1
PAIRS, SEED = 60, 20001


class Lowest(Plain):
    """Plays as a cheat without knowledge."""

    def act_batch(self, views):
        return np.array([self.act(view) for view in views])


class Cheat(Lowest):
    """Counts, over all its copies, the decisions at which it knew the hidden hand."""

    known = 0

    def knows(self, views, row):
        raise NotImplementedError

    def act_batch(self, views):
        actions = []
        for row in range(len(views)):
            legal = views[row].legal_actions()
            is_known = self.knows(views, row)
            type(self).known += is_known
            actions.append(legal[-1 if is_known else 0])
        return np.array(actions)


def dealt(view):
    """Return the mask of the cards that a view's player was dealt."""
    own = int(view.vector[k.HANDS + k.SEAT * view.player])
    for seat, card in view.history:
        own |= (seat == view.player) << view.rules.index[card]
    return own


class ComparesRows(Cheat):
    """Looks for the opponent's hand in another row of the same batch."""

    def knows(self, views, row):
        mine = dealt(views[row])
        return any(not mine & dealt(other) for other in views)


class Remembers(Cheat):
    """Looks for the opponent's hand among earlier decisions."""

    def __init__(self):
        self.seen = set()

    def knows(self, views, row):
        mine = dealt(views[row])
        self.seen.add(mine)
        return any(not mine & other for other in self.seen)


def unmix(z):
    """Invert the last steps of SplitMix64."""
    z ^= z >> 31 ^ z >> 62
    z = z * pow(0x94D049BB133111EB, -1, 2**64) & MASK
    z ^= z >> 27 ^ z >> 54
    z = z * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK
    return (z ^ z >> 30 ^ z >> 60) - 0x9E3779B97F4A7C15 & MASK


def seed_behind(value, number):
    """Return both seeds from which `value` is derived with this number (its lowest bit is lost)."""
    return [(unmix(2 * value + bit) - int(k.mix(np.uint64(number)))) & MASK for bit in (0, 1)]


def test_cheats_know_the_hand_when_shown():
    deal = Game.deal("two_player", derived_seed(SEED, 0))
    views = [deal.view(seat) for seat in (0, 1)]
    assert ComparesRows().knows(views, 0)
    remembers = Remembers()
    assert not remembers.knows(views, 0)
    assert remembers.knows(views, 1)


@pytest.mark.parametrize("cheat", [ComparesRows, Remembers])
def test_cheat_never_knows_the_hand_nor_wins_more(cheat):
    cheat.known = 0
    cheating = evaluate(cheat(), "standard", deals=PAIRS, seed=SEED)
    honest = evaluate(Lowest(), "standard", deals=PAIRS, seed=SEED)
    assert cheat.known == 0
    assert cheating.faults == 0
    assert cheating.margins.tolist() == honest.margins.tolist()
    tournament([cheat(), "standard", "easy"], deals=20, seed=SEED)
    evaluate("standard", cheat(), deals=20, seed=SEED)
    assert cheat.known == 0


class Spy(Lowest):
    """Reports the views of each player to the test."""

    shown: ClassVar[list] = []

    def act_batch(self, views):
        Spy.shown.append((self, [(view.player, dealt(view)) for view in views]))
        return super().act_batch(views)


@pytest.mark.parametrize("rules", ["two_player", "party players=3"])
def test_player_sees_each_deal_from_one_seat(rules):
    Spy.shown = []
    evaluate(Spy(), Spy(), rules, deals=20)
    by_player: dict[int, set] = {}
    for player, rows in Spy.shown:
        by_player.setdefault(id(player), set()).update(rows)
    n = Rules.make(rules).players
    # Each block (16 deals and 4) has n seatings of n seats, each with a player of its own.
    assert len(by_player) == 2 * n * n
    for rows in by_player.values():
        assert len({seat for seat, _ in rows}) == 1


MEMORY_OF_A_MODULE = """
seen = set()

class Remembers:
    def act(self, view):
        mine = set(view.hand) | {card for seat, card in view.history if seat == view.player}
        seen.add(frozenset(mine))
        legal = view.legal_actions()
        return legal[-1 if any(not mine & other for other in seen) else 0]
"""


@pytest.mark.slow
def test_isolated_players_have_no_memory_in_common(tmp_path):
    file = tmp_path / "remembers.py"
    file.write_text(MEMORY_OF_A_MODULE)
    honest = evaluate(Lowest(), "standard", deals=20, seed=SEED)
    spec = f"{file}:Remembers"
    # In one process a module can remember anything, which isolate prevents.
    assert evaluate(spec, "standard", deals=20, seed=SEED).margin != honest.margin
    isolated = evaluate(spec, "standard", deals=20, seed=SEED, isolate=True)
    assert isolated.margins.tolist() == honest.margins.tolist()
    assert isolated.isolated


WHERE_IT_RUNS = """
import os, sys
from pathlib import Path

def note(what):
    with (Path(__file__).parent / "ran").open("a") as file:
        file.write(f"{what} {os.getpid()}\\n")

note("imported")

class Notes:
    def __init__(self, seed=None, last: bool = False):
        self.last = last
        note("made")

    def check_rules(self, rules):
        note("asked")
        if rules.players != 2:
            raise SystemExit(f"{rules.players} players")

    def reseed(self, seed):
        note("reseeded")

    def act(self, view):
        return view.legal_actions()[-1 if self.last else 0]
"""


@pytest.mark.slow
def test_isolated_code_never_runs_in_evaluating_process(tmp_path, monkeypatch):
    file = tmp_path / "notes_where_it_runs.py"
    file.write_text(WHERE_IT_RUNS)
    monkeypatch.syspath_prepend(tmp_path)
    specs = [f"{file}:Notes?last=true", "notes_where_it_runs:Notes"]
    contest = Contest(specs, None, SEED, isolate=True)
    agents = next(evaluations(contest, 2, silent)).agents
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert {what for what, _ in ran} == {"imported", "made", "asked", "reseeded"}
    assert str(os.getpid()) not in {process for _, process in ran}
    assert [(agent["kind"], agent["options"]) for agent in agents] == [
        ("Notes", {"last": True}),
        ("Notes", {}),
    ]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert [one.to_json()["digest"] for one in contest.participants] == [digest, digest]
    with raises_hearts_error(HeartsError, "agent", "SystemExit", 4):
        Contest(specs[:1], "classic", SEED, isolate=True)
    with raises_hearts_error(HeartsError, "agent", "Note", hint="Notes"):
        Contest(["notes_where_it_runs:Note"], None, SEED, isolate=True)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_signal_to_group_leaves_isolated_player_running():
    rules = Rules.make("micro")
    seat = Participant("standard", 0, isolate=True).seat(rules, 0)
    seat.ready()
    for number in SIGNALS:
        os.killpg(seat._player._process._process.pid, number)
    actions, faults = seat.ask(BatchGame(rules, 2).views())
    seat.close()
    assert (len(actions), faults) == (2, [])


# ---- the same, isolated --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "faults", "kind"),
    [
        ([99], [], "illegal"),
        ([0, 0], [], "crashed"),
        ([0], [[0, "raised", ""], [0, "late", ""], [7, "late", ""]], "late"),
        ([0], [[0, "odd", ""]], "crashed"),
        ("no", [], "crashed"),
        pytest.param([0], [[0, "raised", ""]], "crashed 3", id="too few of three"),
    ],
)
def test_answer_of_isolated_process_is_checked(actions, faults, kind, monkeypatch):
    given = to_text(np.array(actions), "<i8") if isinstance(actions, list) else actions
    monkeypatch.setattr(Isolated, "_renew", lambda _: None)
    monkeypatch.setattr(Isolated, "ready", lambda _: None)
    monkeypatch.setattr(Isolated, "_reply_about", lambda *_: {"actions": given, "faults": faults})
    kind, _, rows = kind.partition(" ")
    views = BatchGame("two_player", int(rows or 1), seed=1, autodeal=False).views()
    actions, found = ask(Isolated("x", AgentSpec.parse("easy"), views.rules, 0), views)
    assert actions.tolist() == [NO_ACTION] * len(views)
    assert [(fault.row, fault.kind) for fault in found] == [
        (row, kind) for row in range(len(views))
    ]


def timed_player(monkeypatch, limit, late):
    """An isolated player that plays action 0 and is late in some answers.

    Returns it, and the number of views in each message.
    """
    asked: list[int] = []

    def reply(player, views, *_):
        asked.append(len(views))
        if len(asked) in late:
            raise ProgramError("gave no answer within 1 s", "late")
        return {"actions": to_text(np.array(views.legal_table.argmax(1)), "<i8"), "faults": []}

    monkeypatch.setattr(Isolated, "_renew", lambda _: None)
    monkeypatch.setattr(Isolated, "ready", lambda _: None)
    monkeypatch.setattr(Isolated, "_reply_about", reply)
    return Isolated("x", AgentSpec.parse("easy"), Rules.make("two_player"), 0, limit), asked


@pytest.mark.parametrize("limit", [None, 1.0])
def test_late_answer_under_time_limit_costs_32_games(limit, monkeypatch):
    player, asked = timed_player(monkeypatch, limit, late=[1] if limit is None else [2])
    views = BatchGame("two_player", 70, seed=1, autodeal=False).views()
    actions, faults = ask(player, views)
    assert asked == ([70] if limit is None else [32, 32, 6])
    late = range(70) if limit is None else range(32, 64)
    assert [(fault.row, fault.kind) for fault in faults] == [(row, "late") for row in late]
    expected = views.legal_table.argmax(1)
    expected[late] = NO_ACTION
    assert actions.tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pimc_belief?model=easy", Pro(seed=1, worlds=3)])
def test_isolated_specs_and_objects_play_the_same(agent):
    rules = Rules.make("two_player")
    batch = BatchGame(rules, 20, seed=1, autodeal=False)
    for _ in range(17):
        batch.play(batch.random_actions())
    here, there = (Participant(agent, 0, isolate=i).seat(rules, 5) for i in (False, True))
    there.ready()
    for seed in (6, 7):
        for seat in (here, there):
            seat.renew(seed)
            seat.ready()
        actions, faults = there.ask(batch.views())
        assert actions.tolist() == here.ask(batch.views())[0].tolist()
        assert faults == []
    there.close()


class Stubborn(Lowest):
    def __init__(self, error):
        self.error = error

    def reseed(self, seed):
        raise self.error


class Holds(Lowest):
    def __init__(self):
        self.file = (i for i in range(3))


def test_agent_that_cannot_be_copied_is_named():
    with raises_hearts_error(HeartsError, "agent", "Holds"):
        evaluate(Holds(), "easy", deals=4)
    for error in (RuntimeError("no"), SystemExit("no")):
        with raises_hearts_error(HeartsError, "agent", "Stubborn"):
            evaluate(Stubborn(error), "easy", "micro", deals=2, seed=1)


BAD_PROCESSES = """
import os, time

class Ends:
    def act(self, view):
        if view.player == 1 and len(view.history) > 20:
            os._exit(3)
        return view.legal_actions()[0]

class Hangs:
    def act(self, view):
        print("this is no answer")
        time.sleep(1000)

class HangsOnce:
    def act(self, view):
        if not os.path.exists(__file__ + ".hung"):
            open(__file__ + ".hung", "w").close()
            time.sleep(1000)
        return view.legal_actions()[0]
"""


@pytest.mark.slow
def test_ended_or_hanging_process_is_charged(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(BAD_PROCESSES)
    result = evaluate(f"{file}:Ends", "standard", deals=2, seed=1, isolate=True)
    # In the second seat it loses both deals. In the first it plays them out.
    assert (result.deals, result.faults, result.opponent_faults) == (2, 2, 0)
    assert {(example.kind, example.seat) for example in result.examples} == {("crashed", 1)}
    assert "status 3" in result.examples[0].text
    rules = Rules.make("two_player")
    participant = Participant(f"{file}:Hangs", 0, isolate=True)
    participant.close()
    player = participant.seat(rules, 0, time_limit=0.2)
    player.ready()
    actions, faults = player.ask(BatchGame(rules, 3).views())
    player.close()
    assert actions.tolist() == [NO_ACTION] * 3
    assert [(fault.row, fault.kind) for fault in faults] == [(0, "late"), (1, "late"), (2, "late")]
    assert "within 0.2 s" in faults[0].text


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["deal", "match"])
def test_late_answer_is_charged_and_play_continues(tmp_path, unit):
    file = tmp_path / "bad.py"
    file.write_text(BAD_PROCESSES)
    result = evaluate(
        f"{file}:HangsOnce", "easy", "micro", deals=2, unit=unit, isolate=True, time_limit=10
    )
    assert result.isolated
    assert 1 <= result.faults <= 2  # in the games of one message
    assert result.opponent_faults == 0


@pytest.mark.parametrize("value", ["no", "", 1, float("nan"), [], np.array([True, False])])
def test_isolate_must_be_a_flag(value):
    for measure in (evaluate, compare):
        with raises_hearts_error(HeartsError, "isolate", hint="True or False"):
            measure("easy", "standard", "micro", isolate=value)


def test_a_time_limit_needs_isolation():
    with raises_hearts_error(HeartsError, "time_limit"):
        evaluate("easy", "easy", deals=4, time_limit=1.0)
    with raises_hearts_error(HeartsError, "time_limit"):
        evaluate("easy", "easy", deals=4, isolate=True, time_limit=0.0)


def at_the_table(agent, seed):
    game = TerminalGame(new_game(Rules.preset("micro"), seed, [agent]))
    assert game.play(None, lambda _: game.game.rules.deck[game.game.legal_actions()[0]])


@pytest.mark.parametrize(
    "play",
    [
        lambda agent, seed: evaluate(agent, "easy", "micro", deals=4, seed=seed),
        at_the_table,
        lambda agent, seed: HeartsEnv(opponent=agent).reset(seed=seed),
        lambda agent, seed: HeartsVectorEnv(2, opponent=agent).reset(seed=seed),
    ],
    ids=["evaluation", "table", "environment", "vector environment"],
)
def test_agent_gets_no_number_revealing_deals(play, monkeypatch):
    assert_no_number_leads_to_the_deals(play, monkeypatch)


def assert_no_number_leads_to_the_deals(play, monkeypatch):
    """Fail if ``play(agent, seed)`` gives the agent a number from which deals can be computed."""
    got = []

    class Keeps:
        def __init__(self, seed=None):
            got.append(seed)

        def act(self, view):
            return view.legal_actions()[0]

        def action_probs(self, views):
            return views.legal_table / views.legal_table.sum(axis=1, keepdims=True)

        def reseed(self, seed):
            got.append(seed)

    keeps = code_named("keeps", Keeps, monkeypatch)
    seed = 1_987_654_321
    assert seed in seed_behind(derived_seed(seed, 2**63 + 2), 2**63 + 2)
    play(keeps, seed)
    deals = {seed, *(derived_seed(seed, number) for number in range(4))}
    assert [number for number in got if number]
    for number in filter(None, got):
        assert not deals & {number, *(derived_seed(number, later) for later in range(4))}
        for which in (*range(4), *range(2**63, 2**63 + 4)):
            # Training took the lowest 62 bits of one.
            assert all(seed not in seed_behind(number + (high << 62), which) for high in range(2))


@pytest.mark.parametrize(
    "name",
    [
        *("easy", "standard", "pro", "pimc", "champion"),
        "champion?search=4",
    ],
)
def test_own_players_refuse_invalid_views(name):
    """A game shows all cards. A batch or a list is an easy slip for a batch's views."""
    agent, game = make_agent(name), Game.deal("two_player", seed=1)
    for wrong in (game, None, game.view(1 - game.current_player)):
        with raises_hearts_error(HeartsError, "view"):
            agent.act(wrong)
    batch = BatchGame("two_player", 3, seed=1, autodeal=False)
    for wrong in (batch, [game.view(0)]):
        for method in (agent.act_batch, agent.action_probs):
            with raises_hearts_error(HeartsError, "views", "BatchView"):
                method(wrong)
    assert agent.act_batch(batch.views(games=np.empty(0, np.int64))).shape == (0,)
