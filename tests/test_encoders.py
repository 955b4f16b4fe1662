"""Encoders: observations can be read back, agree with the view, and omit nothing."""

from __future__ import annotations

import itertools
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from hearts_env import Game, HeartsError, PlayerView, Rules, register_encoder
from hearts_env import kernel as k
from hearts_env.cards import SUITS, mask_of
from hearts_env.encoders import (
    ENCODERS,
    Encoder,
    FlatEncoder,
    HistoryEncoder,
    RankedEncoder,
    RecallEncoder,
    TextEncoder,
    make_encoder,
)
from hearts_env.encoders.flat import write_one
from hearts_env.rules.presets import GAMES
from hearts_env.solve.tree import Tree
from hearts_env.support.bits import STACK_WORDS
from tests.lockstep import QUICK
from tests.refusals import raises_hearts_error
from tests.slow import quick_cases

ALL_RULES = [Rules.preset(*game) for game in GAMES]
FEW_RULES = [Rules.preset(*game) for game in QUICK]
VARIANTS = [
    Rules.preset("two_player").replace(queen_any_time=True),
    Rules.preset("two_player").replace(first_lead="any_club"),
    Rules.preset("micro").replace(kitty_to="last_trick", pass_count=1, pass_rotation=("left",)),
]


def positions(rules: Rules, deals: int, seed: int):
    """Yield the views of all players at every position of some random deals."""
    rng = random.Random(seed)
    for deal in range(deals):
        totals = [rng.randrange(rules.end_score) for _ in range(rules.players)]
        game = Game.deal(rules, deal + 1000 * seed, totals=totals)
        while True:
            yield from (game.view(p) for p in range(rules.players))
            if game.is_over:
                break
            game.play(rng.choice(game.legal_actions()))


def mask(view: PlayerView, cards: object) -> int:
    """Return the bit mask of card names."""
    return mask_of(view.rules.index[card] for card in cards)


def relative(view: PlayerView, seat: int | None) -> int:
    """Return the bit of a seat, counted from the observer."""
    return 0 if seat is None else 1 << (seat - view.player) % view.rules.players


def suits(text: str) -> int:
    return sum(1 << SUITS.index(s) for s in text)


