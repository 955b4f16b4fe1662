"""Matplotlib figures as files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from hearts_env._files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_png(figure: Figure, path: Path, *, dpi: int = 150) -> None:
    """Write a figure as PNG, whole or not at all."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=dpi)
    write_whole(path, image.getvalue())
