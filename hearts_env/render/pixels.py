"""The table as pixels: an array drawn with Pillow, and a window of frames with pygame.

Each card, text and plate is an image of its own. It is drawn several times too large and averaged
down, which smooths all edges alike. These images and the empty table are cached. Both libraries
belong to the extra `render` and are imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from hearts_env.render.layout import HEIGHT_OF_TABLE, WIDTH, background, table_items
from hearts_env.render.scene import TablePicture
from hearts_env.render.shapes import (
    Contour,
    Group,
    Item,
    Path,
    Rect,
    Text,
    rect_contour,
    text_width,
)
from hearts_env.support.errors import library

if TYPE_CHECKING:
    from PIL import Image, ImageFont

_OVERSAMPLING = 3
_CURVE_STEPS = 8
_KNOWN = frozenset("…·")
"""Characters beyond ASCII that Pillow's built-in font can draw."""
_CARDS = ("card", "back", "chip")
"""Kinds of groups that are one image each."""


def render_rgb(picture: TablePicture, width: int = 960) -> npt.NDArray[np.uint8]:
    """Return the table as (height, width, 3) uint8 RGB. The height is 3/4 of the width.

    Cards move by at most a sixth of a pixel, so few images of each are needed.

    Raises:
        HeartsError: if Pillow is not installed.
    """
    frame, scale = _empty_table(width).copy(), width / WIDTH
    for item in _pieces(table_items(picture)):
        left = top = 0
        if isinstance(item, Group):
            # In whole steps of the oversampled image: a card needs one image for each remainder.
            left, right_by = divmod(round(item.x * scale * _OVERSAMPLING), _OVERSAMPLING)
            top, down_by = divmod(round(item.y * scale * _OVERSAMPLING), _OVERSAMPLING)
            unit = scale * _OVERSAMPLING
            item = item.at(right_by / unit, down_by / unit)
        image, x, y = _image_of(item, scale)
        frame.paste(image, (left + x, top + y), image)
    return np.array(frame, dtype=np.uint8)


