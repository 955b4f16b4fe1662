"""Where the champion loses points: what is measured, what is shown of it, and that pages agree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from docs.situations import situations
from hearts_env import Game, PlayerView
from hearts_env.game.notation import parse_records
from hearts_env.solve import solve_worlds
from tests.test_docs import DOCS, load_script, tables

weak = load_script("weak_spots")
RECORD = json.loads((DOCS / "results" / "weak_spots.json").read_text(encoding="utf-8"))
SEEDS = range(3)


@pytest.fixture(scope="module")
def meeting() -> Any:
    """The champion against itself on some deals."""
    found = weak.Meeting(weak.Judge(), "champion")
    found.play(SEEDS)
    return found


# ---- by other means ------------------------------------------------------------------------------
def position_of(meeting: Any, one: Any) -> Game:
    game: Game = meeting.games[one.seed].start()
    for action in meeting.games[one.seed].actions[: one.number]:
        game.play(action)
    return game


def margin_after(game: Game, card: str, seat: int, agent: Any) -> float:
    """The margin of a seat if a card is played, and the agent plays on for both."""
    game = game.clone()
    game.play(card)
    while game.player is not None:
        game.play(agent.act(game.view(game.player)))
    return game.margins()[seat]


def games_left(view: PlayerView, agent: Any) -> Iterator[Game]:
    """The worlds in which the agent would have played as the other player did."""
    for world in view.worlds():
        game = Game.from_view(view, world)
        past = game.start()
        for action in game.actions:
            mover = past.player
            assert mover is not None
            if mover != view.player and agent.act(past.view(mover)) != action:
                break
            past.play(action)
        else:
            yield game


@pytest.mark.slow
def test_every_choice_is_measured_as_counting_world_by_world_does(meeting: Any) -> None:
    agent, improver = meeting.judge.network, meeting.judge.improver
    choices = 0
    for seed in SEEDS:
        game = meeting.games[seed].start()
        for action in meeting.games[seed].actions:
            choices += len(game.legal_actions()) > 1
            game.play(action)
    assert len(meeting.decisions) == choices
    changed = [one for one in meeting.decisions if one.better != one.card]
    late = [one for one in meeting.decisions if one.number > 9]
    assert changed
    for one in [*changed[:4], *late[::9]]:
        game = position_of(meeting, one)
        view = game.view(one.seat)
        deck = view.rules.deck
        legal = [deck[action] for action in view.legal_actions()]
        means = dict(zip(legal, solve_worlds(view)[1].mean(0), strict=True))
        assert one.card == deck[agent.act(view)]
        assert one.better == deck[improver.act(view)]
        assert one.losses["alike"] == pytest.approx(max(means.values()) - means[one.card])
        held = [margin_after(game, card, one.seat, agent) for card in (one.card, one.better)]
        assert one.losses["held"] == held[1] - held[0]
        assert one.losses["search"] >= -1e-9
        least = min(one.losses["search"], means[one.better] - means[one.card])
        assert one.agreed == pytest.approx(max(0.0, least))
        assert one.hands == view.num_worlds
        left = list(games_left(view, agent))
        assert one.left == len(left)
        worth = {c: np.mean([margin_after(g, c, one.seat, agent) for g in left]) for c in legal}
        assert one.reading == pytest.approx(max(worth.values()) - worth[one.card])
        assert worth[one.answer] == pytest.approx(max(worth.values()))


@pytest.mark.slow
def test_groups_add_up_to_all(meeting: Any) -> None:
    told = meeting.to_json()
    for name in meeting.decisions[0].labels:
        groups = [group for group in told["situations"] if group["situation"] == name]
        assert sum(group["share"] for group in groups) == pytest.approx(1)
        for measure in weak.MEASURES:
            total = sum(group[measure]["margin"] for group in groups)
            assert total == pytest.approx(told["all"][measure]["margin"])
    by_hand = sum(one.losses["search"] for one in meeting.decisions) / len(SEEDS) / 2
    assert told["all"]["search"]["margin"] == pytest.approx(by_hand)


# ---- situations ----------------------------------------------------------------------------------
DEAL = """[Rules "two_player"]
[Hand 0 "2C QC AC 4D TD AD 4S 6S 8S TS AS 6H TH"]
[Hand 1 "4C 6C 8C TC 2D 6D QD 2S QS 2H 4H 8H AH"]
"""


@pytest.mark.parametrize(
    ("play", "expected"),
    [
        ("", {"trick": "1 to 3", "turn": "it leads", "queen of spades": "QS is not seen yet"}),
        ("1. 0: 2C", {"turn": "it follows suit", "queen of spades": "it holds QS"}),
        ("1. 0: 2C 4C\n2. 1: 6C AC\n3. 0: AS QS", {"queen of spades": "QS is played",
          "points taken": "by it alone, with QS", "turn": "it leads", "trick": "4 to 6"}),
        ("1. 0: 2C TC\n2. 1: 8C QC\n3. 0: AC 4C\n4. 0: 4D 2D\n5. 0: AD QD\n6. 0: TD",
         {"turn": "it follows suit", "points taken": "none"}),
    ],
)  # fmt: skip
def test_situations_are_named(play: str, expected: dict[str, str]) -> None:
    game = Game.from_text(DEAL + play)
    assert game.player is not None
    view = game.view(game.player)
    told = situations(view, 0.5, np.zeros((41, len(view.legal_actions())), np.int64))
    assert {name: told[name] for name in expected} == expected
    assert told["hands the other may have"] == "41 to 105"
    assert told["its chance for the card"] == "50 to 89 %"


def test_a_moon_is_within_reach_where_a_tenth_of_the_worlds_allow_it() -> None:
    view = Game.from_text(DEAL).view(0)
    margins = np.full((10, 2), -3)
    margins[0] = 20, -20
    assert situations(view, 0.1, margins)["moon within reach"] == "its own"
    margins[1] = -20  # whatever is played, the other one makes it
    assert situations(view, 0.1, margins)["moon within reach"] == "its own and the other's"
    assert situations(view, 0.1, margins[2:])["moon within reach"] == "nobody's"


# ---- tables --------------------------------------------------------------------------------------
def test_the_model_card_is_in_step_and_shipping_leaves_a_place_for_it() -> None:
    card = (DOCS.parent / tables.CARD).read_text(encoding="utf-8")
    assert tables.render(card, tables.CARD) == card, "run make docs-tables"
    section = card[card.index("\n## What it is bad at\n") :]
    empty = load_script("ship").WEAK
    assert re.findall("<!--.*-->", empty) == re.findall("<!--.*-->", section)
    assert tables.render(empty).strip() == section.strip()


def test_the_deals_that_are_shown_are_those_of_the_file_of_results() -> None:
    text = (DOCS.parent / "examples" / "champion_deals.txt").read_text(encoding="utf-8")
    records = parse_records(text)
    assert len(records) == len(RECORD["shown"]) == 3
    for record, one in zip(records, RECORD["shown"], strict=True):
        game = record.game.start()
        assert game == Game.deal("two_player", one["seed"]).start()
        for action in record.game.actions[: one["number"]]:
            game.play(action)
        assert game.to_text() == one["position"]
        assert game.player == one["seat"]
        assert record.game.margins() == one["margins"]
        picture = DOCS / "images" / f"weak_{one['kind']}.svg"
        assert picture.read_text(encoding="utf-8") == weak.picture_of(one)
        page = (DOCS / "champion_deals.md").read_text(encoding="utf-8")
        assert f"<!-- generated: weak deal {one['kind']} -->" in page


def test_what_the_pages_say_of_the_figures_is_so() -> None:
    # Change the words of docs/champion.md and docs/champion_deals.md where this fails.
    groups = {(g["situation"], g["label"]): g for g in RECORD["against"]["champion"]["situations"]}
    own, other = (RECORD["against"][name]["all"] for name in ("champion", "pimc"))

    def loss(situation: str, label: str, measure: str = "search") -> float:
        group = groups[situation, label]
        lost: float = group[measure]["margin"] / group["decisions"]
        return lost

    def share(situation: str, label: str) -> float:
        part: float = groups[situation, label]["search"]["margin"] / own["search"]["margin"]
        return part

    low, high = own["held"]["ci95"]
    assert 0 < low < own["search"]["margin"] < high
    low, high = other["held"]["ci95"]
    assert low < 0 < high < other["search"]["margin"]
    assert groups["trick", "4 to 6"]["share"] == pytest.approx(0.25, abs=0.02)
    assert share("trick", "4 to 6") == pytest.approx(0.4, abs=0.04)
    assert share("trick", "10 to 13") < 0.1
    assert groups["turn", "it leads"]["share"] == pytest.approx(0.5, abs=0.03)
    assert share("turn", "it leads") == pytest.approx(2 / 3, abs=0.03)
    assert groups["queen of spades", "it holds QS"]["share"] == pytest.approx(1 / 3, abs=0.03)
    assert share("queen of spades", "it holds QS") == pytest.approx(0.5, abs=0.03)
    own_moon = groups["moon within reach", "its own"]
    elsewhere = (own["alike"]["margin"] - own_moon["alike"]["margin"]) / (
        own["decisions"] - own_moon["decisions"]
    )
    assert loss("moon within reach", "its own", "alike") == pytest.approx(3 * elsewhere, rel=0.2)
    assert own_moon["search"]["ci95"][0] / own_moon["decisions"] < loss(
        "moon within reach", "nobody's"
    )
    low, high = groups["moon within reach", "the other's"]["search"]["ci95"]
    assert high > 5 * low  # too few to tell
    voids = [loss("the other's voids", label) for label in ("none is shown", "some are shown")]
    assert voids[0] > 2.5 * voids[1]
    sure = [loss("its chance for the card", f"{n} %") for n in ("0 to 49", "90 to 100")]
    assert sure[1] > 1.5 * sure[0]
    assert all(row["certain"] > 0.5 for row in RECORD["reading"] if row["trick"] >= 7)
    found = RECORD["endings"]["agents"].values()
    assert max(one["ci95"][0] for one in found) < min(one["ci95"][1] for one in found)
