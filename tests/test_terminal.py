"""``hearts play``: what is shown, typed, kept and gone on with; hints."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from typing import ClassVar

import pytest

from hearts_agents import make_agent
from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import parse_records
from hearts_train.cli import terminal as at_terminal
from hearts_train.cli.cardtext import Announcer, CardText, wrap
from hearts_train.cli.terminal import Quit, Terminal, open_table, reopened_table
from hearts_train.measure.analysis import best_hinter, hint
from hearts_train.session.folders import SessionFiles, data_folder, latest_table
from hearts_train.session.table import Seat, Table
from tests.deals import make_game
from tests.players import code_named
from tests.refusals import mistake, refused
from tests.slow import few, few_of
from tests.test_cli import command, run
from tests.waiting import HANG
from tests.web import with_settings


class Person:
    """Plays the lowest legal card, and answers the menu from a list; then the input ends."""

    def __init__(self, *menu: str, cards: int = 10_000) -> None:
        self.table: Terminal | None = None
        self.menu = list(menu)
        self.cards = cards

    def __call__(self, prompt: str) -> str | None:
        assert self.table is not None
        if "Next" in prompt:
            return self.menu.pop(0) if self.menu else None
        if "Enter" in prompt:  # of the replay
            return ""
        if not self.cards:
            return None
        self.cards -= 1
        game = self.table.game
        name = game.rules.action_name(game.legal_actions()[0])
        return name.removeprefix("moon:")


def sit(person: Person, rules="two_player", against=("standard",), seed=1, seat=0, match=False):
    """A table with this person, whose sitting is kept."""
    rules = Rules.from_text(rules)
    person.table = open_table(rules, against, seed, seat, is_match=match, ask=person)
    return person.table


def play_on(table: Terminal) -> str:
    """Plays until the person leaves; what the table says then."""
    with pytest.raises(Quit):
        table.run()
    return table.farewell()


def resume(person: Person) -> Terminal:
    """Sits down again at the table left last."""
    with reopened_table(person) as person.table:
        return person.table


def left_last() -> Table:
    """The table that would be gone on with."""
    with latest_table() as (_, table):
        return table


def kept_deals() -> list[Game]:
    """The deals of all sittings."""
    files = sorted((data_folder() / "games").glob("*.txt"))
    return [r.game for file in files for r in parse_records(file.read_text(encoding="utf-8"))]


# ---- to the end ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rules", "against", "seed", "seat", "match"),
    [
        ("two_player", ["pro"], 1, 0, False),
        ("two_player", ["standard"], 2, 1, False),
        ("classic", ["standard"], 3, 0, False),
        ("kitty players=3", ["easy", "standard"], 3, 0, False),
        ("no_pass moon_points=7", ["easy"], 5, 0, False),
        ("micro", ["easy"], 4, 0, True),
        ("hoyle players=2 stake=10", ["easy"], 4, 0, True),
    ],
)
def test_play_to_the_end(rules, against, seed, seat, match, capsys):
    person = Person()
    table = sit(person, rules, against, seed, seat, match)
    told = play_on(table)
    while table.table.play.player is not None:  # a match goes on with its next deal
        person.menu = ["n"]
        told = play_on(table)
    out = capsys.readouterr().out
    assert table.game.is_over
    assert bool(re.search(r"wins? the match\.", out)) == match
    assert str(table.files.games) in told


# ---- nothing is lost -----------------------------------------------------------------------------
def test_a_finished_deal_is_kept_and_can_be_analysed(capsys):
    told = play_on(sit(Person("a", "r", "q")))
    out = capsys.readouterr().out
    assert all(f"[{key}]" in out for key in "arsunq")
    assert re.search(r"You gave away (\d+|no) points?", out)
    assert " 1. " in out  # of the replay
    file = next((data_folder() / "games").iterdir())
    assert str(file) in told
    (record,) = parse_records(file.read_text(encoding="utf-8"))
    assert record.game.is_over
    assert record.names() == ["You", "standard"]
    assert record.tags["Seed"] == "1"
    assert record.game.start() == Game.deal("two_player", 1)
    result = run("analyse", file)
    assert result.exit_code == 0
    assert "You gave away" in result.stdout


def test_the_next_deal_is_another_and_all_are_kept():
    play_on(sit(Person("n", "", "q")))
    deals = kept_deals()
    assert len(deals) == 3
    assert all(deal.is_over for deal in deals)
    assert len({deal.start().to_text() for deal in deals}) == 3
    assert not list((data_folder() / "tables").glob("*"))  # nothing to go on with


def test_a_table_killed_between_deals_comes_back_with_all_deals():
    with pytest.raises(Quit):
        sit(Person()).run()  # and no word of farewell
    table = resume(Person("n", cards=3))
    assert table.game.is_over
    play_on(table)
    play_on(resume(Person()))
    deals = kept_deals()
    assert [deal.is_over for deal in deals] == [True, True]
    assert deals[0].start() != deals[1].start()
    mistake(run("play", "--resume"), "--resume")


@few("match", [False, True], [False])
def test_a_table_left_anywhere_goes_on_as_if_never_left(match):
    """The same cards are played, whoever left and came back, after each of the person's cards."""
    against, menu = ["pro", "easy", "standard"], ["n"] if match else []

    def all_played(step: int) -> list[Game]:
        person = Person(*menu, cards=step)
        table = sit(person, "party players=4 hand_size=3 pass_count=1", against, 7, match=match)
        for _ in range(30):  # sittings
            with pytest.raises(Quit):
                table.run()
            if len(table.table.deals) == len(menu) + 1:
                break
            table = resume(Person(*menu, cards=step))
        deals = table.table.deals
        for file in (data_folder() / "tables").glob("*.jsonl"):
            file.unlink()
        return deals

    whole = all_played(10_000)
    assert all(game.is_over for game in whole)
    for step in (1, 2, 3):
        for game, again in zip(whole, all_played(step), strict=True):
            assert game.actions == again.actions
            assert game.start() == again.start()


