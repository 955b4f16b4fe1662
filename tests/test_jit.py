"""Compiled code where nothing can be written, and what a person is told who waits for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hearts_env

PLAY = """
from hearts_env import Game
from hearts_env._jit import cache_folder, _HERE
game = Game.deal("micro", 1)
while legal := game.legal_actions():
    game.play(legal[0])
print(cache_folder(_HERE), game.scores())
"""


def start(folder: Path, **streams: object) -> subprocess.CompletedProcess[str]:
    """Play a game in a new process, with a copy of the package in a folder of no cache."""
    shutil.copytree(
        Path(hearts_env.__file__).parent,
        folder / "hearts_env",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (folder / "hearts_env" / "__pycache__").write_text("a file, where no folder can be made")
    nowhere = str(folder / "hearts_env" / "__pycache__" / "none")
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "LOCALAPPDATA": nowhere,
        "NUMBA_CACHE_DIR": nowhere,
    }
    arguments = [sys.executable, "-B", "-c", PLAY]
    return subprocess.run(arguments, env=environment, cwd=folder, check=True, text=True, **streams)  # type: ignore[call-overload]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_read_only_install_without_a_home_plays_and_says_what_it_waits_for(
    tmp_path: Path,
) -> None:
    controller, terminal = os.openpty()
    shown = start(tmp_path, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    told = os.read(controller, 10_000).decode()
    os.close(controller)
    assert shown.stdout.startswith("None [")
    assert told.count("compiling") == 1
    assert "hearts warmup" in told
