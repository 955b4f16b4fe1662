"""What the scripts of this folder share: their options, and the record of a run."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearts_env import __version__
from hearts_env.support.files import write_json
from hearts_train.measure.evaluation import platform_versions


def options(doc: str | None) -> argparse.ArgumentParser:
    """The command line of a script, described by its docstring."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="a JSON file for the figures")
    return parser


def write(out: Path | None, facts: Mapping[str, Any], *, command: str | None = None) -> None:
    """Write figures with what they were measured by, if a file is asked for.

    Args:
        out: the file; None: nothing is written.
        facts: the figures.
        command: what made them; None: the words of this script's command line.
    """
    if out is None:
        return
    script = Path(sys.argv[0]).name
    made = command or shlex.join(["python", f"bench/{script}", *sys.argv[1:]])
    origin = {"version": __version__, "platform": platform_versions(), "command": made}
    write_json(out, origin | dict(facts))
