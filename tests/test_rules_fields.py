"""The checks of rule fields, and copies, names and texts of rule sets."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import pydoc
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from hearts_env import Game, HeartsError, Rules, RulesError, kernel
from hearts_env.cards import ALL_CARDS
from hearts_env.rules.explain import meaning_of
from hearts_env.rules.presets import GAMES, PRESETS
from hearts_env.rules.rules import CHOICES, FIELD_DOCS, FIELDS, FLAGS, RANGES
from tests.lockstep import single_changes
from tests.refusals import argument_of, fix_of
from tests.slow import quick_given
from tests.strategies import rule_sets

CLUBS = tuple(card for card in ALL_CARDS if card[1] == "C")
CLASSIC = Rules()

# ---- bad values ----------------------------------------------------------------------------------

# (preset, changes, the parts of the message beside the field's name: the value and the fix).
# test_arguments.py has values of other types.
BAD: list[tuple[str, dict[str, Any], list[str]]] = [
    ("classic", {"players": True}, ["True", "2 to 7"]),
    ("classic", {"removed": ["2C", "2C"], "hand_size": 12}, ["2C", "once"]),
    ("classic", {"hand_size": 14}, ["14", "52", "at most 13"]),  # a deck too small for the hands
    ("classic", {"trump": "None"}, ["'None'", "None without quotes"]),
    # A deck without clubs.
    ("classic", {"removed": CLUBS, "hand_size": 9}, ["'lowest_club'", "eldest_hand"]),
    ("classic", {"card_points": {"QS": 10**7}}, ["QS", str(10**7), str(10**6)]),
    ("classic", {"card_points": [("QS", 13)]}, ["('QS', 13)", '{"QS": 13}']),
    ("classic", {"card_points": {}}, ["no card", '{"QS": 13}']),
    ("classic", {"card_points": {"QS": 13, "qs": 5}}, ["QS", "twice", "once"]),
    # The only card worth points is not in the deck.
    ("party", {"card_points": {"2D": 1}, "removed": ["2D"], "hand_size": 12}, ["no card"]),
    ("classic", {"kitty_to": "last_trick"}, ["'last_trick'", "'nobody'"]),  # without a kitty
    ("classic", {"pass_count": 14}, ["14", "at most 13"]),  # larger than a hand
    ("classic", {"pass_rotation": ("left", "up")}, ["'up'", "left, right, across, hold"]),
    ("classic", {"pass_rotation": ("left",) * 17}, ["1 to 16"]),
    # A settlement that bonus cards make undefined.
    *[
        ("omnibus", {"settlement": method}, [f"'{method}'", "JD", "-10", "'points'"])
        for method in ("simple", "sweepstakes", "howell")
    ],
    ("two_player", {"settlement": "sweepstakes"}, ["'sweepstakes'", "'simple'", "3 players"]),
    *[
        ("classic", {name: wrong}, [str(wrong), f"{low:,} to {high:,}"])
        for name, (low, high) in RANGES.items()
        for wrong in (low - 1, high + 1)
    ],
    *[
        ("classic", {name: wrong}, [repr(wrong), str(choices[-1])])
        for name, choices in CHOICES.items()
        for wrong in ("nonsense", False)
    ],
    *[("classic", {name: wrong}, [repr(wrong), "False"]) for name in FLAGS for wrong in ("no", 1)],
]


@pytest.mark.parametrize(("preset", "changes", "words"), BAD, ids=lambda value: str(value)[:50])
def test_bad_value_names_field_value_and_fix(
    preset: str, changes: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(RulesError) as caught:
        Rules.preset(preset).replace(**changes)
    message = str(caught.value)
    assert argument_of(caught.value).partition("[")[0] in {*changes, "first_lead"}
    assert fix_of(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message
    assert isinstance(caught.value, HeartsError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Rules.preset("clasic"), ["'clasic'", "'classic'"]),
        (lambda: Rules.preset("two_player", players=3), ["players", "two_player", "2", "3"]),
        (lambda: CLASSIC.replace(trumps="H"), ["'trumps'", "'trump'"]),
        (lambda: Rules.from_text(""), ["''", "two_player"]),
        (lambda: Rules.from_text("classic trump"), ["'trump'", "field=value"]),
        (lambda: Rules.from_text("classic trump=X"), ["trump", "'X'"]),
        (lambda: Rules.from_text("party players=5", players=6), ["players", "6", "5", "once"]),
        (lambda: Rules.from_text("party trump=H trump=S"), ["trump:", "'trump=S'", "once"]),
        (lambda: Rules.from_text(f"mini hand_size={'9' * 5000}"), ["hand_size", "999"]),
        (lambda: Rules(removed=["x" * 10**6]), ["removed", "'xxx"]),  # type: ignore[arg-type]
        (lambda: Rules.make(CLASSIC, players=5), ["players", "4", "5"]),
    ],
)
def test_unknown_rule_sets_are_refused(make: Any, words: list[str]) -> None:
    with pytest.raises(RulesError) as caught:
        make()
    assert argument_of(caught.value)
    assert fix_of(caught.value)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 600


def test_refused_change_leaves_rules_alone() -> None:
    rules = Rules.preset("classic")
    before = rules.to_dict()
    with pytest.raises(RulesError):
        rules.replace(trump="H", moon="never")
    assert rules.to_dict() == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.trump = "H"  # type: ignore[misc]
    with pytest.raises(TypeError):
        rules.card_points["QS"] = 1  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        rules.vector[kernel.R_TRUMP] = 1


# ---- valid values --------------------------------------------------------------------------------


def test_fields_document_values_and_default() -> None:
    assert tuple(FIELD_DOCS) == FIELDS
    shown = pydoc.render_doc(Rules, renderer=pydoc.plaintext)
    for name, text in FIELD_DOCS.items():
        assert text.splitlines()[0] in shown
        assert meaning_of(name)
        words = set(re.findall(r"[\w,-]*\w", text))
        default = getattr(Rules(), name)
        values = [*CHOICES.get(name, ())]
        values += [f"{n:,}" for n in RANGES.get(name, ())]
        values += [default] if isinstance(default, int | str | None) else []
        assert {str(value) for value in values} <= words, name


def test_values_of_other_types_mean_the_same() -> None:
    rules = CLASSIC.replace(
        players=np.int64(4),
        removed="qs 10h",  # any spelling of a card, in any order
        hand_size=np.int8(12),
        queen_any_time=np.bool_(True),
        pass_rotation=["left"],
        card_points={"ah": np.int32(1), "2H": 0},
    )
    assert rules.removed == ("QS", "TH")
    assert (rules.players, rules.hand_size) == (4, 12)
    assert rules.queen_any_time is True
    assert rules.pass_rotation == ("left",)
    assert rules.card_points == {"AH": 1}
    assert type(rules.players) is int
    assert rules == Rules.from_dict(rules.to_dict())


@quick_given(10, 60, rule_sets())
def test_rules_survive_every_round_trip(rules: Rules) -> None:
    twins = [
        Rules.from_dict(rules.to_dict()),
        Rules.from_text(rules.name),
        Rules.from_text(str(rules)),
        pickle.loads(pickle.dumps(rules)),
        copy.copy(rules),
        copy.deepcopy(rules),
        rules.replace(),
        Rules.make(rules),
        Rules.make(rules.name),
    ]
    for twin in twins:
        assert twin == rules
        assert hash(twin) == hash(rules)
        assert twin.name == rules.name
        np.testing.assert_array_equal(twin.vector, rules.vector)


@pytest.mark.parametrize(("name", "players"), GAMES)
def test_preset_is_named_by_its_name(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    assert rules.name.split()[0] == name or Rules.preset(rules.name.split()[0], players) == rules
    assert Rules.from_text(rules.name) == rules
    assert Rules.from_text(name, players) == rules
    assert (Rules.preset(name) == rules) == (players == PRESETS[name].usual)


def test_rule_texts_name_changed_fields() -> None:
    rules = Rules.preset("party", players=5).replace(trump="S", kitty_to="nobody")
    assert rules.name == 'party players=5 trump="S"'
    assert Rules.from_text("party players=5 trump=S") == rules
    assert Rules.from_text("party trump=S", players=5) == rules
    assert Rules.from_text("party players=5 trump=S", players=5) == rules
    assert Rules.from_text("two_player trump=null").trump is None


def test_rule_texts_accept_python_words() -> None:
    assert Rules.from_text("two_player trump=None break_on=None") == (
        Rules.preset("two_player").replace(trump=None, break_on=None)
    )
    rules = Rules.from_text("classic queen_any_time=True points_on_first_trick=False")
    assert (rules.queen_any_time, rules.points_on_first_trick) == (True, False)


# ---- immutability --------------------------------------------------------------------------------
def reachable(value: Any) -> Iterator[Any]:
    """Yield everything that attributes and items lead to, except classes and functions."""
    stack, seen = [value], set()
    while stack:
        one = stack.pop()
        if id(one) in seen or isinstance(one, str | int | float | bytes | None):
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, Mapping):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, tuple | list | set | frozenset):
            stack += one
        stack += vars(one).values() if hasattr(one, "__dict__") else []
        names = [n for cls in type(one).__mro__ for n in vars(cls).get("__slots__", ())]
        stack += [getattr(one, name) for name in names if hasattr(one, name)]
        if isinstance(one, np.ndarray):
            stack.append(one.base)


@pytest.mark.parametrize("name", PRESETS)
def test_rules_cannot_be_changed_through_a_view(name: str) -> None:
    view = Game.deal(name, 1).view(0)
    rules = view.rules
    made = (rules.deck, rules.index, rules.name, rules.vector, rules.max_margin, hash(rules))
    assert made
    found = list(reachable(rules))
    assert any(one is rules.vector for one in found)
    for one in found:
        assert not isinstance(one, dict | list | set | bytearray), one
        if isinstance(one, np.ndarray):
            with pytest.raises(ValueError, match="WRITEABLE"):
                one.setflags(write=True)


@pytest.mark.parametrize("name", PRESETS)
def test_is_same_deal_ignores_match_ends(name: str) -> None:
    rules = Rules.preset(name)
    for field, other in single_changes(rules):
        ends = field in ("end_score", "end_when", "tie", "max_deals", "target")
        assert rules.is_same_deal(other) is other.is_same_deal(rules) is ends


# ---- the largest margin --------------------------------------------------------------------------
JACK: dict[str, Any] = {
    "card_points": {"JD": -10, "QS": 13},
    "moon": "none",
    "no_trick_points": -20,
}
COURT: dict[str, Any] = {"players": 2, "removed": [c for c in ALL_CARDS if c[0] not in "JQKA"]}


@pytest.mark.parametrize(
    ("rules", "margin"),
    [
        # No moon: one takes all 13 hearts, or 23 points, and the others nothing.
        (Rules.preset("hoyle"), 13),
        (Rules.preset("black_lady"), 23),
        # A moon and the bonus of 10: 36 ahead.
        (Rules.preset("omnibus"), 36),
        # A moon of nothing: a revoke costs all 26 points.
        (CLASSIC.replace(moon_points=0), 26),
        # The taker of the queen has shot a moon of 7. A revoke costs 13.
        (CLASSIC.replace(card_points={"QS": 13}, moon_points=7), 13),
        # All penalty cards dead: the player without a trick is 30 ahead.
        (Rules(players=2, hand_size=1, no_trick_points=-30), 30),
        # One takes all tricks and the queen, the jack is dead, the others get 20 off.
        (Rules.preset("kitty").replace(**JACK, kitty_to="nobody"), 33),
        # The same when the first heart awards the kitty, unless all hearts can lie in it.
        (Rules(hand_size=4, **COURT, **JACK, kitty_to="first_heart"), 33),
        (Rules(hand_size=7, **COURT, **JACK, kitty_to="first_heart"), 23),
        # Where the first penalty card awards it, the jack is dead only together with the queen: 20
        # for no trick. Else one has both cards and the other no trick, 13 - 10 + 20; or each one.
        (Rules(hand_size=7, **COURT, **JACK, kitty_to="first_penalty"), 23),
    ],
)
def test_max_margin_equals_the_hand_count(rules: Rules, margin: float) -> None:
    assert rules.max_margin == pytest.approx(margin)


@quick_given(
    50,
    300,
    rule_sets(max_deck=24),
    st.sampled_from([0, -3, -40]),
    st.sampled_from([0, 2, 26]),
    st.integers(0, 2**40),
)
def test_no_margin_exceeds_max_margin(
    rules: Rules, no_trick: int, moon_points: int, seed: int
) -> None:
    """Seats take, duck or play at random, and some deals end with a revoke."""
    rules = rules.replace(no_trick_points=no_trick, moon_points=moon_points)
    rng = random.Random(seed)
    for number in range(12):
        game = Game.deal(rules, seed + number)
        styles = [rng.choice(["low", "high", "any"]) for _ in range(rules.players)]
        while game.current_player is not None:
            legal = game.legal_actions()
            picks = {"low": legal[0], "high": legal[-1], "any": rng.choice(legal)}
            if rng.random() < 0.1:
                revoked = game.clone()
                revoked.revoke()
                assert max(map(abs, revoked.margins())) <= rules.max_margin + 1e-9
            game.play(picks[styles[game.current_player]])
        assert max(map(abs, game.margins())) <= rules.max_margin + 1e-9
