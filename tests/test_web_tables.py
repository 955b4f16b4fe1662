"""Tables: secrecy of their messages, undo, matches and journals."""

from __future__ import annotations

import json
import os
import random
from fractions import Fraction
from pathlib import Path

import pytest

from hearts_agents.programs.view_lines import ViewLines
from hearts_env import Game, Rules, settle
from hearts_env.batch.views import BatchView
from hearts_env.game.notation import parse_records
from hearts_train.measure.analysis import best_hinter
from hearts_train.web import messages
from hearts_train.web import table as web_table
from hearts_train.web.table import Refusal, Seat, Table
from tests.reshuffle import reshuffled
from tests.slow import quick_cases
from tests.strategies import played_on
from tests.web import began, follow, message_of, players, table_of

RULES = (
    "two_player",
    "classic",
    "no_pass",
    "party players=3",
    "kitty players=5",
    "omnibus players=7",
    "hoyle",
)


def played(rules: str, seed: int, number: int = 1_000) -> Game:
    """Return a deal after a number of random actions, by default at its end."""
    return played_on(rules, seed, number, deal_number=seed % 4)


def everything(game: Game, seat: int | None, folder: Path, *, helps: bool) -> list[str]:
    """Return every message to a seat or onlooker up to the position of `game`."""
    table = table_of(game, folder, 0 if seat is None else seat)
    sent = [message_of(table, seat)]
    for action in game.actions:
        follow(table, [action])
        sent.append(message_of(table, seat))
        if helps and table.turn == seat and not len(table.game.actions) % 4:
            view = table.game.view(seat)
            sent.append(json.dumps(players().listed[best_hinter(view)].hint(table.game)))
    return sent


