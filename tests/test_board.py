"""The analysis board's document: its figures against analyse(), plain search and hand counts."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from hearts_agents import make_agent
from hearts_env import Game, HeartsError, Rules
from hearts_env.game.notation import Record
from hearts_env.solve import solve_double_dummy, solve_worlds
from hearts_env.solve.beliefs import belief
from hearts_train.measure.analysis import Moment, analyse
from hearts_train.web.assets import board_page
from hearts_train.web.review import (
    EPSILON,
    costliest,
    position,
    read_deal,
    replayed,
    review,
    well_chosen,
)
from tests.deals import played
from tests.refusals import raises_hearts_error


@pytest.fixture(scope="module")
def record() -> Record:
    return Record(played("two_player", 3, "easy", "pro"), {"Player 0": "You", "Player 1": "pro"})


@pytest.fixture(scope="module")
def told(record: Record) -> dict:
    return json.loads(json.dumps(review(record)))


def at(game: Game, number: int) -> Game:
    """The game before one of its actions."""
    replay = game.start()
    for action in game.actions[:number]:
        replay.play(action)
    return replay


def test_the_figures_are_those_of_analyse(record: Record, told: dict) -> None:
    found = analyse(record.game, names=record.names()).to_json()
    assert told["before"] == found["before"]
    assert told["scores"] == found["scores"]
    for own, theirs in zip(told["players"], found["players"], strict=True):
        assert own | theirs == own
    assert len(told["moments"]) == len(found["cards"]) == 26
    for moment, card in zip(told["moments"], found["cards"], strict=True):
        assert card.items() <= moment.items()


def test_the_steps_are_the_deal(record: Record, told: dict) -> None:
    game = record.game
    assert [(seat, card) for seat, card, *_ in told["steps"]] == list(game.history)
    ends = [step for step in told["steps"] if len(step) == 4]
    assert len(ends) == 13
    assert ends[-1][3] == game.points
    for number, (_, _, taker, points) in enumerate(ends, 1):
        after = at(game, 2 * number)
        assert points == after.points
        assert {card for _, card in game.tricks[number - 1]} <= set(after.taken(taker))


def test_after_each_card_best_play_ends_at_its_value(record: Record, told: dict) -> None:
    for moment in told["moments"]:
        assert list(moment["lines"]) == list(moment["values"])
        for card, line in moment["lines"].items():
            game = at(record.game, moment["number"])
            assert line[0][1] == card
            for seat, name, *_ in line:
                assert seat == game.current_player
                game.play(name)
            assert game.margins()[moment["player"]] == moment["values"][card]


def test_the_other_hands_are_the_worlds_of_the_view(record: Record, told: dict) -> None:
    for moment in told["moments"][::5]:
        game, others = at(record.game, moment["number"]), moment["others"]
        view = game.view(moment["player"])
        worlds, margins = solve_worlds(view)
        unseen = set(others["unseen"])
        assert unseen == set(view.unseen)
        shown = [{text[i : i + 2] for i in range(0, len(text), 2)} for text in others["cards"]]
        hands = [unseen - cards if others["by"] == "dead" else cards for cards in shown]
        assert hands == [set(world[1 - moment["player"]]) for world in worlds]
        assert hands[others["actual"]] == set(game.hand(1 - moment["player"]))
        for place, values in enumerate(others["values"].values()):
            assert values == margins[:, place].tolist()
        assert np.isclose(sum(others["chances"]), 1, atol=1e-3)
        model = make_agent(others["model"], seed=0)
        weights = belief(view, model.action_probs, epsilon=EPSILON).weights
        assert np.allclose(others["chances"], weights, atol=1e-5)


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


def test_costliest_is_nothing_where_no_card_gave_a_point_away() -> None:
    game = played("micro", 1, "pimc", "pimc")
    assert costliest(Record(game), 0) == {"choices": 1, "card": None}
    unplayed = Record(Game.deal("micro", 1))
    assert costliest(unplayed, 0) == {"choices": 0, "card": None}


def test_luck_is_the_worth_of_the_cards_before_the_first(record: Record, told: dict) -> None:
    start = record.game.start()
    sign = 1 if start.current_player == 0 else -1
    value = solve_double_dummy(start).value * sign
    assert told["luck"]["dealt"] == [value, -value]
    for seat in range(2):
        worths = []
        for world in start.view(seat).worlds():
            game = Game(start.rules, world[:2], world[2], dealer=start.dealer)
            worths.append(
                solve_double_dummy(game).value * (1 if game.current_player == seat else -1)
            )
        assert len(worths) in (91, 105)  # who leads, has the lowest card
        assert told["luck"]["hand"][seat] == pytest.approx(np.mean(worths))
    # The cards, less what one gave away, and what the other did: that is the result.
    lost = [player["lost"] for player in told["players"]]
    scores = told["scores"]
    assert told["luck"]["dealt"][0] - lost[0] + lost[1] == scores[1] - scores[0]


def test_what_was_kept_is_a_share_of_what_was_at_stake() -> None:
    def moment(card: str, **means: float) -> Moment:
        return Moment(0, 1, 0, card, dict.fromkeys(means, 0), means, 9)

    moments = [moment("2C", **{"2C": 3.0, "4C": 1.0}), moment("6C", **{"6C": -1.0, "8C": 5.0})]
    # Two points at stake, then six, which are lost.
    assert well_chosen(moments, 0) == pytest.approx(1 - 6 / 8)
    assert well_chosen(moments[:1], 0) == 1.0
    assert well_chosen(moments, 1) is None
    assert well_chosen([moment("2C", **{"2C": 3.0})], 0) is None


def test_the_champion_gets_the_same_cards_and_the_same_opponent(record: Record) -> None:
    found = replayed(record, 0)
    assert (found["agent"], found["others"]) == ("champion", ["pro"])
    assert found == replayed(record, 0)
    game, agents = record.game.start(), [make_agent("champion", seed=0), make_agent("pro", seed=1)]
    while not game.is_over:
        game.play(agents[game.current_player].act(game.view(game.current_player)))
    assert found["points"] == game.scores()[0]
    assert [step[1] for step in found["steps"]] == [card for _, card in game.history]
    assert replayed(record, 1)["others"] == ["champion"]  # in the place of a person
    named = Record(record.game, {"Player 0": "exec:rm", "Player 1": "pro?worlds=9"})
    assert replayed(named, 0)["others"] == ["pro"]
    assert replayed(named, 1)["others"] == ["champion"]
    assert replayed(Record(played("micro", 1, "easy", "easy")), 0)["agent"] == "pro"


def test_a_branch_is_measured_like_the_deal(record: Record, told: dict) -> None:
    names = [step[1] for step in told["steps"]]
    for number in (0, 7, 20):
        moment = position(record, names[:number])["moment"]
        same = told["moments"][number]
        assert moment.items() <= same.items()
    other = next(m for m in told["moments"] if len(m["values"]) > 2 and m["number"] > 4)
    card = next(c for c in other["values"] if c != other["card"])
    found = position(record, [*names[: other["number"]], card])
    game = at(record.game, other["number"])
    game.play(card)
    assert found["moment"]["player"] == game.current_player
    assert found["moment"]["values"] == {
        game.rules.deck[a]: v for a, v in solve_double_dummy(game).values.items()
    }
    end = position(record, names)
    assert end["moment"] is None
    assert end["scores"] == record.game.scores()


def test_an_unfinished_deal_has_the_position_it_stands_in() -> None:
    game = played("mini", 5, "easy", "easy", cards=3)
    told = review(Record(game))
    assert told["scores"] is None
    assert [player["champion"] for player in told["players"]] == [None, None]
    assert len(told["moments"]) == len(told["steps"]) == 3
    assert told["next"]["player"] == game.current_player
    assert list(told["next"]["values"]) == [game.rules.deck[a] for a in game.legal_actions()]
    assert told["next"] == position(Record(game), [s[1] for s in told["steps"]])["moment"]


def test_the_sentences_write_cards_as_the_page_does() -> None:
    told = review(Record(played("mini", 3, "easy", "standard")))
    assert told["rules"]["title"] == "Mini"
    lines = " ".join(told["summary"])
    assert re.search("The costliest card was .*[♣♦♠♥] in trick", lines)
    assert not re.search(r"\b[TJQKA\d][CDSH]\b", lines)


def test_moons_and_revokes_are_steps_too() -> None:
    game = Game.deal(Rules.from_text("micro moon=choose"), 0)
    while game.phase == "play":
        game.play(game.legal_actions()[-1])
    game.play(len(game.rules.deck))
    told = review(Record(game))
    assert told["steps"][-1] == [game.shooter, "moon:off"]
    assert told["next"] is None
    game = played("mini", 5, "easy", "easy", cards=3)
    offender = game.current_player
    game.revoke()
    told = review(Record(game))
    assert told["steps"][-1] == [offender, "revoke"]
    assert position(Record(game), [s[1] for s in told["steps"]])["scores"] == game.scores()


def test_what_is_no_deal_is_refused_in_a_sentence(record: Record) -> None:
    text = record.to_text()
    for wrong, words in [("", "history"), (text * 2, "deal"), ("nonsense", "line 1")]:
        with raises_hearts_error(HeartsError, words):
            read_deal(wrong)
    with raises_hearts_error(HeartsError, "actions", "9Z"):
        position(record, ["9Z"])
    with raises_hearts_error(HeartsError, "action"):
        position(record, [record.game.history[-1][1]])


def test_nothing_of_a_text_becomes_part_of_the_page(record: Record) -> None:
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
