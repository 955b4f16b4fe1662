"""The drawing of the table, for all environments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hearts_env.rules.rules import Rules
from hearts_env.support.arguments import check_choice, check_range
from hearts_env.support.errors import HeartsError, quoted

if TYPE_CHECKING:
    from hearts_env.game.game import Game

RENDER_MODES = ("ansi", "rgb_array", "human", "svg")
SCALES = (0.25, 4.0)
"""The smallest and largest ``render_scale``. 1 is 960 x 720 pixels."""

FPS = 2
_WIDTH = 960


class Drawer:
    """Draws the table of one environment and owns its window.

    Attributes:
        mode: one of ``RENDER_MODES``, or None. It may be changed.
        shown_for: the player who sees the table: a name like ``player_0``, ``current_player`` or
            ``all``. It may be changed.
        names: the players' names in pictures.
    """

    def __init__(
        self,
        rules: Rules,
        mode: str | None,
        shown_for: str,
        scale: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        """Check the arguments. Nothing is drawn yet.

        Args:
            rules: the rules.
            mode: one of ``RENDER_MODES``. If None, nothing is drawn.
            shown_for: the player who sees the table: a name like ``player_0``, ``current_player``
                or ``all``.
            scale: the size of pictures relative to 960 x 720 pixels, 0.25 to 4.
            names: the players' names in pictures. If None, ``player_0`` and so on.

        Raises:
            HeartsError: if an argument is unknown or out of range. The message names it.
        """
        if mode is not None:
            check_choice("render_mode", mode, RENDER_MODES)
        self.mode = mode
        self._seats = {f"player_{seat}": seat for seat in range(rules.players)}
        self.shown_for = check_choice(
            "render_for", shown_for, ("current_player", "all", *self._seats)
        )
        hint = ", 1 for 960 x 720"
        self._width = round(_WIDTH * check_range("render_scale", scale, *SCALES, hint))
        self.names = [*self._seats] if names is None else _check_names(names, rules)
        self._window: Any = None

    def draw(
        self,
        game: Game,
        *,
        totals: Sequence[int | Fraction] | None = None,
        offender: int | None = None,
        is_over: bool = False,
    ) -> str | NDArray[np.uint8] | None:
        """Draw the table as ``shown_for`` may see it.

        Args:
            game: the game to draw.
            totals: each seat's points or chips before this deal. If None, the totals of the game.
            offender: the seat that ended the game by an illegal action, or None.
            is_over: if True, play has been stopped.

        Returns:
            Text (``ansi``), an SVG document (``svg``), an array ``(height, width, 3) uint8``
            (``rgb_array``), or None: ``human`` updates a window, and no mode draws nothing.
        """
        if self.mode is None:
            gymnasium.logger.warn(
                "You are calling render method without specifying any render mode."
            )
            return None
        from hearts_env import render
        from hearts_env.views.picture import picture_of

        shown: int | str = self._seats.get(self.shown_for, self.shown_for)
        message = ""
        if offender is not None:
            message = f"{self.names[offender]} has ended the game by an illegal action"
        picture = picture_of(
            game, shown, names=self.names, totals=totals, message=message, is_over=is_over
        )
        if self.mode == "ansi":
            return render.render_ansi(picture)
        if self.mode == "svg":
            return render.render_svg(picture, self._width)
        frame = render.render_rgb(picture, self._width)
        if self.mode == "rgb_array":
            return frame
        if self._window is None:
            self._window = render.Window("Hearts", fps=FPS)
        self._window.show(frame)
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None}  # a copy opens its own


def _check_names(names: object, rules: Rules) -> list[str]:
    known = list(names) if isinstance(names, Sequence) and not isinstance(names, str) else []
    if len(known) != rules.players or not all(isinstance(name, str) and name for name in known):
        raise HeartsError(
            f"render_names: {quoted(names)} does not name {rules.players} players; give one name "
            "per player, from player_0 on"
        )
    return known
