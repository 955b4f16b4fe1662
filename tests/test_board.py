"""The analysis board's document: its figures against analyse(), plain search and hand counts."""

from __future__ import annotations

import json

import pytest

from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import Record
from hearts_train.measure.analysis import analyse
from hearts_train.web.assets import board_page
from hearts_train.web.review import costliest, read_deal, review
from tests.deals import played
from tests.refusals import raises_hearts_error


@pytest.fixture(scope="module")
def record() -> Record:
    return Record(played("two_player", 3, "easy", "pro"), {"Player 0": "You", "Player 1": "pro"})


@pytest.fixture(scope="module")
def told(record: Record) -> dict:
    return json.loads(json.dumps(review(record)))


def at(game: Game, number: int) -> Game:
    """Return the game before one of its actions."""
    replay = game.start()
    for action in game.actions[:number]:
        replay.play(action)
    return replay


def test_figures_equal_those_of_analyse(record: Record, told: dict) -> None:
    found = analyse(record.game, names=record.names()).to_json()
    assert told["scores"] == found["scores"]
    assert len(told["moments"]) == len(found["cards"]) == 26
    for moment, card in zip(told["moments"], found["cards"], strict=True):
        assert card.items() <= moment.items()


def test_review_steps_equal_the_deal(record: Record, told: dict) -> None:
    game = record.game
    assert [(seat, card) for seat, card, *_ in told["steps"]] == list(game.history)
    ends = [step for step in told["steps"] if len(step) == 4]
    assert len(ends) == 13
    assert ends[-1][3] == game.points
    for number, (_, _, taker, points) in enumerate(ends, 1):
        after = at(game, 2 * number)
        assert points == after.points
        assert {card for _, card in game.tricks[number - 1]} <= set(after.taken(taker))


@pytest.mark.parametrize("rules", ["two_player", "no_pass hand_size=3"])
def test_costliest_is_the_worst_card_of_the_seat(rules: str) -> None:
    game = played(rules, 3, *["easy"] * Rules.from_text(rules).players)
    record, found = Record(game), analyse(game)
    for seat in range(game.rules.players):
        told = costliest(record, seat)
        own = [m for m in found.moments if m.player == seat and len(m.means) > 1]
        assert told["choices"] == len(own) > 0
        worst = max(own, key=lambda m: m.expected_loss)
        assert (told["card"] is not None) == bool(worst.mark)
        if card := told["card"]:
            assert game.rules.deck[game.actions[card["at"]]] == card["played"] == worst.card
            assert (card["trick"], card["lost"]) == (worst.trick, worst.expected_loss)
            assert worst.means[card["best"]] == max(worst.means.values())


def test_costliest_is_none_without_a_slip() -> None:
    game = played("micro", 1, "pimc", "pimc")
    assert costliest(Record(game), 0) == {"choices": 1, "card": None}
    unplayed = Record(Game.deal("micro", 1))
    assert costliest(unplayed, 0) == {"choices": 0, "card": None}


def test_moons_and_revokes_are_steps_too() -> None:
    game = Game.deal(Rules.from_text("micro moon=choose"), 0)
    while game.phase == "play":
        game.play(game.legal_actions()[-1])
    game.play(len(game.rules.deck))
    told = review(Record(game))
    assert told["steps"][-1] == [game.shooter, "moon:off"]
    game = played("mini", 5, "easy", "easy", cards=3)
    told = review(Record(game))
    assert told["scores"] is None
    assert len(told["moments"]) == len(told["steps"]) == 3
    offender = game.current_player
    game.revoke()
    told = review(Record(game))
    assert told["steps"][-1] == [offender, "revoke"]
    assert told["scores"] == game.scores()


def test_text_without_one_deal_is_refused(record: Record) -> None:
    text = record.to_text()
    for wrong, words in [("", "history"), (text * 2, "deal"), ("nonsense", "line 1")]:
        with raises_hearts_error(HeartsError, words):
            read_deal(wrong)


def test_text_never_becomes_markup_of_the_page(record: Record) -> None:
    nasty = "</script><img src=x onerror=alert(1)>&amp;\u2028"
    told = review(Record(record.game, {"Player 0": nasty, "Player 1": "pro", "Event": nasty}))
    page = board_page([told]).decode()
    assert nasty not in page
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script") == 3
    start = page.index('id="deals">') + len('id="deals">')
    (found,) = json.loads(page[start : page.index("</script>", start)])
    assert found == json.loads(json.dumps(told))
    assert found["names"][0] == nasty
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
