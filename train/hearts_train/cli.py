"""Stands in ``hearts_train.command.cli`` now; this name works until 0.3."""

from hearts_train.command.cli import app, main

__all__ = ["app", "main"]
