"""Hand histories, deals and views as text: round trips, and one clear message for each fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from hearts_env import Game, HeartsError, Match, NotationError, Rules
from hearts_env.cards import ALL_CARDS, parse_card
from hearts_env.game.notation import Record, parse_games, parse_records
from hearts_train.web.review import read_deal
from tests.deals import play
from tests.refusals import raises_hearts_error
from tests.slow import quick_given
from tests.strategies import games

MICRO = """\
[Rules "micro"]
[Deal "0"]
[Dealer "0"]
[Hand 0 "QC QS QH"]
[Hand 1 "AC AD AH"]
[Kitty "QD AS"]
[Scores "1 14"]

1. 0: QC AC
2. 1: AD QH
3. 0: QS AH
"""

EXCHANGE = """\
[Rules "party players=3 hand_size=2 pass_count=1"]
[Deal "0"]
[Hand 0 "2C 3H"]
[Hand 1 "4C 5H"]
[Hand 2 "6C 7H"]

pass 0: 2C
pass 1: 5H
pass 2: 7H
1. 1: 2C 6C 3H
"""


# ---- cards ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", ALL_CARDS)
def test_every_card_is_read_in_every_spelling(card: str) -> None:
    symbol = dict(zip("CDSH", "♣♦♠♥", strict=True))[card[1]]
    spellings = [card, card.lower(), f" {card} ", card[0] + symbol]
    if card[0] == "T":
        spellings += ["10" + card[1], "10" + symbol]
    for spelling in spellings:
        assert parse_card(spelling) == card


MARKS = {"U+FE0E": "\ufe0e", "U+FE0F": "\ufe0f", "none": ""}
"""Marks that phones write after a suit sign, to draw it as text or as a picture."""
SIGNED = {"AC": "a\u2663", "AD": "A\u2666", "AH": "A\u2665", "QC": "Q\u2663", "QS": "q\u2660"}


def signed(text: str, mark: str) -> str:
    """`text` with suit signs, each followed by `mark`, instead of the letters of some cards."""
    for card, sign in SIGNED.items():
        text = text.replace(card, sign + mark)
    return text


def world_of(hands: list[str], kitty: str) -> Game:
    return Game.from_view(Game("micro", ["QC QS QH", "AC AD AH"]).view(0), [*hands, kitty])


FROM_HANDS: dict[str, Callable[[list[str], str], Game]] = {
    "Game, text": lambda hands, kitty: Game("micro", hands, kitty),
    "Game, lists": lambda hands, kitty: Game("micro", [h.split() for h in hands], kitty.split()),
    "world": world_of,
}
"""Readers of hands. Environments pass theirs to ``Game``."""

FROM_TEXT: dict[str, Callable[[str], Game]] = {
    "from_text": Game.from_text,
    "parse_records": lambda text: parse_records(text)[0].game,
    "upload": lambda text: read_deal(text).game,
}
"""Readers of hand histories. Files and terminals are tested in a process."""


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("reader", FROM_HANDS.values(), ids=FROM_HANDS)
def test_hands_with_marks_are_read(reader: Callable[[list[str], str], Game], mark: str) -> None:
    hands = [signed(hand, mark) for hand in ("QC QS QH", "AC AD AH")]
    game = reader(["\ufeff" + hands[0], hands[1]], signed("QD AS", mark))
    assert [game.hand(0), game.hand(1)] == [("QC", "QS", "QH"), ("AC", "AD", "AH")]
    assert game.kitty == ("QD", "AS")


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("reader", FROM_TEXT.values(), ids=FROM_TEXT)
def test_history_with_marks_is_read(reader: Callable[[str], Game], mark: str) -> None:
    game = reader("\ufeff" + signed(MICRO, mark))
    assert game.start() == Game.from_text(MICRO).start()
    assert game.actions == Game.from_text(MICRO).actions


def test_joined_histories_with_byte_order_marks_are_read() -> None:
    # Two files of an editor one after another: a mark stands in the middle.
    first, second = ["\ufeff" + signed(MICRO, "\ufe0f"), "\ufeff# second\n" + EXCHANGE]
    assert parse_games(first + second) == parse_games(MICRO + EXCHANGE)
    text = Game.from_text(MICRO).to_text({"Player 0": "\u2660\ufe0f"})
    (record,) = parse_records("\ufeff" + text)
    assert record.tags == {"Player 0": "\u2660\ufe0f"}  # names are kept as they are


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_annotated_cards_are_played_and_name_rules(mark: str) -> None:
    game, match = Game.deal("micro", 1), Match("micro", 1)
    for one in (game, match):
        card = one.rules.action_name(one.legal_actions()[0])
        sign = card[0] + dict(zip("CDSH", "\u2663\u2666\u2660\u2665", strict=True))[card[1]]
        one.play("\ufeff" + sign + mark)
        assert (one if one is game else match.game).history[0][1] == card
    rules = Rules.preset("classic").replace(
        removed=["2\u2663" + mark], card_points={"Q\u2660" + mark: 13}, hand_size=12
    )
    assert rules.removed == ("2C",)
    assert dict(rules.card_points) == {"QS": 13}
    text = f'classic hand_size=12 removed=["2\u2663{mark}"]'
    assert Rules.from_text(text).removed == ("2C",)


@pytest.mark.parametrize(
    "text", ["", "Q", "QQ", "SQ", "1C", "11C", "QSS", "Q S", "0", "\ufe0f", "QS\u200b", 7, None, []]
)
def test_invalid_card_is_refused(text: object) -> None:
    with raises_hearts_error(NotationError, "card"):
        parse_card(text)


# ---- round trips ---------------------------------------------------------------------------------


@quick_given(20, 120, games())
def test_every_game_is_read_back(game: Game) -> None:
    text = game.to_text()
    twin = Game.from_text(text)
    assert twin == game
    assert twin.actions == game.actions
    assert twin.rules == game.rules
    assert twin.to_text() == text
    # The header alone is the deal.
    header, _, _ = text.partition("\n\n")
    assert Game.from_text(header) == game.start()


@quick_given(8, 50, games(), games())
def test_several_games_follow_one_another(one: Game, two: Game) -> None:
    for texts in ([one, two], [two, one, two], [one.start(), one]):
        assert parse_games("\n".join(game.to_text() for game in texts)) == texts
        assert parse_games("".join(game.to_text() for game in texts)) == texts


def test_history_keeps_exchange_and_moon_choice() -> None:
    game = Game.from_text(EXCHANGE)
    assert game.history == ((1, "2C"), (2, "6C"), (0, "3H"))
    assert game.phase == "play"
    rules = Rules.preset("micro").replace(moon="choose")
    for word, scores in (("off", [0, -15]), ("others", [15, 0])):
        moon = Game(rules, ["QC QS QH", "AC AD AH"], "QD AS")
        play(moon, "QC AC AD QS AH QH")
        moon.play(8 + (word == "others"))
        assert f"\nmoon 1: {word}\n" in moon.to_text()
        assert Game.from_text(moon.to_text()).scores() == scores


def test_history_allows_comments_and_omitted_fields() -> None:
    text = """
        # A deal that somebody typed.
        [ Rules  "micro" ]   # the smallest game
        [Hand 1 "ac a♦ AH"]
        [Hand 0 "qc QS QH"]

        1. 0 : QC AC  # only legal cards
        2.1:AD
    """
    game = Game.from_text(text)
    assert game == play(Game("micro", ["QC QS QH", "AC AD AH"]), "QC AC AD")


# ---- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        # the header
        ('[Rules "micro"]\n', "", ['[Rules "two_player"]']),
        ('"micro"', '"macro"', ["'macro'", "'micro'"]),
        ('[Deal "0"]', '[Deal "x"]', ["[Deal]", "'x'"]),
        ('[Deal "0"]', '[Deal "-1"]', ["deal_number", "-1"]),
        ('[Dealer "0"]', '[Dealer "0"]\n[Dealer "1"]', ["line 4", "[Dealer]"]),
        ('[Dealer "0"]', '[Totals "1 2 3"]', ["totals", "2"]),
        ('[Hand 1 "AC AD AH"]\n', "", ['[Hand 1 "..."]']),
        ("[Kitty", '[Hand 2 "QD AS"]\n[Kitty', ["[Hand 2]", "1"]),
        ("AC AD AH", "AC AD", ["hands[1]", "2", "3"]),
        # the play
        ("1. 0: QC AC", "1. 0: QC QD", ["line 9", "QD", "AC"]),
        ("1. 0: QC AC", "1. 1: AC QC", ["line 9", "player 0"]),
        ("1. 0: QC AC", "1. 0: QC A", ["line 9", "'A'", "(2..9"]),
        ("1. 0: QC AC", "2. 0: QC AC", ["line 9", "trick 1"]),
        ("1. 0: QC AC", "1. 0: QC", ["line 10", "trick 1"]),
        ("1. 0: QC AC", "1. 0 QC AC", ["line 9", "'1. 0: 2C 4C'"]),
        ("1. 0: QC AC", "play QC", ["line 9", "'revoke 0'"]),
        ("1. 0: QC AC", "pass 0: QC", ["line 9", "player 0", "play"]),
        ("1. 0: QC AC", "moon 0: off", ["line 9", "player 0", "play"]),
        ("1. 0: QC AC", "revoke 1", ["line 9", "player 0"]),
        ("3. 0: QS AH\n", "3. 0: QS AH\n4. 1: QD\n", ["line 12"]),
        ('[Scores "1 14"]', '[Scores "14 1"]', ["[Scores]", "14 1", "1 14"]),
        # an exchange
        ("pass 0: 2C\n", "pass 0: 2C 3H\n", ["line 7", "player 1"]),
        ("1. 1: 2C", "1. 0: 2C", ["line 10", "player 1"]),
    ],
)
def test_history_faults_are_named_by_line(old: str, new: str, words: list[str]) -> None:
    text = MICRO if old in MICRO else EXCHANGE
    assert text.count(old) == 1
    with pytest.raises(NotationError) as caught:
        Game.from_text(text.replace(old, new))
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert "\n" not in message
    assert isinstance(caught.value, HeartsError)


def test_from_text_requires_one_game() -> None:
    for empty in ("", "  \n\n", "# nothing but a comment\n"):
        with raises_hearts_error(NotationError, "history"):
            Game.from_text(empty)
    with raises_hearts_error(NotationError, "history", 2):
        Game.from_text(MICRO + MICRO)
    with raises_hearts_error(NotationError, "history"):
        Game.from_text(b"x")  # type: ignore[arg-type]
    with raises_hearts_error(NotationError, "line 1"):
        Game.from_text("1. 0: QC AC\n")


# ---- views ---------------------------------------------------------------------------------------


def test_view_text_equals_hand_written_text() -> None:
    game = Game("micro", ["QC QS QH", "AC AD AH"], "QD AS")
    text = play(game, "QC AC AD").view(0).to_text()
    assert text.splitlines() == [
        "Hearts (micro), you are player 0 of 2.",
        "Trick 1: player 0 QC, player 1 AC",
        "This trick: player 1 AD",
        "Points taken: player 0 0, player 1 0",
        "Hearts are not broken.",
        "Your hand: QS QH",
        "You are to play a card. Legal: QS QH",
    ]
    other = play(game, "QH").view(1).to_text()
    assert "Shown: player 0 has no diamonds\n" in other
    assert "Player 0 is to act.\n" in other


@quick_given(17, 100, games())
def test_view_text_names_no_hidden_card(game: Game) -> None:
    for player in range(game.rules.players):
        view = game.view(player)
        words = set(view.to_text().replace(",", " ").split())
        known = {*view.hand, *view.passed, *view.received, *(card for _, card in view.history)}
        if view.kitty_taker is not None:
            known |= set(view.kitty)
        named = {word for word in words if word in ALL_CARDS and word in game.rules.deck}
        first_line = set(view.to_text().splitlines()[0].replace('"', " ").split())
        assert named - first_line <= known
        assert set(view.hand) <= words


# ---- tags ----------------------------------------------------------------------------------------
TAGS = {"Player 0": "You", "Player 1": "C#-bot", "Date": "2026-11-21", "Event": "club", "Mood": ""}


def test_tags_make_a_round_trip() -> None:
    game = Game.from_text(MICRO)
    assert game.to_text() == game.to_text({}) == MICRO
    text = game.to_text(TAGS)
    assert text.replace("".join(f'[{k} "{v}"]\n' for k, v in TAGS.items()), "") == MICRO
    (record,) = parse_records(text)
    assert record == Record(game, TAGS)
    assert record.to_text() == text
    assert parse_games(text) == [game]
    assert Game.from_text(text).to_text() == MICRO
    assert parse_records(MICRO) == [Record(game, {})]  # files of old


@quick_given(
    10, 60, st.dictionaries(st.sampled_from(["Site", "Mood", "Annotator", "Table 3"]), st.text())
)
def test_any_tag_can_be_kept(tags: dict[str, str]) -> None:
    game = Game.from_text(MICRO)
    text = game.to_text(tags)
    (record,) = parse_records(text)
    assert record.game == game
    assert list(record.tags) == list(tags)
    assert record.to_text() == text  # replaced characters stay replaced
    assert parse_records(text + text) == [record, record]


def test_tags_may_stand_anywhere_in_a_header() -> None:
    for before, after in (("", '[Site "here"] # a comment'), ('[Site "here"]', "")):
        text = f"{before}\n{MICRO.replace('[Kitty', f'{after}{chr(10)}[Kitty')}"
        records = parse_records(f"{text}\n{text}")
        assert [record.tags for record in records] == [{"Site": "here"}] * 2
        assert records[0].game == Game.from_text(MICRO)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('[Player 2 "x"]', ["[Player 2]", "1"]),
        ('[Player "x"]', ["[Player]", "0 to 1"]),
        ('[Dealr "0"]', ["[Dealr]", "[Dealer]"]),
        ('[Totls "1 1"]', ["[Totls]", "[Totals]"]),
        ('[Date "x"]\n[Date "y"]', ["line 3"]),
    ],
)
def test_wrong_fields_are_named(line: str, words: list[str]) -> None:
    first, _, rest = MICRO.partition("\n")
    rest = rest.replace('[Deal "0"]\n', "").replace('[Scores "1 14"]\n', "")
    with pytest.raises(NotationError) as caught:
        parse_records(f"{first}\n{line}\n{rest}")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["", "Rules", "Hand 0", "A b", "Player 2", "Player", "1"])
def test_invalid_tag_names_are_refused(name: str) -> None:
    with pytest.raises(NotationError):
        Game.from_text(MICRO).to_text({name: "x"})


def test_equal_players_of_a_record_get_distinct_names() -> None:
    game = Game.from_text(MICRO)
    assert Record(game).names() == ["player 0", "player 1"]
    assert Record(game, {"Player 1": "pro"}).names() == ["player 0", "pro"]
    assert Record(game, {"Player 0": "pro", "Player 1": "pro"}).names() == ["pro (0)", "pro (1)"]