def test_what_was_decided_before_leaving_can_be_taken_back():
    play_on(sit(Person(cards=2)))
    table = resume(Person())
    before = [len(past.play.actions) for past in table.table._past]
    assert len(before) == 2
    assert table._undo()
    assert table.table.turn == table.seat
    assert len(table.game.actions) == before[-1]
    assert left_last().game == table.game


def test_undo_at_the_menu_takes_the_last_card_back():
    person = Person("u", cards=13)
    table = sit(person)
    told = play_on(table)
    assert not table.game.is_over
    assert "--resume" in told
    assert not resume(Person()).game.is_over


def test_several_tables_wait_and_one_in_use_is_left_alone():
    first, second = sit(Person(cards=1), seed=1), sit(Person(cards=1), seed=2)
    play_on(first)
    play_on(second)
    assert left_last().seed == 2
    with second.files.locked():
        # The lock is the process's own file handle: another handle of it is refused.
        assert left_last().seed == 1
        with first.files.locked(), refused(HeartsError, "table"):
            left_last()
    assert left_last().seed == 2


def test_a_table_is_held_from_before_it_is_read(monkeypatch):
    play_on(sit(Person(cards=1), seed=1))
    seen = []

    def seated(table, participants, files, *more):
        with refused(HeartsError, "table"), files.locked():
            seen.append("two processes go on with one table")
        seen.append(table.seed)
        return original(table, participants, files, *more)

    original = at_terminal._seated
    monkeypatch.setattr(at_terminal, "_seated", seated)
    run("play", "--resume")
    assert seen == [1]


def test_nothing_to_go_on_with_is_one_line():
    mistake(run("play", "--resume"), "--resume")
    play_on(sit(Person("q")))
    mistake(run("play", "--resume"), "--resume")
    mistake(run("play", "--resume", "--seed", 3), "--seed", "--resume")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 4],
        with_settings(rules="micro"),
        with_settings(against=["nobody"]),
        with_settings(record=3),
    ],
)
def test_a_damaged_table_is_one_line(damage):
    table = sit(Person(cards=2))
    play_on(table)
    table.files.table.write_bytes(damage(table.files.table.read_bytes()))
    mistake(run("play", "--resume"), "")


def test_a_disk_that_is_full_for_a_while_loses_no_card(monkeypatch, capsys):
    """Lines that could not be written are written with the next one."""
    person, write, left = Person(cards=6), os.write, [0]

    def full(handle: int, data: bytes) -> int:
        left[0] += 1
        if left[0] in (3, 4, 5):
            raise OSError(28, "No space left on device")
        return write(handle, data)

    table = sit(person)
    monkeypatch.setattr(os, "write", full)
    play_on(table)
    assert left[0] > 8
    assert capsys.readouterr().err.count("warning") == 1
    assert left_last().game == table.game


def test_a_folder_that_cannot_be_written_is_one_warning(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEARTS_DATA_DIR", str(tmp_path / "file" / "x"))
    person = Person("q")
    told = play_on(sit(person))
    seen = capsys.readouterr()
    assert seen.err.count("warning") == 2  # the table, and at the end the deals
    assert "--resume" not in told
    person = Person(cards=1)
    assert "--resume" not in play_on(sit(person))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [("SIGKILL", -9), ("SIGTERM", 143), ("SIGINT", 130)])
