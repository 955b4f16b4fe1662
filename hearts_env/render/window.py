"""A window that shows frames, made with pygame."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hearts_env.render.extras import require


class Window:
    """A window on the screen; it opens with the first frame.

    Once the user has closed it, it stays closed: later frames are ignored, so that a running
    game is not disturbed. pygame knows one window per process; the newest `Window` has it.
    """

    _owner: Window | None = None

    def __init__(self, caption: str = "Hearts", fps: float | None = None) -> None:
        """Makes a window that is not open yet.

        Args:
            caption: The text in the window's title bar.
            fps: the most frames shown in a second: `show` waits for it; None: it never waits.
        """
        self._caption = caption
        self._fps = fps
        self._size: tuple[int, int] | None = None
        self._clock: Any = None
        self._was_quit = False

    @property
    def is_open(self) -> bool:
        """Whether the window is on the screen."""
        return Window._owner is self

    @property
    def was_quit(self) -> bool:
        """Whether the user has closed the window."""
        return self._was_quit

    def show(self, frame: npt.NDArray[np.uint8]) -> None:
        """Shows a frame, (height, width, 3) uint8 RGB, and answers the window's events.

        Raises:
            ImportError: pygame is not installed.
            ValueError: The frame has another shape or type.
        """
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise ValueError(
                f"frame: expected (height, width, 3) uint8, got {frame.shape} {frame.dtype}"
            )
        if self._was_quit:
            return
        pygame = require("pygame", "pygame", "Showing the table in a window")
        size = (frame.shape[1], frame.shape[0])
        if not self.is_open or size != self._size:
            self._open(pygame, size)
        self._answer_events(pygame)
        if not self.is_open:
            return
        surface = pygame.image.frombuffer(np.ascontiguousarray(frame).tobytes(), size, "RGB")
        pygame.display.get_surface().blit(surface, (0, 0))
        pygame.display.flip()
        if self._fps is not None:
            self._clock.tick(self._fps)

    def close(self) -> None:
        """Closes the window; one that is not open is left as it is."""
        if not self.is_open:
            return
        Window._owner = None
        self._size = None
        require("pygame", "pygame", "Closing the window").display.quit()

    def _open(self, pygame: Any, size: tuple[int, int]) -> None:
        pygame.display.init()
        pygame.display.set_mode(size)
        pygame.display.set_caption(self._caption)
        self._clock = pygame.time.Clock()
        self._size = size
        Window._owner = self

    def _answer_events(self, pygame: Any) -> None:
        """Empties the event queue, and closes the window where the user asked for it."""
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self._was_quit = True
        if self._was_quit:
            self.close()
