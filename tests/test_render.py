"""Pictures of games: the cards that each viewer sees, in every mode and game."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pettingzoo.test import render_test

from hearts_env import Game, Rules, hearts_v0
from hearts_env.envs import drawing
from hearts_env.rules.presets import GAMES
from hearts_env.views.picture import picture_of
from tests.lockstep import QUICK, SAMPLE
from tests.slow import quick_cases
from tests.strategies import positions

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def no_screen_and_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(drawing, "FPS", 10_000)


def cards_in_svg(svg: str) -> set[str]:
    """Return every card that a document draws or lists."""
    root = ElementTree.fromstring(svg)
    return {g.attrib["data-card"] for g in root.iter(f"{SVG}g") if "data-card" in g.attrib}


# ---- pictures ------------------------------------------------------------------------------------
@quick_cases("game", GAMES, QUICK, ids=lambda g: f"{g[0]}-{g[1]}")
def test_picture_of_a_seat_equals_its_view(game: tuple[str, int]) -> None:
    rules = Rules.preset(*game)
    for g in positions(rules, 1):
        for seat in range(rules.players):
            picture, view = picture_of(g, seat), g.view(seat)
            assert picture_of(view, seat) == picture
            assert picture.viewer == seat
            assert picture.phase == g.phase
            assert picture.current_player == g.current_player
            assert picture.trick == view.trick
            assert picture.trump == rules.trump
            assert picture.hearts_broken == view.hearts_broken
            legal = [rules.deck[a] for a in view.legal_actions() if a < len(rules.deck)]
            assert list(picture.legal) == legal
            if g.is_over:  # all cards have been seen
                assert {*picture.kitty, *(card for _, card in g.history)} == {*rules.deck}
            elif g.kitty_taker is not None:
                assert picture.kitty == view.kitty
            else:
                assert picture.kitty == rules.kitty_size
            for other, shown in enumerate(picture.seats):
                mine = other == seat
                assert shown.hand == (view.hand if mine else len(g.hand(other)))
                assert shown.passed == (view.passed if mine else ())
                assert shown.received == (view.received if mine else ())
                assert shown.points == view.points[other]
                assert "".join(shown.voids) == view.voids[other]
                assert shown.name == f"player_{other}"


@quick_cases("game", GAMES, QUICK, ids=lambda g: f"{g[0]}-{g[1]}")
def test_all_shows_everything_and_onlookers_see_no_hands(game: tuple[str, int]) -> None:
    rules = Rules.preset(*game)
    for g in positions(rules, 2):
        everything = picture_of(g, "all")
        assert everything.viewer is None
        assert [seat.hand for seat in everything.seats] == [g.hand(p) for p in range(game[1])]
        assert everything.kitty == g.kitty
        shown = [rules.deck[a] for a in g.legal_actions() if a < len(rules.deck)]
        assert list(everything.legal) == shown
        if g.current_player is not None:
            assert picture_of(g, "current_player") == picture_of(g, g.current_player)
        else:
            onlooker = picture_of(g, "current_player")
            assert onlooker.viewer is None
            assert all(isinstance(seat.hand, int) for seat in onlooker.seats)


def test_picture_shows_last_trick_and_its_taker() -> None:
    """4C takes 2C and 3C, and seat 1 takes the trick before the end of the deal as well."""
    game = Game("micro", [["QC", "QD", "AS"], ["AC", "QS", "AH"]], ["AD", "QH"])
    assert picture_of(game, 0).last_trick == ()
    for card, trick, taker in [
        ("QC", (), None),
        ("AC", ((0, "QC"), (1, "AC")), 1),
        ("QS", ((0, "QC"), (1, "AC")), 1),
        ("AS", ((1, "QS"), (0, "AS")), 0),
        ("QD", ((1, "QS"), (0, "AS")), 0),
        ("AH", ((0, "QD"), (1, "AH")), 1),
    ]:
        game.play(card)
        picture = picture_of(game, 0)
        assert (picture.last_trick, picture.last_taker) == (trick, taker)
    assert picture.seats[0].taken == ("QS",)
    assert picture.message == "player_1 wins\nplayer_0 13 points, player_1 1 point"
    assert picture.winners == (1,)
    assert [seat.played for seat in picture.seats] == [("QC", "QD", "AS"), ("AC", "QS", "AH")]
    assert picture.kitty == ("AD", "QH")


def test_picture_names_giver_and_receiver_of_cards() -> None:
    """Seat 2 of four passes left to seat 3, across to seat 0. An onlooker sees the direction."""
    game = Game.deal("classic", 1, deal_number=0)
    assert picture_of(game, 2).message == "player_2 passes 3 cards left, to player_3"
    across = Game.deal("classic", 1, deal_number=2)
    named = picture_of(across, 2, names=["Ann", "Bob", "Cy", "Di"])
    assert named.message == "Cy passes 3 cards across, to Ann"
    assert picture_of(across, "all").message == "each player passes 3 cards across"
    assert picture_of(Game.deal("classic", 1, deal_number=3), 2).message == ""  # hold


def test_revoke_leaves_the_hands_closed() -> None:
    game = Game("micro", [["QC", "QD", "AS"], ["AC", "QS", "AH"]], ["AD", "QH"])
    game.play("QC")
    game.revoke()
    picture = picture_of(game)
    assert (picture.winners, picture.kitty) == ((0,), 2)
    assert [seat.played for seat in picture.seats] == [("QC",), ()]


def test_revoke_scores_show_only_with_known_kitty() -> None:
    """QH is dead: 14 of the 15 points in the deck are charged, and no seat can know that."""
    hands = [["QC", "QD", "AS"], ["AC", "QS", "AH"]]
    game = Game("micro", hands, ["AD", "QH"])
    game.revoke()
    for viewer in (0, 1):
        for seen in (game, game.view(viewer)):
            lines = picture_of(seen, viewer).message.splitlines()
            assert lines == ["player_0 pays for an illegal action", "player_1 wins"]
    assert picture_of(game, "all").message.endswith("player_0 14 points, player_1 0 points")
    awarded = Game(Rules.preset("micro").replace(kitty_to="last_trick"), hands, ["AD", "QH"])
    awarded.revoke()  # all 15 are in play
    assert picture_of(awarded, 1).message.endswith("player_0 15 points, player_1 0 points")


# ---- the environment's modes ---------------------------------------------------------------------
@quick_cases("game", SAMPLE, SAMPLE[:1], ids=lambda g: f"{g[0]}-{g[1]}")
def test_env_passes_pettingzoo_render_test(game: tuple[str, int]) -> None:
    """PettingZoo's tests pass in all modes. The last mode must draw SVG."""
    episode = ("deal", "match")[SAMPLE.index(game) % 2]

    def make(**kwargs: Any) -> Any:
        return hearts_v0.env(*game, episode=episode, **kwargs)

    render_test(make, {"svg": lambda drawn: ElementTree.fromstring(drawn).tag == f"{SVG}svg"})


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 2])
def test_pictures_take_any_size_and_names(scale: float) -> None:
    options: dict[str, Any] = {"render_scale": scale, "render_names": ["Ann", "Bob <b>"]}
    env: Any = hearts_v0.env(render_mode="rgb_array", **options)
    env.reset(seed=1)
    assert env.render().shape == (720 * scale, 960 * scale, 3)
    drawn: Any = hearts_v0.env(render_mode="svg", **options)
    drawn.reset(seed=1)
    root = ElementTree.fromstring(drawn.render())
    assert (float(root.attrib["width"]), float(root.attrib["height"])) == (960 * scale, 720 * scale)
    assert {"Ann", "Bob <b>"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_picture_reports_an_illegal_end() -> None:
    env = hearts_v0.env(rules="classic", render_mode="ansi", render_for="all")
    env.reset(seed=1)
    mask = env.last()[0]["action_mask"]
    offender = env.agent_selection
    env.step(int(np.flatnonzero(mask == 0)[0]))
    text = env.render()
    assert f"{offender} has ended the game by an illegal action" in text
    assert "to move" not in text
    assert "legal:" not in text


def test_human_mode_shows_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("hearts_env.render.Window.show", lambda _, frame: shown.append(frame))
    env = hearts_v0.env(rules="micro", render_mode="human")
    env.reset(seed=1)
    for n in range(1, 7):
        assert len(shown) == n
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
    assert len(shown) == 7
    env.close()


def test_copied_environment_opens_its_own_window() -> None:
    env: Any = hearts_v0.raw_env(render_mode="human")
    env.reset(seed=1)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        twin.step(twin.game.legal_actions()[0])
        assert twin.drawer._window is not env.drawer._window is not None
        twin.close()
    env.close()


def test_closed_window_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from hearts_env import render

    windows: list[Any] = []

    class Window:
        def __init__(self, title: str, fps: int) -> None:
            self.is_open, self.frames = True, 0
            windows.append(self)

        def show(self, frame: object) -> None:
            assert self.is_open
            self.frames += 1

        def close(self) -> None:
            self.is_open = False

    monkeypatch.setattr(render, "Window", Window)
    env = hearts_v0.raw_env("micro", render_mode="human")
    env.reset(seed=1)
    env.close()
    env.close()
    env.render()
    assert [(window.is_open, window.frames) for window in windows] == [(False, 1), (True, 1)]