def test_a_table_stopped_from_outside_is_kept(number, status):
    if number == "SIGINT":
        process = command("play", "--seed", "3")
    else:
        process = command("play", "--seed", "3", "--opponent", "standard")
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdin.write("\n")  # one card is legal
    process.stdin.flush()
    while not process.stdout.readline().startswith("Trick 2"):
        assert process.poll() is None
    process.send_signal(getattr(signal, number))
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == status
    assert "Traceback" not in err
    assert ("--resume" in err) == (number != "SIGKILL")
    table = resume(Person())
    assert table.game.history[0] == (0, "2C")
    assert table.game.player == 0


def test_record_writes_a_file_of_its_own_and_never_over_another(tmp_path):
    record = tmp_path / "mine.txt"
    result = run("play", "--seed", 3, "--save", record, input="2c\n")
    assert result.exit_code == 0
    (kept,) = parse_records(record.read_text(encoding="utf-8"))
    assert kept.game.history[0] == (0, "2C")
    assert "Seed" not in kept.tags  # the deal is not over
    mistake(run("play", "--save", record), "--save")
    mistake(run("play", "--save", tmp_path / "none" / "x.txt"), "--save")
    run("play", "--resume", input="undo\n")
    (kept,) = parse_records(record.read_text(encoding="utf-8"))
    assert kept.game.history == ()


# ---- the other players ---------------------------------------------------------------------------
class Remembering:
    """Plays its first legal card, and remembers its seats."""

    made: ClassVar[list] = []

    def __init__(self):
        self.seats = set()
        Remembering.made.append(self)

    def __deepcopy__(self, memo):
        return Remembering()

    def act(self, view):
        self.seats.add(view.player)
        return view.legal_actions()[0]


def test_every_seat_has_a_player_of_its_own(monkeypatch):
    monkeypatch.setattr(Remembering, "made", [])
    play_on(sit(Person(), "classic hand_size=5", [f"{__name__}:Remembering"]))
    assert sorted(agent.seats for agent in Remembering.made if agent.seats) == [{1}, {2}, {3}]


class Patience:
    """In the place of a timer: its time is up when the agent hangs, and never else."""

    latest: ClassVar[Patience]

    def __init__(self, seconds, function):
        self.function = function

    def start(self):
        Patience.latest = self

    def cancel(self):
        pass


def goes_wrong(what: str):
    """A player that does this once it has seen a trick."""

    class Wrong:
        def act(self, view):
            if len(view.history) < 2:
                return view.legal_actions()[-1]
            if what == "raises":
                raise BaseException("oh")
            if what == "interrupts":
                raise KeyboardInterrupt
            if what == "hangs":
                threading.Thread(target=Patience.latest.function).start()
                while True:
                    time.sleep(0.001)
            return 99

    return Wrong


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("raises", ":wrong raised BaseException: oh, line"),
        ("interrupts", ":wrong raised KeyboardInterrupt:"),
        ("is wrong", ":wrong chose an illegal action;"),
        ("hangs", ":wrong was interrupted;"),
    ],
)
def test_a_deal_goes_on_with_an_agent_that_misbehaves(what, words, monkeypatch, capsys):
    wrong = code_named("wrong", lambda: goes_wrong(what)(), monkeypatch)
    say = Announcer.say

    def press(announcer, text=""):
        say(announcer, text)
        if "still thinking" in text:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Announcer, "say", press)
    monkeypatch.setattr(threading, "Timer", Patience)
    table = sit(Person("q"), "two_player hand_size=4", [wrong], seed=3)
    play_on(table)
    out = capsys.readouterr().out
    assert out.count(words) >= 2
    assert "legal were" not in out  # that would tell the hand
    (deal,) = kept_deals()
    assert deal.is_over


@pytest.mark.parametrize(
    ("what", "words"), [("raises", "BaseException: oh"), ("is wrong", "is not legal")]
)
def test_a_player_that_misbehaves_gives_no_hint_and_ends_no_deal(what, words, monkeypatch, capsys):
    wrong = code_named("wrong", lambda: goes_wrong(what)(), monkeypatch)
    lines = iter(["", "", "", f"hint {wrong}", "hint standard", "quit", "y"])
    table = sit(Person(), seed=3)
    table.ask = lambda prompt: next(lines)
    for _ in range(2):
        table._do(table.game.legal_actions()[0])
    play_on(table)
    out = capsys.readouterr().out
    assert re.search(rf"hint: {wrong} .*{words}.*standard would", " ".join(out.split()))


