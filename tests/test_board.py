"""The analysis board's document: its figures against analyse(), plain search and hand counts."""

from __future__ import annotations

import json

import pytest

from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import Record
from hearts_train.measure.analysis import analyse
from hearts_train.web.assets import board_page
from hearts_train.web.review import costliest, cut, read_deal, review, tried
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


def test_marks_of_cards_follow_from_their_figures(told: dict) -> None:
    for moment in told["moments"]:
        best = max(moment["means"].values())
        for card, mean in moment["means"].items():
            loss = best - mean
            kinds = ["slip", "blunder"][loss >= 5] if loss >= 1 else "best"
            if 0 < loss < 1 and f"{mean:.1f}" != f"{best:.1f}":
                kinds = "fair"
            assert moment["verdicts"][card] == kinds
        played = moment["verdicts"][moment["card"]]
        assert moment["mark"] == {"slip": "?", "blunder": "??"}.get(played, "")
        assert (moment["given"] == "") == (len(moment["means"]) == 1)


def test_players_have_verdict_mistakes_and_course(told: dict) -> None:
    margin = told["scores"][1] - told["scores"][0]
    for seat, player in enumerate(told["players"]):
        own = [m for m in told["moments"] if m["player"] == seat and m["mark"]]
        assert player["mistakes"] == [m["number"] for m in own]
        result, _, *links = player["verdict"]
        won = margin if seat == 0 else -margin
        name = ["You", "pro"][seat]
        assert result == f"{name} {'won' if won > 0 else 'lost'} by {abs(won)}. "
        costly = [link for link in links if isinstance(link, list)]
        losses = [next(m for m in own if m["number"] == at)["expected_loss"] for at, _ in costly]
        assert losses == sorted((m["expected_loss"] for m in own), reverse=True)[:3]
        for at, text in costly:
            moment = told["moments"][at]
            card = moment["card"].replace("T", "10").translate(str.maketrans("CDSH", "♣♦♠♥"))
            assert text == f"{card} in trick {moment['trick']}"
        assert [at for at, _ in player["course"]] == list(range(26))
        assert player["course"][-1][1] == won


def test_tried_card_is_measured_from_there(record: Record, told: dict) -> None:
    at = next(m["number"] for m in told["moments"] if len(m["means"]) > 2)
    moment = told["moments"][at]
    card = next(name for name in moment["means"] if name != moment["card"])
    line = review(tried(record, at, card), since=at)
    assert [step[:2] for step in line["steps"]] == [
        *(step[:2] for step in told["steps"][:at]),
        [moment["player"], card],
    ]
    (found,) = line["moments"]
    same = ("number", "trick", "player", "values", "means", "verdicts")
    assert {name: found[name] for name in same} == {name: moment[name] for name in same}
    value = moment["values"][card]
    assert line["players"][moment["player"]]["course"] == [[at, value]]
    game = cut(record.game, at)
    game.play(card)
    now = line["now"]
    assert now["player"] == game.current_player
    assert set(now["verdicts"]) == {game.rules.deck[a] for a in game.legal_actions()}
    assert max(now["values"].values()) == (value if now["player"] == moment["player"] else -value)
    again = tried(read_deal(line["deal"]), at + 1, next(iter(now["means"])))
    assert len(again.game.actions) == at + 2


def test_cards_that_cannot_be_tried_are_refused(record: Record) -> None:
    hidden = record.game.kitty[0]
    for at, card, words in [(27, "2C", "at"), (-1, "2C", "at"), (0, hidden, "action")]:
        with raises_hearts_error(HeartsError, words):
            tried(record, at, card)


def test_last_card_can_be_tried(record: Record) -> None:
    line = review(tried(record, 25, record.game.history[25][1]), since=25)
    assert line["scores"] == record.game.scores()
    assert line["now"] is None


@pytest.mark.parametrize("rules", ["two_player", "no_pass hand_size=3"])
def test_costliest_is_the_worst_card_of_the_seat(rules: str) -> None:
    game = played(rules, 3, *["easy"] * Rules.from_text(rules).players)
    record, found = Record(game), analyse(game)
    for seat in range(game.rules.players):
        told = costliest(record, seat)
        own = [m for m in found.moments if m.player == seat and len(m.means) > 1]
        assert told["choices"] == len(own) > 0
        assert told["lost"] == sum(m.expected_loss for m in own)
        worst = max(own, key=lambda m: m.expected_loss)
        assert (told["card"] is not None) == bool(worst.mark)
        if card := told["card"]:
            assert game.rules.deck[game.actions[card["at"]]] == card["played"] == worst.card
            assert (card["trick"], card["lost"]) == (worst.trick, worst.expected_loss)
            assert worst.means[card["best"]] == max(worst.means.values())


def test_costliest_is_none_without_a_slip() -> None:
    game = played("micro", 1, "pimc", "pimc")
    assert costliest(Record(game), 0) == {"choices": 1, "lost": 0.0, "card": None}
    unplayed = Record(Game.deal("micro", 1))
    assert costliest(unplayed, 0) == {"choices": 0, "lost": 0, "card": None}


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
