"""The table as a self-contained SVG document."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from hearts_env.render.layout import HEIGHT_OF_TABLE, WIDTH, background, table_items
from hearts_env.render.scene import TablePicture, printable
from hearts_env.render.shapes import Contour, Group, Item, Path, Rect, Text

_FONT = "Aileron, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"


def render_svg(picture: TablePicture, width: int = 960) -> str:
    """Return the table as SVG, `width` pixels wide, with no external references and no ids.

    Every open card is a ``<g class="card">`` (``"chip"`` in lists) with its name in ``data-card``.
    Every closed card is a ``<g class="back">`` without a name.
    """
    size = f"{_number(WIDTH)} {_number(HEIGHT_OF_TABLE)}"
    height = _number(width * HEIGHT_OF_TABLE / WIDTH)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width}" '
        f'height="{height}" role="img" font-family="{_FONT}">',
        f"<title>{_escaped(picture.title)}</title>",
        *svg_lines([*background(), *table_items(picture)]),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def svg_lines(items: Iterable[Item]) -> Iterable[str]:
    """Yield items as SVG elements, one per line."""
    for item in items:
        if isinstance(item, Group):
            yield _opening(item)
            yield from svg_lines(item.items)
            yield "</g>"
        elif isinstance(item, Rect):
            yield _rect(item)
        elif isinstance(item, Path):
            outline = "".join(_outline(contour) for contour in item.contours)
            yield f'<path d="{outline}" fill="{item.fill}"{_opacity(item.opacity)}/>'
        else:
            yield _text(item)


def _opening(group: Group) -> str:
    attributes = f'class="{group.kind}"'
    if group.name:
        key = "data-card" if group.kind in ("card", "chip") else "data-name"
        attributes += f" {key}={quoteattr(printable(group.name))}"
    if group.x or group.y:
        attributes += f' transform="translate({_number(group.x)} {_number(group.y)})"'
    return f"<g {attributes}>"


def _rect(rect: Rect) -> str:
    places = " ".join(
        f'{key}="{_number(value)}"'
        for key, value in (("x", rect.x), ("y", rect.y), ("width", rect.w), ("height", rect.h))
    )
    radius = f' rx="{_number(rect.radius)}"' if rect.radius else ""
    stroke = ""
    if rect.stroke is not None:
        stroke = f' stroke="{rect.stroke}" stroke-width="{_number(rect.stroke_width)}"'
    fill = rect.fill or "none"
    opacity = _opacity(rect.opacity, "fill-opacity")
    return f'<rect {places}{radius} fill="{fill}"{opacity}{stroke}/>'


def _text(text: Text) -> str:
    x, y = _number(text.x), _number(text.y)
    attributes = f'x="{x}" y="{y}" font-size="{_number(text.size)}" fill="{text.fill}"'
    if text.anchor != "start":
        attributes += f' text-anchor="{text.anchor}"'
    if text.bold:
        attributes += ' font-weight="bold"'
    if text.upside_down:
        attributes += f' transform="rotate(180 {x} {y})"'
    return f"<text {attributes}>{_escaped(text.text)}</text>"


def _outline(contour: Contour) -> str:
    parts = []
    for index, step in enumerate(contour):
        command = "M" if index == 0 else "L" if len(step) == 2 else "C"
        parts.append(command + " ".join(_number(value) for value in step))
    return "".join(parts) + "Z"


def _opacity(opacity: float, key: str = "opacity") -> str:
    return "" if opacity == 1.0 else f' {key}="{_number(opacity)}"'


def _number(value: float) -> str:
    """Return a number as text with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _escaped(text: str) -> str:
    return escape(printable(text))