# ---- words typed ---------------------------------------------------------------------------------
def test_play_shows_only_what_the_player_may_know():
    game = Game.deal("two_player", 6)
    words = ["--opponent", "pro", "--seed", 6, "--seat", 0]
    result = run("play", *words, input="hint\nhistory\nrules\nhelp\n")
    played = {card for _, card in game.history}
    shown = result.stdout.split("Play> rules")[0].replace("Q♠", "")
    symbols = dict(zip("CDSH", "♣♦♠♥", strict=True))
    hidden = [*game.hand(1), *game.kitty]
    opening = {card[0] + symbols[card[1]] for card in hidden if card not in played}
    leads = next((line for line in shown.splitlines() if line.startswith("pro plays")), "")
    assert not [name for name in opening if name in shown and name not in leads]
    assert "hearts play --resume" in result.stdout


def test_play_commands(tmp_path):
    saved = tmp_path / "deal.txt"
    lines = [
        "help",
        "hint",
        "hin",
        "hint pro",
        "hint foo",
        "hint pimc_belif",
        "nonsense",
        "9z",
        "xx yy",
        "AS AS",
        "undo",
        "his",
        "rules",
        "save",
        f"save {saved}",
        f"save {saved}",
        "save /nowhere/deal.txt",
        "?",
        "quit now",
        "",
        "undo",
        f"save! {saved}",
        "hist",
        "q",
        "no",
        "q",
        "y",
        "rules",
    ]
    result = run("play", "--seed", 3, input="\n".join(lines))
    assert result.exit_code == 0
    text = result.stdout
    assert len(re.findall(r"\bpimc would .*2♣", text)) == 2  # seed 3: forced
    assert re.search(r"\bpro would .*2♣", text)
    for name in ("'foo'", "'pimc_belief'", "'quit'", "'now'", "( )", "/nowhere/deal.txt"):
        assert name in text
    assert text.count(f"Saved in {saved}.") == 2
    assert "You play 2♣." in text
    assert text.count("y or n") == 2
    assert text.count("highest trump") == 1  # left before the second 'rules'
    assert Game.from_text(saved.read_text()) == Game.deal("two_player", 3)


@pytest.mark.parametrize(
    "word", ["2c", "2C", "2♣", "2", "c", "2♣\ufe0f", "♣\ufe0e", "\ufeff2c", "\ufeff2\ufe0f"]
)
def test_play_knows_a_card_by_many_names(word):
    assert "You play 2♣." in run("play", "--seed", 3, input=f"{word}\n").stdout


def test_play_knows_a_command_after_a_byte_order_mark():
    assert "highest trump" in run("play", "--seed", 3, input="\ufeffrules\nq\n").stdout


@pytest.mark.parametrize("word", ["q", "Q"])
def test_q_alone_leaves_and_never_plays_a_queen(word):
    """The only legal card is a queen; in the old days q played her."""
    game = make_game("QS AH / 3S 2H", dealer=1, first_lead="eldest_hand", break_on="heart")
    table = _table(game)
    assert [game.rules.deck[a] for a in game.legal_actions()] == ["QS"]
    answers = iter([word, "y"])
    table.ask = lambda prompt: next(answers)
    with pytest.raises(Quit):
        table.run()
    assert not game.actions
    answers = iter(["qs"])
    table.ask = lambda prompt: next(answers)
    table._own_turn()
    assert game.history == ((0, "QS"),)


def test_play_says_why_not():
    text = run("play", "--seed", 3, input="AS\n9C\n").stdout
    assert re.search("A♠ .*2♣", text)
    assert "9♣ is not" in text


def test_exchange_takes_several_cards_at_once():
    game = Game.deal("classic", 8)
    assert game.phase == "pass"
    hand = game.hand(0)
    lines = f"{' '.join(hand[:4])}\n{' '.join(hand[:3])}\n"
    text = run(
        "play", "--rules", "classic", "--opponent", "standard", "--seed", 8, input=lines
    ).stdout
    assert re.search(r"\b4 cards .*\b3\b", text)
    assert "You pass" in text


@pytest.mark.parametrize(
    ("rules", "against", "word"),
    [("classic", "pimc", "4 players"), ("party players=3", "pimc_belief", "3 players")],
)
def test_an_agent_that_cannot_play_these_rules_is_refused_before_the_deal(rules, against, word):
    mistake(run("play", "--rules", rules, "--opponent", against), "opponent", against, word)
    assert not (data_folder() / "tables").exists()