def _pieces(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items that are one image each, from back to front."""
    for item in items:
        if isinstance(item, Group) and item.kind not in _CARDS:
            yield from _pieces(item.items)
        else:
            yield item


@lru_cache(maxsize=4)
def _empty_table(width: int) -> Image.Image:
    """Return the table without cards and players. Copy it before drawing."""
    size = (width * _OVERSAMPLING, round(width * HEIGHT_OF_TABLE / WIDTH) * _OVERSAMPLING)
    canvas = _Canvas(_pillow("Image").new("RGB", size), width * _OVERSAMPLING / WIDTH)
    canvas.draw(background())
    return canvas.image.reduce(_OVERSAMPLING)


@lru_cache(maxsize=1024)
def _image_of(item: Item, scale: float) -> tuple[Image.Image, int, int]:
    """Return the RGBA image of an item, at `scale` pixels per unit, and its upper left corner.

    It is drawn on black and on white. Where the two differ, the background shows through.
    """
    xs, ys = zip(*_reach(item), strict=True)
    x, y = math.floor(min(xs) * scale), math.floor(min(ys) * scale)
    right, bottom = math.ceil(max(xs) * scale) + 1, math.ceil(max(ys) * scale) + 1
    size = ((right - x) * _OVERSAMPLING, (bottom - y) * _OVERSAMPLING)
    image_module = _pillow("Image")
    drawn = []
    for ground in ("black", "white"):
        canvas = _Canvas(
            image_module.new("RGB", size, ground),
            scale * _OVERSAMPLING,
            (x * _OVERSAMPLING, y * _OVERSAMPLING),
        )
        canvas.draw([item])
        drawn.append(np.asarray(canvas.image.reduce(_OVERSAMPLING), np.int32))
    black, white = drawn
    alpha = 255 - (white - black).max(axis=-1, keepdims=True)
    colour = np.minimum((black * 255 + alpha // 2) // np.maximum(alpha, 1), 255)
    pixels = np.concatenate([colour, alpha], axis=-1).astype(np.uint8)
    image = image_module.fromarray(pixels, "RGBA")
    box = image.getbbox() or (0, 0, 1, 1)  # without the empty margin
    return image.crop(box), x + box[0], y + box[1]


def _reach(item: Item) -> list[tuple[float, float]]:
    """Return points that enclose an item. Too far apart does no harm, too near would cut it."""
    if isinstance(item, Group):
        return [(x + item.x, y + item.y) for part in item.items for x, y in _reach(part)]
    if isinstance(item, Rect):
        by = 1 + item.stroke_width
        return [(item.x - by, item.y - by), (item.x + item.w + by, item.y + item.h + by)]
    if isinstance(item, Path):  # a curve stays within its control points
        steps = [step for contour in item.contours for step in contour]
        return [(step[i], step[i + 1]) for step in steps for i in range(0, len(step), 2)]
    width, height = text_width(item.text, item.size, bold=item.bold) + item.size, 1.3 * item.size
    return [(item.x - width, item.y - height), (item.x + width, item.y + height)]


class _Canvas:
    """An image to draw shapes on, at `scale` pixels per unit.

    Its upper left corner lies at `corner`, in pixels.
    """

    def __init__(
        self, image: Image.Image, scale: float, corner: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.image = image
        self._scale = scale
        self._corner = corner
        self._draw = _pillow("ImageDraw").Draw(image)
        self._blend = _pillow("ImageDraw").Draw(image, "RGBA")  # several times slower

    def draw(self, items: Iterable[Item]) -> None:
        """Draw the items in place, from back to front."""
        for item in items:
            if isinstance(item, Group):
                x, y = self._corner
                moved = (x - item.x * self._scale, y - item.y * self._scale)
                _Canvas(self.image, self._scale, moved).draw(item.items)
            elif isinstance(item, Rect):
                self._rect(item)
            elif isinstance(item, Path):
                for contour in item.contours:
                    self._polygon(_flattened(contour), item.fill, item.opacity)
            else:
                self._text(item)

    def _place(self, x: float, y: float) -> tuple[float, float]:
        """Return a point's position in the image."""
        return x * self._scale - self._corner[0], y * self._scale - self._corner[1]

    def _polygon(self, points: list[tuple[float, float]], fill: str, opacity: float = 1.0) -> None:
        placed = [self._place(x, y) for x, y in points]
        if opacity == 1.0:
            self._draw.polygon(placed, fill=_rgb(fill))
        else:
            self._blend.polygon(placed, fill=(*_rgb(fill), round(255 * opacity)))

    def _rect(self, rect: Rect) -> None:
        if rect.fill is not None:
            self._polygon(_outset(rect, 0.0), rect.fill, rect.opacity)
        if rect.stroke is not None:
            # One polygon: around the outer edge, across, and back along the inner edge.
            outer = _outset(rect, rect.stroke_width / 2)
            inner = _outset(rect, -rect.stroke_width / 2)
            ring = [*outer, outer[0], inner[0], *reversed(inner)]
            self._polygon(ring, rect.stroke)

    def _text(self, text: Text) -> None:
        string = _drawable(text.text)
        font = _font(round(text.size * self._scale, 2))
        weight = round(text.size * self._scale * 0.02) if text.bold else 0
        x, y = self._place(text.x, text.y)
        if not text.upside_down:
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[text.anchor]
            self._blend.text(
                (x, y), string, fill=_rgb(text.fill), font=font, anchor=anchor, stroke_width=weight
            )
            return
        # Only single ranks are turned around, so a square of four times the size holds them.
        half = round(2 * text.size * self._scale)
        mask = _pillow("Image").new("L", (2 * half, 2 * half))
        _pillow("ImageDraw").Draw(mask).text(
            (half, half), string, fill=255, font=font, anchor="ms", stroke_width=weight
        )
        mask = mask.transpose(_pillow("Image").Transpose.ROTATE_180)
        self.image.paste(_rgb(text.fill), (round(x) - half, round(y) - half), mask)


def _outset(rect: Rect, by: float) -> list[tuple[float, float]]:
    """Return the outline of a rectangle grown by `by` on every side."""
    radius = max(0.0, rect.radius + by) if rect.radius else 0.0
    return _flattened(
        rect_contour(rect.x - by, rect.y - by, rect.w + 2 * by, rect.h + 2 * by, radius)
    )


def _flattened(contour: Contour) -> list[tuple[float, float]]:
    """Return the contour as points, with its curves cut into short lines."""
    x0, y0 = contour[0]
    points = [(x0, y0)]
    for step in contour[1:]:
        if len(step) == 2:
            points.append((step[0], step[1]))
        else:
            x1, y1, x2, y2, x3, y3 = step
            for i in range(1, _CURVE_STEPS + 1):
                t = i / _CURVE_STEPS
                a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                points.append(
                    (a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3)
                )
        x0, y0 = points[-1]
    return points


@lru_cache(maxsize=64)
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont = _pillow("ImageFont").load_default(size)
    return font


@lru_cache(maxsize=4096)
def _drawable(text: str) -> str:
    """Return text in characters of the built-in font: accents dropped, others as ``?``."""
    plain = []
    for char in text:
        if char.isascii() or char in _KNOWN:
            plain.append(char)
        else:
            plain.append(normalize("NFKD", char).encode("ascii", "ignore").decode() or "?")
    return "".join(plain)


@lru_cache(maxsize=64)
def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _pillow(module: str) -> Any:
    return library(f"PIL.{module}", "render_mode: drawing the table", "render")


class Window:
    """A window on the screen. It opens with the first frame.

    Once the user has closed it, later frames are ignored and the game goes on. pygame has one
    window per process, so several `Window` objects share it.

    Attributes:
        was_quit: True if the user has closed the window.
    """

    def __init__(self, caption: str = "Hearts", fps: float | None = None) -> None:
        """Prepare a window without opening it.

        Args:
            caption: the text in the window's title bar.
            fps: the most frames per second. `show` waits as needed. If None, it never waits.
        """
        self._caption = caption
        self._fps = fps
        self._clock: Any = None
        self.was_quit = False

    def show(self, frame: npt.NDArray[np.uint8]) -> None:
        """Show a frame, (height, width, 3) uint8 RGB, and handle the window's events.

        Raises:
            HeartsError: if pygame is not installed.
        """
        if self.was_quit:
            return
        pygame = library("pygame", "render_mode: a window", "render")
        size = (frame.shape[1], frame.shape[0])
        screen = pygame.display.get_surface()
        if self._clock is None or screen is None or screen.get_size() != size:
            pygame.display.init()
            screen = pygame.display.set_mode(size)
            pygame.display.set_caption(self._caption)
            self._clock = pygame.time.Clock()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.was_quit = True
            self.close()
            return
        surface = pygame.image.frombuffer(np.ascontiguousarray(frame).tobytes(), size, "RGB")
        screen.blit(surface, (0, 0))
        pygame.display.flip()
        if self._fps is not None:
            self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window if it was opened."""
        if self._clock is not None:
            self._clock = None
            library("pygame", "render_mode: a window", "render").display.quit()