@quick_cases("rules", RULES, ["two_player", "classic", "kitty players=5"])
def test_hidden_cards_change_no_byte_a_seat_gets(rules, tmp_path):
    cards = len(played(rules, 1).actions)
    changed = 0
    for seed in range(3):
        game = played(rules, seed, random.Random(seed).randrange(cards // 4, cards))
        seat = seed % game.rules.players
        other = reshuffled(game, seat, seed)
        first = everything(game, seat, tmp_path, helps=True)
        assert first == everything(other, seat, tmp_path, helps=True)
        assert everything(game, None, tmp_path, helps=False) == everything(
            other, None, tmp_path, helps=False
        )
        third = (seat + 1) % game.rules.players
        changed += everything(game, third, tmp_path, helps=False) != everything(
            other, third, tmp_path, helps=False
        )
    assert changed  # the other seats do hold other cards


@pytest.mark.parametrize("rules", RULES)
def test_onlookers_see_only_public_facts(rules):
    game, hidden = played(rules, 3, 0), {"hand", "legal", "passed", "received", "player"}
    rng = random.Random(3)
    while not game.is_over:
        lines, seats = ViewLines(game.rules), range(game.rules.players)
        views = [json.loads(lines.write(BatchView.of([game.view(p)]))[0]) for p in seats]
        public = json.loads("{" + messages.sight(game, None) + "}")
        assert public["view"] is None
        for view in views:
            assert {k: v for k, v in view.items() if k not in hidden} == public["public"]
        game.play(rng.choice(game.legal_actions()))


def test_undo_returns_to_the_persons_last_decision(tmp_path):
    game = played("classic", 1)
    table = table_of(game, tmp_path, 1)
    turns, seen = [], 0
    for action in game.actions[:-1]:
        if table.turn == 1:
            turns.append((len(table.game.actions), table.game.clone()))
        follow(table, [action])
    while turns:
        count, before = turns.pop()
        table.undo(table.seq)
        assert table.game == before
        assert len(table.game.actions) == count
        assert table.turn == 1
        seen += 1
    assert seen >= 3 + 12
    with pytest.raises(Refusal) as refused:
        table.undo(table.seq)
    assert refused.value.code == "not_allowed"
    lines = table.journal.path.read_text().splitlines()
    assert sum("undo" in line for line in lines) == seen


def test_undo_is_refused_at_the_end(tmp_path):
    game = played("classic", 1)
    table = table_of(game, tmp_path, 1)
    follow(table, game.actions[:-1])
    assert json.loads(message_of(table, 1))["undo"]
    follow(table, game.actions[-1:])
    assert not json.loads(message_of(table, 1))["undo"]
    with pytest.raises(Refusal) as refused:
        table.undo(table.seq)
    assert refused.value.code == "not_allowed"


def test_agents_draw_other_numbers_in_each_deal(tmp_path):
    """Check the same action in other deals, in a match, and in another match."""
    for rules, is_match in (("micro", False), ("micro", True), ("micro end_score=1", True)):
        table = table_of(played(rules, 1), tmp_path, 0, is_match=is_match)
        seeds = []
        for _ in range(8):
            seeds.append(table.agent_seed())
            while table.ended is None:
                follow(table, table.game.legal_actions()[:1])
                seeds.append(table.agent_seed())
            seeds.pop()  # no one acts after the end
            table.next()
        assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("dealt_by", [None, 3])
def test_each_deal_of_a_table_is_another(dealt_by, tmp_path):
    seats = [Seat(owner="a" * 32, name="Anna"), Seat(agent="easy")]
    table = began(tmp_path, "0" * 16, Rules.preset("micro"), seats, seed=9, dealt_by=dealt_by)
    seeds = []
    for _ in range(4):
        seeds.append(table.play_seed)
        while table.ended is None:
            follow(table, table.game.legal_actions()[:1])
        table.next()
    assert len(set(seeds)) == 4
    assert dealt_by is None or seeds[0] == dealt_by


def play_match(table: Table) -> list[Game]:
    """Play a table's match to its end; return its deals."""
    games: list[Game] = []
    while not table.is_match_over:
        if table.ended is not None:
            table.next()
        while table.ended is None:
            follow(table, table.game.legal_actions()[:1])
        games.append(table.game)
    return games


@pytest.mark.parametrize("dealt_by", [None, 3])
def test_rematch_deals_other_cards_from_zero(dealt_by, tmp_path):
    seats = [Seat(owner="a" * 32, name="Anna"), Seat(agent="easy")]
    rules = Rules.from_text("two_player end_score=40")
    table = began(tmp_path, "0" * 16, rules, seats, dealt_by=dealt_by, is_match=True)
    first = play_match(table)
    assert len(first) == len(table.sheet) > 1
    table.next()
    state = json.loads(message_of(table, 0))
    assert (state["sheet"], state["totals"]) == ([], [0, 0])
    hands = [game.start().hand(0) for game in [*first, *play_match(table)]]
    assert len(set(hands)) == len(hands) > len(first) + 1


def test_later_deals_of_a_seed_are_in_no_match(tmp_path):
    """Someone who has played a seed's deals one by one does not know its match."""
    seats = [Seat(owner="a" * 32, name="Anna"), Seat(agent="easy")]
    rules = Rules.from_text("two_player end_score=40")
    single, match = (
        began(tmp_path, name * 16, rules, seats, dealt_by=3, is_match=is_match)
        for name, is_match in (("0", False), ("1", True))
    )
    games = play_match(match)
    for _ in games:
        while single.ended is None:
            follow(single, single.game.legal_actions()[:1])
        assert single.game.start().hand(0) not in [game.start().hand(0) for game in games]
        single.next()


@pytest.mark.parametrize("then", ["undo", "next"])
def test_fault_is_told_once(then, tmp_path):
    game = next(game for seed in range(99) if (game := played("micro", seed)).history[-1][0] == 1)
    seats = [seat for seat, _ in game.history]
    at = len(seats) - 1 if then == "next" else len(seats) - 2 - seats[-2::-1].index(1)
    table = table_of(game, tmp_path, 0)
    follow(table, game.actions[:at])
    table.act_for_agent(table.game.legal_actions()[0], "easy took too long")
    assert json.loads(message_of(table, 0))["fault"] == "easy took too long"
    table.undo(table.seq) if then == "undo" else table.next()
    assert json.loads(message_of(table, 0))["fault"] is None


def test_resumed_table_sends_the_same_messages(tmp_path):
    seats = [Seat(owner="a" * 32, name="Anna"), Seat(), Seat(agent="easy")]
    table = began(tmp_path, "0" * 16, Rules.from_text("party players=3 pass_count=0"), seats)
    table.sit(1, "b" * 32, "Ben")
    while table.turn != 2:
        follow(table, table.game.legal_actions()[:1])
    table.act_for_agent(table.game.legal_actions()[0], "easy took too long")
    again = Table.resume(table.journal.path)
    for seat in (0, 1, None):
        assert message_of(again, seat) == message_of(table, seat)


def test_passed_cards_are_chosen_and_undone_together(tmp_path):
    game = played("classic", 0)
    table = table_of(game, tmp_path, 0)
    hand = game.start().hand(0)
    for wrong in (hand[:4], (hand[0], hand[0]), (hand[0], "XX"), ("moon:off",)):
        with pytest.raises(Refusal) as refused:
            table.act(0, 0, wrong)
        assert refused.value.code == "illegal"
    assert table.seq == 0
    table.act(0, 0, hand[:1])
    written = table.journal.path.read_bytes()
    for wrong in (hand[1:4], hand[:1]):  # more than are left, one again
        with pytest.raises(Refusal) as refused:
            table.act(0, table.seq, wrong)
        assert refused.value.code == "illegal"
        assert table.journal.path.read_bytes() == written
    assert table.turn == 0
    table.undo(table.seq)
    table.act(0, table.seq, hand[:3])
    assert table.game.passed(0) == hand[:3]
    assert table.turn == 1
    table.undo(table.seq)
    assert table.game.passed(0) == ()


@pytest.mark.parametrize("turns", [False, True])
def test_full_journal_still_ends_the_deal(turns, tmp_path, monkeypatch):
    monkeypatch.setattr(web_table, "MOST_BYTES", 16_000)
    seats = [Seat(owner="a" * 32, name="Anna"), Seat(agent="easy")]
    table = began(tmp_path, "4" * 16, Rules.preset("micro"), seats)

    def play_on() -> None:
        for _ in range(3_000):
            if turns and table._past:
                table.undo(table.seq)
            elif table.ended is not None:
                table.next()
            else:
                follow(table, table.game.legal_actions()[:1])

    with pytest.raises(Refusal, match="room"):
        play_on()
    while table.ended is None:  # the deal on the table is played to its end
        follow(table, table.game.legal_actions()[:1])
    with pytest.raises(Refusal, match="room"):
        table.next()
    assert Table.resume(table.journal.path).seq == table.seq


@pytest.mark.parametrize("turn", [0, 1])  # a person's, an agent's
def test_disk_error_leaves_the_table_unchanged(turn, tmp_path, monkeypatch):
    game = played("two_player", 4)
    table = table_of(game, tmp_path, 0)
    while table.turn != turn or len(table.game.actions) < 4:
        follow(table, [game.actions[len(table.game.actions)]])
    count = len(table.game.actions)
    before = message_of(table, 0)
    size = table.journal.path.stat().st_size

    write, room = os.write, [3]

    def full(handle, data):
        if not room:
            raise OSError(28, "No space left on device")
        return write(handle, data[: room.pop()])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        follow(table, game.actions[count : count + 1])
    assert message_of(table, 0) == before
    assert table.journal.path.stat().st_size == size
    monkeypatch.setattr(os, "write", write)
    follow(table, game.actions[count:])
    assert len(table.journal.path.read_text().splitlines()) == 1 + len(game.actions)


def test_name_with_quotes_can_be_read_back():
    name = messages.parse(
        {"type": "sit", "table": "0" * 16, "seat": 0, "name": 'a"b]\\\n\u202ec' + "x" * 99}
    ).name
    assert len(name) <= messages.MOST_NAME
    assert name.isprintable()
    game = played("micro", 1)
    text = game.to_text({"Player 0": name})
    assert parse_records(text)[0].game == game


@pytest.mark.parametrize("method", ["simple", "howell"])
def test_totals_of_single_deals_add_their_chips(method, tmp_path):
    rules = Rules.from_text(f"black_lady settlement={method}")
    seats = [Seat(owner="a" * 32, name="Anna"), *(Seat(agent="easy") for _ in range(3))]
    table = began(tmp_path, "0" * 16, rules, seats)
    totals = [Fraction(0)] * 4
    for number in range(4):
        if number:
            table.next()
        while table.ended is None:
            follow(table, table.game.legal_actions()[:1])
        points = table.game.points
        if method == "howell":  # each pays its points to each of the others
            won = [Fraction(sum(points) - 4 * own) for own in points]
        else:
            won, _ = settle(method, points)
        totals = [total + net for total, net in zip(totals, won, strict=True)]
        assert table.totals() == totals
        assert json.loads(message_of(table, 0))["totals"] == totals
    assert any(totals)
    assert totals != [-sum(deal["scores"][p] for deal in table.sheet) for p in range(4)]