# ---- what is told --------------------------------------------------------------------------------
def _table(game: Game, names=("you", "pro")) -> Terminal:
    agents = {p: make_agent("standard") for p in range(1, game.rules.players)}
    seats = [Seat(owner="terminal", name="You"), *[Seat(agent="standard") for _ in agents]]
    table = Table("", game.rules, False, 0, 0, seats, is_free=True)
    table.play = game
    announcer = Announcer(0, names, CardText(color=False, symbols=True))
    return Terminal(table, agents, announcer, SessionFiles.begin())


def test_play_shows_the_award_of_the_kitty(capsys):
    play_on(sit(Person("q"), "kitty players=5", ["standard"], 3))
    text = capsys.readouterr().out
    game = Game.deal(Rules.preset("kitty", 5), 3)
    shown = CardText.of().cards(game.kitty)
    points = sum(game.rules.card_points.get(card, 0) for card in game.kitty)
    assert points == 2  # 5H and 7H
    assert re.search(rf"takes? trick 1( \(\+\d+\))?, and the kitty {shown} \(\+2\)\.", text)
    assert text.count("and the kitty") == 1


@pytest.mark.parametrize(
    ("hands", "cards", "break_on", "told"),
    [
        ("2C 3H / 4D 5D", ["2C", "4D"], "void", "Hearts are broken: pro could not follow."),
        ("4D 3H / 2C 5D", ["2C", "4D"], "void", "Hearts are broken: you could not follow."),
        ("2C 3H / 4H 5D", ["2C", "4H"], "void", "Hearts are broken: pro played 4♥."),
        ("2C 3H / 4H 5D", ["2C", "4H"], "heart", "Hearts are broken: pro played 4♥."),
        ("2C 3H / 3C 5D", ["2C", "3C"], "void", None),
        ("2C 3H / 4D 5D", ["2C", "4D"], "heart", None),
    ],
)
def test_it_is_told_why_hearts_are_broken(hands, cards, break_on, told, capsys):
    dealer = 1 - hands.partition("/")[2].split().count(cards[0])
    game = make_game(hands, dealer=dealer, first_lead="eldest_hand", break_on=break_on)
    table = _table(game)
    for card in cards:
        table._do(game.rules.index[card])
    out = capsys.readouterr().out
    assert ("Hearts are broken" in out) == (told is not None)
    assert told is None or out.count(told) == 1


def test_lines_are_broken_between_words():
    text = "  a trick goes to \x1b[1mthe highest card\x1b[0m of the suit led; its taker leads"
    for width in (12, 20, 30, 200):
        lines = wrap(text, width).split("\n")
        plain = [re.sub(r"\x1b\[\d+m", "", line) for line in lines]
        assert all(len(line) <= width for line in plain)
        assert " ".join(" ".join(lines).split()) == text.strip()
    assert wrap("Incomprehensibilities", 5) == "Incomprehensibilities"
    assert wrap("one\ntwo", 80) == "one\ntwo"


# ---- hints ---------------------------------------------------------------------------------------
@few_of("deals", 2, 12)
@pytest.mark.parametrize("rules", ["classic", "party players=5"])
def test_a_hint_names_the_card_that_heads_its_own_list(rules, deals):
    """And asked again it says the same; on some 150 positions in all."""
    agent, player = make_agent("pro", seed=0), make_agent("standard", seed=1)
    seen = 0
    for seed in range(deals):
        game = Game.deal(rules, seed)
        while not game.is_over:
            view = game.view(game.player)
            if game.player == 0 and game.phase == "play" and len(view.legal_actions()) > 1:
                found = hint(agent, view)
                assert found.action == found.worths[0].action
                best = max(found.worths, key=lambda worth: worth.margin)
                assert found.worths[0].margin == best.margin
                assert {worth.action for worth in found.worths} == set(view.legal_actions())
                assert found.is_sample or not any(worth.half for worth in found.worths)
                if seed % 4 == 0:
                    assert hint(agent, view) == found
                seen += 1
            game.play(player.act(view))
    assert seen > 6 * deals


def test_the_best_player_for_the_rules_gives_the_hints():
    assert best_hinter(Game.deal("two_player", 0).view(0)) == "pimc"
    assert best_hinter(Game.deal("classic", 0).view(0)) == "pro"
    assert best_hinter(Game.deal("two_player removed=[] hand_size=10", 0).view(0)) == "pro"


def test_a_player_without_worlds_tells_its_chances():
    game = make_game("2C 3C / 4C 5C", dealer=1, first_lead="eldest_hand")
    view = game.view(0)
    found = hint(make_agent("easy", seed=1), view)
    assert found.chances == ((0, 0.5), (1, 0.5))
    assert found.action == 0