def expected_blocks(view: PlayerView) -> dict[str, int]:
    """Return the facts that the blocks promise, from the fields of the view."""
    rules, n, me = view.rules, view.rules.players, view.player
    led = view.trick[0][1][1] if view.trick else ""
    facts = {
        "hand": mask(view, view.hand),
        "trick": mask(view, [card for _, card in view.trick]),
        "led_suit": suits(led),
        "winner": relative(view, view.winner),
        "leader": relative(view, view.leader),
        "first_leader": relative(view, view.history[0][0] if view.history else view.leader),
        "to_move": int(view.current_player == me),
        "broken": int(view.hearts_broken),
        "phase": 1 << ("pass", "play", "moon", "over").index(view.phase),
        "passed": mask(view, view.passed),
        "received": mask(view, view.received),
        "kitty": mask(view, view.kitty),
        "kitty_taker": relative(view, view.kitty_taker),
    }
    worth = [card for card in rules.deck if card in rules.card_points]
    scale = rules.end_score if rules.settlement == "points" else rules.stake * n
    for p in range(n):
        seat = (me + p) % n
        facts[f"played_{p}"] = mask(view, [card for q, card in view.history if q == seat])
        facts[f"voids_{p}"] = suits(view.voids[seat])
        facts[f"taken_{p}"] = sum(1 << worth.index(c) for c in view.taken(seat) if c in worth)
        facts[f"total_{p}"] = (1 << min(10 * view.totals[seat] // scale, 10)) - 1
    return facts


@quick_cases("rules", ALL_RULES + VARIANTS, FEW_RULES + VARIANTS, ids=lambda r: r.name)
def test_flat_decodes_to_the_view(rules: Rules) -> None:
    encoder = FlatEncoder()
    names = {block.name for block in encoder.blocks(rules)}
    hit = np.zeros(encoder.size(rules), bool)
    for view in positions(rules, 2, 1):
        observation = view.observe(encoder)
        assert encoder.space(rules).contains(observation)
        facts = encoder.decode(rules, observation)
        for name, value in expected_blocks(view).items():
            if name in names:
                assert facts[name] == value, (name, view.to_text())
        hit |= observation.astype(bool)
    assert hit.mean() > 0.5


class Hands(FlatEncoder):
    """A user's subclass of a built-in encoder, which gets views only."""

    def write(self, view: PlayerView, out: Any) -> None:
        assert not view.vector[k.every_seat(k.HANDS, 2)][1 - view.player]
        super().write(view, out)


@pytest.mark.parametrize(
    ("name", "preset"),
    [*itertools.product(ENCODERS, ("two_player", "classic")), (Hands(), "two_player")],
)
def test_a_game_is_observed_as_its_views_are(name: str | Encoder, preset: str) -> None:
    encoder, game = make_encoder(name), Game.deal(preset, 4)
    out = game.view(0).observe(encoder)
    while True:
        seats = range(game.rules.players)
        for player in seats:
            view = game.view(player).observe(encoder)
            out[...] = 9
            assert game.observe(out, player=player, observation=name) is out
            assert np.array_equal(out, view)
        to_act = game.observe(observation=name)
        assert np.array_equal(to_act, game.view(game.current_player or 0).observe(encoder))
        if game.current_player is None:
            break
        game.play(game.legal_actions()[-1])


class Kept:
    """Keeps the views that it is given."""

    def __init__(self) -> None:
        self.views: list[PlayerView] = []

    def space(self, rules: Rules) -> spaces.Box:
        return spaces.Box(0, 9, (2,), np.float32)

    def write(self, view: PlayerView, out: Any) -> None:
        self.views.append(view)
        out[:] = 7


def test_a_view_is_observed_by_name_or_encoder() -> None:
    view, kept = Game.deal("two_player", 1).view(1), Kept()
    assert np.array_equal(view.observe(), view.observe(FlatEncoder()))
    assert view.observe("text").dtype == np.uint8
    assert view.observe(kept).tolist() == [7, 7]
    assert kept.views == [view]
    with raises_hearts_error(HeartsError, "observation", "flatt", hint="flat"):
        view.observe("flatt")


def test_a_view_is_observed_in_a_new_process() -> None:
    data = pickle.dumps(Game.deal("two_player", 1).view(1))
    code = f"import pickle; print(pickle.loads({data!r}).observe().sum())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(shown.stdout) == Game.deal("two_player", 1).observe(player=1).sum()


@pytest.mark.parametrize("name", ENCODERS)
def test_array_unfit_for_an_observation_is_refused(name: str, tmp_path: Path) -> None:
    """Compiled code would write out of bounds."""
    if name == "flat" and not hasattr(write_one, "compile"):
        pytest.skip("only compiled code distinguishes these arrays")
    encoder, view = ENCODERS[name], Game.deal("two_player", 1).view(0)
    kind = view.observe(encoder)
    read_only = kind.copy()
    read_only.setflags(write=False)
    other = np.int8 if kind.dtype == np.float32 else np.float32
    wrong = [kind[:3], np.zeros((*kind.shape, 2), kind.dtype), kind.astype(other), read_only]
    for out in (*wrong, kind.tolist()):
        before = np.array(out, copy=True)
        with raises_hearts_error(HeartsError, "out"):
            encoder.write(view, out)
        assert np.array_equal(out, before)
    in_a_file = np.memmap(tmp_path / "rows", kind.dtype, "w+", shape=(3, *kind.shape))
    encoder.write(view, in_a_file[1])
    assert np.array_equal(in_a_file, [kind * 0, kind, kind * 0])
    wide = np.full((*kind.shape, 2), 7, kind.dtype)
    encoder.write(view, wide[..., 0])
    assert np.array_equal(wide[..., 0], kind)
    assert (wide[..., 1] == 7).all()  # nothing beside it is touched


def test_flat_shows_what_the_first_lead_proves() -> None:
    """Seat 1 leads 6C, so 2C and 4C are dead, and seat 0 knows that seat 1 cannot hold them."""
    rules = Rules.preset("two_player")
    game = Game(
        rules,
        [
            ["8C", "TC", "2D", "4D", "6D", "8D", "TD", "2S", "4S", "6S", "8S", "TS", "QS"],
            ["6C", "QC", "AC", "QD", "AD", "AS", "2H", "4H", "6H", "8H", "TH", "QH", "AH"],
        ],
        ["2C", "4C"],
    )
    game.play("6C")
    encoder = FlatEncoder()
    facts = encoder.decode(rules, game.view(0).observe(encoder))
    assert facts["may_hold_1"] == mask(
        game.view(0), ["QC", "AC", "QD", "AD", "AS", "2H", "4H", "6H", "8H", "TH", "QH", "AH"]
    )


@pytest.mark.parametrize(("deal_number", "away"), [(0, 1), (1, 3), (2, 2)])
def test_passed_cards_only_their_receiver_may_hold(deal_number: int, away: int) -> None:
    """Cards passed left, right or across are in no other hand until their receiver plays them."""
    game = Game.deal("classic", seed=8, deal_number=deal_number)
    passed = {}
    for seat in range(4):
        for card in game.hand(seat)[3:6]:
            game.play(card)
        passed[seat] = game.passed(seat)
    encoder = FlatEncoder()
    for _ in range(8):
        for seat in range(4):
            view = game.view(seat)
            facts = encoder.decode(view.rules, view.observe(encoder))
            still = set(passed[seat]) - {card for _, card in game.history}
            for place in (1, 2, 3):
                held = facts[f"may_hold_{place}"]
                seen = {card for card in passed[seat] if held & mask(view, [card])}
                assert seen == (still if place == away else set())
        game.play(game.legal_actions()[0])


@pytest.mark.slow
def test_flat_places_are_all_used() -> None:
    """Enough play with totals sets every place of a two-player observation.

    The exceptions are phases "pass" and "moon", which these rules lack, and the total steps that a
    match's end cuts off (a total at the end score).
    """
    rules = Rules.preset("two_player")
    encoder = FlatEncoder()
    hit = np.zeros(encoder.size(rules), bool)
    for view in positions(rules, 300, 3):
        hit |= view.observe(encoder).astype(bool)
    start = {}
    place = 0
    for block in encoder.blocks(rules):
        start[block.name] = place
        place += block.size
    never = {start["phase"], start["phase"] + 2, start["total_0"] + 9, start["total_1"] + 9}
    assert set(np.flatnonzero(~hit).tolist()) == never


@quick_cases("rules", ALL_RULES + VARIANTS, FEW_RULES + VARIANTS, ids=lambda r: r.name)
def test_ranked_adds_order_of_outstanding_cards_to_flat(rules: Rules) -> None:
    """The expected order is computed from the card names that ``flat`` shows."""
    encoder = RankedEncoder()
    size = FlatEncoder().size(rules)
    for view in positions(rules, 1, 8):
        observation = view.observe(encoder)
        assert encoder.space(rules).contains(observation)
        assert np.array_equal(observation[:size], view.observe(FlatEncoder()))
        facts = encoder.decode(rules, observation)

        def cards(*names: str, facts: dict[str, int] = facts) -> set[str]:
            masks = [facts[name] for name in names]
            return {c for i, c in enumerate(rules.deck) if any(m >> i & 1 for m in masks)}

        others = cards(*(f"may_hold_{p}" for p in range(1, rules.players)))
        shown = {"hand": cards("hand"), "others": others, "trick": cards("trick")}
        for name, held in shown.items():
            expected = set()
            for suit in "CDSH":
                places = [i for i, card in enumerate(rules.deck) if card[1] == suit]
                out = [rules.deck[i] for i in places]
                out = [card for card in out if any(card in some for some in shown.values())]
                expected |= {places[j] for j, card in enumerate(out) if card in held}
                if name != "trick":
                    number = sum(card[1] == suit for card in held)
                    assert facts[f"{name}_number_{suit}"] == 1 << number
            assert facts[f"{name}_ranked"] == sum(1 << place for place in expected)


@quick_cases("rules", ALL_RULES + VARIANTS, FEW_RULES + VARIANTS, ids=lambda r: r.name)
def test_recall_adds_ordered_past_to_ranked(rules: Rules) -> None:
    encoder, ranked = RecallEncoder(), RankedEncoder()
    size, n, num_cards = ranked.size(rules), rules.players, len(rules.deck)
    for view in positions(rules, 1, 8):
        observation = view.observe(encoder)
        assert encoder.space(rules).contains(observation)
        assert np.array_equal(observation[:size], view.observe(ranked))
        facts = encoder.decode(rules, observation)
        leaders, tricks = 0, [0] * n
        for place, (seat, card) in enumerate(view.history):
            trick, away = place // n, (seat - view.player) % n
            leaders |= (place % n == 0) << (trick * n + away)
            tricks[away] |= 1 << (trick * num_cards + rules.index[card])
        assert facts["leaders"] == leaders
        assert [facts[f"tricks_{p}"] for p in range(n)] == tricks


@pytest.mark.slow
def test_only_recall_separates_all_information_sets() -> None:
    tree = Tree("mini")
    for player, side in enumerate(tree.sides):
        for name, share in (("recall", 1.0), ("ranked", 0.53), ("flat", 0.53)):
            encoder = make_encoder(name)
            seen = set()
            for _, views in tree.blocks(player):
                rows = views.observe(encoder)
                seen |= {row.tobytes() for row in np.packbits(rows, axis=1)}
            assert len(seen) / side.num_infosets == pytest.approx(share, abs=0.01), name


@quick_cases("rules", ALL_RULES[::3] + VARIANTS, [ALL_RULES[0], *VARIANTS], ids=lambda r: r.name)
def test_history_decodes_to_the_play_in_order(rules: Rules) -> None:
    encoder = HistoryEncoder()
    for view in positions(rules, 1, 4):
        observation = view.observe(encoder)
        assert encoder.space(rules).contains(observation)
        rows = encoder.decode(rules, observation)
        lead = len(encoder.rows(rules))
        assert rows[0]["cards"] == mask(view, view.hand)
        played = [(row["seat"], row["cards"], row["lead"]) for row in rows[lead:]]
        assert played == [
            (relative(view, seat), mask(view, [card]), int(t % rules.players == 0))
            for t, (seat, card) in enumerate(view.history)
        ]


@quick_cases("rules", ALL_RULES + VARIANTS, FEW_RULES + VARIANTS, ids=lambda r: r.name)
def test_text_decodes_to_the_view_text(rules: Rules) -> None:
    encoder = TextEncoder()
    for view in positions(rules, 1, 7):
        observation = view.observe(encoder)
        assert encoder.space(rules).contains(observation)
        assert encoder.decode(observation) == view.to_text()


def test_text_has_room_for_the_longest_view() -> None:
    """The text fits even with all voids, all exchanged cards and long totals."""
    for rules in ALL_RULES:
        longest = max(
            len(view.to_text()) for view in positions(rules, 1, 8) if view.phase == "over"
        )
        voids = 60 * rules.players
        assert longest + voids + 10 * rules.players <= TextEncoder().length(rules)


def test_unknown_names_and_wrong_objects_are_refused() -> None:
    with raises_hearts_error(HeartsError, "observation", hint="history"):
        make_encoder("histori")
    with raises_hearts_error(HeartsError, "observation"):
        make_encoder(3)
    with raises_hearts_error(HeartsError, "encoder"):
        register_encoder("mine", object())
    for name in (1, ["mine"]):
        with raises_hearts_error(HeartsError, "name", hint="a name"):
            register_encoder(name, FlatEncoder())


def test_a_users_encoder_can_be_registered() -> None:
    class Mine(FlatEncoder):
        name = "mine"

        def __init__(self, mark: int = 0) -> None:
            self.mark = mark

        def write(self, view: PlayerView, out: Any) -> None:
            out[:] = self.mark

    mine = Mine()
    game = Game.deal("two_player", 1)
    register_encoder("mine", mine)
    try:
        assert make_encoder("mine") is mine
        assert not game.observe(observation="mine").any()
        again = Mine(1)  # a cell of a notebook, run once more
        register_encoder("mine", again)
        assert make_encoder("mine") is again
        assert game.observe(observation="mine").all()
        with raises_hearts_error(HeartsError, "name"):
            register_encoder("flat", mine)
    finally:
        del ENCODERS["mine"]


def test_the_widest_observation_fits_its_buffer() -> None:
    widest = {
        "pass_count": 3,
        "pass_rotation": ("left",),
        "kitty_to": "first_trick",
        "queen_any_time": True,
        "break_on": "void",
    }
    for players in range(2, 8):
        rules = Rules(players=players, hand_size=52 // players - (players in (2, 4)), **widest)
        assert RankedEncoder().size(rules) <= 64 * STACK_WORDS
